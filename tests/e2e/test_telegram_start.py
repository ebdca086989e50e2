"""Setting up: what the owner reads when the bot starts, with the real core behind it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from adapters import telegram
from adapters.telegram.config import TelegramConfig
from core.storage.kept import SqlKept
from core.workers.port import Worker
from tests.e2e.telegram_kit import flow, idle, running
from tests.fakes.clock import FakeClock
from tests.fakes.commands import COMMANDS, menu
from tests.fakes.handler import ScriptedHandler
from tests.fakes.ram import RamDatabase
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.fakes.telegram_wire import Refused


@pytest.mark.parametrize("code", [None, "once"])
@pytest.mark.parametrize("privacy", [True, False])
async def test_the_start_says_who_the_bot_is_how_to_own_it_and_what_groups_hide(
    code: str | None, *, privacy: bool
) -> None:
    clock = FakeClock()
    stop, said = asyncio.Event(), list[str]()
    async with TelegramServer(clock) as server:
        server.reads_all = not privacy
        config = replace(TelegramConfig(TOKEN), base_url=server.url)
        task = asyncio.create_task(
            telegram.run(
                config,
                ScriptedHandler(clock),
                clock,
                stop,
                menu=menu(),
                worker=Worker(),
                kept=SqlKept(RamDatabase()),
                say=said.append,
                claim_code=code,
            )
        )
        await flow(server, clock, lambda: server.polled)
        stop.set()
        await task
    assert said[0] == "Telegram: connected as @elefante_bot"
    assert any("https://t.me/elefante_bot?start=once" in line for line in said) is (code is not None)
    assert any("/setprivacy" in line for line in said) is privacy
    assert not any(TOKEN in line for line in said)


async def test_the_menu_is_offered_in_each_language_and_place_and_only_when_it_changed(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server:
        for _ in range(2):
            server.polled = False
            async with running(server, clock):
                await flow(server, clock, lambda: server.polled)
                await idle(server)
        assert len(server.done("setmycommands")) == 8
        assert set(server.commands) == {
            (scope, tag) for scope in ("default", "all_group_chats") for tag in ("", "pt", "en", "es")
        }
        for tag in ("", "en"):
            assert server.commands["default", tag][0] == {"command": "help", "description": "show this help"}
        assert "ajuda" in server.commands["default", "pt"][0]["description"]
        for (scope, _), menu in server.commands.items():
            shown = {offer["command"] for offer in menu}
            listed = {name: known for name, known in COMMANDS.items() if known.is_listed}
            assert shown == {name for name, known in listed.items() if scope == "default" or not known.in_private}
            assert len(shown) <= 11  # with /admin a dozen, and fewer in groups


async def test_the_bot_is_described_in_each_language_once(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server:
        for _ in range(2):
            server.polled = False
            async with running(server, clock):
                await flow(server, clock, lambda: server.polled)
                await idle(server)
        assert len(server.done("setmydescription", "setmyshortdescription")) == 8
        for field in ("description", "short_description"):
            said = {tag: server.descriptions[field, tag] for tag in ("", "en", "pt", "es")}
            assert said[""] == said["en"]
            assert len(set(said.values())) == 3
        assert server.descriptions["description", ""].startswith("I keep what you tell me")
        assert server.descriptions["short_description", "pt"].startswith("Um bot com memória")


async def test_a_description_of_the_owners_own_stays_as_it_is(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server:
        server.descriptions["description", ""] = "Ana's own"
        async with running(server, clock):
            await flow(server, clock, lambda: server.polled)
            await idle(server)
        assert {tag for (field, tag) in server.descriptions if field == "description"} == {""}
        assert server.descriptions["description", ""] == "Ana's own"
        assert len(server.done("setmyshortdescription")) == 4


async def test_a_menu_that_cannot_be_set_is_no_reason_not_to_answer(clock: FakeClock) -> None:
    def fault(method: str, _: object) -> None:
        if method == "setmycommands":
            raise Refused(400, "Bad Request: BOT_COMMAND_INVALID")

    async with TelegramServer(clock) as server:
        server.faults.append(fault)
        async with running(server, clock):
            server.says(Person(7), "oi")
            await flow(server, clock, lambda: server.chats[7].screen() == ["Você disse: oi"])
