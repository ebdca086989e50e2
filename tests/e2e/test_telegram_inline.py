"""Inline mode: people find their own memories in any chat, and only theirs. The real core over real sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from adapters import telegram
from core.features.access.storage import Person as Known
from core.types import MemoryDraft, MemoryKind, Role, UserKey
from tests.e2e.telegram_kit import flow, idle, serving, set_by
from tests.fakes.clock import FakeClock
from tests.fakes.house import House
from tests.fakes.telegram_people import Json, Person
from tests.fakes.telegram_server import TelegramServer

ANA, EVA = Person(7, "Ana"), Person(9, "Eva")
OWNER = UserKey("telegram", "7")


@dataclass
class Setting:
    server: TelegramServer
    clock: FakeClock
    house: House

    async def found(self, person: Person, words: str) -> list[Json]:
        query = self.server.searches(person, words)
        await flow(self.server, self.clock, lambda: query in self.server.offered)
        return self.server.offered[query]


@asynccontextmanager
async def opened(*, inline: bool = True, **wired: Any) -> AsyncIterator[Setting]:
    clock = FakeClock()
    house = House(clock=clock, trusted=())
    await house.people.put(Known(OWNER, Role.OWNER, "Ana", clock.now()))
    memory = house.memories.of(OWNER)
    for content, binding in (("abc123", "senha do wi-fi"), ("terça às 9h", "dentista"), ("a" * 9000, "rol")):
        draft = MemoryDraft(MemoryKind.TEXT, content, (binding,))
        await memory.add([draft])
        await clock.advance(1.0)
    async with (
        TelegramServer(clock) as server,
        house.chatbot() as handler,
        serving(server, clock, handler, set_by(telegram_inline=inline), **wired),
    ):
        yield Setting(server, clock, house)


async def test_people_find_their_own_memories_and_post_what_they_choose() -> None:
    async with opened() as setting:
        [wifi, *_] = await setting.found(ANA, "senha do wi-fi")
        assert (wifi["title"], wifi["description"]) == ("senha do wi-fi", "abc123")
        assert wifi["input_message_content"]["message_text"] == "senha do wi-fi: abc123"
        latest = [result["title"] for result in await setting.found(ANA, "")]
        assert latest == ["rol", "dentista", "senha do wi-fi"]
        [answer, *_] = setting.server.done("answerinlinequery")
        assert (answer.params["is_personal"], answer.params["cache_time"]) == ("true", "0")
        assert not setting.house.model.prompts
        assert not setting.server.done("sendmessage")
        assert "inline_query" in setting.server.allowed


async def test_strangers_and_the_blocked_find_nothing_and_are_told_nothing() -> None:
    async with opened() as setting:
        assert await setting.found(EVA, "senha do wi-fi") == []
        await setting.house.people.put(Known(OWNER, Role.BLOCKED, "Ana", setting.clock.now()))
        assert await setting.found(ANA, "senha do wi-fi") == []
        assert not setting.server.done("sendmessage")
        assert not await setting.house.inbox.owed("telegram")


async def test_without_the_setting_nothing_is_asked_for_or_answered() -> None:
    async with opened(inline=False) as setting:
        await flow(setting.server, setting.clock, lambda: setting.server.polled)
        query = setting.server.searches(ANA, "senha")
        await idle(setting.server)
        assert query not in setting.server.offered
        assert "inline_query" not in setting.server.allowed


@pytest.mark.parametrize(
    ("supports", "inline", "told"), [(False, True, True), (True, True, False), (False, False, False)]
)
async def test_the_owner_is_told_which_command_turns_the_mode_on(supports: bool, inline: bool, told: bool) -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server:
        server.supports_inline = supports
        lines = await telegram.about(set_by(telegram_api_base_url=server.url, telegram_inline=inline), clock)
    assert any("/setinline" in line for line in lines) is told
