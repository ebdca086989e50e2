"""Vectors: the mean of a space taken out, indexes held and let go."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from core.memory.embedding import Embedding, EmbeddingNormalizer, Indexes
from core.storage.faiss_index import FaissIndex
from core.storage.memories import SqlMemories
from core.stores import Fresh
from core.types import MemoryDraft, MemoryKind, UserKey, Vectors
from tests.fakes.clock import START
from tests.fakes.memories import add, embedded
from tests.fakes.model import HashEmbedder
from tests.fakes.ram import RamDatabase


async def test_a_space_is_measured_with_its_first_texts_and_only_then() -> None:
    embedder = HashEmbedder(dims=32, space="new")
    embedding = Embedding(embedder)
    assert list(await embedding.vectors(["oi", "oi"])) == ["oi"]
    normalizer = await embedding.normalizer()
    assert normalizer is not None
    assert (normalizer.space, normalizer.dims) == ("new@32", 32)
    assert list(await embedding.vectors(["tchau"])) == ["tchau"]
    embedder._space = "newer"
    assert list(await embedding.vectors(["oi"])) == ["oi"]
    assert [len(call) for call in embedder.calls] == [40, 1, 40]


async def test_without_an_embedder_there_are_no_vectors_and_no_normalizer_until_it_is_back() -> None:
    embedder = HashEmbedder(dims=32)
    embedder.down = True
    embedding = Embedding(embedder)
    assert await embedding.vectors(["oi"]) == {}
    assert await embedding.normalizer() is None
    embedder.down = False
    assert await embedding.normalizer() is not None


DIMS = 48


def _crowded(seed: int, n: int = 60) -> tuple[EmbeddingNormalizer, Vectors]:
    """Return rows of norm 1 that share a direction, as those of a sentence embedder do, and their normalizer."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal(DIMS) * 3 + rng.standard_normal((n, DIMS))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return EmbeddingNormalizer("x@48", rows.mean(axis=0)), rows


def test_rows_that_share_only_a_direction_have_nothing_to_do_with_each_other() -> None:
    normalizer, rows = _crowded(1)
    seen = normalizer.project(rows)
    others = ~np.eye(len(rows), dtype=bool)
    assert (rows @ rows.T)[others].mean() > 0.8
    assert abs((seen @ seen.T)[others].mean()) < 0.05


def test_rows_come_out_with_norm_one_and_the_rows_given_stay_as_they_were() -> None:
    normalizer, rows = _crowded(2)
    before = rows.copy()
    seen = normalizer.project(rows)
    assert np.linalg.norm(seen, axis=1) == pytest.approx(np.ones(len(seen)), abs=1e-5)
    assert seen.dtype == np.float32
    assert np.array_equal(rows, before)


def test_a_row_with_nothing_of_its_own_becomes_zeros() -> None:
    normalizer, _ = _crowded(3)
    assert np.array_equal(normalizer.project(normalizer.mean[None]), np.zeros((1, DIMS), np.float32))


def test_projecting_rows_together_or_one_by_one_is_the_same() -> None:
    normalizer, rows = _crowded(4, n=600)
    together = normalizer.project(rows)
    alone = np.concatenate([normalizer.project(row[None]) for row in rows])
    assert together == pytest.approx(alone, abs=1e-6)


ANA, BIA, CAIO = (UserKey("test", name) for name in ("ana", "bia", "caio"))
SMALL = 4
PLAIN = EmbeddingNormalizer("s@4", np.zeros(SMALL, np.float32))
OTHER_LENS = EmbeddingNormalizer("t@4", PLAIN.mean)


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
    vectors = {f"b{i}": np.eye(SMALL, dtype=np.float32)[i % SMALL] for i in range(n)}
    drafts = [MemoryDraft(MemoryKind.TEXT, f"b{i}", (f"b{i}",)) for i in range(n)]
    await add(store, owner, drafts, at=START, vectors=vectors, space=PLAIN.space)


@pytest.fixture
def store() -> SlowStore:
    return SlowStore()


async def test_two_first_uses_at_once_build_once(store: SlowStore) -> None:
    await _fill(store, ANA, 3)
    indexes = Indexes(store, FaissIndex)

    async def use() -> int:
        async with indexes.reading(ANA, PLAIN) as owner_index:
            return len(await owner_index.nearest(np.eye(SMALL, dtype=np.float32)[:1], 9))

    await asyncio.gather(use(), use(), use())
    assert store.readings == [ANA]


async def test_building_one_persons_index_does_not_keep_another_waiting(store: SlowStore) -> None:
    store.held[ANA] = asyncio.Event()
    indexes = Indexes(store, FaissIndex)

    async def use(owner: UserKey) -> UserKey:
        async with indexes.reading(owner, PLAIN):
            return owner

    slow = asyncio.create_task(use(ANA))
    assert await use(BIA) == BIA
    assert not slow.done()
    store.held[ANA].set()
    assert await slow == ANA


