"""What one person does to thousands of rows holds nobody up, and a crash in the middle leaves nothing to be seen."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from core.storage.database import FIRST_ROWS, Database, Query, fitted
from core.storage.history import SqlHistory
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.stores import ChangeContext
from core.threads import ToldMemory
from core.types import ChatKey, ConversationKey, MemoryDraft, MemoryKind, Message, MessageRole, ThreadStatus, UserKey
from tests.fakes.clock import START
from tests.fakes.memories import add, ids_found

T = TypeVar("T")

ANA, BIA = UserKey("telegram", "ana"), UserKey("telegram", "bia")
COUNT = 400
ROWS = """
    SELECT (SELECT count(*) FROM memories), (SELECT count(*) FROM phrases), (SELECT count(*) FROM terms),
        (SELECT count(*) FROM changes), (SELECT count(*) FROM rooms), (SELECT count(*) FROM owners)
"""


class PulledPlug(Exception):
    """The process ends here."""


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(tmp_path / "elefante.db")
    yield opened
    await opened.close()


def left_in(folder: Path, word: bytes) -> bool:
    return any(word in file.read_bytes() for file in folder.iterdir())


def drafts(word: str) -> list[MemoryDraft]:
    return [MemoryDraft(MemoryKind.TEXT, f"{word} {n}", (f"key {word} {n}",)) for n in range(COUNT)]


async def saves_beside(database: Database, work: asyncio.Task[object]) -> int:
    """Save for somebody else as long as the work goes on; return how many were saved before it was over."""
    store, count = SqlMemories(database), 0
    while not work.done():
        await add(store, BIA, [MemoryDraft(MemoryKind.TEXT, f"beside {count}", ("key",))], at=START)
        count += not work.done()
    work.result()
    return count


@pytest.mark.parametrize("act", ["add", "delete", "purge", "link", "unlink", "forget"])
async def test_others_save_in_the_middle_of_a_long_act(database: Database, act: str) -> None:
    store, later = SqlMemories(database), START + timedelta(days=1)
    other = UserKey("discord", "ana")
    ids = [
        item.id for item in await add(store, ANA, drafts("zq"), at=START, context=ChangeContext("a", "telegram:room"))
    ]
    if act == "purge":
        await store.delete(ANA, ids, at=START, context=ChangeContext("gone"))
    if act == "unlink":
        await store.link(other, ANA)
    works: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
        "add": lambda: add(store, ANA, drafts("more"), at=START),
        "delete": lambda: store.delete(ANA, ids, at=START, context=ChangeContext("gone")),
        "purge": lambda: store.purge(later),
        "link": lambda: store.link(other, ANA),
        "unlink": lambda: store.unlink(other, ANA),
        "forget": lambda: store.forget(ANA),
    }
    turns: list[bool] = []
    real = database.write
    work = asyncio.create_task(works[act]())

    async def counted(job: Callable[[Query], T]) -> T:
        turns.append(asyncio.current_task() is work)
        return await real(job)

    database.write = counted  # type: ignore[method-assign]
    await saves_beside(database, work)
    first, last = turns.index(True), len(turns) - turns[::-1].index(True)
    assert False in turns[first:last], "somebody else's turn came between two of the act's"


async def test_who_was_forgotten_is_found_by_nobody_from_the_first_moment_and_gone_after_the_next_start(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqlMemories(database)
    await add(store, ANA, drafts("zqsecret"), at=START, context=ChangeContext("a", "telegram:room"))
    await store.link(ANA, UserKey("discord", "ana"))
    with monkeypatch.context() as patch:
        pull_the_plug_at(patch, database, turn=4)
        with pytest.raises(PulledPlug):
            await store.forget(ANA)
    [(left, *_)] = await database.rows(ROWS)
    assert 0 < left < COUNT, "it was cut short"
    assert (await store.count(ANA), list(await store.owners()), list(await store.accounts(ANA))) == (0, [], [ANA])
    assert not await ids_found(store, ANA, "zqsecret")
    assert not await store.changes(ANA)
    await add(store, ANA, [MemoryDraft(MemoryKind.TEXT, "anew", ("anew",))], at=START)
    await SqlMemories(database).purge(START)
    assert await database.rows(ROWS) == [(1, 1, 1, 0, 0, 1)]
    assert not left_in(tmp_path, b"zqsecret")


async def test_a_conversation_that_was_forgotten_is_gone_after_the_next_start(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = SqlHistory(database)
    here = ConversationKey(ChatKey("telegram", "c"), ANA)
    thread = await history.open_thread(here, START)
    for n in range(COUNT):
        await history.append(thread.id, Message(MessageRole.USER, f"zqsecret {n}", at=START))
    [said] = await history.tail(thread.id, 1)
    await history.tell({said.id: [ToldMemory("m", "v")]})
    with monkeypatch.context() as patch:
        pull_the_plug_at(patch, database, turn=4)
        with pytest.raises(PulledPlug):
            await history.forget(ANA)
    [(left,)] = await database.rows("SELECT count(*) FROM messages")
    assert 0 < left < COUNT
    assert (await history.thread(thread.id), list(await history.threads(ANA)), list(await history.tellers())) == (
        None,
        [],
        [],
    )
    assert await history.mark(thread.id, ThreadStatus.ACTIVE, START) is None
    assert (await history.open_thread(here, START)).id != thread.id
    await SqlHistory(database).purge()
    assert await database.rows("SELECT (SELECT count(*) FROM messages), (SELECT count(*) FROM threads)") == [(0, 1)]
    assert not left_in(tmp_path, b"zqsecret")


@pytest.mark.parametrize(("spent_s", "rows"), [(0.02, 100), (0.04, 50), (0.001, 200), (99.0, 1), (0.0, 200)])
def test_the_next_transaction_takes_as_many_rows_as_fit_its_time(spent_s: float, rows: int) -> None:
    assert fitted(100, spent_s) == rows


async def test_an_act_of_a_few_is_written_whole_or_not_at_all(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull_the_plug_at(monkeypatch, database, turn=2)
    with pytest.raises(PulledPlug):
        await add(SqlMemories(database), ANA, drafts("few")[: FIRST_ROWS + 1], at=START)
    assert (await database.rows("SELECT count(*) FROM memories")) == [(FIRST_ROWS,)]


def pull_the_plug_at(patch: pytest.MonkeyPatch, database: Database, turn: int) -> None:
    """Let nothing be written any more from that transaction on."""
    write, turns = database.write, itertools.count(1)

    async def written(job: Callable[[Query], T]) -> T:
        if next(turns) >= turn:
            raise PulledPlug
        return await write(job)

    patch.setattr(database, "write", written)
