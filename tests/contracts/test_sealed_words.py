"""What people said, sent and were told stands nowhere on the disk but sealed, each value for its place alone."""

# ruff: noqa: S608 - SQL is put together from constants of ours only
from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.enclosures import Attachment, AttachmentKind, Quote, QuoteKind, Speaker
from core.errors import StorageError, Unreadable
from core.features.admin.storage import Decision, DecisionKind, Decisions
from core.features.broadcast.storage import Broadcasts, BroadcastState
from core.features.reminders.reminders import Before, DueClaim, Mention, Reminder, ReminderState, Schedule
from core.features.reminders.storage import ReminderStore
from core.sealing.port import BLANKS, PLAIN
from core.sealing.sealed import KEY_ID_BYTES, Sealed
from core.storage.database import Database
from core.storage.history import SqlHistory
from core.storage.inbox import SqlConfirmations, SqlInbox, SqlPendingInputs, done, note
from core.storage.sealed_columns import FEATURES, HISTORY, SEALED_COLUMNS, SealedColumn
from core.storage.sqlite import open_database
from core.threads import Confirmation, PendingInput, Summary
from core.types import (
    ChatKey,
    ConversationKey,
    Incoming,
    Locale,
    MemoryDraft,
    MemoryKind,
    Message,
    MessageRole,
    OpenQuestion,
    UserKey,
)
from tests.contracts.engines import ENGINES, sealing_beside
from tests.fakes.clock import START
from tests.fakes.memories import quotes
from tests.fakes.ram import RamDatabase

ANA, BIA = UserKey("telegram", "1"), UserKey("telegram", "2")
PRIVATE, ROOM = ChatKey("telegram", "1"), ChatKey("telegram", "kitchen")
IN_ROOM: Final = "telegram:kitchen"
NUMBERS: Final = (1, 2)
COLUMNS: Final = HISTORY + FEATURES
TEXTS: Final = [each for each in COLUMNS if each.kind == "text"]


