"""Memory as it is spoken of in rooms, undone, purged and linked, at 10,000 memories. The embedding is left out."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from statistics import median

from bench.memory import OWNER, Bench, phrases
from bench.table import show
from core.memory.user_memory import UserMemory
from core.stores import ChangeContext
from core.types import UserKey

SIZE = 10_000
AUDIBLE = 100
ROOM, CROWDED = "bench:room", "bench:crowded"
OTHER = UserKey("bench", "2")
QUERIES = 60
ROUNDS = 3


async def fill(bench: Bench, memory: UserMemory, numbers: range) -> None:
    """Save memories, 500 at a time."""
    for start in range(numbers.start, numbers.stop, 500):
        drafts, vectors = bench.drafts(range(start, min(start + 500, numbers.stop)))
        await memory.add(drafts, vectors)


async def searched(bench: Bench, memory: UserMemory, numbers: range) -> list[str]:
    """Return CPU and wall ms of one warm search by the bindings of those memories."""
    best = [float("inf")] * 2
    for _ in range(ROUNDS):
        taken = []
        for number in numbers[:: max(len(numbers) // QUERIES, 1)]:
            query = phrases(number)[0]
            vector = bench.embedder.vector(query)
            wall, cpu = time.perf_counter(), time.process_time()
            assert await memory.search([query], {query: vector}, limit=5)
            taken.append((time.process_time() - cpu, time.perf_counter() - wall))
        best = [
            min(so_far, median(column) * 1000) for so_far, column in zip(best, zip(*taken, strict=True), strict=True)
        ]
    return [f"{value:.2f}" for value in best]


async def timed(do: Callable[[], Awaitable[object]]) -> str:
    """Return the wall ms of doing something once."""
    start = time.perf_counter()
    await do()
    return f"{(time.perf_counter() - start) * 1000:.1f}"


async def measure(folder: Path) -> None:
    """Fill a database, and measure each in turn."""
    bench = Bench(folder)
    await bench.open()
    private = bench.memories.of(OWNER)
    audible = bench.memories.of(OWNER, ChangeContext(room=ROOM))
    crowded = bench.memories.of(OWNER, ChangeContext(room=CROWDED))
    await fill(bench, private, range(SIZE - AUDIBLE))
    heard = range(SIZE - AUDIBLE, SIZE)
    await fill(bench, audible, heard)
    rows = [
        ["in private, of 10,000 memories", *await searched(bench, private, range(SIZE))],
        [f"in a room where {AUDIBLE} of them are audible", *await searched(bench, audible, heard)],
    ]
    ids = [item.id for item in await private.page(limit=SIZE)]
    await bench.store.flag(OWNER, ids, room=CROWDED)
    rows.append(["in a room where all of them are", *await searched(bench, crowded, range(SIZE))])
    show("Search of one person's memories", ["where", "CPU ms", "wall ms"], rows)

    acting = bench.memories.of(OWNER, ChangeContext("act"))
    one, ten = [ids[0]], ids[1:11]
    figures = []
    for count, keys in ((1, one), (10, ten)):
        figures.append([f"delete {count}", await timed(partial(acting.delete, keys))])
        figures.append([f"undo that, with {count * 3} phrases embedded again", await timed(acting.undo)])
    figures.append(["the newest change that can be undone", await timed(acting.last_change)])
    await fill(bench, bench.memories.of(OTHER), range(SIZE, SIZE * 2))
    link, unlink = bench.memories.link, bench.memories.unlink
    figures.append(
        ["link an account with 10,000 memories to one with as many", await timed(partial(link, OWNER, OTHER))]
    )
    figures.append(["whose owner is a person", await timed(partial(bench.memories.owner, OTHER))])
    figures.append(["unlink it", await timed(partial(unlink, OWNER, OTHER))])
    await acting.delete(one)
    size_mib = (folder / "ours.db").stat().st_size / 2**20
    now = bench.memories.of(OWNER).clock.now()
    figures.append([f"purge a deleted memory: read {size_mib:.0f} MiB", await timed(partial(bench.store.purge, now))])
    figures.append(["purge, nothing to do", await timed(partial(bench.store.purge, now))])
    show("Changes of memory, wall ms", ["what", "ms"], figures)
    await bench.close()


def main() -> None:
    """Measure, in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder)))
