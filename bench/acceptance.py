"""Make `core/memory/acceptance.npz` again: `python -m bench.acceptance`, after a change of data, embedder or ranking.

People of tests/data/recall_tune.json and memory_candidates.json ask their questions, and what none of their memories
answers, with as many memories as they have and padded to more. Prints how much is accepted at SURE and at NEAR of lives
that the weights did not see.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.recall_data import Held, Life, Question, padding, read
from bench.table import show
from core.clock import SystemClock
from core.memory import search
from core.memory.embedding import Embedding, Indexes
from core.memory.memories import Memories
from core.memory.search import COSINE_WEIGHT, PARTS_WEIGHT, WEIGHTS, Acceptance, fitted, leads
from core.memory.user_memory import UserMemory
from core.ports import Embedder
from core.providers.cached_embedder import CachedEmbedder
from core.providers.usem3 import Usem3Embedder
from core.storage.faiss_index import FaissIndex
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.types import NEAR, SURE, MemoryDraft, MemoryHit, MemoryKind, UserKey, Vector, Vectors

DATA: Final = Path(__file__).parents[1] / "tests" / "data"
QUESTIONS: Final = DATA / "own_questions.txt"
SETS: Final = (QUESTIONS, DATA / "recall_tune.json", DATA / "memory_candidates.json")
SIZES: Final = (0, 200, 1_000)
"""To how many memories a person is padded; 0: not at all."""

RIDGE: Final = 1.0
_SEEN: Final = 3
"""As many hits as a lead depends on."""


def digest(space: str) -> str:
    """Return the mark of weights that were made of the data in that space."""
    return hashlib.sha256(b"\n".join([space.encode(), *(path.read_bytes() for path in SETS)])).hexdigest()


def examples() -> tuple[Sequence[str], Vector]:
    """Return the labelled questions, and 1 for each about its asker's own life, -1 for the others."""
    own, other = QUESTIONS.read_text("utf-8").removeprefix("[own]\n").split("[other]\n")
    texts = (own.splitlines(), other.splitlines())
    return [*texts[0], *texts[1]], np.repeat([1.0, -1.0], [len(texts[0]), len(texts[1])])


def direction(vectors: Vectors, labels: Vector) -> Vector:
    """Return the ridge weights of normalized vectors, and of 1, for labels of 1 and -1."""
    rows = np.column_stack([vectors, np.ones(len(vectors))]).astype(np.float64)
    weights = np.linalg.solve(rows.T @ rows + RIDGE * np.eye(rows.shape[1]), rows.T @ labels)
    return weights.astype(np.float32)


def lives() -> Iterator[Life]:
    """Yield all people, with questions that they ask and others that none of their memories answers."""
    yield from read(DATA / "recall_tune.json")
    data: Mapping[str, Any] = json.loads((DATA / "memory_candidates.json").read_text("utf-8"))
    other = [Question(each["text"], each["kind"], each["language"]) for each in data["unneeded"]]
    for person in data["people"]:
        memories = [
            Held(each["content"], tuple(each["bindings"]), frozenset({str(place)}))
            for place, each in enumerate(person["memories"])
        ]
        questions = [
            Question(each["text"], "recall", each["language"], frozenset(map(str, each["wants"])))
            for each in person["asks"]
            if each["kind"] == "recall"
        ]
        few = [each for each in other if each.kind != "save"]
        yield Life(person["name"], person["language"], memories, questions, few)


@dataclass(frozen=True, slots=True)
class Best:
    """The best memory that a question found: whether it answers, and by what it is judged."""

    right: bool
    lead: float
    likeness: float
    covered: float


@dataclass(frozen=True, slots=True)
class Found:
    """What a question found; `row` is its normalized vector, `size` -1 if what answers it was taken away."""

    life: str
    size: int
    asks: bool
    row: Vector
    by_all: Best
    by_words: Best


async def _ask(memory: UserMemory, life: Life, size: int, ids: Mapping[str, frozenset[str]]) -> AsyncIterator[Found]:
    normalizer = await memory.embedding.normalizer()
    assert normalizer is not None
    for question in (*life.questions, *life.unrelated):
        vectors = await memory.embed_queries([question.text])
        [row] = normalizer.project(vectors[question.text][np.newaxis])
        limit = _SEEN + len(question.answers)
        by_all, by_words = [
            [
                (hit, not ids[hit.item.id].isdisjoint(question.answers))
                for hit in await memory.search([question.text], known, limit=limit, floor=0.0)
            ]
            for known in (vectors, {})
        ]
        yield Found(life.name, size, bool(question.answers), row, _best(by_all), _best(by_words))
        if question.answers:  # the same, had what answers it never been told
            others = [[(hit, right) for hit, right in each if not right] for each in (by_all, by_words)]
            yield Found(life.name, -1, asks=False, row=row, by_all=_best(others[0]), by_words=_best(others[1]))


