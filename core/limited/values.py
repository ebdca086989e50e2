"""Find the values of a text (days, hours, amounts, phones, codes, names), and put new ones in the place of old ones.

Only values of one kind take each other's place. Where the kind stands more than once, the words beside the value tell
which is meant ("room 118"). A name takes the place of one that is told in the same sentence, and of no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from core.text.senses import silent, told_by
from core.text.unicode import flat
from core.text.words import folded_words, stands_in
from core.times.tokens import TIMELY, Tokens, tokens

_KEPT_TEXTS: Final = 512
"""What one message finds is looked into by several rules, and found again by the next."""

_MAX_KNOWN_CHARS: Final = 1_000
"""Of a memory: what stands further on keeps its values."""
_LANGUAGES: Final = ("pt", "en", "es")
_DAY: Final = re.compile(r"W(?:[ou,]{0,3}[nr](?![AP:]|,n|an)(?:o?M(?:o?n)?)?|,?T)?|T|[nr]o?M(?:o?n(?!\w))?|M[nr]|d|J")
_CLOCK: Final = re.compile(
    r"(?:C|:)(?:o?[cp]|[AP])?|n(?:&[hqn])?(?:c?[AP]|c|o+p)|(?<=a)n(?:&[hqn])?(?:o+p)?(?![uM])|[NG](?:&[hq])?"
)
_PLACE: Final = re.compile(
    r"\d{1,5}(?:,? [A-ZÀ-Þ][\w'’.-]*)+|(?:[A-ZÀ-Þ][\w'’.-]* (?:d[aeo]s? |del? |la )*)+\d{1,5}(?![\w:.,/])"
)
_PHONE: Final = re.compile(r"(?<![\w.])\+?\(?\d(?:[ ().-]{0,2}\d){7,14}(?!\w)")
_MONEY: Final = re.compile(
    r"(?:r\$|us\$|[$€£]) ?\d[\d.,]*\d?(?:/\w+)?|\d[\d.,]* ?(?:reais|real|euros?|eur|dollars?|bucks|pesos|lucas|libras|"
    r"pounds|quid|mangos|soles|dolares|€|£)(?!\w)|\d[\d.,]*/(?:h|hr|hour|mes|month|dia|day)\b"
)
_CODE: Final = re.compile(
    r"(?<![\w@#])(?=[^\s,;]*\d)(?=[^\s,;]*[^\W\d])[^\s,;()]*[\w#*](?!\w)|(?<![\w.+-])[\w.+-]+@[\w-]+\.\w+|"
    r"(?<![\w.-])\d{1,6}(?:-\d{1,6})+(?![\w-])"
)
_DAY_OF_MONTH: Final = re.compile(
    r"(?<=\bdia )\d{1,2}(?!\w)|(?<=\bthe )\d{1,2}(?:st|nd|rd|th)\b|"
    r"(?<=\bel )\d{1,2}(?=\W*$|[,.;](?!\d)| (?:a|de|por|en|y|al|del) )"
)
_SIZE: Final = re.compile(r"(?:(?<=\btalla )|(?<=\bsize )|(?<=\btamanho )|(?<=\btam )|(?<=\btamano ))[a-z]{1,3}(?!\w)")
_NUMBER: Final = re.compile(r"(?<![\w.,/:-])\d+(?:[.,]\d+)*(?:kg|g|mg|ml|l|km|m|cm|%)?(?![\w/:-])")
_NAME: Final = re.compile(r"(?<=[\w,;:.] )[A-ZÀ-Þ][\w'’-]*[a-zß-ÿ][\w'’-]*(?: [A-ZÀ-Þ][\w'’-]+)*")
_KINDS: Final = (
    ("phone", _PHONE),
    ("money", _MONEY),
    ("day", _DAY_OF_MONTH),
    ("size", _SIZE),
    ("place", _PLACE),
    ("code", _CODE),
    ("number", _NUMBER),
    ("name", _NAME),
)
_ALIKE: Final = (
    {"money", "number", "dotted"}, {"clock", "dotted"}, {"place"}, {"size"}, {"phone"}, {"day"}, {"code"}, {"name"},
)  # fmt: skip
_PASSED: Final = frozenset({"0", "-1", "-2"})
"""Days by which people say when they heard it: today, yesterday."""

_OVER: Final = re.compile(r"ontem|anteontem|yesterday|ayer|anteayer|anoche|last night")
"""Those that are over: nothing is moved to them."""

_HOURS: Final = 24
_DENIED: Final = re.compile(
    r"\b(?:nao|n|not|isn'?t|wasn'?t|no|ya no|ja nao|no longer|instead of|em vez d[aeo]s?|en vez de|en lugar de|from|"
    r"de|das|do|desde)(?: (?:e|é|eh|era|es|a|as|o|the|at|las?|los|el|on)){0,3} ?$"
)
"""What stands before a value that is the old one: "not 9:30", "from 9 to 10"."""

_SEAM: Final = re.compile(r"[,;\n]")
"""What stands between the entries of a list, of which each has its own value."""

_BESIDE_NAMES: Final = frozenset(
    "agora now ahora hoje today hoy dr dra sr sra mr mrs ms miss prof profa professor professora called named chama "
    "llama nome nombre name new novo nova nuevo nueva".split()
)
"""Words between a name and what it is the name of: "the dentist is now called Dr. Lind"."""

_NEAR_CHARS: Final = 60
_NEAR: Final = 3
"""How many words on each side of a value tell which one it is."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value at a place in a text, and the words beside it."""

    kind: str
    start: int
    end: int
    text: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    is_passed: bool = False

    def likeness(self, other: Value) -> int:
        """Return how much the words beside two values are the same, those next to them most."""
        next_to = _is_alike_word(self.before[-1:], other.before[-1:]) + (self.after[:1] == other.after[:1] != ())
        return 3 * next_to + len({*self.before, *self.after} & {*other.before, *other.after})

    def is_told_of_the_same(self, other: Value) -> bool:
        """Return whether a name is told in the same sentence as another: by the same verb, or of the same thing.

        "The car is at Joe's" is not told so by "Mum took the car to Leeds", but by "the car is at Ann's now".
        """
        said = [word for word in self.before if word not in _BESIDE_NAMES]
        others = {*said} - {*other.before}
        if (*said[-1:],) == other.before[-1:]:
            return bool(said) and len(others) <= 1
        return _is_alike_word((*said[-1:],), other.before[-1:]) or (bool(said) and not others)


