"""What a person had forgotten stands nowhere in the data folder any more."""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from core.enclosures import Attachment, AttachmentKind
from core.features.reminders.reminders import Before, DueClaim, Reminder, Schedule
from core.features.reminders.storage import ReminderStore
from core.storage.database import Database
from core.storage.history import SqlHistory
from core.storage.inbox import SqlInbox
from core.storage.memories import SqlMemories
from core.storage.record import to_blob
from core.storage.sqlite import open_database
from core.stores import ChangeContext
from core.threads import ToldMemory
from core.types import (
    ChatKey,
    ConversationKey,
    Incoming,
    MemoryDraft,
    MemoryKind,
    Message,
    MessageRole,
    Passage,
    UserKey,
)
from tests.fakes.clock import START
from tests.fakes.memories import add, quotes
from tests.profile import long

ANA, BIA = UserKey("telegram", "ana-of-the-house"), UserKey("telegram", "bia-next-door")
ROOM = ChatKey("telegram", "room")
COUNT = 8
_KEEPS = 0.3
"""How often a memory keeps a document."""


class Talk:
    """Fills a database with words that occur nowhere else, and knows which were whose."""

    def __init__(self, database: Database) -> None:
        self.dice = random.Random(11)  # noqa: S311 - data
        self.memories = SqlMemories(database)
        self.history = SqlHistory(database)
        self.inbox = SqlInbox(database)
        self.reminders = ReminderStore(database)
        self.vectors: dict[UserKey, list[bytes]] = {ANA: [], BIA: []}

    def say(self, user: UserKey, count: int) -> list[str]:
        prefix = "zq" if user == ANA else "zw"
        return [prefix + "".join(self.dice.choices("abcdefghij", k=8)) for _ in range(count)]

    def draft(self, user: UserKey) -> MemoryDraft:
        said = self.say(user, self.dice.choice([3, 10, 60, 400]))
        draft = MemoryDraft(MemoryKind.TEXT, " ".join(said), tuple(" ".join(said[i : i + 2]) for i in range(2)))
        if self.dice.random() < _KEEPS:
            named = Attachment(AttachmentKind.FILE, self.say(user, 1)[0], sha256=f"{self.dice.randrange(2**256):064x}")
            pages = tuple(Passage(" ".join(self.say(user, 60)), page) for page in range(3))
            draft = replace(draft, attachments=(named,), passages=pages)
        return draft

    async def save(self, user: UserKey, size: int) -> tuple[str, list[str]]:
        """Save one memory of so many words; return its id and them."""
        said = self.say(user, size)
        vector = np.random.default_rng(self.dice.randrange(2**60)).standard_normal(384).astype(np.float32)
        self.vectors[user].append(to_blob(vector)[:64])
        draft = MemoryDraft(MemoryKind.TEXT, " ".join(said), (said[0],))
        vectors, context = {draft.content: vector}, ChangeContext("save", "telegram:room")
        [item] = await add(self.memories, user, [draft], at=START, vectors=vectors, space="x@384", context=context)
        return item.id, said

    async def remind(self, user: UserKey, number: int) -> None:
        """Set a reminder, and change or fire it."""
        wall = START.replace(tzinfo=None)
        new = Reminder(user, ROOM, self.words(user), Schedule(wall, "UTC"), START, START, name=self.words(user))
        made = await self.reminders.add(new, most=999)
        assert made is not None
        before = Before(made.text, made.schedule, made.due, made.state)
        await self.reminders.replace(made, replace(made, text=self.words(user), before=before, changed_at=START))
        if number % 7 == 0:
            await self.reminders.claim(DueClaim(START, {user.platform}))

    def words(self, user: UserKey) -> str:
        return " ".join(self.say(user, self.dice.choice([3, 100])))

    async def round(self, user: UserKey, number: int) -> None:
        draft = self.draft(user)
        vector = np.random.default_rng(self.dice.randrange(2**60)).standard_normal(384).astype(np.float32)
        self.vectors[user].append(to_blob(vector)[:64])
        vectors = {draft.content: vector}
        context = ChangeContext(f"act {number}", "telegram:room" if number % 2 else "", user)
        [item] = await add(self.memories, user, [draft], at=START, vectors=vectors, space="x@384", context=context)
        if number % 3 == 0:
            await self.memories.update(
                user, item.id, self.draft(user), at=START, context=ChangeContext(f"update {number}")
            )
        if number % 5 == 0:
            await self.memories.delete(user, [item.id], at=START, context=ChangeContext(f"delete {number}"))
        if number % 10 == 0:
            await self.memories.undo(user, f"delete {number}")
        await self.remind(user, number)
        thread = await self.history.open_thread(ConversationKey(ROOM, user), START)
        for answered in (True, False):
            text = " ".join(self.say(user, self.dice.choice([5, 200])))
            await self.history.append(thread.id, Message(MessageRole.USER, text))
            incoming = Incoming(ROOM, user, "Ana", str(self.dice.random()), text, START)
            await self.inbox.accept(incoming)
            if answered:
                await self.inbox.close(incoming)


