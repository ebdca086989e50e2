"""Memory: searching, saving, opening a person's memories, bytes, peak memory, sealed and not: `python -m bench memory`.

The embedder is a fake that costs next to nothing: only the engine is measured, on CPU time where nothing waits for a
disk, and the lowest median of three rounds counts.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from bench.table import show
from core.clock import SystemClock
from core.memory.embedding import Indexes
from core.memory.memories import Memories
from core.memory.search import parts
from core.ports import Embedder
from core.sealing.port import PLAIN
from core.sealing.sealed import KEY_BYTES, KeyFile, Sealed
from core.storage.database import Database
from core.storage.faiss_index import FaissIndex
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.types import MemoryDraft, MemoryKind, UserKey, Vector, Vectors

DIMS = 512
OWNER = UserKey("bench", "1")
KEYS = 3
SIZES = (1_000, 10_000, 100_000)
HEAD = ("memories", "search", "durable save", "cold open and first search", "peak, in vectors", "bytes of a memory")
ROUNDS = 3
SAVES = 30
_SYLLABLES = "ba ce di fo gu la me ni po ru sa te vi xo zu".split()


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
    """The engine over a file; made by `opened`."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.embedder = FakeEmbedder()
        store = SqlMemories(database)
        self.memories = Memories(store, self.embedder, Indexes(store, FaissIndex), SystemClock())
        self.ours = self.memories.of(OWNER)

    async def fill(self, numbers: Sequence[int]) -> None:
        """Save memories without comparing them with any."""
        await self.ours.add(*self.drafts(numbers))

    async def save(self, number: int) -> None:
        """Save a memory, as people do."""
        await self.ours.save(*self.drafts([number]))

    def drafts(self, numbers: Sequence[int]) -> tuple[list[MemoryDraft], dict[str, Vector]]:
        """Return drafts and the vectors of their phrases."""
        texts = [phrases(number) for number in numbers]
        drafts = [MemoryDraft(MemoryKind.TEXT, content, tuple(bindings)) for *bindings, content in texts]
        return drafts, {text: self.embedder.vector(text) for each in texts for text in each}

    def known(self, query: str) -> Mapping[str, Vector]:
        """Return the vectors of a query and of its parts."""
        return {text: self.embedder.vector(text) for text in (query, *parts(query))}

    async def search(self, query: str, known: Mapping[str, Vector]) -> None:
        """Search, and find something."""
        assert await self.ours.search([query], known, limit=5, floor=0.0)


@asynccontextmanager
async def opened(path: Path, *, sealed: bool = False) -> AsyncIterator[Bench]:
    """Open the engine over a file, and close it at the end; sealed by a key file beside it."""
    keys = KeyFile(path.with_suffix(".keys"), bytes(KEY_BYTES))
    database = await open_database(path, sealing=Sealed(keys) if sealed else PLAIN)
    bench = Bench(database)
    yield bench
    await bench.memories.close()
    await database.close()
    keys.close()


async def typical_ms(works: Sequence[Callable[[], Awaitable[None]]]) -> float:
    """Return the median of the CPU ms that some works take, one after another."""
    taken = []
    for work in works:
        start = time.process_time()
        await work()
        taken.append((time.process_time() - start) * 1000)
    return median(taken)


async def searched(bench: Bench, size: int) -> float:
    """Return the CPU ms of one search."""
    asked = [phrases(number)[0] for number in np.random.default_rng(7).integers(0, size, 60 if size < 50_000 else 15)]
    return await typical_ms([partial(bench.search, query, bench.known(query)) for query in asked])


async def saved(bench: Bench, first: int) -> float:
    """Return the CPU ms of one durable save of one memory."""
    return await typical_ms([partial(bench.save, number) for number in range(first, first + SAVES)])


def opened_cold(path: Path, *, sealed: bool) -> tuple[float, float]:
    """Return the CPU ms, and the peak of memory in MiB, of a first search in a process of its own."""
    command = [sys.executable, "-m", "bench.memory", str(path), *(["sealed"] if sealed else [])]
    ran = subprocess.run(command, capture_output=True, check=True, text=True)
    cpu_ms, peak = json.loads(ran.stdout)
    return cpu_ms, peak


def peak_mib() -> float:
    """Return the process's highest resident memory since it was last reset."""
    return next(int(line.split()[1]) for line in Path("/proc/self/status").open() if line.startswith("VmHWM")) / 1024


def forget_peak() -> None:
    """Start the peak anew. Source: proc(5), clear_refs."""
    Path("/proc/self/clear_refs").write_text("5")


async def open_once(path: Path, *, sealed: bool) -> None:
    """Search once, cold, and print what it cost."""
    async with opened(path, sealed=sealed) as bench:
        query = phrases(3)[0]
        known = bench.known(query)
        await bench.memories.prepare()  # the normalizer is the bot's, not the person's
        forget_peak()
        before_mib, start = peak_mib(), time.process_time()
        await bench.search(query, known)
        print(json.dumps([(time.process_time() - start) * 1000, peak_mib() - before_mib]))


async def measured(path: Path, bench: Bench, size: int, *, sealed: bool) -> list[float]:
    """Measure one round: what HEAD says, but for the size."""
    cold_ms, peak = opened_cold(path, sealed=sealed)
    search_ms, held = await searched(bench, size), await bench.ours.count()
    save_ms = await saved(bench, held)
    await bench.database.truncate_log()
    _, held_bytes = await bench.database.describe()
    return [search_ms, save_ms, cold_ms, peak * 2**20 / (held * KEYS * DIMS * 4), held_bytes / (held + SAVES)]


async def compare(folder: Path, sizes: Sequence[int] = SIZES) -> tuple[list[list[str]], list[float]]:
    """Return rows of each size, unsealed, sealed, and as a ratio, and the last ratios; both are measured by turns."""
    paths = {sealed: folder / f"{'sealed' if sealed else 'open'}.db" for sealed in (False, True)}
    rows: list[list[str]] = []
    ratios: list[float] = []
    async with opened(paths[False], sealed=False) as plain, opened(paths[True], sealed=True) as sealed_bench:
        benches = {False: plain, True: sealed_bench}
        for size in sizes:
            for bench in benches.values():
                for start in range(await bench.ours.count(), size, 500):
                    await bench.fill(range(start, min(start + 500, size)))
            rounds: dict[bool, list[list[float]]] = {sealed: [] for sealed in benches}
            for _ in range(ROUNDS):
                for sealed, bench in benches.items():
                    rounds[sealed].append(await measured(paths[sealed], bench, size, sealed=sealed))
            before, after = ([min(each) for each in zip(*rounds[sealed], strict=True)] for sealed in (False, True))
            ratios = [now / was for now, was in zip(after, before, strict=True)]
            rows += [[f"{size:,}", *_told(before)], ["sealed", *_told(after)], ["ratio", *(f"{r:.2f}" for r in ratios)]]
    return rows, ratios


def _told(figures: Sequence[float]) -> list[str]:
    return [
        form.format(each)
        for form, each in zip(("{:.2f}", "{:.2f}", "{:.0f}", "{:.2f}", "{:,.0f}"), figures, strict=True)
    ]


def main() -> None:
    """Measure, in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        rows, _ = asyncio.run(compare(Path(folder)))
    show("Memory: CPU ms without the embedding; bytes", HEAD, rows)


if __name__ == "__main__":
    asyncio.run(open_once(Path(sys.argv[1]), sealed="sealed" in sys.argv[2:]))