def _is_alike_word(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether the words before two values are the same, or verbs of one concept: "lives in", "moved to"."""
    return one != () != other and (one == other or not {*told_by(one[0])}.isdisjoint(told_by(other[0])))


@lru_cache(_KEPT_TEXTS)
def values(text: str, *, apart: bool = False) -> tuple[Value, ...]:
    """Return the values of a text, in their order; each character belongs to one at most.

    `apart`: the words beside a value are those of its own entry of a list.
    """
    text = text[:_MAX_KNOWN_CHARS]
    taken: list[Value] = []
    for start, end, kind in (*_shaped(text, _KINDS[:2]), *_timed(text), *_shaped(text, _KINDS[2:])):
        if all(end <= each.start or start >= each.end for each in taken):
            ahead, behind = text[max(start - _NEAR_CHARS, 0) : start], text[end : end + _NEAR_CHARS]
            if apart:
                ahead, behind = _SEAM.split(ahead)[-1], _SEAM.split(behind, 1)[0]
            before, after = _words(ahead)[-_NEAR:], _words(behind)[:_NEAR]
            taken.append(Value(kind.strip("-"), start, end, text[start:end], before, after, is_passed=kind[0] == "-"))
    return tuple(sorted(taken, key=lambda value: value.start))


def _shaped(text: str, kinds: Sequence[tuple[str, re.Pattern[str]]]) -> Iterator[tuple[int, int, str]]:
    for kind, pattern in kinds:
        said = text if kind in {"place", "name"} else flat(text)
        yield from ((match.start(), match.end(), kind) for match in pattern.finditer(said))


def _timed(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield days and hours, by the words of the language that knows most of them."""
    read = max((tokens(text, tag) for tag in _LANGUAGES), key=_weight)
    for kind, pattern in (("day", _DAY), ("clock", _CLOCK)):
        for match in pattern.finditer(read.kinds):
            first, last = read.items[match.start()], read.items[match.end() - 1]
            is_number = match[0][0] == "n" and kind == "clock"
            if is_number and int(first.value) > _HOURS:  # "50 in the morning" is a dose
                continue
            if match[0] == "n" and re.match(r" [A-ZÀ-Þ]", text[last.end :]):
                continue
            if match[0] == ":" and read.kinds[match.start() - 1 : match.start()] != "a":
                yield first.start, last.end, "dotted"
            else:
                yield first.start, last.end, f"-{kind}" if match[0] == "d" and first.value in _PASSED else kind


def _weight(read: Tokens) -> int:
    return sum(token.kind in TIMELY or token.kind in "aop" for token in read.items)


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a text that tell something."""
    return tuple(word for word in folded_words(text) if not silent(word) and not word.isdigit())


def swapped(old: str, new: str) -> str:
    """Return the old text with the values of the new one in place of its own; "" unless each has one clear place.

    One that is said to be the only one takes the place of all that stand together: "tuesday and thursday".
    """
    known_text, old = old, _narrowed(old, new)
    known, said = list(values(old, apart=True)), values(new, apart=True)
    olds = {flat(value.text) for value in known}
    news = [value for value in said if flat(value.text) not in olds and not _stands_in(value.text, old)]
    news = [value for value in news if not _OVER.fullmatch(flat(value.text))]
    denied = {flat(value.text) for value in said if _DENIED.search(flat(new[: value.start]))}
    restated = {flat(value.text) for value in said} - denied
    known = [value for value in known if flat(value.text) not in restated]
    named = [value for value in known if flat(value.text) in denied]
    places: dict[Value, str] = {}
    for value in news:
        free = [each for each in known if each not in places and _is_alike(each, value)]
        place = _place(value, free, [each for each in named if each in free])
        if place is not None:
            places[place] = value.text
        elif value.kind != "name" and not value.is_passed:
            return ""
    text = old
    for place, value_text in sorted(places.items(), key=lambda pair: -pair[0].start):
        text = text[: place.start] + value_text + text[place.end :]
    return text if places or old != known_text else ""


def _narrowed(old: str, new: str) -> str:
    """Return the old text with the one value of a kind that is said to hold in place of several that stand together."""
    for value in values(new):
        same = [each for each in values(old) if each.kind == value.kind]
        between = [old[one.end : other.start] for one, other in pairwise(same)]
        is_only = _ONLY.search(flat(new[: value.start])) is not None
        if is_only and between and all(map(_JOINED.fullmatch, between)):
            old = old[: same[0].start] + value.text + old[same[-1].end :]
    return old


_ONLY: Final = re.compile(
    r"\b(?:so|somente|apenas|only|just|solo|solamente|nomas)(?: (?:as?|os?|on|at|a|los?|las?|el|na|no|de)){0,2} ?$"
)
_JOINED: Final = re.compile(r"\s*(?:,|/|e|y|and|&|,? (?:e|y|and) (?:as?|las?|el|los|on|at|na|no)?)\s*")
"""What stands between values that hold together."""


def _stands_in(value: str, text: str) -> bool:
    """Return whether a value stands in a text for itself: "6" does not in "16h"."""
    return stands_in(flat(value), flat(text))


def _is_alike(old: Value, new: Value) -> bool:
    """Return whether two values are of one kind; a bare number may be an hour: "moved to 10"."""
    is_hour = new.kind == "number" and not new.after and new.text.isdigit() and int(new.text) <= _HOURS
    return any({old.kind, new.kind} <= kinds for kinds in _ALIKE) or (is_hour and old.kind == "clock")


def _place(value: Value, free: Sequence[Value], named: Sequence[Value]) -> Value | None:
    """Return which of the old values a new one takes the place of; None if that is not clear."""
    if len(named) == 1:
        return named[0]
    if value.kind == "name":
        same = [each for each in free if value.is_told_of_the_same(each)]
        return same[0] if len(same) == 1 else None
    amounts = [each for each in free if each.kind == "money"]
    if len(amounts) == 1 and value.kind in {"money", "number"}:
        return amounts[0]
    same = [each for each in free if each.kind == value.kind]
    if len(same) == 1 and value.likeness(same[0]):
        return same[0]
    if len(free) == 1 and (value.kind != "number" or value.likeness(free[0]) or _may_be(value, free[0])):
        return free[0]
    alike = sorted(((value.likeness(each), -at) for at, each in enumerate(free)), reverse=True)
    is_ahead = bool(alike) and alike[0][0] > 0 and (len(alike) == 1 or alike[0][0] > alike[1][0])
    return free[-alike[0][1]] if is_ahead else None


def _may_be(new: Value, old: Value) -> bool:
    """Return whether a number may be another's new value: no two units tell otherwise, as in "3 cats" and "2 dogs"."""
    return not (new.after and old.after)


def without_values(text: str) -> str:
    """Return a text without its values, but names: what it is about."""
    for value in reversed(values(text)):
        if value.kind != "name":
            text = f"{text[: value.start]} {text[value.end :]}"
    return text
