"""Every store of memories keeps things beside words: where they go, and which passage of a document was found."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from core.enclosures import Attachment, AttachmentKind
from core.storage.inbox import SqlConfirmations, SqlInbox
from core.storage.memories import SqlMemories
from core.stores import ChangeContext, SearchableMemoryStore
from core.threads import Confirmation
from core.types import (
    MAX_PASSAGE_CHARS,
    MAX_PASSAGES,
    ChatKey,
    ConversationKey,
    Incoming,
    MemoryDraft,
    MemoryKind,
    Passage,
    UserKey,
)
from tests.contracts.test_memory_store import ANA, BIA, KITCHEN, LATER, SPACE, vector
from tests.fakes.clock import START
from tests.fakes.memories import add, ids_found, search

LEASE, PHOTO = "a1" * 32, "b2" * 32
PDF = Attachment(AttachmentKind.FILE, "lease.pdf", "application/pdf", 9_000, "telegram:1", LEASE)
CARD = Attachment(AttachmentKind.PHOTO, "", "image/jpeg", 3_000_000, "x", PHOTO, 4_000, 3_000)
PIN = Attachment(AttachmentKind.LOCATION, "Car park", detail="38.7,-9.1")
PAGES = (
    Passage("The rent is 900 euros.", 1),
    Passage("Pets are forbidden. No dogs.", 4),
    Passage("Signed in Porto.", 9),
)
CONTRACT = MemoryDraft(MemoryKind.TEXT, "My rental contract", ("rental contract",), attachments=(PDF,), passages=PAGES)
VACCINES = MemoryDraft(MemoryKind.TEXT, "My vaccination card", ("vaccination card",), attachments=(CARD,))
ACT, OTHER = ChangeContext("act"), ChangeContext("other")


async def found(store: SearchableMemoryStore, owner: UserKey, query: str, **asked: Any) -> list[Passage | None]:
    return [item.found_in for item in await search(store, owner, query, **asked)]


async def named(store: SearchableMemoryStore, owner: UserKey = ANA) -> set[str]:
    return set((await store.files_named()).get(owner, ()))


async def test_things_come_back_with_their_memory(store: SearchableMemoryStore) -> None:
    both = replace(VACCINES, attachments=(CARD, PIN))
    [item] = await add(store, ANA, [both], at=START)
    assert item.attachments == (CARD, PIN)
    assert await store.get(ANA, [item.id]) == [item]
    assert await store.page(ANA, limit=9) == [item]
    assert await search(store, ANA, "vaccination") == [item]


async def test_models_are_told_what_things_are_and_nothing_by_which_they_are_fetched(
    store: SearchableMemoryStore,
) -> None:
    [item] = await add(store, ANA, [CONTRACT], at=START)
    assert item.to_json()["attachments"] == [{"kind": "file", "name": "lease.pdf"}]
    assert LEASE not in json.dumps(item.to_json())
    assert "attachments" not in replace(item, attachments=()).to_json()


async def test_the_same_words_with_other_things_are_another_memory(store: SearchableMemoryStore) -> None:
    renamed = replace(PDF, name="copy.pdf", handle="discord:9")
    kept = [CONTRACT, replace(CONTRACT, attachments=(CARD,)), replace(CONTRACT, attachments=()), CONTRACT]
    items = await add(store, ANA, [*kept, replace(CONTRACT, attachments=(renamed,))], at=START)
    assert [items[0].id == item.id for item in items] == [True, False, False, True, True]
    assert await store.count(ANA) == 3
    same = await store.find(ANA, MemoryKind.TEXT, "my rental contract.", attachments=[renamed])
    assert same is not None
    assert same.id == items[0].id
    bare = await store.find(ANA, MemoryKind.TEXT, CONTRACT.content)
    assert bare is not None
    assert bare.attachments == ()


async def test_a_passage_finds_its_memory_and_stands_in_no_list(store: SearchableMemoryStore) -> None:
    [item] = await add(store, ANA, [CONTRACT], at=START)
    [hit] = await search(store, ANA, "are pets allowed")
    assert hit == replace(item, found_in=PAGES[1])
    assert await found(store, ANA, "rental") == [None]
    assert await store.passages(ANA, item.id) == list(PAGES)
    assert await store.passages(BIA, item.id) == []
    assert (await store.count(ANA), await store.page(ANA, limit=9)) == (1, [item])
    assert await store.earlier(ANA, [item.id]) == []
    assert await found(store, BIA, "pets") == []


async def test_a_passage_is_embedded_like_any_phrase(store: SearchableMemoryStore) -> None:
    await store.save(
        ANA,
        [CONTRACT],
        at=START,
        merge=lambda item, _: (item.draft, ()),
        vectors={PAGES[0].text: vector(1)},
        space=SPACE,
    )
    missing = await store.unembedded(ANA, SPACE, 99)
    assert set(missing.values()) == {"rental contract", "My rental contract", PAGES[1].text, PAGES[2].text}
    [pets] = [i for i, text in missing.items() if text == PAGES[1].text]
    near = await search(
        store, ANA, "", nearest=frozenset({pets}), order=lambda some, *_: [each.number for each in some]
    )
    assert [item.found_in for item in near] == [PAGES[1]]


async def test_no_more_passages_are_kept_than_there_may_be(store: SearchableMemoryStore) -> None:
    long = [Passage(f"page {n} " + "x" * MAX_PASSAGE_CHARS, n) for n in range(MAX_PASSAGES + 5)]
    [item] = await add(store, ANA, [replace(CONTRACT, passages=(Passage(" "), *long))], at=START)
    kept = await store.passages(ANA, item.id)
    assert [each.page for each in kept] == list(range(MAX_PASSAGES))
    assert {len(each.text) for each in kept} == {MAX_PASSAGE_CHARS}


async def test_a_save_that_is_done_again_writes_the_passages_that_are_missing(store: SearchableMemoryStore) -> None:
    await add(store, ANA, [replace(CONTRACT, passages=PAGES[:1])], at=START)
    for _ in range(2):
        [item] = await add(store, ANA, [CONTRACT], at=START)
        assert await store.passages(ANA, item.id) == list(PAGES)


async def test_a_passage_is_spoken_of_where_its_memory_is(store: SearchableMemoryStore) -> None:
    [item] = await add(store, ANA, [CONTRACT], at=START)
    assert await found(store, ANA, "pets", room=KITCHEN) == []
    await store.flag(ANA, [item.id], room=KITCHEN)
    assert await found(store, ANA, "pets", room=KITCHEN) == [PAGES[1]]
    await store.flag(ANA, [item.id], shared=True)
    assert await found(store, ANA, "pets", room="discord:any") == [PAGES[1]]
    await store.flag(ANA, [item.id], shared=False)
    assert await found(store, ANA, "pets", room="discord:any") == []
    await store.update(ANA, item.id, CONTRACT, at=LATER)
    assert await found(store, ANA, "pets", room=KITCHEN) == []
    [heard] = await add(
        store, ANA, [replace(CONTRACT, attachments=(CARD,))], at=LATER, context=ChangeContext(room=KITCHEN)
    )
    assert [each.id for each in await search(store, ANA, "pets", room=KITCHEN)] == [heard.id]


async def test_new_words_keep_the_things_and_undo_brings_both_back(store: SearchableMemoryStore) -> None:
    [item] = await add(store, ANA, [CONTRACT], at=START)
    await store.update(ANA, item.id, replace(item.draft, content="The lease"), at=LATER, context=ACT)
    assert await found(store, ANA, "pets") == [PAGES[1]]
    other = replace(item.draft, attachments=(CARD,), passages=(Passage("Dogs and cats", 2),))
    changed = await store.update(ANA, item.id, other, at=LATER, context=OTHER)
    assert changed is not None
    assert changed.attachments == (CARD,)
    assert await found(store, ANA, "pets cats") == [Passage("Dogs and cats", 2)]
    assert await named(store) == {LEASE, PHOTO}
    assert await store.undo(ANA, "other") is not None
    assert await store.undo(ANA, "act") is not None
    assert await store.get(ANA, [item.id]) == [item]
    assert await store.passages(ANA, item.id) == list(PAGES)
    assert await found(store, ANA, "cats") == []


async def test_an_earlier_version_keeps_its_things_and_what_stands_in_them(store: SearchableMemoryStore) -> None:
    [item] = await add(store, ANA, [CONTRACT], at=START)
    new = replace(item.draft, content="My new rental contract", attachments=(CARD,))
    await store.update(ANA, item.id, new, at=LATER, context=ACT, keeps_past=True)
    [past] = await store.earlier(ANA, [item.id])
    assert past.attachments == (PDF,)
    assert await found(store, ANA, "pets", at=LATER) == []
    assert await found(store, ANA, "pets", at=LATER, past=True) == [PAGES[1]]
    assert await store.passages(ANA, past.id) == list(PAGES)
    assert await named(store) == {LEASE, PHOTO}
    assert await store.undo(ANA, "act") is not None
    assert await found(store, ANA, "pets") == [PAGES[1]]
    assert await store.passages(ANA, item.id) == list(PAGES)


async def test_what_is_no_longer_true_is_not_found_by_its_passages(store: SearchableMemoryStore) -> None:
    await add(store, ANA, [replace(CONTRACT, until=LATER)], at=START)
    assert await found(store, ANA, "pets") == [PAGES[1]]
    assert await found(store, ANA, "pets", at=LATER + timedelta(hours=1)) == []


async def test_what_is_deleted_comes_back_whole_and_names_its_files_until_it_is_purged(
    store: SearchableMemoryStore,
) -> None:
    [item] = await add(store, ANA, [CONTRACT], at=START)
    await store.delete(ANA, [item.id], at=START, context=ACT)
    assert (await found(store, ANA, "pets"), await named(store)) == ([], {LEASE})
    assert await store.undo(ANA, "act") is not None
    assert await store.get(ANA, [item.id]) == [item]
    assert await found(store, ANA, "pets") == [PAGES[1]]
    await store.delete(ANA, [item.id], at=START, context=OTHER)
    await store.purge(LATER)
    assert await named(store) == set()


async def test_what_was_saved_is_gone_with_its_passages_when_that_is_undone(store: SearchableMemoryStore) -> None:
    await add(store, ANA, [CONTRACT], at=START, context=ACT)
    assert await store.undo(ANA, "act") is not None
    assert (await found(store, ANA, "pets"), await named(store)) == ([], set())


async def test_of_linked_accounts_each_keeps_the_things_that_it_brought(store: SearchableMemoryStore) -> None:
    [mine] = await add(store, ANA, [CONTRACT], at=START)
    await add(store, BIA, [VACCINES], at=START)
    await store.link(ANA, BIA)
    assert await found(store, BIA, "pets") == [PAGES[1]]
    assert await store.files_named() == {ANA: {LEASE, PHOTO}}
    words = replace(mine.draft, content="The contract of the flat")
    await store.update(ANA, mine.id, words, at=LATER, context=ChangeContext("act", account=BIA))
    assert await found(store, ANA, "pets") == [PAGES[1]]
    await store.unlink(ANA, BIA)
    assert await store.files_named() == {ANA: {LEASE}, BIA: {PHOTO}}
    [item] = await store.page(ANA, limit=9)
    assert (item.content, item.attachments) == (CONTRACT.content, (PDF,))
    assert await found(store, ANA, "pets") == [PAGES[1]]
    assert {item.content: item.attachments for item in await store.page(BIA, limit=9)} == {
        words.content: (),
        VACCINES.content: (CARD,),
    }
    assert await found(store, BIA, "pets") == []


async def test_what_both_said_both_have(store: SearchableMemoryStore) -> None:
    await add(store, ANA, [CONTRACT], at=START)
    await store.link(ANA, BIA)
    await add(store, ANA, [CONTRACT], at=LATER, context=ChangeContext("act", account=BIA))
    await store.unlink(ANA, BIA)
    assert await store.files_named() == {ANA: {LEASE}, BIA: {LEASE}}
    assert await found(store, ANA, "pets") == await found(store, BIA, "pets") == [PAGES[1]]


async def test_who_is_forgotten_names_nothing(store: SearchableMemoryStore) -> None:
    await add(store, ANA, [CONTRACT], at=START)
    await add(store, BIA, [VACCINES], at=START)
    await store.forget(ANA)
    assert await store.files_named() == {BIA: {PHOTO}}


async def test_what_waits_for_an_answer_or_a_yes_names_files(store: SearchableMemoryStore) -> None:
    assert isinstance(store, SqlMemories)
    here, user = ConversationKey(ChatKey("telegram", "room"), ANA), UserKey("telegram", "stranger")
    owed = Incoming(here.chat, user, "X", "1", "keep this", START, attachments=(CARD,))
    inbox, waiting = SqlInbox(store.database), SqlConfirmations(store.database)
    await inbox.accept(owed)
    await waiting.put(here, Confirmation("ABCD", "Keeping", json.dumps({"drafts": [{"sha256": LEASE}]}), START))
    assert await store.files_named() == {user: {PHOTO}, ANA: {LEASE}}
    await store.link(BIA, ANA)
    assert await store.files_named() == {user: {PHOTO}, BIA: {LEASE}}
    await inbox.close(owed)
    assert await store.files_named() == {BIA: {LEASE}}


@pytest.mark.parametrize("query", ["pets dogs", "rent euros", "Porto"])
async def test_no_passage_is_left_alone(store: SearchableMemoryStore, query: str) -> None:
    [item] = await add(store, ANA, [CONTRACT], at=START)
    assert await ids_found(store, ANA, query) == [item.id]
    await store.delete(ANA, [item.id])
    assert await ids_found(store, ANA, query) == []
    assert await store.unembedded(ANA, SPACE, 99) == {}
