"""Incognito as people meet it on both platforms: real SDKs, real sockets, the real core."""

from __future__ import annotations

import pytest

from core.answering.outcomes import INCOGNITO
from core.features.preferences.commands import BEGIN, END, ENDED, OVER
from core.types import Locale
from tests.e2e.stage import ANA, OTHER, PRIVATE, ROOM, Pressable, Stage, opened
from tests.fakes.ram import RamDatabase

PLATFORMS = ("telegram", "discord")
EN = Locale.EN


def button(stage: Stage, label: str) -> Pressable:
    """The newest button of that label in Ana's private chat."""
    return [each for each in stage.buttons(ANA) if each.label == label][-1]


def kept(stage: Stage, *words: str) -> list[str]:
    """Those of the words that stand anywhere in the database."""
    assert isinstance(stage.house.database, RamDatabase)
    image = stage.house.database.connection.raw.serialize()
    return [word for word in words if word.encode() in image]


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_it_begins_and_ends_by_buttons_and_leaves_no_words(platform: str) -> None:
    async with opened(platform) as stage, stage.running():
        await stage.say(ANA, "remember that my locker is zqbefore")
        await stage.say(ANA, "/memory")
        assert "for the next 60 minutes" in await stage.press(ANA, button(stage, BEGIN[EN]))
        assert await stage.say(ANA, "remember that my code is zqprivate") == INCOGNITO[EN]
        await stage.say(ANA, "hello zqroom", ROOM)
        await stage.say(ANA, "/remember zqcommand", OTHER)
        await stage.say(ANA, "/memory")
        assert OVER[EN] in await stage.press(ANA, button(stage, END[EN]))
        await stage.say(ANA, "remember that my bike is zqafter", PRIVATE)
        assert kept(stage, "zqbefore", "zqprivate", "zqroom", "zqcommand", "zqafter") == ["zqbefore", "zqafter"]


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_the_hour_ends_with_the_next_answer_whose_button_begins_another(platform: str) -> None:
    async with opened(platform) as stage, stage.running():
        await stage.say(ANA, "go incognito")
        await stage.say(ANA, "hello zqfirst")
        await stage.clock.advance(3600)
        assert ENDED[EN] in await stage.say(ANA, "hello zqsecond")
        await stage.press(ANA, [each for each in stage.buttons(ANA) if each.data][-1])
        await stage.say(ANA, "hello zqthird")
        assert kept(stage, "zqfirst", "zqsecond", "zqthird") == ["zqsecond"]
