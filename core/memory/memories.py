"""Everybody's memories: one person's and their profile, linked accounts, late embedding, purge of what was deleted."""

from __future__ import annotations

import asyncio
import logging
import tomllib
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib import resources
from typing import Final, TypeAlias

from core.errors import BotError, StorageError
from core.files.port import FileStore, NoFiles
from core.memory.embedding import Embedding
from core.memory.user_memory import MemoryReading, UserMemory
from core.ports import Clock, Embedder
from core.stores import NO_CHANGE_CONTEXT, ChangeContext, MemoryStore, Share, VectorSearch
from core.types import SURE, MemoryItem, MessageKey, UserKey
from core.workers.port import unclaimed

MAX_LINES: Final = 8
MAX_CHARS: Final = 1200
_MAX_KEPT: Final = 1000

_Key: TypeAlias = tuple[UserKey, str]
"""Whose profile, and the room that it is read in ("": in private)."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Something that matters about most people: questions that find it, and how many memories it may bring."""

    ask: tuple[str, ...]
    most: int


@cache
def slots() -> tuple[Slot, ...]:
    """Return the slots in the order of the profile."""
    text = resources.files(__package__).joinpath("profile.toml").read_text("utf-8")
    return tuple(Slot(tuple(each["ask"]), each["most"]) for each in tomllib.loads(text)["slots"])


