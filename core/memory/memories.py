"""Everybody's memories: the one object from which a person's own are had.

Knows how vectors catch up with texts, when an embedder was down or was exchanged. Does not know what is remembered.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from core.errors import BotError
from core.memory.background import LANGUAGES
from core.memory.embedding import Embedding
from core.memory.indexes import Indexes
from core.memory.user_memory import UserMemory
from core.memory.wording import common_words
from core.ports import Clock, Embedder
from core.stores import NO_MARK, Mark, MemoryStore
from core.types import UserKey

_log = logging.getLogger(__name__)

_BATCH: Final = 16
"""Texts a call while catching up: a question that comes meanwhile waits for no more than these."""


class Memories:
    """Memories over a store, an embedder and indexes. `close` it: it may be embedding in the background."""

    def __init__(self, store: MemoryStore, embedder: Embedder, indexes: Indexes, clock: Clock) -> None:
        self._store = store
        self._embedding = Embedding(embedder)
        self._indexes = indexes
        self._clock = clock
        self._common_words = common_words(sentence for language in LANGUAGES for sentence in language)
        self._catching_up: dict[UserKey, asyncio.Task[None]] = {}

    async def owner(self, user: UserKey) -> UserKey:
        """Return the name under which that person's memories are kept: another account's, where two were linked."""
        return (await self._store.accounts(user))[0]

    async def accounts(self, user: UserKey) -> Sequence[UserKey]:
        """Return every account of that person's, the owner first: only themselves, where nothing was linked."""
        return await self._store.accounts(user)

    def of(self, owner: UserKey, mark: Mark = NO_MARK) -> UserMemory:
        """Return that owner's memory; what is changed through it is marked so."""
        return UserMemory(
            owner, self._store, self._indexes, self._embedding, self._clock, self._common_words, self._catch_up, mark
        )

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

    async def close(self) -> None:
        """Stop what goes on in the background; the next start goes on with it."""
        tasks = list(self._catching_up.values())
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task

    async def _embed_batch(self, owner: UserKey) -> int:
        """Embed some phrases; 0 if none was left or the embedder is down."""
        space = self._embedding.space
        missing = await self._store.unembedded(owner, space, _BATCH)
        vectors = await self._embedding.vectors(list(missing.values()))
        lens = await self._embedding.lens() if vectors else None
        async with self._indexes.changing(owner) as shelf:
            if not missing and shelf.space == space:
                shelf.partial = False
            if lens is None or lens.space != space:
                return 0
            # Meanwhile phrases may have been deleted, or embedded by an update.
            there = await self._store.phrases(owner, list(missing))
            fresh = {i: vectors[text] for i, (_, text) in there.items() if text in vectors}
            await self._store.put_vectors(owner, space, fresh)
            await shelf.remove(list(fresh))
            shelf.add(lens, fresh)
        return len(missing)

    def _catch_up(self, owner: UserKey) -> None:
        """Embed in the background what that person's search found without vectors."""
        if owner not in self._catching_up:
            task = asyncio.get_running_loop().create_task(self._reembed_quietly(owner))
            self._catching_up[owner] = task
            task.add_done_callback(lambda _: self._catching_up.pop(owner, None))

    async def _reembed_quietly(self, owner: UserKey) -> None:
        try:
            await self.reembed(owner)
        except BotError as error:
            _log.warning("embedding in the background stopped: %s", type(error).__name__)
