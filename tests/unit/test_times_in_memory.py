"""Memories keep the day that their words mean, and their end, as data; people are shown both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.actions.memory_drafts import DraftAnswer
from core.actions.memory_save import Drafts, wanted_drafts
from core.limited import LimitedMind
from core.memory.timed import search_asked, wordings
from core.text.pointing import asks_past
from core.times.said import TimeWords
from core.types import Locale, MemoryDraft, MemoryItem, MemoryKind
from tests.fakes.house import ANA
from tests.fakes.talk import Talk, talking

DAY_S = 86_400


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    """Return a talk without a language model, on Saturday, 14 March 2026, at 15:09 in UTC."""
    async with talking(tmp_path) as talk:
        mind = LimitedMind(talk.house.embedder)
        for mode in (talk.house.models.heavy, talk.house.models.reasoning, talk.house.models.chat):
            mode.model = mind  # type: ignore[attr-defined]  # a HotModel
        yield talk


async def only(talk: Talk) -> MemoryItem:
    [item] = await talk.house.memories.of(ANA).page(limit=9)
    return item


async def test_a_day_is_kept_beside_the_words_and_shown(talk: Talk) -> None:
    told = await talk.say("remember that the exam is tomorrow at 9am")
    assert "Saved: “the exam is tomorrow at 9am” (Sun 15 Mar 2026, 09:00)" in told
    item = await only(talk)
    assert (item.content, item.meant, item.until) == ("the exam is tomorrow at 9am", "2026-03-15T09:00", None)
    assert "Sunday, March 15, 2026" in item.bindings
    assert "(Sun 15 Mar 2026, 09:00)" in await talk.say("/memories")
    assert "(Sun 15 Mar 2026, 09:00)" in await talk.say("/memories show 1")
    await talk.clock.advance(30 * DAY_S)
    assert "(Sun 15 Mar 2026, 09:00)" in await talk.say("when was my exam?")


async def test_an_end_is_told_and_marked_when_it_is_over(talk: Talk) -> None:
    told = await talk.say("remember that until Friday the gate code is 4411")
    assert "(until Fri 20 Mar 2026)" in told
    assert (await only(talk)).until == datetime(2026, 3, 21, tzinfo=UTC)
    await talk.clock.advance(10 * DAY_S)
    assert "(until Fri 20 Mar 2026)" in await talk.say("/memories")
    assert (await only(talk)).is_past(talk.clock.now())


async def test_tomorrow_counts_from_when_it_was_sent_in_the_persons_zone(talk: Talk) -> None:
    await talk.say("/timezone America/Sao_Paulo")
    sent = datetime(2026, 3, 13, 1, 30, tzinfo=UTC)  # still Thursday in São Paulo
    incoming = replace(talk.house.incoming("remember that the exam is tomorrow", message_id="late"), at=sent)
    await (await talk.bot.receive(incoming, talk.house.channel()))
    assert (await only(talk)).meant == "2026-03-13"


async def test_new_words_have_their_own_day(talk: Talk) -> None:
    await talk.say("/remember the exam is tomorrow")
    await talk.say("/memories")
    await talk.say("/memories edit 1 the exam is on 3 April at 10am")
    item = await only(talk)
    assert item.meant == "2026-04-03T10:00"
    assert [phrase for phrase in item.bindings if "2026" in phrase] == ["Friday, April 3, 2026"]


async def test_the_same_words_said_later_mean_another_day(talk: Talk) -> None:
    await talk.say("/remember the exam is tomorrow")
    await talk.clock.advance(7 * DAY_S)
    assert "(Sun 22 Mar 2026)" in await talk.say("/remember the exam is tomorrow")
    item = await only(talk)
    assert item.meant == "2026-03-22"
    [before] = await talk.house.memories.of(ANA).store.earlier(ANA, [item.id])
    assert before.meant == "2026-03-15"
    assert [phrase for phrase in item.bindings if "2026" in phrase] == ["Sunday, March 22, 2026"]


async def test_words_that_change_no_time_leave_it(talk: Talk) -> None:
    await talk.say("/remember the exam is tomorrow")
    memory, [item] = talk.house.memories.of(ANA), await talk.house.memories.of(ANA).page(limit=1)
    await talk.clock.advance(3 * DAY_S)
    changed = await memory.update(item.id, bindings=("exam",), vectors={})
    assert changed is not None
    assert changed.meant == "2026-03-15"


async def found(talk: Talk, question: str) -> list[str]:
    """Return the contents of the memories that a question gets."""
    memory, now = talk.house.memories.of(ANA), talk.clock.now()
    asked = TimeWords().asked(question, now, Locale.EN)
    queries = wordings(question, asked, said=asked is not None and asked.said)
    vectors = await memory.embed_queries(queries)
    hits = await search_asked(memory, queries, vectors, asked, limit=5, floor=0.05, past=asks_past(question))
    return [hit.item.content for hit in hits]


async def test_what_was_said_at_a_time_is_all_that_is_found(talk: Talk) -> None:
    await talk.say("/remember the flat in Rua Augusta costs 2400")
    await talk.clock.advance(7 * DAY_S)
    await talk.say("/remember the flat in Rua Harmonia costs 3100")
    assert await found(talk, "what did I tell you last week about the flat?") == ["the flat in Rua Augusta costs 2400"]
    assert await found(talk, "what did I tell you today?") == ["the flat in Rua Harmonia costs 3100"]
    assert await found(talk, "what did I tell you in May about the flat?") == []
    assert len(await found(talk, "what did I tell you about the flat?")) == 2


async def test_memories_of_a_day_that_is_asked_for_come_first_and_hide_none(talk: Talk) -> None:
    await talk.say("/remember the dentist appointment is on 25 March at 9am")
    await talk.say("/remember the dentist appointment is tomorrow at 8am")
    await talk.say("/remember my dentist is called Paula")
    dentist = await found(talk, "when is my dentist appointment tomorrow?")
    assert dentist[0] == "the dentist appointment is tomorrow at 8am"
    assert len(dentist) > 1
    assert (await found(talk, "what do I have tomorrow?"))[0] == "the dentist appointment is tomorrow at 8am"
    assert (await found(talk, "what do I have in the last week of this month?")) != []


async def test_what_is_over_is_found_by_questions_about_then_only(talk: Talk) -> None:
    await talk.say("/remember the parking spot today is B12")
    assert await found(talk, "which is my parking spot?") == ["the parking spot today is B12"]
    await talk.clock.advance(2 * DAY_S)
    assert await found(talk, "which is my parking spot?") == []
    assert await found(talk, "which was my parking spot last week?") == ["the parking spot today is B12"]


async def test_a_question_about_a_time_finds_the_version_of_then(talk: Talk) -> None:
    memory = talk.house.memories.of(ANA)
    [resolved] = await memory.save([MemoryDraft(MemoryKind.TEXT, "I live in Porto", ("home",))], {})
    await talk.clock.advance(200 * DAY_S)
    await memory.update(resolved.item.id, content="I live in Recife", vectors={}, keeps_past=True)
    await talk.clock.advance(200 * DAY_S)
    assert await found(talk, "where do I live?") == ["I live in Recife"]
    assert await found(talk, "where did I live in May 2026?") == ["I live in Porto"]
    assert await found(talk, "where did I live in November 2026?") == ["I live in Recife"]


@pytest.mark.parametrize(
    ("until", "end"),
    [
        ("2026-03-20", datetime(2026, 3, 21, tzinfo=UTC)),
        ("next friday", None),
        (None, None),
    ],
)
def test_a_model_may_tell_an_end(until: str | None, end: datetime | None) -> None:
    [draft] = wanted_drafts(Drafts([DraftAnswer("text", "I am away", ["away"], until=until)]), UTC).drafts
    assert draft.until == end
