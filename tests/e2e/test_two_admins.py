"""Two owners decide about one stranger at the same moment, one on Telegram and one on Discord: one decision."""

from __future__ import annotations

import asyncio

import pytest

from core.features.access.storage import Person as Known
from core.types import Locale, Role, UserKey
from tests.e2e import discord_kit, telegram_kit
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import OWNER_ID
from tests.fakes.discord_world import Person as DiscordPerson
from tests.fakes.house import House
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer

ANA, EVA, DONA = Person(7, "Ana", "en"), Person(9, "Eva", "en"), DiscordPerson(OWNER_ID, "Dona", "en-US")
STRANGER = UserKey("telegram", "9")


@pytest.mark.parametrize(("here", "there"), [("Allow", "Block"), ("Block", "Allow"), ("Allow", "Allow")])
async def test_two_who_decide_at_once_on_two_platforms_make_one_decision_and_both_read_which(
    here: str, there: str
) -> None:
    clock = FakeClock()
    house = House(clock=clock, trusted=(), language=Locale.EN)
    for user, name in ((UserKey("telegram", "7"), "Ana"), (UserKey("discord", str(DONA.id)), "Dona")):
        await house.people.put(Known(user, Role.OWNER, name, clock.now()))
    async with TelegramServer(clock) as telegram, DiscordServer(clock) as discord, house.chatbot() as bot:  # noqa: SIM117
        async with telegram_kit.serving(telegram, clock, bot), discord_kit.serving(discord, clock, bot):
            telegram.chat(ANA.id)
            direct = discord.direct(DONA)

            async def until(*met: object) -> None:
                async with asyncio.timeout(120):
                    while not all(condition() for condition in met):  # type: ignore[operator]
                        await telegram_kit.idle(telegram)
                        await discord_kit.idle(discord)
                        await clock.advance(0.5)

            telegram.says(EVA, "may I?")
            await until(telegram.chat(ANA.id).ours, direct.screen)
            [card] = telegram.chat(ANA.id).ours()
            [note] = direct.notes.values()
            telegram.presses(ANA, here)
            pressed = await discord.interactions.press(DONA, note, there)
            await until(lambda: not card.labels, lambda: not note.components, lambda: pressed.kind)
            decided = [one for one in await house.decisions.newest(9) if one.name == str(STRANGER)]
            assert len(decided) == 1
            by = {ANA.id: "Ana", DONA.id: "Dona"}[int(decided[0].by.user)] if decided[0].by else ""
            for text in (card.text, note.text.replace("`", "")):
                assert f"Eva: stranger → {decided[0].after}" in text or f"Eva: {decided[0].after}" in text
                assert by
                assert by in text
            found = await house.people.find(STRANGER)
            assert found is not None
            assert found.role == decided[0].after
            told = [text for text in telegram.chat(EVA.id).screen() if text.startswith("Good news")]
            assert len(told) == (decided[0].after == Role.MEMBER)
