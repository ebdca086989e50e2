"""Whatever is done to memories, all engines agree on what is there, owners never cross, and no row is left alone."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TypeVar
from zlib import crc32

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from core.storage.database import Database
from core.storage.memories import SqlMemories
from core.storage.sqlite import SqliteDatabase, open_database
from core.stores import Candidate, ChangeContext, Neighbours, SearchableMemoryStore, SearchRequest
from core.types import Change, MemoryDraft, MemoryItem, MemoryKind, Span, UserKey, Vector
from tests.contracts.engines import close_key_files, sealing_beside
from tests.fakes.cells import strange_cells
from tests.fakes.clock import START
from tests.fakes.ram import RamDatabase
from tests.postgres import empty_databases, open_test_database
from tests.profile import examples

T = TypeVar("T")

OWNERS = (UserKey("telegram", "1"), UserKey("discord", "1"), UserKey("telegram", "2"))
SPACES = ("a@3", "b@3")
WORDS = ("senha", "Senhas", "café", "wifi", "júlia", "da", "de", "the", "123", "o1", "", "🐘", "x\ud800")

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
phrases = texts.filter(lambda text: bool(text.strip()))
drafts = st.builds(
    MemoryDraft,
    st.sampled_from(MemoryKind),
    texts,
    st.lists(phrases, min_size=1, max_size=3).map(tuple),
    st.none() | st.integers(0, 40).map(lambda minutes: START + timedelta(minutes=minutes)),
)
owners = st.sampled_from(OWNERS)
acts = st.sampled_from(("", "1", "2", "3"))
rooms = st.sampled_from(("", "telegram:kitchen", "discord:garden"))
marks = st.builds(ChangeContext, acts, rooms, st.none() | owners)
spaces = st.sampled_from(SPACES)


def vector_of(text: str) -> Vector:
    raw = np.frombuffer(text.encode("utf-8", "replace").ljust(3)[:3], np.uint8).astype(np.float32) + 1
    return np.asarray(raw / np.linalg.norm(raw), np.float32)


def merged(item: MemoryItem, draft: MemoryDraft) -> tuple[MemoryDraft, tuple[str, ...]]:
    """Return what is known with the new bindings, heard where it was and in the kitchen."""
    bindings = tuple(dict.fromkeys((*item.bindings, *draft.bindings)))[:4]
    return replace(item.draft, bindings=bindings, until=draft.until), (*item.rooms, "telegram:kitchen")


class MemoryMachine(RuleBasedStateMachine):
    """Drives two stores with the same calls: over a file that is closed and opened again, and over RAM, the reference.

    `ids` pairs the ids of one with those of the other.
    """

    @initialize()
    def open(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.database = self.run(self.opened())
        self.ram = RamDatabase()
        self.real: SearchableMemoryStore = SqlMemories(self.database)
        self.reference: SearchableMemoryStore = SqlMemories(self.ram)
        self.ids: list[tuple[str, str]] = []
        self.minutes = 0

    async def opened(self) -> Database:
        return await open_database(Path(self.folder.name) / "elefante.db")

    def teardown(self) -> None:
        if hasattr(self, "database"):
            self.run(self.database.close())
            self.folder.cleanup()
            self.loop.close()

    def run(self, awaitable: Awaitable[T]) -> T:
        async def wait() -> T:
            return await awaitable

        return self.loop.run_until_complete(wait())

    def agree(self, real: Sequence[MemoryItem], reference: Sequence[MemoryItem]) -> None:
        assert [self.seen(item) for item in real] == [self.seen(item) for item in reference]
        names = dict(self.ids)
        assert [names[item.id] for item in real] == [item.id for item in reference]

    @staticmethod
    def seen(item: MemoryItem | None) -> tuple[object, ...]:
        names = set(MemoryItem.__slots__) - {"id", "current"}
        return () if item is None else (*(getattr(item, name) for name in sorted(names)), bool(item.current))

    def changes_agree(self, real: Sequence[Change], reference: Sequence[Change]) -> None:
        names = dict(self.ids)
        mine, other = ([self.told(change) for change in changes] for changes in (real, reference))
        assert [(names[key], *told) for key, *told in mine] == other

    def told(self, change: Change) -> tuple[str, *tuple[object, ...]]:
        before, after = self.seen(change.before), self.seen(change.after)
        return (change.memory_id, change.act, change.kind, change.at, before, after, change.undone)

    def now(self) -> timedelta:
        self.minutes += 1
        return timedelta(minutes=self.minutes)

    @rule(owner=owners, drafts=st.lists(drafts, max_size=3), sources=st.lists(st.integers(1, 5)), data=st.data())
    def save(self, owner: UserKey, drafts: list[MemoryDraft], sources: list[int], data: st.DataObject) -> None:
        context, space = data.draw(marks), data.draw(spaces)
        vectors = {draft.content: vector_of(draft.content) for draft in drafts if data.draw(st.booleans())}
        at = START + self.now()
        real, reference = (
            self.run(
                store.save(
                    *(owner, drafts),
                    at=at,
                    merge=merged,
                    source_ids=sources,
                    vectors=vectors,
                    space=space,
                    context=context,
                )
            )
            for store in (self.real, self.reference)
        )
        names = {mine.id: other.id for mine, other in zip(real.items, reference.items, strict=True)}
        assert {names[key] for key in real.new} == reference.new
        self.ids += [(key, names[key]) for key in dict.fromkeys(item.id for item in real.items) if key in real.new]
        self.agree(real.items, reference.items)

    @precondition(lambda self: bool(self.ids))
    @rule(owner=owners, draft=drafts, data=st.data(), embed=st.booleans(), space=spaces, keeps_past=st.booleans())
    def update(
        self, owner: UserKey, draft: MemoryDraft, data: st.DataObject, *, embed: bool, space: str, keeps_past: bool
    ) -> None:
        (mine, other), context = data.draw(st.sampled_from(self.ids)), data.draw(marks)
        vectors = {draft.content: vector_of(draft.content)} if embed else None
        at = START + self.now()
        real, reference = (
            self.run(
                store.update(
                    *(owner, key, draft),
                    at=at,
                    vectors=vectors,
                    space=space,
                    context=context,
                    source_ids=(7,),
                    keeps_past=keeps_past,
                )
            )
            for store, key in ((self.real, mine), (self.reference, other))
        )
        if real is not None and reference is not None:
            self.name_versions(owner, mine, other)
        self.agree([real] if real else [], [reference] if reference else [])

    def name_versions(self, owner: UserKey, mine: str, other: str) -> None:
        """Learn the ids of the earlier versions of a memory."""
        real, reference = self.run(self.real.earlier(owner, [mine])), self.run(self.reference.earlier(owner, [other]))
        known = {key for key, _ in self.ids}
        self.ids += [(a.id, b.id) for a, b in zip(real, reference, strict=True) if a.id not in known]
        self.agree(real, reference)

    @precondition(lambda self: bool(self.ids))
    @rule(owner=owners, context=marks, data=st.data())
    def delete(self, owner: UserKey, context: ChangeContext, data: st.DataObject) -> None:
        chosen = data.draw(st.lists(st.sampled_from(self.ids), max_size=3))
        at = START + self.now()
        real = self.run(self.real.delete(owner, [mine for mine, _ in chosen], at=at, context=context))
        self.agree(real, self.run(self.reference.delete(owner, [other for _, other in chosen], at=at, context=context)))

    @precondition(lambda self: bool(self.ids))
    @rule(owner=owners, data=st.data(), pinned=st.booleans(), shared=st.booleans(), room=rooms)
    def flag(self, owner: UserKey, data: st.DataObject, *, pinned: bool, shared: bool, room: str) -> None:
        mine, other = data.draw(st.sampled_from(self.ids))
        found = [
            self.run(store.flag(owner, [key], pinned=pinned, shared=shared))
            for store, key in ((self.real, mine), (self.reference, other))
        ]
        assert [self.seen(each) for each in found[0]] == [self.seen(each) for each in found[1]]
        self.run(self.real.flag(owner, [mine], room=room))
        self.run(self.reference.flag(owner, [other], room=room))

    @rule(owner=owners, act=acts)
    def undo(self, owner: UserKey, act: str) -> None:
        real, reference = (self.run(store.undo(owner, act)) for store in (self.real, self.reference))
        assert (real is None) == (reference is None)
        self.changes_agree(real or (), reference or ())

    @rule(ago=st.integers(0, 8))
    def purge(self, ago: int) -> None:
        before = START + timedelta(minutes=self.minutes - ago)
        assert self.run(self.real.purge(before)) == self.run(self.reference.purge(before))

    @rule(owner=owners, other=owners)
    def link(self, owner: UserKey, other: UserKey) -> None:
        refused = []
        for store in (self.real, self.reference):
            try:
                self.run(store.link(owner, other))
            except ValueError:
                refused.append(store)
        assert len(refused) in {0, 2}

    @rule(owner=owners, other=owners)
    def unlink(self, owner: UserKey, other: UserKey) -> None:
        for store in (self.real, self.reference):
            self.run(store.unlink(owner, other))

    @rule(owner=owners)
    def forget(self, owner: UserKey) -> None:
        assert self.run(self.real.forget(owner)) == self.run(self.reference.forget(owner))

    @rule(owner=owners, space=spaces, limit=st.integers(0, 4))
    def embed_what_is_missing(self, owner: UserKey, space: str, limit: int) -> None:
        for store in (self.real, self.reference):
            missing = self.run(store.unembedded(owner, space, limit))
            self.run(store.put_vectors(owner, space, {i: vector_of(text) for i, text in missing.items()}))

    @rule(owner=owners, queries=st.lists(texts, max_size=2), room=rooms, past=st.booleans(), data=st.data())
    def search(self, owner: UserKey, queries: list[str], room: str, data: st.DataObject, *, past: bool) -> None:
        start, end = sorted(data.draw(st.tuples(st.integers(0, 40), st.integers(0, 40))))
        said = data.draw(st.none() | st.just(Span(START + timedelta(minutes=start), START + timedelta(minutes=end))))
        depth, last = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 99))
        seen: list[object] = []

        def order(candidates: Sequence[Candidate], count: int, _: Neighbours) -> Sequence[int]:
            seen.append((count, [[round(score, 9) for score in each.words] for each in candidates]))
            return [each.number for each in candidates]

        found = []
        for store in (self.real, self.reference):
            ids = sorted(self.run(store.vectors(owner, SPACES[0]))[0])
            texts = self.run(store.phrases(owner, ids))
            nearest = frozenset(i for i in ids if crc32(texts[i][1].encode()) % 100 < last)
            version = self.run(store.version(owner))
            asked = SearchRequest(
                *(tuple(queries), order),
                at=START + timedelta(minutes=self.minutes),
                depth=depth,
                room=room,
                past=past,
                said=said,
            )
            found.append(self.run(store.search(owner, asked, Neighbours(nearest), version=version)))
        real, reference = found
        assert real is not None
        assert reference is not None
        self.agree(real, reference)
        assert seen[:1] == seen[1:] or seen == [(0, [])], "nobody is asked about nothing"

    @rule(owner=owners, query=texts, kind=st.sampled_from(MemoryKind))
    def look_up(self, owner: UserKey, query: str, kind: MemoryKind) -> None:
        mine = self.run(self.real.find(owner, kind, query))
        other = self.run(self.reference.find(owner, kind, query))
        self.agree([mine] if mine else [], [other] if other else [])

    @rule()
    def restart(self) -> None:
        self.run(self.database.close())
        self.database = self.run(self.opened())
        self.real = SqlMemories(self.database)

    @invariant()
    def both_tell_the_same(self) -> None:
        if not hasattr(self, "database"):
            return
        assert set(self.run(self.real.owners())) == set(self.run(self.reference.owners()))
        for owner in OWNERS:
            self.agree(self.run(self.real.page(owner, limit=999)), self.run(self.reference.page(owner, limit=999)))
            accounts = self.run(self.real.accounts(owner))
            assert accounts == self.run(self.reference.accounts(owner))
            assert self.run(self.real.count(owner)) == self.run(self.reference.count(owner))
            mine, theirs = (self.run(store.shares(owner)) for store in (self.real, self.reference))
            assert {account: share.count for account, share in mine.items()} == {
                account: share.count for account, share in theirs.items()
            }
            for account in accounts:
                assert {dict(self.ids)[key] for key in mine[account].own} == theirs[account].own
            self.changes_agree(self.run(self.real.changes(owner)), self.run(self.reference.changes(owner)))
            self.versions_agree(owner)
            self.rooms_agree(owner, "telegram:kitchen")
            for space in SPACES:
                assert self.vectors(self.real, owner, space) == self.vectors(self.reference, owner, space)

    def rooms_agree(self, owner: UserKey, room: str) -> None:
        names = dict(self.ids)
        items = self.run(self.real.page(owner, limit=999))
        heard = [item.id for item in items if item.shared or room in item.rooms]
        there = self.run(self.reference.page(owner, limit=999, room=room))
        assert {names[key] for key in heard} == {item.id for item in there}

    def versions_agree(self, owner: UserKey) -> None:
        real, reference = (
            self.run(store.earlier(owner, [pair[side] for pair in self.ids]))
            for side, store in enumerate((self.real, self.reference))
        )
        self.agree(real, reference)
        names = dict(self.ids)
        assert [names[item.current] for item in real] == [item.current for item in reference]
        known = {item.id for item in self.run(self.real.page(owner, limit=999))}
        assert {item.current for item in real} <= known

    def vectors(self, store: SearchableMemoryStore, owner: UserKey, space: str) -> list[tuple[str, list[float]]]:
        ids, vectors = self.run(store.vectors(owner, space))
        named = self.run(store.phrases(owner, ids))
        assert set(named) == set(ids)
        assert list(ids) == sorted(ids)
        missing = self.run(store.unembedded(owner, space, 999))
        assert not set(missing) & set(ids)
        return sorted((named[i][1], vector.tolist()) for i, vector in zip(ids, vectors, strict=True))

    @invariant()
    def no_row_is_left_alone(self) -> None:
        if not hasattr(self, "database"):
            return
        lonely = """
            SELECT
                (SELECT count(*) FROM memories WHERE owner NOT IN (SELECT id FROM owners)),
                (SELECT count(*) FROM memories WHERE id NOT IN (SELECT memory FROM phrases)),
                (SELECT count(*) FROM memories WHERE content LIKE '%senha%' AND id NOT IN (SELECT memory FROM terms)),
                (SELECT count(*) FROM terms WHERE memory NOT IN (SELECT id FROM memories)),
                (SELECT count(*) FROM phrases WHERE memory NOT IN (SELECT id FROM memories)),
                (SELECT count(*) FROM phrases AS p JOIN memories AS m ON m.id = p.memory WHERE m.owner != p.owner),
                (SELECT count(*) FROM vectors WHERE phrase NOT IN (SELECT id FROM phrases)),
                (SELECT count(*) FROM sources WHERE memory NOT IN (SELECT id FROM memories)),
                (SELECT count(*) FROM rooms AS r JOIN memories AS m ON m.id = r.memory WHERE m.owner != r.owner),
                (SELECT count(*) FROM rooms WHERE memory NOT IN (SELECT id FROM memories)),
                (SELECT count(*) FROM terms AS t JOIN memories AS m ON m.id = t.memory
                    WHERE t.account != coalesce(m.account, m.owner)),
                (SELECT count(*) FROM memories AS m JOIN owners AS o ON o.id = m.account WHERE o.linked != m.owner),
                (SELECT count(*) FROM changes AS c JOIN memories AS m ON m.key = c.key WHERE c.owner != m.owner),
                (SELECT count(*) FROM changes AS c JOIN owners AS o ON o.id IN (c.account, c.speaker)
                    WHERE o.linked IS NOT c.owner),
                (SELECT count(*) FROM changes WHERE key NOT IN (SELECT key FROM memories) AND key NOT IN
                    (SELECT key FROM changes WHERE kind = 'deleted' AND NOT undone)),
                (SELECT count(*) FROM pragma_foreign_key_check)
        """
        sqlite = self.database if isinstance(self.database, SqliteDatabase) else self.ram
        [counts] = self.run(sqlite.rows(lonely))
        assert not any(counts), counts


class PostgresMachine(MemoryMachine):
    """The same, over PostgreSQL and RAM."""

    async def opened(self) -> Database:
        return await open_test_database(Path("machine"))

    def teardown(self) -> None:
        super().teardown()
        empty_databases()


class SealedMachine(MemoryMachine):
    """The same, over a file with a key of each person and RAM without."""

    async def opened(self) -> Database:
        path = Path(self.folder.name) / "elefante.db"
        return await open_database(path, sealing=sealing_beside(path))

    def teardown(self) -> None:
        super().teardown()
        close_key_files()

    @invariant()
    def each_is_sealed_for_who_said_it(self) -> None:
        if hasattr(self, "database"):
            assert not self.run(strange_cells(self.database))


MemoryMachine.TestCase.settings = settings(max_examples=examples(10), stateful_step_count=25, deadline=None)
TestMemoryMachine = pytest.mark.spec("T10", "T11", "T12", "T15")(MemoryMachine.TestCase)

SealedMachine.TestCase.settings = settings(max_examples=examples(10), stateful_step_count=25, deadline=None)
TestSealedMachine = SealedMachine.TestCase

PostgresMachine.TestCase.settings = settings(max_examples=examples(3), stateful_step_count=25, deadline=None)
TestPostgresMachine = pytest.mark.long(pytest.mark.spec("T10", "T11", "T12", "T15")(PostgresMachine.TestCase))
