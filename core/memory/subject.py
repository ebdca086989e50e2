"""Tell what a search found from what is about another subject than the question: the bank's password, the wifi's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from core.text.subject import asked_words, is_parallel, other_subject
from core.types import SURE, MemoryHit

_OTHER: Final = 0.4
"""The most that the chance of a memory about another subject is: it comes near."""


def of_subject(queries: Sequence[str], hits: Sequence[MemoryHit]) -> Sequence[MemoryHit]:
    """Return the hits; none is sure that is about another subject than every query."""
    asked = [asked_words(query) for query in queries] if any(hit.chance >= SURE for hit in hits) else []
    found = list(hits)
    for at, hit in enumerate(hits):
        if hit.chance >= SURE:
            said = " ".join((hit.item.content, *(passage.text for passage in hit.passages)))
            others = [other_subject(words, said, hit.item.bindings) for words in asked]
            if all(others) and others[0] is not None:
                found[at] = replace(hit, chance=_OTHER, other=others[0].text)
            elif all(is_parallel(words, said, hit.item.bindings) for words in asked):
                # What is less like the question is no surer.
                found[at:] = [replace(each, chance=min(each.chance, _OTHER)) for each in found[at:]]
    return found
