"""What of a thread is kept from models for good: what the bot said since it showed memories that are not the person's.

It is a part of the thread, from its first such memory on, kept in the thread's metadata. The person's own words stay.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from typing import Final

from core.history.budget import is_said_by_person
from core.stores import HistoryStore
from core.types import Message, Thread, UserKey

_NAME: Final = "withheld"
_PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class Withheld:
    """Messages after the sequence `after` and up to `through`, and all of `turn`, which was being answered then."""

    after: int
    through: int
    turn: str = ""

    def hides(self, message: Message) -> bool:
        """Tell whether no model is shown the message."""
        inside = self.after < message.sequence <= self.through or (bool(self.turn) and message.turn == self.turn)
        return inside and not is_said_by_person(message)


NOTHING: Final = Withheld(0, 0)


def withheld_of(thread: Thread) -> Withheld:
    """Return what is withheld of a thread; NOTHING where its metadata does not say, or says it in no form of ours."""
    match thread.metadata.get(_NAME):
        case {"after": int(after), "through": int(through), "turn": str(turn)}:
            return Withheld(after, through, turn)
    return NOTHING


async def withhold(store: HistoryStore, user: UserKey, theirs: Collection[str]) -> None:
    """Withhold, in every thread of the person's that showed a memory that is not `theirs`, all since it did.

    Summaries that rest on it are removed, and made anew of what is left.
    """
    for thread in await store.threads(user):
        if foreign := await store.shown_memories(thread.id) - frozenset(theirs):
            await _withhold_since(store, thread, foreign)


async def _withhold_since(store: HistoryStore, thread: Thread, foreign: Collection[str]) -> None:
    """Withhold of a thread all that was said by now, too, if it showed any of those since the last time."""
    before = withheld_of(thread)
    first, through, turn = 0, before.through, before.turn
    while page := await store.since(thread.id, through, _PAGE):
        shown = [message.sequence for message in page if message.memory_id in foreign]
        first = first or min(shown, default=0)
        through, turn = page[-1].sequence, page[-1].turn
    if first:
        withheld = Withheld(before.after if before.through else first - 1, through, turn)
        await store.describe(replace(thread, metadata={**thread.metadata, _NAME: asdict(withheld)}))
        await store.drop_summaries(thread.id, withheld.after)
