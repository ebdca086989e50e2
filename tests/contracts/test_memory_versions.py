"""Every store of memories saves what is new once, keeps what was true before, and tells an index what it lacks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import TypeAlias

import numpy as np
import pytest

from core.stores import ChangeContext, SearchableMemoryStore
from core.types import ChangeKind, MemoryDraft, MemoryItem, UserKey
from tests.contracts.test_memory_store import (
    ANA,
    BIA,
    BIRTHDAY,
    CAIO,
    GARDEN,
    HALF,
    KITCHEN,
    LATER,
    PASSWORD,
    SPACE,
    WIFI,
    texts_of,
    vector,
)
from tests.fakes.clock import START
from tests.fakes.memories import add, ids_found

NEW = replace(PASSWORD, content="A senha do AliExpress é 654321", bindings=("aliexpress", "conta"))
ACT = ChangeContext("act")
AGAIN = replace(PASSWORD, content="a senha do aliexpress é 123456.", bindings=("login do aliexpress",))
LATEST = LATER + timedelta(days=1)


def both(item: MemoryItem, draft: MemoryDraft) -> tuple[MemoryDraft, tuple[str, ...]]:
    """Return what is known, found by the new bindings, too, and heard where it was."""
    return replace(item.draft, bindings=tuple(dict.fromkeys((*item.bindings, *draft.bindings)))), item.rooms


def nothing(item: MemoryItem, _: MemoryDraft) -> tuple[MemoryDraft, tuple[str, ...]]:
    return item.draft, item.rooms


# --- save ------------------------------------------------------------------------------------------------------------


async def test_what_is_new_is_stored_and_what_is_known_becomes_what_is_made_of_both(
    store: SearchableMemoryStore,
) -> None:
    vectors = {PASSWORD.content: vector(1), "login do aliexpress": vector(2)}
    first = await store.save(
        ANA, [PASSWORD], at=START, merge=both, source_ids=[3], vectors=vectors, space=SPACE, context=ACT
    )
    [item] = first.items
    assert first.new == {item.id}
    assert (item.draft, item.created_at, item.updated_at, item.source_ids) == (PASSWORD, START, START, (3,))
    again = await store.save(
        ANA, [WIFI, AGAIN], at=LATER, merge=both, source_ids=[9, 3], vectors=vectors, space=SPACE, context=ACT
    )
    new, merged = again.items
    assert again.new == {new.id}
    bindings = (*PASSWORD.bindings, *AGAIN.bindings)
    assert merged == replace(item, bindings=bindings, updated_at=LATER, source_ids=(3, 9))
    assert list(await store.get(ANA, [new.id, item.id])) == [new, merged]
    assert [(each.kind, each.before, each.after) for each in await store.changes(ANA, act="act")] == [
        (ChangeKind.UPDATED, item, merged),
        (ChangeKind.SAVED, None, new),
        (ChangeKind.SAVED, None, item),
    ]
    assert await ids_found(store, ANA, "login") == [item.id]
    assert await store.earlier(ANA, [item.id]) == []
    texts = await texts_of(store, ANA, [item.id])
    assert {texts[i] for i in (await store.vectors(ANA, SPACE))[0]} == set(vectors)


async def test_what_is_said_again_gains_the_source_and_nothing_else(store: SearchableMemoryStore) -> None:
    [item] = (await store.save(ANA, [PASSWORD], at=START, merge=nothing, source_ids=[1])).items
    saved = await store.save(ANA, [AGAIN], at=LATER, merge=nothing, source_ids=[2], context=ACT)
    assert (list(saved.items), saved.new) == ([replace(item, source_ids=(1, 2))], frozenset())
    assert list(await store.page(ANA, limit=9)) == list(saved.items)
    assert await store.changes(ANA) == []


async def test_a_save_can_make_a_memory_heard_elsewhere_and_that_is_taken_back(store: SearchableMemoryStore) -> None:
    [item] = (await store.save(ANA, [PASSWORD], at=START, merge=nothing, context=ChangeContext(room=GARDEN))).items
    saved = await store.save(
        ANA, [PASSWORD], at=LATER, merge=lambda known, _: (known.draft, (GARDEN, KITCHEN)), context=ACT
    )
    assert list(saved.items) == [replace(item, rooms=(GARDEN, KITCHEN), updated_at=LATER)]
    assert await store.count(ANA, room=KITCHEN) == 1
    assert await store.undo(ANA, "act")
    assert list(await store.get(ANA, [item.id])) == [item]
    assert await store.count(ANA, room=KITCHEN) == 0


async def test_the_same_twice_in_one_save_is_one_memory(store: SearchableMemoryStore) -> None:
    saved = await store.save(ANA, [PASSWORD, WIFI, AGAIN], at=START, merge=both, context=ACT)
    one, two, three = saved.items
    assert one == three
    assert saved.new == {one.id, two.id}
    assert one.bindings == (*PASSWORD.bindings, *AGAIN.bindings)
    assert list(await store.page(ANA, limit=9)) == [two, one]
    assert await store.undo(ANA, "act")
    assert await store.count(ANA) == 0


async def test_a_save_that_cannot_be_stored_stores_nothing(store: SearchableMemoryStore) -> None:
    with pytest.raises(ValueError, match="binding"):
        await store.save(ANA, [PASSWORD, replace(WIFI, bindings=())], at=START, merge=both)
    with pytest.raises(ValueError, match="space"):
        await store.save(ANA, [PASSWORD], at=START, merge=both, vectors={"aliexpress": vector(1)})
    assert await store.count(ANA) == 0
    [item] = (await store.save(ANA, [PASSWORD], at=START, merge=both)).items
    with pytest.raises(ValueError, match="binding"):
        await store.save(ANA, [WIFI, AGAIN], at=START, merge=lambda known, _: (replace(known.draft, bindings=()), ()))
    assert list(await store.page(ANA, limit=9)) == [item]
    empty = await store.save(CAIO, [], at=START, merge=both)
    assert (list(empty.items), empty.new) == ([], frozenset())
    assert list(await store.owners()) == [ANA]


async def test_what_a_draft_says_of_time_is_kept(store: SearchableMemoryStore) -> None:
    draft = replace(BIRTHDAY, until=LATER, meant="2026-05-03")
    [item] = (await store.save(ANA, [draft], at=START, merge=nothing)).items
    assert (item.until, item.meant, item.draft) == (LATER, "2026-05-03", draft)
    assert list(await store.get(ANA, [item.id])) == [item]
    changed = await store.update(ANA, item.id, replace(draft, until=None, meant=""), at=START, context=ACT)
    assert changed is not None
    assert (changed.until, changed.meant) == (None, "")
    assert list(await store.get(ANA, [item.id])) == [changed]
    assert await store.undo(ANA, "act")
    assert list(await store.get(ANA, [item.id])) == [item]


# --- earlier versions ------------------------------------------------------------------------------------------------


async def kept(store: SearchableMemoryStore, *, act: str = "", room: str = "") -> tuple[MemoryItem, MemoryItem]:
    """Store a memory and replace it; return what it was, and what it is."""
    vectors = {PASSWORD.content: vector(1), "aliexpress": vector(2)}
    [item] = await add(
        store, ANA, [PASSWORD], at=START, source_ids=[1], vectors=vectors, space=SPACE, context=ChangeContext(room=room)
    )
    now = await store.update(
        ANA, item.id, NEW, at=LATER, source_ids=[4], context=ChangeContext(act, room), keeps_past=True
    )
    assert now is not None
    assert (now.id, now.draft, now.source_ids) == (item.id, NEW, (1, 4))
    return item, now


async def test_what_was_true_is_kept_whole_and_left_out_of_every_list(store: SearchableMemoryStore) -> None:
    item, now = await kept(store, room=KITCHEN)
    [past] = await store.earlier(ANA, [item.id, "unknown"])
    assert past == replace(item, id=past.id, current=item.id, until=LATER)
    assert past.id != item.id
    assert list(await store.get(ANA, [past.id, item.id])) == [past, now]
    assert list(await store.page(ANA, limit=9)) == list(await store.page(ANA, limit=9, room=KITCHEN)) == [now]
    assert await store.count(ANA) == await store.count(ANA, room=KITCHEN) == 1
    assert await store.find(ANA, PASSWORD.kind, PASSWORD.content) is None
    texts = await texts_of(store, ANA, [past.id])
    ids, vectors = await store.vectors(ANA, SPACE, list(texts))
    assert {texts[i]: pytest.approx(row, abs=HALF) for i, row in zip(ids, vectors, strict=True)} == {
        PASSWORD.content: vector(1),
        "aliexpress": vector(2),
    }
    assert await store.earlier(BIA, [item.id]) == []
    assert await store.get(BIA, [past.id]) == []


async def test_versions_come_newest_first_and_an_earlier_one_has_none_of_its_own(store: SearchableMemoryStore) -> None:
    item, now = await kept(store)
    await store.update(ANA, item.id, WIFI, at=LATEST, keeps_past=True)
    second, first = await store.earlier(ANA, [item.id])
    assert (second.draft, first.content) == (replace(now.draft, until=LATEST), PASSWORD.content)
    assert await store.update(ANA, first.id, BIRTHDAY, at=LATEST, keeps_past=True)
    assert await store.earlier(ANA, [first.id]) == []
    assert len(await store.earlier(ANA, [item.id])) == 2
    [other] = await add(store, ANA, [BIRTHDAY], at=START)
    await store.update(ANA, other.id, WIFI, at=LATEST + timedelta(days=1), keeps_past=True)
    assert [each.current for each in await store.earlier(ANA, [item.id, other.id])] == [other.id, item.id, item.id]


async def test_what_replaced_another_is_taken_back_and_its_version_is_gone(store: SearchableMemoryStore) -> None:
    item, now = await kept(store, act="act")
    [past] = await store.earlier(ANA, [item.id])
    assert [(each.kind, each.before, each.after) for each in await store.changes(ANA, act="act")] == [
        (ChangeKind.UPDATED, item, now),
        (ChangeKind.SAVED, None, past),
    ]
    assert await store.undo(ANA, "act")
    assert list(await store.page(ANA, limit=9)) == [replace(item, source_ids=(1, 4))], "sources stay"
    assert await store.get(ANA, [past.id]) == []
    assert await store.earlier(ANA, [item.id]) == []
    assert await store.changes(ANA, memory_id=past.id) == []
    assert await store.find(ANA, PASSWORD.kind, PASSWORD.content) is not None


async def test_a_memory_is_deleted_with_its_versions_and_all_come_back(store: SearchableMemoryStore) -> None:
    item, _ = await kept(store, act="update", room=KITCHEN)
    await store.update(ANA, item.id, WIFI, at=LATEST, context=ChangeContext("more"), keeps_past=True)
    versions = await store.earlier(ANA, [item.id])
    everything = list(await store.get(ANA, [item.id, *(each.id for each in versions)]))
    assert list(await store.delete(ANA, [item.id], at=LATEST, context=ACT)) == everything[:1]
    assert await store.get(ANA, [each.id for each in everything]) == []
    assert len(await store.changes(ANA, act="act")) == 3
    assert await store.undo(ANA, "act")
    assert list(await store.get(ANA, [each.id for each in everything])) == everything
    assert list(await store.earlier(ANA, [item.id])) == list(versions)
    assert list(await store.delete(ANA, [item.id])) == everything[:1]
    assert await store.get(ANA, [each.id for each in everything]) == []
    assert await store.changes(ANA) == []
    assert await ids_found(store, ANA, "aliexpress", past=True) == []


async def test_an_earlier_version_does_not_come_back_without_its_memory(store: SearchableMemoryStore) -> None:
    item, _ = await kept(store)
    [past] = await store.earlier(ANA, [item.id])
    assert list(await store.delete(ANA, [past.id], at=LATEST, context=ACT)) == [past]
    assert await store.earlier(ANA, [item.id]) == []
    [gone] = await store.delete(ANA, [item.id], at=LATEST, context=ChangeContext("all"))
    assert await store.undo(ANA, "act") is None
    assert await store.undo(ANA, "all")
    assert await store.undo(ANA, "act")
    assert list(await store.get(ANA, [past.id, gone.id])) == [past, gone]


async def test_deleted_versions_are_purged_with_their_memory(store: SearchableMemoryStore) -> None:
    item, _ = await kept(store, act="update")
    await store.delete(ANA, [item.id], at=LATER, context=ACT)
    assert await store.purge(LATEST) == 2
    assert await store.changes(ANA) == []


async def test_what_is_shared_no_more_has_no_version_that_is(store: SearchableMemoryStore) -> None:
    [item] = await add(store, ANA, [PASSWORD], at=START)
    await store.flag(ANA, [item.id], shared=True)
    await store.update(ANA, item.id, WIFI, at=LATER, shared=True, keeps_past=True)
    assert len(await ids_found(store, ANA, "aliexpress", past=True, room=KITCHEN)) == 1
    await store.flag(ANA, [item.id], shared=False)
    assert await ids_found(store, ANA, "aliexpress wifi", past=True, room=KITCHEN) == []


async def test_versions_move_with_their_account(store: SearchableMemoryStore) -> None:
    item, now = await kept(store)
    [past] = await store.earlier(ANA, [item.id])
    await store.link(BIA, ANA)
    await store.update(BIA, item.id, WIFI, at=LATEST, keeps_past=True, context=ChangeContext(account=ANA))
    assert [each.id for each in await store.earlier(BIA, [item.id])][1:] == [past.id]
    await store.unlink(BIA, ANA)
    second, first = await store.earlier(ANA, [item.id])
    assert (first, second.content) == (past, now.content)
    assert await store.earlier(BIA, [item.id]) == []
    assert set(await ids_found(store, ANA, "aliexpress", past=True, at=LATEST)) == {first.id, second.id}
    assert await ids_found(store, BIA, "aliexpress", past=True) == []
    assert await store.forget(ANA) == 1
    assert await store.get(ANA, [first.id, second.id]) == []


# --- what an index lacks ---------------------------------------------------------------------------------------------

Verb: TypeAlias = Callable[[SearchableMemoryStore, MemoryItem], Awaitable[object]]

VERBS: dict[str, Verb] = {
    "add": lambda store, _: add(store, ANA, [BIRTHDAY], at=LATER),
    "save": lambda store, _: store.save(ANA, [BIRTHDAY], at=LATER, merge=both),
    "save again": lambda store, _: store.save(ANA, [replace(NEW, bindings=("login",))], at=LATER, merge=both),
    "update": lambda store, item: store.update(ANA, item.id, BIRTHDAY, at=LATER),
    "keep": lambda store, item: store.update(ANA, item.id, BIRTHDAY, at=LATER, keeps_past=True),
    "delete": lambda store, item: store.delete(ANA, [item.id]),
    "pin": lambda store, item: store.flag(ANA, [item.id], pinned=True),
    "undo": lambda store, _: store.undo(ANA, "act"),
    "embed": lambda store, item: embed(store, item, "conta"),
    "link": lambda store, _: store.link(BIA, ANA),
    "unlink": lambda store, _: store.unlink(CAIO, ANA),
    "forget": lambda store, _: store.forget(ANA),
}
REMOVING = {"update", "keep", "delete", "undo", "embed", "link", "unlink", "forget"}


async def embed(store: SearchableMemoryStore, item: MemoryItem, text: str) -> None:
    texts = await texts_of(store, ANA, [item.id])
    await store.put_vectors(ANA, SPACE, {i: vector(i) for i, each in texts.items() if each == text})


@pytest.mark.parametrize("verb", VERBS)
async def test_every_change_shows_in_the_version_and_reading_does_not(store: SearchableMemoryStore, verb: str) -> None:
    if verb == "unlink":
        await store.link(CAIO, ANA)
    item, _ = await kept(store, act="act")
    await add(store, BIA, [WIFI], at=START)
    vectors = {BIRTHDAY.content: vector(1)}
    known = await store.fresh(ANA, SPACE, 0)
    await store.page(ANA, limit=9)
    await add(store, UserKey("x", "y"), [WIFI], at=START, vectors=vectors | {"wifi": vector(1)}, space=SPACE)
    assert await store.version(ANA) == known.version == (await store.fresh(ANA, SPACE, 0)).version
    await VERBS[verb](store, item)
    fresh = await store.fresh(ANA, SPACE, max(known.ids))
    assert await store.version(ANA) == fresh.version != known.version
    if verb in REMOVING:
        assert fresh.removed != known.removed
    else:
        assert fresh.removed == known.removed


async def test_an_index_is_given_what_it_lacks_and_told_of_what_it_holds_too_much(store: SearchableMemoryStore) -> None:
    texts = (*PASSWORD.bindings, PASSWORD.content)
    [item] = await add(store, ANA, [PASSWORD], at=START, vectors=dict.fromkeys(texts, vector(1)), space=SPACE)
    first = await store.fresh(ANA, SPACE, 0)
    assert (len(first.ids), first.vectors.shape, first.partial) == (3, (3, 4), False)
    assert list(first.ids) == sorted(await texts_of(store, ANA, [item.id]))
    newest = max(first.ids)
    none = await store.fresh(ANA, SPACE, newest)
    assert (list(none.ids), len(none.vectors), none.partial) == ([], 0, False)
    [new] = await add(store, ANA, [WIFI], at=START, vectors={"wifi": vector(2)}, space=SPACE)
    second = await store.fresh(ANA, SPACE, newest)
    assert (len(second.ids), second.partial, second.removed) == (1, True, first.removed)
    np.testing.assert_allclose(second.vectors, vector(2)[None], atol=HALF)
    missing = await store.unembedded(ANA, SPACE, 9)
    await store.put_vectors(ANA, SPACE, {i: vector(3) for i in missing})
    third = await store.fresh(ANA, SPACE, newest)
    assert (len(third.ids), third.partial) == (3, False)
    assert third.removed != second.removed
    await store.delete(ANA, [new.id])
    last = await store.fresh(ANA, SPACE, newest)
    assert (list(last.ids), last.partial) == ([], False)
    assert last.removed not in {third.removed, second.removed}
    assert (await store.fresh(ANA, "other@4", 0)).partial
    nobody = await store.fresh(CAIO, SPACE, 0)
    assert (list(nobody.ids), nobody.partial, nobody.version) == ([], False, 0)


async def test_a_version_of_somebody_forgotten_or_parted_never_comes_again(store: SearchableMemoryStore) -> None:
    seen: list[tuple[int, int]] = []

    async def look() -> None:
        fresh = await store.fresh(ANA, SPACE, 0)
        seen.append((fresh.version, fresh.removed))

    for _ in range(3):
        for _ in range(3):
            await add(store, ANA, [PASSWORD], at=START)
            await look()
        await store.link(BIA, ANA)
        await look()
        await store.unlink(BIA, ANA)
        await look()
        await store.forget(ANA)
    assert len({version for version, _ in seen}) == len(seen)
