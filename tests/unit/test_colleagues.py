"""Who is at work over one PostgreSQL is known, with what each does that no other one does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from core.storage.claims import SqlWorkers
from core.types import ChatKey
from tests.postgres import open_test_database


async def test_workers_are_listed_with_their_duties_until_they_leave(tmp_path: Path) -> None:
    database = await open_test_database(tmp_path)
    try:
        store = SqlWorkers(database)
        assert await store.present(60.0) == []
        one, two = await store.join("1.2.3 one:7"), await store.join("1.2.4 two:8")
        await store.take(one, ["duty:telegram:1:poll", f"chat:{ChatKey('test', 'c').platform}:c"])
        await store.take(two, ["part:discord:9:shards:1:0", "part:discord:9:shards:1:1"])
        await store.beat(two, 4, {}, lambda _: {})
        found = await store.present(60.0)
        assert [(each.version, each.process, each.chats, each.duties) for each in found] == [
            ("1.2.3", "one:7", 0, ("duty:telegram:1:poll",)),
            ("1.2.4", "two:8", 4, ("part:discord:9:shards:1:0", "part:discord:9:shards:1:1")),
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
