"""Whichever statement of a change fails, or is cut off by cancellation, the change happened whole or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import StorageError
from core.storage import sqlite
from core.storage.database import Database, Row
from core.storage.history import SqlHistory
from core.storage.inbox import SqlInbox
from core.storage.memories import SqlMemories
from core.storage.sqlite import SqliteQuery, open_database
from core.stores import ChangeContext
from core.threads import Summary, ThreadRecord, Transition, TurnState
from core.types import (
    ChatKey,
    ConversationKey,
    Incoming,
    MemoryDraft,
    MemoryKind,
    Message,
    MessageRole,
    Thread,
    ThreadStatus,
    UserKey,
)
from tests.fakes.clock import START
from tests.fakes.memories import add
from tests.profile import long

ANA, BIA, CAIO, EVA = (UserKey("telegram", name) for name in ("ana", "bia", "caio", "eva"))
ROOM = ConversationKey(ChatKey("telegram", "room"), ANA)
INCOMING = Incoming(ROOM.chat, ANA, "Ana", "2", "oi", START)
SPACE = "x@2"
OLD = MemoryDraft(MemoryKind.TEXT, "A senha é 1", ("senha", "login"))
NEW = MemoryDraft(MemoryKind.TEXT, "A senha é 2", ("senha", "nova"))
OTHER = MemoryDraft(MemoryKind.TEXT, "A senha é 3", OLD.bindings)
VECTORS = {
    text: np.array([0.6, 0.8], np.float32) for draft in (OLD, NEW, OTHER) for text in (*draft.bindings, draft.content)
}

TABLES = (
    "threads", "messages", "inbox", "owners", "memories", "phrases", "vectors", "spaces", "sources", "terms",
    "summaries", "transitions", "rooms", "changes",
)  # fmt: skip


async def snapshot(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    return {table: await database.rows("SELECT * FROM " + table + " ORDER BY 1") for table in TABLES}  # noqa: S608


async def filled(path: Path) -> Database:
    database = await open_database(path)
    await add(SqlMemories(database), ANA, [OLD], at=START, source_ids=[1], vectors=VECTORS, space=SPACE)
    await add_for_others(database)
    thread = await SqlHistory(database).open_thread(ROOM, START)
    await SqlHistory(database).append(thread.id, Message(MessageRole.USER, "oi", source_id="1"))
    await SqlHistory(database).restore(ThreadRecord(Thread("earlier", ROOM, START, START), ()))
    await SqlInbox(database).accept(Incoming(ROOM.chat, ANA, "Ana", "1", "oi", START))
    return database


async def add_for_others(database: Database) -> None:
    """An act changed a memory of Bia's and deleted another; Caio's account is linked to hers, Eva's to nobody's."""
    store, context = SqlMemories(database), ChangeContext("act", "telegram:room")
    one, two = await add(store, BIA, [OLD, OTHER], at=START, source_ids=[1], vectors=VECTORS, space=SPACE)
    await store.update(BIA, one.id, NEW, at=START, vectors=VECTORS, space=SPACE, context=context)
    await store.delete(BIA, [two.id], at=START, context=context)
    for person in (CAIO, EVA):
        await add(store, person, [NEW], at=START, source_ids=[1], vectors=VECTORS, space=SPACE, context=context)
    [item] = await store.page(EVA, limit=1)
    await store.update(
        EVA, item.id, OLD, at=START, vectors=VECTORS, space=SPACE, context=ChangeContext("later"), keeps_past=True
    )
    await store.link(BIA, CAIO)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = await filled(tmp_path / "elefante.db")
    yield database
    await database.close()


@pytest.fixture
async def twin(tmp_path: Path) -> AsyncIterator[Database]:
    database = await filled(tmp_path / "twin.db")
    yield database
    await database.close()


async def the_memory(database: Database) -> str:
    return (await SqlMemories(database).page(ANA, limit=1))[0].id


async def the_thread(database: Database) -> str:
    return (await SqlHistory(database).open_thread(ROOM, START)).id


async def save_new(database: Database) -> None:
    await add(SqlMemories(database), ANA, [NEW, OTHER], at=START, source_ids=[1, 2], vectors=VECTORS, space=SPACE)


async def update(database: Database) -> None:
    memory_id = await the_memory(database)
    await SqlMemories(database).update(ANA, memory_id, NEW, at=START, vectors=VECTORS, space=SPACE)


async def delete(database: Database) -> None:
    await SqlMemories(database).delete(ANA, [await the_memory(database)])


async def put(database: Database) -> None:
    await SqlMemories(database).put_vectors(ANA, "y@2", {1: VECTORS["senha"], 2: VECTORS["senha"]})


async def forget(database: Database) -> None:
    await SqlMemories(database).forget(ANA)


async def update_marked(database: Database) -> None:
    context = ChangeContext("update", "telegram:room")
    await SqlMemories(database).update(
        ANA, await the_memory(database), NEW, at=START, vectors=VECTORS, space=SPACE, context=context
    )


async def delete_marked(database: Database) -> None:
    await SqlMemories(database).delete(ANA, [await the_memory(database)], at=START, context=ChangeContext("delete"))


async def flag(database: Database) -> None:
    await SqlMemories(database).flag(ANA, [await the_memory(database)], pinned=True, shared=True)


async def undo(database: Database) -> None:
    await SqlMemories(database).undo(BIA, "act")


async def purge(database: Database) -> None:
    await SqlMemories(database).purge(START + timedelta(days=1))


async def link(database: Database) -> None:
    await SqlMemories(database).link(ANA, EVA)


async def unlink(database: Database) -> None:
    await SqlMemories(database).unlink(BIA, CAIO)


async def forget_linked(database: Database) -> None:
    await SqlMemories(database).forget(CAIO)


async def append(database: Database) -> None:
    await SqlHistory(database).append(await the_thread(database), Message(MessageRole.USER, "tudo bem?", at=START))


async def open_another(database: Database) -> None:
    await SqlHistory(database).open_thread(ConversationKey(ROOM.chat, BIA), START)


async def mark(database: Database) -> None:
    await SqlHistory(database).mark(await the_thread(database), ThreadStatus.RESET, START)


async def describe(database: Database) -> None:
    thread = await SqlHistory(database).open_thread(ROOM, START)
    await SqlHistory(database).describe(replace(thread, title="viagem"))


async def switch(database: Database) -> None:
    await SqlHistory(database).mark("earlier", ThreadStatus.ACTIVE, START)


async def fold(database: Database) -> None:
    await SqlHistory(database).fold(await the_thread(database), Summary("oi", through=1))


async def enter(database: Database) -> None:
    await SqlHistory(database).enter(await the_thread(database), Transition("t", TurnState.PENDING, START))


async def restore(database: Database) -> None:
    thread = Thread("restored", ROOM, START, START)
    said = tuple(Message(MessageRole.USER, str(number)) for number in range(3))
    entered = (Transition("t", TurnState.PENDING, START),)
    await SqlHistory(database).restore(ThreadRecord(thread, said, (Summary("oi", through=1),), entered))


async def forget_history(database: Database) -> None:
    await SqlHistory(database).forget(ANA)


async def accept(database: Database) -> None:
    await SqlInbox(database).accept(INCOMING)


async def close(database: Database) -> None:
    await SqlInbox(database).close(Incoming(ROOM.chat, ANA, "Ana", "1", "oi", START))


async def forget_inbox(database: Database) -> None:
    await SqlInbox(database).forget(ANA)


async def save(database: Database) -> None:
    """One that is known and gains a binding, and one that is new."""
    more = replace(OLD, bindings=(*OLD.bindings, "acesso"))
    await SqlMemories(database).save(
        ANA,
        [more, NEW],
        at=START,
        merge=lambda item, draft: (replace(item.draft, bindings=draft.bindings), item.rooms),
        source_ids=[1, 2],
        vectors={**VECTORS, "acesso": VECTORS["senha"]},
        space=SPACE,
        context=ChangeContext("save"),
    )


async def update_keeping(database: Database) -> None:
    await SqlMemories(database).update(
        ANA,
        await the_memory(database),
        NEW,
        at=START,
        vectors=VECTORS,
        space=SPACE,
        context=ChangeContext("update"),
        keeps_past=True,
    )


async def delete_version(database: Database) -> None:
    """A memory with an earlier version goes with it."""
    await SqlMemories(database).delete(EVA, [(await SqlMemories(database).page(EVA, limit=1))[0].id])


CHANGES: Sequence[Callable[[Database], Coroutine[Any, Any, None]]] = (
    save_new, update, delete, put, forget, update_marked, delete_marked, flag, undo, purge, link, unlink, forget_linked,
    save, update_keeping, delete_version,
    append, open_another, mark, describe, switch, fold, enter, restore, forget_history, accept, close, forget_inbox,
)  # fmt: skip


class Faults:
    """Counts the statements of a change and, at the n-th, does something else first or instead."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, fault: Callable[[asyncio.Task[None]], None]) -> None:
        self._at = at
        self._fault = fault
        self._count = 0
        self.task: asyncio.Task[None] | None = None
        run, run_many, fetch = SqliteQuery.run, SqliteQuery.run_many, sqlite._fetch

        def counted_run(query: SqliteQuery, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
            self._maybe()
            return run(query, sql, parameters)

        def counted_run_many(query: SqliteQuery, sql: str, rows: Iterable[Sequence[object]]) -> None:
            self._maybe()
            run_many(query, sql, rows)

        async def counted_fetch(connection: Any, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
            self._maybe()
            return await fetch(connection, sql, parameters)

        monkeypatch.setattr(SqliteQuery, "run", counted_run)
        monkeypatch.setattr(SqliteQuery, "run_many", counted_run_many)
        monkeypatch.setattr(sqlite, "_fetch", counted_fetch)

    def _maybe(self) -> None:
        self._count += 1
        if self._count == self._at:
            assert self.task is not None
            self._fault(self.task)


def refuse(_: asyncio.Task[None]) -> None:
    raise StorageError("disk full")


def cancel(task: asyncio.Task[None]) -> None:
    """Cancel the task, from its own thread or from SQLite's; then it has been hit when this returns."""
    loop, hit = task.get_loop(), threading.Event()
    if threading.current_thread() is threading.main_thread():
        task.cancel()  # it is hit at the statement's own await, while SQLite's thread goes on
        return
    loop.call_soon_threadsafe(task.cancel)
    loop.call_soon_threadsafe(lambda: loop.call_soon(hit.set))
    hit.wait()


@pytest.mark.spec("T10", "T12")
@pytest.mark.parametrize("fault", [refuse, long(cancel)])
@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_happens_whole_or_not_at_all(
    database: Database,
    twin: Database,
    change: Callable[[Database], Coroutine[Any, Any, None]],
    fault: Callable[[asyncio.Task[None]], None],
) -> None:
    before = await snapshot(database)
    for at in itertools.count(1):
        with pytest.MonkeyPatch.context() as patch:
            faults = Faults(patch, at, fault)
            faults.task = asyncio.create_task(change(database))
            with contextlib.suppress(StorageError, asyncio.CancelledError):
                await faults.task
            await database.write(lambda _: None)  # a job that was begun has ended
        after = await snapshot(database)
        if after != before:
            break
    assert at > 1 or fault is cancel, "the fault came too late to test anything"  # cancelled, a job is done whole
    await finish(database)
    await check_whole(database)
    await change(twin)
    assert await counts(database) == await counts(twin), "what happened is all of it"


async def finish(database: Database) -> None:
    """Do what the next start does: forgetting goes some rows at a time, and nobody sees what is still to go."""
    await SqlMemories(database).purge(START - timedelta(days=9))
    await SqlHistory(database).purge()


async def counts(database: Database) -> dict[str, int]:
    return {table: len(rows) for table, rows in (await snapshot(database)).items()}


async def check_whole(database: Database) -> None:
    """After the change, no row is without the rows that belong to it."""
    torn = """
        SELECT
            (SELECT count(*) FROM memories WHERE id NOT IN (SELECT memory FROM phrases WHERE position = 0)),
            (SELECT count(*) FROM memories WHERE id NOT IN (SELECT memory FROM terms)),
            (SELECT count(*) FROM terms WHERE memory NOT IN (SELECT id FROM memories)),
            (SELECT count(*) FROM phrases WHERE id NOT IN (SELECT phrase FROM vectors) AND memory NOT IN
                (SELECT m.id FROM memories AS m JOIN changes AS c ON c.key = m.key WHERE c.undone)),
            (SELECT count(*) FROM phrases AS p JOIN memories AS m ON m.id = p.memory WHERE p.owner != m.owner),
            (SELECT count(*) FROM memories WHERE id NOT IN (SELECT memory FROM sources)),
            (SELECT count(*) FROM pragma_foreign_key_check)
    """
    assert await database.rows(torn) == [(0,) * 7]
    assert await database.rows("PRAGMA integrity_check") == [("ok",)]