@pytest.fixture(params=["sealed sqlite", "sealed postgres"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    database = await ENGINES[request.param](tmp_path / "elefante.db")
    yield database
    await database.close()


def word(name: str, number: int) -> str:
    """Return a word that stands nowhere else, and is its own stem."""
    return f"zq9{name}{number}z"


class Everything:
    """Two rows of each kind for one person, of distinctive words, written and read through the stores."""

    def __init__(self, database: Database, user: UserKey = ANA) -> None:
        self.database, self.user = database, user
        self.history, self.inbox = SqlHistory(database), SqlInbox(database)
        self.inputs, self.confirmations = SqlPendingInputs(database), SqlConfirmations(database)
        self.reminders, self.broadcasts = ReminderStore(database), Broadcasts(database)
        self.decisions = Decisions(database)
        self.said: set[str] = set()
        self.threads: list[str] = []

    def word(self, name: str, number: int) -> str:
        """Return a word, noted as said."""
        self.said.add(word(name, number))
        return word(name, number)

    async def write(self) -> None:
        """Write everything."""
        for number in NUMBERS:
            await self._talk(number)
            await self._owe(number)
            await self._features(number)

    async def _talk(self, number: int) -> None:
        here = ConversationKey(ChatKey("telegram", f"place-{number}"), self.user)
        thread = await self.history.open_thread(here, START, {"a": self.word("metadata", number)})
        self.threads.append(thread.id)
        await self.history.describe(replace(thread, title=self.word("title", number)))
        photo = Attachment(AttachmentKind.PHOTO, self.word("photo", number), detail=self.word("detail", number))
        quote = Quote(QuoteKind.REPLY, self.word("quoted", number), Speaker.OTHER)
        asked = Message(
            MessageRole.USER, self.word("asked", number), at=START, turn="t", attachments=(photo,), quotes=(quote,)
        )
        question = OpenQuestion("which", ("m1", "new"), self.word("question", number))
        answer = Message(
            MessageRole.ASSISTANT,
            self.word("answer", number),
            at=START + timedelta(seconds=1),
            turn="t",
            question=question,
        )
        stored = [await self.history.append(thread.id, each) for each in (asked, answer)]
        draft = MemoryDraft(MemoryKind.TEXT, self.word("offered", number), (self.word("binding", number),))
        await self.history.offer(stored[0].id, [draft])
        assert await self.history.fold(thread.id, Summary(self.word("summary", number), through=1))
        await self.history.update(thread.id, await self.history.tail(thread.id, 9))
        assert await self.history.fold(thread.id, Summary(self.word("summary", number), through=1))
        [hit] = await quotes(self.history, [self.user], word("asked", number), limit=1)
        assert hit.message.content == word("asked", number)

    async def _owe(self, number: int) -> None:
        incoming = self.incoming(number)
        assert await self.inbox.accept(incoming)
        part = replace(incoming, message_id=f"{number}b", text=self.word("part", number))
        assert await self.inbox.accept(part)
        await self.inbox.collect(replace(incoming, parts=(incoming, part)))
        key, noted = (incoming.chat, incoming.message_id), self.word("done", number)
        await self.database.write(lambda query: note(query, key, "step", noted))

    def incoming(self, number: int) -> Incoming:
        """Return a message that is owed an answer."""
        return Incoming(PRIVATE, self.user, "Ana", str(number), self.word("owed", number), START)

    async def _features(self, number: int) -> None:
        here = ConversationKey(ChatKey("telegram", f"waiting-{number}"), self.user)
        await self.inputs.put(here, PendingInput(self.word("command", number), START))
        await self.confirmations.put(here, Confirmation("ABCD", "Deletion", f'["{self.word("data", number)}"]', START))
        schedule = Schedule(datetime(2026, 3, 14, 12, 0), "UTC")  # noqa: DTZ001 - wall
        due = START + timedelta(days=number)
        added = await self.reminders.add(
            Reminder(self.user, PRIVATE, self.word("remind", number), schedule, due, created_at=START), most=9
        )
        assert added is not None
        before = Before(self.word("before", number), schedule, due, ReminderState.WAITING)
        mention = Mention(self.word("mention", number))
        await self.reminders.replace(added, replace(added, before=before, mention=mention, changed_at=due))
        writer, at = UserKey("telegram", f"owner-{number}"), START + timedelta(seconds=number)
        drafted = await self.broadcasts.draft(writer, Locale.EN, self.word("broadcast", number), at)
        if number == NUMBERS[-1]:
            assert await self.broadcasts.begin(drafted.id, [self.user])
        prompt = self.word("prompt", number)
        await self.decisions.apply(Decision(at, writer, DecisionKind.PROMPT, f"telegram:{number}", "", prompt))
        after = self.word("persona", number)
        decided = Decision(at, writer, DecisionKind.PROMPT, f"telegram:{number}", prompt, after)
        await self.decisions.apply(replace(decided, at=at + timedelta(microseconds=1)))

    async def read(self) -> str:
        """Return all that can be read through the stores."""
        fresh = Decisions(self.database)
        found: list[object] = [await self.history.threads(self.user), await self.inbox.owed("telegram")]
        for thread_id in self.threads:
            found += [await self.history.tail(thread_id, 9), await self.history.summaries(thread_id)]
        for number in NUMBERS:
            here = ConversationKey(ChatKey("telegram", f"waiting-{number}"), self.user)
            found += [await self.inputs.find(here), await self.confirmations.find(here)]
            found += [await quotes(self.history, [self.user], word("asked", number), limit=1)]
            key = (PRIVATE, str(number))
            found += [await self.database.read(partial(done, message=key))]
        found += [await self.reminders.of([self.user]), await self.broadcasts.newest()]
        found += [await fresh.values(DecisionKind.PROMPT), await fresh.newest(9)]
        return repr(found)


async def everything(database: Database) -> Everything:
    """Return two rows of everything, written."""
    written = Everything(database)
    await written.write()
    return written


@pytest.mark.parametrize("is_sealed", [False, True])
async def test_no_word_stands_on_the_disk(tmp_path: Path, *, is_sealed: bool) -> None:
    """Neither in the database nor in its log; unsealed, every one of them does."""
    path = tmp_path / "data" / "elefante.db"
    database = await open_database(path, sealing=sealing_beside(path) if is_sealed else PLAIN)
    written = await everything(database)
    found = _on_disk(path.parent, written.said)
    assert len(written.said) > 40
    assert found == (set() if is_sealed else written.said)
    await written.history.retract(ConversationKey(ChatKey("telegram", "place-1"), ANA), ["none"])
    await written.inbox.forget(BIA)
    await written.reminders.claim(DueClaim(START + timedelta(days=9), {"telegram"}))
    here = ConversationKey(PRIVATE, ANA)
    asked = Confirmation("EFGH", "Deletion", f'["{written.word("taken", 1)}"]', START)
    await written.confirmations.put(here, asked)
    assert await written.confirmations.take(here, "1") == asked == await written.confirmations.taken(here, "1")
    assert _on_disk(path.parent, [word("taken", 1)]) == (set() if is_sealed else {word("taken", 1)})
    await database.close()
    assert not is_sealed or not _on_disk(path.parent, written.said)


async def test_what_is_sealed_is_read_as_it_was_said(database: Database) -> None:
    written = await everything(database)
    read = await written.read()
    assert {each for each in written.said if each not in read} == {word("broadcast", 1)}, "a draft is read by nobody"
    draft = (await database.rows("SELECT id FROM broadcasts WHERE state = 'draft'"))[0][0]
    await written.broadcasts.end(draft + 1, BroadcastState.DONE)
    assert await written.broadcasts.begin(draft, [ANA])
    told = await written.broadcasts.newest()
    assert told is not None
    assert told.text == word("broadcast", 1)


@pytest.mark.parametrize("column", TEXTS, ids=lambda each: each.name)
async def test_a_value_in_the_place_of_another_is_not_read(database: Database, column: SealedColumn) -> None:
    written = await everything(database)
    keys = ", ".join(f'"{each}"' for each in column.key)
    rows = await database.rows(f'SELECT {keys}, "{column.column}" FROM {column.table} ORDER BY {keys} DESC')
    first, second = [row for row in rows if row[-1] is not None and row[-1] not in BLANKS][:2]
    assert first[-1] != second[-1]
    where = " AND ".join(f'"{each}" = ?' for each in column.key)
    for row, other in ((first, second), (second, first)):
        await database.change(f'UPDATE {column.table} SET "{column.column}" = ? WHERE {where}', (other[-1], *row[:-1]))
    with pytest.raises(Unreadable, match=column.name):
        await written.read()


@pytest.mark.parametrize("column", TEXTS, ids=lambda each: each.name)
async def test_the_registry_says_whose_each_value_is_and_what_names_it(
    database: Database, column: SealedColumn
) -> None:
    await everything(database)
    sealing = database.sealing
    assert isinstance(sealing, Sealed)
    rows = await database.rows(
        f'SELECT {column.owned}, {", ".join(column.row)}, t."{column.column}" FROM {column.table} AS t {column.joined}'
    )
    cells = [row for row in rows if row[-1] is not None and row[-1] not in BLANKS]
    assert len(cells) >= len(NUMBERS)
    for platform, user, *parts, cell in cells:
        sealing.open(column.name, "|".join(map(str, parts)), cell)
        key = sealing.file.of(UserKey(platform, user))
        assert key is not None
        assert urlsafe_b64decode(cell + "==")[1 : 1 + KEY_ID_BYTES] == key.id


async def test_the_words_of_messages_are_hashed_by_the_key_of_whom_the_registry_says(database: Database) -> None:
    await everything(database)
    [column] = [each for each in COLUMNS if each.kind == "word"]
    rows = await database.rows(f"SELECT {column.owned}, t.term FROM {column.table} AS t {column.joined}")
    expected = {
        *database.sealing.hashed(ANA, [word(name, number) for name in ("asked", "answer") for number in NUMBERS])
    }
    assert {row[:2] for row in rows} == {(ANA.platform, ANA.user)}
    assert {row[2] for row in rows} == expected


OPEN: Final = """
    threads: id platform chat topic user status policy
    messages: thread role modal turn source_id memory_id error pair room speaker basis
    summaries: thread model
    transitions: thread turn state error
    told_memories: thread memory
    places: platform user room
    unindexed: thread
    inbox: platform chat topic message_id user posted edits
    owners: platform user
    memories: key kind current may_replace
    changes: act kind key
    rooms: room
    spaces: name
    reminders: id platform user chat topic name kind language wall zone rule state batch act
    people: platform user standing name
    strangers: platform user name language
    accounts: platform user handle language
    preferences: platform user language learn zone
    link_codes: digest platform user name asked_platform asked_user
    awaited: platform chat topic user
    confirmations: platform chat topic user code kind
    decided: matter name
    decisions: platform user matter name
    broadcasts: platform user language state
    recipients: platform user state
    calls: platform user mode task model outcome room
    call_quarters: model
    call_payers: platform user room
    asked: platform user room
    told: scope period
    kept: name value
    files: owner sha256
    schema_history: program backup
"""
"""What holds no words: ids, times, rooms, names as platforms give them, names of our own, settings, figures.

`basis` says by ids and figures what an answer rested on. `kept` holds what workers agree on: rooms' titles, alarms, the
ids behind the numbers of a list. `error` is the name of a class of ours, `posted` the ids of messages of ours,
`link_codes.digest` the hash of a code of ours.
"""

SEALED_ELSEWHERE: Final = {"told_memories.version", "files.content"}


async def test_of_every_column_it_was_decided_whether_it_is_sealed() -> None:
    database = RamDatabase()
    opened = {
        f"{table}.{column}"
        for table, _, columns in (line.strip().partition(": ") for line in OPEN.strip().splitlines())
        for column in columns.split()
    }
    is_sealed = {each.name for each in SEALED_COLUMNS} | SEALED_ELSEWHERE
    tables = await database.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    there = {
        f"{table}.{row[1]}"
        for (table,) in tables
        for row in await database.rows(f"PRAGMA table_info({table})")
        if row[2] in {"TEXT", "BLOB"}
    }
    assert opened.isdisjoint(is_sealed)
    assert there == opened | is_sealed


WORDS = st.lists(st.sampled_from("key safe car dog 12 house".split()), min_size=1, max_size=4).map(" ".join)
SAID = st.tuples(WORDS, st.sampled_from([ANA, BIA]), st.sampled_from(["", IN_ROOM]), st.booleans())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=st.lists(SAID, max_size=12), query=WORDS, room=st.sampled_from(["", IN_ROOM]))
async def test_a_search_of_linked_accounts_finds_sealed_what_it_finds_unsealed(
    tmp_path: Path, said: Sequence[tuple[str, UserKey, str, bool]], query: str, room: str
) -> None:
    sealed = sealing_beside(tmp_path / "elefante.db")
    found = []
    for sealing in (PLAIN, sealed):
        history = SqlHistory(database := RamDatabase())
        database.sealing = sealing
        for text, user, where, by_bot in said:
            thread = await history.open_thread(ConversationKey(ROOM if where else PRIVATE, user), START)
            role = MessageRole.ASSISTANT if by_bot else MessageRole.USER
            await history.append(thread.id, Message(role, text, room=where, at=START))
        hits = await quotes(history, [ANA, BIA], query, limit=20, room=room)
        found.append([(hit.message, hit.score, hit.before) for hit in hits])
    assert found[0] == found[1]


async def test_who_is_forgotten_without_a_key_leaves_no_id_in_what_is_done_for_others(database: Database) -> None:
    """And what nobody can open any more is in nobody's way."""
    sealing, inbox = database.sealing, SqlInbox(database)
    assert isinstance(sealing, Sealed)
    for user, message_id in ((ANA, "1"), (BIA, "2")):
        incoming = Incoming(PRIVATE, user, "x", message_id, "oi", START)
        assert await inbox.accept(incoming)
        step = json.dumps({"about": ANA.user, "beside": "x"})
        await database.write(partial(note, message=(PRIVATE, message_id), step="step", value=step))
    destroy(sealing, ANA)
    await inbox.forget(ANA)
    kept = await database.read(partial(done, message=(PRIVATE, "2")))
    assert json.loads(str(kept["step"])) == {"about": "", "beside": "x"}
    assert len(await inbox.owed("telegram")) == 1


async def test_a_broadcast_is_told_when_its_writer_has_no_key_any_more(database: Database) -> None:
    sealing, broadcasts = database.sealing, Broadcasts(database)
    assert isinstance(sealing, Sealed)
    running = await broadcasts.draft(ANA, Locale.EN, "hello", START)
    assert await broadcasts.begin(running.id, [BIA])
    draft = await broadcasts.draft(ANA, Locale.EN, "not yet", START)
    destroy(sealing, ANA)
    told = await broadcasts.newest()
    assert told is not None
    assert told.text == "hello"
    assert await broadcasts.end(running.id, BroadcastState.DONE)
    with pytest.raises(Unreadable):
        await broadcasts.begin(draft.id, [BIA])


async def test_a_thread_that_is_nobodys_takes_no_words(database: Database) -> None:
    """One that is unknown, and one whose person is being forgotten: no key is made for it."""
    sealing, history = database.sealing, SqlHistory(database)
    assert isinstance(sealing, Sealed)
    thread = await history.open_thread(ConversationKey(PRIVATE, ANA), START)
    await database.change("""UPDATE threads SET platform = '', "user" = id""")
    for thread_id in ("unknown", thread.id):
        with pytest.raises(StorageError):
            await SqlHistory(database).append(thread_id, Message(MessageRole.USER, "oi"))
    assert sealing.file.owners() == []


def destroy(sealing: Sealed, user: UserKey) -> None:
    """Destroy a person's key."""
    key_id = sealing.key_id(user)
    assert key_id is not None
    sealing.destroy(key_id)


def _on_disk(folder: Path, words: Collection[str]) -> set[str]:
    raw = b"".join(each.read_bytes() for each in folder.iterdir() if each.is_file())
    return {each for each in words if each.encode() in raw}
