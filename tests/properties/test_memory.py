"""Laws of memory: the engine agrees with looking at everything, owners never cross, and no index holds any truth."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from core.memory.embedding import Indexes
from core.memory.memories import Memories
from core.memory.search import CONTEXT_WEIGHT, COSINE_WEIGHT, PARTS_WEIGHT, parts
from core.memory.user_memory import UserMemory
from core.storage.database import Database
from core.storage.faiss_index import FaissIndex
from core.storage.lexicon import idf, index_terms, query_terms
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.stores import SearchableMemoryStore
from core.types import MemoryDraft, MemoryHit, MemoryItem, MemoryKind, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.model import HashEmbedder
from tests.fakes.ram import RamDatabase
from tests.profile import examples

TOPICS = "senha banco cachorro carro praia médico aniversário chave vizinho café livro viagem".split()

TEN_MINUTES = timedelta(minutes=10)

HALF_PRECISION = 3e-3
"""How far a score may be off, as the rows of an index are half floats."""

GROWN = 2e-2
"""How far a score may be off besides, as the mean of all vectors moves with each that is saved."""

texts = st.lists(st.sampled_from(TOPICS), min_size=1, max_size=3, unique=True).map(" ".join)
drafts = st.builds(
    MemoryDraft, st.just(MemoryKind.TEXT), texts, st.lists(texts, min_size=1, max_size=3, unique=True).map(tuple)
)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = await open_database(tmp_path / "test.db")
    yield database
    await database.close()


class Bot:
    """A memory engine, over a store in RAM unless told otherwise."""

    def __init__(self, max_owners: int = 200, store: SearchableMemoryStore | None = None) -> None:
        self.store = store or SqlMemories(RamDatabase())
        self.embedder = HashEmbedder(dims=128)
        self.indexes = Indexes(self.store, lambda dims: FaissIndex(dims, block_rows=7), max_owners=max_owners)
        self.clock = FakeClock()
        self.memories = Memories(self.store, self.embedder, self.indexes, self.clock)

    def of(self, owner: UserKey) -> UserMemory:
        return self.memories.of(owner)

    async def save(self, owner: UserKey, *wanted: MemoryDraft) -> Sequence[MemoryItem]:
        memory = self.of(owner)
        return await memory.add(wanted)

    async def search(self, owner: UserKey, *queries: str, limit: int = 5) -> Sequence[MemoryHit]:
        memory = self.of(owner)
        return await memory.search(queries, limit=limit, floor=0.0)

    async def judged_one_by_one(self, owner: UserKey, query: str) -> dict[str, float]:
        """Score every memory of the owner's by its definition, with no index and no candidates."""
        memory = self.of(owner)
        page = await memory.page(limit=1000)
        items = {item.id: (*item.bindings, item.content) for item in page}
        before = {
            newer.id: older.id
            for newer, older in pairwise(sorted(page, key=lambda item: item.created_at, reverse=True))
            if timedelta() < newer.created_at - older.created_at <= TEN_MINUTES
        }
        normalizer = await memory.embedding.normalizer()
        assert normalizer is not None
        words = query_terms(query)
        held = {key: set(index_terms(phrases)) for key, phrases in items.items()}
        weights = [idf(sum(not terms.isdisjoint(word) for terms in held.values()), len(items)) for word in words]
        asked = [query, *parts(query)]

        def covered(keys: Collection[str]) -> float:
            told = set().union(*(held[key] for key in keys))
            found = [not told.isdisjoint(word) for word in words]
            return sum(weight for weight, is_held in zip(weights, found, strict=True) if is_held) / sum(weights)

        scores = {}
        for key, phrases in items.items():
            vectors = await memory.embed([*asked, *phrases])
            rows = normalizer.project(np.stack([vectors[text] for text in (*asked, *phrases)]))
            nearest = (rows[: len(asked)] @ rows[len(asked) :].T).max(axis=1)
            vectors_say = COSINE_WEIGHT * nearest[0] + PARTS_WEIGHT * nearest[1:].mean()
            words_say = covered([key]) + CONTEXT_WEIGHT * covered([key, before.get(key, key)])
            scores[key] = float(words_say + vectors_say)
        return scores


