"""Every history keeps every message in the order in which it was said."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from core.errors import StorageError
from core.ports import HistoryStore
from core.storage.history import SqliteHistory
from core.storage.in_memory_history import InMemoryHistory
from core.storage.sqlite import open_database
from core.types import ChatKey, ConversationKey, Message, Modal, Role, ThreadStatus, UserKey
from tests.fakes.clock import START

ANA = UserKey("telegram", "ana")
BIA = UserKey("telegram", "bia")
ROOM = ConversationKey(ChatKey("telegram", "room", "topic"), ANA)
LATER = START + timedelta(seconds=90, microseconds=1)
SAID = Message(Role.USER, "oi", at=START, turn="t1", source_id="7")


@pytest.fixture(params=["in_memory", "sqlite"])
async def history(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[HistoryStore]:
    if request.param == "in_memory":
        yield InMemoryHistory()
        return
    database = await open_database(tmp_path / "elefante.db")
    yield SqliteHistory(database)
    await database.close()


@pytest.mark.spec("D1")
async def test_a_conversation_has_one_active_thread_made_on_first_use(history: HistoryStore) -> None:
    first = await history.open_thread(ROOM, START)
    again = await history.open_thread(ROOM, LATER)
    assert again.id == first.id
    assert re.fullmatch(r"[a-zA-Z0-9\-_]{3,64}", first.id)
    assert (first.conversation, first.status) == (ROOM, ThreadStatus.ACTIVE)
    assert (first.created_at, first.updated_at) == (START, START)


async def test_two_who_open_at_once_get_the_same_thread(history: HistoryStore) -> None:
    threads = await asyncio.gather(*(history.open_thread(ROOM, START) for _ in range(8)))
    assert len({thread.id for thread in threads}) == 1


@pytest.mark.spec("L6")
@pytest.mark.parametrize(
    "other",
    [
        ConversationKey(ROOM.chat, BIA),
        ConversationKey(ChatKey("telegram", "room"), ANA),
        ConversationKey(ChatKey("telegram", "elsewhere", "topic"), ANA),
    ],
)
async def test_another_person_place_or_topic_is_another_thread(history: HistoryStore, other: ConversationKey) -> None:
    here = await history.open_thread(ROOM, START)
    there = await history.open_thread(other, START)
    await history.append(here.id, SAID)
    assert there.id != here.id
    assert list(await history.tail(there.id, 10)) == []


@pytest.mark.spec("D6")
@pytest.mark.parametrize("status", [ThreadStatus.RESET, ThreadStatus.ARCHIVED])
async def test_a_thread_that_is_no_longer_active_is_not_opened_again(
    history: HistoryStore, status: ThreadStatus
) -> None:
    old = await history.open_thread(ROOM, START)
    await history.append(old.id, SAID)
    await history.mark(old.id, status, LATER)
    new = await history.open_thread(ROOM, LATER)
    assert new.id != old.id
    assert [message.content for message in await history.tail(old.id, 10)] == ["oi"]
    assert list(await history.tail(new.id, 10)) == []


async def test_marking_an_unknown_thread_changes_nothing(history: HistoryStore) -> None:
    await history.mark("unknown", ThreadStatus.RESET, START)


@pytest.mark.spec("L3", "T1")
@pytest.mark.parametrize(
    "message",
    [
        SAID,
        Message(Role.ASSISTANT, "olá", in_history=False, at=LATER),
        Message(Role.SYSTEM, {"id": "m1", "content": "é 123", "bindings": ["senha"]}, Modal.MEMORY, memory_id="m1"),
        Message(Role.USER, "lone \ud800, nul \x00, 🐘"),
        Message(Role.ASSISTANT, [1, 2.5, None, True, {"ã": []}]),
    ],
)
async def test_a_message_comes_back_as_it_was_said(history: HistoryStore, message: Message) -> None:
    thread = await history.open_thread(ROOM, START)
    stored = await history.append(thread.id, message)
    assert stored.id > 0
    assert replace(stored, id=0) == message
    assert list(await history.tail(thread.id, 1)) == [stored]


async def test_the_tail_is_the_newest_messages_oldest_first(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    other = await history.open_thread(ConversationKey(ROOM.chat, BIA), START)
    for number in range(5):
        await history.append(thread.id, Message(Role.USER, str(number)))
        await history.append(other.id, Message(Role.USER, "not here"))
    assert [message.content for message in await history.tail(thread.id, 3)] == ["2", "3", "4"]
    assert [message.content for message in await history.tail(thread.id, 99)] == ["0", "1", "2", "3", "4"]
    assert list(await history.tail(thread.id, 0)) == []
    assert list(await history.tail("unknown", 3)) == []


async def test_a_platforms_message_is_stored_once(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    first = await history.append(thread.id, SAID)
    again = await history.append(thread.id, replace(SAID, content="edited"))
    assert again == first
    assert list(await history.tail(thread.id, 9)) == [first]


async def test_messages_of_ours_have_no_source_and_are_all_stored(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    for _ in range(2):
        await history.append(thread.id, Message(Role.ASSISTANT, "oi"))
    assert len(await history.tail(thread.id, 9)) == 2


async def test_a_thread_was_last_used_when_its_newest_message_was_said(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    await history.append(thread.id, replace(SAID, at=LATER))
    await history.append(thread.id, Message(Role.USER, "no time"))
    assert (await history.open_thread(ROOM, START)).updated_at == LATER


async def test_an_unknown_thread_takes_no_message(history: HistoryStore) -> None:
    with pytest.raises(StorageError):
        await history.append("unknown", SAID)


@pytest.mark.spec("T11")
async def test_a_thread_knows_the_memories_it_has_shown(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    for memory_id in ("m1", "m2", "m1", ""):
        await history.append(thread.id, Message(Role.SYSTEM, {}, Modal.MEMORY, memory_id=memory_id))
    assert await history.shown_memories(thread.id) == {"m1", "m2"}
    assert await history.shown_memories("unknown") == frozenset()


@pytest.mark.spec("T15")
async def test_forgetting_a_person_removes_only_that_persons_threads(history: HistoryStore) -> None:
    mine = await history.open_thread(ROOM, START)
    theirs = await history.open_thread(ConversationKey(ROOM.chat, BIA), START)
    for thread in (mine, theirs):
        await history.append(thread.id, SAID)
    await history.forget(ANA)
    assert list(await history.tail(mine.id, 9)) == []
    assert len(await history.tail(theirs.id, 9)) == 1
    assert (await history.open_thread(ROOM, START)).id != mine.id


@pytest.mark.spec("J5")
async def test_a_conversation_survives_a_restart(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    thread = await SqliteHistory(database).open_thread(ROOM, START)
    stored = await SqliteHistory(database).append(thread.id, SAID)
    await database.close()
    database = await open_database(tmp_path / "elefante.db")
    again = await SqliteHistory(database).open_thread(ROOM, LATER)
    assert again.id == thread.id
    assert list(await SqliteHistory(database).tail(again.id, 9)) == [stored]
    await database.close()
