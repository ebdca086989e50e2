"""What the first message would wait for is prepared in the background, and keeps no message waiting."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

import bot.run
from adapters import console
from bot.settings.settings import load
from bot.wiring import build, open_chatbot, warm_up
from core import models
from core.ask import ask
from core.features.reminders import mentions, on_mention, request
from core.limited import frames
from core.ports import Clock, MessageHandler
from core.text import replies
from core.times import tokens, zones

CACHES = (
    tokens.table,
    zones._peopled,
    replies._patterns,
    models._strict_schema,
    request.request_words,
    mentions._tables,
    on_mention._tables,
    frames._talk,
    frames.pattern,
)


async def test_the_first_message_compiles_nothing_that_was_warmed_up() -> None:
    async with build(load(None, storage_url="memory:")) as app, open_chatbot(app) as chatbot:
        for cache in CACHES:
            cache.cache_clear()
        tokens.tokens.cache_clear()  # what other tests read would be compiled already
        await warm_up(app)
        before = [cache.cache_info().misses for cache in CACHES]
        assert all(before)
        for message in ("Remember that Bia comes tomorrow at 8", "lembra que amanhã às 8 tem dentista", "undo"):
            await ask(chatbot, app.clock, message=message, chat_id="ana", user_id="ana")
        assert [cache.cache_info().misses for cache in CACHES] == before


async def test_the_index_is_loaded_and_what_every_search_needs_is_embedded_before_the_first_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "core.storage.faiss_index", raising=False)
    async with build(load(None, storage_url="memory:")) as app:
        await warm_up(app)
        assert "core.storage.faiss_index" in sys.modules
        assert app.parts.memories._embedding._normalizer is not None


async def test_a_message_that_comes_before_that_is_done_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(_: object) -> None:
        await asyncio.Event().wait()

    async def talk(handler: MessageHandler, clock: Clock, **_: Any) -> None:
        answer = await ask(handler, clock, message="Remember that the wifi is abc123", chat_id="ana", user_id="ana")
        answers.append(answer.response)

    answers: list[str] = []
    monkeypatch.setattr(bot.run, "warm_up", never)
    monkeypatch.setattr(console, "run", talk)
    await bot.run.chat(load(None, data_dir=tmp_path, language="en"))
    assert "abc123" in answers[0]
