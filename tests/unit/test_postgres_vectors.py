"""The indexes that housekeeping makes in PostgreSQL, and by which plans people's vectors and words are found."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from functools import partial
from urllib.parse import quote

import numpy as np
import psycopg
import pytest

from core.storage import postgres_vectors
from core.storage.database import Row
from core.storage.memories import SqlMemories
from core.storage.postgres import PostgresDatabase, PostgresQuery, open_postgres
from core.storage.postgres_vectors import PostgresVectors, maintain
from tests.contracts.test_vector_search import ANA, BIA, SPACE, asked, made, save
from tests.fakes.memories import embedded
from tests.postgres import database_of

COUNT = 300


@pytest.fixture
def url() -> str:
    return database_of("vectors")


@pytest.fixture
async def database(url: str) -> AsyncIterator[PostgresDatabase]:
    database = await open_postgres(url)
    yield database
    await database.close()


def upkeep(url: str, large: int, small: int) -> list[tuple[str, bool]]:
    """Maintain with these limits, and return the indexes there are, and whether each is whole."""
    with psycopg.connect(url, autocommit=True, cursor_factory=psycopg.RawCursor) as connection:
        maintain(connection, large=large, small=small)
        return indexes(connection)


def indexes(connection: psycopg.Connection) -> list[tuple[str, bool]]:
    found = """
        SELECT relname, indisvalid FROM pg_index JOIN pg_class ON oid = indexrelid
        WHERE relname LIKE 'vectors\\_near\\_%' ORDER BY relname
    """
    return connection.execute(found).fetchall()


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str]]]:
    """Give every query that runs from now on, and the lines of its plan."""
    seen: list[tuple[str, list[str]]] = []
    run = PostgresQuery.run

    def explained(self: PostgresQuery, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        if sql.lstrip().startswith(("SELECT", "WITH", "(")):
            seen.append((sql, [line for (line,) in run(self, f"EXPLAIN {sql}", parameters)]))
        return run(self, sql, parameters)

    monkeypatch.setattr(PostgresQuery, "run", explained)
    return seen


@pytest.mark.long
@pytest.mark.spec("T15")
async def test_a_large_owner_has_an_index_of_their_own_that_finds_what_exact_search_does(
    database: PostgresDatabase, url: str, statements: list[tuple[str, list[str]]]
) -> None:
    store = SqlMemories(database)
    normalizer, vectors, rows = made(1, COUNT)
    for owner in (ANA, BIA):
        await save(store, owner, vectors)
    [(ana, space)] = await database.rows(
        "SELECT o.id, s.id FROM owners AS o, spaces AS s WHERE o.platform = ?", (ANA.platform,)
    )
    search = PostgresVectors(store)
    exact, _ = await asked(search, ANA, normalizer, rows, 20)
    await store.delete(BIA, [item.id for item in await store.page(BIA, limit=9)])
    assert upkeep(url, COUNT - 1, COUNT - 5) == [(f"vectors_near_{ana}_{space}", True)]
    statements.clear()
    found, whole = await asked(search, ANA, normalizer, rows, 20)
    assert len(found.nearest & exact.nearest) >= 0.95 * len(exact.nearest)
    assert found.nearest <= await embedded(store, ANA, SPACE)
    assert not whole.whole
    assert any("<#>" in sql and "ORDER BY vector::halfvec" in sql for sql, _ in statements)
    theirs, _ = await asked(search, BIA, normalizer, rows, 20)
    assert theirs.nearest <= await embedded(store, BIA, SPACE)
    deep, everything = await asked(search, ANA, normalizer, rows, COUNT)
    assert deep.nearest == await embedded(store, ANA, SPACE), "where the index would miss some, all are compared"
    assert not everything.whole


@pytest.mark.long
async def test_an_index_goes_below_the_lower_limit_and_one_left_by_a_crash_is_made_anew(
    database: PostgresDatabase, url: str
) -> None:
    store = SqlMemories(database)
    _, vectors, _ = made(2, 40)
    await save(store, ANA, vectors)
    [(name, _)] = upkeep(url, 39, 20)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", (name,))
        assert await database.integrity() == [], "housekeeping mends it, nobody else has to"
    assert upkeep(url, 39, 20) == [(name, True)]
    items = await store.page(ANA, limit=99)
    await store.delete(ANA, [item.id for item in items[:15]])
    assert upkeep(url, 39, 20) == [(name, True)], "it does not come and go with every memory"
    await store.delete(ANA, [item.id for item in items[15:25]])
    assert upkeep(url, 39, 20) == []


@pytest.mark.long
async def test_one_process_maintains_at_a_time(
    database: PostgresDatabase, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, vectors, _ = made(3, 20)
    await save(SqlMemories(database), ANA, vectors)
    monkeypatch.setattr(postgres_vectors, "maintain", partial(maintain, large=10, small=5))
    with psycopg.connect(url) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", (0x456C6567,))
        await database.maintain()
        assert indexes(other) == []
    await database.maintain()
    with psycopg.connect(url) as other:
        assert [is_valid for _, is_valid in indexes(other)] == [True]


@pytest.mark.long
async def test_an_index_may_take_longer_than_any_other_statement_and_holds_up_nobody(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = "-c statement_timeout=2s -c idle_in_transaction_session_timeout=2s"
    database = await open_postgres(f"{url}?options={quote(limits)}", pool=2, wait_s=1.0)
    slept: list[object] = []
    begun, answered = threading.Event(), threading.Event()

    def slow(connection: psycopg.Connection) -> None:
        slept.append(connection.execute("SELECT pg_sleep(3)").fetchall())
        begun.set()
        answered.wait()

    monkeypatch.setattr(postgres_vectors, "maintain", slow)
    maintaining = asyncio.create_task(database.maintain())
    await asyncio.to_thread(begun.wait)
    try:
        assert await database.rows("SELECT 1") == [(1,)], "it leaves connections for the others, even of two"
    finally:
        answered.set()
        await maintaining
    assert len(slept) == 1
    for _ in range(3):
        assert await database.rows("SHOW statement_timeout") == [("2s",)]
    await database.close()


@pytest.mark.long
@pytest.mark.parametrize("is_analyzed", [False, True])
async def test_at_size_every_search_goes_by_an_index(
    database: PostgresDatabase, url: str, statements: list[tuple[str, list[str]]], *, is_analyzed: bool
) -> None:
    store = SqlMemories(database)
    normalizer, vectors, rows = made(5, 30)
    await save(store, ANA, vectors)
    large = ("phrases", "vectors", "memories", "terms")
    with psycopg.connect(url, autocommit=True) as connection:
        for name in large:  # statistics that are taken amid the insertion know one owner only
            connection.execute(f"ALTER TABLE {name} SET (autovacuum_enabled = false)".encode())
        connection.execute(_MANY.encode())
        connection.execute("ANALYZE" if is_analyzed else "SELECT 1")
    ids = sorted(await embedded(store, ANA, SPACE))
    statements.clear()
    seen, found = await asked(PostgresVectors(store), ANA, normalizer, rows, 20, ids=ids)
    assert not np.isnan(seen.cosines).any()
    assert found.items
    read = [line for _, plan in statements for line in plan if any(f" on {name}" in line for name in large)]
    assert not [line for line in read if "Seq Scan" in line]
    assert any("vectors_owner" in line for _, plan in statements for line in plan)


@pytest.mark.long
async def test_the_planner_takes_the_index_of_a_large_owner_at_costs_as_they_are(
    database: PostgresDatabase, url: str, statements: list[tuple[str, list[str]]]
) -> None:
    store = SqlMemories(database)
    normalizer, vectors, rows = made(6, 20)
    for owner in (ANA, BIA):
        await save(store, owner, vectors)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_LARGE.encode())
    [(name, is_valid)] = upkeep(url, 4000, 4000)
    assert is_valid
    statements.clear()
    await asked(PostgresVectors(store), ANA, normalizer, rows, 8)
    plans = [plan for sql, plan in statements if "<#>" in sql]
    assert len([line for line in plans[0] if f"Index Scan using {name} on vectors" in line]) == len(rows), plans[0]
    statements.clear()
    await asked(PostgresVectors(store), BIA, normalizer, rows, 8)
    assert not [line for _, plan in statements for line in plan if name in line]


_LARGE = """
INSERT INTO memories (key, owner, kind, content, digest, created_at, updated_at)
SELECT 'large ' || n, o.id, 'text', 'text ' || n, '', 0, 0
FROM owners AS o, generate_series(1, 4000) AS n WHERE o.platform = 'telegram';
INSERT INTO phrases (memory, owner, text, position) SELECT id, owner, content, 0 FROM memories WHERE key LIKE 'large %';
INSERT INTO vectors (phrase, space, vector) SELECT p.id, s.id, l2_normalize((
    SELECT array_agg(random() - 0.5) FROM generate_series(1, 32) WHERE p.id > 0
)::vector::halfvec) FROM phrases AS p JOIN memories AS m ON m.id = p.memory, spaces AS s WHERE m.key LIKE 'large %';
ANALYZE
"""


_MANY = """
INSERT INTO owners (platform, "user") SELECT 'many', n::text FROM generate_series(1, 400) AS n;
INSERT INTO memories (key, owner, kind, content, digest, created_at, updated_at)
SELECT o.id || '-' || n, o.id, 'text', 'text ' || n, '', 0, 0
FROM owners AS o, generate_series(1, 100) AS n WHERE o.platform = 'many';
INSERT INTO phrases (memory, owner, text, position) SELECT id, owner, content, 0 FROM memories
WHERE owner IN (SELECT id FROM owners WHERE platform = 'many');
INSERT INTO terms (account, term, memory) SELECT owner, 'text', memory FROM phrases
WHERE owner IN (SELECT id FROM owners WHERE platform = 'many');
INSERT INTO vectors (phrase, space, vector)
SELECT p.id, s.id, (SELECT array_agg(random()) FROM generate_series(1, 32) WHERE p.id > 0)::vector::halfvec
FROM phrases AS p, spaces AS s WHERE p.owner IN (SELECT id FROM owners WHERE platform = 'many')
"""
