"""What the bot's memory is measured beside: one vector index over SQLite, BM25 of stems, and mem0 if it is installed.

Each is told what the bot is told, with the bot's own vectors, and finds the places of what it was told.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import aiosqlite
import faiss
import numpy as np
import snowballstemmer

from bench.recall import DEPTH, Answer, bound
from bench.recall_data import Held, Question
from core.ports import Embedder
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import Vector, Vectors

K1: Final = 1.2
B: Final = 0.75
_LANGUAGES: Final = {"pt": "portuguese", "en": "english", "es": "spanish"}
_SCHEMA: Final = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE memories (id INTEGER PRIMARY KEY, document TEXT);
CREATE TABLE keys (id INTEGER PRIMARY KEY, memory INTEGER, vector BLOB);
"""
GET_MEM0: Final = "mem0 is not installed here: `.venv/bin/python -m pip install mem0ai`, then run it again"


Memory: TypeAlias = tuple[Sequence[str], Vectors]
"""Texts that a memory is found by, the first its own, and their vectors, last that of all in one: (texts + 1, dims)."""


class Way(Protocol):
    """A way of finding. `add` and `search` are what is measured."""

    async def add(self, memories: Sequence[Memory]) -> None:
        """Keep these."""
        ...

    async def search(self, question: str, vector: Vector, limit: int) -> Sequence[int]:
        """Return the places of what was added, the best first."""
        ...

    async def close(self) -> None:
        """Let go of files."""
        ...


class Flat:
    """The simplest durable memory: aiosqlite (WAL, full sync), and one flat FAISS index. No words, no limits."""

    def __init__(self, folder: Path, _language: str, dims: int) -> None:
        self._path = folder / "flat.db"
        self._index = faiss.IndexFlatIP(dims)
        self._memories: list[int] = []
        self._database: aiosqlite.Connection | None = None

    async def _opened(self) -> aiosqlite.Connection:
        if self._database is None:
            self._database = await aiosqlite.connect(self._path, isolation_level=None)
            await self._database.executescript(_SCHEMA)
        return self._database

    async def add(self, memories: Sequence[Memory]) -> None:
        """Keep them in one transaction."""
        database = await self._opened()
        await database.execute("BEGIN IMMEDIATE")
        for texts, vectors in memories:
            memory = (await database.execute("INSERT INTO memories VALUES (NULL, ?)", (texts[0],))).lastrowid or 0
            rows = [(memory, row.tobytes()) for row in vectors[:-1]]
            await database.executemany("INSERT INTO keys VALUES (NULL, ?, ?)", rows)
            self._index.add(vectors[:-1])
            self._memories += [memory - 1] * len(texts)
        await database.execute("COMMIT")

    async def search(self, _question: str, vector: Vector, limit: int) -> Sequence[int]:
        """Return the nearest, and read what they say."""
        _, places = self._index.search(vector[np.newaxis], min(limit * 4, len(self._memories)))
        found = list(dict.fromkeys(self._memories[place] for place in places[0].tolist()))[:limit]
        marks = ",".join("?" * len(found))
        sql = f"SELECT document FROM memories WHERE id IN ({marks})"  # noqa: S608 - numbers of ours
        await (await self._opened()).execute_fetchall(sql, [place + 1 for place in found])
        return found

    async def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            await self._database.close()


class Stems:
    """BM25 over stems. Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009)."""

    def __init__(self, _folder: Path, language: str, _dims: int) -> None:
        self._stem = lru_cache(None)(snowballstemmer.stemmer(_LANGUAGES[language]).stemWord)
        self._held: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lengths: list[int] = []

    def _stems(self, text: str) -> list[str]:
        return [self._stem(word) for word in folded_words(text) if word not in FUNCTION_WORDS]

    async def add(self, memories: Sequence[Memory]) -> None:
        """Count their stems."""
        for texts, _ in memories:
            counts = Counter(self._stems("\n".join(texts)))
            for stem, times in counts.items():
                self._held[stem].append((len(self._lengths), times))
            self._lengths.append(counts.total())

    async def search(self, question: str, _vector: Vector, limit: int) -> Sequence[int]:
        """Score all that hold a stem of the question."""
        lengths, scores = np.array(self._lengths, np.float32), np.zeros(len(self._lengths), np.float32)
        norms = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))
        for stem in {*self._stems(question)} & self._held.keys():
            places, times = np.array(self._held[stem]).T
            idf = np.log1p((len(lengths) - len(places) + 0.5) / (len(places) + 0.5))
            scores[places] += idf * times * (K1 + 1) / (times + norms[places])
        order: list[int] = np.argsort(-scores, kind="stable")[:limit].tolist()
        return order

    async def close(self) -> None:
        """Nothing to let go of."""