def _best(hits: Sequence[tuple[MemoryHit, bool]]) -> Best:
    if not hits:
        return Best(right=False, lead=0.0, likeness=0.0, covered=0.0)
    hit, right = hits[0]
    lead = leads(np.array([each.score for each, _ in hits], np.float32))[0]
    partly = (hit.score - hit.lexical - COSINE_WEIGHT * hit.dense) / PARTS_WEIGHT
    return Best(right, float(lead), (hit.dense + partly) / 2, hit.lexical)


async def own_of(embedder: Embedder) -> Vector:
    """Return the weights by which a question is about the asker's own life, in the embedder's space."""
    texts, labels = examples()
    embedding = Embedding(embedder)
    vectors, normalizer = await embedding.vectors(texts), await embedding.normalizer()
    assert normalizer is not None
    return direction(normalizer.project(np.stack([vectors[text] for text in texts])), labels)


async def found(folder: Path, embedder: Embedder) -> list[Found]:
    """Ask everybody, at every size."""
    database = await open_database(folder / "acceptance.db")
    store = SqlMemories(database)
    memories = Memories(store, embedder, Indexes(store, FaissIndex), SystemClock())
    answers = []
    for place, life in enumerate(lives()):
        memory, told, padded = memories.of(UserKey("bench", str(place))), list(life.memories), padding(life)
        ids: dict[str, frozenset[str]] = {}
        for size in SIZES:
            drafts = [MemoryDraft(MemoryKind.TEXT, held.text, held.bindings or (held.text[:200],)) for held in told]
            vectors = await memory.embed_drafts(drafts)
            for draft in drafts:
                [item] = await memory.add([draft], vectors)
                ids.setdefault(item.id, next(held.ids for held in told if held.text == draft.content))
            answers += [each async for each in _ask(memory, life, size, ids)]
            told = list(islice(padded, max(0, SIZES[min(SIZES.index(size) + 1, len(SIZES) - 1)] - len(ids))))
    await memories.close()
    await database.close()
    return answers


def _table(answers: Sequence[Found], chances: Vector, right: Vector, title: str) -> None:
    sizes, asks = np.array([each.size for each in answers]), np.array([each.asks for each in answers])
    rows = []
    for size in SIZES:
        asked, other = asks & (sizes == size), ~asks & (sizes == size)
        row = [f"{size or 'own'}", f"{right[asked].mean():.1%}"]
        for least in (SURE, NEAR):
            told = chances >= least
            row += [f"{(told & (right == each))[asked].mean():.1%}" for each in (1, 0)] + [f"{told[other].mean():.1%}"]
        rows.append(row)
    head = ("memories", "right first", "sure, right", "wrong", "unrelated", "near, right", "wrong", "unrelated")
    show(title, head, rows)


def unseen(answers: Sequence[Found], columns: Vectors, right: Vector) -> Vector:
    """Return the chance of each answer by weights that were fitted to the other lives."""
    names = np.array([each.life for each in answers])
    chances = np.empty(len(answers), np.float32)
    for name in np.unique(names):
        weights = fitted(columns[names != name], right[names != name])
        chances[names == name] = 1 / (1 + np.exp(-(columns[names == name] @ weights[:-1] + weights[-1])))
    return chances


async def _build() -> None:
    embedder = CachedEmbedder(Usem3Embedder())
    own = await own_of(embedder)
    with tempfile.TemporaryDirectory() as folder:
        answers = await found(Path(folder), embedder)
    right, worded = (
        np.array([best.right for best in each], np.float32)
        for each in ([each.by_all for each in answers], [each.by_words for each in answers])
    )
    by_vectors = np.array([(each.by_all.lead, each.by_all.likeness, each.by_all.covered) for each in answers])
    by_words = np.array([(each.by_words.lead, each.by_words.covered) for each in answers])
    blank = np.zeros(1, np.float32)
    judge = Acceptance(embedder.space, own, blank, blank, blank)
    by_all = np.column_stack([by_vectors, [judge.owned(each.row) for each in answers]])
    made = replace(
        judge,
        by_all=fitted(by_all, right),
        by_vectors=fitted(by_vectors, right),
        by_words=fitted(by_words, worded),
    )
    path = Path(search.__file__).with_name(WEIGHTS)
    np.savez_compressed(
        path,
        digest=np.array(digest(embedder.space)),
        space=np.array(made.space),
        own=made.own,
        by_all=made.by_all,
        by_vectors=made.by_vectors,
        by_words=made.by_words,
    )
    for title, columns, is_right in (
        ("all", by_all, right),
        ("vectors of another space", by_vectors, right),
        ("words", by_words, worded),
    ):
        _table(answers, unseen(answers, columns, is_right), is_right, f"Accepted of lives not seen, by {title}")
    await embedder.close()


if __name__ == "__main__":
    asyncio.run(_build())
