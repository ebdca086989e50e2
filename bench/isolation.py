"""Many people who tell the same things: whether each is told their own, and nobody somebody else's.

Every topic has one phrase and one vector, whoever tells it: what people are told apart by is only whose it is.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from bench.memory import FakeEmbedder
from bench.table import show
from core.clock import SystemClock
from core.memory.indexes import Indexes
from core.memory.memories import Memories
from core.storage.faiss_index import FaissIndex
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.types import MemoryDraft, MemoryKind, UserKey

PEOPLE = (100, 300, 1_000)
TOPICS = tuple(f"topic number {number}" for number in range(20))
FOUND = 5


async def measured(folder: Path, people: int) -> tuple[float, int]:
    """Return the share of people who find their own among the first five, and how much of others' was found."""
    embedder = FakeEmbedder()
    vectors = {topic: embedder.vector(topic) for topic in TOPICS}
    database = await open_database(folder / "memory.db")
    store = SqlMemories(database)
    memories = Memories(store, embedder, Indexes(store, FaissIndex), SystemClock())
    owners = [UserKey("bench", str(number)) for number in range(people)]
    for owner in owners:
        drafts = [MemoryDraft(MemoryKind.TEXT, f"{topic} of {owner.user}", (topic,)) for topic in TOPICS]
        await memories.of(owner).add(drafts, vectors)
    hits = others = 0
    for number, owner in enumerate(owners):
        topic = TOPICS[number % len(TOPICS)]
        found = await memories.of(owner).search([topic], vectors, limit=FOUND)
        contents = [hit.item.content for hit in found]
        hits += f"{topic} of {owner.user}" in contents
        others += sum(not content.endswith(f" of {owner.user}") for content in contents)
    await memories.close()
    await database.close()
    return hits / people, others


def main() -> None:
    """Measure and print."""
    rows = []
    for people in PEOPLE:
        with tempfile.TemporaryDirectory() as folder:
            share, others = asyncio.run(measured(Path(folder), people))
        rows.append((f"{people:,}", f"{people * len(TOPICS):,}", f"{share:.1%}", str(others)))
    show("People who tell the same", ("people", "memories", "own found among five", "others' found"), rows)
