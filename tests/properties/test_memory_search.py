"""What one person finds depends on their own memories alone, and a deeper search begins as a shallow one does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.storage.memories import SqlMemories
from core.storage.sqlite import open_copy
from core.stores import Candidate
from core.types import MemoryDraft, MemoryKind, UserKey
from tests.fakes.clock import START
from tests.fakes.memories import add, by_words, search

ANA, BIA = UserKey("telegram", "ana"), UserKey("telegram", "bia")
WORDS = ("senha", "Senhas", "café", "wifi", "júlia", "casa", "praia", "the", "123", "")

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
drafts = st.lists(
    st.builds(MemoryDraft, st.just(MemoryKind.TEXT), texts, st.just(("x",))), max_size=12, unique_by=lambda d: d.content
)


class Asked:
    """An order by words that keeps what every candidate with any covers, by its number."""

    def __init__(self) -> None:
        self.words: dict[int, tuple[float, ...]] = {}
        self.best: Sequence[int] = ()

    def __call__(self, candidates: Sequence[Candidate], *_: object) -> Sequence[int]:
        worded = [each for each in candidates if any(each.words)]
        self.words = {each.number: each.words for each in worded}
        self.best = by_words(worded)
        return self.best


@pytest.mark.spec("T15")
@given(mine=drafts, others=drafts, query=texts, depth=st.integers(1, 8))
def test_others_weigh_nothing_and_a_shallow_search_begins_a_deep_one(
    mine: list[MemoryDraft], others: list[MemoryDraft], query: str, depth: int
) -> None:
    async def run() -> None:
        database = await open_copy(None)
        store = SqlMemories(database)
        await add(store, ANA, mine, at=START)
        alone, among, shallow = Asked(), Asked(), Asked()
        found = await search(store, ANA, query, order=alone)
        await add(store, BIA, others, at=START)
        assert await search(store, ANA, query, order=among) == found
        assert among.words == alone.words
        assert await search(store, ANA, query, order=shallow, depth=depth) == found[:depth]
        assert shallow.best == alone.best[:depth]
        assert shallow.words.items() <= alone.words.items()
        assert all(covered <= 1 + 1e-9 for (covered,) in alone.words.values())
        await database.close()

    asyncio.run(run())
