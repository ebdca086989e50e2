"""Moving storage: memories from SQLite to PostgreSQL and back, rows a second and the peak of memory.

The command runs as a process of its own, as an owner starts it; the server is the one of the tests, on a disk.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg

from bench.memory import FakeEmbedder, phrases
from bench.table import show
from core.clock import SystemClock
from core.memory.indexes import Indexes
from core.memory.memories import Memories
from core.storage.faiss_index import FaissIndex
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.types import MemoryDraft, MemoryKind, UserKey
from tests.postgres import new_server

SIZES = (10_000, 100_000)
_EACH = 100
"""Memories of one person."""


async def fill(path: Path, size: int) -> None:
    """Let people save memories, a hundred each."""
    database = await open_database(path)
    embedder, store = FakeEmbedder(), SqlMemories(database)
    memories = Memories(store, embedder, Indexes(store, FaissIndex), SystemClock())
    for start in range(0, size, _EACH):
        texts = [phrases(number) for number in range(start, start + _EACH)]
        drafts = [MemoryDraft(MemoryKind.TEXT, content, tuple(bindings)) for *bindings, content in texts]
        vectors = {text: embedder.vector(text) for each in texts for text in each}
        await memories.of(UserKey("bench", str(start))).add(drafts, vectors)
    await memories.close()
    await database.close()


def moved(folder: Path, to: str) -> tuple[int, float, float]:
    """Move what lies in the folder, and return the rows, the seconds, and the peak of memory in MiB."""
    environment = os.environ | {"DATA_DIR": str(folder), "ELEFANTE_ENV": str(folder / ".env")}
    command = [sys.executable, "-m", "bot", "move-storage", to, "--json"]
    began_s = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdout is not None
        said = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, said
    return json.loads(said)["rows"], time.perf_counter() - began_s, usage.ru_maxrss / 1024


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """Move there and back."""
    lines = []
    home = Path(tempfile.mkdtemp())
    home.chmod(0o755)
    server = new_server(home)
    server.start()
    try:
        for size in sizes:
            folder = home / f"bot-{size}"
            folder.mkdir(mode=0o700)
            (folder / ".env").touch()
            asyncio.run(fill(folder / "elefante.db", size))
            with psycopg.connect(server.url(), autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE moved_{size}")
            for to in (server.url(f"moved_{size}"), "sqlite:"):
                rows, seconds, peak_mib = moved(folder, to)
                where = "SQLite" if to == "sqlite:" else "PostgreSQL"
                lines.append(
                    [
                        f"{size:,}",
                        where,
                        f"{rows:,}",
                        f"{seconds:.0f} s",
                        f"{rows / seconds:,.0f}",
                        f"{peak_mib:.0f} MiB",
                    ]
                )
                (folder / "elefante.db").rename(folder / "before.db") if where == "PostgreSQL" else None
    finally:
        server.stop()
        shutil.rmtree(home)
    show("Moving storage", ["memories", "to", "rows", "copied and compared in", "rows a second", "peak"], lines)


if __name__ == "__main__":
    main(tuple(int(size) for size in sys.argv[1:]) or SIZES)
