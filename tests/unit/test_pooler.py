"""PgBouncer in transaction mode is noticed, and works: nothing that is kept in a session is relied on."""

from __future__ import annotations

import asyncio

import pytest

from core.storage.database import Query
from core.storage.postgres import PostgresDatabase, open_postgres
from core.storage.postgres_connection import IDLE_S, STATEMENT_S
from tests.pgbouncer import PROGRAM, WHY_NOT, pooled
from tests.postgres import new_database

pytestmark = [pytest.mark.long, pytest.mark.skipif(PROGRAM is None, reason=WHY_NOT)]


def settings(query: Query) -> list[object]:
    return [query.run(f"SHOW {name}")[0][0] for name in ("statement_timeout", "idle_in_transaction_session_timeout")]


async def test_limits_of_time_hold_in_a_transaction_with_a_pooler_and_without_and_reach_nobody_else() -> None:
    url = new_database()
    for each in (url, pooled(url)):
        database = await open_postgres(each)
        assert await database.write(settings) == [f"{STATEMENT_S}s", f"{IDLE_S}s"]
        assert await database.read(settings) == [f"{STATEMENT_S}s", f"{IDLE_S}s"]
        await database.close()
    database = await open_postgres(pooled(url))
    assert await database.rows("SHOW statement_timeout") == [("0",)]
    await database.close()


async def test_locks_exclude_each_other_over_few_connections_that_many_clients_share() -> None:
    url = pooled(new_database())
    databases = [await open_postgres(url, pool=4) for _ in range(3)]
    await databases[0].write(lambda query: query.run("CREATE TABLE counter AS SELECT 0 AS value"))

    def add(query: Query) -> None:
        query.lock("counter")
        [(value,)] = query.run("SELECT value FROM counter")
        query.run("UPDATE counter SET value = ?", (value + 1,))

    async def work(database: PostgresDatabase) -> None:
        for _ in range(20):
            await database.write(add)

    await asyncio.gather(*(work(database) for database in databases for _ in range(4)))
    assert await databases[0].rows("SELECT value FROM counter") == [(240,)]
    for database in databases:
        await database.close()
