"""What was written by an older version is all there after an upgrade."""

from __future__ import annotations

from pathlib import Path

from core.storage.history import SqliteHistory
from core.storage.migrations import MIGRATIONS
from core.storage.sqlite import open_database
from core.types import Role, UserKey


async def test_messages_of_before_threads_were_counted_get_their_place_and_cost(tmp_path: Path) -> None:
    old = await open_database(tmp_path / "elefante.db", MIGRATIONS[:5])
    async with old.transaction() as transaction:
        await transaction.run_many(
            "INSERT INTO threads (id, platform, chat, topic, user, created_at, updated_at, status)"
            " VALUES (?, 'telegram', 'c', '', ?, 1, 2, 'active')",
            [("one", "ana"), ("two", "bia")],
        )
        await transaction.run_many(
            "INSERT INTO messages (thread, role, modal, in_history, content, at, turn, source_id, memory_id)"
            " VALUES (?, 'user', 'text', 1, ?, 5, '', '', '')",
            [("one", '"oito letras e mais"'), ("two", '"oi"'), ("one", '"oi"')],
        )
    await old.close()
    database = await open_database(tmp_path / "elefante.db")
    history = SqliteHistory(database)
    [thread] = await history.threads(UserKey("telegram", "ana"))
    assert (thread.title, thread.policy, thread.metadata) == ("", "", {})
    messages = await history.tail("one", 9)
    assert [(m.role, m.text, m.sequence, m.tokens) for m in messages] == [
        (Role.USER, "oito letras e mais", 1, 7),
        (Role.USER, "oi", 2, 3),
    ]
    assert await history.totals("one") == (2, 10)
    assert await history.totals("one", 1) == (1, 3)
    assert (await history.append("one", messages[0])).sequence == 3
    assert await history.totals("one") == (3, 17)
    await database.close()
