"""What was said in a room just before a question, where the owner allows models to read it; kept nowhere.

It is data like quotes: nothing of it counts as said by the person who asks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from core.enclosures import MAX_QUOTE_CHARS, Quote, Speaker, cleaned_quotes
from core.history.rendering import room_line
from core.ports import Channel
from core.text.unicode import fold
from core.text.words import FUNCTION_WORDS, folded_words

MAX_MESSAGES: Final = 50
_MAX_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class RoomTalk:
    """The last messages of a room, the oldest first, and the lines of a prompt that show them."""

    said: tuple[Quote, ...] = ()
    lines: tuple[str, ...] = ()


SILENCE: Final = RoomTalk()


async def read(channel: Channel, most: int, max_chars: int) -> RoomTalk:
    """Return the last `most` messages of the room; the oldest are left out until the rest fits `max_chars`."""
    if most <= 0:
        return SILENCE
    found = [quote for quote in await channel.said_before(min(most, MAX_MESSAGES)) if not quote.is_unread]
    kept: list[tuple[Quote, str]] = []
    for quote in reversed(cleaned_quotes(found, MAX_QUOTE_CHARS, most=MAX_MESSAGES)):
        line = room_line(quote)
        max_chars -= len(line)
        if max_chars < 0:
            break
        kept.insert(0, (quote, line))
    if not kept:
        return SILENCE
    return RoomTalk(tuple(quote for quote, _ in kept), ("<room>", *(line for _, line in kept), "</room>"))


def credited(content: str, quotes: Sequence[Quote], own: Collection[str]) -> str:
    """Return a content that holds others' words with their names before it, unless it names them itself.

    `own` are the folded words that the person said; of quotes that say the same, the first counts.
    """
    left = set(folded_words(content)).difference(FUNCTION_WORDS, own)
    spoken = [(quote, set(folded_words(f"{quote.text} {quote.excerpt}"))) for quote in quotes]
    names: list[str] = []
    while spoken and left:
        quote, words = max(spoken, key=lambda each: len(left & each[1]))
        if not left & words:
            break
        left -= words
        if quote.speaker is Speaker.OTHER and quote.name and fold(quote.name) not in fold(content):
            names.append(quote.name)
    shown = list(dict.fromkeys(names))[:_MAX_NAMED]
    return f"{', '.join(shown)}: {content}" if shown else content
