"""A search in PostgreSQL beside SQLite and FAISS: milliseconds, own CPU, memory, and what the HNSW index finds.

One person with 1,000, 10,000 and 100,000 memories, and 1,000 people with 1,000 each, all in one database. Vectors and
words are made, not embedded: one phrase and four words a memory. Each engine runs in a process of its own, over rows
that were written in bulk.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles

import numpy as np
import psycopg

from bench.memory import FakeEmbedder
from bench.table import show
from core.clock import SystemClock
from core.library import new_search
from core.memory.memories import Memories
from core.memory.search import parts
from core.storage.database import Database
from core.storage.memories import SqlMemories
from core.storage.postgres import open_postgres
from core.storage.postgres_vectors import PostgresVectors
from core.storage.record import digest, to_blob
from core.storage.sqlite import open_database
from core.stores import AskedVectors, Neighbours, Search
from core.types import UserKey, Vectors
from tests.postgres import own_server

DIMS = 512
SIZES = (1_000, 10_000, 100_000)
PEOPLE = 1_000
EACH = 1_000
SEARCHES = 60
_WORDS = 4
_VOCABULARY = 20_000
_TOPICS = 48
"""Directions in which vectors differ, beside noise. No HNSW index finds the nearest of those that differ in all 512."""

_BASIS = np.random.default_rng(2).standard_normal((_TOPICS, DIMS), np.float32) / np.float32(np.sqrt(_TOPICS))
_ROW = np.dtype(
    [("fields", ">i2")]
    + [(name, of) for column in ("owner", "phrase", "space") for name, of in ((f"{column}_", ">i4"), (column, ">i8"))]
    + [("bytes", ">i4"), ("dims", ">i2"), ("unused", ">i2"), ("vector", ">f2", (DIMS,))]
)
"""A row of binary COPY."""


class Person:
    """The rows of one person: memories from `first` on, each with one phrase of the same number."""

    def __init__(self, number: int, count: int, first: int) -> None:
        self.number = number
        self.first = first
        self.numbers = range(first, first + count)
        random = np.random.default_rng(number)
        self.words = (_VOCABULARY ** random.random((count, _WORDS))).astype(int) + 100_000
        own = random.standard_normal((count, _TOPICS), np.float32) @ _BASIS
        own += np.float32(0.3) * random.standard_normal((count, DIMS), np.float32)
        mixed = np.float32(2) * FakeEmbedder().common.astype(np.float32) + own
        self.vectors: Vectors = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)

    def texts(self) -> list[str]:
        """Return what the memories say."""
        return [" ".join(map(str, row)) for row in self.words.tolist()]

    def terms(self) -> list[tuple[str, int]]:
        """Return the words of the memories, each once, in the order of the key."""
        pairs = {(str(w), n) for n, row in zip(self.numbers, self.words.tolist(), strict=True) for w in row}
        return sorted(pairs)


def everybody() -> Iterator[Person]:
    """Give the person of each size, and then all the others."""
    first = 1
    for number, count in enumerate([*SIZES, *[EACH] * PEOPLE], 1):
        yield Person(number, count, first)
        first += count


def user(number: int) -> UserKey:
    """Return the account of a person."""
    return UserKey("bench", str(number))


def fill_postgres(url: str) -> None:
    """Write everybody's rows."""
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")  # what the keys check is so
        cursor.execute("INSERT INTO spaces (id, name) VALUES (1, %s)", (FakeEmbedder().space,))
        for person in everybody():
            copy_person(connection, person.number, person.numbers, person.texts(), person.vectors)
            with cursor.copy("COPY terms (account, term, memory) FROM STDIN") as copy:
                copy.write("".join(f"{person.number}\t{term}\t{n}\n" for term, n in person.terms()))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")  # as autovacuum does within a minute


