"""What the HNSW index of one person finds of the nearest phrases, among real texts: `python -m bench hnsw_recall`.

The texts are sentences of the docstrings of Python and of the packages that are installed, and so are the questions.
They are embedded by the bundled embedder and written in bulk. What the same search finds before there is an index is
what it should find.
"""

from __future__ import annotations

import ast
import asyncio
import random
import re
import sysconfig
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import numpy as np
import psycopg

from bench.postgres_search import copy_person, user
from bench.table import show
from core.clock import SystemClock
from core.memory.embedding import Embedding, EmbeddingNormalizer
from core.providers.usem3 import Usem3Embedder
from core.storage.database import Database
from core.storage.memories import SqlMemories
from core.storage.postgres import open_postgres
from core.storage.postgres_vectors import PostgresVectors
from core.stores import AskedVectors, Neighbours, Search
from tests.postgres import own_server

TEXTS = 25_000
QUESTIONS = 200
NEAREST = 32
_SEED = 17
_LEAST_CHARS, _MOST_CHARS = 30, 300
_BATCH = 256
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*\n")


def sentences() -> list[str]:
    """Return the different sentences of all docstrings that are installed, in a random order that stays the same."""
    found: dict[str, None] = {}
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        for text in _docstrings(path):
            for part in _SENTENCE.split(text):
                sentence = " ".join(part.split())
                if _LEAST_CHARS <= len(sentence) <= _MOST_CHARS:
                    found[sentence] = None
    ordered = list(found)
    random.Random(_SEED).shuffle(ordered)
    return ordered


def _docstrings(path: Path) -> Iterator[str]:
    try:
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
    except (SyntaxError, ValueError):  # a test of some package's, of what is no Python
        return
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


async def _nearest(
    store: SqlMemories, normalizer: EmbeddingNormalizer, rows: Sequence[np.ndarray]
) -> tuple[list[frozenset[int]], float]:
    """Return the phrases nearest to each row, and the median milliseconds of one search."""
    seen: list[frozenset[int]] = []
    took_ms: list[float] = []

    def order(_: object, __: int, neighbours: Neighbours) -> list[int]:
        seen.append(neighbours.nearest)
        return []

    for row in rows:
        asked = AskedVectors(normalizer.space, normalizer.mean, row[None], NEAREST)
        began_s = time.perf_counter()
        await PostgresVectors(store).search(user(1), Search((), order, SystemClock().now()), asked)
        took_ms.append(1e3 * (time.perf_counter() - began_s))
    return seen, median(took_ms)


async def _compare(database: Database, normalizer: EmbeddingNormalizer, questions: np.ndarray) -> list[str]:
    store, rows = SqlMemories(database), list(normalizer.project(questions))
    exact, exact_ms = await _nearest(store, normalizer, rows)
    began_s = time.perf_counter()
    await database.maintain()
    made_s = time.perf_counter() - began_s
    found, found_ms = await _nearest(store, normalizer, rows)
    shares = [len(one & other) / len(one) for one, other in zip(exact, found, strict=True)]
    figures = (100 * float(np.mean(shares)), 100 * min(shares), 100 * float(np.mean([each == 1 for each in shares])))
    return [f"{TEXTS:,}", *(f"{each:.1f} %" for each in figures), f"{exact_ms:.1f}", f"{found_ms:.1f}", f"{made_s:.0f}"]


async def _run(url: str) -> list[str]:
    embedder = Usem3Embedder()
    texts = sentences()[: TEXTS + QUESTIONS]
    vectors = np.concatenate(
        [await embedder.embed(texts[first : first + _BATCH]) for first in range(0, len(texts), _BATCH)]
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    normalizer = await Embedding(embedder).normalizer()
    assert normalizer is not None, "the bundled embedder is always up"
    database = await open_postgres(url)
    with psycopg.connect(url) as connection:
        connection.execute("SET session_replication_role = replica")  # what the keys check is so
        connection.execute("INSERT INTO spaces (id, name) VALUES (1, %s)", (embedder.space,))
        copy_person(connection, 1, range(1, TEXTS + 1), texts[:TEXTS], vectors[:TEXTS])
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    figures = await _compare(database, normalizer, vectors[TEXTS:])
    await database.close()
    return figures


def main() -> None:
    """Print the table."""
    with own_server() as server:
        figures = asyncio.run(_run(server.url()))
    show(
        f"The HNSW index of one person: the nearest {NEAREST} to each of {QUESTIONS} questions",
        ("texts", "of them found", "at worst", "all found", "exact, p50 ms", "by the index, p50 ms", "made in s"),
        [figures],
    )