class Mem0:
    """mem0 over a local Qdrant and a SQLite file: nothing is extracted, and its vectors are the bot's."""

    def __init__(self, folder: Path, _language: str, dims: int) -> None:
        os.environ["MEM0_TELEMETRY"] = "false"
        store = {"path": str(folder), "on_disk": True, "embedding_model_dims": dims, "collection_name": "bench"}
        unused = {"provider": "openai", "config": {"api_key": "unused"}}
        parts = {"vector_store": {"provider": "qdrant", "config": store}, "embedder": unused, "llm": unused}
        self._mem0: Any = import_module("mem0").Memory.from_config(
            parts | {"history_db_path": str(folder / "history.db")}
        )
        self._vectors: dict[str, Vector] = {}
        self._places: dict[str, int] = {}
        self._count = 0
        self._mem0.embedding_model = self

    def embed(self, text: str, _action: str = "") -> list[float]:
        """Return a vector, as mem0 asks for one."""
        vector: list[float] = self._vectors[text.strip()].tolist()
        return vector

    def embed_batch(self, texts: Sequence[str], _action: str = "") -> list[list[float]]:
        """Return several."""
        return [self.embed(text) for text in texts]

    async def add(self, memories: Sequence[Memory]) -> None:
        """Keep each as one text."""
        for texts, vectors in memories:
            text = "\n".join(texts)
            self._vectors[text.strip()] = vectors[-1]
            for each in self._mem0.add(text, user_id="bench", infer=False)["results"]:
                self._places[each["id"]] = self._count
            self._count += 1

    async def search(self, question: str, vector: Vector, limit: int) -> Sequence[int]:
        """Return what it finds."""
        self._vectors[question.strip()] = vector
        found = self._mem0.search(question, filters={"user_id": "bench"}, top_k=limit, threshold=0.0)["results"]
        return [self._places[each["id"]] for each in found]

    async def close(self) -> None:
        """Let the files go: Qdrant opens a folder once."""
        self._mem0.close()
        self._mem0.vector_store.client.close()


WAYS: Final[Mapping[str, type[Flat | Stems | Mem0]]] = {
    "vectors alone": Flat,
    "BM25 of stems": Stems,
    **({"mem0": Mem0} if find_spec("mem0") else {}),
}
"""Those that can be measured here."""


class PeerPerson:
    """Somebody whose memories are kept and found by another way than the bot's."""

    def __init__(self, name: str, way: Way, embedder: Embedder) -> None:
        self.name = name
        self._way = way
        self._embedder = embedder
        self._held: list[Held] = []

    async def tell(self, told: Sequence[Held], _at_once: int = 0) -> int:
        """Keep all of it, one by one."""
        texts = [list(dict.fromkeys((held.text, *bound(held, "given")))) for held in told]
        rows = await self._embedder.embed([text for each in texts for text in (*each, "\n".join(each))])
        ends = np.cumsum([len(each) + 1 for each in texts])
        await self._way.add(list(zip(texts, np.split(rows, ends[:-1]), strict=True)))
        self._held += told
        return len(self._held)

    async def answer(self, question: Question) -> Answer:
        """Ask."""
        [vector] = await self._embedder.embed([question.text])
        places = await self._way.search(question.text, vector, DEPTH)
        return Answer(question, [self._held[place] for place in places], 0.0)


class PeerHouse:
    """Stands for `bench.recall.House`: people whose memories are kept and found in another way. `close` it."""

    def __init__(self, way: type[Flat | Stems | Mem0], embedder: Embedder) -> None:
        self._way = way
        self._embedder = embedder
        self._open: list[tuple[tempfile.TemporaryDirectory[str], Way]] = []

    def person(self, name: str, language: str) -> PeerPerson:
        """Return one of that name."""
        folder = tempfile.TemporaryDirectory()
        way = self._way(Path(folder.name), language, self._embedder.dims)
        self._open.append((folder, way))
        return PeerPerson(name, way, self._embedder)

    async def close(self) -> None:
        """Close everybody's files."""
        for folder, way in self._open:
            await way.close()
            folder.cleanup()
