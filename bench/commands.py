"""The commands that people look through their memories with, at 10,000 of them, beside bare SQLite asked for the same.

A command is sent through the `MessageHandler` and answered on a chat that costs nothing: stored, run, closed.
The embedder is a fake that costs next to nothing. The bare queries read the same rows of the same file, with nothing
around them. Medians; the lowest of three rounds counts.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.memory import OWNER, FakeEmbedder, phrases
from bench.table import show
from bench.turn import NoChannel
from core.chatbot import ChatBot
from core.clock import SystemClock
from core.features.preferences.storage import SqlPreferences
from core.memory.indexes import Indexes
from core.memory.memories import Memories
from core.storage.faiss_index import FaissIndex
from core.storage.history import SqlHistory
from core.storage.inbox import SqlInbox
from core.storage.lexicon import Lexicon
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.storage.waiting import SqlPendingInputs
from core.types import MemoryDraft, MemoryKind
from tests.fakes.house import House

SIZE = 10_000
REPEATS = 30
ROUNDS = 3
_ROW = """
    SELECT m.key, m.kind, m.content, m.created_at, m.updated_at,
        (SELECT group_concat(text) FROM phrases WHERE memory = m.id AND position IS NOT NULL),
        (SELECT group_concat(message) FROM sources WHERE memory = m.id),
        (SELECT group_concat(room) FROM rooms WHERE memory = m.id)
    FROM memories AS m WHERE m.owner = 1
"""
_PAGE = f"{_ROW} ORDER BY m.pinned DESC, m.created_at DESC, m.id DESC LIMIT 10 OFFSET ?"
_FOUND = f"""
    {_ROW} AND m.id IN (SELECT memory FROM terms WHERE account = 1 AND term = ? ORDER BY memory DESC LIMIT 10)
"""  # noqa: S608
Fetch = Callable[[], Sequence[Any]]


class Bench:
    """A bot over one person's memories, and a bare connection to the same file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0

    async def open(self) -> None:
        """Make the file and fill it."""
        self.database = await open_database(self.path)
        store = SqlMemories(self.database)
        self.house = House(
            store=store,
            history=SqlHistory(self.database),
            inbox=SqlInbox(self.database),
            preferences=SqlPreferences(self.database),
            pending_inputs=SqlPendingInputs(self.database),
            clock=SystemClock(),
            trusted=(OWNER.platform, "test"),
        )
        embedder = FakeEmbedder()
        self.memories = Memories(store, embedder, Indexes(store, FaissIndex), SystemClock())
        self.house.memories = self.memories
        for start in range(0, SIZE, 500):
            texts = [phrases(number) for number in range(start, start + 500)]
            drafts = [MemoryDraft(MemoryKind.TEXT, content, tuple(bindings)) for *bindings, content in texts]
            vectors = {text: embedder.vector(text) for each in texts for text in each}
            await self.memories.of(OWNER).add(drafts, vectors)
        self.bare = sqlite3.connect(self.path)

    async def close(self) -> None:
        """Close all."""
        self.bare.close()
        await self.memories.close()
        await self.database.close()

    async def ask_ms(self, bot: ChatBot, text: str) -> float:
        """Return how long a command took, from its being sent to its having been answered."""
        self.number += 1
        incoming = self.house.incoming(text, user=OWNER, message_id=str(self.number))
        start = time.perf_counter()
        await (await bot.receive(incoming, NoChannel()))
        return (time.perf_counter() - start) * 1000

    def fetch_ms(self, fetch: Fetch) -> float:
        """Return how long the bare query took."""
        start = time.perf_counter()
        assert len(fetch()) == 10
        return (time.perf_counter() - start) * 1000


async def measure(path: Path) -> list[list[str]]:
    """Return rows of command, its ms, the ms of the same rows in bare SQLite, and how many times those it took."""
    bench = Bench(path)
    await bench.open()
    word = phrases(SIZE // 2)[0].split()[0]
    match = Lexicon().query_terms(word)[0][0]
    plan: list[tuple[str, Fetch | None]] = [
        ("/help", None),
        ("/memories", lambda: bench.bare.execute(_PAGE, (0,)).fetchall()),
        (f"/memories {SIZE // 20}", lambda: bench.bare.execute(_PAGE, (SIZE // 2 - 10,)).fetchall()),
        (f"/memories {SIZE // 10}", lambda: bench.bare.execute(_PAGE, (SIZE - 10,)).fetchall()),
        (f"/recall {word}", lambda: bench.bare.execute(_FOUND, (match,)).fetchall()),
    ]
    rows = []
    async with bench.house.chatbot() as bot:
        for text, fetch in plan:
            ours = min([median([await bench.ask_ms(bot, text) for _ in range(REPEATS)]) for _ in range(ROUNDS)])
            if fetch is None:
                rows.append([text, f"{ours:.1f}", "", ""])
                continue
            bare = min(median(bench.fetch_ms(fetch) for _ in range(REPEATS)) for _ in range(ROUNDS))
            rows.append([text, f"{ours:.1f}", f"{bare:.2f}", f"{ours / bare:.1f}"])
    await bench.close()
    return rows


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(measure(Path(folder) / "bench.db"))
    show(f"Commands at {SIZE:,} memories, wall ms", ("command", "answered", "bare SQLite", "ratio"), rows)
