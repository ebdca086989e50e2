"""What every store of commands that wait for a text promises."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.storage.awaited import SqliteAwaited
from core.storage.in_memory_awaited import InMemoryAwaited
from core.storage.sqlite import open_database
from core.thread import Awaited, Waiting
from core.types import ChatKey, ConversationKey, UserKey

ANA, BIA = UserKey("telegram", "1"), UserKey("telegram", "2")
HERE = ConversationKey(ChatKey("telegram", "room", "topic"), ANA)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "in-memory"])
async def awaited(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Awaited]:
    if request.param == "in-memory":
        yield InMemoryAwaited()
        return
    database = await open_database(tmp_path / "awaited.db")
    yield SqliteAwaited(database)
    await database.close()


@pytest.mark.parametrize(
    "elsewhere",
    [
        ConversationKey(ChatKey("telegram", "room", "topic"), BIA),
        ConversationKey(ChatKey("telegram", "room", ""), ANA),
        ConversationKey(ChatKey("telegram", "other", "topic"), ANA),
        ConversationKey(ChatKey("discord", "room", "topic"), UserKey("discord", "1")),
    ],
    ids=str,
)
async def test_what_waits_waits_in_that_conversation_only(awaited: Awaited, elsewhere: ConversationKey) -> None:
    await awaited.put(HERE, "/memories edit x", NOON)
    assert await awaited.find(HERE) == Waiting("/memories edit x", NOON)
    assert await awaited.find(elsewhere) is None
    assert await awaited.drop(elsewhere) is False
    assert await awaited.find(HERE) is not None


async def test_one_command_waits_in_a_conversation_the_last(awaited: Awaited) -> None:
    await awaited.put(HERE, "/memories edit x", NOON)
    await awaited.put(HERE, "/memories edit y", NOON + timedelta(microseconds=1))
    assert await awaited.find(HERE) == Waiting("/memories edit y", NOON + timedelta(microseconds=1))
    assert await awaited.drop(HERE) is True
    assert await awaited.find(HERE) is None
    assert await awaited.drop(HERE) is False


async def test_for_a_person_who_is_forgotten_nothing_waits_anywhere(awaited: Awaited) -> None:
    there, of_bia = ConversationKey(ChatKey("telegram", "1"), ANA), ConversationKey(HERE.chat, BIA)
    for conversation in (HERE, there, of_bia):
        await awaited.put(conversation, "/memories edit x", NOON)
    await awaited.forget(ANA)
    await awaited.forget(ANA)
    assert await awaited.find(HERE) is None
    assert await awaited.find(there) is None
    assert await awaited.find(of_bia) is not None
