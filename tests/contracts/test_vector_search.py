"""A search by words and vectors finds the same over an index in RAM and inside the database."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.library import new_search
from core.memory.embedding import EmbeddingNormalizer
from core.storage.database import Database
from core.storage.memories import SqlMemories
from core.storage.postgres_vectors import PostgresVectors
from core.stores import AskedVectors, Candidate, Neighbours, SearchRequest, SearchResult, VectorSearch
from core.types import MemoryDraft, MemoryKind, UserKey, Vector, Vectors
from tests.contracts.test_memory_store import HALF
from tests.fakes.clock import START
from tests.fakes.memories import add, embedded
from tests.postgres import open_test_database
from tests.profile import examples

ANA, BIA = UserKey("telegram", "ana"), UserKey("discord", "bia")
DIMS = 32
SPACE = "made@32"


def unit(rows: npt.NDArray[np.floating[Any]]) -> Vectors:
    units: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return units


def made(seed: int, count: int, mean: float = 0.5) -> tuple[EmbeddingNormalizer, dict[str, Vector], Vectors]:
    """Return a mean, `count` texts with unit vectors around it, and three normalized rows to ask for."""
    random = np.random.default_rng(seed)
    middle = unit(random.normal(size=(1, DIMS)))[0] * np.float32(mean)
    rows = unit(middle + unit(random.normal(size=(count + 3, DIMS))) * np.float32(0.8))
    normalizer = EmbeddingNormalizer(SPACE, middle)
    return normalizer, {f"text {n}": row for n, row in enumerate(rows[3:])}, normalizer.project(rows[:3])


async def save(store: SqlMemories, owner: UserKey, vectors: Mapping[str, Vector], *, bare: Sequence[str] = ()) -> None:
    drafts = [MemoryDraft(MemoryKind.TEXT, text, (text,)) for text in [*vectors, *bare]]
    await add(store, owner, drafts, at=START, vectors=vectors, space=SPACE)


class Seen:
    """An order that keeps the neighbours, and the cosines of all their phrases with the rows."""

    def __init__(self, rows: Vectors, ids: Sequence[int] = ()) -> None:
        self._rows = rows
        self._ids = ids
        self.nearest: frozenset[int] = frozenset()
        self.cosines: Vectors = np.empty((0, 0), np.float32)

    def __call__(self, candidates: Sequence[Candidate], _: int, neighbours: Neighbours) -> Sequence[int]:
        self.nearest = neighbours.nearest
        self.cosines = neighbours.cosines(self._ids, self._rows)
        return [each.number for each in candidates]


async def asked(
    search: VectorSearch,
    owner: UserKey,
    normalizer: EmbeddingNormalizer,
    rows: Vectors,
    nearest: int,
    *,
    ids: Sequence[int] = (),
    most: int = 0,
) -> tuple[Seen, SearchResult]:
    seen = Seen(rows, ids)
    wanted = AskedVectors(normalizer.space, normalizer.mean, rows, nearest, most)
    return seen, await search.search(owner, SearchRequest(("?",), seen, START), wanted)


async def check_agrees(store: SqlMemories, owner: UserKey, *, seed: int, count: int, nearest: int, mean: float) -> None:
    """See that exact search in numpy gives the same, but for half floats."""
    normalizer, vectors, rows = made(seed, count, mean)
    await save(store, owner, vectors)
    known = await store.vectors(owner, SPACE)
    texts = await store.phrases(owner, known[0])
    ids = list(known[0])
    exact = normalizer.project(np.stack([vectors[texts[i][1]] for i in ids])) @ rows.T
    seen, found = await asked(new_search(store), owner, normalizer, rows, nearest, ids=ids)
    np.testing.assert_allclose(seen.cosines, exact, atol=2 * HALF)
    surely: set[int] = set()
    perhaps: set[int] = set()
    for cosines in exact.T:
        last = np.sort(cosines)[::-1][:nearest][-1]
        surely |= {i for i, cosine in zip(ids, cosines, strict=True) if cosine > last + 4 * HALF}
        perhaps |= {i for i, cosine in zip(ids, cosines, strict=True) if cosine > last - 4 * HALF}
    assert surely <= seen.nearest <= perhaps
    assert found.whole or nearest <= count
    assert not found.partial


@pytest.fixture
def store(database: Database) -> SqlMemories:
    return SqlMemories(database)


@pytest.mark.parametrize("mean", [0.0, 0.5, 0.8])
async def test_the_nearest_and_their_cosines_are_those_of_exact_search(store: SqlMemories, mean: float) -> None:
    await check_agrees(store, ANA, seed=1, count=60, nearest=7, mean=mean)


async def test_a_bounded_search_looks_at_the_newest_phrases(store: SqlMemories) -> None:
    normalizer, vectors, rows = made(3, 20)
    await save(store, ANA, vectors)
    every, search = await embedded(store, ANA, SPACE), new_search(store)
    newest = sorted(every)[-5:]
    bounded, _ = await asked(search, ANA, normalizer, rows, 20, most=5)
    assert bounded.nearest >= set(newest)
    if isinstance(search, PostgresVectors):  # an index in RAM looks at whole blocks
        assert bounded.nearest == set(newest)
        few, _ = await asked(search, ANA, normalizer, rows[:1], 2, ids=newest, most=5)
        assert few.nearest == {newest[place] for place in np.argsort(-few.cosines[:, 0])[:2]}
    whole, _ = await asked(search, ANA, normalizer, rows, 20)
    assert whole.nearest == every


@settings(max_examples=examples(15), deadline=None)
@given(seed=st.integers(0, 999), count=st.integers(1, 40), nearest=st.integers(1, 50), mean=st.floats(0, 0.8))
def test_the_nearest_in_postgres_are_those_of_exact_search(seed: int, count: int, nearest: int, mean: float) -> None:
    async def run() -> None:
        database = await open_test_database(Path("nearest"))
        store, owner = SqlMemories(database), UserKey("test", f"{seed} {count} {nearest} {mean}")
        await store.forget(owner)
        await check_agrees(store, owner, seed=seed, count=count, nearest=nearest, mean=mean)
        await database.close()

    asyncio.run(run())


@pytest.mark.spec("T15")
async def test_nobody_is_near_anothers_phrases_nor_learns_their_cosines(store: SqlMemories) -> None:
    normalizer, vectors, rows = made(2, 20)
    await save(store, ANA, vectors)
    await save(store, BIA, vectors)
    theirs = list(await embedded(store, BIA, SPACE))
    seen, found = await asked(new_search(store), ANA, normalizer, rows, 15, ids=theirs)
    assert seen.nearest
    assert seen.nearest <= await embedded(store, ANA, SPACE)
    assert np.isnan(seen.cosines).all()
    assert {item.id for item in found.items} <= {item.id for item in await store.page(ANA, limit=99)}
    nobody, none = await asked(new_search(store), UserKey("telegram", "nobody"), normalizer, rows, 15, ids=theirs)
    assert (nobody.nearest, none.items, none.partial, none.whole) == (frozenset(), [], False, True)


async def test_what_is_saved_changed_deleted_and_linked_is_near_at_once(store: SqlMemories) -> None:
    normalizer, vectors, rows = made(3, 8)
    search = new_search(store)
    await save(store, ANA, dict(list(vectors.items())[:4]))
    await asked(search, ANA, normalizer, rows, 99)
    await save(store, BIA, dict(list(vectors.items())[4:]))
    [first, *_] = await store.page(ANA, limit=9)
    await store.delete(ANA, [first.id])
    assert len((await asked(search, ANA, normalizer, rows, 99))[0].nearest) == 3
    await store.link(ANA, BIA)
    for account in (ANA, BIA):
        assert len((await asked(search, account, normalizer, rows, 99))[0].nearest) == 7
    await store.unlink(ANA, BIA)
    for account, count in ((ANA, 3), (BIA, 4)):
        assert (await asked(search, account, normalizer, rows, 99))[0].nearest == await embedded(store, account, SPACE)
        assert len(await embedded(store, account, SPACE)) == count


async def test_phrases_without_a_vector_make_it_partial_until_they_have_one(store: SqlMemories) -> None:
    normalizer, vectors, rows = made(4, 5)
    search = new_search(store)
    await save(store, ANA, dict(list(vectors.items())[:3]))
    assert not (await asked(search, ANA, normalizer, rows, 9))[1].partial
    await save(store, ANA, {}, bare=["text 3", "text 4"])
    for _ in range(2):
        seen, found = await asked(search, ANA, normalizer, rows, 9)
        assert (found.partial, found.whole, len(seen.nearest)) == (True, True, 3)
    missing = await store.unembedded(ANA, SPACE, 9)
    seen, _ = await asked(search, ANA, normalizer, rows, 9, ids=list(missing))
    assert np.isnan(seen.cosines).all()
    await store.put_vectors(ANA, SPACE, {i: vectors[text] for i, text in missing.items()})
    seen, found = await asked(search, ANA, normalizer, rows, 2)
    assert (found.partial, found.whole) == (False, False)
    other = EmbeddingNormalizer("other@32", normalizer.mean)
    seen, found = await asked(search, ANA, other, rows, 9)
    assert (found.partial, found.whole, seen.nearest) == (True, True, frozenset())
