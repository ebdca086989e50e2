"""What kind of value answers a question, by which a memory that only shares its words is told from one that answers.

"What's my mum's number?" asks for digits: "my mum lives in Leeds" has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from core.limited import frames
from core.limited.values import Value, values
from core.text.senses import is_kind, sense, senses
from core.text.subject import AskedWord
from core.types import MemoryItem

_CLOCK: Final = frozenset({"clock", "dotted"})
_DAY: Final = frozenset({"day"})
_AMOUNT: Final = frozenset({"money", "number", "dotted", "clock", "size", "code"})
_FIGURES: Final = (_AMOUNT | {"phone", "place"}) - {"clock"}
_IN_FIGURES: Final = frozenset(map(sense, ("telefone", "número", "placa")))
_DATED: Final = frozenset({sense("aniversário")})
_DATE: Final = frozenset({"date", "dotted", "code"})
_WHEN: Final = _CLOCK | _DAY
_MAX_SHARED: Final = 2
"""In so many memories at most stands a word that tells which other memory is of the same thing."""


def kinds_asked(question: str, asked: Iterable[AskedWord]) -> frozenset[str]:
    """Return the kinds of value of which one answers a question; none where any words may answer it."""
    named = {word.sense for word in asked if word.names}
    if named & _DATED:
        return _DATE
    if frames.has("hour", question):
        return _CLOCK
    if frames.has("weekday", question):
        return _DAY
    if frames.has("amount", question):
        return _AMOUNT
    return _FIGURES if named & _IN_FIGURES else frozenset()


def kinds_replaced(question: str, kinds: frozenset[str]) -> frozenset[str]:
    """Return the kinds of value of which a newer one may have taken the place of what answers a question."""
    return kinds or (_WHEN if frames.has("when", question) else frozenset())


def has_form(asked: Iterable[AskedWord]) -> bool:
    """Return whether a question asks for what is always told in figures: a phone number, a plate, a birthday."""
    return any(word.names and word.sense in _IN_FIGURES | _DATED for word in asked)


def is_told(kinds: frozenset[str], content: str) -> bool:
    """Return whether a memory has a value of these kinds; True where any words may answer."""
    return not kinds or bool(_values(content, kinds))


def rivals(told: Sequence[MemoryItem], others: Sequence[MemoryItem], kinds: frozenset[str]) -> Sequence[MemoryItem]:
    """Return what was said later than what is told, of the same thing, with another value of these kinds."""
    about = {item.id: senses(item.content) for item in (*told, *others)}
    return [each for each in others if any(_replaces(each, item, about, kinds) for item in told)]


def _replaces(new: MemoryItem, old: MemoryItem, about: Mapping[str, frozenset[str]], kinds: frozenset[str]) -> bool:
    """Return whether a memory was said after another, shares a word with it that few have, and has another value."""
    shared = [name for name in about[new.id] & about[old.id] if not is_kind(name) and not name[:1].isdigit()]
    is_same = any(sum(name in each for each in about.values()) <= _MAX_SHARED for name in shared)
    alike = kinds & {_kind(value) for value in values(old.content)} | kinds & {
        value.kind for value in values(old.content)
    }
    mine, other = _values(old.content, alike), _values(new.content, alike)
    return new.updated_at >= old.updated_at and is_same and bool(mine) and bool(other - mine)


def _values(content: str, kinds: frozenset[str]) -> set[str]:
    return {value.text.casefold() for value in values(content) if _kind(value) in kinds or value.kind in kinds}


def _kind(value: Value) -> str:
    """Return the kind of a value; a day of a month is a date."""
    return "date" if value.kind == "day" and any(map(str.isdigit, value.text)) else value.kind
