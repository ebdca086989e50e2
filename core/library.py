"""Memories and conversations for programs: over a database file, without the bot.

`new_embedder`, `new_search` and `new_memories` are what the bot's own wiring builds its memory from.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from core.ask import PLATFORM
from core.clock import SystemClock
from core.errors import InputError
from core.files.port import FileStore
from core.history.conversation import Conversation, Conversations
from core.history.window import HistoryLimits
from core.history.withholding import Redaction
from core.memory.embedding import Indexes
from core.memory.memories import UNDO_WITHIN, Memories
from core.memory.user_memory import UndoResult, UserMemory
from core.ports import Clock, Embedder, VectorIndex
from core.providers.cached_embedder import CachedEmbedder
from core.providers.usem3 import Usem3Embedder
from core.storage.database import Database
from core.storage.history import SqlHistory
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_copy, open_database
from core.stores import ChangeContext, HistoryStore, MessageStore, VectorSearch
from core.text.senses import bindings as bindings_of
from core.text.unicode import clean
from core.threads import Transition
from core.types import (
    ChatKey,
    ConversationKey,
    MemoryDraft,
    MemoryItem,
    MemoryKind,
    Message,
    Thread,
    ThreadStatus,
    UserKey,
)

MAX_LOADED_OWNERS: Final = 256
"""How many people's vectors are held in RAM at once."""


@dataclass(frozen=True, slots=True)
class SavedMemory:
    """One memory. `bindings` are the phrases it is found by; `score`, 0..1, is how likely it answers a search."""

    id: str
    text: str
    bindings: tuple[str, ...]
    saved_at: datetime
    score: float = 0.0


class PersonMemories:
    """One person's memories. Made by `ProgramMemories.of`."""

    def __init__(self, memories: Memories, user: UserKey) -> None:
        self._memories = memories
        self._user = user

    async def save(self, text: str, *, bindings: Sequence[str] = ()) -> SavedMemory:
        """Save a text and return it once it is on the disk; a text that is known gains the new bindings instead.

        What it plainly takes the place of ("I moved to Porto") stays as an earlier version of it.

        `bindings` are short phrases to find it by, beside its own words; by default its subject, names and
        concepts.

        Raises:
            InputError: the text is empty.
            StorageError: it could not be saved.
        """
        draft, memory = _draft(text, bindings), await self._open()
        [saved] = await memory.save([draft])
        return _saved(saved.item)

    async def search(self, query: str, *, limit: int = 8) -> list[SavedMemory]:
        """Return up to `limit` memories that answer the query, best first; none for an unrelated one."""
        memory = await self._open()
        hits = await memory.find(query, limit=limit)
        return [_saved(hit.item, hit.chance) for hit in hits]

    async def get(self, memory_id: str) -> SavedMemory | None:
        """Return the memory of that id; None if this person has none."""
        memory = await self._open()
        return next((_saved(item) for item in await memory.get([memory_id])), None)

    async def newest(self, *, limit: int = 50, before: str = "") -> list[SavedMemory]:
        """Return a page of memories, the newest first; `before` is the id that the page before ended with."""
        memory = await self._open()
        return [_saved(item) for item in await memory.page(limit=limit, before=before)]

    async def update(self, memory_id: str, text: str, *, bindings: Sequence[str] = ()) -> SavedMemory | None:
        """Replace the text of a memory, and its bindings if some are given; None if this person has none of that id.

        Raises:
            InputError: the text is empty.
            StorageError: it could not be saved.
        """
        memory = await self._open()
        for item in await memory.get([memory_id]):
            draft = _draft(text, bindings or _given(item))
            changed = await memory.update(memory_id, content=draft.content, bindings=draft.bindings)
            return None if changed is None else _saved(changed)
        return None

    async def delete(self, *memory_ids: str) -> list[SavedMemory]:
        """Delete those of the ids that this person has, and return what they were."""
        memory = await self._open()
        return [_saved(item) for item in await memory.delete(memory_ids)]

    async def undo(self) -> bool:
        """Take back the newest change of this person's memories; False if there is none, or it is too old."""
        memory = await self._open()
        return (await memory.undo()).result is UndoResult.DONE

    async def _open(self) -> UserMemory:
        """Return the memory of that person, or of the account theirs is linked to; each change is an act of its own."""
        act = ChangeContext(act=uuid.uuid4().hex)
        return self._memories.of(await self._memories.owner(self._user), act)