@given(wanted=st.lists(st.tuples(drafts, st.integers(0, 15)), min_size=1, max_size=12), query=texts)
@settings(max_examples=20)
def test_a_search_agrees_with_judging_every_memory_one_by_one(
    wanted: list[tuple[MemoryDraft, int]], query: str
) -> None:
    async def check() -> None:
        bot, owner = Bot(), UserKey("test", "ana")
        for draft, minutes in wanted:
            bot.clock.jump(timedelta(minutes=minutes))
            await bot.save(owner, draft)
        hits = await bot.search(owner, query, limit=50)
        expected = await bot.judged_one_by_one(owner, query)
        assert {hit.item.id: hit.score for hit in hits} == pytest.approx(expected, abs=GROWN)
        scores = [round(hit.score, 4) for hit in hits]
        assert scores == sorted(scores, reverse=True)
        assert [hit.item for hit in await bot.search(owner, query, limit=5)] == [hit.item for hit in hits[:5]]

    asyncio.run(check())


@given(wanted=st.lists(drafts, min_size=2, max_size=8), query=texts, seed=st.integers(0, 99))
@settings(max_examples=examples(15))
def test_the_order_of_what_is_told_at_one_moment_does_not_matter(
    wanted: list[MemoryDraft], query: str, seed: int
) -> None:
    async def scores(order: list[MemoryDraft]) -> dict[str, float]:
        bot, owner = Bot(), UserKey("test", "ana")
        for draft in order:
            await bot.save(owner, draft)
        return {hit.item.content: hit.score for hit in await bot.search(owner, query, limit=50)}

    shuffled = random.Random(seed).sample(wanted, len(wanted))  # noqa: S311 - an order, not a secret
    assert asyncio.run(scores(wanted)) == pytest.approx(asyncio.run(scores(shuffled)), abs=1e-5)


@pytest.mark.spec("T15")
async def test_a_hundred_people_with_the_same_topics_each_find_five_of_their_own() -> None:
    bot = Bot(max_owners=10)
    people = [UserKey("test", str(number)) for number in range(100)]
    for person in people:
        await bot.save(
            person, *(MemoryDraft(MemoryKind.TEXT, f"{person.user} {t}", (f"senha {t}",)) for t in TOPICS[2:9])
        )
    for person in people:
        hits = await bot.search(person, "senha", limit=5)
        assert len(hits) == 5
        assert {hit.item.content.split()[0] for hit in hits} == {person.user}


@pytest.mark.spec("T15")
async def test_what_one_person_finds_does_not_depend_on_what_others_store(database: Database) -> None:
    alone, crowded = Bot(), Bot(store=SqlMemories(database))
    ana = UserKey("test", "ana")
    mine = [MemoryDraft(MemoryKind.TEXT, f"meu {topic}", (f"{topic} {TOPICS[0]}",)) for topic in TOPICS[:6]]
    for bot in (alone, crowded):
        await bot.save(ana, *mine)
    for number in range(30):
        other = [MemoryDraft(MemoryKind.TEXT, f"{number} {topic}", (f"{topic} {number}",)) for topic in TOPICS]
        await crowded.save(UserKey("test", str(number)), *other)
    for query in [*TOPICS, "onde está a chave do carro?", "quantos planetas existem?"]:
        found = [
            {hit.item.content: hit.score for hit in await bot.search(ana, query, limit=20)} for bot in (alone, crowded)
        ]
        assert found[0] == found[1]


