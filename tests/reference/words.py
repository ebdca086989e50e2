"""Search by words without a database."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from core.storage.lexicon import Lexicon


def covers(lexicon: Lexicon, query: str, terms: Mapping[int, Collection[str]], count: int) -> Mapping[int, float]:
    """Map the numbers of those memories that hold a word of the query to how much of it they cover, 0..1.

    `terms` are those of each memory, `count` is how many memories there are, without earlier versions.
    """
    words = [set(asked) for asked in lexicon.query_terms(query)]
    held = [[number for number, there in terms.items() if not asked.isdisjoint(there)] for asked in words]
    weights = [math.log1p((max(count, len(each)) - len(each) + 0.5) / (len(each) + 0.5)) for each in held]
    scores: dict[int, float] = defaultdict(float)
    for numbers, weight in zip(held, weights, strict=True):
        for number in numbers:
            scores[number] += weight / sum(weights)
    return scores


def best(scores: Mapping[int, float], there: Collection[int]) -> Sequence[int]:
    """Return those of the memories that count, the best first, the newest of equals first."""
    return sorted((number for number in scores if number in there), key=lambda n: (scores[n], n), reverse=True)