class ProgramMemories:
    """Everybody's memories in one database. Made by `open_memory`."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    def of(self, user_id: str) -> PersonMemories:
        """Return one person's memories: those that `core.ask` knows for the same user id. Nobody else's are reached."""
        return PersonMemories(self._memories, UserKey(PLATFORM, user_id))


@asynccontextmanager
async def open_memory(
    path: Path | str | None, *, undo_within: timedelta = UNDO_WITHIN
) -> AsyncIterator[ProgramMemories]:
    """Open the memories in a database file, made now if there is none; None keeps all in RAM.

    The embedder is the one inside the package: nothing is downloaded, nothing leaves the machine. `elefante.db` in a
    bot's data folder is such a file, also while the bot runs; then `undo_within` is its MEMORY_UNDO_S.

    Raises:
        StorageError: the file cannot be used.
        ConfigError: the embedder's package is not installed.
    """
    async with AsyncExitStack() as stack:
        database = await _open(path, stack)
        clock = SystemClock()
        embedder = new_embedder()
        stack.push_async_callback(embedder.close)
        store, history = SqlMemories(database), SqlHistory(database)
        memories = new_memories(store, history, embedder, clock, undo_within=undo_within)
        stack.push_async_callback(memories.close)
        await memories.start()
        yield ProgramMemories(memories)


class _Mirrored(SqlHistory):
    """A history in RAM, each message of which goes into a program's own store."""

    def __init__(self, database: Database, store: MessageStore, memory_id: str) -> None:
        super().__init__(database)
        self._store = store
        self._memory_id = memory_id

    async def append(self, thread_id: str, message: Message, entered: Sequence[Transition] = ()) -> Message:
        """Store it in both."""
        stored = await super().append(thread_id, message, entered)
        await self._store.update(self._memory_id, await self.get(thread_id))
        return stored

    async def mark(self, thread_id: str, status: ThreadStatus, at: datetime) -> Thread | None:
        """Set the status of a thread; with a reset, delete the messages from the program's store."""
        if status is ThreadStatus.RESET:
            await self._store.delete(self._memory_id)
        return await super().mark(thread_id, status, at)


@asynccontextmanager
async def open_conversation(
    path: Path | str | MessageStore | None, user_id: str, chat_id: str = "", *, limits: HistoryLimits | None = None
) -> AsyncIterator[Conversation]:
    """Open a conversation in a database file, where it ended the last time; None keeps all in RAM.

    A `MessageStore` of the program's own takes the place of the file: its memory id is the user's, with "/" and the
    chat's if there is one; each message that is added goes into it, and a reset deletes them.

    `add` keeps a message, `context` returns those that a model is to be shown, by the policy and the numbers of
    `limits`. Nothing summarises here: the policy is `last-messages` or `last-tokens`.

    Raises:
        StorageError: the file cannot be used.
    """
    async with AsyncExitStack() as stack:
        database = await _open(path if isinstance(path, Path | str) else None, stack)
        clock, key = SystemClock(), ConversationKey(ChatKey(PLATFORM, chat_id or user_id), UserKey(PLATFORM, user_id))
        history = SqlHistory(database)
        if path is not None and not isinstance(path, Path | str):
            store: MessageStore = path
            memory_id = f"{user_id}/{chat_id}" if chat_id else user_id
            thread = await history.open_thread(key, clock.now())
            await history.update(thread.id, await store.get(memory_id))
            history = _Mirrored(database, store, memory_id)
        yield await Conversations(history, clock, limits).open(key)


def new_memories(
    store: SqlMemories,
    history: HistoryStore,
    embedder: Embedder,
    clock: Clock,
    *,
    undo_within: timedelta,
    files: FileStore | None = None,
) -> Memories:
    """Return the memories of a store, whose deleted words are forgotten in `history`, too. `start` and `close` them."""
    redact = Redaction(history, store).run
    return Memories(store, embedder, new_search(store), clock, files=files, undo_within=undo_within, redact=redact)


def new_embedder() -> Embedder:
    """Return the embedder inside the package, with a cache before it. Its model is loaded by the first text.

    Raises:
        ConfigError: its package is not installed.
    """
    return CachedEmbedder(Usem3Embedder())


def new_search(store: SqlMemories) -> VectorSearch:
    """Return the search of a store: inside a database that can, over indexes in RAM with any other."""
    if store.database.searches_vectors:
        from core.storage.postgres_vectors import PostgresVectors

        return PostgresVectors(store)
    return Indexes(store, new_index, max_owners=MAX_LOADED_OWNERS)


def new_index(dims: int) -> VectorIndex:
    """Return an empty index. FAISS is loaded by the first one, not by the start."""
    from core.storage.faiss_index import FaissIndex

    return FaissIndex(dims)


async def _open(path: Path | str | None, stack: AsyncExitStack) -> Database:
    database = await (open_copy(None) if path is None else open_database(Path(path)))
    stack.push_async_callback(database.close)
    return database


def _draft(text: str, bindings: Sequence[str]) -> MemoryDraft:
    if not (content := clean(text)):
        raise InputError("there is no text to save")
    phrases = tuple(phrase for phrase in bindings if clean(phrase)) or bindings_of(content)
    return MemoryDraft(MemoryKind.TEXT, content, phrases)


def _given(item: MemoryItem) -> tuple[str, ...]:
    """Return the bindings of a memory that were neither derived from its text nor are its beginning."""
    derived = bindings_of(item.content)
    return tuple(
        each for each in item.bindings if each not in derived and not item.content.startswith(each.removesuffix("…"))
    )


def _saved(item: MemoryItem, score: float = 0.0) -> SavedMemory:
    return SavedMemory(item.id, item.content, item.bindings, item.updated_at, score)
