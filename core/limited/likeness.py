"""Judge what a message is for by labelled examples: a linear classifier over its meaning, its wording and its form.

Meaning is the embedder's vector; wording is hashed counts of the words, their neighbours, how the message begins, and
letters in a row; form is its length, its digits and its marks. `bench.limited_examples` makes the weights, and measures
them.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Final, NamedTuple

import numpy as np

from core.ports import Embedder
from core.text.senses import WORD
from core.text.unicode import flat
from core.types import Vector, Vectors

FILE: Final = "weights.npz"
SHARPNESS: Final = 1.2
"""What scores are multiplied by before they become chances, so that of those said to be 0.9 nine in ten are right."""

MAX_CHARS: Final = 400
"""How much of a message is judged: its purpose shows at once. 4 ms of CPU."""

DIMS: Final = 8192
"""The number of hashed features of wording."""

_LETTERS: Final = (3, 4)
_MAX_WORDS: Final = 40
_OPENINGS: Final = (1, 2, 3)
_LENGTHS: Final = (1, 2, 4, 8, 15, 30)
_DIGIT: Final = re.compile(r"\d")


class Intent(StrEnum):
    """What a message is for."""

    KEEP = "keep"
    """It tells a fact, an appointment, a value, where a thing is."""
    FIND = "find"
    """It asks for something of the person's own life, or that they told."""
    LIST = "list"
    """It asks for everything that is known or kept."""
    CHANGE = "change"
    """It says that something known is otherwise now, or was wrong."""
    REMOVE = "remove"
    """It asks to delete or to forget."""
    WORLD = "world"
    """It asks about the world, or for a task that needs a language model."""
    ABOUT = "about"
    """It asks about the bot itself."""
    CHAT = "chat"
    """It greets, thanks, feels, remarks, or says nothing."""
    ACTION = "action"
    """It asks for an action of a feature, which tells so itself: no example has it."""


class Guess(NamedTuple):
    """An intent and how likely it is, 0 to 1."""

    intent: Intent
    chance: float


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a classifier.

    `mean`, shape (dims,), is subtracted from vectors of `space`; `rarity`, shape (DIMS,), weighs the wording; one
    column of `matrix`, shape (dims + DIMS + form, n), scores each intent, and one of `bare`, shape (DIMS + form, n),
    where there is no vector. `digest` tells what they were made of.
    """

    space: str
    digest: str
    intents: tuple[Intent, ...]
    mean: Vector
    rarity: Vector
    matrix: Vectors
    bare: Vectors

    def judge(self, text: str, vector: Vector | None = None) -> list[Guess]:
        """Return a guess for each intent, the likeliest first; the chances sum to 1."""
        [chances] = self.chances([text], None if vector is None else vector[np.newaxis])
        return [Guess(self.intents[at], float(chances[at])) for at in np.argsort(-chances)]

    def chances(self, texts: Sequence[str], vectors: Vectors | None = None) -> Vectors:
        """Return how likely each intent is, shape (n, intents), of texts with these vectors, if any."""
        rows = features(texts, self.rarity, vectors, self.mean)
        scores: Vectors = SHARPNESS * (rows @ (self.bare if vectors is None else self.matrix))
        return softmax(scores)


@cache
def shipped() -> Weights:
    """Return the weights that ship with this package."""
    file = resources.files(__package__).joinpath("examples", FILE)
    with np.load(io.BytesIO(file.read_bytes())) as stored:
        return Weights(
            str(stored["space"]),
            str(stored["digest"]),
            tuple(Intent(str(name)) for name in stored["intents"]),
            *(np.asarray(stored[name], np.float32) for name in ("mean", "rarity", "matrix", "bare")),
        )


class Likeness:
    """Judges messages. In a space other than that of the shipped weights, their wording alone tells."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def judge(self, text: str) -> Sequence[Guess]:
        """Return a guess for each intent, the likeliest first; the chances sum to 1.

        Raises:
            ProviderError: the embedder cannot answer.
        """
        weights, text = shipped(), text[:MAX_CHARS]
        if self._embedder.space != weights.space:
            return weights.judge(text)
        [vector] = await self._embedder.embed([text])
        return weights.judge(text, vector)


def features(texts: Sequence[str], rarity: Vector, vectors: Vectors | None, mean: Vector) -> Vectors:
    """Return the rows that are scored: the centred vectors, if any, and the weighed wording, of norm 1, and form."""
    form = np.array([_form(text) for text in texts], np.float32)
    rows = [_unit(worded(texts) * rarity), form]
    return np.hstack(rows if vectors is None else [_unit(vectors - mean), *rows])


def softmax(scores: Vectors) -> Vectors:
    """Return chances, each row of which sums to 1."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float32)


def worded(texts: Sequence[str]) -> Vectors:
    """Return the damped counts of the texts' words and letters, shape (n, DIMS)."""
    counts = np.zeros((len(texts), DIMS), np.float32)
    for row, text in zip(counts, texts, strict=True):
        for feature in _worded_features(text[:MAX_CHARS]):
            row[zlib.crc32(feature.encode("utf-8", "replace")) % DIMS] += 1
    return np.sqrt(counts)


def _worded_features(text: str) -> list[str]:
    """Return what is counted; one digit counts as any other."""
    folded = _DIGIT.sub("0", flat(text))  # of the same length: the words stand in the same places
    said = [folded[found.start() : found.end()] for found in WORD.finditer(text)][:_MAX_WORDS]
    line = f" {' '.join(said)} "
    return [
        *[f"w:{word}" for word in said],
        *[f"b:{left} {right}" for left, right in zip(("^", *said), (*said, "$"), strict=True)],
        *[f"s:{' '.join(said[:length])}" for length in _OPENINGS if len(said) >= length],
        *[f"c:{line[at : at + size]}" for size in _LETTERS for at in range(len(line) - size + 1)],
    ]


def _form(text: str) -> list[float]:
    """Return a constant, how many words there are, and which marks, each at most 0.5."""
    text = text[:MAX_CHARS].strip()
    count = len(text.split())
    marks = [text.endswith("?"), *[mark in text for mark in "?:!\n"], _DIGIT.search(text) is not None]
    return [0.5, *[0.25 * (count > length) for length in _LENGTHS], *[0.25 * mark for mark in marks]]


def _unit(rows: Vectors) -> Vectors:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, 1e-9), np.float32)
