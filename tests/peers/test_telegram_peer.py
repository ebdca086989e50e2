"""The Bot API as aiogram knows it, a second library made from Telegram's own description, judges both ends of ours.

What the bot asks has to be methods and fields that aiogram knows, what our fake tells has to be its objects, and
aiogram's own client has to get along with our fake. No package simulates Telegram for python-telegram-bot: with npm's
telegram-test-api 4.2.1 `getMe` ends in a TypeError (no `is_bot`), `sendMessage` in a ValueError (`date` in
milliseconds), `editMessageText` in an AttributeError (`result: null`), and chat actions, reactions, drafts, commands
and groups are unknown to it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from core.clock import SystemClock
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.fakes.telegram_writing import Upload
from tests.peers.bot_process import bot_on, until

pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(find_spec("aiogram") is None, reason="needs aiogram: make test-peers"),
]
ANA, GROUP = Person(7, "Ana", "en"), -1001


class Recorded(TelegramServer):
    """Our fake, which keeps what it told."""

    def __init__(self) -> None:
        super().__init__(SystemClock())
        self.told: list[tuple[str, Any]] = []

    async def _result(self, token: str, method: str, params: Any) -> Any:
        result = await super()._result(token, method, params)
        self.told.append((method, result))
        return result


def methods() -> Mapping[str, Any]:
    """Every method that aiogram knows, by its name in small letters."""
    from aiogram import methods as known

    found = (getattr(known, name) for name in known.__all__)
    return {one.__api_method__.lower(): one for one in found if isinstance(getattr(one, "__api_method__", None), str)}


def unknown(model: Any, where: str = "") -> Iterator[str]:
    """Yield the fields of an object, and of all in it, that aiogram does not know."""
    if isinstance(model, list | tuple):
        for one in model:
            yield from unknown(one, where)
    elif hasattr(model, "model_extra"):
        yield from (f"{where}.{name}" for name in model.model_extra or ())
        for name in model.model_fields_set:
            yield from unknown(getattr(model, name, None), f"{where}.{name}")


def _parsed(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a request, those that are JSON parsed; files as a name, of which aiogram takes any."""
    found = {name: value.name if isinstance(value, Upload) else value for name, value in params.items()}
    return {
        name: json.loads(value) if isinstance(value, str) and value[:1] in "[{" and name != "text" else value
        for name, value in found.items()
    }


def _wrong_request(method: str, params: Mapping[str, Any]) -> Iterator[str]:
    made = methods()[method].model_validate(_parsed(params))
    yield from unknown(made, method)
    for entity in getattr(made, "entities", None) or ():
        if not entity.extract_from(made.text).strip():
            yield f"{method}: {entity.type} of nothing"


async def test_every_request_and_every_object_is_one_that_aiogram_knows(tmp_path: Path) -> None:
    from aiogram.methods import Response

    async with Recorded() as server:
        settings = {"TELEGRAM_TOKEN": TOKEN, "TELEGRAM_API_BASE_URL": server.url, "TELEGRAM_DRAFTS": "true"}

        async def then(do: Callable[[], object], expected: str, chat_id: int = ANA.id) -> None:
            do()
            await until(
                lambda: expected in str([(post.text, post.labels) for post in server.chat(chat_id).ours()[-1:]])
            )

        async with bot_on(tmp_path, **settings):
            await until(lambda: server.polled)
            await then(lambda: server.says(ANA, "Good morning!"), "Tell me what to keep")
            await then(lambda: server.says(ANA, "Remember that my locker code is 4417"), "Undo")
            await then(lambda: server.says(ANA, "What is my locker code?"), "4417")
            await then(lambda: server.says(ANA, "Forget my locker code"), "Delete")
            await then(lambda: server.presses(ANA, "🗑️ Delete"), "Deleted")
            await then(lambda: server.says(ANA, "/help"), "/memories")
            server.says(ANA, "good morning, everybody", chat_id=GROUP)
            asked = server.says(ANA, "@elefante_bot remember that the gate code is 31", chat_id=GROUP)
            await until(lambda: "Undo" in str([post.labels for post in server.chat(GROUP).ours()]))
            await then(lambda: server.edits(asked, "@elefante_bot remember that the gate code is 32"), "32", GROUP)
            await then(lambda: server.says(ANA, "@elefante_bot what is the gate code?", chat_id=GROUP), "32", GROUP)
    known, wrong = methods(), list[str]()
    for call in server.calls:
        wrong += _wrong_request(call.method, call.params)
    for method, result in server.told:
        answer = Response[known[method].__returning__].model_validate({"ok": True, "result": result})
        wrong += unknown(answer.result, f"{method}()")
    assert sorted(set(wrong)) == []
    assert {"sendmessage", "editmessagetext", "answercallbackquery"} <= {call.method for call in server.calls}