def copy_person(
    connection: psycopg.Connection, owner: int, numbers: range, texts: Sequence[str], vectors: Vectors
) -> None:
    """Write one person's memories, each with one phrase of the same number, and their vectors."""
    with connection.cursor() as cursor:
        cursor.execute(
            'INSERT INTO owners (id, platform, "user", version) VALUES (%s, %s, %s, 1)', (owner, "bench", str(owner))
        )
        columns = "id, key, owner, kind, content, digest, created_at, updated_at"
        with cursor.copy(f"COPY memories ({columns}) FROM STDIN".encode()) as copy:
            for n, text in zip(numbers, texts, strict=True):
                copy.write_row((n, f"k{n}", owner, "text", text, digest("text", text), n, n))
        with cursor.copy("COPY phrases (id, memory, owner, text, position) FROM STDIN") as copy:
            for n, text in zip(numbers, texts, strict=True):
                copy.write_row((n, n, owner, text, 0))
        rows = np.zeros(len(texts), _ROW)
        rows["fields"], rows["owner_"], rows["phrase_"], rows["space_"] = 4, 8, 8, 8
        rows["owner"], rows["phrase"], rows["space"] = owner, numbers, 1
        rows["bytes"], rows["dims"], rows["vector"] = 4 + 2 * DIMS, DIMS, vectors
        with cursor.copy("COPY vectors (owner, phrase, space, vector) FROM STDIN (FORMAT binary)") as copy:
            copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8) + rows.tobytes() + b"\xff\xff")


def fill_sqlite(path: Path) -> None:
    """Write everybody's rows."""
    with sqlite3.connect(path) as raw:
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -262144"):
            raw.execute(f"PRAGMA {pragma}")
        raw.execute("INSERT INTO spaces (id, name) VALUES (1, ?)", (FakeEmbedder().space,))
        for person in everybody():
            owner, texts = person.number, person.texts()
            raw.execute(
                'INSERT INTO owners (id, platform, "user", version) VALUES (?, ?, ?, 1)', (owner, "bench", str(owner))
            )
            numbered = list(zip(person.numbers, texts, strict=True))
            raw.executemany(
                "INSERT INTO memories (id, key, owner, kind, content, digest, created_at, updated_at)"
                " VALUES (?, ?, ?, 'text', ?, ?, ?, ?)",
                [(n, f"k{n}", owner, text, digest("text", text), n, n) for n, text in numbered],
            )
            raw.executemany(
                "INSERT INTO phrases (id, memory, owner, text, position) VALUES (?, ?, ?, ?, 0)",
                [(n, n, owner, text) for n, text in numbered],
            )
            raw.executemany(
                "INSERT INTO terms (account, term, memory) VALUES (?, ?, ?)",
                [(owner, term, n) for term, n in person.terms()],
            )
            raw.executemany(
                "INSERT INTO vectors (phrase, space, vector) VALUES (?, 1, ?)",
                [(n, row.tobytes()) for n, row in zip(person.numbers, person.vectors.astype("<f4"), strict=True)],
            )
    raw.execute("PRAGMA journal_mode = WAL")
    raw.close()


async def measure(database: Database, *, is_postgres: bool) -> dict[str, list[float]]:
    """Return, for each case, p50 and p95 in ms, own CPU in ms, and MiB of RAM afterwards."""
    store, embedder = SqlMemories(database), FakeEmbedder()
    memories = Memories(store, embedder, new_search(store), SystemClock())
    found: dict[str, list[float]] = {}

    async def case(name: str, people: list[int]) -> None:
        elapsed: list[float] = []
        cpu_s = time.process_time()
        for turn in range(SEARCHES + 5):
            if turn == 5:  # everything was done once
                elapsed, cpu_s = [], time.process_time()
            memory = memories.of(user(people[turn % len(people)]))
            random = np.random.default_rng(turn)
            query = " ".join(map(str, (_VOCABULARY ** random.random(_WORDS)).astype(int) + 100_000))
            known = {text: embedder.vector(text) for text in (query, *parts(query))}
            began_s = time.perf_counter()
            await memory.search([query], known)
            elapsed.append(1e3 * (time.perf_counter() - began_s))
        cpu_ms = 1e3 * (time.process_time() - cpu_s) / SEARCHES
        found[name] = [median(elapsed), quantiles(elapsed, n=20)[-1], cpu_ms, rss_mib()]

    for number, size in enumerate(SIZES, 1):
        await case(f"{size:,} of one person", [number])
        if is_postgres:
            found[f"{size:,}, the nearest vectors alone"] = await bare(database, number)
    crowd = [len(SIZES) + 1 + n for n in np.random.default_rng(1).permutation(PEOPLE).tolist()]
    await case(f"{PEOPLE:,} people x {EACH:,}", crowd)
    if is_postgres:
        exact = await nearest(store)
        began_s = time.perf_counter()
        await database.maintain()
        made_s = time.perf_counter() - began_s
        indexed = await nearest(store)
        await case(f"{SIZES[-1]:,}, by its HNSW index", [len(SIZES)])
        shared = [len(one & other) / len(one) for one, other in zip(exact, indexed, strict=True)]
        found["index"] = [made_s, float(np.mean(shared))]
    await memories.close()
    return found


