"""What models were shown in a turn, and the rules that follow from it: whose words these are, which memories count.

Pure: nothing here reads a store or asks a model.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from core.answering.labels import Labelled
from core.enclosures import Quote, QuoteKind, Speaker
from core.history.conversation import Context
from core.history.quotes import NOTHING, Past
from core.room_talk import SILENCE, RoomTalk, credited
from core.text import claims
from core.text.unicode import fold
from core.text.words import FUNCTION_WORDS, folded_words, same
from core.types import MemoryItem, Message, is_said_by_person

_SMALL_NUMBER: Final = re.compile(r"\d{1,2}|(?:19|20)\d\d|\w")
"""What models write in their own way: the parts of dates and hours, and single letters."""


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

    past: Past = NOTHING
    """Messages of earlier talks that a search found."""

    room: RoomTalk = SILENCE
    """What was said in the room just before."""

    notes: tuple[str, ...] = ()
    """What features know of what was looked for."""

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

    def show_past(self, past: Past) -> None:
        """Note past messages, and the memories that they tell of."""
        self.past = Past((*self.past.quotes, *past.quotes), (*self.past.items, *past.items))

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

    def is_said(self, before: str, after: str) -> bool:
        """Return whether the person said every word that the new content of a memory has and the old one has not.

        So a change that the person asked for is told from one that a text in a memory or a quote asked for. Short
        numbers and years do not count. Where no word is new, the message has to ask for a change plainly.
        """
        new = set(folded_words(after)) - set(folded_words(before)) - FUNCTION_WORDS
        if not new:
            return bool(claims.asked(self.asked.text))
        said = self._said_of(new)
        return all(_SMALL_NUMBER.fullmatch(word) or word in said for word in new)

    def is_said_as(self, words: str) -> bool:
        """Return whether the person said these very words, in this order, now or in the conversation shown."""
        wanted = " ".join(folded_words(words))
        said = (" ".join(folded_words(text)) for text in (self.asked.text, *self.heard))
        return bool(wanted) and any(f" {wanted} " in f" {text} " for text in said)

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
