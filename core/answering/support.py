"""Tell whether what a model wants to write rests on the person's own words: the one rule, which every action asks.

Each word of it was said, in another form or language perhaps, each number in digits or words, and nothing that was
denied is told as so. What rests on less is offered to the person, and not done. The rule errs on that side: a free
paraphrase is asked about, while a name, a value or a colour that nobody said is not written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from core.answering.shown import Shown
from core.dialogue import Effect
from core.memory.statement import MeaningfulWord, Statement, read, tells_change, without
from core.memory.user_memory import UserMemory
from core.ports import TimeReader
from core.tasks import aside
from core.text import assertions
from core.text.days import day_phrase
from core.text.language import is_named
from core.text.pointing import points_only
from core.text.unicode import flat, fold
from core.text.words import FUNCTION_WORDS, folded_words, in_digits, same
from core.types import Locale

_NEAR: Final = 0.8
"""The cosine from which two words say one thing: dad and father (0.94); not red and blue (0.55), or uncle and aunt."""

_MAX_REWORDED: Final = 12
"""Of a content with more words that were not said as they are, no other wordings are looked for."""

_MAX_OTHER: Final = 30
"""Of a content with more words that were not said to the letter, no other endings are looked for."""

_MAX_COMPARED: Final = 60
"""The words of a message that are looked through for other wordings."""

_LABELS: Final = frozenset({"user", "usuario", "usuaria", "people", "password", "code", "phone", "email", "number"})
"""Meanings of words that only say whose a value is, or of what: nothing is told by them alone."""

_FIGURES: Final = re.compile(r"\d+")
_WITH_FIGURES: Final = frozenset({"time", "number", "phone", "code"})
"""The kinds of values that their figures tell: "at ten now" and "at 10" are read differently."""

_MAX_CHANGE_CHARS: Final = 1_000
"""Of a longer message, only the start is looked through for what is otherwise now."""

_REQUEST: Final = re.compile(
    r"^(?:\w+[ ,]+){0,3}?(?:remember|note|save|keep|lembr\w+|anot\w+|guard\w+|recuerd\w+|apunt\w+)"
    r"(?: that| (?:de )?que|:)\s+",
    re.IGNORECASE,
)
"""A request in front of what is to be kept."""

_ADVICE: Final = re.compile(
    assertions.POLITE + r"(?:recommend|suggest|recomend[ae]|recomiend[ae]|suger[ei]|sugir[ae]|sugier[ea]|"
    r"indi(?:ca|que))(?:-?me)?\b[^,;:.!?\n]*"
)
"""A request for advice, which tells nothing of the person: who asks for "a book like Dune" has not said to like it."""

_ABOUT_LANGUAGE: Final = re.compile(
    r"\b(?:learn|study|studie|teach|taught|translat|aprend|estud|ensin|ensen|traduz|traduc|tradutor|traductor)\w*"
)
_ASKS_LANGUAGE: Final = re.compile(
    r"(?<!\bto )\b(?:answer|reply|respond|write|speak|talk|chat|respond[ae]|fal[ae]|escrev[ae]|habl[ae]|contest[ae]|"
    r"escrib[ae])(?:-?me)?(?: \w+){0,2}? (?:in|em|en)\b"
)
"""Whoever speaks of learning a language has asked for answers in it by such words alone."""

_FORGET: Final = re.compile(r"\b(?:do not|don'?t|nao|no) (?:(?:se|te|me) )?(?:forget|esque\w+|olvid\w+)")
_SENTENCES: Final = re.compile(r"(?<=[.!?…])\s+|\n+")
_CLAUSES: Final = re.compile(r"[.!?;,\n]+|\b(?:and|but|e|y|mas|pero)\b")
_MAX_CLAUSES: Final = 50
_OPEN: Final = re.compile(
    r"^(?:if|se|si)\b|\b(?:imagin\w+|suppos\w+|maybe|perhaps|talvez|quizas?|tal vez|might|used to|costumava|solia|"
    r"wants?|wish\w*|quer(?:o|ia|emos)|quier[oe]|quisiera)\b"
)
"""Words of what is not so, or not yet, or no longer."""

_ENDS: Final = " \t?？!.…\"')”»*_"


@dataclass(frozen=True, slots=True)
class Support:
    """What the person said, as far as a write may rest on it.

    A command is an act of theirs, which supports all that it does; limited mode writes people's own words, but may be
    mistaken in what these change.
    """

    shown: Shown
    memory: UserMemory
    times: TimeReader
    said_at: datetime
    locale: Locale
    name: str
    is_command: bool
    is_limited: bool

    @property
    def is_trusted(self) -> bool:
        """Whether no language model wants the write."""
        return self.is_command or self.is_limited

    async def has(self, content: str, known: str = "", *, asked: bool = False) -> bool:
        """Return whether the person said a content, or all of it that is not `known` from the memory that it changes.

        Where nothing in it is new, they must have asked plainly for a change. A question tells nothing, unless it is
        surely how they `asked` for the write.
        """
        if self.is_command or (self.is_limited and not known):
            return True
        own, around = self._said(asked=asked or self.is_limited)
        chars = len(own) + len(around) + len(content)
        left = await aside(chars, lambda: self._unsaid(content, known, own, around))
        return left is not None and (not left or (not known and await self._are_near(left, f"{own}\n{around}")))

    def own_change(self) -> str:
        """Return the sentence by which the person said that something is otherwise now; "" if there is none.

        It is their own words for what a model may have worded in another way.
        """
        own = _REQUEST.sub("", _without_questions(self.shown.asked.text))
        found = (each.strip() for each in _SENTENCES.split(own[:_MAX_CHANGE_CHARS])) if not self.is_trusted else ()
        return next((each for each in found if each and tells_change(each)), "")

    def asks_for(self, effect: Effect) -> bool:
        """Return whether the person plainly asked for that effect."""
        return self.is_trusted or assertions.asks_for(self.shown.asked.text, effect)

    def asks_to_delete(self) -> bool:
        """Return whether the person asked to delete something."""
        return self.is_trusted or assertions.asks_to_delete(self.shown.asked.text)

    def names_language(self, tag: str) -> bool:
        """Return whether the person named that language, and not only as what they learn, teach or translate."""
        if self.is_trusted:
            return True
        plain = fold(self.shown.asked.text)
        is_topic = _ABOUT_LANGUAGE.search(plain) and not _ASKS_LANGUAGE.search(plain)
        return not is_topic and is_named(tag, self.shown.asked.text)

    def _said(self, *, asked: bool) -> tuple[str, str]:
        """Return what the message tells, and what it points at, if it asks to keep that."""
        text = self.shown.asked.text
        if assertions.asks_to_save(text) or self._only_points:
            return text, "\n".join(self.shown.pointed_at())
        return text if asked or assertions.asks_to_change(text) else _without_questions(text), ""

    @property
    def _only_points(self) -> bool:
        text = self.shown.asked.text
        return points_only(text) and not text.rstrip().endswith("?")

    def _unsaid(self, content: str, known: str, own: str, around: str) -> list[str] | None:
        """Return the words of a content that were not said as they are; None if it tells something else for sure."""
        text = f"{own}\n{around}"
        told = _told(self.times.meant, text, self.said_at, self.locale)
        wanted, before, said = _read(content), _read(known), _read(f"{self.name}\n{told}")
        new = _other(wanted.words, before.words)
        if not new:
            return [] if assertions.asked(self.shown.asked.text) else None
        is_other = bool(around) and not self._only_points and not _shared(new, _read(own).words)
        denied, again = _shared(new, said.denied), _shared(said.words, wanted.denied)
        is_turned = not (denied <= {*wanted.denied} and again <= {*said.denied, *before.denied})
        other = _other(new, said.words)
        is_twisted = not known and _is_twisted(wanted, text, ordered=not around)
        if is_other or is_turned or is_twisted or len(other) > _MAX_OTHER:
            return None
        folded, words, forms = fold(text), frozenset(folded_words(text)), folded_words(content)
        figures = set(_FIGURES.findall(content)) <= set(_FIGURES.findall(f"{known} {told}"))
        left = [
            word
            for word in other
            if word.text not in _LABELS
            and not (word.kind in _WITH_FIGURES and figures)
            and not _stands_in(word.text, folded, words)
        ]
        names = wanted.names - set(forms[:1])  # a capital there tells nothing
        if any(word.is_value or word.text in names for word in left) or len(left) > _MAX_REWORDED:
            return None
        return [next((form for form in forms if form.startswith(word.text)), word.text) for word in left]

    async def _are_near(self, words: Sequence[str], text: str) -> bool:
        """Return whether each of the words means what some word of the text does."""
        said = [word for word in dict.fromkeys(folded_words(text)) if word not in FUNCTION_WORDS][:_MAX_COMPARED]
        vectors = await self.memory.embed([*words, *said])
        if not vectors or not said:
            return False
        return all(any(float(vectors[word] @ vectors[other]) >= _NEAR for other in said) for word in words)


def _without_questions(text: str) -> str:
    """Return a text without the clauses that ask something, or for advice: they tell nothing."""
    kept: list[str] = []
    for sentence in _SENTENCES.split(text):
        if advice := _ADVICE.match(flat(sentence)):
            kept.append(sentence[advice.end() :])
            continue
        told = sentence.rstrip(_ENDS)
        asks = "?" in sentence[len(told) :] or "？" in sentence[len(told) :]
        kept.append(told[: max(map(told.rfind, ",;:")) + 1] if asks else sentence)
    return "\n".join(kept)


def _is_twisted(wanted: Statement, text: str, *, ordered: bool) -> bool:
    """Return whether what is wanted turns a text's words: of somebody else, as if it were so, the other way round.

    The clause that has most of the words counts. Names are in the order of a text that is `ordered`: one person's.
    """
    clauses = [_read(clause) for clause in _CLAUSES.split(flat(text))[:_MAX_CLAUSES]]
    told = max(clauses, key=lambda each: len(_shared(wanted.words, each.words)))
    if told.kin and not (wanted.kin or wanted.people):
        return True
    if (_OPEN.search(told.plain) and not _OPEN.search(wanted.plain)) or (
        "end" in told.cues and "end" not in wanted.cues
    ):
        return True
    if not ordered:
        return False
    order = {word.text: -at for at, word in enumerate(reversed(_read(text).words))}  # where each was said first
    named = [order[word.text] for word in wanted.words if word.text in wanted.names and word.text in order]
    return named != sorted(named)


def _stands_in(word: str, folded: str, words: frozenset[str]) -> bool:
    """Return whether a word stands in a text in any form; one without spaces around it, as it is."""
    return word in words or any(same(word, other) for other in words) or (not word.isascii() and word in folded)


def _shared(words: Iterable[MeaningfulWord], others: Iterable[MeaningfulWord]) -> frozenset[MeaningfulWord]:
    return frozenset(words).intersection(others)


def _other(words: Sequence[MeaningfulWord], others: Sequence[MeaningfulWord]) -> Sequence[MeaningfulWord]:
    """Return the words that none of the others means; all, if more than a few are not among them as they are."""
    known = frozenset(others)
    left = [word for word in words if word not in known]
    return without(left, others) if len(left) <= _MAX_OTHER else left


@lru_cache(16)
def _told(read_day: Callable[[str, datetime, Locale], str], text: str, said_at: datetime, locale: Locale) -> str:
    """Return what was said, with its numbers in digits, too, and the day that it means."""
    meant, plain = read_day(text, said_at, locale), _FORGET.sub("", flat(text))
    return "\n".join((plain, in_digits(plain), *_days(meant)))


def _days(meant: str) -> Iterator[str]:
    """Yield the words for the day and the minute that a text means."""
    if meant:
        day, _, minute = meant.partition("T")
        yield from (day, *(day_phrase(day, locale) for locale in Locale), f"at {minute}" if minute else "")


@lru_cache(64)
def _read(text: str) -> Statement:
    return read(" ".join(_leaves(json.loads(text))) if _is_json(text) else text)


def _is_json(text: str) -> bool:
    try:
        return text[:1] in {"{", "["} and bool(json.loads(text))
    except (ValueError, RecursionError):
        return False


def _leaves(value: Any) -> Iterator[str]:
    """Yield the names and values in data."""
    match value:
        case dict():
            for key, each in value.items():
                yield str(key)
                yield from _leaves(each)
        case list():
            for each in value:
                yield from _leaves(each)
        case _:
            yield str(value)
