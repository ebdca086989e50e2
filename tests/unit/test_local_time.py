"""Models and people are told local time, and when each message was said."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from core.answering.prompting import build, prompt_of, system_text
from core.dialogue import PromptContext, Task
from core.history.conversation import Context
from core.history.rendering import rendered
from core.outgoing import memory_line
from core.text.days import noted
from core.types import Locale, MemoryDraft, MemoryItem, MemoryKind, Message, MessageRole, Modal, Preferences
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, House

SAO_PAULO = ZoneInfo("America/Sao_Paulo")
NIGHT = datetime(2026, 11, 22, 1, 30, tzinfo=UTC)  # 21 November, 22:30, in São Paulo


def house_at(zone: ZoneInfo) -> House:
    return House({Task.DECIDE: ['{"action": "Finish"}']}, clock=FakeClock(start=NIGHT), zone=zone)


@pytest.mark.parametrize(
    ("zone", "now"),
    [
        (SAO_PAULO, "Now: Saturday 2026-11-21 22:30 America/Sao_Paulo (UTC-03:00)."),
        (ZoneInfo("Asia/Kolkata"), "Now: Sunday 2026-11-22 07:00 Asia/Kolkata (UTC+05:30)."),
        (ZoneInfo("UTC"), "Now: Sunday 2026-11-22 01:30 UTC."),
    ],
)
async def test_a_prompt_holds_the_local_time_and_when_each_message_was_said(zone: ZoneInfo, now: str) -> None:
    house = house_at(zone)
    async with house.chatbot() as bot:
        for number, text in enumerate(("my flight is tomorrow", "when is it?")):
            await (await bot.receive(house.incoming(text, message_id=str(number)), house.channel()))
            await house.clock.advance(3600)  # type: ignore[attr-defined]
    last = house.model.asked(Task.FINISH)[-1]
    first = last.turns[0].text
    said = NIGHT.astimezone(zone)
    assert f"my flight is tomorrow\n<said-at {said:%a %Y-%m-%d %H:%M}>" in first
    assert now in house.model.asked(Task.FINISH)[0].turns[-1].text
    assert last.context.now.utcoffset() == said.utcoffset()


def test_the_same_message_is_the_same_text_in_every_call() -> None:
    message = Message(MessageRole.USER, "oi", at=NIGHT)
    assert rendered(message, SAO_PAULO) == rendered(message, SAO_PAULO) == "oi\n<said-at Sat 2026-11-21 22:30>"
    context = PromptContext(Task.FINISH, Locale.EN, "oi", NIGHT.astimezone(SAO_PAULO))
    prompts = [build(replace(context, now=at), Context("", (message,)), "x") for at in (context.now, NIGHT)]
    assert prompts[0].system == prompts[1].system == system_text("")


def test_a_day_on_a_memorys_line_is_the_persons_day() -> None:
    item = MemoryItem("m", MemoryKind.TEXT, "x", ("x",), NIGHT, NIGHT)
    assert memory_line(noted(item, SAO_PAULO, Locale.EN)).endswith("· 21 Nov 2026")
    assert memory_line(noted(item, UTC, Locale.PT)).endswith("· 22 nov. 2026")


async def test_what_is_recalled_shows_local_days_and_the_model_local_times() -> None:
    house = house_at(SAO_PAULO)
    channel = house.channel()
    turn = await house.turn("what?", channel)
    kept = MemoryItem("m", MemoryKind.TEXT, "x", ("x",), NIGHT, NIGHT)
    await turn.answer.recall([kept])
    await turn.answer.complete()
    await turn.answer.view.flush()
    assert channel.screen[-1].memories[0].changed == "21 Nov 2026"


async def test_who_told_a_zone_and_the_model_read_memories_in_it() -> None:
    house, channel = house_at(ZoneInfo("UTC")), house_at(ZoneInfo("UTC")).channel()
    turn = await house.turn("what?", channel)
    turn.person.own_zone = SAO_PAULO
    [kept] = await turn.memory.add([MemoryDraft(MemoryKind.TEXT, "x", ("x",))], {})
    await turn.answer.recall([kept])
    prompt = await prompt_of(turn, Task.DECIDE, "go on")
    [shown] = [message for message in prompt.context.history if message.modal is Modal.MEMORY]
    assert isinstance(shown.content, dict)
    assert shown.content["updated_at"] == "2026-11-21T22:30:00-03:00"


async def test_who_told_a_zone_reads_the_days_of_conversations_in_it() -> None:
    house = house_at(ZoneInfo("UTC"))
    await house.preferences.put(ANA, Preferences(zone="America/Sao_Paulo"))
    channel = await house.say("/threads")
    assert "21 Nov 2026, 22:30 · 21 Nov 2026" in channel.texts[-1]
