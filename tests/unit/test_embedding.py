"""A program that embeds the bot: whoever it asks for is answered, and has no right that it did not grant by name."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.settings.settings import Settings
from bot.wiring import App, build, open_chatbot
from core.answering.chatbot import ChatBot
from core.ask import ask
from core.features.access.rules import Mode
from core.features.access.storage import Person
from core.types import MemoryDraft, MemoryKind, Role, UserKey

OWNER, EVE, ANA = (UserKey("api", name) for name in ("boss", "eve", "ana"))
ONLY_OWNER = "Only this bot's owner can do that."
OF_STAFF = [
    "/admin status",
    f"/admin export {ANA}",
    "/admin export telegram:7",
    f"/admin forget {ANA}",
    f"/admin role {EVE} owner",
    "/admin logs",
    "/admin broadcast hi",
]


@pytest.fixture(params=Mode)
async def app(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[App]:
    settings = Settings(_env_file=None, data_dir=tmp_path, access=request.param.value)  # type: ignore[call-arg]
    async with build(settings, grants={OWNER: Role.OWNER}) as app:
        await app.features.memories.of(ANA).add([MemoryDraft(MemoryKind.TEXT, "swordfish", ("password",))], {})
        yield app


@pytest.fixture
async def handler(app: App) -> AsyncIterator[ChatBot]:
    async with open_chatbot(app) as handler:
        yield handler


async def said(app: App, handler: ChatBot, text: str, user: UserKey = EVE) -> str:
    answer = await ask(handler, app.clock, message=text, chat_id="c", user_id=user.user, language="en")
    return answer.response


@pytest.mark.parametrize("command", OF_STAFF)
async def test_who_was_granted_nothing_has_no_right_of_an_owner(app: App, handler: ChatBot, command: str) -> None:
    assert await said(app, handler, command) == ONLY_OWNER
    assert "/admin" not in await said(app, handler, "/help all")


async def test_who_was_granted_a_role_by_name_has_it_and_nobody_else_is_on_record(app: App, handler: ChatBot) -> None:
    assert await said(app, handler, "/admin status", OWNER) != ONLY_OWNER
    assert await said(app, handler, f"/admin export {ANA}", OWNER) != ONLY_OWNER
    assert list(await app.features.access.people.all()) == []


async def test_everybody_is_answered_and_what_is_kept_is_ones_own(app: App, handler: ChatBot) -> None:
    assert (await said(app, handler, "/remember my room is 12")).startswith("Saved:")
    assert "12" in await said(app, handler, "/memories")
    assert "swordfish" not in await said(app, handler, "/memories")
    assert "swordfish" in await said(app, handler, "/memories", ANA)


async def test_who_is_blocked_is_not_answered(app: App, handler: ChatBot) -> None:
    await app.features.access.people.put(Person(EVE, Role.BLOCKED, "", app.clock.now()))
    assert await said(app, handler, "/help") == ""


async def test_a_code_that_somebody_guesses_claims_nothing(app: App, handler: ChatBot) -> None:
    await app.features.access.claim_code("telegram")
    await said(app, handler, f"/start {json.dumps('x')}")
    assert list(await app.features.access.people.all()) == []
