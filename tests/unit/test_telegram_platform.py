"""What the Telegram adapter is wired with: who staff are, and when that changes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from adapters import telegram
from adapters.telegram.config import TelegramConfig
from bot.platforms import PLATFORMS, Start
from bot.settings.settings import load
from bot.wiring import build
from core.features.access.storage import Person
from core.features.admin.storage import Decision, DecisionKind
from core.ports import MessageHandler
from core.types import Role, UserKey
from tests.fakes.clock import START
from tests.fakes.handler import ScriptedHandler

ANA = UserKey("telegram", "7")


async def test_staff_are_read_when_asked_and_a_choice_of_drafts_counts_before_a_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}

    async def run(config: TelegramConfig, _: MessageHandler, *__: object, **wired: Any) -> None:
        given.update(wired, config=config)

    monkeypatch.setattr(telegram, "run", run)
    settings = load(None, telegram_token="123:abc_DEF-9", data_dir=tmp_path)
    async with build(settings) as app:
        start = Start(app, ScriptedHandler(app.clock), asyncio.Event(), print)
        await PLATFORMS["telegram"].run(start)
        for user, role in (
            (ANA, Role.OWNER),
            (UserKey("telegram", "8"), Role.ADMIN),
            (UserKey("telegram", "9"), Role.MEMBER),
            (UserKey("discord", "10"), Role.ADMIN),
            (UserKey("telegram", "-11"), Role.ADMIN),
        ):
            await app.features.access.people.put(Person(user, role, "x", START))
        assert await given["staff"].ids() == [7, 8]
        assert not given["staff"].changed.is_set()
        less = Decision(START, None, DecisionKind.ROLE, "telegram:8", Role.ADMIN, Role.MEMBER)
        await app.features.decider.make(less)
        assert given["staff"].changed.is_set()
    assert given["kept"] is app.kept
    assert given["claim_code"]