async def test_the_least_recently_used_go_when_there_are_too_many_people(store: SlowStore) -> None:
    indexes = Indexes(store, FaissIndex, max_owners=2)
    for owner in (ANA, BIA, ANA, CAIO, ANA):
        async with indexes.reading(owner, PLAIN):
            pass
    assert store.readings == [ANA, BIA, CAIO]
    assert indexes.loaded == 2
    async with indexes.reading(BIA, PLAIN):
        pass
    assert store.readings[-1] == BIA


async def test_the_least_recently_used_go_when_there_are_too_many_vectors(store: SlowStore) -> None:
    await _fill(store, ANA, 6)
    await _fill(store, BIA, 6)
    indexes = Indexes(store, FaissIndex, max_vectors=10)
    for owner in (ANA, BIA):
        async with indexes.reading(owner, PLAIN) as owner_index:
            assert owner_index.index is not None
            assert len(owner_index.index) == 6
    assert indexes.loaded == 1


async def test_an_index_in_use_is_not_let_go(store: SlowStore) -> None:
    indexes = Indexes(store, FaissIndex, max_owners=1)
    async with indexes.reading(ANA, PLAIN) as anas:
        async with indexes.reading(BIA, PLAIN):
            pass
        async with indexes.reading(CAIO, PLAIN):
            pass
        assert anas.index is not None
    async with indexes.reading(ANA, PLAIN):
        pass
    assert store.readings == [ANA, BIA, CAIO]


@pytest.mark.parametrize("failure", [ValueError("x"), asyncio.CancelledError()])
async def test_any_doubt_drops_the_index(store: SlowStore, failure: BaseException) -> None:
    await _fill(store, ANA, 2)
    indexes = Indexes(store, FaissIndex)
    with pytest.raises(type(failure)):
        async with indexes.reading(ANA, PLAIN):
            raise failure
    assert indexes.loaded == 0
    async with indexes.reading(ANA, PLAIN) as owner_index:
        assert owner_index.index is not None
        assert len(owner_index.index) == 2


async def test_an_array_that_is_not_ours_to_shrink_is_left_as_it_is(
    store: SlowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.eye(SMALL, dtype=np.float32)

    async def view(*_: object) -> Fresh:
        return Fresh(1, [1, 2], rows[:2], removed=0, partial=False)

    monkeypatch.setattr(store, "fresh", view)
    async with Indexes(store, FaissIndex).reading(ANA, PLAIN) as owner_index:
        assert owner_index.index is not None
        assert len(owner_index.index) == 2
    assert rows.shape == (SMALL, SMALL)


async def test_another_space_is_another_index(store: SlowStore) -> None:
    await _fill(store, ANA, 2)
    indexes = Indexes(store, FaissIndex)
    async with indexes.reading(ANA, PLAIN) as owner_index:
        assert not owner_index.partial
    async with indexes.reading(ANA, OTHER_LENS) as owner_index:
        assert owner_index.index is not None
        assert len(owner_index.index) == 0
        assert owner_index.partial


async def test_a_person_without_vectors_has_an_empty_index(store: SlowStore) -> None:
    indexes = Indexes(store, FaissIndex)
    async with indexes.reading(ANA, PLAIN) as owner_index:
        assert await owner_index.nearest(np.eye(SMALL, dtype=np.float32)[:2], 3) == frozenset()
        assert not owner_index.partial


async def test_an_index_follows_what_was_added_and_removed(store: SlowStore) -> None:
    await _fill(store, ANA, 3)
    indexes = Indexes(store, FaissIndex)
    async with indexes.reading(ANA, PLAIN) as owner_index:
        before = owner_index.version
        [first, *_] = await store.page(ANA, limit=9)
        await store.delete(ANA, [first.id])
        await _fill(store, ANA, 4)
        assert owner_index.index.ids() != await embedded(store, ANA, PLAIN.space)
        await owner_index.follow(store, ANA)
        assert owner_index.index.ids() == await embedded(store, ANA, PLAIN.space)
        assert owner_index.version == await store.version(ANA) != before


async def test_an_index_that_is_dropped_is_built_again(store: SlowStore) -> None:
    await _fill(store, ANA, 3)
    indexes = Indexes(store, FaissIndex)
    async with indexes.reading(ANA, PLAIN):
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
    async with indexes.reading(ANA, PLAIN) as owner_index:
        query = np.eye(SMALL, dtype=np.float32)[:1]
        everything = await owner_index.nearest(query, 9)
        [gone, *_] = await store.page(ANA, limit=1)
        await store.delete(ANA, [gone.id])
        await owner_index.follow(store, ANA)
        rest = await owner_index.nearest(query, 9)
    assert rest < everything