@pytest.mark.spec("T15")
async def test_writers_side_by_side_end_each_in_their_own_memory() -> None:
    bot = Bot(max_owners=3)
    people = [UserKey("test", str(number)) for number in range(20)]

    async def write(person: UserKey, topic: str) -> None:
        await bot.save(person, MemoryDraft(MemoryKind.TEXT, f"{person.user} {topic}", (topic,)))
        hits = await bot.search(person, topic)
        assert hits[0].item.content == f"{person.user} {topic}"
        assert {hit.item.content.split()[0] for hit in hits} == {person.user}

    await asyncio.gather(*(write(person, topic) for topic in TOPICS[:10] for person in people))
    for person in people:
        assert {item.content.split()[0] for item in await bot.of(person).page(limit=99)} == {person.user}
        assert await bot.of(person).count() == 10


class MemoryMachine(RuleBasedStateMachine):
    """Two people save, change, delete and forget; the index is lost now and then; every search tells the truth."""

    owners = st.sampled_from([UserKey("test", "ana"), UserKey("test", "bia")])

    @initialize()
    def start(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.bot = Bot(max_owners=2)
        self.known: dict[UserKey, dict[str, MemoryItem]] = {}

    def teardown(self) -> None:
        self.loop.run_until_complete(self.bot.memories.close())
        self.loop.close()

    @rule(owner=owners, wanted=st.lists(drafts, min_size=1, max_size=3))
    def save(self, owner: UserKey, wanted: list[MemoryDraft]) -> None:
        for item in self.loop.run_until_complete(self.bot.save(owner, *wanted)):
            self.known.setdefault(owner, {})[item.id] = item

    @rule(owner=owners, draft=drafts, pick=st.integers(0, 99))
    def update(self, owner: UserKey, draft: MemoryDraft, pick: int) -> None:
        ids = sorted(key for held in self.known.values() for key in held)
        if ids:
            key, memory = ids[pick % len(ids)], self.bot.of(owner)
            item = self.loop.run_until_complete(memory.update(key, content=draft.content, bindings=draft.bindings))
            assert (item is not None) == (key in self.known.get(owner, {}))
            if item is not None:
                self.known[owner][key] = item

    @rule(owner=owners, pick=st.integers(0, 99))
    def delete(self, owner: UserKey, pick: int) -> None:
        ids = sorted(key for held in self.known.values() for key in held)
        if ids:
            key = ids[pick % len(ids)]
            gone = self.loop.run_until_complete(self.bot.of(owner).delete([key]))
            mine = self.known.get(owner, {}).pop(key, None)
            assert list(gone) == ([] if mine is None else [mine])

    @rule(owner=owners)
    def forget(self, owner: UserKey) -> None:
        assert self.loop.run_until_complete(self.bot.of(owner).forget()) == len(self.known.pop(owner, {}))

    @rule()
    def lose_the_index(self) -> None:
        self.bot.indexes = Indexes(self.bot.store, FaissIndex)
        self.bot.memories = Memories(self.bot.store, self.bot.embedder, self.bot.indexes, FakeClock())

    @rule(owner=owners, query=texts)
    def search(self, owner: UserKey, query: str) -> None:
        hits = self.loop.run_until_complete(self.bot.search(owner, query, limit=99))
        expected = self.loop.run_until_complete(self.bot.judged_one_by_one(owner, query))
        assert bool(hits) == bool(expected)
        for hit in hits:
            assert hit.score == pytest.approx(expected[hit.item.id], abs=HALF_PRECISION)
            assert hit.item == self.known[owner][hit.item.id]
        if hits:
            assert hits[0].score == pytest.approx(max(expected.values()), abs=HALF_PRECISION)

    @invariant()
    def everybody_has_what_they_saved(self) -> None:
        for owner, held in self.known.items():
            items = self.loop.run_until_complete(self.bot.of(owner).page(limit=999))
            assert {item.id: item for item in items} == held


@pytest.mark.spec("T10", "T11", "T12", "T15")
def test_whatever_happens_in_whatever_order_every_search_tells_the_truth() -> None:
    run_state_machine_as_test(MemoryMachine, settings=settings(max_examples=examples(10), stateful_step_count=25))
