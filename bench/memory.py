"""Memory beside a 60-line baseline and bare FTS5: searching, saving, opening a person's memories, peak memory.

The embedder is a fake that costs next to nothing: only the engine is measured. All run in turns, on CPU time where
nothing waits for a disk, and the lowest median of three rounds counts.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from bench.baseline import Baseline
from bench.table import show
from core.clock import SystemClock
from core.memory.indexes import Indexes
from core.memory.memories import Memories
from core.memory.search import parts
from core.memory.user_memory import UserMemory
from core.ports import Embedder
from core.storage.database import Database
from core.storage.faiss_index import FaissIndex
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.types import MemoryDraft, MemoryKind, UserKey, Vector, Vectors

DIMS = 512
OWNER = UserKey("bench", "1")
KEYS = 3
SIZES = (1_000, 10_000, 100_000)
ROUNDS = 3
_SYLLABLES = "ba ce di fo gu la me ni po ru sa te vi xo zu".split()
_EMBEDDING_MS = 2.0
"""CPU of one sentence, measured by `bench embedder`."""


class FakeEmbedder(Embedder):
    """A random direction for each text, beside one that all share: as crowded as the cosines of real embedders."""

    def __init__(self) -> None:
        self.common = np.random.default_rng(1).standard_normal(DIMS)

    @property
    def space(self) -> str:
        """One space."""
        return f"bench@{DIMS}"

    @property
    def dims(self) -> int:
        """As the embedded embedder's."""
        return DIMS

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text."""
        return np.stack([self.vector(text) for text in texts])

    def vector(self, text: str) -> Vector:
        """Return the vector of one text: always the same."""
        own = np.random.default_rng(np.frombuffer(text.encode().ljust(8), np.uint8)).standard_normal(DIMS)
        mixed = self.common * 2 + own
        vector: Vector = (mixed / np.linalg.norm(mixed)).astype(np.float32)
        return vector

    async def close(self) -> None:
        """Nothing to let go of."""


def phrases(number: int) -> tuple[str, ...]:
    """Return two bindings and a content: words of a vocabulary in which few are common and many are rare."""
    rng = np.random.default_rng(number)

    def phrase(length: int) -> str:
        ranks = (20_000 ** rng.random(length)).astype(int)
        return " ".join("".join(_SYLLABLES[int(d, 15)] for d in np.base_repr(rank + 225, 15)) for rank in ranks)

    return f"{phrase(2)} {number}", phrase(3), f"{phrase(8)} {number}"


class Bench:
    """Both engines over the same memories, and a bare FTS5 table."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.embedder = FakeEmbedder()

    async def open(self) -> None:
        """Open or make the three files."""
        self.database: Database = await open_database(self.folder / "ours.db")
        self.store = SqlMemories(self.database)
        self.memories = Memories(self.store, self.embedder, Indexes(self.store, FaissIndex), SystemClock())
        self.ours: UserMemory = self.memories.of(OWNER)
        self.baseline = await Baseline.open(self.folder / "baseline.db", DIMS)
        self.fts = sqlite3.connect(self.folder / "fts.db")
        self.fts.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        self.fts.execute("CREATE VIRTUAL TABLE IF NOT EXISTS memory USING fts5 (text)")

    async def close(self) -> None:
        """Close all."""
        await self.memories.close()
        await self.database.close()
        await self.baseline.close()
        self.fts.close()

    async def fill(self, numbers: Sequence[int]) -> None:
        """Save memories with the engine, without comparing them with any."""
        await self.ours.add(*self.drafts(numbers))

    async def save(self, numbers: Sequence[int]) -> None:
        """Save memories with the engine, as people do."""
        await self.ours.save(*self.drafts(numbers))

    async def save_baseline(self, numbers: Sequence[int]) -> None:
        """Save the same with the baseline."""
        texts = [phrases(number) for number in numbers]
        rows = [await self.embedder.embed(each) for each in texts]
        await self.baseline.add("1", [json.dumps(each) for each in texts], rows)

    async def save_fts(self, numbers: Sequence[int]) -> None:
        """Save only the words."""
        with self.fts:
            self.fts.executemany("INSERT INTO memory VALUES (?)", [(" ".join(phrases(number)),) for number in numbers])

    def drafts(self, numbers: Sequence[int]) -> tuple[list[MemoryDraft], dict[str, Vector]]:
        """Return drafts and the vectors of their phrases."""
        texts = [phrases(number) for number in numbers]
        drafts = [MemoryDraft(MemoryKind.TEXT, content, tuple(bindings)) for *bindings, content in texts]
        return drafts, {text: self.embedder.vector(text) for each in texts for text in each}

    def known(self, query: str) -> Mapping[str, Vector]:
        """Return the vectors of a query and of its parts."""
        return {text: self.embedder.vector(text) for text in (query, *parts(query))}

    async def search(self, query: str, known: Mapping[str, Vector]) -> None:
        """Search with the engine."""
        assert await self.ours.search([query], known, limit=5, floor=0.0)

    async def search_baseline(self, query: str, known: Mapping[str, Vector]) -> None:
        """Search with the baseline."""
        assert await self.baseline.search("1", known[query][None], 5)

    async def search_fts(self, query: str, _: Mapping[str, Vector]) -> None:
        """Search the words only."""
        words = " OR ".join(f'"{word}"' for word in query.split())
        self.fts.execute("SELECT rowid FROM memory WHERE memory MATCH ? ORDER BY rank LIMIT 5", (words,)).fetchall()


