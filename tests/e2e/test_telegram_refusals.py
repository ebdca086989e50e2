"""What Telegram refuses for good, and answers that nobody understands: the person has the text, the bot goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from adapters.telegram.config import TelegramConfig
from core.delivery.view import View
from core.outgoing import Button, OutgoingMessage
from core.types import Incoming
from tests.e2e.telegram_kit import flow, running
from tests.fakes.clock import FakeClock
from tests.fakes.handler import slowly
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.fakes.telegram_wire import Refused

ANA, BIA = Person(7, "Ana"), Person(8, "Bia")
GROUP = -1001
EDITS_ONLY = TelegramConfig(TOKEN, drafts=False)

UNREADABLE = "400: Bad Request: can't parse entities: Unsupported start tag at byte offset 0"
REFUSALS = [
    "400: Bad Request: SOMETHING_NEW", "400: Bad Request: message can't be edited", "400: Bad Request: TOPIC_CLOSED",
    "403: Forbidden: something else", "409: Conflict: whatever", "401: Unauthorized",
]  # fmt: skip
"""One of each kind; which words are of which kind is in `tests/unit/test_platform_refusals.py`."""

GARBAGE: list[Any] = [
    b"<html>captive</html>", b"", b"\xff\xfe", b"null", b"[]", b"7", b'{"ok": true}', b'{"ok": true, "result": null}',
    b'{"ok": true, "result": {"message_id": "x"}}', b'{"ok": true, "result": [1]}', b"[" * 100_000,
    b'{"ok": true, "result": {"message_id": 1, "date": 1e300, "chat": {}}}',
]  # fmt: skip
SOME_GARBAGE = [b"<html>captive</html>", b"null", b'{"ok": true, "result": {"message_id": "x"}}']


def refusal(text: str) -> Refused:
    return Refused(int(text[:3]), text[5:])


@dataclass
class Fault:
    """Refuses what a method is asked to do, for the calls that `when` says."""

    said: str
    method: str
    when: Callable[[dict[str, Any]], bool] = lambda _: True
    times: int = 1000
    seen: int = field(default=0)

    def __call__(self, method: str, params: dict[str, Any]) -> None:
        if method == self.method and self.when(params) and self.seen < self.times:
            self.seen += 1
            raise refusal(self.said)


def final(params: dict[str, Any]) -> bool:
    return "três" in str(params.get("text"))


def plain_and_new(params: dict[str, Any]) -> bool:
    """Whether it is nothing but text."""
    return not {"entities", "reply_markup", "reply_parameters"} & params.keys()


async def answer(_: Incoming, view: View) -> None:
    await view.status("IA está pensando...")
    await view.show(OutgoingMessage("um **dois** três", choices=(Button("Desfazer", "/undo"),)))


@pytest.mark.parametrize("said", [*REFUSALS, UNREADABLE])
async def test_an_answer_refused_in_its_form_is_there_once_as_plain_text_and_no_status_is_left(said: str) -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server, running(server, clock, answer, EDITS_ONLY) as bot:
        server.faults.append(Fault(said, "editmessagetext"))
        server.faults.append(Fault(said, "sendmessage", lambda params: final(params) and not plain_and_new(params)))
        await bot.answers(server.says(ANA, "conte @elefante_bot", chat_id=GROUP))
        gone = "403" in said or "TOPIC" in said
        assert server.chats[GROUP].screen() == ([] if gone else ["um dois três"])
        assert bool(bot.handler.failures) == gone
        server.faults.clear()
        await bot.answers(server.says(ANA, "de novo @elefante_bot", chat_id=GROUP))
        assert server.chats[GROUP].screen()[-1] == "um dois três"


@pytest.mark.parametrize("said", REFUSALS)
async def test_edits_refused_in_mid_stream_end_in_one_whole_message_and_no_stop_button(said: str) -> None:
    clock = FakeClock()
    script = slowly(clock, "um dois três", 3.0)
    async with TelegramServer(clock) as server, running(server, clock, script, EDITS_ONLY) as bot:
        server.faults.append(Fault(said, "editmessagetext"))
        await bot.answers(server.says(ANA, "conte"))
        if "403" in said or "TOPIC" in said:
            assert bot.handler.failures
        else:
            assert server.chats[7].screen() == ["um dois três"]
        assert not any(post.buttons for post in server.chats[7].ours())


@pytest.mark.parametrize("said", REFUSALS[:3])
async def test_a_message_that_can_neither_be_changed_nor_taken_away_does_not_hold_up_the_answer(said: str) -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server, running(server, clock, answer, EDITS_ONLY) as bot:
        server.faults += [Fault(said, "editmessagetext"), Fault(said, "deletemessage")]
        await bot.answers(server.says(ANA, "conte"))
        if not bot.handler.failures:
            assert server.chats[7].screen()[-1] == "um dois três"


@pytest.mark.parametrize("method", ["sendchataction", "sendmessagedraft", "answercallbackquery", "setmycommands"])
@pytest.mark.parametrize("said", ["401: Unauthorized", "500: Internal Server Error"])
async def test_a_courtesy_that_is_refused_costs_no_answer(clock: FakeClock, method: str, said: str) -> None:
    async with TelegramServer(clock) as server:
        if method != "setmycommands" or "401" not in said:
            server.faults.append(Fault(said, method))
        async with running(server, clock, slowly(clock, "um dois três", 6.0)) as bot:
            await bot.answers(server.says(ANA, "conte"))
            assert server.chats[7].screen() == ["um dois três"]
            assert not bot.task.done()


class Garbling:
    """In front of the server: answers some calls with something else, after they were done or before."""

    def __init__(self, server: TelegramServer, body: bytes, method: str, *, done: bool, times: int = 1000) -> None:
        self._serve, self.body, self.method, self.done, self.left = server._serve, body, method, done, times
        server._serve = self.serve  # type: ignore[method-assign]

    async def serve(self, request: web.Request) -> web.Response:
        garbled = request.match_info["method"].lower() == self.method and self.left > 0
        if not garbled:
            return await self._serve(request)
        if self.done:
            await self._serve(request)
        self.left -= 1
        return web.Response(body=self.body, content_type="application/json")


@pytest.mark.parametrize("body", SOME_GARBAGE, ids=lambda body: str(body[:30]))
@pytest.mark.parametrize("done", [True, False])
async def test_an_answer_nobody_understands_is_repeated_once_and_the_bot_goes_on(body: bytes, *, done: bool) -> None:
    clock = FakeClock()
    server = TelegramServer(clock)
    garbling = Garbling(server, body, "sendmessage", done=done)
    async with server, running(server, clock, answer, EDITS_ONLY) as bot:
        await bot.answers(server.says(ANA, "conte"))
        screen = server.chats[7].screen()
        assert sum("três" in text for text in screen) <= 2
        assert done == any("três" in text for text in screen)
        garbling.left = 0
        await bot.answers(server.says(BIA, "conte"))
        assert server.chats[8].screen() == ["um dois três"]
        assert not bot.task.done()


@pytest.mark.parametrize("body", SOME_GARBAGE, ids=lambda body: str(body[:30]))
@pytest.mark.parametrize("method", ["sendmessage", "editmessagetext"])
async def test_an_answer_that_is_not_understood_for_a_moment_leaves_the_text_on_the_screen(
    body: bytes, method: str
) -> None:
    clock = FakeClock()
    server = TelegramServer(clock)
    Garbling(server, body, method, done=False, times=1)
    async with server, running(server, clock, answer, EDITS_ONLY) as bot:
        await bot.answers(server.says(ANA, "conte"))
        assert [text.removeprefix("↻ ") for text in server.chats[7].screen()] == ["um dois três"]


@pytest.mark.long
@pytest.mark.parametrize("seconds", [600, 5400])
async def test_a_server_that_fails_for_long_is_waited_for_and_then_given_up(clock: FakeClock, seconds: float) -> None:
    def fault(method: str, _: object) -> None:
        if method in {"sendmessage", "sendchataction"} and clock.monotonic() < seconds:
            raise Refused(500, "Internal Server Error")

    async with TelegramServer(clock) as server, running(server, clock, answer, EDITS_ONLY) as bot:
        server.faults.append(fault)
        await bot.answers(server.says(ANA, "conte"))
        if seconds < 1800:
            assert [text.removeprefix("↻ ") for text in server.chats[7].screen()] == ["um dois três"]
        else:
            assert bot.handler.failures


async def test_a_poll_answered_with_anything_is_asked_again(clock: FakeClock) -> None:
    server = TelegramServer(clock)
    garbling = Garbling(server, b"", "getupdates", done=False, times=0)
    async with server, running(server, clock) as bot:
        for body in [*GARBAGE, b'{"ok": true, "result": [null, 7, {}, {"update_id": "x"}]}']:
            began_s, answered = clock.monotonic(), bot.handler.answered
            garbling.body, garbling.left = body, 20
            server.says(ANA, "oi")
            await flow(server, clock, lambda: bot.handler.answered == answered + 1 and not garbling.left)  # noqa: B023
            assert clock.monotonic() - began_s > 19, f"after {body[:30]!r} it was hammered"


def person(**more: Any) -> dict[str, Any]:
    return {"id": 7, "is_bot": False, "first_name": "Ana"} | more


def message(**more: Any) -> dict[str, Any]:
    chat = {"id": 7, "type": "private"}
    return {"message": {"message_id": 5, "date": 0, "chat": chat, "from": person(), "text": "oi"} | more}


MALFORMED = [
    {"message": None}, {"message": 7}, {"message": []}, {"message": {"message_id": None}}, message(text=7),
    message(date="soon"), message(date=10**18), message(chat=None), message(chat={"id": "x", "type": 5}),
    message(**{"from": None}), message(**{"from": {"id": None}}), message(**{"from": person(first_name=None)}),
    message(entities=[{"type": "mention"}]), message(entities=[{"type": "mention", "offset": -5, "length": 10**9}]),
    message(entities=None), message(reply_to_message={"message_id": 1}), message(photo=[None]),
    message(migrate_to_chat_id="x"), {"callback_query": {}}, {"my_chat_member": {"chat": {}}},
    {"callback_query": {"id": 7, "from": person(), "chat_instance": None, "data": 7}},
    {"edited_message": message()["message"] | {"edit_date": "x"}}, {"what": "is this"},
]  # fmt: skip


async def test_an_update_of_any_shape_is_left_out_once_and_what_comes_after_it_is_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        for number, update in enumerate(MALFORMED, start=1):
            caplog.clear()
            server.push(update)
            server.says(BIA, "oi")
            await flow(server, clock, lambda: server.chats[8].screen() == ["Você disse: oi"] * number)  # noqa: B023
            await flow(server, clock, lambda: not server.updates)
            assert not bot.task.done(), update
            assert sum(record.getMessage() == "an update was left out" for record in caplog.records) <= 1, update
