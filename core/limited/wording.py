"""How a sentence is worded, as numbers: its words, their neighbours, how it begins, and the letters in a row.

Knows spelling. Does not know meaning: that is the embedder's.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from core.limited.words import words
from core.text.unicode import flat
from core.types import Vectors

DIMS: Final = 8192
"""As many places as the features are hashed to. Of 4096 and 8192, the better by half a point."""

_LETTERS: Final = (3, 4)
_MAX_WORDS: Final = 40
_MAX_LINE_CHARS: Final = 1000
_OPENINGS: Final = (1, 2, 3)


def worded(texts: Sequence[str]) -> Vectors:
    """Return the damped counts of the texts' features, shape (n, DIMS)."""
    counts = np.zeros((len(texts), DIMS), np.float32)
    for row, text in zip(counts, texts, strict=True):
        for feature in _features(text):
            row[zlib.crc32(feature.encode("utf-8", "replace")) % DIMS] += 1
    return np.sqrt(counts)


def _features(text: str) -> Iterator[str]:
    said = [flat(word) for word in words(text)[:_MAX_WORDS]]
    yield from (f"w:{word}" for word in said)
    yield from (f"b:{left} {right}" for left, right in zip(("^", *said), (*said, "$"), strict=True))
    yield from (f"s:{' '.join(said[:length])}" for length in _OPENINGS if len(said) >= length)
    line = f" {' '.join(said)} "[:_MAX_LINE_CHARS]
    yield from (f"c:{line[at : at + size]}" for size in _LETTERS for at in range(len(line) - size + 1))
