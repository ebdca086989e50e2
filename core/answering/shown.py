"""What models were shown in a turn, and the rules that follow from it: whose words these are, which memories count.

Pure: nothing here reads a store or asks a model.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from core.enclosures import MAX_QUOTE_CHARS, Quote, QuoteKind, Speaker, cleaned_quotes
from core.history.conversation import Context
from core.history.rendering import NOTHING, PastWords, room_line, room_mark, said_in_room
from core.stores import Exchange
from core.text.marks import not_cited, quoted
from core.text.unicode import fold, one_line
from core.text.words import FUNCTION_WORDS, folded_words, same
from core.types import MemoryHit, MemoryItem, MemoryKind, Message, is_said_by_person

MAX_MESSAGES: Final = 50
_MAX_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class RoomTalk:
    """The last messages of a room, the oldest first, and the lines of a prompt that show them."""

    said: tuple[Quote, ...] = ()
    lines: tuple[str, ...] = ()


SILENCE: Final = RoomTalk()


def room_talk(
    found: Sequence[Quote],
    max_chars: int,
    exchanges: Sequence[Exchange] = (),
    *,
    together: bool = False,
    zone: tzinfo = UTC,
) -> RoomTalk:
    """Return what was said in a room: what others asked the bot before, with its answers, then what was `found` there.

    An exchange whose question was found, too, stands there only. Times are in that zone. The oldest are left out until
    the rest fits `max_chars`. `together`: people there talk with the bot in one conversation.
    """
    readable = [quote for quote in found if not quote.is_unread]
    heard = " ".join(fold(quote.text) for quote in readable if quote.speaker is Speaker.OTHER)
    said = [
        (said_in_room(message), message.at)
        for exchange in exchanges
        if fold(exchange.messages[0].text) not in heard
        for message in exchange.messages
    ]
    quotes = [*(quote for quote, _ in said), *readable]
    times = [*(at for _, at in said), *(None for _ in readable)]
    kept: list[tuple[Quote, str]] = []
    for quote, at in zip(
        reversed(cleaned_quotes(quotes, MAX_QUOTE_CHARS, most=len(quotes))), reversed(times), strict=True
    ):
        line = room_line(quote, None if at is None else at.astimezone(zone))
        max_chars -= len(line)
        if max_chars < 0:
            break
        kept.insert(0, (quote, line))
    if not kept:
        return SILENCE
    return RoomTalk(
        tuple(quote for quote, _ in kept), (room_mark(together=together), *(line for _, line in kept), "</room>")
    )


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


_MAX_ABOUT_CHARS: Final = 200
_MAX_CONTENT_CHARS: Final = 1500
_ENDED: Final = "no longer true, true until"
_TELLING_WORDS: Final = 4
"""A content of fewer words is shown with what it is found by; with others small models take that for the content."""

_NAME: Final = re.compile(r"\W*(?:memory\s+)?m0*([1-9][0-9]{0,2})\W*", re.IGNORECASE)

_SMALL_NUMBER: Final = re.compile(r"\d{1,2}|(?:19|20)\d\d|\w")
"""What models write in their own way: the parts of dates and hours, and single letters."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """Memories that a model is shown, the first under the label m1, the second m2, and so on."""

    items: tuple[MemoryItem, ...] = ()

    def also(self, items: Iterable[MemoryItem]) -> Labelled:
        """Return these and those, under the next labels; a memory that has one keeps it, in its new state."""
        found = {item.id: item for item in self.items} | {item.id: item for item in items}
        return Labelled(tuple(found.values()))

    @property
    def labels(self) -> Mapping[str, MemoryItem]:
        """The memories by their labels."""
        return {f"m{number}": item for number, item in enumerate(self.items, 1)}

    def find(self, name: str) -> MemoryItem | None:
        """Return the memory that a model names by its label (m2, M2, [m2]) or its id; None if it was not shown."""
        if found := _NAME.fullmatch(name):
            return self.labels.get(f"m{found[1]}")
        wanted = name.strip().casefold()
        return next((item for item in self.items if item.id.casefold() == wanted), None)

    def cited(self, names: Iterable[str]) -> tuple[MemoryItem, ...]:
        """Return the memories of those names that were shown, each once, in the order named."""
        found = [item for name in names if (item := self.find(name)) is not None]
        return tuple({item.id: item for item in found}.values())

    def render(self, zone: tzinfo, items: Iterable[MemoryItem] | None = None) -> str:
        """Return a `<memory m1 saved 2026-05-03>` block for each memory, or for those of the items among them.

        A block holds the bindings and the content; nothing in them ends it or is a citation. `changed` is the day of
        the last change, if that is another one; `until`, when it ends, or ended if something else is true since;
        `means`, the day or the minute that its words mean; `json` marks JSON, `perhaps over` what a later memory may
        tell anew, `cut` a content of which the end is missing, `keeps photo` what it has beside its words. Days are in
        that zone.
        """
        wanted = {item.id for item in (self.items if items is None else items)}
        return "\n".join(_block(label, item, zone) for label, item in self.labels.items() if item.id in wanted)


def _last_day(until: datetime, zone: tzinfo) -> str:
    """Return the last day on which something is true: what ends with a day ends as the next one begins."""
    return f"{(until - timedelta(microseconds=1)).astimezone(zone):%Y-%m-%d}"


def _block(label: str, item: MemoryItem, zone: tzinfo) -> str:
    saved, changed = (f"{at.astimezone(zone):%Y-%m-%d}" for at in (item.created_at, item.updated_at))
    is_cut = len(item.content) > _MAX_CONTENT_CHARS
    facts = [
        f"saved {saved}",
        *([f"changed {changed}"] if changed != saved else []),
        *([f"{_ENDED if item.current else 'until'} {_last_day(item.until, zone)}"] if item.until else []),
        *([f"means {item.meant}"] if item.meant else []),
        *([f"keeps {', '.join(dict.fromkeys(thing.kind for thing in item.attachments))}"] if item.attachments else []),
        *(["json"] if item.kind is MemoryKind.JSON else []),
        *(["perhaps over"] if item.over else []),
        *(["cut"] if is_cut else []),
    ]
    content = f"{item.content[:_MAX_CONTENT_CHARS].rstrip()}…" if is_cut else item.content
    if item.kind is MemoryKind.JSON or len(content.split()) < _TELLING_WORDS:
        about = one_line("; ".join(item.bindings), _MAX_ABOUT_CHARS).replace("<", "‹").replace(">", "›")
        facts.append(f"about {quoted(not_cited(about))}")
    inside = quoted(not_cited(content))
    return f"<memory {label} {' '.join(facts)}>{inside}</memory>"


@dataclass(slots=True)
class Shown:
    """What models were shown since the turn began."""

    asked: Message
    """The person's message, as it came."""

    labelled: Labelled = field(default_factory=Labelled)
    """Memories that have a label (m1, m2, ...)."""

    memories: tuple[MemoryItem, ...] = ()
    """Memories of the last prompt, and those that were labelled, recalled or named since."""

    window: frozenset[int] = frozenset()
    """The ids of the messages in the last prompt."""

    heard: tuple[str, ...] = ()
    """The person's own messages in the last prompt."""

    past: PastWords = NOTHING
    """Messages of earlier talks that a search found."""

    room: RoomTalk = SILENCE
    """What was said in the room just before."""

    notes: tuple[str, ...] = ()
    """What features know of what was looked for."""

    recalled: tuple[MemoryItem, ...] = ()
    """Memories that this turn added to the conversation."""

    hits: tuple[MemoryHit, ...] = ()
    """The memories that the message's own words found."""

    data: tuple[tuple[int, int], Context] | None = None
    """The conversation as limited mode read it last, after how many steps and messages of the turn."""

    def show_window(self, context: Context) -> None:
        """Note what the prompt shows of the conversation."""
        self.memories = context.memories
        self.window = frozenset(message.id for message in context.messages)
        self.heard = tuple(message.text for message in context.messages if is_said_by_person(message))

    def label(self, items: Iterable[MemoryItem]) -> None:
        """Give a label to each memory that has none."""
        items = tuple(items)
        self.labelled = self.labelled.also(items)
        self.memories += items

    def show_past(self, past: PastWords) -> None:
        """Note past messages, and the memories that they tell of."""
        self.past = PastWords((*self.past.quotes, *past.quotes), (*self.past.items, *past.items))

    def show_notes(self, notes: Sequence[str]) -> None:
        """Note lines of what features know, each once."""
        self.notes = tuple(dict.fromkeys((*self.notes, *notes)))

    def resolve(
        self, names: Sequence[str], in_view: Iterable[MemoryItem]
    ) -> tuple[dict[str, MemoryItem], tuple[str, ...]]:
        """Map labels or ids that a model answered to their memories; return the refused names besides.

        Only memories `in_view` count: those of this person that were shown in the conversation (T15).
        """
        held = {item.id: item for item in in_view}
        labelled = {name: self.labelled.find(name) for name in dict.fromkeys(names)}
        ids = {name: name if item is None else item.id for name, item in labelled.items()}
        found = {name: held[key] for name, key in ids.items() if key in held}
        self.memories += tuple(found.values())
        return found, tuple(name for name in ids if name not in found)

    def is_said_as(self, words: str) -> bool:
        """Return whether the person said these very words, in this order, now or in the conversation shown."""
        wanted = " ".join(folded_words(words))
        said = (" ".join(folded_words(text)) for text in (self.asked.text, *self.heard))
        return bool(wanted) and any(f" {wanted} " in f" {text} " for text in said)

    def pointed_at(self) -> Sequence[str]:
        """Return what a message may point at: quotes with who said them, files, and the person's own words before."""
        texts = [text for quote in self._quotes for text in (quote.name, quote.text, quote.excerpt)]
        files = [*self.asked.attachments, *(file for quote in self._quotes for file in quote.attachments)]
        return list(filter(None, (*texts, *(file.name for file in files), *self.heard)))

    def is_from_others(self, content: str) -> bool:
        """Return whether a content to save was taken from memories, quotes or names of files, not from the person.

        True if at least half of its known words, or any number in it, stand only there. What the person said to
        others in the room counts as a quote: it was not said to be saved.
        """
        words = set(folded_words(content)) - FUNCTION_WORDS
        said = self._said_of(words)
        quotes = [quote for quote in self._quotes if quote.kind is QuoteKind.ROOM or quote.speaker is not Speaker.SELF]
        read = [text for item in self.memories for text in (item.content, *item.bindings)]
        read += [text for quote in quotes for text in (quote.text, quote.excerpt, quote.name)]
        read += [file.name for file in self.asked.attachments]
        read += [file.name for quote in quotes for file in quote.attachments]
        read += [quote.message.text for quote in self.past.quotes]
        taken = (words - said) & {word for text in read for word in folded_words(text)}
        has_number = any(not word.isalpha() and not _SMALL_NUMBER.fullmatch(word) for word in taken)
        return bool(taken) and (has_number or len(taken) >= len(said))

    def credited(self, content: str) -> str:
        """Return a content with the names of those whose words it holds, if the person did not say them."""
        known = {word for item in self.memories for word in folded_words(f"{item.content} {' '.join(item.bindings)}")}
        return credited(content, self._quotes, known | self._said_of(set(folded_words(content))))

    @property
    def labels(self) -> Mapping[str, MemoryItem]:
        """The memories by their labels."""
        return self.labelled.labels

    @property
    def _quotes(self) -> Sequence[Quote]:
        return (*self.asked.quotes, *reversed(self.room.said))

    def _said_of(self, words: Collection[str]) -> set[str]:
        """Return those of the folded words that the person said, now or in the conversation shown."""
        text = fold("\n".join((self.asked.text, *self.heard)))
        said = set(folded_words(text))
        return {
            word
            for word in words
            if any(same(word, other) for other in said) or (not word.isascii() and word in text)  # without spaces
        }
