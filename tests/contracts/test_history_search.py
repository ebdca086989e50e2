"""Every history finds a person's past messages by their words, where they may be spoken of, while they are there."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.storage.database import Database
from core.storage.history import SqlHistory
from core.storage.lexicon import idf, keyword_terms, query_terms
from core.stores import BEFORE_WEIGHT, HistoryStore, Quoted
from core.threads import ThreadRecord, ToldMemory
from core.types import (
    ChatKey,
    ConversationKey,
    Message,
    MessageRole,
    Modal,
    Span,
    Thread,
    UserKey,
    is_findable,
    room_name,
)
from tests.fakes.clock import START
from tests.fakes.memories import quotes
from tests.fakes.ram import RamDatabase

ANA, BIA = UserKey("telegram", "ana"), UserKey("telegram", "bia")
PRIVATE, ROOM = ChatKey("telegram", "1"), ChatKey("telegram", "kitchen")
IN_ROOM = "telegram:kitchen"
USER, BOT = MessageRole.USER, MessageRole.ASSISTANT
HOUR = timedelta(hours=1)


@pytest.fixture
def history(database: Database) -> HistoryStore:
    return SqlHistory(database)


async def talk(
    history: HistoryStore, *said: str | Message, user: UserKey = ANA, chat: ChatKey = PRIVATE, room: str = ""
) -> tuple[Thread, list[Message]]:
    """Say something in turns, the person first, an hour each."""
    thread = await history.open_thread(ConversationKey(chat, user), START)
    stored = []
    for number, each in enumerate(said):
        at = START + number * HOUR
        message = Message((USER, BOT)[number % 2], each) if isinstance(each, str) else each
        stored.append(await history.append(thread.id, replace(message, room=room, at=at)))
    return thread, stored


ENDLESS = "".join(hashlib.sha512(bytes([number])).hexdigest() for number in range(40))
"""A word of more characters than PostgreSQL takes into an index, such as an encoded file: it cannot be compressed."""


def texts(found: Sequence[Quoted]) -> list[str]:
    return [each.message.text for each in found]


async def found(history: HistoryStore, query: str, user: UserKey = ANA, limit: int = 9, room: str = "") -> list[str]:
    return texts(await quotes(history, [user], query, limit=limit, room=room))


async def test_the_rarest_words_decide_and_the_best_comes_first(history: HistoryStore) -> None:
    thread, stored = await talk(
        history, "I parked near the blue pillar", "Got it.", "the plumber parked there, too", "Noted.", "I parked again"
    )
    hits = await quotes(history, [ANA], "Where did I park, near which pillar?", limit=9)
    both = ["I parked again", "the plumber parked there, too"]
    assert texts(hits) == [stored[0].text, "Got it.", *both, "Noted."]
    assert hits[0].message == stored[0]
    assert hits[0].thread.id == thread.id
    assert hits[0].score == 1
    assert hits[0].before is None
    assert 0 < hits[2].score == hits[3].score < hits[1].score < 1
    assert texts(await quotes(history, [ANA], "Where did I park, near which pillar?", limit=2)) == texts(hits)[:2]
    assert await quotes(history, [ANA], "park", limit=0) == []


async def test_what_was_said_before_counts_half_and_is_told(history: HistoryStore) -> None:
    await talk(history, "hi", "Where did you put the keys?", "in the drawer", "Fine.")
    asked, reply = await quotes(history, [ANA], "keys", limit=9)
    assert (asked.message.text, asked.before, asked.score) == ("Where did you put the keys?", None, 1)
    assert (reply.message.text, reply.score) == ("in the drawer", 0.5)
    assert reply.before == asked.message


@pytest.mark.parametrize("query", ["", "  ", "of the", "sandwich", '"', "lock*", "NOT", "a OR b"])
async def test_a_text_without_a_word_that_was_said_finds_nothing(history: HistoryStore, query: str) -> None:
    await talk(history, "the of key")
    assert await found(history, query) == []


@pytest.mark.spec("T15")
async def test_nobody_finds_what_another_person_said(history: HistoryStore) -> None:
    await talk(history, "the safe opens with 4417", user=BIA, chat=ROOM, room=IN_ROOM)
    await talk(history, "my safe is green", chat=ROOM, room=IN_ROOM)
    for room in ("", IN_ROOM):
        assert await found(history, "safe 4417", room=room) == ["my safe is green"]
        assert await found(history, "safe green", BIA, room=room) == ["the safe opens with 4417"]
    assert len(await quotes(history, [ANA, BIA], "safe", limit=9)) == 2, "two accounts of one person"
    assert await quotes(history, [], "safe", limit=9) == []


@pytest.mark.spec("T15")
async def test_a_room_hears_only_what_was_said_in_it(history: HistoryStore) -> None:
    await talk(history, "the safe opens with 4417", "Your safe, noted.")
    await talk(history, "the safe of the room is red", "A red safe.", chat=ROOM, room=IN_ROOM)
    assert set(await found(history, "safe", room=IN_ROOM)) == {"the safe of the room is red", "A red safe."}
    assert await found(history, "safe", room="telegram:garden") == []
    assert len(await found(history, "safe")) == 4


@pytest.mark.spec("T15")
async def test_what_was_said_aside_in_a_room_is_private(history: HistoryStore) -> None:
    thread, _ = await talk(history, "where is the safe?", chat=ROOM, room=IN_ROOM)
    aside = ChatKey("telegram", "kitchen", "@ana")
    await talk(history, "the safe is behind the clock", chat=aside)
    await history.append(thread.id, Message(USER, "behind the clock"))
    assert await found(history, "safe clock", room=IN_ROOM) == ["where is the safe?"]
    assert "the safe is behind the clock" in await found(history, "safe clock")


@pytest.mark.parametrize(
    "message",
    [
        Message(USER, "the safe opens with 4417", off_record=True),
        Message(BOT, "the safe cannot be opened", error="ProviderDown"),
        Message(BOT, "safe 4417", pair="call-1"),
        Message(MessageRole.SYSTEM, "safe 4417"),
        Message(MessageRole.SYSTEM, {"id": "safe"}, Modal.MEMORY, memory_id="safe"),
    ],
)
async def test_what_is_off_the_record_or_nobodys_words_is_not_found(history: HistoryStore, message: Message) -> None:
    thread, _ = await talk(history, message)
    await history.append(thread.id, Message(USER, "so what"))
    await history.append(thread.id, Message(USER, "green"))
    assert await found(history, "safe 4417") == []
    [stored, *_] = await history.tail(thread.id, 9)
    assert stored.off_record is message.off_record


async def test_only_what_was_said_then_is_found(history: HistoryStore) -> None:
    await talk(history, "flat one", "ok", "flat two", "ok", "flat three")
    span = Span(START + HOUR, START + 4 * HOUR)
    assert texts(await quotes(history, [ANA], "flat", limit=9, said=span)) == ["flat two", "ok"]
    assert texts(await quotes(history, [ANA], "flat", limit=9, said=Span(START, START + HOUR))) == ["flat one"]


async def test_what_is_shown_anyway_is_skipped(history: HistoryStore) -> None:
    _, stored = await talk(history, "flat one", "ok", "flat two")
    hits = await quotes(history, [ANA], "flat", limit=9, skip={stored[2].id, stored[1].id})
    assert texts(hits) == ["flat one"]


CODE = ToldMemory("m1", "v2")


@pytest.mark.spec("T12")
async def test_what_has_lost_its_words_is_not_found(history: HistoryStore) -> None:
    _, stored = await talk(history, "the code is 4417", "4417, noted.", "and the gate is green")
    await history.tell({message.id: [CODE] for message in stored[:2]})
    await history.redact(ANA, [CODE])
    assert await found(history, "4417") == ["the code is 4417"], "the person's own words stay"
    await history.redact(ANA, [ToldMemory("m1", "", redacted=True)], own=True)
    assert await found(history, "4417 code") == []
    assert await found(history, "gate") == ["and the gate is green"]


@pytest.mark.spec("T12", "T15")
async def test_what_was_removed_or_forgotten_is_not_found(history: HistoryStore) -> None:
    thread, stored = await talk(history, "the code is 4417", "ok", "the gate is green")
    await talk(history, "the code is 5528", user=BIA)
    assert list(await history.update(thread.id, [stored[2]]))
    assert await found(history, "4417 gate") == ["the gate is green"]
    await history.delete(thread.id)
    assert await found(history, "gate") == []
    await talk(history, "the code is 4417")
    await history.forget(ANA)
    assert await found(history, "code") == []
    assert await found(history, "code", BIA) == ["the code is 5528"]
    await talk(history, "another code")
    assert await found(history, "code") == ["another code"]


async def test_what_is_restored_is_found_where_it_was_said(history: HistoryStore) -> None:
    thread, stored = await talk(history, "the code is 4417", Message(BOT, "4417", off_record=True), room=IN_ROOM)
    await history.delete(thread.id)
    await history.restore(ThreadRecord(replace(thread, id="again"), tuple(stored)))
    assert await found(history, "4417") == ["the code is 4417"]
    assert await found(history, "4417", room=IN_ROOM) == ["the code is 4417"]


async def test_a_known_message_is_indexed_once(history: HistoryStore) -> None:
    await talk(history, Message(USER, "the code is 4417", source_id="7"), Message(USER, "else", source_id="7"))
    assert await found(history, "4417 else") == ["the code is 4417"]


async def test_many_messages_are_restored_and_found_by_and_by(history: HistoryStore) -> None:
    thread = await history.open_thread(ConversationKey(PRIVATE, ANA), START)
    said = tuple(Message(USER, f"thing number{number}", at=START) for number in range(300))
    await history.restore(ThreadRecord(replace(thread, id="long"), said))
    assert (await found(history, "number299"))[0] == "thing number299"
    await found(history, "thing")
    assert (await found(history, "number0"))[0] == "thing number0"


WORDS = st.lists(st.sampled_from("key safe car dog the of 12 house".split()), min_size=1, max_size=4).map(" ".join)
SAID = st.tuples(WORDS, st.sampled_from([ANA, BIA]), st.sampled_from(["", IN_ROOM]), st.booleans(), st.booleans())


@given(said=st.lists(SAID, max_size=12), query=WORDS, room=st.sampled_from(["", IN_ROOM]))
async def test_what_is_found_scores_by_its_definition_and_nobody_finds_anothers(
    said: list[tuple[str, UserKey, str, bool, bool]], query: str, room: str
) -> None:
    history = SqlHistory(RamDatabase())
    for text, user, where, by_bot, off_record in said:
        thread = await history.open_thread(ConversationKey(ROOM if where else PRIVATE, user), START)
        message = Message(BOT if by_bot else USER, text, room=where, off_record=off_record, at=START)
        await history.append(thread.id, message)
    hits = await quotes(history, [ANA], query, limit=20, room=room)
    assert all(hit.thread.conversation.user == ANA and room in {"", hit.message.room} for hit in hits)
    assert not any(hit.message.off_record for hit in hits)
    talks = [(thread, await history.tail(thread.id, 99)) for thread in await history.threads(ANA)]
    assert _told(hits) == judged_one_by_one(talks, query, room)


def judged_one_by_one(
    talks: Sequence[tuple[Thread, Sequence[Message]]], query: str, room: str
) -> Sequence[tuple[int, float, int]]:
    """Score every message of one person's threads by its definition; return what is found as `_told` does."""
    keywords = list(dict.fromkeys(query_terms(query)))
    total = sum(len(said) for thread, said in talks if room in {"", room_name(thread.conversation.chat)})
    heard = {
        message.id: set(keyword_terms(message.text))
        for _, said in talks
        for message in said
        if is_findable(message) and room in {"", message.room}
    }
    counts = {each: max(sum(term in terms for terms in heard.values()) for term in each) for each in keywords}
    weights = {each: idf(max(count, 1), total) for each, count in counts.items()}
    found = []
    for _, said in talks:
        for before, message in zip([None, *said], said, strict=False):
            own = {each for each in keywords if heard.get(message.id, set()).intersection(each)}
            others = heard.get(before.id, set()) if before is not None else set()
            more = {each for each in keywords if others.intersection(each)} - own
            score = sum(weights[each] for each in own) + BEFORE_WEIGHT * sum(weights[each] for each in more)
            if message.id in heard and score:
                found.append((message.id, round(score / sum(weights.values()), 6), before.id if before and more else 0))
    return sorted(found, key=lambda each: (-each[1], -each[0]))


def _told(hits: Sequence[Quoted]) -> list[tuple[int, float, int]]:
    return [(hit.message.id, round(hit.score, 6), hit.before.id if hit.before else 0) for hit in hits]


async def test_a_word_without_end_is_stored_and_found(history: HistoryStore) -> None:
    await talk(history, f"the key is {ENDLESS}", "noted")
    assert (await found(history, ENDLESS))[0] == f"the key is {ENDLESS}"