async def bare(database: Database, owner: int) -> list[float]:
    """Return the same figures of the least that a search needs: an owner's nearest 32 vectors, by one SELECT."""
    elapsed: list[float] = []
    cpu_s = time.process_time()
    for turn in range(SEARCHES):
        row = to_blob(np.random.default_rng(turn).standard_normal(DIMS).astype(np.float32))
        began_s = time.perf_counter()
        await database.rows("SELECT phrase FROM vectors WHERE owner = ? ORDER BY vector <#> ? LIMIT 32", (owner, row))
        elapsed.append(1e3 * (time.perf_counter() - began_s))
    cpu_ms = 1e3 * (time.process_time() - cpu_s) / SEARCHES
    return [median(elapsed), quantiles(elapsed, n=20)[-1], cpu_ms, rss_mib()]


async def nearest(store: SqlMemories) -> list[frozenset[int]]:
    """Return the nearest phrases of some questions to the person with the most memories."""
    seen: list[frozenset[int]] = []

    def order(_: object, __: int, neighbours: Neighbours) -> list[int]:
        seen.append(neighbours.nearest)
        return []

    embedder, mean = FakeEmbedder(), FakeEmbedder().common.astype(np.float32)
    mean = (mean / np.linalg.norm(mean)) * np.float32(0.89)
    owner = list(everybody_of(len(SIZES)).vectors[:: SIZES[-1] // 50])
    for row in owner:
        near = row + np.float32(0.01) * np.random.default_rng(7).standard_normal(DIMS).astype(np.float32) - mean
        asked = AskedVectors(embedder.space, mean, (near / np.linalg.norm(near))[None], 32)
        await PostgresVectors(store).search(user(len(SIZES)), Search(("?",), order, SystemClock().now()), asked)
    return seen


def everybody_of(number: int) -> Person:
    """Return one of the people."""
    return next(person for person in everybody() if person.number == number)


def rss_mib() -> float:
    """Return the RAM that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


async def run(where: str) -> None:
    """Measure one engine in this process, and print what was found as JSON."""
    database = await opened(where)
    began_mib = rss_mib()
    found = await measure(database, is_postgres=is_url(where))
    print(json.dumps({"began": [began_mib], **found}))
    await database.close()


def main() -> None:
    """Fill both databases and run each engine in a process."""
    with tempfile.TemporaryDirectory() as folder, own_server() as server:
        engines = {"SQLite + FAISS": str(Path(folder) / "elefante.db"), "PostgreSQL": server.url()}
        command = [sys.executable, "-m", "bench.postgres_search"]
        fills = [subprocess.Popen([*command, "fill", where]) for where in engines.values()]
        if sum(each.wait() for each in fills):
            raise SystemExit("a database could not be filled")
        found = {
            name: json.loads(subprocess.check_output([*command, "run", where], text=True))
            for name, where in engines.items()
        }
    rows = [
        [case, name, *(f"{figure:.1f}" for figure in figures[:3]), f"{figures[3]:.0f}"]
        for case in found["PostgreSQL"]
        for name, cases in found.items()
        if len(figures := cases.get(case, [])) == 4
    ]
    show("Searches", ["memories", "engine", "p50 ms", "p95 ms", "own CPU ms", "RSS MiB"], rows)
    made_s, recall = found["PostgreSQL"]["index"]
    began = [[name, f"{cases['began'][0]:.0f}"] for name, cases in found.items()]
    show("RSS before the first search", ["engine", "MiB"], began)
    show("The HNSW index of 100,000", ["made in s", "recall of the nearest 32"], [[f"{made_s:.0f}", f"{recall:.3f}"]])


async def fill(where: str) -> None:
    """Make a database, and write everybody's rows."""
    await (await opened(where)).close()
    if is_url(where):
        fill_postgres(where)
    else:
        fill_sqlite(Path(where))


async def opened(where: str) -> Database:
    """Open the database of a URL or a path."""
    return await (open_postgres(where) if is_url(where) else open_database(Path(where)))


def is_url(where: str) -> bool:
    """Whether it is PostgreSQL's, and no path."""
    return where.startswith("postgresql:")


if __name__ == "__main__":
    asyncio.run({"fill": fill, "run": run}[sys.argv[1]](sys.argv[2]))
