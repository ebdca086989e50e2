"""Setting up: what the owner reads when the bot starts, with the real core behind it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from adapters import telegram
from adapters.telegram.config import TelegramConfig
from tests.e2e.telegram_kit import flow
from tests.fakes.clock import FakeClock
from tests.fakes.door import ScriptedDoor
from tests.fakes.telegram_people import BOT
from tests.fakes.telegram_server import TOKEN, TelegramServer


@pytest.mark.parametrize("code", [None, "once"])
@pytest.mark.parametrize("privacy", [True, False])
async def test_the_start_says_who_the_bot_is_how_to_own_it_and_what_groups_hide(
    code: str | None, *, privacy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BOT, "can_read_all_group_messages", not privacy)
    clock = FakeClock()
    stop, said = asyncio.Event(), list[str]()
    async with TelegramServer(clock) as server:
        config = replace(TelegramConfig(TOKEN), base_url=server.url)
        task = asyncio.create_task(
            telegram.run(config, ScriptedDoor(clock), clock, stop, say=said.append, claim_code=code)
        )
        await flow(server, clock, lambda: server.polled)
        stop.set()
        await task
    assert said[0] == "Telegram: connected as @elefante_bot"
    assert any("https://t.me/elefante_bot?start=once" in line for line in said) is (code is not None)
    assert any("/setprivacy" in line for line in said) is privacy
    assert not any(TOKEN in line for line in said)
