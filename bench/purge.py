"""What a save waits for beside a purge: the longest wait, and the memory, in a database of MIB mebibytes (default 64).

Another size is given in the environment: `PURGE_MIB=1024 python -m bench purge`.
"""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from bench.table import show
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.stores import ChangeContext
from core.types import MemoryDraft, MemoryItem, MemoryKind, UserKey

PEOPLE = 20
AT_ONCE = 2000
DELETED = 50
_MIB = 1 << 20


def _unchanged(item: MemoryItem, _: MemoryDraft) -> tuple[MemoryDraft, tuple[str, ...]]:
    return item.draft, item.rooms


def rss_mib() -> float:
    """Return the memory of this process."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / _MIB


async def fill(store: SqlMemories, path: Path, mib: int) -> None:
    """Save memories of several people, some at a time, until the file has that size."""
    dice, noise = random.Random(1), np.random.default_rng(1)
    words = ["".join(dice.choices("aeioubcdlmnprst", k=7)) for _ in range(4_000)]
    while path.stat().st_size < mib * _MIB:  # noqa: ASYNC240
        owner = UserKey("bench", str(dice.randrange(PEOPLE)))
        drafts = [
            MemoryDraft(MemoryKind.TEXT, " ".join(dice.choices(words, k=25)), (" ".join(dice.choices(words, k=3)),))
            for _ in range(AT_ONCE)
        ]
        texts = [text for draft in drafts for text in (draft.content, *draft.bindings)]
        vectors = dict(zip(texts, noise.standard_normal((len(texts), 384)).astype(np.float32), strict=True))
        now = datetime.now(UTC)
        await store.save(owner, drafts, at=now, merge=_unchanged, vectors=vectors, space="bench@384")


async def measure(folder: Path, mib: int) -> None:
    """Save one memory after another, first alone and then beside each kind of deletion."""
    path = folder / "elefante.db"
    database = await open_database(path)
    store = SqlMemories(database)
    await fill(store, path, mib)
    owner, saver = UserKey("bench", "0"), UserKey("bench", "saver")
    rows = []

    async def beside(what: str, work: asyncio.Task[object]) -> None:
        waits, peak, began_s = [0.0], rss_mib(), time.perf_counter()
        while not work.done():
            start_s = time.perf_counter()
            draft = MemoryDraft(MemoryKind.TEXT, f"{what} {start_s}", ("key",))
            await store.save(saver, [draft], at=datetime.now(UTC), merge=_unchanged)
            waits.append(time.perf_counter() - start_s)
            peak = max(peak, rss_mib())
            await asyncio.sleep(0.02)
        work.result()
        waits.sort()
        row = [what, f"{time.perf_counter() - began_s:.1f} s", f"{waits[len(waits) // 2] * 1000:.0f} ms"]
        rows.append([*row, f"{waits[-1] * 1000:.0f} ms", f"+{peak - before_mib:.0f} MiB"])

    before_mib = rss_mib()
    await beside("nothing", asyncio.create_task(asyncio.sleep(10)))
    ids = [item.id for item in await store.page(owner, limit=DELETED + 1)]
    await store.delete(owner, ids[1:], at=datetime.now(UTC), context=ChangeContext("act"))
    later = datetime.now(UTC) + timedelta(days=1)
    await beside(f"a purge of {DELETED} memories, the first one", asyncio.create_task(store.purge(later)))
    await beside("a deletion that is final at once", asyncio.create_task(store.delete(owner, ids[:1])))
    await beside("all of one person forgotten", asyncio.create_task(store.forget(owner)))
    size_mib = path.stat().st_size / _MIB
    show(
        f"Saves of one memory, in a database of {size_mib:,.0f} MiB",
        ["beside", "which took", "median save", "longest save", "memory"],
        rows,
    )
    await database.close()


def main() -> None:
    """Measure it in a folder that goes afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), int(os.environ.get("PURGE_MIB", "64"))))
