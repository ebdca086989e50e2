"""Judge what a message is for by labelled examples: a linear classifier over its meaning, its wording and its form.

Meaning is the embedder's vector; wording is hashed counts of the words, their neighbours, how the message begins, and
letters in a row; form is what can be told of any message, such as its length.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from importlib import resources
from typing import Final, NamedTuple

import numpy as np

from core.aside import aside
from core.limited.words import words
from core.ports import Embedder
from core.text.unicode import flat
from core.types import Vector, Vectors

FILE: Final = "weights.npz"
RIDGE: Final = 1.0
SHARPNESS: Final = 3.0
"""What scores are multiplied by before they become chances."""

_BATCH: Final = 64

DIMS: Final = 8192
"""The number of hashed features. 8192 is better than 4096 by half a point."""

_LETTERS: Final = (3, 4)
_MAX_WORDS: Final = 40
_MAX_LINE_CHARS: Final = 1000
_OPENINGS: Final = (1, 2, 3)


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
class Examples:
    """Labelled messages, in a fixed order."""

    texts: tuple[str, ...]
    labels: tuple[Intent, ...]

    @classmethod
    def load(cls) -> Examples:
        r"""Read the examples that ship with this package: one a line, `\n` for a line break, under their intent."""
        pairs: list[tuple[str, Intent]] = []
        folder = resources.files(__package__).joinpath("examples")
        for name in ("en.txt", "es.txt", "pt.txt"):
            label = Intent.CHAT
            for line in folder.joinpath(name).read_text("utf-8").splitlines():
                if line.startswith("["):
                    label = Intent(line.strip("[]"))
                elif line:
                    pairs.append((line.replace("\\n", "\n"), label))
        texts, labels = zip(*pairs, strict=True)
        return cls(texts, labels)

    def digest(self, space: str) -> str:
        """Return the mark of weights that were made of these examples in that embedding space."""
        told = (space, str(RIDGE), *self.texts, *self.labels)
        return hashlib.sha256("\n".join(told).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Weights:
    """A ridge classifier over a text's vector and its wording.

    `mean`, shape (dims,), is subtracted from the vector; `rarity`, shape (DIMS,), weighs the wording; then one column
    of `matrix`, shape (dims + DIMS, n), scores each intent.
    """

    intents: tuple[Intent, ...]
    mean: Vector
    rarity: Vector
    matrix: Vectors

    @classmethod
    def fit(cls, vectors: Vectors, texts: Sequence[str], labels: Sequence[Intent]) -> Weights:
        """Solve for the weights of examples with these vectors, shape (n, dims), rows of norm 1."""
        intents, wording = tuple(sorted(set(labels))), worded(texts)
        mean = vectors.mean(axis=0)
        rarity = np.log((1 + len(texts)) / (1 + (wording > 0).sum(axis=0))).astype(np.float32)
        rows = _features(vectors, wording, mean, rarity).astype(np.float64)
        wanted = np.where(np.array([[label is intent for intent in intents] for label in labels]), 1.0, -1.0)
        duals = np.linalg.solve(rows @ rows.T + RIDGE * np.eye(len(texts)), wanted)
        return cls(intents, mean, rarity, (rows.T @ duals).astype(np.float32))

    def judge(self, vector: Vector, text: str) -> list[Guess]:
        """Return a guess for each intent, the likeliest first; the chances sum to 1."""
        scores = (_features(vector[np.newaxis], worded([text]), self.mean, self.rarity) @ self.matrix)[0] * SHARPNESS
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        return [Guess(self.intents[at], float(chances[at])) for at in np.argsort(-chances)]


def _features(vectors: Vectors, wording: Vectors, mean: Vector, rarity: Vector) -> Vectors:
    return np.hstack([_unit(vectors - mean), _unit(wording * rarity)])


def shipped(examples: Examples, space: str) -> Weights | None:
    """Return the weights that ship with this package, or None if they are of other examples or another space."""
    file = resources.files(__package__).joinpath("examples", FILE)
    if not file.is_file():
        return None
    with np.load(io.BytesIO(file.read_bytes())) as stored:
        if str(stored["digest"]) != examples.digest(space):
            return None
        intents = tuple(Intent(str(name)) for name in stored["intents"])
        mean, rarity, matrix = (np.asarray(stored[name], np.float32) for name in ("mean", "rarity", "matrix"))
        return Weights(intents, mean, rarity, matrix)


class Likeness:
    """Judges messages in whatever space the embedder has: by shipped weights, else by examples embedded once."""

    def __init__(self, embedder: Embedder, examples: Examples) -> None:
        self._embedder = embedder
        self._examples = examples
        self._weights: tuple[str, Weights] | None = None
        self._lock = asyncio.Lock()

    async def judge(self, text: str) -> Sequence[Guess]:
        """Return a guess for each intent, the likeliest first; the chances sum to 1.

        Raises:
            ProviderError: the embedder cannot answer.
        """
        weights = await self._fitted()
        [vector] = await self._embedder.embed([text])
        return await aside(len(text), partial(weights.judge, vector, text))

    async def _fitted(self) -> Weights:
        async with self._lock:
            space = self._embedder.space
            if self._weights is None or self._weights[0] != space:
                weights = shipped(self._examples, space) or await self._fit()
                self._weights = (space, weights)
            return self._weights[1]

    async def _fit(self) -> Weights:
        texts = self._examples.texts
        batches = [await self._embedder.embed(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
        return Weights.fit(np.concatenate(batches), texts, self._examples.labels)


def worded(texts: Sequence[str]) -> Vectors:
    """Return the damped counts of the texts' features, shape (n, DIMS)."""
    counts = np.zeros((len(texts), DIMS), np.float32)
    for row, text in zip(counts, texts, strict=True):
        for feature in _worded_features(text):
            row[zlib.crc32(feature.encode("utf-8", "replace")) % DIMS] += 1
    return np.sqrt(counts)


def _worded_features(text: str) -> Iterator[str]:
    said = [flat(word) for word in words(text)[:_MAX_WORDS]]
    yield from (f"w:{word}" for word in said)
    yield from (f"b:{left} {right}" for left, right in zip(("^", *said), (*said, "$"), strict=True))
    yield from (f"s:{' '.join(said[:length])}" for length in _OPENINGS if len(said) >= length)
    line = f" {' '.join(said)} "[:_MAX_LINE_CHARS]
    yield from (f"c:{line[at : at + size]}" for size in _LETTERS for at in range(len(line) - size + 1))


def _unit(rows: Vectors) -> Vectors:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, 1e-9), np.float32)