async def test_aiograms_own_client_gets_along_with_our_fake() -> None:
    from aiogram import Bot
    from aiogram.client.session.aiohttp import AiohttpSession
    from aiogram.client.telegram import TelegramAPIServer
    from aiogram.exceptions import TelegramBadRequest, TelegramRetryAfter
    from aiogram.types import InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity, ReactionTypeEmoji

    async with TelegramServer(SystemClock()) as server:
        session = AiohttpSession(api=TelegramAPIServer.from_base(server.url))
        async with Bot(TOKEN, session=session) as bot:
            assert (await bot.get_me()).username == "elefante_bot"
            server.says(ANA, "@elefante_bot hi", chat_id=GROUP)
            kinds = ["message", "callback_query", "message_reaction", "inline_query"]
            [update] = await bot.get_updates(timeout=1, allowed_updates=kinds)
            assert update.message is not None
            assert update.message.entities[0].extract_from(update.message.text) == "@elefante_bot"
            menu = InlineKeyboardMarkup(inline_keyboard=[[InlineKeyboardButton(text="Undo", callback_data="/undo")]])
            bold = MessageEntity(type="bold", offset=0, length=2)
            sent = await bot.send_message(GROUP, "hi 🐘", entities=[bold], reply_markup=menu, parse_mode=None)
            await bot.set_message_reaction(GROUP, update.message.message_id, [ReactionTypeEmoji(emoji="👀")])
            await bot.send_chat_action(GROUP, "typing")
            server.presses(ANA, "Undo", chat_id=GROUP)
            [pressed] = await bot.get_updates(offset=update.update_id + 1, timeout=1)
            assert pressed.callback_query.data == "/undo"
            assert pressed.callback_query.message.message_id == sent.message_id
            assert await bot.answer_callback_query(pressed.callback_query.id)
            edited = await bot.edit_message_text("undone", chat_id=GROUP, message_id=sent.message_id, parse_mode=None)
            assert edited.text == "undone"
            assert edited.reply_markup is None
            server.says(ANA, "hi")
            assert await bot.send_message_draft(ANA.id, 1, text="gro")
            server.chat(GROUP).administered = True
            server.reacts(ANA, "👎", chat_id=GROUP)
            server.whispers(ANA, "/memories", GROUP)
            server.searches(ANA, "wifi")
            told = await bot.get_updates(offset=pressed.update_id + 1, timeout=1)
            assert [update.event_type for update in told] == ["message", "message_reaction", "message", "inline_query"]
            assert list(unknown(told)) == []
            refused: tuple[tuple[Any, Callable[[], Awaitable[Any]]], ...] = (
                (
                    TelegramBadRequest,
                    lambda: bot.edit_message_text("undone", chat_id=GROUP, message_id=sent.message_id),
                ),
                (TelegramBadRequest, lambda: bot.send_message(4711, "who?")),
                (TelegramRetryAfter, lambda: bot.send_message(GROUP, "flood")),
            )
            for kind, ask in refused:
                server.flood(GROUP, 5.0 if kind is TelegramRetryAfter else 0.0)
                with pytest.raises(kind):
                    await ask()
