"""What another process changed is found at the next question, by words and by vectors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.memory.embedding import EmbeddingNormalizer, Indexes
from core.memory.memories import Memories
from core.memory.user_memory import UserMemory
from core.storage.faiss_index import FaissIndex
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.stores import Fresh
from core.types import MemoryDraft, MemoryKind, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.model import HashEmbedder

ANA = UserKey("test", "ana")
EMBEDDER = HashEmbedder(dims=256)


class Counted(SqlMemories):
    """Counts how often all vectors of somebody are read."""

    builds = 0

    async def fresh(self, owner: UserKey, space: str, after: int, removed: int | None = None) -> Fresh:
        self.builds += after == 0
        return await super().fresh(owner, space, after, removed)


class Process:
    """One process's memory over the file."""

    def __init__(self, store: Counted, memories: Memories) -> None:
        self.store = store
        self.memory: UserMemory = memories.of(ANA)

    async def save(self, content: str, binding: str) -> str:
        vectors = await self.memory.embed([content, binding])
        [item] = await self.memory.add([MemoryDraft(MemoryKind.TEXT, content, (binding,))], vectors)
        return item.id

    async def near(self, query: str) -> list[str]:
        """Return the contents that vectors find."""
        assert isinstance(self.memory.indexes, Indexes)
        async with self.memory.indexes.reading(ANA, await self.normalizer()) as owner_index:
            vectors = await self.memory.embed([query])
            await owner_index.follow(self.store, ANA)
            [found] = owner_index.index.search((await self.normalizer()).project(vectors[query][None]), 3)
        texts = await self.store.phrases(ANA, [i for i, score in found if score > 0.5])
        return sorted({text for _, text in texts.values()})

    async def normalizer(self) -> EmbeddingNormalizer:
        normalizer = await self.memory.embedding.normalizer()
        assert normalizer is not None
        return normalizer


@pytest.fixture
async def two(tmp_path: Path, clock: FakeClock) -> AsyncIterator[list[Process]]:
    """Two bots over one file, as `run` and `chat` beside each other are."""
    databases = [await open_database(tmp_path / "elefante.db") for _ in range(2)]
    made = []
    for database in databases:
        store = Counted(database)
        made.append(Process(store, Memories(store, EMBEDDER, Indexes(store, FaissIndex), clock)))
    yield made
    for database in databases:
        await database.close()


async def test_what_another_process_saves_updates_and_deletes_is_so_at_the_next_question(two: list[Process]) -> None:
    here, there = two
    await here.save("blue bicycle", "bicycle colour")
    assert await here.near("blue bicycle") == ["blue bicycle"]
    key = await there.save("green parrot", "pet bird")
    assert await here.near("green parrot") == ["green parrot"]
    assert [hit.item.id for hit in await here.memory.search(["parrot"], {}, limit=3)] == [key]
    await there.memory.update(key, content="red parrot", vectors=await there.memory.embed(["red parrot"]))
    assert "red parrot" in await here.near("red parrot")
    assert "green parrot" not in await here.near("green parrot")
    await there.memory.delete([key])
    assert await here.near("red parrot") == []
    assert here.store.builds == 1, "the index is brought up to it, not built again"


async def test_what_another_process_embeds_is_near_at_the_next_question(two: list[Process]) -> None:
    here, there = two
    await here.memory.add([MemoryDraft(MemoryKind.TEXT, "yellow kite", ("toy",))], {})
    assert await here.near("yellow kite") == []
    phrases = await there.store.unembedded(ANA, space_of(there), 9)
    vectors = await there.memory.embed(list(phrases.values()))
    await there.store.put_vectors(ANA, space_of(there), {i: vectors[text] for i, text in phrases.items()})
    assert await here.near("yellow kite") == ["yellow kite"]


def space_of(process: Process) -> str:
    return process.memory.embedding.space
