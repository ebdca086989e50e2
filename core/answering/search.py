"""What is looked for in a turn: memories and past messages, from the person's own words on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from core.answering.log import Log
from core.candidates import Prefetch
from core.history.quotes import find_quotes
from core.memory.asking import wordings
from core.memory.user_memory import UserMemory
from core.ports import Clock, TimeReader
from core.stores import Quoted
from core.types import AskedTime, MemoryHit, MemoryItem


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
        if self._prefetch is None:
            self._prefetch = Prefetch(self.memory, self.clock, self.log.asked.text, self.asked_time).start()

    async def near_message(self) -> tuple[MemoryHit, ...]:
        """Return the memories that the message may need, the best first."""
        self.begin()
        return await self._prefetch.hits() if self._prefetch is not None else ()

    async def close(self) -> None:
        """End the search, if it is still under way."""
        if self._prefetch is not None:
            await self._prefetch.close()

    async def in_view(self) -> Sequence[MemoryItem]:
        """Return the memories that models were shown in this conversation, still exist, and may be spoken of here."""
        conversation, labelled = self.log.conversation, self.log.shown.labelled
        shown = await conversation.store.shown_memories(conversation.thread.id)
        return await self.memory.get(sorted({*shown, *(item.id for item in labelled.items)}))

    async def find_quotes(self, queries: Sequence[str], found: Collection[MemoryItem]) -> tuple[Quoted, ...]:
        """Return past messages that say something about what is looked for, and that the last prompt did not show.

        Memories that are `found` tell it better. If the message asks for what was said at a time, only what was.
        """
        memory, asked = self.memory, self.asked_time
        past = await find_quotes(
            self.log.conversation.store,
            await memory.store.accounts(memory.owner),
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
