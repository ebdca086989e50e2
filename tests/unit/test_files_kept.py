"""Bytes go where their memories go, and no byte is left once nothing names it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from core.enclosures import Attachment, AttachmentKind
from core.memory.embedding import Indexes
from core.memory.memories import Memories
from core.memory.relation import Relation
from core.memory.user_memory import UndoResult, UserMemory
from core.sealing.port import PLAIN, Sealing
from core.storage.faiss_index import FaissIndex
from core.storage.files import FolderFiles
from core.storage.memories import SqlMemories
from core.stores import ChangeContext
from core.types import SURE, MemoryDraft, MemoryItem, MemoryKind, Passage, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.model import HashEmbedder
from tests.fakes.ram import RamDatabase

T = TypeVar("T")
ANA, BIA = UserKey("telegram", "ana"), UserKey("discord", "ana")
WORDS = MemoryDraft(MemoryKind.TEXT, "My vaccination card", ("vaccination card",))
FOREVER_S = 24 * 3600
ACT = ChangeContext("act")


class InlineFiles(FolderFiles):
    """Does its work where it is asked: it is over before another task goes on, and time can stand still."""

    async def _run(self, work: Callable[[], T]) -> T:
        return work()


class Home:
    """Memories over a folder of files."""

    def __init__(
        self, folder: Path, *, undo_within: timedelta = timedelta(minutes=10), sealing: Sealing = PLAIN
    ) -> None:
        self.clock, self.folder = FakeClock(), folder
        self.store = SqlMemories(RamDatabase(sealing=sealing))
        self.files = InlineFiles(folder, self.clock, 10_000, sealing)
        self.undo_within = undo_within
        self.memories = self.opened()

    def opened(self) -> Memories:
        return Memories(
            self.store,
            HashEmbedder(dims=64),
            Indexes(self.store, FaissIndex),
            self.clock,
            files=self.files,
            undo_within=self.undo_within,
        )

    def of(self, owner: UserKey = ANA, act: str = "act") -> UserMemory:
        return self.memories.of(owner, ChangeContext(act))

    async def keep(
        self, content: bytes = b"photo", words: MemoryDraft = WORDS, memory: UserMemory | None = None
    ) -> MemoryItem:
        """Keep bytes with words, as a turn does: first the bytes, then the memory."""
        memory = memory or self.of()
        sha256 = await self.files.put(memory.owner, content)
        photo = Attachment(AttachmentKind.PHOTO, "card.jpg", "image/jpeg", len(content), sha256=sha256)
        [item] = await memory.add([replace(words, attachments=(photo,))], {})
        return item

    def bytes_left(self) -> list[bytes]:
        return sorted(path.read_bytes() for path in self.folder.rglob("*") if path.is_file())


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "files")


async def test_whoever_is_forgotten_leaves_no_byte(home: Home) -> None:
    await home.keep(b"mine")
    await home.keep(b"yours", memory=home.of(BIA))
    await home.of().forget()
    assert home.bytes_left() == [b"yours"]


async def test_bytes_stay_while_a_deletion_can_be_undone_and_go_with_it(home: Home) -> None:
    item = await home.keep()
    await home.of(act="gone").delete([item.id])
    await home.clock.advance(599)
    assert (await home.of().undo("gone")).result is UndoResult.DONE
    [back] = await home.of().get([item.id])
    assert back.attachments == item.attachments
    assert await home.files.get(ANA, item.attachments[0].sha256) == b"photo"
    await home.of(act="again").delete([item.id])
    await home.clock.advance(661)
    assert home.bytes_left() == []
    await home.memories.close()


async def test_bytes_of_what_is_not_saved_after_all_go(home: Home) -> None:
    await home.keep()
    assert (await home.of().undo()).result is UndoResult.DONE
    await home.clock.advance(661)
    assert home.bytes_left() == []
    await home.memories.close()


async def test_where_nothing_can_be_undone_bytes_go_at_once(tmp_path: Path) -> None:
    home = Home(tmp_path / "files", undo_within=timedelta(0))
    first, second = await home.keep(b"both"), await home.keep(b"both", replace(WORDS, content="Again"))
    await home.of().delete([first.id])
    assert home.bytes_left() == [b"both"]
    await home.of().delete([second.id])
    assert home.bytes_left() == []
    await home.memories.close()


async def test_an_earlier_version_keeps_its_bytes_and_takes_them_with_it(home: Home) -> None:
    item = await home.keep(b"old")
    new = replace(item.attachments[0], sha256=await home.files.put(ANA, b"new"))
    await home.of(act="new").update(item.id, attachments=[new], vectors={}, keeps_past=True)
    await home.clock.advance(FOREVER_S)
    assert home.bytes_left() == [b"new", b"old"]
    await home.of(act="gone").delete([item.id])
    await home.clock.advance(661)
    assert home.bytes_left() == []
    await home.memories.close()


async def test_a_start_removes_what_a_crash_left_between_the_bytes_and_their_memory(home: Home) -> None:
    await home.keep(b"saved")
    await home.files.put(ANA, b"left")
    await home.clock.advance(661)
    restarted = home.opened()
    await restarted.start()
    assert home.bytes_left() == [b"saved"]
    await restarted.close()


async def test_what_was_just_put_is_not_swept_before_its_memory_is_saved(home: Home) -> None:
    item = await home.keep(b"old")
    await home.of(act="gone").delete([item.id])
    await home.clock.advance(650)
    await home.files.put(ANA, b"new")
    await home.clock.advance(11)
    assert home.bytes_left() == [b"new"]
    await home.memories.close()


async def test_linked_accounts_have_one_anothers_files_and_parted_ones_their_own(home: Home) -> None:
    await home.keep(b"mine")
    await home.keep(b"yours", memory=home.of(BIA))
    await home.keep(b"both")
    await home.keep(b"both", memory=home.of(BIA))
    await home.memories.link(ANA, BIA)
    assert home.bytes_left() == [b"both", b"mine", b"yours"]
    assert await home.files.digests(BIA) == frozenset()
    theirs = await home.files.digests(ANA)
    await home.memories.unlink(ANA, BIA)
    of = {owner: {await home.files.get(owner, each) for each in theirs} - {None} for owner in (ANA, BIA)}
    assert of == {ANA: {b"mine", b"both"}, BIA: {b"yours", b"both"}}
    await home.memories.close()


async def test_what_is_put_while_accounts_are_linked_is_not_lost(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    link = home.store.link

    async def link_late(*args: object) -> None:
        await home.keep(b"late", memory=home.of(BIA))
        await link(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(home.store, "link", link_late)
    await home.memories.link(ANA, BIA)
    [item] = await home.of().page(limit=9)
    assert await home.files.get(ANA, item.attachments[0].sha256) == b"late"


async def test_parting_who_is_not_linked_moves_nothing(home: Home) -> None:
    await home.keep(b"mine")
    await home.files.put(ANA, b"under way")
    await home.memories.unlink(ANA, BIA)
    assert home.bytes_left() == [b"mine", b"under way"]


# --- saying it again -------------------------------------------------------------------------------------------------


async def test_words_said_again_alone_are_the_memory_that_keeps_a_thing(home: Home) -> None:
    item = await home.keep()
    [said] = await home.of().save([WORDS])
    assert (said.item.id, said.relation) == (item.id, Relation.SAME)
    assert said.item.attachments == item.attachments


async def test_the_same_words_with_another_thing_are_kept_beside(home: Home) -> None:
    memory, item = home.of(), await home.keep(b"front")
    back = replace(item.attachments[0], sha256=await home.files.put(ANA, b"back"))
    other = replace(WORDS, attachments=(back,))
    [said] = await memory.save([other])
    assert said.relation is Relation.NEW
    assert await memory.count() == 2
    [again] = await memory.save([other])
    assert (again.item.id, again.relation) == (said.item.id, Relation.SAME)


async def test_two_things_in_one_save_are_two_memories(home: Home) -> None:
    things = [Attachment(AttachmentKind.LOCATION, detail=f"{n},1") for n in range(2)]
    saved = await home.of().save([replace(WORDS, attachments=(thing,)) for thing in things], {})
    assert [each.item.attachments for each in saved] == [(thing,) for thing in things]


async def test_new_words_keep_the_thing(home: Home) -> None:
    item = await home.keep()
    changed = await home.of(act="2").update(item.id, content="My card of vaccines", vectors={})
    assert changed is not None
    assert changed.attachments == item.attachments


async def test_a_room_that_has_not_heard_of_a_thing_gets_none_of_it(home: Home) -> None:
    item = await home.keep()
    there = home.memories.of(ANA, ChangeContext("2", "telegram:kitchen"))
    assert await there.passages(item.id) == ()
    changed = await there.update(item.id, content="My card", vectors={})
    assert changed is not None
    assert changed.attachments == ()


# --- passages --------------------------------------------------------------------------------------------------------

PAGES = (
    Passage("The monthly rent is 900 euros, due on the first day.", 2),
    Passage("Pets: dogs and cats are forbidden in the flat.", 4),
    Passage("A pet that was there before may stay; pets of guests may not.", 5),
    Passage("No pets at all in the garden, says this part about pets.", 6),
    Passage("Of pets and their keepers, the pet rules.", 7),
)
LEASE = Attachment(AttachmentKind.FILE, "lease.pdf", "application/pdf", 9, sha256="a" * 64)
CONTRACT = MemoryDraft(
    MemoryKind.TEXT, "My rental contract", ("rental contract",), attachments=(LEASE,), passages=PAGES
)


async def test_a_search_tells_the_passages_that_it_found_a_memory_by(home: Home) -> None:
    memory = home.of()
    [item] = await memory.add([CONTRACT], {})
    await memory.add([replace(WORDS, content=f"fact {n}", bindings=(f"fact {n}",)) for n in range(9)], {})
    found = await memory.search(["contract about pets"], {}, limit=5, floor=0)
    [hit] = [each for each in found if each.item.id == item.id]
    assert len(hit.passages) == 3
    assert {passage.page for passage in hit.passages} <= {4, 5, 6, 7}
    assert hit.matched == "rental contract"
    [pets, *_] = await memory.search(["dogs in the flat"], {}, limit=5, floor=0)
    assert (pets.matched, pets.passages) == (PAGES[1].text, (PAGES[1],))
    assert await memory.passages(item.id) == list(PAGES)
    [whole] = [each for each in await memory.find("rental contract", limit=5) if each.item.id == item.id]
    assert whole.passages == ()


async def test_a_document_that_is_asked_for_by_name_brings_its_best_passages_though_they_are_not_sure_themselves(
    home: Home,
) -> None:
    memory = home.of()
    await memory.add([CONTRACT], {})
    [hit] = await memory.search(["rental contract garden"], {}, limit=5, floor=0)
    [sure] = await memory.search(["rental contract garden"], {}, limit=5, floor=hit.chance)
    assert sure.passages[0] == PAGES[3]


async def test_many_passages_of_one_document_leave_room_for_other_memories(home: Home) -> None:
    memory = home.of()
    await memory.add([CONTRACT], {})
    others = [MemoryDraft(MemoryKind.TEXT, f"My pets number {n}", (f"pets {n}",)) for n in range(4)]
    await memory.add(others, {})
    hits = await memory.search(["pets forbidden flat garden guests keepers"], {}, limit=5, floor=0)
    assert len(hits[0].passages) == 3
    assert len({hit.item.id for hit in hits}) == len(hits) == 5


async def test_a_passage_makes_its_memory_sure_though_its_own_words_name_another_subject(home: Home) -> None:
    memory = home.of()
    pages = (Passage("The wifi password is 4417.", 1),)
    await memory.add([replace(CONTRACT, content="Bank passwords", bindings=("bank passwords",), passages=pages)], {})
    [hit] = await memory.find("what is the wifi password?", limit=5)
    assert (hit.chance >= SURE, hit.other) == (True, "")


async def test_passages_are_embedded_in_the_background(home: Home) -> None:
    memory = home.of()
    await memory.add([CONTRACT], {})
    for _ in range(200):
        await asyncio.sleep(0)
    assert await home.store.unembedded(ANA, HashEmbedder(dims=64).space, 99) == {}
    await home.memories.close()
