"""Which indexes are held, when they are built, and when they are let go."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from core.memory.embedding import EmbeddingNormalizer, Indexes
from core.storage.faiss_index import FaissIndex
from core.storage.memories import SqlMemories
from core.stores import Fresh
from core.types import MemoryDraft, MemoryKind, UserKey
from tests.fakes.clock import START
from tests.fakes.memories import add, embedded
from tests.fakes.ram import RamDatabase

ANA, BIA, CAIO = (UserKey("test", name) for name in ("ana", "bia", "caio"))
DIMS = 4
NORMALIZER = EmbeddingNormalizer("s@4", np.zeros(DIMS, np.float32))
OTHER_LENS = EmbeddingNormalizer("t@4", NORMALIZER.mean)


class SlowStore(SqlMemories):
    """Counts readings of vectors; those of `held` wait until they are let through."""

    def __init__(self) -> None:
        super().__init__(RamDatabase())
        self.readings: list[UserKey] = []
        self.held: dict[UserKey, asyncio.Event] = {}

    async def fresh(self, owner: UserKey, space: str, after: int, removed: int | None = None) -> Fresh:
        self.readings.append(owner)
        if owner in self.held:
            await self.held[owner].wait()
        return await super().fresh(owner, space, after, removed)


async def _fill(store: SqlMemories, owner: UserKey, n: int) -> None:
    vectors = {f"b{i}": np.eye(DIMS, dtype=np.float32)[i % DIMS] for i in range(n)}
    drafts = [MemoryDraft(MemoryKind.TEXT, f"b{i}", (f"b{i}",)) for i in range(n)]
    await add(store, owner, drafts, at=START, vectors=vectors, space=NORMALIZER.space)


@pytest.fixture
def store() -> SlowStore:
    return SlowStore()


async def test_two_first_uses_at_once_build_once(store: SlowStore) -> None:
    await _fill(store, ANA, 3)
    indexes = Indexes(store, FaissIndex)

    async def use() -> int:
        async with indexes.reading(ANA, NORMALIZER) as owner_index:
            return len(await owner_index.nearest(np.eye(DIMS, dtype=np.float32)[:1], 9))

    await asyncio.gather(use(), use(), use())
    assert store.readings == [ANA]


async def test_building_one_persons_index_does_not_keep_another_waiting(store: SlowStore) -> None:
    store.held[ANA] = asyncio.Event()
    indexes = Indexes(store, FaissIndex)

    async def use(owner: UserKey) -> UserKey:
        async with indexes.reading(owner, NORMALIZER):
            return owner

    slow = asyncio.create_task(use(ANA))
    assert await use(BIA) == BIA
    assert not slow.done()
    store.held[ANA].set()
    assert await slow == ANA


async def test_the_least_recently_used_go_when_there_are_too_many_people(store: SlowStore) -> None:
    indexes = Indexes(store, FaissIndex, max_owners=2)
    for owner in (ANA, BIA, ANA, CAIO, ANA):
        async with indexes.reading(owner, NORMALIZER):
            pass
    assert store.readings == [ANA, BIA, CAIO]
    assert indexes.loaded == 2
    async with indexes.reading(BIA, NORMALIZER):
        pass
    assert store.readings[-1] == BIA


async def test_the_least_recently_used_go_when_there_are_too_many_vectors(store: SlowStore) -> None:
    await _fill(store, ANA, 6)
    await _fill(store, BIA, 6)
    indexes = Indexes(store, FaissIndex, max_vectors=10)
    for owner in (ANA, BIA):
        async with indexes.reading(owner, NORMALIZER) as owner_index:
            assert owner_index.index is not None
            assert len(owner_index.index) == 6
    assert indexes.loaded == 1


async def test_an_index_in_use_is_not_let_go(store: SlowStore) -> None:
    indexes = Indexes(store, FaissIndex, max_owners=1)
    async with indexes.reading(ANA, NORMALIZER) as anas:
        async with indexes.reading(BIA, NORMALIZER):
            pass
        async with indexes.reading(CAIO, NORMALIZER):
            pass
        assert anas.index is not None
    async with indexes.reading(ANA, NORMALIZER):
        pass
    assert store.readings == [ANA, BIA, CAIO]


@pytest.mark.parametrize("failure", [ValueError("x"), asyncio.CancelledError()])
async def test_any_doubt_drops_the_index(store: SlowStore, failure: BaseException) -> None:
    await _fill(store, ANA, 2)
    indexes = Indexes(store, FaissIndex)
    with pytest.raises(type(failure)):
        async with indexes.reading(ANA, NORMALIZER):
            raise failure
    assert indexes.loaded == 0
    async with indexes.reading(ANA, NORMALIZER) as owner_index:
        assert owner_index.index is not None
        assert len(owner_index.index) == 2


async def test_an_array_that_is_not_ours_to_shrink_is_left_as_it_is(
    store: SlowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.eye(DIMS, dtype=np.float32)

    async def view(*_: object) -> Fresh:
        return Fresh(1, [1, 2], rows[:2], removed=0, partial=False)

    monkeypatch.setattr(store, "fresh", view)
    async with Indexes(store, FaissIndex).reading(ANA, NORMALIZER) as owner_index:
        assert owner_index.index is not None
        assert len(owner_index.index) == 2
    assert rows.shape == (DIMS, DIMS)


async def test_another_space_is_another_index(store: SlowStore) -> None:
    await _fill(store, ANA, 2)
    indexes = Indexes(store, FaissIndex)
    async with indexes.reading(ANA, NORMALIZER) as owner_index:
        assert not owner_index.partial
    async with indexes.reading(ANA, OTHER_LENS) as owner_index:
        assert owner_index.index is not None
        assert len(owner_index.index) == 0
        assert owner_index.partial


async def test_a_person_without_vectors_has_an_empty_index(store: SlowStore) -> None:
    indexes = Indexes(store, FaissIndex)
    async with indexes.reading(ANA, NORMALIZER) as owner_index:
        assert await owner_index.nearest(np.eye(DIMS, dtype=np.float32)[:2], 3) == frozenset()
        assert not owner_index.partial


async def test_an_index_follows_what_was_added_and_removed(store: SlowStore) -> None:
    await _fill(store, ANA, 3)
    indexes = Indexes(store, FaissIndex)
    async with indexes.reading(ANA, NORMALIZER) as owner_index:
        before = owner_index.version
        [first, *_] = await store.page(ANA, limit=9)
        await store.delete(ANA, [first.id])
        await _fill(store, ANA, 4)
        assert owner_index.index.ids() != await embedded(store, ANA, NORMALIZER.space)
        await owner_index.follow(store, ANA)
        assert owner_index.index.ids() == await embedded(store, ANA, NORMALIZER.space)
        assert owner_index.version == await store.version(ANA) != before


async def test_an_index_that_is_dropped_is_built_again(store: SlowStore) -> None:
    await _fill(store, ANA, 3)
    indexes = Indexes(store, FaissIndex)
    async with indexes.reading(ANA, NORMALIZER):
        indexes.drop(ANA)
        assert indexes.loaded == 1, "it is in use"
    indexes.drop(ANA)
    assert indexes.loaded == 0


async def test_what_takes_long_is_done_outside_the_event_loop(
    store: SlowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.memory.embedding._INLINE_ROWS", 2)
    await _fill(store, ANA, 5)
    indexes = Indexes(store, FaissIndex)
    async with indexes.reading(ANA, NORMALIZER) as owner_index:
        query = np.eye(DIMS, dtype=np.float32)[:1]
        everything = await owner_index.nearest(query, 9)
        [gone, *_] = await store.page(ANA, limit=1)
        await store.delete(ANA, [gone.id])
        await owner_index.follow(store, ANA)
        rest = await owner_index.nearest(query, 9)
    assert rest < everything
