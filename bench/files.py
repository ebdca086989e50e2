"""Files that people keep: CPU and wall of a photo, the disk once it is forgotten, and memory while many are sent."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Final

from bench.process import run
from bench.table import show
from core.clock import SystemClock
from core.enclosures import Attachment, AttachmentKind
from core.files.port import FileStore
from core.storage.database import Database
from core.storage.files_folder import FolderFiles
from core.storage.files_table import SqlFiles
from core.storage.memories import SqlMemories
from core.storage.postgres import open_postgres
from core.storage.sqlite import open_database
from core.types import MemoryDraft, MemoryKind, UserKey
from tests.fakes.memories import add
from tests.postgres import own_server

ROUNDS: Final = 20
PHOTO_BYTES: Final = 3_000_000
PEOPLE, LARGE_BYTES, GATE = 50, 20_000_000, 4
"""So many people send so much at once, of whom so many are served at a time, from the fetching to the file."""

QUOTA: Final = 10**9
ANA: Final = UserKey("bench", "ana")


async def opened(url: str, folder: Path) -> tuple[Database, FileStore]:
    """Open a PostgreSQL database, or for "" a file, with its files."""
    if url:
        database: Database = await open_postgres(url, pool=2)
        return database, SqlFiles(database, SystemClock(), QUOTA)
    return await open_database(folder / "elefante.db"), FolderFiles(folder / "files", SystemClock(), QUOTA)


async def timed(work: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Return the wall and CPU seconds of this process that something takes."""
    began_s, cpu_s = time.perf_counter(), time.process_time()
    await work()
    return time.perf_counter() - began_s, time.process_time() - cpu_s


async def photo(place: str, url: str) -> list[tuple[str, ...]]:
    """Measure one photo: kept, kept again, read, forgotten."""
    with tempfile.TemporaryDirectory() as folder:
        database, files = await opened(url, Path(folder))
        store = SqlMemories(database)

        async def keep(content: bytes, words: str) -> None:
            kept = Attachment(AttachmentKind.PHOTO, sha256=await files.put(ANA, content))
            draft = MemoryDraft(MemoryKind.TEXT, words, (words,), attachments=(kept,))
            await add(store, ANA, [draft], at=SystemClock().now())

        contents = [os.urandom(PHOTO_BYTES) for _ in range(ROUNDS)]
        saved = [await timed(lambda each=each: keep(each, f"photo {each[:4].hex()}")) for each in contents]  # type: ignore[misc]
        again = [await timed(lambda each=each: files.put(ANA, each)) for each in contents]  # type: ignore[misc]
        digests = sorted(await files.digests(ANA))
        read = [await timed(lambda each=each: files.get(ANA, each)) for each in digests]  # type: ignore[misc]
        await files.remove(ANA, digests)
        await store.forget(ANA)
        left = await files.used(ANA) + sum(path.stat().st_size for path in (Path(folder) / "files").rglob("*"))
        await database.close()
    rows = [(f"{place}: {what}", *figures(some)) for what, some in (("saved", saved), ("again", again), ("read", read))]
    return [*rows, (f"{place}: left once forgotten", f"{left} bytes", "")]


def figures(some: list[tuple[float, float]]) -> tuple[str, str]:
    """Return the medians as texts."""
    wall_s, cpu_s = (median(each) for each in zip(*some, strict=True))
    return f"{wall_s * 1000:.1f} ms", f"{cpu_s * 1000:.1f} ms"


async def crowd(folder: Path, people: int) -> None:
    """Let people put large files at once."""
    files, gate = FolderFiles(folder, SystemClock(), QUOTA), asyncio.Semaphore(GATE)

    async def one(number: int) -> None:
        async with gate:
            await files.put(UserKey("bench", str(number)), os.urandom(LARGE_BYTES))

    await asyncio.gather(*map(one, range(people)))


def main() -> None:
    """Measure and print."""
    rows = asyncio.run(photo("folder", ""))
    with own_server() as server:
        rows += asyncio.run(photo("PostgreSQL", server.url()))
    show(f"A photo of {PHOTO_BYTES // 10**6} MB", ("what", "wall", "CPU"), rows)
    peaks = []
    for people in (GATE, PEOPLE):
        with tempfile.TemporaryDirectory() as folder:
            cost = run(["-m", "bench.files", folder, str(people)], dict(os.environ))
        peaks.append((f"{people} people", f"{cost.wall_s:.1f} s", f"{cost.peak_mib:.0f} MiB"))
    show(f"{LARGE_BYTES // 10**6} MB of each at once, {GATE} served at a time", ("who", "wall", "most RAM"), peaks)


if __name__ == "__main__":
    asyncio.run(crowd(Path(sys.argv[1]), int(sys.argv[2])))
