"""One person's memory as it is undone, flagged, spoken of in rooms and shared by linked accounts, over both stores."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from core.errors import StorageError
from core.memory.embedding import Indexes
from core.memory.memories import Memories
from core.memory.user_memory import UndoResult, UserMemory
from core.storage.faiss_index import FaissIndex
from core.storage.memories import SqlMemories
from core.stores import ChangeContext, SearchableMemoryStore
from core.types import SURE, ChangeKind, MemoryDraft, MemoryItem, MemoryKind, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.model import HashEmbedder
from tests.fakes.ram import RamDatabase

ANA, BIA, CAIO = (UserKey("test", name) for name in ("ana", "bia", "caio"))
KITCHEN, GARDEN = "test:kitchen", "test:garden"
DIMS = 256


@pytest.fixture
def store() -> SearchableMemoryStore:
    return SqlMemories(RamDatabase())


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder(dims=DIMS)


@pytest.fixture
async def memories(store: SearchableMemoryStore, embedder: HashEmbedder, clock: FakeClock) -> AsyncIterator[Memories]:
    memories = Memories(store, embedder, Indexes(store, FaissIndex, max_owners=8), clock)
    yield memories
    await memories.close()


def _draft(content: str, *bindings: str) -> MemoryDraft:
    return MemoryDraft(MemoryKind.TEXT, content, bindings)


PASSWORD = _draft("123456", "senha do aliexpress")
BIRTHDAY = _draft("14 de março", "aniversário da mãe")


async def _save(memory: UserMemory, *drafts: MemoryDraft) -> list[MemoryItem]:
    vectors = await memory.embed([phrase for draft in drafts for phrase in memory.phrases_of(draft)])
    return list(await memory.add(drafts, vectors, source_ids=[7]))


async def _found(memory: UserMemory, query: str, limit: int = 5) -> list[str]:
    hits = await memory.search([query], await memory.embed_queries([query]), limit=limit)
    return [hit.item.content for hit in hits]


async def _by_vectors(memory: UserMemory, query: str) -> list[float]:
    """Return what the vectors alone say of each memory found."""
    return [hit.dense for hit in await memory.search([query], await memory.embed_queries([query]))]


# --- undo ------------------------------------------------------------------------------------------------------------


async def test_what_an_act_saved_changed_and_deleted_is_as_it_was_and_is_found_so(memories: Memories) -> None:
    ana = memories.of(ANA)
    old, gone = await _save(ana, PASSWORD, BIRTHDAY)
    assert await _found(ana, "senha do aliexpress") == ["123456"]
    acting = memories.of(ANA, ChangeContext("act"))
    await _save(acting, _draft("Rex", "nome do cachorro"))
    vectors = await ana.embed(["654321", "código da loja"])
    await acting.update(old.id, content="654321", bindings=["código da loja"], vectors=vectors)
    await acting.delete([gone.id])
    assert await _found(ana, "nome do cachorro") == ["Rex"]
    undone = await ana.undo("act")
    assert undone.result is UndoResult.DONE
    assert [change.kind for change in undone.changes] == [ChangeKind.DELETED, ChangeKind.UPDATED, ChangeKind.SAVED]
    assert list(await ana.page(limit=9)) == [gone, old]
    for query, content in (("senha do aliexpress", "123456"), ("aniversário da mãe", "14 de março")):
        assert await _found(ana, query) == [content]
    for query in ("nome do cachorro", "código da loja", "654321"):
        hits = await ana.search([query], await ana.embed_queries([query]), floor=0.0)
        assert {hit.item for hit in hits} <= {gone, old}
        assert [hit.chance for hit in hits if hit.chance > SURE] == []
    assert await _by_vectors(ana, "aniversário da mãe") == pytest.approx([1.0], abs=1e-3), (
        "it has its vectors again, at once"
    )
    assert (await ana.undo("act")).result is UndoResult.NOTHING


async def test_without_an_act_named_the_newest_is_undone_and_then_the_one_before(
    memories: Memories, clock: FakeClock
) -> None:
    ana = memories.of(ANA)
    [item] = await _save(memories.of(ANA, ChangeContext("1")), PASSWORD)
    await clock.advance(1)
    await memories.of(ANA, ChangeContext("2")).update(item.id, content="654321", vectors={})
    await _save(ana, BIRTHDAY)
    assert (last := await ana.last_change())
    assert (last.act, last.memory_id) == ("2", item.id)
    assert (await ana.undo()).result is UndoResult.DONE
    assert list(await ana.get([item.id])) == [item]
    assert [change.undone for change in await ana.versions(item.id)] == [True, False]
    assert (await ana.undo()).result is UndoResult.DONE
    assert (await ana.undo()).result is UndoResult.NOTHING
    assert [item.content for item in await ana.page(limit=9)] == ["14 de março"]
    assert await ana.last_change() is None


async def test_an_act_is_undone_until_its_time_is_over_and_not_after(memories: Memories, clock: FakeClock) -> None:
    ana = memories.of(ANA, ChangeContext("act"))
    await _save(ana, PASSWORD)
    await clock.advance(memories.undo_within.total_seconds())
    assert await ana.last_change() is not None
    await clock.advance(0.001)
    assert await ana.last_change() is None
    assert (await ana.undo()).result is UndoResult.NOTHING
    assert (await ana.undo("act")).result is UndoResult.TOO_LATE
    assert await ana.count() == 1


async def test_what_was_changed_since_is_not_undone(memories: Memories) -> None:
    [item] = await _save(memories.of(ANA, ChangeContext("act")), PASSWORD)
    changed = await memories.of(ANA).update(item.id, content="654321", vectors={})
    undone = await memories.of(ANA).undo("act")
    assert (undone.result, undone.changes) == (UndoResult.CHANGED, ())
    assert list(await memories.of(ANA).page(limit=9)) == [changed]


async def test_what_came_back_while_the_embedder_is_down_is_found_by_its_words_and_embedded_later(
    memories: Memories, embedder: HashEmbedder, store: SearchableMemoryStore
) -> None:
    acting = memories.of(ANA, ChangeContext("act"))
    [item, _] = await _save(memories.of(ANA), PASSWORD, BIRTHDAY)
    assert await _found(acting, "senha do aliexpress")
    await acting.delete([item.id])
    embedder.down = True
    assert (await acting.undo("act")).result is UndoResult.DONE
    embedder.down = False
    assert await _found(acting, "senha do aliexpress") == ["123456"]
    assert await memories.reembed(ANA) in {0, 2}, "the search may have begun it already"
    assert await store.unembedded(ANA, embedder.space, 9) == {}
    assert await _by_vectors(acting, "senha do aliexpress") == pytest.approx([1.0], abs=1e-3)


# --- purge -----------------------------------------------------------------------------------------------------------


async def _kept(store: SearchableMemoryStore) -> list[str]:
    return [change.act for change in await store.changes(ANA)]


async def test_the_words_of_the_deleted_are_forgotten_when_it_cannot_be_undone_any_more(
    embedder: HashEmbedder, clock: FakeClock
) -> None:
    store = SqlMemories(RamDatabase())
    within = timedelta(minutes=5)
    memories = Memories(store, embedder, Indexes(store, FaissIndex), clock, undo_within=within)
    one, two = await _save(memories.of(ANA), PASSWORD, BIRTHDAY)
    await memories.of(ANA, ChangeContext("first")).delete([one.id])
    await clock.advance(100)
    await memories.of(ANA, ChangeContext("second")).delete([two.id, "unknown"])
    await memories.of(ANA, ChangeContext("nothing")).delete(["unknown"])
    await clock.advance(200)
    assert await _kept(store) == ["second", "first"]
    await clock.advance(60)
    assert await _kept(store) == ["second"]
    await clock.advance(100)
    assert await _kept(store) == []
    [three] = await _save(memories.of(ANA), PASSWORD)
    await memories.of(ANA, ChangeContext("third")).delete([three.id])
    await clock.advance(361)
    assert await _kept(store) == [], "and so it goes on"
    await memories.close()


async def test_deletions_of_one_minute_are_forgotten_together(embedder: HashEmbedder, clock: FakeClock) -> None:
    purged: list[float] = []

    class Counting(SqlMemories):
        async def purge(self, before: object) -> int:
            del before
            purged.append(clock.monotonic())
            return 0

    store = Counting(RamDatabase())
    memories = Memories(store, embedder, Indexes(store, FaissIndex), clock)
    items = await _save(memories.of(ANA), *(_draft(f"fact {n}", f"key {n}") for n in range(6)))
    for item in items:
        await memories.of(ANA, ChangeContext("act")).delete([item.id])
        await clock.advance(20)
    await clock.advance(3600)
    assert purged == [660, 720], "the first three, up to a minute late, and the others"
    await memories.close()


async def test_a_start_forgets_what_was_deleted_long_ago_and_later_what_was_deleted_just_before(
    embedder: HashEmbedder, clock: FakeClock
) -> None:
    store = SqlMemories(RamDatabase())
    earlier = Memories(store, embedder, Indexes(store, FaissIndex), clock)
    one, two = await _save(earlier.of(ANA), PASSWORD, BIRTHDAY)
    await earlier.of(ANA, ChangeContext("long ago")).delete([one.id])
    await clock.advance(599)
    await earlier.of(ANA, ChangeContext("just before")).delete([two.id])
    await earlier.close()
    await clock.advance(2)
    memories = Memories(store, embedder, Indexes(store, FaissIndex), clock)
    await memories.start()
    assert await _kept(store) == ["just before"]
    await clock.advance(661)
    assert await _kept(store) == []
    await memories.close()


async def test_a_purge_that_the_disk_refuses_is_logged_without_words_and_the_next_one_makes_up_for_it(
    embedder: HashEmbedder, clock: FakeClock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqlMemories(RamDatabase())
    memories = Memories(store, embedder, Indexes(store, FaissIndex), clock)
    one, two = await _save(memories.of(ANA), PASSWORD, BIRTHDAY)

    async def refuse(before: object) -> int:
        raise StorageError("the database refused (SQLITE_FULL)")

    with monkeypatch.context() as patch:
        patch.setattr(store, "purge", refuse)
        await memories.of(ANA, ChangeContext("first")).delete([one.id])
        await clock.advance(661)
    assert "SQLITE_FULL" in caplog.text
    assert await _kept(store) == ["first"]
    await memories.of(ANA, ChangeContext("second")).delete([two.id])
    await clock.advance(661)
    assert await _kept(store) == []
    await memories.close()


# --- flags, pages, rooms ---------------------------------------------------------------------------------------------


async def test_a_flag_that_is_not_named_stays(memories: Memories) -> None:
    ana = memories.of(ANA)
    first, second = await _save(ana, PASSWORD, BIRTHDAY)
    assert await ana.flag(first.id, pinned=True) == replace(first, pinned=True)
    assert await ana.flag(first.id, shared=True) == replace(first, pinned=True, shared=True)
    assert await ana.flag(first.id, pinned=None) == replace(first, pinned=True, shared=True)
    assert [item.id for item in await ana.page(limit=9)] == [first.id, second.id]
    assert await ana.flag("unknown", pinned=True) is None
    assert await ana.count() == 2


@pytest.mark.spec("T15")
async def test_in_a_room_only_what_was_said_there_or_is_shared_is_found_however_near_the_rest_lies(
    memories: Memories, embedder: HashEmbedder
) -> None:
    ana, kitchen = memories.of(ANA), memories.of(ANA, ChangeContext(room=KITCHEN))
    await _save(ana, *(_draft(f"senha {n}", f"senha do aliexpress {n}", "senha do aliexpress") for n in range(300)))
    assert await _found(kitchen, "senha do aliexpress") == []
    [there] = await _save(kitchen, _draft("na gaveta", "senha velha do aliexpress e do mercado"))
    [shared] = await _save(ana, _draft("no cofre", "senha do cofre, do aliexpress e do banco"))
    assert await _found(kitchen, "senha do aliexpress") == [there.content]
    await ana.flag(shared.id, shared=True)
    assert set(await _found(kitchen, "senha do aliexpress")) == {there.content, shared.content}
    assert await _found(memories.of(ANA, ChangeContext(room=GARDEN)), "senha do aliexpress") == [shared.content]
    assert await _found(memories.of(BIA, ChangeContext(room=KITCHEN)), "senha do aliexpress") == []
    assert len(await _found(ana, "senha do aliexpress")) == 5
    embedder.down = True
    assert set(await _found(kitchen, "senha do aliexpress")) == {there.content, shared.content}, "by words alone"


async def test_what_is_known_already_is_also_said_in_the_room_where_it_is_said_again(memories: Memories) -> None:
    ana = memories.of(ANA)
    [item] = await _save(ana, PASSWORD)
    kitchen = memories.of(ANA, ChangeContext("1", KITCHEN))
    assert await _save(kitchen, PASSWORD) == [replace(item, rooms=(KITCHEN,))]
    assert await _save(kitchen, PASSWORD) == [replace(item, rooms=(KITCHEN,))]
    assert await _found(kitchen, "senha do aliexpress") == ["123456"]
    [more] = await _save(memories.of(ANA, ChangeContext("2", GARDEN)), _draft("123456", "código da loja"))
    assert (more.id, more.rooms) == (item.id, (GARDEN, KITCHEN))
    assert (await ana.undo("2")).result is UndoResult.DONE
    assert list(await ana.get([item.id])) == [replace(item, rooms=(KITCHEN,))]


# --- linked accounts -------------------------------------------------------------------------------------------------


async def test_linked_accounts_find_each_others_memories_and_no_more_once_they_are_parted(memories: Memories) -> None:
    await _save(memories.of(ANA), PASSWORD)
    await _save(memories.of(BIA), BIRTHDAY)
    for memory in (memories.of(ANA), memories.of(BIA)):  # both indexes are built
        assert await _found(memory, "café") == []
    await memories.link(ANA, BIA)
    assert [await memories.owner(user) for user in (ANA, BIA, CAIO)] == [ANA, ANA, CAIO]
    assert list(await memories.accounts(BIA)) == [ANA, BIA]
    ours = memories.of(await memories.owner(BIA), ChangeContext("act", account=BIA))
    assert await _found(ours, "senha do aliexpress") == ["123456"]
    assert await _by_vectors(ours, "aniversário da mãe") == pytest.approx([1.0], abs=1e-3)
    await _save(ours, _draft("Rex", "nome do cachorro"))
    assert {key: share.count for key, share in (await memories.shares(ANA)).items()} == {ANA: 1, BIA: 2}
    await memories.unlink(ANA, BIA)
    assert await memories.owner(BIA) == BIA
    assert await _by_vectors(memories.of(BIA), "nome do cachorro") == pytest.approx([1.0], abs=1e-3)
    assert await _found(memories.of(ANA), "nome do cachorro") == []
    assert await _found(memories.of(BIA), "senha do aliexpress") == []


async def test_nothing_is_lost_that_a_turn_saves_under_the_old_name_while_accounts_are_linked(
    memories: Memories,
) -> None:
    before = memories.of(BIA, ChangeContext("turn", account=BIA))
    await memories.link(ANA, BIA)
    await _found(memories.of(ANA), "senha do aliexpress")
    await _save(before, PASSWORD)
    assert await _found(memories.of(ANA), "senha do aliexpress") == ["123456"]
    assert {key: share.count for key, share in (await memories.shares(ANA)).items()} == {ANA: 0, BIA: 1}
