"""Find what two memories tell together: "my landlord is Tunde" and "Tunde's account is 0112233445"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.text.senses import named_by, silent, told_in, words
from core.text.subject import AskedWord, asked_words, held_words
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import NEAR, MemoryHit

FIRST: Final = 3
"""How many of the best memories may lead to another."""

_LIKELY: Final = 0.5
"""The least chance of two memories that tell together all that a question names: it comes near."""

_MIN_NAME_CHARS: Final = 3
_MAX_NAMES: Final = 6


@dataclass(frozen=True, slots=True)
class Link:
    """A memory that tells a part of what is asked for, the names in it by which it goes on, and the words it lacks."""

    hit: MemoryHit
    names: frozenset[str]
    missing: tuple[AskedWord, ...]


def links(question: str, hits: Sequence[MemoryHit]) -> Sequence[Link]:
    """Return those of the best hits that name somebody or something by which another memory may tell the rest."""
    named = [(hit, names) for hit in hits[:FIRST] if (names := _names(hit.item.content))]
    if not named:
        return []
    asked, said = asked_words(question), set(folded_words(question))
    naming, found = [word for word in asked if word.names], list[Link]()
    for hit, names in named:
        held = held_words(asked, told_in(hit.item.content, hit.item.bindings))
        missing = tuple(word for word in naming if word not in held)
        is_begun = held and missing and not names <= said
        found += [Link(hit, names - said, missing)] if is_begun else []
    return found


def wording(question: str, found: Sequence[Link]) -> str:
    """Return what to search for of the links: the question, and their names."""
    names = list(dict.fromkeys(name for link in found for name in sorted(link.names)))
    return " ".join((question, *names[:_MAX_NAMES]))


def joined(hits: Sequence[MemoryHit], found: Sequence[Link], then: Sequence[MemoryHit]) -> Sequence[MemoryHit]:
    """Return the hits and, behind the first link that leads on, those of what was found `then` that tell the rest."""
    before = {hit.item.id: hit for hit in hits}
    for link in found:
        others = [before.get(hit.item.id, hit) for hit in then if hit.item.id != link.hit.item.id]
        told = [(_tells(link, hit), hit) for hit in others]
        if not (most := max((count for count, _ in told), default=0)):
            continue
        least = _LIKELY if most == len(link.missing) else NEAR
        start, *ends = (
            replace(hit, chance=max(hit.chance, least), via="" if hit is link.hit else link.hit.item.id)
            for hit in (link.hit, *(hit for count, hit in told if count == most))
        )
        known = {hit.item.id: hit for hit in (start, *ends[:FIRST])}
        shown: dict[str, MemoryHit] = {}
        for hit in hits:
            new = known.get(hit.item.id, hit)
            for each in known.values() if new is start else (new,):
                shown.setdefault(each.item.id, each)
        return list(shown.values())
    return hits


def _tells(link: Link, hit: MemoryHit) -> int:
    """Return how many of the words that a link lacks a memory tells of whom that names."""
    if link.names.isdisjoint(folded_words(hit.item.content)):
        return 0
    return len(held_words(link.missing, told_in(hit.item.content, hit.item.bindings)))


def _names(content: str) -> frozenset[str]:
    """Return the words of names, as they are compared; none of a text in capitals."""
    found = [] if content.upper() == content else words(content)
    names = (word for word in found if word[0].isupper() and len(word) >= _MIN_NAME_CHARS)
    folded = {part for word in names if not silent(word) and not named_by(word) for part in folded_words(word)}
    return frozenset(folded - FUNCTION_WORDS)
