"""Every memory store keeps a memory with all its rows, and keeps one person's from every other's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from core.storage.in_memory_memories import InMemoryMemories
from core.storage.memories import SqliteMemories
from core.storage.sqlite import open_database
from core.stores import MemoryStore
from core.types import MemoryDraft, MemoryKind, UserKey, Vector
from tests.fakes.clock import START

ANA, BIA = UserKey("telegram", "ana"), UserKey("discord", "ana")
LATER = START + timedelta(days=1)
SPACE = "hash@4"
PASSWORD = MemoryDraft(MemoryKind.TEXT, "A senha do AliExpress é 123456", ("senha do aliexpress", "aliexpress"))
BIRTHDAY = MemoryDraft(MemoryKind.TEXT, "O aniversário da Júlia é em 3 de maio", ("aniversário da Júlia",))
WIFI = MemoryDraft(MemoryKind.JSON, '{"wifi": "elefante", "password": "tromba"}', ("wifi", "wi-fi password"))


def vector(seed: int) -> Vector:
    raw = np.random.default_rng(seed).standard_normal(4)
    return (raw / np.linalg.norm(raw)).astype(np.float32)


@pytest.fixture(params=["in_memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MemoryStore]:
    if request.param == "in_memory":
        yield InMemoryMemories()
        return
    database = await open_database(tmp_path / "elefante.db")
    yield SqliteMemories(database)
    await database.close()


@pytest.mark.spec("T10")
async def test_what_was_added_comes_back_whole_and_in_order(store: MemoryStore) -> None:
    items = await store.add(ANA, [PASSWORD, WIFI], at=START, source_ids=[9, 3, 9])
    assert [(i.kind, i.content, i.bindings) for i in items] == [
        (d.kind, d.content, d.bindings) for d in (PASSWORD, WIFI)
    ]
    assert all((i.created_at, i.updated_at, i.source_ids) == (START, START, (3, 9)) for i in items)
    assert len({i.id for i in items}) == 2
    assert list(await store.get(ANA, [items[1].id, "unknown", items[0].id])) == [items[1], items[0]]
    assert await store.count(ANA) == 2


async def test_nothing_to_add_adds_nobody(store: MemoryStore) -> None:
    assert list(await store.add(ANA, [], at=START)) == []
    assert list(await store.owners()) == []


@pytest.mark.parametrize("bindings", [(), ("",), ("senha", " \n")])
async def test_a_draft_without_a_binding_stores_nothing_at_all(store: MemoryStore, bindings: tuple[str, ...]) -> None:
    bad = MemoryDraft(MemoryKind.TEXT, "x", bindings)
    with pytest.raises(ValueError, match="binding"):
        await store.add(ANA, [PASSWORD, bad], at=START)
    assert await store.count(ANA) == 0
    [item] = await store.add(ANA, [PASSWORD], at=START)
    with pytest.raises(ValueError, match="binding"):
        await store.update(ANA, item.id, bad, at=LATER)
    assert list(await store.get(ANA, [item.id])) == [item]


async def test_vectors_without_the_name_of_their_space_store_nothing(store: MemoryStore) -> None:
    with pytest.raises(ValueError, match="space"):
        await store.add(ANA, [PASSWORD], at=START, vectors={"aliexpress": vector(1)})
    assert await store.count(ANA) == 0
    [item] = await store.add(ANA, [PASSWORD], at=START)
    with pytest.raises(ValueError, match="space"):
        await store.update(ANA, item.id, WIFI, at=START, vectors={"wifi": vector(1)})
    with pytest.raises(ValueError, match="space"):
        await store.put_vectors(ANA, "", {1: vector(1)})
    assert list(await store.get(ANA, [item.id])) == [item]


async def test_a_phrase_said_twice_is_one_phrase(store: MemoryStore) -> None:
    draft = MemoryDraft(MemoryKind.TEXT, "wifi", ("wifi", "rede", "wifi"))
    [item] = await store.add(ANA, [draft], at=START)
    assert item.bindings == ("wifi", "rede")
    assert list(await store.get(ANA, [item.id])) == [item]
    assert sorted((await store.memory_phrases(ANA, [item.id])).values()) == ["rede", "wifi"]


async def test_text_that_is_no_text_is_stored_as_near_as_can_be(store: MemoryStore) -> None:
    draft = MemoryDraft(MemoryKind.TEXT, "nul \x00 lone \ud800", ("b \udfff", "\x00"))
    [item] = await store.add(ANA, [draft], at=START, vectors={"b \udfff": vector(1)}, space=SPACE)
    assert (item.content, item.bindings) == ("nul \x00 lone \ufffd", ("b \ufffd", "\x00"))
    assert list(await store.get(ANA, ["\ud800", item.id])) == [item]
    assert len((await store.phrase_vectors(ANA, SPACE))[0]) == 1
    assert await store.update(ANA, "\ud800", draft, at=START) is None
    assert list(await store.delete(ANA, ["\ud800"])) == []
    assert list(await store.page(ANA, limit=5, before="\ud800")) == []
    assert await store.find(ANA, MemoryKind.TEXT, "nul \x00 lone \ud800") == item


@pytest.mark.spec("T10")
async def test_every_binding_and_the_content_are_phrases_with_vectors_of_their_own(store: MemoryStore) -> None:
    texts = (*PASSWORD.bindings, PASSWORD.content)
    vectors = {text: vector(seed) for seed, text in enumerate(texts)}
    [item] = await store.add(ANA, [PASSWORD], at=START, vectors=vectors | {"nobody": vector(9)}, space=SPACE)
    phrases = await store.memory_phrases(ANA, [item.id])
    assert sorted(phrases.values()) == sorted(texts)
    ids, stored = await store.phrase_vectors(ANA, SPACE)
    assert list(ids) == sorted(phrases)
    for row, phrase_id in enumerate(ids):
        np.testing.assert_array_equal(stored[row], vectors[phrases[phrase_id]])
    assert await store.phrases(ANA, [*ids, 10**6]) == {i: (item.id, phrases[i]) for i in ids}
    assert await store.unembedded(ANA, SPACE, 9) == {}


async def test_phrases_without_a_vector_are_listed_until_they_get_one(store: MemoryStore) -> None:
    vectors = {"aliexpress": vector(1)}
    await store.add(ANA, [PASSWORD], at=START, vectors=vectors, space=SPACE)
    missing = await store.unembedded(ANA, SPACE, 9)
    assert sorted(missing.values()) == sorted({*PASSWORD.bindings, PASSWORD.content} - {"aliexpress"})
    assert list(missing) == sorted(missing)
    assert len(await store.unembedded(ANA, SPACE, 1)) == 1
    await store.put_vectors(ANA, SPACE, {i: vector(i) for i in missing} | {10**6: vector(0)})
    assert await store.unembedded(ANA, SPACE, 9) == {}
    ids, stored = await store.phrase_vectors(ANA, SPACE)
    assert stored.shape == (3, 4)
    assert stored.dtype == np.float32
    assert set(missing) < set(ids)


async def test_spaces_do_not_mix_and_a_vector_can_be_replaced(store: MemoryStore) -> None:
    await store.add(ANA, [BIRTHDAY], at=START, vectors={BIRTHDAY.content: vector(1)}, space="old@4")
    assert len(await store.unembedded(ANA, "new@4", 9)) == 2
    [phrase_id] = (await store.phrase_vectors(ANA, "old@4"))[0]
    await store.put_vectors(ANA, "new@4", {phrase_id: vector(2)})
    await store.put_vectors(ANA, "new@4", {phrase_id: vector(3)})
    for space, seed in (("old@4", 1), ("new@4", 3)):
        np.testing.assert_array_equal((await store.phrase_vectors(ANA, space))[1], vector(seed)[None])
    ids, vectors = await store.phrase_vectors(ANA, "unknown@4")
    assert (list(ids), len(vectors)) == ([], 0)


@pytest.mark.spec("T11")
async def test_an_update_keeps_the_ids_and_vectors_of_phrases_that_stay(store: MemoryStore) -> None:
    vectors = {text: vector(seed) for seed, text in enumerate((*PASSWORD.bindings, PASSWORD.content))}
    [item] = await store.add(ANA, [PASSWORD], at=START, source_ids=[5], vectors=vectors, space=SPACE)
    before = await store.memory_phrases(ANA, [item.id])
    draft = MemoryDraft(MemoryKind.JSON, "A senha é 654321", ("nova senha", "aliexpress"))
    updated = await store.update(ANA, item.id, draft, at=LATER, vectors={"nova senha": vector(7)}, space=SPACE)
    assert updated is not None
    assert (updated.id, updated.created_at, updated.updated_at, updated.source_ids) == (item.id, START, LATER, (5,))
    assert (updated.kind, updated.content, updated.bindings) == (draft.kind, draft.content, draft.bindings)
    assert list(await store.get(ANA, [item.id])) == [updated]
    after = await store.memory_phrases(ANA, [item.id])
    assert {i for i, text in after.items() if text == "aliexpress"} == {
        i for i, t in before.items() if t == "aliexpress"
    }
    assert not set(before) & {i for i, text in after.items() if text != "aliexpress"}
    ids, stored = await store.phrase_vectors(ANA, SPACE)
    assert {after[i]: stored[row].tolist() for row, i in enumerate(ids)} == {
        "aliexpress": vectors["aliexpress"].tolist(),
        "nova senha": vector(7).tolist(),
    }
    assert await store.unembedded(ANA, SPACE, 9) == {i: t for i, t in after.items() if t == draft.content}


@pytest.mark.spec("T11")
async def test_after_an_update_only_the_new_words_are_found(store: MemoryStore) -> None:
    [item] = await store.add(ANA, [PASSWORD], at=START)
    await store.update(ANA, item.id, WIFI, at=LATER)
    assert [key for key, _ in await store.lexical(ANA, "tromba", 9)] == [item.id]
    assert list(await store.lexical(ANA, "aliexpress", 9)) == []
    assert await store.find(ANA, PASSWORD.kind, PASSWORD.content) is None
    assert await store.find(ANA, WIFI.kind, WIFI.content) is not None


async def test_bindings_alone_can_change(store: MemoryStore) -> None:
    [item] = await store.add(ANA, [PASSWORD], at=START)
    draft = MemoryDraft(PASSWORD.kind, PASSWORD.content, ("aliexpress", "senha do aliexpress", "login"))
    updated = await store.update(ANA, item.id, draft, at=LATER)
    assert updated is not None
    assert updated.bindings == draft.bindings


@pytest.mark.spec("T12")
async def test_a_deleted_memory_leaves_no_row_behind(store: MemoryStore) -> None:
    vectors = {BIRTHDAY.content: vector(1)}
    gone, kept = await store.add(ANA, [BIRTHDAY, PASSWORD], at=START, source_ids=[1], vectors=vectors, space=SPACE)
    phrases = await store.memory_phrases(ANA, [gone.id])
    assert list(await store.delete(ANA, ["unknown", gone.id, gone.id])) == [gone]
    assert list(await store.get(ANA, [gone.id])) == []
    assert await store.phrases(ANA, list(phrases)) == {}
    assert list((await store.phrase_vectors(ANA, SPACE))[0]) == []
    assert list(await store.lexical(ANA, "Júlia", 9)) == []
    assert await store.find(ANA, BIRTHDAY.kind, BIRTHDAY.content) is None
    assert list(await store.page(ANA, limit=9)) == [kept]
    assert list(await store.delete(ANA, [gone.id])) == []


async def test_a_phrase_id_is_never_given_again(store: MemoryStore) -> None:
    [first] = await store.add(ANA, [PASSWORD], at=START)
    ids = set(await store.memory_phrases(ANA, [first.id]))
    await store.delete(ANA, [first.id])
    [second] = await store.add(ANA, [PASSWORD], at=START)
    assert min(await store.memory_phrases(ANA, [second.id])) > max(ids)
    await store.forget(ANA)
    [third] = await store.add(BIA, [PASSWORD], at=START)
    assert not ids & set(await store.memory_phrases(BIA, [third.id]))


@pytest.mark.parametrize("written", ["a senha do  aliexpress e 123456", "A SENHA DO ALIEXPRESS É 123456\n"])
async def test_the_same_content_is_found_however_it_is_written(store: MemoryStore, written: str) -> None:
    [item] = await store.add(ANA, [PASSWORD], at=START)
    assert await store.find(ANA, MemoryKind.TEXT, written) == item
    assert await store.find(ANA, MemoryKind.JSON, written) is None
    assert await store.find(ANA, MemoryKind.TEXT, written + "7") is None


async def test_pages_go_from_new_to_old_without_gap_or_repeat(store: MemoryStore) -> None:
    drafts = [MemoryDraft(MemoryKind.TEXT, f"fato {n}", (f"chave {n}",)) for n in range(7)]
    old = list(await store.add(ANA, drafts[:3], at=START))
    new = list(await store.add(ANA, drafts[3:], at=LATER))
    seen = list(await store.page(ANA, limit=3))
    while page := list(await store.page(ANA, limit=3, before=seen[-1].id)):
        seen += page
    assert seen == [*reversed(new), *reversed(old)]
    assert list(await store.page(ANA, limit=0)) == []
    assert list(await store.page(ANA, limit=3, before="unknown")) == []


@pytest.mark.parametrize(
    "query",
    [
        "123456",
        "aliexpress",
        "ALIEXPRESS?",
        "qual é a senha do Aliexpress",
        "senhas",
        "Ali-Express aliexpress",
        "sénha",
    ],
)
async def test_a_memory_is_found_by_its_words_whatever_case_accent_or_ending(store: MemoryStore, query: str) -> None:
    item, _ = await store.add(ANA, [PASSWORD, BIRTHDAY], at=START)
    found = await store.lexical(ANA, query, 9)
    assert [key for key, _ in found] == [item.id]
    assert all(score > 0 for _, score in found)


@pytest.mark.parametrize(
    "query",
    [
        "", " ", "?!", '"', "***", "NEAR(", "owner:o1", "words : x", "o1", "o2", "' OR 1=1 --", "(((", "zzz AND", "NOT",
        "^zzz", "zzz*", "{zzz}", "\x00", "\ud800", "ﷺ", "🐘",
    ],
)  # fmt: skip
async def test_no_operator_has_a_meaning_in_a_query(store: MemoryStore, query: str) -> None:
    await store.add(ANA, [PASSWORD], at=START)
    assert list(await store.lexical(ANA, query, 9)) == []


async def test_words_that_only_hold_a_sentence_together_do_not_match(store: MemoryStore) -> None:
    item, _ = await store.add(ANA, [PASSWORD, BIRTHDAY], at=START)
    assert [key for key, _ in await store.lexical(ANA, "o que é a senha da minha conta", 9)] == [item.id]
    assert len(await store.lexical(ANA, "do", 9)) == 1


async def test_full_text_matches_come_best_first_and_no_more_than_asked(store: MemoryStore) -> None:
    drafts = [
        MemoryDraft(MemoryKind.TEXT, "Bia gosta de chá", ("chá da Bia",)),
        MemoryDraft(MemoryKind.TEXT, "Bia gosta de café preto sem açúcar", ("café da Bia",)),
        MemoryDraft(MemoryKind.TEXT, "O café fecha às dez", ("horário da padaria",)),
        MemoryDraft(MemoryKind.TEXT, "O cachorro chama Tobias", ("cachorro",)),
        MemoryDraft(MemoryKind.TEXT, "O médico atende às terças", ("médico",)),
    ]
    items = await store.add(ANA, drafts, at=START)
    found = await store.lexical(ANA, "que café a Bia toma?", 9)
    assert found[0][0] == items[1].id
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    assert {key for key, _ in found} == {items[0].id, items[1].id, items[2].id}
    assert list(await store.lexical(ANA, "que café a Bia toma?", 1)) == [found[0]]
    assert list(await store.lexical(ANA, "café", 0)) == []


@pytest.mark.spec("T15")
async def test_nobody_reads_changes_counts_or_deletes_anothers_memories(store: MemoryStore) -> None:
    vectors = {PASSWORD.content: vector(1)}
    [mine] = await store.add(ANA, [PASSWORD], at=START, vectors=vectors, space=SPACE)
    phrase_ids = list(await store.memory_phrases(ANA, [mine.id]))
    for _ in range(2):  # somebody without any memory, then somebody with one
        assert list(await store.get(BIA, [mine.id])) == []
        assert await store.update(BIA, mine.id, WIFI, at=LATER) is None
        assert list(await store.delete(BIA, [mine.id])) == []
        assert await store.find(BIA, PASSWORD.kind, PASSWORD.content) is None
        assert list(await store.page(BIA, limit=9, before=mine.id)) == []
        assert await store.phrases(BIA, phrase_ids) == {}
        assert await store.memory_phrases(BIA, [mine.id]) == {}
        assert list(await store.lexical(BIA, "senha aliexpress o1", 9)) == []
        assert list((await store.phrase_vectors(BIA, SPACE))[0]) == []
        assert not set(await store.unembedded(BIA, SPACE, 9)) & set(phrase_ids)
        await store.put_vectors(BIA, SPACE, dict.fromkeys(phrase_ids, vector(2)))
        await store.add(BIA, [BIRTHDAY], at=START)
    np.testing.assert_array_equal((await store.phrase_vectors(ANA, SPACE))[1], vector(1)[None])
    assert await store.forget(BIA) == 2
    assert list(await store.get(ANA, [mine.id])) == [mine]
    assert (await store.count(ANA), await store.count(BIA)) == (1, 0)


@pytest.mark.spec("T15")
async def test_a_full_text_match_of_one_among_many_is_never_crowded_out(store: MemoryStore) -> None:
    people = [UserKey("telegram", str(n)) for n in range(40)]
    for person in people:
        await store.add(person, [PASSWORD], at=START)
    for person in people:
        [(key, _)] = await store.lexical(person, "senha do aliexpress", 1)
        assert [item.content for item in await store.get(person, [key])] == [PASSWORD.content]


async def test_forgetting_removes_everything_and_says_how_much(store: MemoryStore) -> None:
    await store.add(ANA, [PASSWORD, WIFI], at=START, vectors={"wifi": vector(1)}, space=SPACE)
    await store.add(BIA, [BIRTHDAY], at=START)
    assert list(await store.owners()) == [ANA, BIA]
    assert await store.forget(ANA) == 2
    assert await store.forget(ANA) == 0
    assert list(await store.owners()) == [BIA]
    assert (await store.count(ANA), await store.count(BIA)) == (0, 1)
    assert list(await store.lexical(ANA, "wifi", 9)) == []
    assert list((await store.phrase_vectors(ANA, SPACE))[0]) == []


async def test_who_deleted_their_last_memory_is_no_owner(store: MemoryStore) -> None:
    [item] = await store.add(ANA, [PASSWORD], at=START)
    await store.delete(ANA, [item.id])
    assert list(await store.owners()) == []


async def test_thousands_of_vectors_come_back_in_one_piece(store: MemoryStore) -> None:
    drafts = [MemoryDraft(MemoryKind.TEXT, f"fato {n}", (f"chave {n}",)) for n in range(2300)]
    vectors = {draft.content: vector(n) for n, draft in enumerate(drafts)}
    await store.add(ANA, drafts, at=START, vectors=vectors, space=SPACE)
    ids, stored = await store.phrase_vectors(ANA, SPACE)
    assert (len(ids), stored.shape) == (2300, (2300, 4))
    assert list(ids) == sorted(set(ids))
    np.testing.assert_array_equal(stored, np.stack(list(vectors.values())))


async def test_memories_survive_a_restart(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    [item] = await SqliteMemories(database).add(ANA, [PASSWORD], at=START)
    await database.close()
    database = await open_database(tmp_path / "elefante.db")
    store = SqliteMemories(database)
    assert list(await store.get(ANA, [item.id])) == [item]
    assert [key for key, _ in await store.lexical(ANA, "aliexpress", 1)] == [item.id]
    await database.close()
