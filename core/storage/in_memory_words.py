"""Full text without a database: how well memories match words. Knows BM25; does not know whose memories these are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from core.storage.lexicon import Lexicon, keywords
from core.words import folded_words

_STEM_WEIGHT = 0.5


def best(lexicon: Lexicon, query: str, texts: Mapping[str, Iterable[str]]) -> Sequence[tuple[str, float]]:
    """Return (id, score > 0) of those of the texts, phrases by id, that match the query, best first."""
    asked_words = keywords(query)
    asked_stems = lexicon.stems(asked_words)
    counted = {}
    for key, phrases in texts.items():
        found = [word for phrase in phrases for word in folded_words(phrase)]
        counted[key] = (Counter(found), Counter(lexicon.stems(found)))
    rows = list(counted.values())
    scores = {
        key: _bm25(asked_words, words, [row[0] for row in rows])
        + _STEM_WEIGHT * _bm25(asked_stems, stems, [row[1] for row in rows])
        for key, (words, stems) in counted.items()
    }
    return sorted(((key, score) for key, score in scores.items() if score > 0), key=lambda hit: -hit[1])


def _bm25(
    asked: Sequence[str], row: Counter[str], rows: Sequence[Counter[str]], k1: float = 1.2, b: float = 0.75
) -> float:
    """Return the row's BM25 score, with the floor under rare-in-nothing words that FTS5 has.

    Source: https://www.sqlite.org/fts5.html#the_bm25_function
    """
    average = sum(other.total() for other in rows) / len(rows) or 1.0
    score = 0.0
    for term in asked:
        holding = sum(term in other for other in rows)
        idf = max(math.log((len(rows) - holding + 0.5) / (holding + 0.5)), 1e-6)
        score += idf * row[term] * (k1 + 1) / (row[term] + k1 * (1 - b + b * row.total() / average))
    return score