Search = Callable[[str, Mapping[str, Vector]], Awaitable[None]]
Save = Callable[[Sequence[int]], Awaitable[None]]


async def searched(bench: Bench, size: int) -> list[float]:
    """Return the CPU ms of one search: ours, the baseline's, FTS5's."""
    rng = np.random.default_rng(7)
    engines: list[Search] = [bench.search, bench.search_baseline, bench.search_fts]
    best = [float("inf")] * len(engines)
    for _ in range(ROUNDS):
        asked = [phrases(number)[0] for number in rng.integers(0, size, 60 if size < 50_000 else 15)]
        for place, search in enumerate(engines):
            taken = []
            for query in asked:
                known = bench.known(query)
                start = time.process_time()
                await search(query, known)
                taken.append((time.process_time() - start) * 1000)
            best[place] = min(best[place], median(taken))
    return best


async def saved(bench: Bench, size: int) -> list[float]:
    """Return the CPU ms of one durable save of one memory: ours, the baseline's, FTS5's."""
    engines: list[Save] = [bench.save, bench.save_baseline, bench.save_fts]
    best = [float("inf")] * len(engines)
    for number in range(ROUNDS):
        for place, save in enumerate(engines):
            taken = []
            for step in range(30):
                start = time.process_time()
                await save([size + number * 30 + step])
                taken.append((time.process_time() - start) * 1000)
            best[place] = min(best[place], median(taken))
    return best


def opened(folder: Path, engine: str) -> tuple[float, float]:
    """Return the CPU ms, and the peak of memory in MiB, of a first search in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-m", "bench.memory", engine, str(folder)], capture_output=True, check=True, text=True
    )
    cpu_ms, peak_mib = json.loads(ran.stdout)
    return cpu_ms, peak_mib


def peak_mib() -> float:
    """Return the process's highest resident memory since it was last reset."""
    return next(int(line.split()[1]) for line in Path("/proc/self/status").open() if line.startswith("VmHWM")) / 1024


def forget_peak() -> None:
    """Start the peak anew. Source: proc(5), clear_refs."""
    Path("/proc/self/clear_refs").write_text("5")


async def open_once(engine: str, folder: Path) -> None:
    """Search once, cold, and print what it cost."""
    bench = Bench(folder)
    await bench.open()
    query = phrases(3)[0]
    known = bench.known(query)
    await bench.memories.of(UserKey("bench", "nobody")).embed(["x"])  # the normalizer is the bot's, not the person's
    forget_peak()
    before_mib, start = peak_mib(), time.process_time()
    await (bench.search if engine == "ours" else bench.search_baseline)(query, known)
    print(json.dumps([(time.process_time() - start) * 1000, peak_mib() - before_mib]))
    await bench.close()


async def measure(sizes: Sequence[int], folder: Path) -> None:
    """Fill both step by step, and measure at each size."""
    bench = Bench(folder)
    await bench.open()
    searches, saves, opens, sizes_on_disk = [], [], [], []
    filled = 0
    for size in sizes:
        for start in range(filled, size, 500):
            for fill in (bench.fill, bench.save_baseline, bench.save_fts):
                await fill(range(start, min(start + 500, size)))
        ours, base, fts = await searched(bench, size)
        share = f"{ours / (ours + _EMBEDDING_MS):.1%}"
        searches.append([f"{size:,}", f"{ours:.2f}", f"{base:.2f}", f"{ours / base:.2f}", f"{fts:.2f}", share])
        if size <= 10_000:
            mine, theirs = [min(opened(folder, engine) for _ in range(ROUNDS)) for engine in ("ours", "baseline")]
            raw_mib = size * KEYS * DIMS * 4 / 2**20
            ratio = f"{mine[0] / theirs[0]:.2f}"
            peaks = [f"{mine[1] / raw_mib:.2f}", f"{theirs[1] / raw_mib:.2f}"]
            opens.append([f"{size:,}", f"{mine[0]:.0f}", f"{theirs[0]:.0f}", ratio, *peaks])
        ours, base, fts = await saved(bench, size)
        saves.append([f"{size:,}", f"{ours:.2f}", f"{base:.2f}", f"{ours / base:.2f}", f"{fts:.2f}"])
        filled = size + ROUNDS * 30
        await bench.database.truncate_log()
        on_disk = [(folder / f"{name}.db").stat().st_size / filled for name in ("ours", "baseline", "fts")]
        sizes_on_disk.append([f"{size:,}", *(f"{each:,.0f}" for each in on_disk)])
    await bench.close()
    head = ["memories", "ours", "baseline", "ratio"]
    show("Search, CPU ms without the embedding", [*head, "bare FTS5", "share beside the embedding"], searches)
    show("Durable save of one memory, CPU ms", [*head, "bare FTS5"], saves)
    show("Bytes of a memory in the file", ["memories", "ours", "baseline", "bare FTS5"], sizes_on_disk)
    show("Cold open and first search, CPU ms; peak in multiples of the vectors", [*head, "peak", "its peak"], opens)


def main(sizes: Sequence[int] = SIZES) -> None:
    """Measure, in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(sizes, Path(folder)))


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in {"ours", "baseline"}:
        asyncio.run(open_once(sys.argv[1], Path(sys.argv[2])))
    else:
        main([int(size) for size in sys.argv[1:]] or SIZES)
