"""Memories keep the day that their words mean, and their end, as data; people are shown both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.actions.memory_drafts import DraftAnswer
from core.actions.memory_save import Drafts, wanted_drafts
from core.limited.tasks import LimitedMind
from core.types import MemoryItem
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
    await talk.say("/remember the exam is tomorrow")
    item = await only(talk)
    assert item.meant == "2026-03-22"
    assert [phrase for phrase in item.bindings if "2026" in phrase] == ["Sunday, March 22, 2026"]


async def test_words_that_change_no_time_leave_it(talk: Talk) -> None:
    await talk.say("/remember the exam is tomorrow")
    memory, [item] = talk.house.memories.of(ANA), await talk.house.memories.of(ANA).page(limit=1)
    await talk.clock.advance(3 * DAY_S)
    changed = await memory.update(item.id, bindings=("exam",), vectors={})
    assert changed is not None
    assert changed.meant == "2026-03-15"


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
