"""/drafts: what a person chooses holds for them where the platform has drafts; elsewhere it says that it has none."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from core.features.admin.decided import streams_drafts
from core.features.admin.decisions import OFF, ON, Decision, DecisionKind
from core.features.preferences.drafts import HOLDS, NONE_HERE
from core.outgoing import OutgoingMessage
from core.types import Locale
from tests.fakes.house import ANA, BIA, House


async def say(house: House, text: str, *, drafts: bool = True) -> OutgoingMessage:
    """Say something there, and return the last thing on the screen."""
    channel = house.channel()
    house.drafts_on = frozenset({"test"} if drafts else ())
    async with house.chatbot() as bot:
        await (await bot.receive(replace(house.incoming(text), message_id=uuid4().hex), channel))
    return channel.screen[-1]


@pytest.mark.parametrize(("word", "chosen"), [("on", True), ("OFF", False), ("auto", None)])
async def test_what_is_chosen_holds_and_is_said_with_buttons_for_the_others(word: str, chosen: bool | None) -> None:
    house = House()
    for before in ("on", "off"):
        await say(house, f"/drafts {before}")
    shown = await say(house, f"/drafts {word}")
    assert shown.text == HOLDS[chosen][Locale.EN]
    assert (await house.preferences.of(ANA)).drafts is chosen
    assert (await house.preferences.of(BIA)).drafts is None
    assert {choice.command for choice in shown.choices} == {"/drafts on", "/drafts off", "/drafts auto"} - {
        f"/drafts {word.casefold()}"
    }
    assert all(choice.in_place for choice in shown.choices)


@pytest.mark.parametrize("word", ["", "maybe"])
async def test_without_a_choice_it_says_what_holds_and_changes_nothing(word: str) -> None:
    house = House()
    assert (await say(house, f"/drafts {word}")).text == HOLDS[None][Locale.EN]
    assert (await house.preferences.of(ANA)).drafts is None


async def test_where_there_are_no_drafts_it_says_so_and_help_does_not_name_it() -> None:
    house = House()
    assert (await say(house, "/drafts on", drafts=False)).text == NONE_HERE[Locale.EN]
    assert (await house.preferences.of(ANA)).drafts is None
    assert "/drafts" not in (await say(house, "/help", drafts=False)).text
    assert "/drafts" in (await say(house, "/help ", drafts=True)).text


async def test_a_person_counts_before_the_room_and_the_room_before_the_bot() -> None:
    house = House()
    incoming = house.incoming("oi")

    async def decide(name: str, value: str) -> None:
        before = await house.decisions.value(DecisionKind.DRAFTS, name)
        await house.decisions.apply(Decision(house.clock.now(), BIA, DecisionKind.DRAFTS, name, before, value))

    async def streams() -> bool | None:
        return await streams_drafts(house.decisions, house.preferences, incoming)

    assert await streams() is None
    await decide("", ON)
    assert await streams() is True
    await decide("test:c", OFF)
    assert await streams() is False
    await say(house, "/drafts on")
    assert await streams() is True
