"""Search by words without a database."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from core.storage.lexicon import Lexicon


def best(lexicon: Lexicon, query: str, texts: Mapping[str, Iterable[str]]) -> Sequence[tuple[str, float]]:
    """Return (id, score > 0) of those of the texts, phrases by id, that match the query, best first.

    A keyword counts by how few of the texts hold it.
    """
    terms = {key: frozenset(lexicon.index_terms(phrases)) for key, phrases in texts.items()}
    scores: dict[str, float] = defaultdict(float)
    for asked in lexicon.query_terms(query):
        held = [key for key, there in terms.items() if not there.isdisjoint(asked)]
        for key in held:
            scores[key] += math.log1p(len(terms) / len(held))
    return sorted(scores.items(), key=lambda hit: -hit[1])
