"""What is looked for in a turn, and what stands in a prompt before the model asks for it.

The person's own words are searched while their message is being stored. A model reads what that finds, so much weaker
evidence counts than where a memory is the answer. The constants were chosen on tests/data/memory_tuning.json and
tests/data/memory_candidates.json.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Self

from core.answering.log import Log
from core.errors import BotError
from core.files.passages import answers, find
from core.history.rendering import find_quotes
from core.history.withholding import known, withheld_of
from core.memory.memories import Memories
from core.memory.timed import search_asked, wordings
from core.memory.user_memory import MemoryReading, UserMemory
from core.ports import Clock, TimeReader
from core.stores import ChangeContext, Exchange, HistoryStore, Inbox, Quoted
from core.text.pointing import asks_past
from core.text.unicode import clean
from core.types import AskedTime, ConversationKey, MemoryHit, MemoryItem, Vector, is_said_by_person, room_name

_MAX_QUOTED: Final = 3
"""How many passages of a document are shown."""

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


@dataclass(slots=True)
class Search:
    """The searches of one turn."""

    memory: UserMemory
    log: Log
    clock: Clock
    times: TimeReader

    found: list[MemoryItem] = field(default_factory=list)
    """What searches found that a model asked for."""

    _prefetch: Prefetch | None = None
    _shown_before: frozenset[str] | None = None
    """The ids of the memories that the thread had shown when first asked for."""

    _in_view: Sequence[MemoryItem] | None = None

    _times_in: dict[str, AskedTime | None] = field(default_factory=dict)
    """The times that texts of this turn name."""

    @property
    def said_at(self) -> datetime:
        """When the person sent the message, in their zone: from then on "tomorrow" counts, however late it is read."""
        return (self.log.asked.at or self.clock.now()).astimezone(self.log.person.zone)

    @property
    def asked_time(self) -> AskedTime | None:
        """The time that the message names, if it asks for what was said, or is, then."""
        return self._time_in(self.log.asked.text)

    def wordings(self, queries: Sequence[str]) -> Sequence[str]:
        """Return what to search for of queries, some of which may name the time that the message asks for."""
        is_said = (asked := self.asked_time) is not None and asked.said
        return list(
            dict.fromkeys(text for query in queries for text in wordings(query, self._time_in(query), said=is_said))
        )

    def begin(self) -> None:
        """Begin to search for memories that the message may need."""
        if self._prefetch is None and self.log.asked.text.strip():
            self._prefetch = Prefetch(self.memory, self.clock, self.log.asked.text, self.asked_time).start()

    async def near_message(self) -> tuple[MemoryHit, ...]:
        """Return the memories that the message may need, the best first."""
        self.begin()
        hits = await self._prefetch.hits() if self._prefetch is not None else ()
        hits = await self.with_passages(hits)
        self.log.shown.hits = hits
        return hits

    async def with_passages(self, hits: Sequence[MemoryHit]) -> tuple[MemoryHit, ...]:
        """Return the hits, those of documents with the passages found in them that may answer the message."""
        return tuple([await self._opened(hit) if hit.passages else hit for hit in hits])

    async def _opened(self, hit: MemoryHit) -> MemoryHit:
        found = await find(self.log.asked.text, [hit.passages], self.memory.embed, _MAX_QUOTED)
        told = tuple(each.passage for each in answers(found, _MAX_QUOTED))
        return replace(hit, passages=told or hit.passages)

    async def close(self) -> None:
        """End the search, if it is still under way."""
        if self._prefetch is not None:
            await self._prefetch.close()

    async def in_view(self) -> Sequence[MemoryItem]:
        """Return the memories that models were shown in this conversation, still exist, and may be spoken of here."""
        if self._shown_before is None:
            conversation = self.log.conversation
            self._shown_before = await conversation.store.shown_memories(conversation.thread.id)
        return await self.memory.get(sorted({*self._shown_before, *(item.id for item in self._shown_now)}))

    async def may_be_meant(self) -> Sequence[MemoryItem]:
        """Return the memories in view as this turn read them: enough to say what there is to do something with."""
        if self._in_view is None:
            self._in_view = await self.in_view()
        return (*self._in_view, *self._shown_now)

    @property
    def _shown_now(self) -> Sequence[MemoryItem]:
        return (*self.log.shown.labelled.items, *self.log.shown.recalled)

    async def find_quotes(self, queries: Sequence[str], found: Collection[MemoryItem]) -> tuple[Quoted, ...]:
        """Return past messages that say something about what is looked for, and that the last prompt did not show.

        Memories that are `found` tell it better. If the message asks for what was said at a time, only what was.
        """
        memory, asked = self.memory, self.asked_time
        past = await find_quotes(
            self.log.conversation.store,
            self.log.person.accounts or await memory.store.accounts(memory.owner),
            self.wordings(queries),
            lookup=memory.get,
            room=memory.context.room,
            said=asked.span if asked is not None and asked.said else None,
            skip={self.log.asked.id, *self.log.shown.window},
            beside={item.id for item in found},
        )
        self.log.shown.show_past(past)
        return past.quotes

    def _time_in(self, text: str) -> AskedTime | None:
        """Return the time that a text of this turn names; reading one costs 0.2 ms, and each is asked for often."""
        if text not in self._times_in:
            self._times_in[text] = self.times.asked(text, self.said_at, self.log.person.locale)
        return self._times_in[text]
