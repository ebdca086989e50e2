"""Every memory store keeps a memory with all its rows, and keeps one person's from every other's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.stores import ChangeContext, SearchableMemoryStore
from core.types import Change, ChangeKind, MemoryDraft, MemoryItem, MemoryKind, UserKey, Vector
from tests.contracts.engines import ENGINES
from tests.fakes.clock import START
from tests.fakes.memories import add, ids_found
from tests.fakes.memories import embedded as embedded_in
from tests.profile import long

ANA, BIA = UserKey("telegram", "ana"), UserKey("discord", "ana")
CAIO = UserKey("telegram", "caio")
KITCHEN, GARDEN = "telegram:kitchen", "discord:garden"
LATER = START + timedelta(days=1)
SPACE = "hash@4"
HALF = 1e-3
"""How exactly vectors come back: half floats will do."""

PASSWORD = MemoryDraft(MemoryKind.TEXT, "A senha do AliExpress é 123456", ("senha do aliexpress", "aliexpress"))
BIRTHDAY = MemoryDraft(MemoryKind.TEXT, "O aniversário da Júlia é em 3 de maio", ("aniversário da Júlia",))
WIFI = MemoryDraft(MemoryKind.JSON, '{"wifi": "elefante", "password": "tromba"}', ("wifi", "wi-fi password"))


def vector(seed: int) -> Vector:
    raw = np.random.default_rng(seed).standard_normal(4)
    return (raw / np.linalg.norm(raw)).astype(np.float32)


async def texts_of(store: SearchableMemoryStore, owner: UserKey, memory_ids: Sequence[str]) -> dict[int, str]:
    phrases = await store.phrases(owner, memory_ids=memory_ids)
    return {i: text for i, (_, text) in phrases.items()}


async def heard(store: SearchableMemoryStore, owner: UserKey, room: str) -> set[str]:
    page = await store.page(owner, limit=9_999, room=room)
    for item in page:
        assert item.id in await ids_found(store, owner, item.content, room=room)
    return {item.id for item in page}


async def counts(store: SearchableMemoryStore, owner: UserKey) -> dict[UserKey, int]:
    return {account: share.count for account, share in (await store.shares(owner)).items()}


@pytest.mark.spec("T10")
async def test_what_was_added_comes_back_whole_and_in_order(store: SearchableMemoryStore) -> None:
    items = await add(store, ANA, [PASSWORD, WIFI], at=START, source_ids=[9, 3, 9])
    assert [(i.kind, i.content, i.bindings) for i in items] == [
        (d.kind, d.content, d.bindings) for d in (PASSWORD, WIFI)
    ]
    assert all((i.created_at, i.updated_at, i.source_ids) == (START, START, (3, 9)) for i in items)
    assert len({i.id for i in items}) == 2
    assert list(await store.get(ANA, [items[1].id, "unknown", items[0].id])) == [items[1], items[0]]
    assert await store.count(ANA) == 2


async def test_what_was_said_before_it_is_saved_has_that_time_and_nothing_is_said_later(
    store: SearchableMemoryStore,
) -> None:
    before, after = (replace(WIFI, said_at=START + timedelta(days=days)) for days in (-400, 1))
    items = await add(store, ANA, [before, replace(after, content="other")], at=START, context=ChangeContext("act"))
    assert [item.created_at for item in items] == [START - timedelta(days=400), START]
    assert [change.at for change in await store.changes(ANA, act="act")] == [START, START]


async def test_nothing_to_add_adds_nobody(store: SearchableMemoryStore) -> None:
    assert list(await add(store, ANA, [], at=START)) == []
    assert list(await store.owners()) == []


@pytest.mark.parametrize("bindings", [(), ("",), ("senha", " \n")])
async def test_a_draft_without_a_binding_stores_nothing_at_all(
    store: SearchableMemoryStore, bindings: tuple[str, ...]
) -> None:
    bad = MemoryDraft(MemoryKind.TEXT, "x", bindings)
    with pytest.raises(ValueError, match="binding"):
        await add(store, ANA, [PASSWORD, bad], at=START)
    assert await store.count(ANA) == 0
    [item] = await add(store, ANA, [PASSWORD], at=START)
    with pytest.raises(ValueError, match="binding"):
        await store.update(ANA, item.id, bad, at=LATER)
    assert list(await store.get(ANA, [item.id])) == [item]


async def test_vectors_without_the_name_of_their_space_store_nothing(store: SearchableMemoryStore) -> None:
    with pytest.raises(ValueError, match="space"):
        await add(store, ANA, [PASSWORD], at=START, vectors={"aliexpress": vector(1)})
    assert await store.count(ANA) == 0
    [item] = await add(store, ANA, [PASSWORD], at=START)
    with pytest.raises(ValueError, match="space"):
        await store.update(ANA, item.id, WIFI, at=START, vectors={"wifi": vector(1)})
    with pytest.raises(ValueError, match="space"):
        await store.put_vectors(ANA, "", {1: vector(1)})
    assert list(await store.get(ANA, [item.id])) == [item]


async def test_a_phrase_said_twice_is_one_phrase(store: SearchableMemoryStore) -> None:
    draft = MemoryDraft(MemoryKind.TEXT, "wifi", ("wifi", "rede", "wifi"))
    [item] = await add(store, ANA, [draft], at=START)
    assert item.bindings == ("wifi", "rede")
    assert list(await store.get(ANA, [item.id])) == [item]
    assert sorted((await texts_of(store, ANA, [item.id])).values()) == ["rede", "wifi"]


async def test_text_that_is_no_text_is_stored_as_near_as_can_be(store: SearchableMemoryStore) -> None:
    draft = MemoryDraft(MemoryKind.TEXT, "nul \x00 lone \ud800", ("b \udfff", "\x00"))
    [item] = await add(store, ANA, [draft], at=START, vectors={"b \udfff": vector(1)}, space=SPACE)
    assert (item.content, item.bindings) == ("nul \ufffd lone \ufffd", ("b \ufffd", "\ufffd"))
    assert list(await store.get(ANA, ["\ud800", "\x00", item.id])) == [item]
    assert len((await store.vectors(ANA, SPACE))[0]) == 1
    assert await store.update(ANA, "\ud800", draft, at=START) is None
    assert list(await store.delete(ANA, ["\ud800"])) == []
    assert list(await store.page(ANA, limit=5, before="\ud800")) == []
    assert await store.find(ANA, MemoryKind.TEXT, "nul \x00 lone \ud800") == item


@pytest.mark.spec("T10")
async def test_every_binding_and_the_content_are_phrases_with_vectors_of_their_own(
    store: SearchableMemoryStore,
) -> None:
    texts = (*PASSWORD.bindings, PASSWORD.content)
    vectors = {text: vector(seed) for seed, text in enumerate(texts)}
    [item] = await add(store, ANA, [PASSWORD], at=START, vectors=vectors | {"nobody": vector(9)}, space=SPACE)
    phrases = await texts_of(store, ANA, [item.id])
    assert sorted(phrases.values()) == sorted(texts)
    ids, stored = await store.vectors(ANA, SPACE)
    assert list(ids) == sorted(phrases)
    for row, phrase_id in enumerate(ids):
        np.testing.assert_allclose(stored[row], vectors[phrases[phrase_id]], atol=HALF)
    assert await store.phrases(ANA, [*ids, 10**6]) == {i: (item.id, phrases[i]) for i in ids}
    assert await store.unembedded(ANA, SPACE, 9) == {}


async def test_phrases_without_a_vector_are_listed_until_they_get_one(store: SearchableMemoryStore) -> None:
    vectors = {"aliexpress": vector(1)}
    await add(store, ANA, [PASSWORD], at=START, vectors=vectors, space=SPACE)
    missing = await store.unembedded(ANA, SPACE, 9)
    assert sorted(missing.values()) == sorted({*PASSWORD.bindings, PASSWORD.content} - {"aliexpress"})
    assert list(missing) == sorted(missing)
    assert len(await store.unembedded(ANA, SPACE, 1)) == 1
    await store.put_vectors(ANA, SPACE, {i: vector(i) for i in missing} | {10**6: vector(0)})
    assert await store.unembedded(ANA, SPACE, 9) == {}
    ids, stored = await store.vectors(ANA, SPACE)
    assert stored.shape == (3, 4)
    assert stored.dtype == np.float32
    assert set(missing) < set(ids)


async def test_spaces_do_not_mix_and_a_vector_can_be_replaced(store: SearchableMemoryStore) -> None:
    await add(store, ANA, [BIRTHDAY], at=START, vectors={BIRTHDAY.content: vector(1)}, space="old@4")
    assert len(await store.unembedded(ANA, "new@4", 9)) == 2
    [phrase_id] = (await store.vectors(ANA, "old@4"))[0]
    await store.put_vectors(ANA, "new@4", {phrase_id: vector(2)})
    await store.put_vectors(ANA, "new@4", {phrase_id: vector(3)})
    for space, seed in (("old@4", 1), ("new@4", 3)):
        np.testing.assert_allclose((await store.vectors(ANA, space))[1], vector(seed)[None], atol=HALF)
    ids, vectors = await store.vectors(ANA, "unknown@4")
    assert (list(ids), len(vectors)) == ([], 0)


async def test_one_space_is_kept_of_one_owner(store: SearchableMemoryStore) -> None:
    for owner in (ANA, BIA):
        await add(store, owner, [BIRTHDAY], at=START, vectors={BIRTHDAY.content: vector(1)}, space="old@4")
        missing = await store.unembedded(owner, "new@4", 9)
        await store.put_vectors(owner, "new@4", {phrase_id: vector(2) for phrase_id in missing})
    await store.keep_space(ANA, "new@4")
    counts = {
        (owner, space): len(await embedded_in(store, owner, space))
        for owner in (ANA, BIA)
        for space in ("old@4", "new@4")
    }
    assert counts == {(ANA, "old@4"): 0, (ANA, "new@4"): 2, (BIA, "old@4"): 1, (BIA, "new@4"): 2}
    await store.keep_space(BIA, "unknown@4")
    assert len(await embedded_in(store, BIA, "new@4")) == 0


@pytest.mark.spec("T11")
async def test_an_update_keeps_the_ids_and_vectors_of_phrases_that_stay(store: SearchableMemoryStore) -> None:
    vectors = {text: vector(seed) for seed, text in enumerate((*PASSWORD.bindings, PASSWORD.content))}
    [item] = await add(store, ANA, [PASSWORD], at=START, source_ids=[5], vectors=vectors, space=SPACE)
    before = await texts_of(store, ANA, [item.id])
    draft = MemoryDraft(MemoryKind.JSON, "A senha é 654321", ("nova senha", "aliexpress"))
    updated = await store.update(ANA, item.id, draft, at=LATER, vectors={"nova senha": vector(7)}, space=SPACE)
    assert updated is not None
    assert (updated.id, updated.created_at, updated.updated_at, updated.source_ids) == (item.id, START, LATER, (5,))
    assert (updated.kind, updated.content, updated.bindings) == (draft.kind, draft.content, draft.bindings)
    assert list(await store.get(ANA, [item.id])) == [updated]
    after = await texts_of(store, ANA, [item.id])
    assert {i for i, text in after.items() if text == "aliexpress"} == {
        i for i, t in before.items() if t == "aliexpress"
    }
    assert not set(before) & {i for i, text in after.items() if text != "aliexpress"}
    ids, stored = await store.vectors(ANA, SPACE)
    assert {after[i]: pytest.approx(stored[row], abs=HALF) for row, i in enumerate(ids)} == {
        "aliexpress": vectors["aliexpress"],
        "nova senha": vector(7),
    }
    assert await store.unembedded(ANA, SPACE, 9) == {i: t for i, t in after.items() if t == draft.content}


@pytest.mark.spec("T11")
async def test_after_an_update_only_the_new_words_are_found(store: SearchableMemoryStore) -> None:
    [item] = await add(store, ANA, [PASSWORD], at=START)
    await store.update(ANA, item.id, WIFI, at=LATER)
    assert await ids_found(store, ANA, "tromba") == [item.id]
    assert await ids_found(store, ANA, "aliexpress") == []
    assert await store.find(ANA, PASSWORD.kind, PASSWORD.content) is None
    assert await store.find(ANA, WIFI.kind, WIFI.content) is not None


async def test_bindings_alone_can_change(store: SearchableMemoryStore) -> None:
    [item] = await add(store, ANA, [PASSWORD], at=START)
    draft = MemoryDraft(PASSWORD.kind, PASSWORD.content, ("aliexpress", "senha do aliexpress", "login"))
    updated = await store.update(ANA, item.id, draft, at=LATER)
    assert updated is not None
    assert updated.bindings == draft.bindings


@pytest.mark.spec("T12")
async def test_a_deleted_memory_leaves_no_row_behind(store: SearchableMemoryStore) -> None:
    vectors = {BIRTHDAY.content: vector(1)}
    gone, kept = await add(store, ANA, [BIRTHDAY, PASSWORD], at=START, source_ids=[1], vectors=vectors, space=SPACE)
    phrases = await texts_of(store, ANA, [gone.id])
    assert list(await store.delete(ANA, ["unknown", gone.id, gone.id])) == [gone]
    assert list(await store.get(ANA, [gone.id])) == []
    assert await store.phrases(ANA, list(phrases)) == {}
    assert list((await store.vectors(ANA, SPACE))[0]) == []
    assert await ids_found(store, ANA, "Júlia") == []
    assert await store.find(ANA, BIRTHDAY.kind, BIRTHDAY.content) is None
    assert list(await store.page(ANA, limit=9)) == [kept]
    assert list(await store.delete(ANA, [gone.id])) == []


async def test_a_phrase_id_is_never_given_again(store: SearchableMemoryStore) -> None:
    [first] = await add(store, ANA, [PASSWORD], at=START)
    ids = set(await texts_of(store, ANA, [first.id]))
    await store.delete(ANA, [first.id])
    [second] = await add(store, ANA, [PASSWORD], at=START)
    assert min(await texts_of(store, ANA, [second.id])) > max(ids)
    await store.forget(ANA)
    [third] = await add(store, BIA, [PASSWORD], at=START)
    assert not ids & set(await texts_of(store, BIA, [third.id]))


@pytest.mark.parametrize(
    "written",
    ["a senha do  aliexpress e 123456", "A SENHA DO ALIEXPRESS É 123456\n", "A senha, do “AliExpress”: é (123456)!…"],
)
async def test_the_same_content_is_found_however_it_is_written(store: SearchableMemoryStore, written: str) -> None:
    [item] = await add(store, ANA, [PASSWORD], at=START)
    assert await store.find(ANA, MemoryKind.TEXT, written) == item
    assert await store.find(ANA, MemoryKind.JSON, written) is None
    assert await store.find(ANA, MemoryKind.TEXT, written + "7") is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("peso 1.5 kg", "peso 15 kg"),
        ("gosto de C++", "gosto de C"),
        ("fez -3 graus", "fez 3 graus"),
        ("😀", "😢"),
        ("?", "!"),
    ],
)
async def test_signs_that_are_part_of_a_word_count(store: SearchableMemoryStore, one: str, other: str) -> None:
    [item] = await add(store, ANA, [MemoryDraft(MemoryKind.TEXT, one, ("k",))], at=START)
    assert await store.find(ANA, MemoryKind.TEXT, one) == item
    assert await store.find(ANA, MemoryKind.TEXT, other) is None


async def test_punctuation_of_json_counts(store: SearchableMemoryStore) -> None:
    [item] = await add(store, ANA, [MemoryDraft(MemoryKind.JSON, '["a", "b"]', ("k",))], at=START)
    assert await store.find(ANA, MemoryKind.JSON, '["A",  "b"]') == item
    assert await store.find(ANA, MemoryKind.JSON, '["a, b"]') is None


async def test_pages_go_from_new_to_old_without_gap_or_repeat(store: SearchableMemoryStore) -> None:
    drafts = [MemoryDraft(MemoryKind.TEXT, f"fato {n}", (f"chave {n}",)) for n in range(7)]
    old = list(await add(store, ANA, drafts[:3], at=START))
    new = list(await add(store, ANA, drafts[3:], at=LATER))
    seen = list(await store.page(ANA, limit=3))
    while page := list(await store.page(ANA, limit=3, before=seen[-1].id)):
        seen += page
    assert seen == [*reversed(new), *reversed(old)]
    assert list(await store.page(ANA, limit=0)) == []
    assert list(await store.page(ANA, limit=3, before="unknown")) == []


@pytest.mark.spec("T15")
async def test_nobody_reads_changes_counts_or_deletes_anothers_memories(store: SearchableMemoryStore) -> None:
    vectors = {PASSWORD.content: vector(1)}
    [mine] = await add(store, ANA, [PASSWORD], at=START, vectors=vectors, space=SPACE)
    phrase_ids = list(await texts_of(store, ANA, [mine.id]))
    for _ in range(2):  # somebody without any memory, then somebody with one
        assert list(await store.get(BIA, [mine.id])) == []
        assert await store.update(BIA, mine.id, WIFI, at=LATER) is None
        assert list(await store.delete(BIA, [mine.id])) == []
        assert await store.find(BIA, PASSWORD.kind, PASSWORD.content) is None
        assert list(await store.page(BIA, limit=9, before=mine.id)) == []
        assert await store.phrases(BIA, phrase_ids) == {}
        assert await texts_of(store, BIA, [mine.id]) == {}
        assert await ids_found(store, BIA, "senha aliexpress o1", nearest=frozenset(phrase_ids)) == []
        assert list((await store.vectors(BIA, SPACE))[0]) == []
        assert not set(await store.unembedded(BIA, SPACE, 9)) & set(phrase_ids)
        await store.put_vectors(BIA, SPACE, dict.fromkeys(phrase_ids, vector(2)))
        await add(store, BIA, [BIRTHDAY], at=START)
    np.testing.assert_allclose((await store.vectors(ANA, SPACE))[1], vector(1)[None], atol=HALF)
    assert await store.forget(BIA) == 1
    assert list(await store.get(ANA, [mine.id])) == [mine]
    assert (await store.count(ANA), await store.count(BIA)) == (1, 0)


async def test_forgetting_removes_everything_and_says_how_much(store: SearchableMemoryStore) -> None:
    await add(store, ANA, [PASSWORD, WIFI], at=START, vectors={"wifi": vector(1)}, space=SPACE)
    await add(store, BIA, [BIRTHDAY], at=START)
    assert list(await store.owners()) == [ANA, BIA]
    assert await store.forget(ANA) == 2
    assert await store.forget(ANA) == 0
    assert list(await store.owners()) == [BIA]
    assert (await store.count(ANA), await store.count(BIA)) == (0, 1)
    assert await ids_found(store, ANA, "wifi") == []
    assert list((await store.vectors(ANA, SPACE))[0]) == []


async def test_who_deleted_their_last_memory_is_no_owner(store: SearchableMemoryStore) -> None:
    [item] = await add(store, ANA, [PASSWORD], at=START)
    await store.delete(ANA, [item.id])
    assert list(await store.owners()) == []


# --- order and kinds -------------------------------------------------------------------------------------------------


async def test_pinned_memories_stand_first_and_pages_go_on_behind_them(store: SearchableMemoryStore) -> None:
    drafts = [MemoryDraft(MemoryKind.TEXT, f"fato {n}", (f"chave {n}",)) for n in range(6)]
    items = list(await add(store, ANA, drafts, at=START))
    assert await store.flag(ANA, [items[1].id], pinned=True, shared=False) == [replace(items[1], pinned=True)]
    assert await store.flag(ANA, [items[4].id], pinned=True, shared=True)
    seen: list[MemoryItem] = []
    while page := list(await store.page(ANA, limit=2, before=seen[-1].id if seen else "")):
        seen += page
    assert [item.content for item in seen] == [f"fato {n}" for n in (4, 1, 5, 3, 2, 0)]
    assert [(item.pinned, item.shared) for item in seen[:3]] == [(True, True), (True, False), (False, False)]
    assert await store.flag(ANA, [items[4].id], pinned=False, shared=False) == [items[4]]
    assert not await store.flag(ANA, ["unknown"], pinned=True, shared=True)


async def test_a_page_far_away_is_the_one_that_is_reached_page_by_page(store: SearchableMemoryStore) -> None:
    drafts = [MemoryDraft(MemoryKind.TEXT, f"{n}", (f"chave {n}",)) for n in range(9)]
    items = list(await add(store, ANA, drafts, at=START, context=ChangeContext(room=KITCHEN)))
    await add(store, ANA, [PASSWORD], at=LATER)
    await store.flag(ANA, [items[4].id], pinned=True, shared=False)
    for room in ("", KITCHEN):
        everything = list(await store.page(ANA, limit=99, room=room))
        for skip in range(len(everything) + 2):
            assert list(await store.page(ANA, limit=2, skip=skip, room=room)) == everything[skip : skip + 2]
        after = everything[1].id
        assert list(await store.page(ANA, limit=2, before=after, skip=1, room=room)) == everything[3:5]


# --- rooms -----------------------------------------------------------------------------------------------------------


async def test_what_was_said_in_a_room_is_audible_there_and_what_is_shared_everywhere(
    store: SearchableMemoryStore,
) -> None:
    [there] = await add(store, ANA, [PASSWORD], at=START, context=ChangeContext(room=KITCHEN))
    private, shared = await add(store, ANA, [WIFI, BIRTHDAY], at=START)
    assert (there.rooms, private.rooms) == ((KITCHEN,), ())
    await store.flag(ANA, [shared.id], pinned=False, shared=True)
    await add(store, BIA, [WIFI], at=START, context=ChangeContext(room=KITCHEN))
    assert await heard(store, ANA, KITCHEN) == {there.id, shared.id}
    assert await heard(store, ANA, GARDEN) == {shared.id}
    assert await heard(store, CAIO, KITCHEN) == frozenset()
    await store.flag(ANA, [shared.id], pinned=False, shared=False)
    assert await heard(store, ANA, GARDEN) == frozenset()


async def test_a_rooms_pages_hold_what_is_audible_there_in_the_same_order(store: SearchableMemoryStore) -> None:
    drafts = [MemoryDraft(MemoryKind.TEXT, f"fato {n}", (f"chave {n}",)) for n in range(5)]
    said = list(await add(store, ANA, [*drafts, WIFI], at=START, context=ChangeContext(room=KITCHEN)))
    await add(store, ANA, [PASSWORD, BIRTHDAY, WIFI], at=LATER)
    await add(store, BIA, [PASSWORD], at=LATER, context=ChangeContext(room=KITCHEN))
    [pinned] = await store.flag(ANA, [said[2].id], pinned=True, shared=False)
    seen: list[MemoryItem] = []
    while page := list(await store.page(ANA, limit=2, before=seen[-1].id if seen else "", room=KITCHEN)):
        seen += page
    assert seen == [pinned, *(said[n] for n in (5, 4, 3, 1, 0))]
    assert await store.count(ANA, room=KITCHEN) == 6
    assert (await store.count(ANA, room=GARDEN), list(await store.page(ANA, limit=9, room=GARDEN))) == (0, [])


async def test_a_memory_gathers_the_rooms_that_it_was_said_in(store: SearchableMemoryStore) -> None:
    [item] = await add(store, ANA, [PASSWORD], at=START, context=ChangeContext(room=GARDEN))
    await store.flag(ANA, [item.id, "unknown"], room=KITCHEN)
    await store.flag(ANA, [item.id], room=KITCHEN)
    [updated] = await store.get(ANA, [item.id])
    assert updated.rooms == (GARDEN, KITCHEN)
    await store.flag(ANA, [item.id], pinned=True, shared=True)
    await store.flag(ANA, [item.id], pinned=False, shared=False)
    assert list(await store.get(ANA, [item.id])) == [updated], "flags leave the rooms alone"
    await store.flag(BIA, [item.id], room="telegram:cellar")
    assert not await store.flag(BIA, [item.id], pinned=True, shared=True)
    assert list(await store.get(ANA, [item.id])) == [updated]


@pytest.mark.parametrize("room", ["", GARDEN, KITCHEN])
@pytest.mark.parametrize(("rooms", "shared"), [((), False), ((KITCHEN,), False), ((), True), ((KITCHEN,), True)])
async def test_new_words_are_heard_where_they_were_said_and_nowhere_else(
    store: SearchableMemoryStore, room: str, rooms: tuple[str, ...], *, shared: bool
) -> None:
    [item] = await add(store, ANA, [PASSWORD], at=START, context=ChangeContext("save", KITCHEN))
    [item] = await store.flag(ANA, [item.id], pinned=True, shared=True)
    new = await store.update(
        ANA, item.id, WIFI, at=LATER, context=ChangeContext("update", room), rooms=rooms, shared=shared
    )
    assert new is not None
    assert (new.rooms, new.shared, new.pinned) == (tuple(sorted({room, *rooms} - {""})), shared, True)
    assert await heard(store, ANA, KITCHEN) == ({item.id} if shared or KITCHEN in new.rooms else frozenset())
    assert await store.undo(ANA, "update")
    assert list(await store.get(ANA, [item.id])) == [item], "the old words, and where they were heard"


async def test_the_same_content_to_the_letter_comes_first_and_in_a_room_nothing_like_it_that_was_not_said_there(
    store: SearchableMemoryStore,
) -> None:
    secret, spoken = (MemoryDraft(MemoryKind.TEXT, text, ("k",)) for text in ("Code AbC", "code abc"))
    [private] = await add(store, ANA, [secret], at=START)
    assert await store.find(ANA, spoken.kind, spoken.content) == private
    assert await store.find(ANA, spoken.kind, spoken.content, room=KITCHEN) is None
    assert await store.find(ANA, spoken.kind, secret.content, room=KITCHEN) == private
    [there] = await add(store, ANA, [spoken], at=START, context=ChangeContext(room=KITCHEN))
    assert await store.find(ANA, spoken.kind, spoken.content) == there
    assert await store.find(ANA, spoken.kind, secret.content) == private
    assert await store.find(ANA, spoken.kind, "CODE ABC", room=KITCHEN) == there
    assert await store.find(ANA, spoken.kind, "CODE ABC", room=GARDEN) is None
    assert await store.find(BIA, spoken.kind, spoken.content, room=KITCHEN) is None


# --- changes and undo ------------------------------------------------------------------------------------------------


def summed_up(changes: Sequence[Change] | None) -> list[tuple[str, ChangeKind, MemoryItem | None, MemoryItem | None]]:
    return [(change.act, change.kind, change.before, change.after) for change in changes or ()]


async def test_every_marked_change_is_kept_and_no_other(store: SearchableMemoryStore) -> None:
    one, two = await add(store, ANA, [PASSWORD, BIRTHDAY], at=START, context=ChangeContext("save"))
    new = await store.update(ANA, one.id, WIFI, at=LATER, context=ChangeContext("update", KITCHEN))
    await add(store, ANA, [WIFI], at=LATER)
    await store.update(ANA, two.id, BIRTHDAY, at=LATER)
    [gone] = await store.delete(ANA, [one.id], at=LATER, context=ChangeContext("delete"))
    assert new == gone
    changes = await store.changes(ANA)
    assert summed_up(changes) == [
        ("delete", ChangeKind.DELETED, new, None),
        ("update", ChangeKind.UPDATED, one, new),
        ("save", ChangeKind.SAVED, None, two),
        ("save", ChangeKind.SAVED, None, one),
    ]
    assert [(change.at, change.memory_id, change.undone) for change in changes] == [
        (LATER, one.id, False), (LATER, one.id, False), (START, two.id, False), (START, one.id, False),
    ]  # fmt: skip
    assert list(await store.changes(ANA, act="update")) == [changes[1]]
    assert list(await store.changes(ANA, memory_id=one.id)) == [changes[0], changes[1], changes[3]]
    assert list(await store.changes(ANA, since=LATER)) == list(changes[:2])
    assert list(await store.changes(ANA, limit=1)) == [changes[0]]
    assert list(await store.changes(ANA, limit=0)) == []
    assert list(await store.changes(BIA)) == list(await store.changes(BIA, memory_id=one.id)) == []
    assert (await store.whose("update"), await store.whose("nobody's")) == (ANA, None)


@pytest.mark.parametrize("context", [ChangeContext(), ChangeContext("act")], ids=["unmarked", "without a time"])
async def test_a_deletion_that_cannot_be_undone_takes_all_earlier_versions_along(
    store: SearchableMemoryStore, context: ChangeContext
) -> None:
    [item] = await add(store, ANA, [PASSWORD], at=START, context=ChangeContext("save"))
    await store.update(ANA, item.id, WIFI, at=START, context=ChangeContext("update"))
    await store.delete(ANA, [item.id], at=None if context.act else LATER, context=context)
    assert list(await store.changes(ANA)) == []
    assert await store.undo(ANA, "save") is None


async def test_an_act_of_many_changes_is_taken_back_whole(store: SearchableMemoryStore) -> None:
    vectors = {text: vector(3) for text in (*PASSWORD.bindings, PASSWORD.content)}
    old, gone = await add(
        store,
        ANA,
        [PASSWORD, BIRTHDAY],
        at=START,
        source_ids=[4, 2],
        vectors=vectors,
        space=SPACE,
        context=ChangeContext(room=KITCHEN),
    )
    [gone] = await store.flag(ANA, [gone.id], pinned=True, shared=True)
    act = ChangeContext("act", GARDEN)
    await store.update(ANA, old.id, WIFI, at=LATER, context=act)
    await store.delete(ANA, [gone.id], at=LATER, context=act)
    [new] = await add(store, ANA, [BIRTHDAY], at=LATER, context=act)
    await store.update(ANA, new.id, PASSWORD, at=LATER, context=act)
    await store.update(ANA, old.id, BIRTHDAY, at=LATER, context=act)
    [fleeting] = await add(store, ANA, [WIFI], at=LATER, context=act)
    await store.delete(ANA, [fleeting.id], at=LATER, context=act)
    changes = await store.changes(ANA, act="act")
    undone = await store.undo(ANA, "act")
    assert undone is not None
    assert list(undone) == [replace(change, undone=True) for change in changes]
    assert list(await store.page(ANA, limit=9)) == [gone, old], "each as it was, in its place"
    assert {old.id, gone.id} == {change.memory_id for change in await store.changes(ANA)}, "no word of the new ones"
    assert list(await store.changes(ANA, not_undone=True)) == []
    assert await heard(store, ANA, GARDEN) == {gone.id}
    assert set(await ids_found(store, ANA, "aliexpress Júlia wifi")) == {old.id, gone.id}
    assert await store.find(ANA, PASSWORD.kind, PASSWORD.content) == old
    texts = await texts_of(store, ANA, [old.id, gone.id])
    assert await store.unembedded(ANA, SPACE, 99) == texts, "what came back has no vectors yet"
    assert await store.undo(ANA, "act") is None
    assert list(await store.page(ANA, limit=9)) == [gone, old]


async def test_phrases_that_an_undo_leaves_keep_their_vectors(store: SearchableMemoryStore) -> None:
    vectors = {text: vector(seed) for seed, text in enumerate((*PASSWORD.bindings, PASSWORD.content))}
    [item] = await add(store, ANA, [PASSWORD], at=START, vectors=vectors, space=SPACE)
    draft = MemoryDraft(PASSWORD.kind, PASSWORD.content, ("aliexpress", "login"))
    await store.update(ANA, item.id, draft, at=LATER, context=ChangeContext("act"))
    await store.undo(ANA, "act")
    assert list(await store.get(ANA, [item.id])) == [item]
    assert list((await store.unembedded(ANA, SPACE, 9)).values()) == ["senha do aliexpress"]


async def test_what_was_pinned_since_stays_so_and_where_the_new_words_were_heard_since_goes_with_them(
    store: SearchableMemoryStore,
) -> None:
    [item] = await add(store, ANA, [PASSWORD], at=START)
    await store.update(ANA, item.id, WIFI, at=LATER, context=ChangeContext("act", GARDEN))
    await store.flag(ANA, [item.id], pinned=True, shared=True)
    await store.flag(ANA, [item.id], room=KITCHEN)
    assert await store.undo(ANA, "act")
    assert list(await store.get(ANA, [item.id])) == [replace(item, pinned=True)]


async def test_the_newest_act_is_undone_first_and_then_the_one_before(store: SearchableMemoryStore) -> None:
    [item] = await add(store, ANA, [PASSWORD], at=START, context=ChangeContext("1"))
    second = await store.update(ANA, item.id, WIFI, at=START, context=ChangeContext("2"))
    await store.update(ANA, item.id, PASSWORD, at=START, context=ChangeContext("3"))
    for too_early in ("1", "2"):
        assert await store.undo(ANA, too_early) is None, "another act changed it since"
    assert await store.undo(ANA, "3")
    assert list(await store.get(ANA, [item.id])) == [second]
    assert await store.undo(ANA, "2")
    assert list(await store.get(ANA, [item.id])) == [item]
    assert await store.undo(ANA, "1")
    assert (await store.count(ANA), list(await store.changes(ANA))) == (0, [])


async def test_what_was_changed_since_without_a_mark_is_not_undone_and_nothing_of_its_act(
    store: SearchableMemoryStore,
) -> None:
    one, two = await add(store, ANA, [PASSWORD, BIRTHDAY], at=START, context=ChangeContext("act"))
    changed = await store.update(ANA, two.id, WIFI, at=LATER)
    assert await store.undo(ANA, "act") is None
    assert list(await store.page(ANA, limit=9)) == [changed, one]
    await store.delete(ANA, [two.id])
    assert await store.undo(ANA, "act"), "what is gone without a trace hinders nothing"
    assert await store.count(ANA) == 0


async def test_a_deletion_after_the_act_must_be_taken_back_before_it(store: SearchableMemoryStore) -> None:
    [item] = await add(store, ANA, [PASSWORD], at=START, context=ChangeContext("save"))
    await store.delete(ANA, [item.id], at=LATER, context=ChangeContext("delete"))
    assert await store.undo(ANA, "save") is None
    assert await store.undo(ANA, "delete")
    assert await store.undo(ANA, "save")


@pytest.mark.parametrize("act", ["", "unknown", "'; --", "\ud800"])
async def test_an_act_that_never_was_cannot_be_undone(store: SearchableMemoryStore, act: str) -> None:
    [item] = await add(store, ANA, [PASSWORD], at=START)
    assert await store.undo(ANA, act) is None
    assert list(await store.page(ANA, limit=9)) == [item]


@pytest.mark.spec("T15")
async def test_what_was_told_again_does_not_come_back_beside_itself(store: SearchableMemoryStore) -> None:
    [first] = await add(store, ANA, [PASSWORD], at=START, context=ChangeContext("told"))
    assert await store.delete(ANA, [first.id], at=START, context=ChangeContext("deleted"))
    await add(store, ANA, [PASSWORD], at=LATER, context=ChangeContext("told again"))
    assert await store.undo(ANA, "deleted") is None
    assert await store.count(ANA) == 1
    assert await store.undo(ANA, "told again")
    assert await store.undo(ANA, "deleted")
    assert [item.id for item in await store.page(ANA, limit=9)] == [first.id]


async def test_of_two_deletions_of_one_content_only_one_is_undone(store: SearchableMemoryStore) -> None:
    for number in "12":
        [item] = await add(store, ANA, [PASSWORD], at=START, context=ChangeContext(f"told {number}"))
        await store.delete(ANA, [item.id], at=START, context=ChangeContext(f"deleted {number}"))
    assert await store.undo(ANA, "deleted 1")
    assert await store.undo(ANA, "deleted 2") is None
    assert await store.count(ANA) == 1


async def test_nobody_undoes_anothers_act(store: SearchableMemoryStore) -> None:
    mine = [await add(store, owner, [PASSWORD], at=START, context=ChangeContext("act")) for owner in (ANA, BIA)]
    assert await store.undo(CAIO, "act") is None
    assert await store.undo(BIA, "act")
    assert (await store.page(ANA, limit=9), list(await store.page(BIA, limit=9))) == (mine[0], [])
    assert len(await store.changes(ANA)) == 1


async def test_what_was_deleted_long_enough_is_purged_with_its_versions_and_nothing_else(
    store: SearchableMemoryStore,
) -> None:
    drafts = [PASSWORD, BIRTHDAY, WIFI, replace(WIFI, content="[]")]
    early, late, kept, back = await add(store, ANA, drafts, at=START, context=ChangeContext("save"))
    await store.update(ANA, early.id, BIRTHDAY, at=START, context=ChangeContext("update"))
    await store.update(ANA, kept.id, BIRTHDAY, at=START, context=ChangeContext("update kept"))
    await store.delete(ANA, [early.id], at=START, context=ChangeContext("early"))
    await store.delete(ANA, [back.id], at=START, context=ChangeContext("back"))
    await store.undo(ANA, "back")
    await store.delete(ANA, [late.id], at=LATER, context=ChangeContext("late"))
    await add(store, BIA, [PASSWORD], at=START, context=ChangeContext("save"))
    assert await store.purge(START) == 0
    assert await store.purge(LATER) == 1
    assert {change.memory_id for change in await store.changes(ANA)} == {late.id, kept.id, back.id}
    assert [change.kind for change in await store.changes(ANA, memory_id=kept.id)] == ["updated", "saved"]
    assert await store.undo(ANA, "early") is None
    assert await store.undo(ANA, "late")
    assert len(await store.changes(BIA)) == 1
    assert await store.purge(LATER + timedelta(days=9)) == 0


# --- linked accounts -------------------------------------------------------------------------------------------------


async def test_who_is_not_linked_has_one_account(store: SearchableMemoryStore) -> None:
    assert (await store.accounts(ANA), await counts(store, ANA)) == ([ANA], {ANA: 0})
    await add(store, ANA, [PASSWORD], at=START)
    assert (await store.accounts(ANA), await counts(store, ANA)) == ([ANA], {ANA: 1})
    await store.unlink(ANA, BIA)
    assert await store.count(ANA) == 1


async def test_linked_accounts_have_one_memory_under_either_name(store: SearchableMemoryStore) -> None:
    vectors = {PASSWORD.content: vector(1)}
    [mine] = await add(
        store, ANA, [PASSWORD], at=START, vectors=vectors, space=SPACE, context=ChangeContext("mine", KITCHEN)
    )
    [other] = await add(
        store, BIA, [BIRTHDAY], at=LATER, vectors=vectors, space=SPACE, context=ChangeContext("other", KITCHEN)
    )
    await add(store, CAIO, [WIFI], at=START)
    await store.link(ANA, BIA)
    for name in (ANA, BIA):
        assert list(await store.accounts(name)) == [ANA, BIA]
        assert await counts(store, name) == {ANA: 1, BIA: 1}
        assert list(await store.page(name, limit=9)) == [other, mine]
        assert await heard(store, name, KITCHEN) == {mine.id, other.id}
        assert set(await ids_found(store, name, "aliexpress Júlia")) == {mine.id, other.id}
        assert len((await store.vectors(name, SPACE))[0]) == 1
        assert len(await texts_of(store, name, [mine.id, other.id])) == 5
        assert [change.act for change in await store.changes(name)] == ["other", "mine"]
    assert set(await store.owners()) == {ANA, CAIO}
    assert await store.undo(ANA, "other")
    assert await counts(store, ANA) == {ANA: 1, BIA: 0}
    assert (list(await store.accounts(CAIO)), await store.count(CAIO)) == ([CAIO], 1)


async def test_unlinking_gives_each_account_what_came_from_it(store: SearchableMemoryStore) -> None:
    [mine] = await add(store, ANA, [PASSWORD], at=START, context=ChangeContext("before"))
    [other] = await add(store, BIA, [BIRTHDAY], at=START, source_ids=[3], context=ChangeContext("before", GARDEN))
    await store.link(ANA, BIA)
    [ours] = await add(store, ANA, [WIFI], at=LATER, context=ChangeContext("while", KITCHEN, account=BIA))
    [late] = await add(store, BIA, [replace(PASSWORD, content="aliexpress")], at=LATER, context=ChangeContext("late"))
    [stranger] = await add(
        store, ANA, [replace(BIRTHDAY, content="Júlia")], at=LATER, context=ChangeContext(account=CAIO)
    )
    [gone] = await store.delete(ANA, [late.id], at=LATER, context=ChangeContext("delete", account=ANA))
    await store.unlink(ANA, BIA)
    assert list(await store.page(ANA, limit=9)) == [stranger, mine]
    assert list(await store.page(BIA, limit=9)) == [ours, other]
    assert (list(await store.accounts(BIA)), await counts(store, BIA)) == ([BIA], {BIA: 2})
    assert await heard(store, BIA, KITCHEN) == {ours.id}
    assert await heard(store, BIA, GARDEN) == {other.id}
    assert await heard(store, ANA, KITCHEN) == await heard(store, ANA, GARDEN) == frozenset()
    assert set(await ids_found(store, BIA, "wifi Júlia aliexpress")) == {ours.id, other.id}
    assert set(await ids_found(store, ANA, "wifi Júlia aliexpress")) == {mine.id, stranger.id}
    assert [change.act for change in await store.changes(ANA)] == ["before"]
    assert [change.act for change in await store.changes(BIA)] == ["delete", "late", "while", "before"]
    assert await store.undo(ANA, "delete") is None
    assert await store.undo(BIA, "delete")
    assert list(await store.page(BIA, limit=1)) == [gone]
    assert len(await store.unembedded(ANA, SPACE, 99)) == 5, "their phrases went with them"


PIN, NEW_PIN, NEWEST_PIN = (
    MemoryDraft(MemoryKind.TEXT, f"my bank pin is {pin}", (f"pin {pin}",)) for pin in ("1111", "2222", "3333")
)
Said: TypeAlias = tuple[UserKey, str, MemoryDraft | None]
"""Who said it, by which verb, and what."""

CHAINS: Sequence[tuple[list[Said], MemoryDraft | None, MemoryDraft | None]] = [
    ([(BIA, "replace", NEW_PIN)], PIN, NEW_PIN),
    ([(BIA, "edit", NEW_PIN)], PIN, NEW_PIN),
    ([(BIA, "replace", NEW_PIN), (ANA, "replace", NEWEST_PIN)], NEWEST_PIN, NEW_PIN),
    ([(ANA, "replace", NEW_PIN), (BIA, "replace", NEWEST_PIN)], NEW_PIN, NEWEST_PIN),
    ([(BIA, "replace", NEW_PIN), (BIA, "replace", NEWEST_PIN)], PIN, NEWEST_PIN),
    ([(BIA, "edit", NEW_PIN), (BIA, "undo", None)], PIN, None),
    ([(BIA, "replace", NEW_PIN), (ANA, "undo", None)], PIN, None),
    ([(BIA, "save", PIN)], PIN, PIN),
    ([(BIA, "save", replace(PIN, bindings=("of bia",)))], PIN, replace(PIN, bindings=("of bia",))),
    ([(BIA, "save", PIN), (ANA, "edit", NEW_PIN)], NEW_PIN, PIN),
    ([(BIA, "save", replace(PIN, bindings=("of bia",))), (BIA, "undo", None)], PIN, None),
    ([(BIA, "edit", replace(PIN, bindings=(*PIN.bindings, "of bia")))], PIN, None),
    (
        [(BIA, "edit", replace(NEW_PIN, bindings=(*PIN.bindings, "of bia")))],
        PIN,
        replace(NEW_PIN, bindings=("of bia",)),
    ),
    ([(BIA, "edit", replace(NEW_PIN, bindings=PIN.bindings))], PIN, replace(NEW_PIN, bindings=(NEW_PIN.content,))),
    ([(BIA, "delete", None)], None, None),
    ([(BIA, "replace", NEW_PIN), (ANA, "delete", None)], None, None),
    ([(BIA, "replace", NEW_PIN), (ANA, "delete", None), (ANA, "undo", None)], PIN, NEW_PIN),
]


def with_all_phrases(item: MemoryItem, draft: MemoryDraft) -> tuple[MemoryDraft, tuple[str, ...]]:
    return replace(item.draft, bindings=tuple(dict.fromkeys((*item.bindings, *draft.bindings)))), item.rooms


@pytest.mark.parametrize("owner", [ANA, long(BIA)])
@pytest.mark.parametrize(("said", "anas", "bias"), CHAINS)
async def test_unlinking_gives_each_account_its_own_last_words(
    store: SearchableMemoryStore, said: list[Said], anas: MemoryDraft | None, bias: MemoryDraft | None, owner: UserKey
) -> None:
    [item] = await add(store, ANA, [PIN], at=START, context=ChangeContext("first"))
    await store.link(owner, BIA if owner == ANA else ANA)
    act = ""
    for place, (speaker, verb, draft) in enumerate(said):
        act, context = (f"act {place}" if verb != "undo" else act), ChangeContext(f"act {place}", account=speaker)
        if verb == "save":
            await store.save(owner, [draft or PIN], at=LATER, merge=with_all_phrases, context=context)
        elif verb == "undo":
            assert await store.undo(speaker, act)
        elif verb == "delete":
            await store.delete(owner, [item.id], at=LATER, context=context)
        else:
            past = verb == "replace"
            await store.update(owner, item.id, draft or PIN, at=LATER, context=context, keeps_past=past)
    wanted = {ANA: anas, BIA: bias}
    assert await counts(store, owner) == {account: int(draft is not None) for account, draft in wanted.items()}
    await store.unlink(owner, BIA if owner == ANA else ANA)
    for account, draft in wanted.items():
        assert [each.draft for each in await store.page(account, limit=9)] == ([draft] if draft else [])
        assert await counts(store, account) == {account: int(draft is not None)}
        told = repr([draft for speaker, _, draft in [(ANA, "", PIN), *said] if speaker == account])
        pages = [*await store.page(account, limit=9), *await store.earlier(account, [item.id])]
        held = repr([*await store.changes(account), *pages])
        assert {word for word in ("1111", "2222", "3333", "of bia") if word in held and word not in told} == set()


async def test_what_both_had_said_and_one_deleted_is_gone_for_good_after_unlinking(
    store: SearchableMemoryStore,
) -> None:
    [item] = await add(store, ANA, [PIN], at=START, context=ChangeContext("first"))
    await store.link(ANA, BIA)
    await store.update(ANA, item.id, NEW_PIN, at=LATER, context=ChangeContext("second", account=BIA), keeps_past=True)
    await store.delete(ANA, [item.id], at=LATER, context=ChangeContext("gone", account=BIA))
    await store.unlink(ANA, BIA)
    for account in (ANA, BIA):
        assert (await store.count(account), list(await store.changes(account))) == (0, [])
        assert await store.undo(account, "gone") is None


async def test_a_deleted_memory_comes_back_to_the_account_that_it_came_from(store: SearchableMemoryStore) -> None:
    [item] = await add(store, BIA, [BIRTHDAY], at=START)
    await store.delete(BIA, [item.id], at=START, context=ChangeContext("delete"))
    await store.link(ANA, BIA)
    assert await store.undo(ANA, "delete")
    assert list(await store.page(ANA, limit=9)) == [item]
    await store.unlink(ANA, BIA)
    assert (await store.count(ANA), list(await store.page(BIA, limit=9))) == (0, [item])


async def test_an_account_is_linked_to_one_other_at_most(store: SearchableMemoryStore) -> None:
    await add(store, CAIO, [WIFI], at=START)
    with pytest.raises(ValueError, match="linked"):
        await store.link(ANA, ANA)
    await store.link(ANA, BIA)
    for one, other in ((ANA, BIA), (BIA, ANA), (CAIO, ANA), (CAIO, BIA), (ANA, CAIO), (BIA, CAIO)):
        with pytest.raises(ValueError, match="linked"):
            await store.link(one, other)
    assert (list(await store.accounts(CAIO)), await store.count(CAIO), await store.count(ANA)) == ([CAIO], 1, 0)
    for one, other in ((BIA, ANA), (CAIO, BIA), (ANA, CAIO)):
        await store.unlink(one, other)
    assert list(await store.accounts(BIA)) == [ANA, BIA]
    await store.unlink(ANA, BIA)
    await store.link(BIA, CAIO)
    assert await store.count(BIA) == 1


@pytest.mark.parametrize("name", [ANA, BIA])
async def test_forgetting_one_of_linked_accounts_forgets_them_all(store: SearchableMemoryStore, name: UserKey) -> None:
    [mine] = await add(store, ANA, [PASSWORD], at=START, context=ChangeContext("mine"))
    await add(store, BIA, [BIRTHDAY, WIFI], at=START, context=ChangeContext("other"))
    [caios] = await add(store, CAIO, [WIFI], at=START, context=ChangeContext("caios"))
    await store.link(ANA, BIA)
    await store.delete(ANA, [mine.id], at=LATER, context=ChangeContext("delete"))
    assert await store.forget(name) == 2
    for account in (ANA, BIA):
        assert (await store.count(account), list(await store.changes(account))) == (0, [])
        assert (list(await store.accounts(account)), await store.undo(account, "delete")) == ([account], None)
    assert list(await store.page(CAIO, limit=9)) == [caios]
    assert len(await store.changes(CAIO)) == 1
    await store.link(CAIO, BIA)


# --- at large --------------------------------------------------------------------------------------------------------


async def test_the_embedded_phrases_of_a_space_are_named_and_their_vectors_given_to_their_owner_alone(
    store: SearchableMemoryStore,
) -> None:
    [item] = await add(store, ANA, [PASSWORD], at=START, vectors={"aliexpress": vector(1)}, space=SPACE)
    phrases = await texts_of(store, ANA, [item.id])
    [embedded] = [i for i, text in phrases.items() if text == "aliexpress"]
    assert await embedded_in(store, ANA, SPACE) == {embedded}
    assert await embedded_in(store, ANA, "other@4") == await embedded_in(store, CAIO, SPACE) == frozenset()
    ids, found = await store.vectors(ANA, SPACE, [*phrases, 99_999])
    assert list(ids) == [embedded]
    assert np.allclose(found, vector(1)[None], atol=HALF)
    assert not (await store.vectors(CAIO, SPACE, [embedded]))[0]
    assert not (await store.vectors(ANA, "other@4", [embedded]))[0]
    assert not (await store.vectors(ANA, SPACE, []))[0]
    await store.delete(ANA, [item.id])
    assert await embedded_in(store, ANA, SPACE) == frozenset()
    assert not (await store.vectors(ANA, SPACE, [embedded]))[0]


@pytest.mark.long
async def test_an_act_of_hundreds_comes_back_in_order_and_is_undone_as_one(store: SearchableMemoryStore) -> None:
    drafts = [MemoryDraft(MemoryKind.TEXT, f"fact {n}", (f"key {n}",)) for n in range(300)]
    items = await add(store, ANA, drafts, at=START, context=ChangeContext("import"))
    assert [item.content for item in items] == [draft.content for draft in drafts]
    assert len(await store.changes(ANA, act="import")) == 300
    assert len(await store.undo(ANA, "import") or ()) == 300
    assert await store.count(ANA) == 0
    items = await add(store, ANA, drafts, at=START)
    ids = [item.id for item in items]
    assert list(await store.delete(ANA, ids, at=START, context=ChangeContext("all"))) == list(items)
    assert len(await store.undo(ANA, "all") or ()) == 300
    assert await store.count(ANA) == 300
    await store.delete(ANA, ids, at=START, context=ChangeContext("all again"))
    assert await store.purge(LATER) == 300
    assert list(await store.changes(ANA)) == []


@pytest.mark.long
async def test_hundreds_of_memories_move_when_accounts_are_linked_and_parted(store: SearchableMemoryStore) -> None:
    for owner in (ANA, BIA):
        drafts = [MemoryDraft(MemoryKind.TEXT, f"fact {n}", (f"key {n}",)) for n in range(200)]
        await add(store, owner, drafts, at=START, context=ChangeContext("act", KITCHEN))
    await store.link(ANA, BIA)
    assert await counts(store, ANA) == {ANA: 200, BIA: 200}
    assert await store.count(ANA, room=KITCHEN) == 400
    await store.unlink(ANA, BIA)
    assert (await store.count(ANA), await store.count(BIA)) == (200, 200)
    assert await store.count(BIA, room=KITCHEN) == 200
    assert len(await store.changes(BIA)) == 200


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
async def test_thousands_of_vectors_come_back_in_one_piece(engine: str, tmp_path: Path) -> None:
    database = await ENGINES[engine](tmp_path / "elefante.db")
    store = SqlMemories(database)
    drafts = [MemoryDraft(MemoryKind.TEXT, f"fato {n}", (f"chave {n}",)) for n in range(2300)]
    vectors = {draft.content: vector(n) for n, draft in enumerate(drafts)}
    await add(store, ANA, drafts, at=START, vectors=vectors, space=SPACE)
    ids, stored = await store.vectors(ANA, SPACE)
    assert (len(ids), stored.shape) == (2300, (2300, 4))
    assert list(ids) == sorted(set(ids))
    np.testing.assert_allclose(stored, np.stack(list(vectors.values())), atol=HALF)
    await database.close()


async def test_memories_survive_a_restart(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    [item] = await add(SqlMemories(database), ANA, [PASSWORD], at=START)
    await database.close()
    database = await open_database(tmp_path / "elefante.db")
    store = SqlMemories(database)
    assert list(await store.get(ANA, [item.id])) == [item]
    assert await ids_found(store, ANA, "aliexpress") == [item.id]
    await database.close()
