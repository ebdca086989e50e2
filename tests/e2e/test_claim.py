"""Whoever started the bot owns it, whomever it answers: by the one-time link on Telegram, by Discord's word there."""

from __future__ import annotations

import re

import pytest

from core.dialogue import Task
from core.features.access.rules import Mode
from core.types import Role, UserKey
from tests.e2e import discord_kit, telegram_kit
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.house import House
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer

ANA, BIA = Person(7, "Ana", "en"), Person(8, "Bia", "en")


def house(clock: FakeClock, mode: Mode) -> House:
    return House({Task.DECIDE: lambda _: "Finish", Task.FINISH: lambda _: "ok"}, clock=clock, trusted=(), mode=mode)


@pytest.mark.parametrize("mode", Mode)
async def test_the_one_time_link_makes_its_opener_the_owner_on_telegram_in_every_mode(mode: Mode) -> None:
    clock, said = FakeClock(), list[str]()
    built = house(clock, mode)
    access = built.access()
    code = await access.claim_code("telegram")
    async with (
        TelegramServer(clock) as server,
        built.chatbot(access) as handler,
        telegram_kit.serving(server, clock, handler, say=said.append, claim_code=code),
    ):
        await telegram_kit.flow(server, clock, lambda: server.polled)
        [start] = re.findall(r"https://t\.me/elefante_bot\?start=(\S+)", "\n".join(said))
        server.says(ANA, f"/start {start}")  # what opening the link sends
        await telegram_kit.flow(server, clock, server.chat(7).screen)
        server.says(BIA, f"/start {start}")  # it works once
        await telegram_kit.flow(server, clock, server.chat(8).screen)
        server.says(ANA, "/admin status")
        await telegram_kit.flow(server, clock, lambda: not server.chat(7).screen()[-1].startswith("Done: this bot"))
        assert server.chat(7).screen()[0].startswith("Done: this bot is yours now.")
        assert server.chat(7).screen()[-1] != "Only this bot's owner can do that."
        assert not any("is yours now" in text for text in server.chat(8).screen())
    owners = {each.user for each in await built.people.all() if each.role is Role.OWNER}
    assert owners == {UserKey("telegram", "7")}
    assert await built.access().claim_code("telegram") is None, "no link is offered at the next start"


@pytest.mark.parametrize("mode", Mode)
async def test_the_applications_owner_owns_the_bot_on_discord_in_every_mode(mode: Mode) -> None:
    clock = FakeClock()
    built = house(clock, mode)
    access = built.access()
    async with (
        DiscordServer(clock) as server,
        built.chatbot(access) as handler,
        discord_kit.serving(server, clock, handler, owned=access.own) as bot,
    ):
        [owner] = bot.owners
        assert await access.role(owner) is Role.OWNER
        assert await access.role(UserKey("discord", str(discord_kit.BIA.id))) is None
