"""Many people who tell the same things: whether each is told their own, and nobody somebody else's.

Every topic has one phrase and one vector, whoever tells it: what people are told apart by is only whose it is.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.memory import FakeEmbedder
from core.clock import SystemClock
from core.memory.embedding import Indexes
from core.memory.memories import Memories
from core.storage.faiss_index import FaissIndex
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.types import MemoryDraft, MemoryItem, MemoryKind, UserKey

PEOPLE = (100, 300, 1_000)
TOPICS = tuple(f"topic number {number}" for number in range(20))
FOUND = 5


@dataclass(slots=True)
class Told:
    """What people were told: how many found their own, by how many operations, and bytes of others that came along."""

    people: int
    hits: int = 0
    operations: int = 0
    foreign_bytes: int = 0

    def take(self, owner: UserKey, items: Iterable[MemoryItem]) -> None:
        """Count an operation, and what it returned that is not that person's."""
        self.operations += 1
        strange = [each.content for each in items if not each.content.endswith(f" of {owner.user}")]
        self.foreign_bytes += sum(len(content.encode()) for content in strange)


async def measured(folder: Path, people: int) -> Told:
    """Let everybody save, search, list, read, change and delete, some of it by ids that are others'."""
    embedder = FakeEmbedder()
    vectors = {topic: embedder.vector(topic) for topic in TOPICS}
    database = await open_database(folder / "memory.db")
    store = SqlMemories(database)
    memories = Memories(store, embedder, Indexes(store, FaissIndex), SystemClock())
    owners = [UserKey("bench", str(number)) for number in range(people)]
    told, kept = Told(people), dict[UserKey, Sequence[MemoryItem]]()
    for owner in owners:
        drafts = [MemoryDraft(MemoryKind.TEXT, f"{topic} of {owner.user}", (topic,)) for topic in TOPICS]
        kept[owner] = await memories.of(owner).add(drafts, vectors)
        told.take(owner, kept[owner])
    for number, owner in enumerate(owners):
        mine, topic = memories.of(owner), TOPICS[number % len(TOPICS)]
        found = [hit.item for hit in await mine.search([topic], vectors, limit=FOUND)]
        told.hits += f"{topic} of {owner.user}" in [item.content for item in found]
        told.take(owner, found)
        told.take(owner, await mine.page(limit=len(TOPICS)))
        others = [item.id for item in kept[owners[number - 1]]]
        told.take(owner, await mine.get(others))
        told.take(owner, [item for item in [await mine.update(others[0], content="gone", vectors={})] if item])
        told.take(owner, await mine.delete(others))
    for owner in owners:
        left = [item.content for item in await memories.of(owner).page(limit=len(TOPICS))]
        told.foreign_bytes += sum(len(item.content.encode()) for item in kept[owner] if item.content not in left)
    await memories.close()
    await database.close()
    return told


def rows(sizes: Sequence[int] = PEOPLE) -> tuple[list[Told], list[tuple[str, ...]]]:
    """Measure with so many people each time; return what came of it, and the rows of the table."""
    all_told = []
    for people in sizes:
        with tempfile.TemporaryDirectory() as folder:
            all_told.append(asyncio.run(measured(Path(folder), people)))
    shown: list[tuple[str, ...]] = [
        (
            f"{told.people:,}",
            f"{told.people * len(TOPICS):,}",
            f"{told.operations:,}",
            f"{told.hits / told.people:.1%}",
            f"{told.foreign_bytes}",
        )
        for told in all_told
    ]
    return all_told, shown


HEAD = ("people", "memories", "operations", "own found among five", "foreign bytes")
