"""Change a memory as the person says: choose which one is meant, and what it says then.

"The dentist moved me to 11:40" changes the hour of "dentist next tuesday 9:15 w/ Dr. Okafor", and nothing else. Only
values of one kind take each other's place: days, hours, amounts of money, phones, numbers, codes, names. Where the kind
stands more than once, the words beside the value tell which is meant ("room 118"). Where no value has a clear place,
the new words may take the place of the whole memory. The engine decides what is done at once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from core.limited.clauses import cut, holds, telling
from core.limited.frames import has, listed, stands_for, told_of, without_change
from core.limited.values import swapped, values, without_values
from core.text.senses import is_kind, relatives, sense, senses, silent, words
from core.text.unicode import flat
from core.types import MemoryItem

MAX_CHARS: Final = 500
"""Of a message that changes something: longer ones tell something of their own."""

MAX_CANDIDATES: Final = 3
_NOW: Final = senses("agora now ahora hoje today hoy")
"""They say that something changed, and not what."""

_KIND_WEIGHT: Final = 0.5
_OF_WOMEN, _OF_MEN = (
    frozenset(map(sense, names.split()))
    for names in (
        "mãe esposa filha irmã avó namorada sogra cunhada tia prima neta amiga vizinha",
        "pai marido filho irmão avô namorado sogro cunhado tio primo neto amigo vizinho",
    )
)
"""Relatives by whom "she" and "he" can stand."""

_MOST: Final = 0.5
"""The share of its words that a statement must have in common with a memory that it may replace as a whole."""


@dataclass(frozen=True, slots=True)
class PossibleChange:
    """A memory that a message may change, and the text that it has then.

    `is_put_in`: that is the message, in place of the clause that it is about.
    """

    item: MemoryItem
    text: str
    is_put_in: bool = False


def changes(
    message: str,
    items: Sequence[MemoryItem],
    quoted: Sequence[MemoryItem],
    recent: Sequence[MemoryItem] = (),
    *,
    least: float = 1.0,
) -> list[PossibleChange]:
    """Return the memories that a message may change, the likeliest first; none if it says nothing of any.

    A memory of which it names the subject, by words of at `least` that weight, goes before one that was quoted last,
    and that before one of which it only says much the same. "She moved to York" is about the one memory told of in the
    `recent` talk that can be meant.
    """
    if len(message) > MAX_CHARS or has("once", message):
        return []
    if stands_for(message)[0] or has("repaid", message):
        told = [*recent, *items] if has("repaid", message) else recent
        return pointed(message, quoted, told)
    about = senses(without_values(message)) - _NOW
    weights = {item.id: _weight_of(_shares(about, item)) for item in items}
    edited = {item.id: _edited(item.content, message) for item in (*items, *quoted)}
    named = [item for item in items if edited[item.id] and weights[item.id] >= least]
    is_bare = not senses(without_change(without_values(message)))
    shown = [item for item in quoted[-1:] if edited[item.id] and (is_bare or _shares(about, item))]
    found = named or shown or (_of_clause(items, message) if least <= 1 else [])
    if not found and listed(message) is None:
        alike = (item for item in items if weights[item.id] >= max(2.0, _MOST * _weight_of(about)))
        found = [item for item in alike if not _loses(item.content, message)] or _of_same_name(message, items)
    best = max((weights.get(item.id, 0) for item in found), default=0)
    likeliest = [item for item in found if weights.get(item.id, 0) == best]
    return [PossibleChange(item, edited[item.id]) if edited[item.id] else _put_in(item, message) for item in likeliest][
        :MAX_CANDIDATES
    ]


def _of_same_name(message: str, items: Sequence[MemoryItem]) -> list[MemoryItem]:
    """Return the one memory that has the name and the kind of value of what a message says is so now; else nothing.

    "Sandra takes 7.0 now" may be said of her colour 6.1, among other things.
    """
    said = senses(message)
    if not said & _NOW:
        return []
    names, kinds = _names(message), {value.kind for value in values(message)} - {"name"}
    about = [item for item in items if not names.isdisjoint(_names(item.content))]
    found = [item for item in about if any(value.kind in kinds for value in values(item.content))]
    return found if len(found) == 1 else []


def _names(text: str) -> frozenset[str]:
    return frozenset(sense(word) for found in _PROPER.findall(text) for word in found.split())


def pointed(message: str, quoted: Sequence[MemoryItem], recent: Sequence[MemoryItem]) -> list[PossibleChange]:
    """Return the change of the memory that "she", "he" or "it" is about: the one that can be meant, or else none.

    Of a debt that was paid, every one that can be meant is returned.
    """
    who, end = stands_for(message)
    is_paid = has("paid", message)
    who = who or ("it" if has("repaid", message) else "")
    wrong = {"she": _OF_MEN, "he": _OF_WOMEN}.get(who, frozenset())
    fitting = []
    for item in {item.id: item for item in (*quoted, *recent)}.values() if who else ():
        about = senses(item.content)
        is_one = (who == "it" and not is_paid) or relatives(about) or _begins_with_name(item.content)
        text = (_edited(item.content, message) or _instead(item.content, message, end)) if is_one else ""
        if text and wrong.isdisjoint(about):
            fitting.append(PossibleChange(item, text))
    return fitting[:MAX_CANDIDATES] if len(fitting) == 1 or is_paid else []


_SUBJECT: Final = re.compile(
    r"(?:(?i:the|my|our|os?|as?|meu|minha|noss[oa]|el|la|mi|nuestr[oa]) )?[^\W\d_][\w’'-]*(?: [A-ZÀ-Þ][\w’'-]*)*"
)
"""Who or what a memory begins with: "my sister Ana", "Megan"."""

_PROPER: Final = re.compile(r"[A-ZÀ-Þ][\w'’&-]*(?: [A-ZÀ-Þ][\w'’&-]*)*")
"""A name, one of capitals alone, too: "BP"."""


def _instead(old: str, message: str, end: int) -> str:
    """Return what an old text says then, which a message that stands for its subject until `end` says is over; or "".

    Whoever left one place for another is there now; whoever paid, owes nothing; whoever does now otherwise what they
    did ("he sits in front now"), does so.
    """
    subject = _SUBJECT.match(old)
    if subject is None:
        return ""
    now, about = senses(message), senses(message[end:]) - _NOW
    is_otherwise = bool(now & _NOW) and any(not is_kind(name) for name in about & senses(old[subject.end() :]))
    if (has("paid", message) and has("owes", old)) or is_otherwise:
        return f"{subject[0]} {message[end:].strip()}"
    return _left(old, message, end)


def _left(old: str, message: str, end: int = 0) -> str:
    """Return an old text with the one place that somebody left for another changed to that; "" if it is not clear.

    It is a name behind the subject: the one that the message names; or else, where that stands for the subject until
    `end`, the only one: "she left there".
    """
    if not has("leaves", message):
        return ""
    subject = _SUBJECT.match(old)
    names = [value for value in values(old) if value.kind == "name" and subject and value.start >= subject.end()]
    named = [value for value in names if flat(value.text) in flat(message)]
    left = named or (names if end else [])
    new = [name for name in _PROPER.findall(message, end or 1) if flat(name) not in flat(old)]
    if len(left) != 1 or len(new) != 1:
        return ""
    return f"{old[: left[0].start]}{new[0]}{old[left[0].end :]}"


def _begins_with_name(text: str) -> bool:
    return any(word[0].isupper() and not silent(word) for word in words(text)[:2])


def _loses(old: str, new: str) -> bool:
    """Return whether more than one value of an old text would be gone: it tells several things."""
    return sum(flat(value.text) not in flat(new) for value in values(old)) > 1


def _shares(about: frozenset[str], item: MemoryItem) -> frozenset[str]:
    """Return the senses that a memory, or what it is found by, has of what a message is about."""
    return about & senses(" ".join((item.content, *item.bindings)))


def _edited(old: str, message: str) -> str:
    if listed(message):
        return relisted(old, message)
    clauses, at = cut(old), _clause(old, message)
    text = _reworded(clauses.each[at], message) if at is not None else ""
    return clauses.changed(at, text) if at is not None and text else _reworded(old, message)


def _reworded(old: str, message: str) -> str:
    return _left(old, message) or swapped(old, message) or _restated(old, message)


def _clause(old: str, message: str) -> int | None:
    """Return which clause of a sentence that tells several things a message is about; None for none, or for all."""
    return cut(old).about(telling(without_change(message)))


def _of_clause(items: Sequence[MemoryItem], message: str) -> list[MemoryItem]:
    """Return the one memory that tells, among other things, something of what a message names; else none."""
    said = [word for word in telling(without_change(message)) if not is_kind(sense(word))]
    found = []
    for item in items:
        at = _clause(item.content, message)
        is_free = at is not None and bool(_edited(item.content, message) or _may_stand_in(item.content, message, at))
        if at is not None and is_free and any(holds(cut(item.content).each[at], word) for word in said):
            found.append(item)
    return found if len(found) == 1 else []


def _may_stand_in(old: str, message: str, at: int) -> bool:
    """Return whether a message may stand in place of one clause: no other is a bare value of that, or contradicted.

    They would be where the message has a value of a kind that one of them has.
    """
    rest = [clause for other, clause in enumerate(cut(old).each) if other != at]
    kinds = [{value.kind for value in values(text)} - {"name"} for text in (message, " ; ".join(rest))]
    return kinds[0].isdisjoint(kinds[1]) and all(telling(without_values(clause)) for clause in rest)


def _put_in(item: MemoryItem, message: str) -> PossibleChange:
    """Return a memory with a message in place of the clause that it is about, or of all of it."""
    at = _clause(item.content, message)
    if at is None or not _may_stand_in(item.content, message, at):
        return PossibleChange(item, message)
    return PossibleChange(item, cut(item.content).changed(at, message.rstrip(" .!")), is_put_in=True)


def _restated(old: str, message: str) -> str:
    """Return an old text that says what something is, with what a message says of the same thing; "" for others.

    "The wifi password: daisy" makes of "the wifi password is tulip" "the wifi password is daisy".
    """
    told, said = told_of(old), told_of(message)
    if not (told and said) or senses(told) != senses(said) or values(old) or values(message):
        return ""
    return f"{old[: len(old) - len(_told(old, told))]}{_told(message, said)}"


def _told(text: str, of: str) -> str:
    """Return what a text says of what it begins with."""
    behind = text[text.index(of) + len(of) :]
    return behind.split(None, 1)[-1] if behind.lstrip()[:1] != ":" else behind.lstrip(" :")


def _weight_of(shared: Collection[str]) -> float:
    return sum(_KIND_WEIGHT if is_kind(sense) else 1.0 for sense in shared)


# --- lists -----------------------------------------------------------------------------------------------------------


def relisted(old: str, message: str) -> str:
    """Return a list with a line or entry more or less, as the message asks; "" if it is no such wish or list."""
    wish = listed(message)
    if wish is None:
        return ""
    item, _, adds = wish
    if not adds:
        clauses = cut(old)
        at = clauses.about(telling(item or message))
        return clauses.without({at}) if at is not None else ""
    lines = old.split("\n")
    mark = "- " if len(lines) > 1 and lines[-1].lstrip().startswith("- ") else ""
    return f"{old.rstrip(' ,;')}{chr(10) if len(lines) > 1 else ', '}{mark}{item.strip(' ,;:')}"