@pytest.fixture(autouse=True)
def _ids_are_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A random id may hold what looks like the beginning of somebody's word: one run in twenty."""
    numbers = itertools.count(10**9)
    for module in (
        "core.storage.memories",
        "core.storage.memory_rows",
        "core.storage.history",
        "core.features.reminders.storage",
    ):
        monkeypatch.setattr(f"{module}.random_id", lambda: str(next(numbers)))


def read_all(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


def left(folder: Path, needles: list[bytes]) -> list[bytes]:
    raw = read_all(folder)
    return [needle for needle in needles if needle in raw]


def words_of_ana(folder: Path) -> set[bytes]:
    return set(re.findall(rb"zq[a-j]{2,8}", read_all(folder)))


@pytest.mark.long
@pytest.mark.spec("T12", "T15")
async def test_after_forgetting_a_person_no_byte_of_theirs_is_left_while_the_bot_runs(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    talk = Talk(database)
    for number in range(25):
        for user in (ANA, BIA):
            await talk.round(user, number)
    assert len(words_of_ana(tmp_path)) > 5000, "there was something to forget"
    for store in (talk.memories, talk.history, talk.inbox, talk.reminders):
        await store.forget(ANA)
    assert words_of_ana(tmp_path) == set()
    assert left(tmp_path, [*talk.vectors[ANA], ANA.user.encode()]) == []
    contents = [item.content.encode() for item in await talk.memories.page(BIA, limit=999)]
    assert len(contents) == 23
    assert all(content[:12] in read_all(tmp_path) for content in contents)
    await database.close()


@pytest.mark.spec("T12")
@pytest.mark.parametrize("known", [5, 200])
async def test_a_deleted_memory_is_gone_from_the_disk_when_delete_returns(tmp_path: Path, known: int) -> None:
    database = await open_database(tmp_path / "elefante.db")
    store = SqlMemories(database)
    await add(store, ANA, [MemoryDraft(MemoryKind.TEXT, f"fact {n}", (f"key {n}",)) for n in range(known)], at=START)
    secret = MemoryDraft(MemoryKind.TEXT, "The code is xylophone 918273", ("vault combination",))
    vector = np.random.default_rng(3).standard_normal(384).astype(np.float32)
    [item] = await add(store, ANA, [secret], at=START, vectors={secret.content: vector}, space="x@384")
    needles = [b"xylophone", b"918273", b"vault", to_blob(vector)[:64]]
    assert left(tmp_path, needles) == needles
    await store.delete(ANA, [item.id])
    assert left(tmp_path, needles) == []
    await database.close()


@pytest.mark.long
@pytest.mark.spec("T12", "T15")
@pytest.mark.parametrize("name", [ANA, BIA])
async def test_after_forgetting_linked_accounts_no_byte_of_either_is_left(tmp_path: Path, name: UserKey) -> None:
    database = await open_database(tmp_path / "elefante.db")
    talk = Talk(database)
    for number in range(11):
        for user in (ANA, BIA):
            await talk.round(user, number)
    await talk.memories.link(ANA, BIA)
    await talk.memories.forget(name)
    for user in (ANA, BIA):
        for store in (talk.history, talk.inbox, talk.reminders):
            await store.forget(user)
    assert re.findall(rb"z[qw][a-j]{2,8}", read_all(tmp_path)) == []
    assert left(tmp_path, [*talk.vectors[ANA], *talk.vectors[BIA], ANA.user.encode(), BIA.user.encode()]) == []
    await database.close()


@pytest.mark.spec("T12")
@pytest.mark.parametrize("size", [3, long(400)])  # words: on a page, and on several
async def test_words_of_the_deleted_are_there_until_they_are_purged_and_then_no_byte(tmp_path: Path, size: int) -> None:
    database = await open_database(tmp_path / "elefante.db")
    talk = Talk(database)
    kept = [await talk.save(BIA, size) for _ in range(COUNT)]
    gone = [await talk.save(ANA, size) for _ in range(COUNT)]
    for key, _ in gone:
        await talk.memories.update(ANA, key, talk.draft(ANA), at=START, context=ChangeContext("update"))
    for key, _ in gone:
        await talk.memories.delete(ANA, [key], at=START, context=ChangeContext(f"delete {key}"))
    assert all(said[0].encode() in read_all(tmp_path) for _, said in gone), "for as long as it can be undone"
    assert left(tmp_path, talk.vectors[ANA]) == [], "nothing but words is kept"
    assert await talk.memories.purge(START + timedelta(seconds=1)) == COUNT
    assert words_of_ana(tmp_path) == set()
    assert all(said[0].encode() in read_all(tmp_path) for _, said in kept)
    assert list(await talk.memories.changes(ANA)) == []
    await database.close()


@pytest.mark.spec("T12")
async def test_a_save_that_was_undone_leaves_no_byte(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    talk = Talk(database)
    await talk.save(BIA, 20)
    [key, said] = await talk.save(ANA, 20)
    await talk.memories.update(ANA, key, talk.draft(ANA), at=START, context=ChangeContext("save"))
    assert said[0].encode() in read_all(tmp_path)
    assert await talk.memories.undo(ANA, "save")
    assert words_of_ana(tmp_path) == set()
    assert left(tmp_path, talk.vectors[ANA]) == []
    await database.close()


@pytest.mark.spec("T12")
@pytest.mark.parametrize("way", ["redact", "erase", "update", "delete", "forget"])
async def test_what_a_message_is_found_by_goes_with_its_words(tmp_path: Path, way: str) -> None:
    database = await open_database(tmp_path / "elefante.db")
    talk = Talk(database)
    by, told = (MessageRole.ASSISTANT if way == "redact" else MessageRole.USER), ToldMemory("m", "v")
    kept, gone = ([" ".join(talk.say(user, 40)) for _ in range(COUNT)] for user in (BIA, ANA))
    bias, anas = [await talk.history.open_thread(ConversationKey(ROOM, user), START) for user in (BIA, ANA)]
    for thread, said in ((bias, kept), (anas, gone)):
        for text in said:
            stored = await talk.history.append(thread.id, Message(by, text, room="telegram:room"))
            await talk.history.tell({stored.id: [told]})
    stems = {word[:6].encode() for text in gone for word in text.split()}
    assert left(tmp_path, sorted(stems)) == sorted(stems)
    if way in {"redact", "erase"}:
        await talk.history.redact(ANA, [told], own=way == "erase")
    elif way == "update":
        await talk.history.update(anas.id, [])
    else:
        await (talk.history.delete(anas.id) if way == "delete" else talk.history.forget(ANA))
    assert words_of_ana(tmp_path) == set()
    assert await quotes(talk.history, [ANA], gone[0], limit=9) == []
    assert len(await quotes(talk.history, [BIA], kept[0], limit=9)) > 0
    await database.close()
