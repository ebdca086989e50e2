"""What stands in a prompt before the model asks for it: memories that the person's own words find, and others' talk.

The search runs while the person's message is being stored. A model reads what it finds, so much weaker evidence counts
than where a memory is the answer. The constants were chosen on tests/data/memory_tuning.json and
tests/data/memory_candidates.json.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from core.errors import BotError
from core.history.withholding import known, withheld_of
from core.memory.memories import Memories
from core.memory.timed import search_asked, wordings
from core.memory.user_memory import MemoryReading
from core.ports import Clock
from core.stores import ChangeContext, Exchange, HistoryStore, Inbox
from core.text.pointing import asks_past
from core.text.unicode import clean
from core.types import AskedTime, ConversationKey, MemoryHit, Vector, is_said_by_person, room_name

MAX_CANDIDATES: Final = 8
CANDIDATE_FLOOR: Final = 0.02
"""The chance of being an answer over which a memory is shown to a model."""

EMBED_WITHIN_S: Final = 0.25
"""How long after its start a search waits for the embedder; then words alone serve."""

_EDGE_CHARS: Final = 150
"""How much is searched of each end of a long message: 300 characters take the embedded embedder 5 ms."""

_log = logging.getLogger(__name__)


def searched_text(text: str) -> str:
    """Return the words of a message that are searched: all, or the beginning and the end of a long one."""
    whole = clean(text)
    if len(whole) <= 2 * _EDGE_CHARS:
        return whole
    return f"{whole[:_EDGE_CHARS].rstrip()} … {whole[-_EDGE_CHARS:].lstrip()}"


class Prefetch:
    """One search of a person's memories by their own words, in a task of its own. `close` it.

    It costs at most one call of the embedder and one search, and nothing where the person has no memories.
    """

    def __init__(self, memory: MemoryReading, clock: Clock, text: str, asked: AskedTime | None = None) -> None:
        """`memory` knows whose memories are searched, and in which room; `text` is the person's message.

        `asked` is the time that it names, if any.
        """
        self._memory = memory
        self._clock = clock
        self._asked = asked
        self._past = asks_past(text)
        said = asked is not None and asked.said
        self._texts = [searched for each in wordings(text, asked, said=said) if (searched := searched_text(each))]
        self._task: asyncio.Task[tuple[MemoryHit, ...]] | None = None

    def start(self) -> Self:
        """Begin to search, if it has not begun."""
        self._started()
        return self

    async def hits(self) -> tuple[MemoryHit, ...]:
        """Return at most MAX_CANDIDATES memories, the best first; none if the search failed.

        It waits for the embedder until EMBED_WITHIN_S after the start. Cancelling it ends the search.
        """
        return await self._started()

    async def close(self) -> None:
        """End the search, if it is still under way."""
        if self._task is not None and self._task.cancel():
            await asyncio.wait({self._task})

    def _started(self) -> asyncio.Task[tuple[MemoryHit, ...]]:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._search())
        return self._task

    async def _search(self) -> tuple[MemoryHit, ...]:
        due_s = self._clock.monotonic() + EMBED_WITHIN_S
        try:
            if not self._texts or not await self._memory.page(limit=1):
                return ()
            vectors = await self._embedded(due_s - self._clock.monotonic())
            hits = await search_asked(
                *(self._memory, self._texts, vectors, self._asked),
                limit=MAX_CANDIDATES,
                floor=CANDIDATE_FLOOR,
                past=self._past,
            )
        except BotError as error:
            _log.warning("memories were not searched", extra={"error": type(error).__name__})
            return ()
        except Exception:  # noqa: BLE001  (an answer without candidates is better than none)
            _log.exception("memories were not searched")
            return ()
        return tuple(hits)

    async def _embedded(self, within_s: float) -> Mapping[str, Vector]:
        """Return the texts' vectors by the texts; nothing if the embedder fails or takes longer."""
        embedding = asyncio.create_task(self._memory.embed_queries(self._texts))
        timer = asyncio.create_task(self._clock.sleep(within_s))
        try:
            await asyncio.wait({embedding, timer}, return_when=asyncio.FIRST_COMPLETED)
            return embedding.result() if embedding.done() else {}
        finally:
            timer.cancel()
            embedding.cancel()  # the cache goes on with it, so that whoever asks again need not wait


MOST: Final = 20
"""Exchanges; how many of them a prompt has room for is decided there."""


@dataclass(frozen=True, slots=True)
class RoomExchanges:
    """The exchanges of others in one place.

    They are text that everybody there saw; memories, and what their people have had deleted since, are not in them.
    """

    here: ConversationKey
    memories: Memories
    history: HistoryStore
    inbox: Inbox
    replies_to: str = ""
    """The handle of the bot's own message that the question replies to."""

    async def read(self, *, together: bool) -> Sequence[Exchange]:
        """Return the newest exchanges where people talk `together`, and last the one that the question goes on from."""
        found = list(await self.history.beside(self.here, MOST)) if together else []
        known_before = {each.messages[0].id for each in found}
        found += [each for each in await self._replied_to() if each.messages[0].id not in known_before]
        return [shown for each in found if (shown := await self._allowed(each)) is not None]

    async def _replied_to(self) -> Sequence[Exchange]:
        """Return the exchange with somebody else whose answer the question replies to; none for any other message."""
        if not self.replies_to:
            return ()
        chat = self.here.chat
        answered = await self.inbox.question(chat.platform, chat.chat, self.replies_to)
        if answered is None or answered[0].chat != chat:
            return ()
        return await self.history.beside(self.here, 1, source_id=answered[1])

    async def _allowed(self, exchange: Exchange) -> Exchange | None:
        """Return an exchange without what tells of deleted or changed memories; None if its question does."""
        context = ChangeContext(room=room_name(self.here.chat))
        memory = self.memories.of(await self.memories.owner(exchange.thread.conversation.user), context)
        knowledge, withheld = await known(self.history, exchange.messages, memory.get), withheld_of(exchange.thread)
        shown = [each for each in exchange.messages if not (withheld.hides(each) or knowledge.is_stale(each))]
        return replace(exchange, messages=tuple(shown)) if shown and is_said_by_person(shown[0]) else None
