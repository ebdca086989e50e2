"""What may be there twice says so: a send whose confirmation got lost, an answer that a crash interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.telegram.config import TelegramConfig
from core.answering.outcomes import AGAIN
from core.delivery.view import View
from core.outgoing import Button, File, OutgoingMessage
from core.types import ChatKey, Incoming, Locale, UserKey
from tests.e2e.telegram_kit import flow, running, serving
from tests.fakes.clock import FakeClock
from tests.fakes.handler import ScriptedHandler, echo, slowly, tell, words
from tests.fakes.telegram_people import BOT_ID, Person, Post
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.fakes.telegram_wire import Refused

ANA = Person(7, "Ana")
STOPS_AT_ONCE = TelegramConfig(TOKEN, drain_s=0.0)


def swallows(server: TelegramServer, method: str, text: str = "", times: int = 1) -> None:
    """Let that many calls be done, and their answers get lost on the way."""
    left = iter(range(times))

    def lost(called: str, params: dict[str, object]) -> bool:
        told = str(params.get("text", params.get("caption", "")))
        return called == method and text in told and next(left, None) is not None

    server.swallow = lost


async def plain(_: Incoming, view: View) -> None:
    await view.show(OutgoingMessage("é **abc123**", choices=(Button("Desfazer", "/undo"),)))


async def test_a_message_whose_confirmation_got_lost_is_repeated_with_a_mark_and_its_buttons(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, plain) as bot:
        swallows(server, "sendmessage")
        await bot.answers(server.says(ANA, "qual é a senha?"))
        first, second = server.chats[7].ours()
    assert (first.text, second.text) == ("é abc123", "↻ é abc123")
    assert [(one["offset"], one["length"]) for one in second.entities] == [(4, 6)]
    assert second.labels == [["Desfazer"]]


async def test_a_message_that_was_never_sent_is_repeated_without_a_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock()
    opened = asyncio.get_running_loop().create_connection
    refused: list[bool] = []

    async def no_way(*args: object, **kwargs: object) -> object:
        if server.chats.get(7) and not refused:
            refused.append(True)
            raise ConnectionRefusedError
        return await opened(*args, **kwargs)  # type: ignore[call-overload]

    async with TelegramServer(clock) as server, running(server, clock, plain) as bot:
        monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", no_way)
        await bot.answers(server.says(ANA, "oi"))
        assert server.chats[7].screen() == ["é abc123"]
        assert refused


async def test_the_first_words_of_an_answer_that_got_lost_leave_a_mark_on_what_grew_from_their_repeat() -> None:
    clock = FakeClock()

    async def chunks() -> AsyncIterator[str]:
        for word in ("um ", "dois ", "três"):
            yield word
            await clock.sleep(3.0)

    async def script(_: Incoming, view: View) -> None:
        await tell(view, chunks())

    async with TelegramServer(clock) as server, running(server, clock, script) as bot:
        swallows(server, "sendmessage")
        await bot.answers(server.says(ANA, "conte"))
        assert server.chats[7].screen() == ["um", "↻ um dois três"]


async def test_where_a_status_got_lost_the_answer_that_takes_its_place_is_there_once_and_unmarked() -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server, running(server, clock, slowly(clock, "um dois", 3.0)) as bot:
        swallows(server, "sendmessage", "IA está pensando")
        server.says(ANA, "conte")
        await flow(server, clock, lambda: server.chats[7].screen()[1:] == ["um"])  # no second status
        await flow(server, clock, lambda: bot.handler.answered == 1)
        assert server.chats[7].screen() == ["IA está pensando...", "um dois"]


async def test_an_answer_that_takes_a_status_place_is_never_there_twice_however_often_it_is_lost() -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server, running(server, clock, echo) as bot:
        swallows(server, "editmessagetext", times=3)
        await bot.answers(server.says(ANA, "oi"))
        assert server.chats[7].screen() == ["Você disse: oi"]


async def test_a_deleted_answer_that_is_written_anew_and_not_confirmed_says_that_it_may_be_there_twice() -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server, running(server, clock, slowly(clock, "um dois três", 3.0)) as bot:
        server.says(ANA, "conte")
        await flow(server, clock, lambda: server.chats[7].screen() == ["um"])
        server.chats[7].posts.clear()
        swallows(server, "sendmessage", "três")
        await flow(server, clock, lambda: bot.handler.answered == 1)
        assert server.chats[7].screen() == ["um dois três", "↻ um dois três"]


async def test_a_file_whose_confirmation_got_lost_is_repeated_with_a_mark(clock: FakeClock, tmp_path: Path) -> None:
    (path := tmp_path / "all.json").write_text("{}")

    async def script(_: Incoming, view: View) -> None:
        await view.show(OutgoingMessage("tudo o que guardo", files=(File(path, "elefante.json", "application/json"),)))

    async with TelegramServer(clock) as server, running(server, clock, script) as bot:
        swallows(server, "senddocument")
        await bot.answers(server.says(ANA, "/export"))
        assert server.chats[7].screen() == ["tudo o que guardo", "↻ tudo o que guardo"]


@pytest.mark.parametrize("grows", [True, False])
async def test_a_server_that_denies_what_it_does_gets_a_text_twice_at_most_whatever_other_chats_do(
    *, grows: bool
) -> None:
    async def script(incoming: Incoming, view: View) -> None:
        if grows:
            await tell(view, chunks())
        else:
            await plain(incoming, view)

    async def chunks() -> AsyncIterator[str]:
        for word in ("um ", "dois ", "três"):
            yield word
            await clock.sleep(3.0)

    clock = FakeClock()
    async with TelegramServer(clock) as server, running(server, clock, script) as bot:
        server.denies = lambda method, params: (
            method == "sendmessage" and params["chat_id"] == "7" and clock.monotonic() < 60.0
        )
        server.says(ANA, "conte")
        for number in range(30):
            server.says(Person(100 + number), "oi")
            await flow(server, clock, lambda: bot.handler.answered > number)  # noqa: B023
            await clock.advance(2.0)
        await flow(server, clock, lambda: bot.handler.answered == 31)
        screen = server.chats[7].screen()
    assert len(screen) <= 2
    assert [text.startswith("↻") for text in screen] == [False, True]


async def test_nothing_is_repeated_while_the_chat_gives_no_sign(clock: FakeClock) -> None:
    def fault(method: str, _: object) -> None:
        if method in {"sendmessage", "sendchataction"} and clock.monotonic() < 600.0:
            raise Refused(502, "Bad Gateway")

    async with TelegramServer(clock) as server, running(server, clock, plain) as bot:
        server.faults.append(fault)
        await bot.answers(server.says(ANA, "qual é a senha?"))
        assert server.chats[7].screen() == ["↻ é abc123"]
    assert len([call for call in server.calls if call.method == "sendmessage"]) == 2


async def test_a_late_answer_that_may_be_lost_takes_the_place_of_what_had_grown_and_says_so(clock: FakeClock) -> None:
    """It would have come as a new message, which notifies."""
    async with TelegramServer(clock) as server:
        handler = ScriptedHandler(clock, slowly(clock, "um dois três", 3.0), notify_after_s=5.0)
        async with serving(server, clock, handler):
            server.denies = lambda method, params: method == "sendmessage" and "três" in params["text"]
            server.says(ANA, "conte")
            await flow(server, clock, lambda: handler.answered == 1)
            await handler.close()
        assert server.chats[7].screen() == ["↻ um dois três", "um dois três"]


async def test_the_longest_message_leaves_room_for_the_mark(clock: FakeClock) -> None:
    async def script(_: Incoming, view: View) -> None:
        await view.show(OutgoingMessage("x" * 5000))

    async with TelegramServer(clock) as server, running(server, clock, script) as bot:
        swallows(server, "sendmessage", times=2)
        await bot.answers(server.says(ANA, "oi"))
    texts = server.chats[7].screen()
    assert "".join(text for text in texts if text.startswith("↻")).count("x") + texts[-1].count("x") >= 5000
    assert max(map(len, texts)) == 4096


def owed(clock: FakeClock) -> Incoming:
    return Incoming(ChatKey("telegram", "7"), UserKey("telegram", "7"), "Ana", "1", "oi", clock.now())


@pytest.mark.parametrize("with_status", [True, False])
async def test_what_is_taken_up_after_a_crash_is_marked_once_be_it_written_or_edited(*, with_status: bool) -> None:
    async def script(_: Incoming, view: View) -> None:
        if with_status:
            await view.status("IA está pensando...")
        await tell(view, words("é abc123"))
        await view.show(OutgoingMessage("e mais nada"))

    clock = FakeClock()
    async with TelegramServer(clock) as server:
        server.chat(7)
        async with running(server, clock, script, owed=[owed(clock)]) as bot:
            await flow(server, clock, lambda: bot.handler.answered == 1)
            assert server.chats[7].screen() == ["↻ é abc123", "e mais nada"]


async def test_what_the_core_says_of_the_interruption_is_not_marked_twice(clock: FakeClock) -> None:
    async def script(_: Incoming, view: View) -> None:
        await view.show(OutgoingMessage(f"{AGAIN[Locale.PT]}\né abc123"))

    async with TelegramServer(clock) as server:
        server.chat(7)
        async with running(server, clock, script, owed=[owed(clock)]) as bot:
            await flow(server, clock, lambda: bot.handler.answered == 1)
            assert server.chats[7].screen() == [f"{AGAIN[Locale.PT]}\né abc123"]


async def test_after_a_restart_an_answer_takes_the_place_of_what_was_begun_and_needs_no_mark(clock: FakeClock) -> None:
    async def script(_: Incoming, view: View) -> None:
        await view.status("IA está pensando...")
        await tell(view, words("é abc123"))

    async with TelegramServer(clock) as server:
        server.chat(7)
        async with running(server, clock, slowly(clock, "um dois três", 3.0), STOPS_AT_ONCE) as bot:
            server.says(ANA, "qual é a senha?")
            await flow(server, clock, lambda: server.chats[7].ours() and server.chats[7].screen() == ["um"])
            [asked] = bot.handler.received
        begun = [str(post.id) for post in server.chats[7].ours()]
        left_over = server.chats[7].ours()[0].id + 100
        server.chats[7].posts[left_over] = Post(left_over, BOT_ID, "e um pedaço", [], at_s=clock.monotonic())
        async with running(server, clock, script, owed=[asked], posted=[*begun, str(left_over)]) as bot:
            await flow(server, clock, lambda: bot.handler.answered == 1)
        [answer] = server.chats[7].ours()
    assert (answer.text, answer.labels, str(answer.id)) == ("é abc123", [], begun[0])


async def test_what_is_too_old_to_be_deleted_loses_its_words_and_buttons(clock: FakeClock) -> None:
    async def silence(_: Incoming, __: View) -> None:
        """Say nothing."""

    async with TelegramServer(clock) as server:
        server.chat(7).posts[5] = Post(5, BOT_ID, "um pedaço", [], at_s=0.0, buttons=[[{"text": "Parar"}]])
        await clock.advance(72 * 3600.0)
        async with running(server, clock, silence, owed=[owed(clock)], posted=["5"]) as bot:
            await flow(server, clock, lambda: bot.handler.answered == 1)
        [left] = server.chats[7].ours()
    assert (left.text, left.labels) == ("…", [])


async def test_a_begun_answer_that_somebody_deleted_meanwhile_is_written_anew(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server:
        server.chat(7)
        async with running(server, clock, echo, owed=[owed(clock)], posted=["5"]) as bot:
            await flow(server, clock, lambda: bot.handler.answered == 1)
            assert server.chats[7].screen() == ["Você disse: oi"]


async def test_what_waited_and_was_never_begun_is_answered_without_a_mark(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server:
        server.chat(7)
        async with running(server, clock, echo, owed=[owed(clock)], posted=[]) as bot:
            await flow(server, clock, lambda: bot.handler.answered == 1)
            assert server.chats[7].screen() == ["Você disse: oi"]
