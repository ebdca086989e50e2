"""Files that people keep: CPU and wall of a photo, the disk once it is forgotten, and memory while many are sent."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Final

from PIL import Image

from bench.table import show
from core.clock import SystemClock
from core.enclosures import Attachment, AttachmentKind
from core.files.port import FileStore
from core.storage.database import Database
from core.storage.files import FolderFiles, SqlFiles
from core.storage.memories import SqlMemories
from core.storage.postgres import open_postgres
from core.storage.sqlite import open_database
from core.types import MemoryDraft, MemoryKind, UserKey
from tests.fakes.memories import add
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.postgres import own_server

ROUNDS: Final = 20
PHOTO_BYTES: Final = 3_000_000
PEOPLE: Final = 50
"""So many people send a document at once."""

SCAN_PX: Final = 4_300

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


def scan() -> bytes:
    """Return a PDF of one scanned page of about 20 MB."""
    out = BytesIO()
    Image.effect_noise((SCAN_PX, SCAN_PX), 120).save(out, "PDF", quality=95)
    return out.getvalue()


async def crowd(document: bytes, people: int) -> tuple[str, ...]:
    """Let people send a document each at once, to be kept, and measure the bot's process until all were answered."""
    with tempfile.TemporaryDirectory() as folder:
        async with TelegramServer(SystemClock(), patience_s=1200.0) as server:
            settings = {"TELEGRAM_TOKEN": TOKEN, "TELEGRAM_API_BASE_URL": server.url, "ACCESS": "open"}
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bot", "run"),
                env=os.environ | settings | {"DATA_DIR": folder},
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            try:
                server.files["d"] = document
                await say(server, 1, document="")
                idle_mib, began_s = peak_mib(child.pid), time.perf_counter()
                await asyncio.gather(*(say(server, number, document="d") for number in range(2, people + 2)))
                wall_s, busy_mib = time.perf_counter() - began_s, peak_mib(child.pid)
            finally:
                child.kill()
                await child.wait()
    return f"{people} people", f"{wall_s:.1f} s", f"{idle_mib:.0f} MiB", f"{busy_mib:.0f} MiB"


async def say(server: TelegramServer, number: int, *, document: str) -> None:
    """Say that something is to be remembered, and return once it was."""
    words = f"remember this: my document {number}"
    if document:
        file = {"file_id": document, "file_unique_id": "u", "file_name": "scan.pdf"}
        server.says(Person(number), None, caption=words, document=file)
    else:
        server.says(Person(number), words)
    await server.until(lambda: any("document" in text for text in server.chat(number).screen()))


def peak_mib(pid: int) -> float:
    """Return the most that a process held so far."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def main() -> None:
    """Measure and print."""
    rows = asyncio.run(photo("folder", ""))
    with own_server() as server:
        rows += asyncio.run(photo("PostgreSQL", server.url()))
    show(f"A photo of {PHOTO_BYTES // 10**6} MB", ("what", "wall", "CPU"), rows)
    document = scan()
    peaks = [asyncio.run(crowd(document, people)) for people in (1, 4, PEOPLE)]
    about = f"A document of {len(document) / 10**6:.0f} MB of each at once, on Telegram, to be kept"
    show(about, ("who", "wall", "most RAM before", "most RAM"), peaks)