class Profiles:
    """Profiles by the owner's version, the most recently used in RAM."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, tuple[int, tuple[str, ...]]] = OrderedDict()

    async def of(self, memory: MemoryReading) -> Sequence[MemoryItem]:
        """Return at most MAX_LINES memories of at most MAX_CHARS in all, in a stable order; in a room, audible ones."""
        key = (memory.owner, memory.context.room)
        version = await memory.indexes.phrases.version(memory.owner)
        known = self._kept.pop(key, None)
        if known is None or known[0] != version:
            known = (version, tuple(item.id for item in await _made(memory)))
        self._kept[key] = known
        if len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)
        return await memory.get(known[1]) if known[1] else ()


async def _made(memory: MemoryReading) -> Sequence[MemoryItem]:
    first = await memory.page(limit=MAX_LINES)
    found = {item.id: item for item in first if item.pinned}
    if first and len(found) < MAX_LINES:
        vectors = await memory.embed_queries([question for slot in slots() for question in slot.ask])
        for slot in slots():
            hits = await memory.search(slot.ask, vectors, limit=slot.most, floor=SURE)
            found |= {hit.item.id: hit.item for hit in hits if hit.item.id not in found}
    left = MAX_CHARS
    short = [item for item in found.values() if (left := left - len(item.content)) >= 0]
    return short[:MAX_LINES]


_log = logging.getLogger(__name__)

_TOGETHER_S: Final = 60.0
"""Deletions of one minute are forgotten together: leaving no byte of them costs a reading of the whole file."""

_NAMED_WITHIN: Final = timedelta(seconds=_TOGETHER_S / 2)
"""What was put is named so soon at the latest: its memory is saved, or waits for a yes."""

_REST: Final = 19
"""However much is deleted, purging takes no more than a twentieth of the time."""


Redact: TypeAlias = Callable[[datetime], Awaitable[None]]
"""Removes what conversations tell of memories that were deleted or replaced before then."""


class Purge:
    """Removes what was deleted, and what conversations tell of it, when it can no longer be undone.

    `close` it.
    """

    def __init__(
        self,
        store: MemoryStore,
        files: FileStore,
        clock: Clock,
        undo_within: timedelta,
        redact: Redact | None = None,
    ) -> None:
        self._store = store
        self._files = files
        self._clock = clock
        self._undo_within = undo_within
        self._redact = redact
        self._due_s: deque[float] = deque()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Remove what is past its time already; what was deleted shortly before is removed later."""
        await self._purge()
        self.plan()

    def plan(self) -> None:
        """Plan to remove what was deleted or replaced until now, within a minute after it can no longer be undone."""
        over_s = self._clock.monotonic() + self._undo_within.total_seconds()
        if self._due_s and self._due_s[-1] > over_s:
            return
        self._due_s.append(over_s + _TOGETHER_S)
        if self._task is None or self._task.done():
            with unclaimed():
                self._task = asyncio.get_running_loop().create_task(self._run())

    async def keep_planning(self) -> None:
        """Plan again and again, until cancelled: what was deleted at a worker that has ended since is removed, too."""
        while True:
            self.plan()
            await self._clock.sleep(self._undo_within.total_seconds() + _TOGETHER_S)

    async def close(self) -> None:
        """Stop waiting; the next start goes on with it."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while self._due_s:
            await self._clock.sleep(self._due_s[0] - self._clock.monotonic())
            began_s = self._clock.monotonic()
            while self._due_s and self._due_s[0] <= began_s:
                self._due_s.popleft()
            try:
                await self._purge()
            except StorageError as error:
                _log.warning("deleted memories could not be purged: %s", error)
            await self._clock.sleep(_REST * (self._clock.monotonic() - began_s))

    async def _purge(self) -> None:
        before = self._clock.now() - self._undo_within
        if self._redact is not None:
            await self._redact(before)
        await self._store.purge(before)
        await self._files.sweep(await self._store.files_named(), before - _NAMED_WITHIN)


UNDO_WITHIN: Final = timedelta(minutes=10)
"""How long a change can be undone, and so the words of what was deleted are kept. 0: not at all."""

_BATCH: Final = 16
"""Texts a call while catching up: a question that comes meanwhile waits for no more than these."""


class Memories:
    """Memories over a store, an embedder and a search. `close` it: it may be embedding in the background."""

    def __init__(
        self,
        store: MemoryStore,
        embedder: Embedder,
        indexes: VectorSearch,
        clock: Clock,
        *,
        files: FileStore | None = None,
        undo_within: timedelta = UNDO_WITHIN,
        redact: Redact | None = None,
    ) -> None:
        self._store = store
        self.files = files or NoFiles()
        self._embedding = Embedding(embedder)
        self._indexes = indexes
        self._clock = clock
        self.undo_within = undo_within
        self.profiles = Profiles()
        self._purge = Purge(store, self.files, clock, undo_within, redact)
        self._catching_up: dict[UserKey, asyncio.Task[None]] = {}

    async def prepare(self) -> None:
        """Embed what the first search would wait for.

        Raises:
            ProviderError: the embedder cannot answer.
        """
        await self._embedding.prepare()

    async def owner(self, user: UserKey) -> UserKey:
        """Return the account under which that person's memories are stored: another one, where two were linked."""
        return (await self._store.accounts(user))[0]

    async def known(self, user: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return those of the memories that the person has now, whichever of their accounts asks."""
        return await self._store.get(await self.owner(user), memory_ids)

    async def accounts(self, user: UserKey) -> Sequence[UserKey]:
        """Return every account of that person's, the owner first: only themselves, where nothing was linked."""
        return await self._store.accounts(user)

    def of(self, owner: UserKey, context: ChangeContext = NO_CHANGE_CONTEXT) -> UserMemory:
        """Return that owner's memory; what is changed through it is marked so."""
        return UserMemory(
            owner=owner,
            store=self._store,
            indexes=self._indexes,
            embedding=self._embedding,
            clock=self._clock,
            undo_within=self.undo_within,
            on_partial=self._catch_up,
            on_changed=self._purge.plan,
            context=context,
            files=self.files,
        )

    async def link(self, owner: UserKey, other: UserKey, message: MessageKey | None = None) -> None:
        """Make two accounts one owner, by the name of the first; `message` asked for it.

        Raises:
            ValueError: one of them is linked already, or both are the same.
        """
        await self.files.copy(other, owner, await self.files.digests(other))
        await self._store.link(owner, other, message)
        await self.files.copy(other, owner, await self.files.digests(other))  # what was put meanwhile
        await self.files.remove(other)
        self._indexes.drop(other)

    async def unlink(self, owner: UserKey, other: UserKey) -> None:
        """Part two accounts again: each has its own last words, with their files. Do nothing if they are not linked."""
        if other not in await self._store.accounts(owner):
            return
        digests = await self.files.digests(owner)
        await self.files.copy(owner, other, digests)  # before: no crash leaves words without their files
        await self._store.unlink(owner, other)
        named = await self._store.files_named()
        for account in (owner, other):
            await self.files.remove(account, digests - named.get(account, frozenset()))
        self._purge.plan()

    async def shares(self, owner: UserKey) -> Mapping[UserKey, Share]:
        """Return what each of the owner's accounts would have if they were parted now."""
        return await self._store.shares(owner)

    async def owners(self) -> Sequence[UserKey]:
        """Return everybody who has a memory."""
        return await self._store.owners()

    async def reembed(
        self, owner: UserKey | None = None, *, on_progress: Callable[[UserKey, int], None] | None = None
    ) -> int:
        """Embed every phrase that has no vector in the present space, of one person or of all; return how many.

        Each batch is stored before the next is embedded, so what was cut short goes on where it stopped. Ends early
        while the embedder is down. `on_progress` is told the person, and how many phrases of theirs are done.
        """
        total = 0
        for person in [owner] if owner is not None else await self._store.owners():
            done = 0
            while embedded := await self._embed_batch(person):
                done += embedded
                if on_progress is not None:
                    on_progress(person, done)
            total += done
        return total

    async def keep_space(self, owner: UserKey) -> None:
        """Delete the owner's vectors of other embedders, if every phrase has one of the present embedder.

        That is for the owner of the bot to ask for: a program with another embedder may have the same database open.
        """
        phrases, space = self._indexes.phrases, self._embedding.space
        if not await phrases.unembedded(owner, space, 1):
            await phrases.keep_space(owner, space)

    async def start(self) -> None:
        """Remove the words of what was deleted, now and from now on, once it can no longer be undone."""
        await self._purge.start()

    async def purge_for_others(self) -> None:
        """Remove what was deleted at other workers, too, until cancelled: they may end before it cannot be undone."""
        await self._purge.keep_planning()

    async def close(self) -> None:
        """Stop what goes on in the background; the next start goes on with it."""
        await self._purge.close()
        tasks = list(self._catching_up.values())
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task

    async def _embed_batch(self, owner: UserKey) -> int:
        """Embed some phrases; 0 if none was left or the embedder is down."""
        space = self._embedding.space
        missing = await self._indexes.phrases.unembedded(owner, space, _BATCH)
        vectors = await self._embedding.vectors(list(missing.values()))
        if not vectors or self._embedding.space != space:
            return 0
        known = {i: vectors[text] for i, text in missing.items()}
        await self._indexes.phrases.put_vectors(owner, space, known)
        return len(missing)

    def _catch_up(self, owner: UserKey) -> None:
        """Embed in the background what that person's search found without vectors."""
        if owner not in self._catching_up:
            with unclaimed():
                task = asyncio.get_running_loop().create_task(self._reembed_quietly(owner))
            self._catching_up[owner] = task
            task.add_done_callback(lambda _: self._catching_up.pop(owner, None))

    async def _reembed_quietly(self, owner: UserKey) -> None:
        try:
            await self.reembed(owner)
        except BotError as error:
            _log.warning("embedding in the background stopped: %s", type(error).__name__)
