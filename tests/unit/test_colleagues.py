"""Who is at work over one PostgreSQL is known, with what each does that no other one does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from core.workers.store import SqlWorkers
from tests.postgres import open_test_database


async def test_workers_are_listed_with_their_duties_until_they_leave(tmp_path: Path) -> None:
    database = await open_test_database(tmp_path)
    try:
        store = SqlWorkers(database)
        assert await store.present(60.0) == []
        one, two = await store.join("1.2.3 one:7"), await store.join("1.2.4 two:8")
        for worker, name in ((one, "duty:telegram:1:poll"), (one, "chat:test:c"), (two, "duty:discord:9:gateway")):
            assert await store.take(worker, name)
        assert not await store.take(one, "duty:discord:9:gateway")
        await store.beat(two, 4, {}, lambda _: {})
        found = await store.present(60.0)
        assert [(each.version, each.process, each.chats, each.duties) for each in found] == [
            ("1.2.3", "one:7", 0, ("duty:telegram:1:poll",)),
            ("1.2.4", "two:8", 4, ("duty:discord:9:gateway",)),
        ]
        assert all(abs(datetime.now(UTC) - each.since) < timedelta(minutes=5) for each in found)
        await store.leave(one)
        assert [each.process for each in await store.present(60.0)] == ["two:8"]
        await database.write(lambda query: query.run("UPDATE workers SET beat = beat - 61000000"))
        assert await store.present(60.0) == [], "it died, and nobody has noticed"
        engine, size_bytes = await database.describe()
        assert engine.startswith("PostgreSQL 1")
        assert size_bytes > 1_000_000
    finally:
        await database.close()
