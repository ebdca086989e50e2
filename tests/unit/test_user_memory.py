"""One person's memory over both stores, with words for vectors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest

from core.errors import StorageError
from core.memory.embedding import Indexes
from core.memory.memories import Memories
from core.memory.user_memory import UserMemory
from core.storage.faiss_index import FaissIndex
from core.storage.memories import SqlMemories
from core.stores import SearchableMemoryStore
from core.types import SURE, MemoryDraft, MemoryHit, MemoryItem, MemoryKind, UserKey
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
    vectors = await memory.embed([phrase for draft in drafts for phrase in memory.phrases_of(draft)])
    return list(await memory.add(drafts, vectors, source_ids=[7]))


async def _search(memory: UserMemory, *queries: str, limit: int = 5) -> list[MemoryHit]:
    return list(await memory.search(queries, await memory.embed_queries(queries), limit=limit))


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
    [item] = await _save(ana, _draft("Azul", "cor"), _draft(" azul", "cor favorita"))
    assert item.bindings == ("cor", "cor favorita")
    assert await ana.count() == 1


@pytest.mark.spec("T10")
async def test_a_draft_without_a_binding_stores_nothing(ana: UserMemory) -> None:
    with pytest.raises(ValueError, match="binding"):
        await _save(ana, PASSWORD, _draft("x", " \x00"))
    assert await ana.count() == 0


@pytest.mark.spec("T11")
async def test_an_updated_memory_is_found_by_the_new_and_not_by_the_old(ana: UserMemory) -> None:
    [item] = await _save(ana, PASSWORD)
    await _search(ana, "senha")
    new = _draft("987", "chave da garagem")
    changed = await ana.update(
        item.id, content="987", bindings=["chave da garagem"], vectors=await ana.embed(ana.phrases_of(new))
    )
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
