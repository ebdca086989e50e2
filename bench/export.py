"""What /export costs: seconds and memory for a little and for ten years, each in a process of its own."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from bench.process import run
from bench.table import show
from bot.settings.settings import Settings
from bot.wiring import build
from core.clock import SystemClock
from core.storage.history import SqlHistory
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.stores import ChangeContext
from core.threads import ThreadRecord
from core.types import (
    ChatKey,
    ConversationKey,
    MemoryDraft,
    MemoryItem,
    MemoryKind,
    Message,
    MessageRole,
    Thread,
    UserKey,
)

SIZES = ((100, 1_000), (1_000, 10_000), (10_000, 100_000))
"""Memories and messages."""

ANA = UserKey("bench", "ana")
WORDS = "amanhã vou viajar para Lisboa com a Júlia e preciso guardar dinheiro porque o hotel custa caro"
THREADS = 10


def main() -> None:
    """Print the table."""
    rows = []
    for memories, messages in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(_fill(Path(folder), memories, messages))
            environment = {**os.environ, "DATA_DIR": folder}
            idle = run(["-m", "bench.export", "idle", folder], environment)
            cost = run(["-m", "bench.export", "write", folder], environment)
            told = (Path(folder) / "figures").read_text("utf-8").split()
            size = (Path(folder) / "out.json").stat().st_size / 1e6
            more = cost.peak_mib - idle.peak_mib
            rows.append(
                [f"{memories:,}", f"{messages:,}", f"{size:.1f}", told[0], f"{cost.peak_mib:.0f}", f"{more:+.0f}"]
            )
    head = ["memories", "messages", "file, MB", "written in, s", "peak RSS, MiB", "beside an idle bot, MiB"]
    show("An export, from the database to the file", head, rows)


def _unchanged(item: MemoryItem, _: MemoryDraft) -> tuple[MemoryDraft, tuple[str, ...]]:
    return item.draft, item.rooms


async def _fill(folder: Path, memories: int, messages: int) -> None:
    database = await open_database(folder / "elefante.db")
    now = SystemClock().now()
    store, history = SqlMemories(database), SqlHistory(database)
    for start in range(0, memories, 500):
        drafts = [
            MemoryDraft(MemoryKind.TEXT, f"{WORDS} {number}", (f"viagem {number}", f"hotel {number}"))
            for number in range(start, min(start + 500, memories))
        ]
        await store.save(ANA, drafts, at=now, merge=_unchanged, context=ChangeContext(f"act-{start}"))
    for number in range(THREADS):
        key = ConversationKey(ChatKey("bench", f"c{number}"), ANA)
        said = tuple(
            Message(
                MessageRole.ASSISTANT if at % 2 else MessageRole.USER,
                f"{WORDS} {at}",
                at=now,
                turn=f"t{at // 2}",
                tokens=20,
            )
            for at in range(messages // THREADS)
        )
        await history.restore(ThreadRecord(Thread(f"bench-{number}", key, now, now), said))
    await database.close()


async def _measure(what: str, folder: Path) -> None:
    """Open the bot, and write the file or not; tell the seconds that it took."""
    async with build(Settings(data_dir=folder)) as app:
        started = time.perf_counter()
        if what == "write":
            await app.features.takeout.write(ANA, folder / "out.json")
        took_s = time.perf_counter() - started
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    (folder / "figures").write_text(f"{took_s:.2f} {peak_mib:.0f}", "utf-8")


if __name__ == "__main__":
    asyncio.run(_measure(sys.argv[1], Path(sys.argv[2])))
