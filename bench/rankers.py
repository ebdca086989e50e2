"""The simple ways of finding that recall is compared with: BM25, cosines, and two fusions of both."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import snowballstemmer

from bench.recall_data import Held
from core.text.unicode import clean
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import Vector, Vectors

K1, B = 1.2, 0.75
RRF_K = 60
_LANGUAGES = {"pt": "portuguese", "en": "english", "es": "spanish"}

Scores = npt.NDArray[np.float32]
Tokenize = Callable[[str], Sequence[str]]


def stems_in(language: str) -> Tokenize:
    """Return what makes of a text the stems of its words, without function words."""
    stem = lru_cache(None)(snowballstemmer.stemmer(_LANGUAGES[language]).stemWord)
    return lambda text: [stem(word) for word in folded_words(text) if word not in FUNCTION_WORDS]


class Bm25:
    """BM25 over texts. Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009)."""

    def __init__(self, texts: Sequence[str], tokenize: Tokenize) -> None:
        self._tokenize = tokenize
        counts = [Counter(tokenize(text)) for text in texts]
        lengths = np.array([count.total() for count in counts], np.float32)
        norms = K1 * (1 - B + B * lengths / max(lengths.mean(), 1.0))
        held: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, count in enumerate(counts):
            for word, times in count.items():
                held[word].append((number, times))
        self._size = len(texts)
        self._weights: dict[str, tuple[npt.NDArray[np.intp], Scores]] = {}
        for word, postings in held.items():
            numbers, times_in = np.array(postings).T
            idf = np.log1p((len(texts) - len(postings) + 0.5) / (len(postings) + 0.5))
            weights = idf * times_in * (K1 + 1) / (times_in + norms[numbers])
            self._weights[word] = numbers, weights.astype(np.float32)

    def scores(self, query: str) -> Scores:
        """Return the score of every text, shape (texts,)."""
        total = np.zeros(self._size, np.float32)
        for word in set(self._tokenize(query)) & self._weights.keys():
            numbers, weights = self._weights[word]
            total[numbers] += weights
        return total


class Rankers:
    """All simple ways over one person's memories: their text, and the bindings that the data gives them."""

    def __init__(self, memories: Sequence[Held], vectors: Mapping[str, Vector], language: str) -> None:
        """Make them ready; `vectors` holds those of `phrases(memories)`."""
        texts = ["\n".join((held.text, *held.bindings)) for held in memories]
        self._plain = Bm25(texts, folded_words)
        self._stems = Bm25(texts, stems_in(language))
        named = [phrases([held]) for held in memories]
        self._starts = np.cumsum([0, *(len(each) for each in named[:-1])])
        self._rows: Vectors = np.stack([vectors[phrase] for each in named for phrase in each])

    def scores(self, query: str, vector: Vector) -> Mapping[str, Scores]:
        """Map the name of each way to the scores that it gives the memories."""
        plain, stems = self._plain.scores(query), self._stems.scores(query)
        dense: Scores = np.maximum.reduceat(self._rows @ vector, self._starts)
        return {
            "BM25": plain,
            "BM25 of stems": stems,
            "dense": dense,
            "RRF": reciprocal_ranks(plain, dense),
            "RRF of stems": reciprocal_ranks(stems, dense),
            "min-max": min_max(plain) + min_max(dense),
            "min-max of stems": min_max(stems) + min_max(dense),
        }


def phrases(memories: Sequence[Held]) -> Sequence[str]:
    """Return the texts of memories that have vectors."""
    return [clean(phrase) for held in memories for phrase in (held.text, *held.bindings)]


def best(scores: Scores, limit: int) -> Sequence[int]:
    """Return the places of the highest scores, best first; of equals the first."""
    order: list[int] = np.argsort(-scores, kind="stable")[:limit].tolist()
    return order


def reciprocal_ranks(*ways: Scores) -> Scores:
    """Fuse by ranks. Source: Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion" (2009)."""
    fused = np.zeros_like(ways[0])
    for way in ways:
        fused[np.argsort(-way, kind="stable")] += 1 / (RRF_K + 1 + np.arange(len(way), dtype=np.float32))
    return fused


def min_max(scores: Scores) -> Scores:
    """Scale scores to 0..1."""
    span = scores.max() - scores.min()
    scaled: Scores = (scores - scores.min()) / (span if span > 0 else 1)
    return scaled
