"""The memory that a change is of, and its text with the new value in the old one's place.

Knows how the old value is found in a memory. Does not know how people say that something changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.limited.change import Change, Edit, without_verb
from core.limited.extract import clause
from core.limited.words import stem, stems, words
from core.text.unicode import flat
from core.types import MemoryItem

_SEVERAL = re.compile(r"[,;]\s|\s(?:e|and|y)\s")
"""A memory with one of these may hold more than one fact: what is not the changed one must not get lost."""

_DEED = re.compile(
    r"^(?:\w+(?:ar|er|ir|or)|buy|get|call|pay|take|bring|send|book|pick up) (?:(?:o|a|the|el|la|um|uma) )?"
)
"""What is to be done, before what it is to be done to."""

_MONTH = r"(?:jan|fev|feb|mar|abr|apr|mai|may|jun|jul|ago|aug|set|sep|out|oct|nov|dez|dec|ene|dic)[a-z]*"
_DATA = (
    re.compile(
        r"\b\d{1,2}(?:[:h]\d{2}|h)\b(?:\s?[ap]m)?|\b\d{1,2}\s?[ap]m\b|\bnoon\b|\bmeio[- ]dia\b|\bmidnight\b|"
        r"(?:(?<=\bas )|(?<=\bat )|(?<=\blas ))\d{1,2}\b(?![-/.:])"
    ),
    re.compile(
        rf"\b(?:\d{{1,2}}/\d{{1,2}}(?:/\d{{2,4}})?|\d{{4}}-\d\d-\d\d|"
        rf"(?:dia |day |the )?\d{{1,2}}(?:st|nd|rd|th)?(?: (?:de|of))? {_MONTH}\b(?:,? (?:de )?\d{{4}})?|"
        rf"{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?|"
        rf"(?:o )?dia \d{{1,2}}|(?:the )?\d{{1,2}}(?:st|nd|rd|th))\b"
    ),
    re.compile(
        r"\b(?:segunda|terca|quarta|quinta|sexta|sabado|domingo|(?:mon|tues|wednes|thurs|fri|satur|sun)day|lunes|martes|"
        r"miercoles|jueves|viernes)(?:-feira)?\b"
    ),
    re.compile(
        r"(?:r\$|us\$|\$|€|£) ?\d[\d.,]*|\b\d[\d.,]* ?(?:reais|dollars?|euros?|dolares|pesos|libras|pounds|bucks)\b"
    ),
)


def bound(items: list[MemoryItem], named: frozenset[str]) -> list[MemoryItem]:
    """Return those of the memories that have a binding of just these words, if any has: my address, not my sister's."""
    exact = [item for item in items if any(stems(phrase) == named for phrase in item.bindings)]
    return exact or items


def fits(aim: frozenset[str], items: Sequence[MemoryItem]) -> tuple[list[MemoryItem], bool]:
    """Return the memories that share most with what is named, and whether that is one and has all that is named."""
    scored = [(len(aim & stems(" ".join((item.content, *item.bindings)))), item) for item in items]
    best = max((score for score, _ in scored), default=0)
    if not best:
        return [], False
    kept = bound([item for score, item in scored if score == best], aim)
    return kept, len(kept) == 1 and best == len(aim)


def renewed(old: str, wish: Change) -> tuple[str, bool]:
    """Return the memory's new text, and whether nothing but the old value was lost."""
    if wish.edit is Edit.ADD:
        return f"{old.rstrip(' .,;')}, {wish.value}", True
    if wish.edit is Edit.REMOVE:
        return _without_item(old, wish.value)
    parts = clause(old)
    placed = _placed(parts.value if parts.subject else old, wish.value)
    if placed:
        return parts.head + placed if parts.subject else placed, True
    if _SEVERAL.search(flat(old)):
        return wish.statement or without_verb(wish.value), False
    if parts.subject:
        return parts.head + without_verb(wish.value), len(stems(parts.subject) - wish.aim) <= 1 or not wish.aim
    same_start = _start(old) == _start(wish.statement)
    swapped = _swapped_tail(old, wish) or _swapped_object(old, wish)
    return swapped or wish.statement, bool(swapped) or (same_start and len(stems(old)) <= 4)  # noqa: PLR2004 - one fact


def _without_item(old: str, item: str) -> tuple[str, bool]:
    """Return the list without the one entry that the item names, and whether there is such an entry."""
    parts = clause(old)
    entries = re.split(r",\s*|\s+(?:e|and|y)\s+", parts.value)
    left = [entry for entry in entries if stems(entry) != stems(item)]
    return parts.head + ", ".join(left), bool(parts.subject) and len(left) == len(entries) - 1 > 0


def _start(text: str) -> str:
    """Return the first word's stem, leaving out who speaks."""
    return next((stem(word) for word in words(text) if flat(word) not in {"eu", "i", "yo", "we"}), "")


def _swapped_tail(old: str, wish: Change) -> str:
    """Return `placa do carro QRT4` with the new code: a memory without a verb whose last words hold digits."""
    match = re.search(r"(?<=\s)\S*\d\S*(?:\s\S*\d\S*)*$", old)
    alike = any(letter.isdigit() for letter in wish.value) and stems(wish.subject) <= stems(old)
    return old[: match.start()] + without_verb(wish.value) if match and alike else ""


def _swapped_object(old: str, wish: Change) -> str:
    """Return `comprar leite` with the new thing to buy: a deed of few words, corrected without naming anything."""
    deed = _DEED.match(flat(old))
    return old[: deed.end()] + wish.value if deed and not wish.subject and len(words(old)) <= 4 else ""  # noqa: PLR2004


def _placed(old_value: str, new_value: str) -> str:
    """Return the old value with its one date, time, weekday or amount replaced by the new one, or ""."""
    for kind in _DATA:
        new, old = kind.findall(flat(new_value)), list(kind.finditer(flat(old_value)))
        if len(new) == 1 and len(old) == 1:
            found = kind.search(flat(new_value))
            if found is None:
                continue
            left = stems(new_value[: found.start()] + new_value[found.end() :])
            around = stems(old_value[: old[0].start()] + old_value[old[0].end() :])
            if left <= around:
                return old_value[: old[0].start()] + new_value[found.start() : found.end()] + old_value[old[0].end() :]
    return ""
