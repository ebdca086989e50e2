"""One person's memory over both stores, with words for vectors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from core.errors import StorageError
from core.memory.embedding import Indexes
from core.memory.memories import Memories
from core.memory.user_memory import UndoResult, UserMemory
from core.storage.faiss_index import FaissIndex
from core.storage.memories import SqlMemories
from core.stores import ChangeContext, SearchableMemoryStore
from core.types import SURE, ChangeKind, MemoryDraft, MemoryHit, MemoryItem, MemoryKind, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.model import HashEmbedder
from tests.fakes.ram import RamDatabase

ANA, BIA = UserKey("test", "ana"), UserKey("test", "bia")


@pytest.fixture
def store() -> SearchableMemoryStore:
    return SqlMemories(RamDatabase())


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder(dims=256)


@pytest.fixture
async def memories(store: SearchableMemoryStore, embedder: HashEmbedder, clock: FakeClock) -> AsyncIterator[Memories]:
    memories = Memories(store, embedder, Indexes(store, FaissIndex, max_owners=8), clock)
    yield memories
    await memories.close()


@pytest.fixture
def ana(memories: Memories) -> UserMemory:
    return memories.of(ANA)


def _draft(content: str, *bindings: str) -> MemoryDraft:
    return MemoryDraft(MemoryKind.TEXT, content, bindings)


PASSWORD = _draft("123456", "senha do aliexpress")
BIRTHDAY = _draft("14 de março", "aniversário da mãe")


async def _save(memory: UserMemory, *drafts: MemoryDraft) -> list[MemoryItem]:
    return list(await memory.add(drafts, source_ids=[7]))


async def _search(memory: UserMemory, *queries: str, limit: int = 5) -> list[MemoryHit]:
    return list(await memory.search(queries, limit=limit))


def _contents(hits: list[MemoryHit]) -> list[str]:
    return [hit.item.content for hit in hits]


@pytest.mark.spec("T9", "T10")
async def test_what_was_saved_is_found_by_a_question(ana: UserMemory, clock: FakeClock) -> None:
    [item, _] = await _save(ana, PASSWORD, BIRTHDAY)
    assert (item.content, item.bindings, item.source_ids) == ("123456", ("senha do aliexpress",), (7,))
    assert item.created_at == clock.now()
    [hit] = await _search(ana, "Qual é a senha do aliexpress?")
    assert hit.item == item
    assert hit.matched == "senha do aliexpress"
    assert SURE < hit.chance <= 1
    assert hit.lexical == 1


@pytest.mark.spec("T9")
async def test_of_memories_that_fit_alike_the_newest_comes_first(ana: UserMemory) -> None:
    for content in ("red", "green", "blue"):
        await _save(ana, _draft(content, "colour of the door"))
    assert _contents(await _search(ana, "colour of the door")) == ["blue", "green", "red"]


@pytest.mark.spec("T9")
async def test_nothing_answers_an_unrelated_question(ana: UserMemory) -> None:
    await _save(ana, PASSWORD, BIRTHDAY)
    assert await _search(ana, "quantos planetas existem?") == []
    assert await _search(ana) == []
    assert await _search(ana, "  ", "") == []
    assert await _search(ana, "senha do aliexpress", limit=0) == []
    assert await _search(ana, "🎂") == []


@pytest.mark.spec("T9")
async def test_several_queries_give_each_memory_once_with_its_best_score(ana: UserMemory) -> None:
    await _save(ana, PASSWORD, BIRTHDAY)
    hits = await _search(ana, "senha", "senha do aliexpress", "aniversário da mãe")
    assert sorted(_contents(hits)) == ["123456", "14 de março"]
    alone = {
        hit.item.id: hit.score for q in ("senha do aliexpress", "aniversário da mãe") for hit in await _search(ana, q)
    }
    assert {hit.item.id: hit.score for hit in hits} == pytest.approx(alone)


async def test_one_call_of_the_embedder_for_a_search_and_one_for_a_save(
    ana: UserMemory, embedder: HashEmbedder
) -> None:
    await ana.embed(["anything"])
    embedder.calls.clear()
    await _save(ana, PASSWORD, BIRTHDAY)
    assert len(embedder.calls) == 1
    await _search(ana, "senha", "aniversário")
    assert embedder.calls[1:] == [["senha", "aniversário"]]


async def test_no_text_is_no_call(ana: UserMemory, embedder: HashEmbedder) -> None:
    assert await ana.embed([]) == {}
    assert embedder.calls == []


async def test_only_the_beginning_of_a_huge_text_is_embedded(ana: UserMemory, embedder: HashEmbedder) -> None:
    huge = "palavra " * 1000
    assert list(await ana.embed([huge])) == [huge]
    assert max(len(text) for call in embedder.calls for text in call) <= 1000


@pytest.mark.spec("T10")
async def test_what_is_known_gains_bindings_instead_of_a_second_memory(ana: UserMemory) -> None:
    [first] = await _save(ana, PASSWORD)
    await _search(ana, "senha")
    [second] = await _save(ana, _draft("123456", "Senha do AliExpress", "código da loja"))
    assert second.id == first.id
    assert second.bindings == ("senha do aliexpress", "código da loja")
    assert await ana.count() == 1
    assert [hit.matched for hit in await _search(ana, "código da loja")] == ["código da loja"]
    assert (await _save(ana, PASSWORD)) == [second]


async def test_twins_among_the_drafts_become_one_memory(ana: UserMemory) -> None:
    number = MemoryDraft(MemoryKind.JSON, "azul", ("cor",))
    item, other = await _save(ana, _draft("Azul\x00", "cor"), _draft(" azul", "cor favorita", " ", "COR"), number)
    assert (item.content, item.bindings) == ("Azul", ("cor", "cor favorita"))
    assert (other.draft, await ana.count()) == (number, 2), "another kind is another memory"


@pytest.mark.spec("T10")
async def test_a_draft_without_a_binding_stores_nothing(ana: UserMemory) -> None:
    with pytest.raises(ValueError, match="binding"):
        await _save(ana, PASSWORD, _draft("x", " \x00"))
    assert await ana.count() == 0


@pytest.mark.spec("T11")
async def test_an_updated_memory_is_found_by_the_new_and_not_by_the_old(ana: UserMemory) -> None:
    [item] = await _save(ana, PASSWORD)
    await _search(ana, "senha")
    changed = await ana.update(item.id, content="987", bindings=["chave da garagem"])
    assert changed is not None
    assert (changed.id, changed.content, changed.bindings) == (item.id, "987", ("chave da garagem",))
    assert _contents(await _search(ana, "chave da garagem")) == ["987"]
    assert await _search(ana, "senha do aliexpress") == []


@pytest.mark.spec("T11")
async def test_an_update_keeps_what_is_not_given(ana: UserMemory) -> None:
    [item] = await _save(ana, PASSWORD)
    changed = await ana.update(item.id, content="654321", vectors=await ana.embed(["654321"]))
    assert changed is not None
    assert (changed.kind, changed.bindings) == (item.kind, item.bindings)
    changed = await ana.update(item.id, kind=MemoryKind.JSON, vectors={})
    assert changed is not None
    assert (changed.kind, changed.content) == (MemoryKind.JSON, "654321")
    assert _contents(await _search(ana, "senha do aliexpress")) == ["654321"]


async def test_words_alone_answer_while_the_embedder_is_down(
    ana: UserMemory, embedder: HashEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    embedder.down = True
    await _save(ana, PASSWORD, BIRTHDAY)
    [hit] = await _search(ana, "Qual é a senha do aliexpress?")
    assert (hit.item.content, hit.matched, hit.dense) == ("123456", "senha do aliexpress", 0)
    assert await _search(ana, "quantos planetas existem?") == []
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("core.memory")]
    assert ours
    assert not [said for said in ours if "aliexpress" in said]


async def test_a_query_with_a_vector_is_answered_without_a_normalizer(ana: UserMemory, embedder: HashEmbedder) -> None:
    await _save(ana, PASSWORD)
    embedder._space = "other"
    embedder.down = True
    hits = await ana.search(["senha do aliexpress"], {"senha do aliexpress": np.full(256, 1 / 16, np.float32)})
    assert _contents(list(hits)) == ["123456"]
    [item] = [hit.item for hit in hits]
    assert await ana.update(item.id, content="9", vectors={"9": np.full(256, 1 / 16, np.float32)}) is not None


async def _settled(memories: Memories) -> None:
    """Let what goes on in the background come to its end."""
    await asyncio.gather(*memories._catching_up.values())


async def test_what_was_saved_without_vectors_gets_them_after_the_first_search(
    ana: UserMemory, embedder: HashEmbedder, memories: Memories
) -> None:
    embedder.down = True
    await _save(ana, PASSWORD)
    embedder.down = False
    await _save(ana, BIRTHDAY)
    [hit] = await _search(ana, "senha do aliexpress")
    assert hit.dense == 0, "words answer at once"
    await _settled(memories)
    [hit] = await _search(ana, "senha do aliexpress")
    assert hit.dense == pytest.approx(1, abs=1e-3)


async def test_a_changed_embedder_reembeds_without_keeping_answers_waiting(
    ana: UserMemory, embedder: HashEmbedder, memories: Memories
) -> None:
    await _save(ana, PASSWORD, BIRTHDAY)
    assert (await _search(ana, "senha do aliexpress"))[0].dense == pytest.approx(1, abs=1e-3)
    embedder._space = "new"
    assert _contents(await _search(ana, "senha do aliexpress")) == ["123456"]
    await _settled(memories)
    assert (await _search(ana, "senha do aliexpress"))[0].dense == pytest.approx(1, abs=1e-3)


async def test_reembed_tells_its_progress_and_goes_on_where_it_stopped(
    memories: Memories, embedder: HashEmbedder
) -> None:
    embedder.down = True
    for owner in (ANA, BIA):
        await _save(memories.of(owner), *(_draft(f"content {i}", f"binding {i}") for i in range(10)))
    assert await memories.reembed() == 0
    embedder.down = False
    told: list[tuple[UserKey, int]] = []

    def tell(owner: UserKey, done: int) -> None:
        told.append((owner, done))
        embedder.down = owner == ANA

    assert await memories.reembed(on_progress=tell) == 16
    assert told == [(ANA, 16)]
    embedder.down = False
    assert await memories.reembed(ANA) == 4
    assert await memories.reembed() == 20
    assert await memories.reembed() == 0


async def test_closing_stops_what_goes_on_in_the_background(
    store: SearchableMemoryStore, embedder: HashEmbedder, clock: FakeClock
) -> None:
    memories = Memories(store, embedder, Indexes(store, FaissIndex), clock)
    ana = memories.of(ANA)
    embedder.down = True
    await _save(ana, PASSWORD)
    embedder.down = False
    await _search(ana, "senha do aliexpress")
    await memories.close()
    await memories.close()
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


async def test_a_store_that_fails_in_the_background_is_only_logged(
    ana: UserMemory, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    embedder.down = True
    await _save(ana, PASSWORD)
    embedder.down = False
    failed = asyncio.Event()

    async def fail(*_: object) -> None:
        failed.set()
        raise StorageError("disk full")

    monkeypatch.setattr(ana.store, "put_vectors", fail)
    assert _contents(await _search(ana, "senha do aliexpress")) == ["123456"]
    await failed.wait()
    assert _contents(await _search(ana, "senha do aliexpress")) == ["123456"]
    assert "StorageError" in caplog.text


async def test_when_the_index_cannot_follow_it_is_built_again(ana: UserMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    await _save(ana, PASSWORD)
    await _search(ana, "senha")
    await _save(ana, BIRTHDAY)
    with monkeypatch.context() as broken:

        def fail(*_: object) -> None:
            raise MemoryError

        broken.setattr(FaissIndex, "add", fail)
        with pytest.raises(MemoryError):
            await _search(ana, "aniversário da mãe")
    for query, content in (("aniversário da mãe", "14 de março"), ("senha do aliexpress", "123456")):
        [hit] = await _search(ana, query)
        assert hit.item.content == content
        assert hit.dense == pytest.approx(1, abs=1e-3)


@pytest.mark.spec("T9")
@pytest.mark.parametrize("is_down", [False, True])
async def test_memories_that_answer_alike_are_all_found(ana: UserMemory, embedder: HashEmbedder, is_down: bool) -> None:
    await _save(ana, *(_draft(f"dia {n}", "consulta médica") for n in (3, 9, 20, 27)))
    embedder.down = is_down
    assert len(await _search(ana, "quando é a consulta médica?")) == 4


async def test_a_memory_with_many_bindings_does_not_hide_the_others(ana: UserMemory) -> None:
    loud = _draft("alto", *(f"gato preto {i}" for i in range(200)))
    quiet = [_draft(f"baixo {i}", f"gato preto {i}") for i in range(4)]
    await _save(ana, loud, *quiet)
    assert len(await _search(ana, "gato preto", limit=5)) == 5


@pytest.mark.spec("T15")
async def test_a_foreign_phrase_in_an_index_is_nobodys_answer(ana: UserMemory, memories: Memories) -> None:
    bia = memories.of(BIA)
    [item] = await _save(bia, PASSWORD)
    await _save(ana, BIRTHDAY)
    normalizer = await ana.embedding.normalizer()
    assert normalizer is not None
    assert isinstance(ana.indexes, Indexes)
    assert isinstance(bia.indexes, Indexes)
    async with ana.indexes.reading(ANA, normalizer) as owner_index:
        foreign = await bia.indexes.phrases.phrases(BIA, memory_ids=[item.id])
        vectors = await bia.embed([text for _, text in foreign.values()])
        rows = normalizer.project(np.stack([vectors[text] for _, text in foreign.values()]))
        owner_index.index.add(list(foreign), rows)
    assert await _search(ana, "senha do aliexpress") == []


async def test_what_another_process_added_is_found_by_its_vectors_at_the_next_search(
    ana: UserMemory, memories: Memories, store: SearchableMemoryStore, embedder: HashEmbedder, clock: FakeClock
) -> None:
    await _save(ana, PASSWORD)
    assert await _search(ana, "aniversário da mãe") == []
    elsewhere = Memories(store, embedder, Indexes(store, FaissIndex), clock)
    await _save(elsewhere.of(ANA), BIRTHDAY)
    await _save(ana, _draft("Rex", "nome do cachorro"))
    [hit] = await _search(ana, "aniversário da mãe")
    assert hit.item.content == "14 de março"
    assert hit.dense == pytest.approx(1, abs=1e-3)
    await elsewhere.close()


# Undone, flagged, spoken of in rooms, and shared by linked accounts.

CAIO = UserKey("test", "caio")
KITCHEN, GARDEN = "test:kitchen", "test:garden"


async def _found(memory: UserMemory, query: str, limit: int = 5) -> list[str]:
    hits = await memory.search([query], limit=limit)
    return [hit.item.content for hit in hits]


async def _by_vectors(memory: UserMemory, query: str) -> list[float]:
    """Return what the vectors alone say of each memory found."""
    return [hit.dense for hit in await memory.search([query])]


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
        hits = await ana.search([query], floor=0.0)
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
