"""/start: a greeting of three lines with three buttons, and what became of a link."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from core.commands.command import EXAMPLES, GREETING, LINK_OF_OWNER, LINK_OVER
from core.limited import LimitedMind
from core.types import Locale, Role
from tests.fakes.channel import RecordingChannel
from tests.fakes.house import ANA, BIA, House
from tests.fakes.lobby import Lobby

TAGS = {Locale.PT: "pt-br", Locale.EN: "en", Locale.ES: "es"}


async def greeted(house: House, text: str, tag: str) -> RecordingChannel:
    channel = house.channel()
    async with house.chatbot() as bot:
        await (await bot.receive(replace(house.incoming(text), language=tag), channel))
    return channel


@pytest.mark.parametrize("locale", Locale)
async def test_start_is_three_lines_and_three_buttons_and_no_list(locale: Locale) -> None:
    [shown] = (await greeted(House(), "/start", TAGS[locale])).screen
    assert (shown.text, len(shown.text.split("\n"))) == (GREETING[locale], 3)
    assert [choice.command for choice in shown.choices] == ["/start try", "/help", "/language"]
    assert len({choice.label for choice in shown.choices}) == 3


@pytest.mark.parametrize("locale", Locale)
async def test_what_can_be_tried_works_without_a_model_too(locale: Locale) -> None:
    house = House()
    house.embedder.down = True
    house.answered_by(LimitedMind(house.embedder))
    [examples] = (await greeted(house, "/start try", TAGS[locale])).texts
    assert examples == EXAMPLES[locale]
    said, asked = re.findall("`(.+?)`", examples)
    channel = house.channel()
    async with house.chatbot() as bot:
        for number, text in enumerate((said, asked), 2):
            await (await bot.receive(replace(house.incoming(text), message_id=str(number)), channel))
    told, answer = channel.texts[0], channel.texts[-1]
    kept = said.split(maxsplit=2)[2]
    assert told.splitlines()[0].endswith(f"“{kept}”")
    assert f"“{kept}”" in answer


async def test_a_link_that_does_nothing_any_more_says_so_and_greets() -> None:
    async with Lobby() as lobby:
        await lobby.give(ANA, Role.OWNER)
        await lobby.give(BIA, Role.MEMBER)
        [told] = await lobby.say("/start Xy_12", ANA, language="en")
        assert told == f"{LINK_OF_OWNER[Locale.EN]}\n\n{GREETING[Locale.EN]}"
        [told] = await lobby.say("/start Xy_12", BIA, language="en")
        assert told == f"{LINK_OVER[Locale.EN]}\n\n{GREETING[Locale.EN]}"
