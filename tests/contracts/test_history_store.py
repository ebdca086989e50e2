"""Every history keeps every message in the order in which it was said."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from core.enclosures import Attachment, AttachmentKind, Quote, QuoteKind, Speaker
from core.errors import StorageError
from core.storage.database import Database
from core.storage.history import SqlHistory
from core.storage.sqlite import open_database
from core.stores import Exchange, HistoryStore, SaidMessage
from core.threads import Summary, ThreadRecord, ToldMemory, Transition, TurnState
from core.types import (
    Basis,
    ChatKey,
    ConversationKey,
    MemoryDraft,
    MemoryKind,
    Message,
    MessageRole,
    Modal,
    OpenQuestion,
    StepTaken,
    Thread,
    ThreadStatus,
    UserKey,
)
from tests.fakes.clock import START

ANA = UserKey("telegram", "ana")
BIA = UserKey("telegram", "bia")
ROOM = ConversationKey(ChatKey("telegram", "room", "topic"), ANA)
LATER = START + timedelta(seconds=90, microseconds=1)
BASIS = Basis({"m1": 0.75, "m2": None}, (3, 7), knows=True, steps=(StepTaken("MemorySearch", "done", 2, 0.41),))
SAID = Message(MessageRole.USER, "oi", at=START, turn="t1", source_id="7")


@pytest.fixture
def history(database: Database) -> HistoryStore:
    return SqlHistory(database)


@pytest.mark.spec("D1")
async def test_a_conversation_has_one_active_thread_made_on_first_use(history: HistoryStore) -> None:
    first = await history.open_thread(ROOM, START)
    again = await history.open_thread(ROOM, LATER)
    assert again.id == first.id
    assert re.fullmatch(r"[a-zA-Z0-9\-_]{3,64}", first.id)
    assert (first.conversation, first.status) == (ROOM, ThreadStatus.ACTIVE)
    assert (first.created_at, first.updated_at) == (START, START)


async def test_two_who_open_at_once_get_the_same_thread(history: HistoryStore) -> None:
    threads = await asyncio.gather(*(history.open_thread(ROOM, START) for _ in range(8)))
    assert len({thread.id for thread in threads}) == 1


@pytest.mark.spec("L6")
@pytest.mark.parametrize(
    "other",
    [
        ConversationKey(ROOM.chat, BIA),
        ConversationKey(ChatKey("telegram", "room"), ANA),
        ConversationKey(ChatKey("telegram", "elsewhere", "topic"), ANA),
    ],
)
async def test_another_person_place_or_topic_is_another_thread(history: HistoryStore, other: ConversationKey) -> None:
    here = await history.open_thread(ROOM, START)
    there = await history.open_thread(other, START)
    await history.append(here.id, SAID)
    assert there.id != here.id
    assert list(await history.tail(there.id, 10)) == []


@pytest.mark.spec("D6")
@pytest.mark.parametrize("status", [ThreadStatus.RESET, ThreadStatus.ARCHIVED])
async def test_a_thread_that_is_no_longer_active_is_not_opened_again(
    history: HistoryStore, status: ThreadStatus
) -> None:
    old = await history.open_thread(ROOM, START)
    await history.append(old.id, SAID)
    await history.mark(old.id, status, LATER)
    new = await history.open_thread(ROOM, LATER)
    assert new.id != old.id
    assert [message.content for message in await history.tail(old.id, 10)] == ["oi"]
    assert list(await history.tail(new.id, 10)) == []


async def test_marking_an_unknown_thread_changes_nothing(history: HistoryStore) -> None:
    await history.mark("unknown", ThreadStatus.RESET, START)


@pytest.mark.spec("L3", "T1")
@pytest.mark.parametrize(
    "message",
    [
        SAID,
        Message(MessageRole.ASSISTANT, "olá", in_history=False, at=LATER),
        Message(
            MessageRole.SYSTEM, {"id": "m1", "content": "é 123", "bindings": ["senha"]}, Modal.MEMORY, memory_id="m1"
        ),
        Message(MessageRole.USER, "lone \ud800, nul \x00, 🐘", room="telegram:room", speaker="Zoë 🐘"),
        Message(MessageRole.ASSISTANT, [1, 2.5, None, True, {"ã": []}]),
        Message(MessageRole.ASSISTANT, "é 123", basis=BASIS),
        Message(MessageRole.ASSISTANT, "qual?", question=OpenQuestion("which", ("m1", "new"), "senha \ud800")),
    ],
)
async def test_a_message_comes_back_as_it_was_said(history: HistoryStore, message: Message) -> None:
    thread = await history.open_thread(ROOM, START)
    stored = await history.append(thread.id, message)
    assert stored.id > 0
    assert stored.sequence == 1
    assert replace(stored, id=0, sequence=0) == message
    assert list(await history.tail(thread.id, 1)) == [stored]


async def test_the_tail_is_the_newest_messages_oldest_first(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    other = await history.open_thread(ConversationKey(ROOM.chat, BIA), START)
    for number in range(5):
        await history.append(thread.id, Message(MessageRole.USER, str(number)))
        await history.append(other.id, Message(MessageRole.USER, "not here"))
    assert [message.content for message in await history.tail(thread.id, 3)] == ["2", "3", "4"]
    assert [message.content for message in await history.tail(thread.id, 99)] == ["0", "1", "2", "3", "4"]
    assert list(await history.tail(thread.id, 0)) == []
    assert list(await history.tail("unknown", 3)) == []


async def test_a_platforms_message_is_stored_once(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    first = await history.append(thread.id, SAID)
    again = await history.append(thread.id, replace(SAID, content="edited"))
    assert again == first
    assert list(await history.tail(thread.id, 9)) == [first]


async def test_messages_of_ours_have_no_source_and_are_all_stored(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    for _ in range(2):
        await history.append(thread.id, Message(MessageRole.ASSISTANT, "oi"))
    assert len(await history.tail(thread.id, 9)) == 2


async def test_a_thread_was_last_used_when_its_newest_message_was_said(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    await history.append(thread.id, replace(SAID, at=LATER))
    await history.append(thread.id, Message(MessageRole.USER, "no time"))
    assert (await history.open_thread(ROOM, START)).updated_at == LATER


async def test_an_unknown_thread_takes_no_message(history: HistoryStore) -> None:
    with pytest.raises(StorageError):
        await history.append("unknown", SAID)


@pytest.mark.spec("T11")
async def test_a_thread_knows_the_memories_it_has_shown(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    for memory_id in ("m1", "m2", "m1", ""):
        await history.append(thread.id, Message(MessageRole.SYSTEM, {}, Modal.MEMORY, memory_id=memory_id))
    assert await history.shown_memories(thread.id) == {"m1", "m2"}
    assert await history.shown_memories("unknown") == frozenset()


@pytest.mark.spec("T15")
async def test_messages_are_read_by_their_ids_in_every_thread_of_ones_own_and_in_no_other(
    history: HistoryStore,
) -> None:
    garden = ConversationKey(ChatKey("telegram", "garden"), ANA)
    threads = [await history.open_thread(place, START) for place in (ROOM, garden, ConversationKey(ROOM.chat, BIA))]
    first, second, bias = [await history.append(thread.id, SAID) for thread in threads]
    await history.mark(threads[1].id, ThreadStatus.ARCHIVED, LATER)
    here, there = SaidMessage(first, ROOM.chat), SaidMessage(second, garden.chat)
    assert list(await history.said(ANA, [second.id, 10**9, bias.id, first.id, second.id])) == [there, here]
    assert list(await history.said(BIA, [bias.id, first.id])) == [SaidMessage(bias, ROOM.chat)]
    assert list(await history.said(ANA, [])) == []
    await history.forget(ANA)
    assert list(await history.said(ANA, [first.id])) == []


@pytest.mark.spec("T15")
async def test_forgetting_a_person_removes_only_that_persons_threads(history: HistoryStore) -> None:
    mine = await history.open_thread(ROOM, START)
    theirs = await history.open_thread(ConversationKey(ROOM.chat, BIA), START)
    for thread in (mine, theirs):
        await history.append(thread.id, SAID)
    await history.forget(ANA)
    assert list(await history.tail(mine.id, 9)) == []
    assert len(await history.tail(theirs.id, 9)) == 1
    assert (await history.open_thread(ROOM, START)).id != mine.id


@pytest.mark.spec("L3")
async def test_the_messages_of_a_memory_id_are_read_replaced_and_deleted(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    other = await history.open_thread(ConversationKey(ROOM.chat, BIA), START)
    said = [await history.append(thread.id, Message(MessageRole.USER, text, tokens=7)) for text in "abc"]
    theirs = await history.append(other.id, Message(MessageRole.USER, "theirs", tokens=7))
    await history.fold(thread.id, Summary("a and b", through=2))
    await history.enter(thread.id, Transition("t1", TurnState.PENDING, START))
    assert list(await history.since(thread.id)) == said

    added = Message(MessageRole.TOOL, {"found": 1}, at=LATER, tokens=1, pair="x")
    updated = list(await history.update(thread.id, [said[2], added, replace(theirs, content="not theirs")]))
    assert [message.content for message in updated] == ["c", {"found": 1}, "not theirs"]
    assert [message.sequence for message in updated] == [1, 2, 3]
    assert updated[0] == replace(said[2], sequence=1)
    assert updated[1] == replace(added, id=updated[1].id, sequence=2)
    assert updated[2].id not in {0, theirs.id}
    assert list(await history.since(thread.id)) == updated
    assert await history.totals(thread.id) == (3, 15)
    assert await history.summary(thread.id) is None
    assert (await history.append(thread.id, SAID)).sequence == 4

    await history.delete(thread.id)
    assert list(await history.since(thread.id)) == []
    assert await history.totals(thread.id) == (0, 0)
    assert list(await history.transitions(thread.id)) == []
    assert (await history.open_thread(ROOM, LATER)).id == thread.id
    assert (await history.append(thread.id, SAID)).sequence == 1
    assert list(await history.since(other.id)) == [theirs]


@pytest.mark.spec("L3")
async def test_a_memory_id_that_is_not_there_holds_nothing(history: HistoryStore) -> None:
    assert list(await history.since("unknown")) == []
    await history.delete("unknown")
    with pytest.raises(StorageError):
        await history.update("unknown", [SAID])


@pytest.mark.spec("D1")
async def test_a_thread_keeps_the_metadata_that_it_was_begun_with(history: HistoryStore) -> None:
    told = {"origin": "telegram", "version": "0.1.0"}
    thread = await history.open_thread(ROOM, START, told)
    assert thread.metadata == told
    assert (await history.open_thread(ROOM, LATER, {"origin": "elsewhere"})).metadata == told
    assert (await history.threads(ANA))[0].metadata == told


@pytest.mark.spec("J5")
async def test_a_conversation_survives_a_restart(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    thread = await SqlHistory(database).open_thread(ROOM, START)
    stored = await SqlHistory(database).append(thread.id, SAID)
    await database.close()
    database = await open_database(tmp_path / "elefante.db")
    again = await SqlHistory(database).open_thread(ROOM, LATER)
    assert again.id == thread.id
    assert list(await SqlHistory(database).tail(again.id, 9)) == [stored]
    await database.close()


@pytest.mark.spec("D2")
async def test_messages_are_numbered_in_their_thread_and_keep_what_is_known_of_them(history: HistoryStore) -> None:
    here = await history.open_thread(ROOM, START)
    there = await history.open_thread(ConversationKey(ROOM.chat, BIA), START)
    answer = Message(MessageRole.ASSISTANT, "…", tokens=3, duration_s=1.25, error="ProviderDown", pair="call-1")
    for thread in (here, there, here, here):
        await history.append(thread.id, answer)
    assert [message.sequence for message in await history.tail(here.id, 9)] == [1, 2, 3]
    assert [message.sequence for message in await history.tail(there.id, 9)] == [1]
    [stored] = await history.tail(there.id, 1)
    assert replace(stored, id=0, sequence=0) == answer


async def test_messages_are_read_from_either_end(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    for number in range(1, 8):
        await history.append(thread.id, Message(MessageRole.USER, str(number)))

    def said(messages: Sequence[Message]) -> str:
        return "".join(message.text for message in messages)

    assert said(await history.tail(thread.id, 3, before=6)) == "345"
    assert said(await history.tail(thread.id, 3, before=1)) == ""
    assert said(await history.since(thread.id, 0, 3)) == "123"
    assert said(await history.since(thread.id, 5, 9)) == "67"
    assert said(await history.since(thread.id, 7, 9)) == ""
    assert said(await history.since(thread.id, 0, 0)) == ""


async def test_what_a_thread_costs_is_known_from_any_message_on(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    assert await history.totals(thread.id) == (0, 0)
    for tokens in (1, 10, 100):
        await history.append(thread.id, Message(MessageRole.USER, "x", tokens=tokens))
    assert await history.totals(thread.id) == (3, 111)
    assert await history.totals(thread.id, 1) == (2, 110)
    assert await history.totals(thread.id, 3) == (0, 0)
    assert await history.totals("unknown") == (0, 0)


@pytest.mark.spec("D1", "H6")
async def test_a_person_has_several_threads_lists_names_and_switches_them(history: HistoryStore) -> None:
    first = await history.open_thread(ROOM, START)
    await history.mark(first.id, ThreadStatus.RESET, START)
    second = await history.open_thread(ROOM, LATER)
    await history.open_thread(ConversationKey(ROOM.chat, BIA), LATER)
    named = replace(first, title="viagem", policy="last-messages", metadata={"origin": "console", "v": [1, None]})
    await history.describe(named)
    named = replace(named, status=ThreadStatus.RESET)
    assert list(await history.threads(ANA)) == [second, named]
    assert await history.thread(first.id) == named
    switched = await history.mark(first.id, ThreadStatus.ACTIVE, LATER)
    assert switched == replace(named, status=ThreadStatus.ACTIVE, updated_at=LATER)
    assert await history.open_thread(ROOM, LATER) == switched
    assert {thread.status for thread in await history.threads(ANA) if thread.id == second.id} == {ThreadStatus.ARCHIVED}
    assert await history.mark(first.id, ThreadStatus.ACTIVE, LATER) == switched


@pytest.mark.parametrize("resumed", [0, 1, 2])
async def test_a_thread_that_was_switched_to_is_listed_first(history: HistoryStore, resumed: int) -> None:
    threads = []
    for _ in range(3):
        threads.append(await history.open_thread(ROOM, START))
        await history.mark(threads[-1].id, ThreadStatus.RESET, START)
    for thread in (*threads, threads[resumed]):  # each switch archives the thread before, at the same moment
        await history.mark(thread.id, ThreadStatus.ACTIVE, LATER)
    assert (await history.threads(ANA))[0].id == threads[resumed].id


async def test_what_is_no_thread_is_neither_found_nor_switched_to_nor_described(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    assert await history.thread("unknown") is None
    assert await history.mark("unknown", ThreadStatus.ACTIVE, LATER) is None
    await history.describe(replace(thread, id="unknown", title="x"))
    assert await history.open_thread(ROOM, START) == thread


@pytest.mark.spec("L2")
async def test_a_new_thread_keeps_the_policy_that_its_chat_was_given(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    await history.describe(replace(thread, policy="last-tokens"))
    await history.mark(thread.id, ThreadStatus.RESET, LATER)
    assert (await history.open_thread(ROOM, LATER)).policy == "last-tokens"
    assert (await history.open_thread(ConversationKey(ROOM.chat, BIA), LATER)).policy == ""


@pytest.mark.spec("J5")
async def test_a_summary_is_stored_only_where_the_last_one_ended(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    assert await history.summary(thread.id) is None
    first = Summary("Edmar", through=46, tokens=12, at=START, model="x:1")
    second = Summary("Edmar, julho", through=60, after=46, tokens=15)
    assert await history.fold(thread.id, first)
    assert not await history.fold(thread.id, first)
    assert not await history.fold(thread.id, replace(second, after=45))
    assert not await history.fold(thread.id, replace(second, through=46))
    assert await history.summary(thread.id) == first
    assert await history.fold(thread.id, second)
    assert await history.summary(thread.id) == second
    assert list(await history.summaries(thread.id)) == [first, second]


async def test_of_two_summaries_made_at_once_one_is_stored(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    offers = [Summary(str(number), through=10 + number) for number in range(4)]
    assert sorted(await asyncio.gather(*(history.fold(thread.id, offer) for offer in offers))) == [False] * 3 + [True]
    assert len(await history.summaries(thread.id)) == 1


@pytest.mark.spec("D4")
async def test_every_state_of_a_turn_is_stored_with_its_time(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    entered = [
        Transition("t1", TurnState.PENDING, START),
        Transition("t2", TurnState.PENDING, START),
        Transition("t1", TurnState.ERROR, LATER, "ProviderDown"),
    ]
    for transition in entered:
        await history.enter(thread.id, transition)
    assert list(await history.transitions(thread.id)) == entered
    assert list(await history.transitions(thread.id, "t1")) == [entered[0], entered[2]]


@pytest.mark.parametrize("verb", ["fold", "enter"])
async def test_an_unknown_thread_takes_neither_summary_nor_state(history: HistoryStore, verb: str) -> None:
    value = Summary("x", 1) if verb == "fold" else Transition("t", TurnState.PENDING, START)
    with pytest.raises(StorageError):
        await getattr(history, verb)("unknown", value)


async def whole(history: HistoryStore, thread: Thread) -> ThreadRecord:
    return ThreadRecord(
        thread,
        tuple(replace(message, id=0) for message in await history.since(thread.id, 0, 99)),
        tuple(await history.summaries(thread.id)),
        tuple(await history.transitions(thread.id)),
    )


async def test_a_thread_is_restored_as_it_was(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    for message in (SAID, Message(MessageRole.SYSTEM, {"id": "m"}, Modal.MEMORY, at=LATER, memory_id="m", tokens=7)):
        await history.append(thread.id, message)
    await history.fold(thread.id, Summary("oi", 1, tokens=3, at=LATER, model="x:1"))
    await history.enter(thread.id, Transition("t1", TurnState.COMPLETED, LATER))
    opened = await history.thread(thread.id)
    assert opened is not None
    record = await whole(history, opened)
    copy = await history.restore(record)
    assert copy == replace(opened, id=copy.id, status=ThreadStatus.ARCHIVED)
    assert copy.id != thread.id
    assert replace(await whole(history, copy), thread=opened) == record
    await history.forget(ANA)
    assert await history.restore(record) == opened
    assert await whole(history, opened) == record
    assert await history.totals(opened.id) == (2, 7)


@pytest.mark.spec("T15")
async def test_forgetting_takes_summaries_and_states_along(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    await history.fold(thread.id, Summary("Edmar", 1))
    await history.enter(thread.id, Transition("t1", TurnState.PENDING, START))
    await history.forget(ANA)
    assert list(await history.threads(ANA)) == []
    assert list(await history.summaries(thread.id)) == []
    assert list(await history.transitions(thread.id)) == []


CODE, OLD = ToldMemory("m1", "v2"), ToldMemory("m1", "v1")
PHOTO = Attachment(AttachmentKind.PHOTO, "a.png")
QUOTE = Quote(QuoteKind.REPLY, "é sexta", Speaker.OTHER, "Bia", "sexta", (PHOTO,))


async def test_what_came_along_with_a_message_is_kept_with_it(history: HistoryStore) -> None:
    thread = await history.open_thread(ROOM, START)
    stored = await history.append(thread.id, replace(SAID, attachments=(PHOTO,), quotes=(QUOTE,)))
    assert (stored.attachments, stored.quotes) == ((PHOTO,), (QUOTE,))
    assert list(await history.tail(thread.id, 9)) == [stored]


async def telling(history: HistoryStore) -> tuple[str, Message, Message, Message]:
    """A thread in which the person told something, the bot repeated it, and spoke of something else."""
    thread = await history.open_thread(ROOM, START)
    asked = await history.append(thread.id, replace(SAID, content="4417", quotes=(QUOTE,), tokens=3))
    question = OpenQuestion("missing", subject="4417")
    answer = await history.append(
        thread.id, Message(MessageRole.ASSISTANT, "4417!", turn="t1", tokens=4, question=question)
    )
    other = await history.append(thread.id, Message(MessageRole.ASSISTANT, "bye", turn="t2", tokens=5))
    await history.tell({asked.id: [CODE], answer.id: [CODE, OLD], other.id: [ToldMemory("m2", "v1")]})
    return thread.id, asked, answer, other


async def test_it_knows_which_messages_tell_of_which_memories(history: HistoryStore) -> None:
    thread, asked, answer, other = await telling(history)
    await history.tell({asked.id: [CODE], 999: []})
    told = await history.told([asked.id, answer.id, 12345])
    assert {i: Counter(those) for i, those in told.items()} == {
        asked.id: Counter([CODE]),
        answer.id: Counter([CODE, OLD]),
    }
    assert await history.first_told(thread) == {CODE: 1, OLD: 2, ToldMemory("m2", "v1"): 3}
    assert await history.told_by(ANA) == {CODE, OLD, ToldMemory("m2", "v1")}
    assert await history.told_by(BIA) == frozenset()
    assert list(await history.tellers()) == [ANA]
    await history.forget(ANA)
    assert list(await history.tellers()) == []
    assert not await history.told([asked.id, other.id])


async def test_redacting_removes_the_bots_words_and_summaries_and_keeps_the_persons(history: HistoryStore) -> None:
    thread, asked, answer, other = await telling(history)
    await history.fold(thread, Summary("the code is 4417", 2, 0, 9))
    await history.fold(thread, Summary("and bye", 3, 2, 9))
    assert await history.redact(BIA, [CODE]) == 0
    assert await history.redact(ANA, [CODE]) == 1
    kept = {message.id: message for message in await history.tail(thread, 9)}
    assert [kept[one.id].text for one in (asked, answer, other)] == ["4417", "", "bye"]
    assert kept[answer.id].question is None
    assert await history.summary(thread) is None
    assert await history.totals(thread) == (3, 12), "what is counted is counted as before"
    assert await history.told_by(ANA) == {ToldMemory("m1", "", redacted=True), OLD, ToldMemory("m2", "v1")}
    assert ToldMemory("m1", "v2") not in await history.first_told(thread)
    assert await history.redact(ANA, [CODE]) == 0


async def test_erasing_removes_the_persons_words_too_and_what_came_along(history: HistoryStore) -> None:
    thread, asked, answer, _ = await telling(history)
    await history.redact(ANA, [CODE])
    assert await history.redact(ANA, [ToldMemory("m1", "", redacted=True)], own=True) == 1
    assert await history.redact(ANA, [ToldMemory("m1", "", redacted=True)], own=True) == 0
    kept = {message.id: message for message in await history.tail(thread, 9)}
    assert (kept[asked.id].text, kept[asked.id].quotes, kept[answer.id].text) == ("", (), "")


PHOTO = Attachment(AttachmentKind.PHOTO, handle="file-id", width=4)
DRAFTS = (
    MemoryDraft(MemoryKind.JSON, '{"é": 1}', ("a", "b"), attachments=(PHOTO,)),
    MemoryDraft(MemoryKind.TEXT, "4417", ("code",)),
)


async def test_what_is_offered_for_a_message_stays_with_it(history: HistoryStore) -> None:
    thread, asked, _, _ = await telling(history)
    await history.offer(asked.id, DRAFTS[:1])
    await history.offer(asked.id, DRAFTS)
    await history.offer(12345, DRAFTS)
    kept = await history.tail(thread, 9)
    assert [message.offered for message in kept] == [DRAFTS, (), ()]
    assert [message.offered for message in await history.update(thread, kept)] == [DRAFTS, (), ()]
    [said] = await history.said(ANA, [asked.id])
    assert said.message.offered == DRAFTS
    await history.offer(asked.id, ())
    assert not any(message.offered for message in await history.tail(thread, 9))


async def test_what_was_offered_goes_with_the_words_of_the_message(history: HistoryStore) -> None:
    thread, asked, _, _ = await telling(history)
    await history.offer(asked.id, DRAFTS)
    await history.redact(ANA, [CODE], own=True)
    assert not any(message.offered for message in await history.tail(thread, 9))


async def test_a_summary_of_what_was_said_before_is_kept(history: HistoryStore) -> None:
    thread, _, _, _ = await telling(history)
    await history.fold(thread, Summary("the code", 2, 0, 9))
    await history.fold(thread, Summary("and bye", 3, 2, 9))
    await history.redact(ANA, [ToldMemory("m2", "v1")])
    assert [summary.through for summary in await history.summaries(thread)] == [2]


async def test_a_retracted_turn_is_neither_shown_nor_found_nor_summed_up_and_keeps_its_place(
    history: HistoryStore,
) -> None:
    thread = await history.open_thread(ROOM, START)
    said = Message(MessageRole.USER, "my cat is called Miau", at=START, turn="t1", source_id="5", tokens=7)
    asked = await history.append(thread.id, said)
    await history.append(thread.id, Message(MessageRole.SYSTEM, {"id": "m1"}, Modal.MEMORY, turn="t1", memory_id="m1"))
    answer = await history.append(thread.id, Message(MessageRole.ASSISTANT, "Miau is a fine cat", turn="t1"))
    await history.tell({answer.id: [ToldMemory("m1", "")]})
    other = await history.append(thread.id, Message(MessageRole.USER, "my cat sleeps", turn="t2", source_id="6"))
    for through in (1, 4):
        await history.fold(thread.id, Summary("a cat", through, after=through // 4))
    elsewhere = replace(ROOM, chat=replace(ROOM.chat, chat="elsewhere"))
    await history.retract(elsewhere, ["5"])
    assert [message.text for message in await history.asked(ROOM, ["5", "7"])] == ["my cat is called Miau"]
    for _ in range(2):
        await history.retract(ROOM, ["5", "7", ""])
        kept = await history.since(thread.id)
        assert [(each.sequence, each.text, each.modal) for each in kept] == [
            (1, "", Modal.TEXT_FOR_REPLACE),
            (2, "", Modal.TEXT_FOR_REPLACE),
            (3, "", Modal.TEXT_FOR_REPLACE),
            (4, "my cat sleeps", Modal.TEXT),
        ]
    assert [each.turn for each in await history.asked(ROOM, ["5"])] == ["t1"], "what it did can still be looked up"
    [found] = await history.search([ANA], ["cat"], limit=9)
    assert [each.message.id for each in found] == [other.id]
    assert not await history.summaries(thread.id)
    assert not await history.shown_memories(thread.id)
    assert not await history.told([answer.id])
    assert await history.totals(thread.id) == (4, 7)
    assert (await history.append(thread.id, said)).id == asked.id, "a repeat is known"


async def test_a_turn_is_read_by_the_message_that_began_it_in_whichever_thread_of_its_conversation(
    history: HistoryStore,
) -> None:
    first = await history.open_thread(ROOM, START)
    said = await history.append(first.id, SAID)
    answer = await history.append(first.id, Message(MessageRole.ASSISTANT, "olá", turn="t1", basis=BASIS))
    await history.append(first.id, Message(MessageRole.USER, "tchau", turn="t2", source_id="8"))
    await history.mark(first.id, ThreadStatus.RESET, LATER)
    await history.open_thread(ROOM, LATER)
    assert await history.turn(ROOM, "7") == [said, answer]
    assert [message.text for message in await history.turn(ROOM, "8")] == ["tchau"]
    for unknown in ("", "9"):
        assert not await history.turn(ROOM, unknown)
    assert not await history.turn(replace(ROOM, user=BIA), "7")
    assert not await history.turn(replace(ROOM, chat=replace(ROOM.chat, thread="")), "7")


async def test_what_an_answer_rested_on_goes_with_its_words_and_holds_no_ids_of_another_thread(
    history: HistoryStore,
) -> None:
    thread = await history.open_thread(ROOM, START)
    await history.append(thread.id, SAID)
    answer = await history.append(thread.id, Message(MessageRole.ASSISTANT, "é 123", turn="t1", basis=BASIS))
    opened = await history.thread(thread.id)
    assert opened is not None
    copy = await history.restore(await whole(history, opened))
    assert [message.basis for message in await history.since(copy.id)] == [None, None]
    await history.tell({answer.id: [CODE]})
    await history.redact(ANA, [CODE])
    assert [message.basis for message in await history.since(thread.id)] == [None, None]
    again = await history.append(thread.id, Message(MessageRole.ASSISTANT, "é 123", turn="t1", basis=BASIS))
    assert again.basis == BASIS
    await history.retract(ROOM, ["7"])
    assert not any(message.basis for message in await history.since(thread.id))


async def asks(
    history: HistoryStore,
    user: UserKey,
    words: str,
    after_s: int,
    *,
    chat: ChatKey = ROOM.chat,
    off_record: bool = False,
) -> Thread:
    """Somebody asks something in a room and is answered; a memory is shown, and an apology that is no answer."""
    thread = await history.open_thread(ConversationKey(chat, user), START)
    at, turn = START + timedelta(seconds=after_s), f"turn {words}"
    asked = Message(
        MessageRole.USER, words, at=at, turn=turn, source_id=words, room="telegram:room", speaker=user.user.title()
    )
    shown = Message(MessageRole.SYSTEM, {"id": "m1"}, Modal.MEMORY, turn=turn, memory_id="m1")
    answer = Message(MessageRole.ASSISTANT, f"{words}!", turn=turn, at=at, off_record=True)  # made from others' words
    failed = Message(MessageRole.ASSISTANT, "sorry", turn=turn, at=at, error="ProviderDown")
    for message in (replace(asked, off_record=off_record), shown, answer, failed):
        await history.append(thread.id, message)
    return thread


def told(exchanges: Sequence[Exchange]) -> list[tuple[str, ...]]:
    """Return who asked what, and what answered it."""
    return [(each.messages[0].speaker, *(message.text for message in each.messages)) for each in exchanges]


async def test_what_others_asked_in_a_place_is_read_with_its_answers_the_newest_in_order(history: HistoryStore) -> None:
    carla = UserKey("telegram", "carla")
    for number, user in enumerate((BIA, carla, ANA, BIA, carla)):
        await asks(history, user, f"q{number}", number)
    elsewhere = [
        replace(ROOM.chat, thread="other"),
        replace(ROOM.chat, chat="hall"),
        replace(ROOM.chat, thread="topic@9"),
    ]
    for chat in elsewhere:
        await asks(history, BIA, f"in {chat.chat} {chat.thread}", 9, chat=chat)
    assert told(await history.beside(ROOM, 3)) == [("Carla", "q1", "q1!"), ("Bia", "q3", "q3!"), ("Carla", "q4", "q4!")]
    assert [each.thread.conversation.user for each in await history.beside(ROOM, 2)] == [BIA, carla]
    assert list(await history.beside(ROOM, 0)) == []
    assert told(await history.beside(ConversationKey(ROOM.chat, BIA), 9))[1] == ("Ana", "q2", "q2!")
    assert told(await history.beside(ROOM, 1, source_id="q0")) == [("Bia", "q0", "q0!")]
    assert list(await history.beside(ROOM, 9, source_id="q2")) == []  # one's own
    assert list(await history.beside(ROOM, 9, source_id="in hall topic")) == []


async def test_nothing_is_read_beside_that_is_off_the_record_unnamed_taken_back_or_forgotten(
    history: HistoryStore,
) -> None:
    bias = ConversationKey(ROOM.chat, BIA)
    thread = await asks(history, BIA, "kept", 0)
    await asks(history, BIA, "off", 1, off_record=True)
    await history.append(thread.id, replace(SAID, turn="unnamed", source_id="unnamed"))
    await asks(history, BIA, "edited", 2)
    await history.retract(bias, ["edited"])
    await asks(history, BIA, "deleted", 3)
    answer = (await history.tail(thread.id, 2))[0]
    await history.tell({answer.id: [ToldMemory("m1", "v")]})
    await history.redact(BIA, [ToldMemory("m1", "v")])
    assert told(await history.beside(ROOM, 9)) == [("Bia", "kept", "kept!"), ("Bia", "deleted")]
    for gone in ("off", "unnamed", "edited"):
        assert list(await history.beside(ROOM, 9, source_id=gone)) == []
    await history.forget(BIA)
    assert list(await history.beside(ROOM, 9)) == []
    assert list(await history.beside(ROOM, 9, source_id="kept")) == []


async def test_a_reset_begins_anew_what_one_reads_of_others_and_takes_nothing_from_them(history: HistoryStore) -> None:
    await asks(history, BIA, "early", 0)
    mine = await asks(history, ANA, "mine", 1)
    await history.mark(mine.id, ThreadStatus.RESET, START + timedelta(seconds=2))
    await history.open_thread(ROOM, START + timedelta(seconds=2))
    assert list(await history.beside(ROOM, 9)) == []
    await asks(history, BIA, "late", 3)
    assert told(await history.beside(ROOM, 9)) == [("Bia", "late", "late!")]
    assert told(await history.beside(ROOM, 9, source_id="early")) == [("Bia", "early", "early!")]  # it is pointed at
    assert told(await history.beside(ConversationKey(ROOM.chat, BIA), 9)) == [("Ana", "mine", "mine!")]


async def test_what_is_read_beside_costs_the_same_however_much_was_said_there(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    seen: list[str] = []
    rows = database.rows

    async def spied(sql: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        seen.extend(str(row[3]) for row in await rows(f"EXPLAIN QUERY PLAN {sql}", values))
        return await rows(sql, values)

    database.rows = spied  # type: ignore[method-assign, assignment]
    await SqlHistory(database).beside(ROOM, 20)
    await database.close()
    assert any("threads_place (platform=? AND chat=? AND topic=?)" in step for step in seen)
    assert any("messages_sequence (thread=? AND sequence>?)" in step for step in seen)
    assert {step for step in seen if step.startswith("SCAN")} == {"SCAN others", "SCAN asked"}  # of so many rows
