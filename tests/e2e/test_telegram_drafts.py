"""Drafts, the stop button under them, and signs of life: what a person sees while an answer is on its way."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from adapters.telegram.config import TelegramConfig
from core.delivery.view import View
from core.outgoing import OutgoingMessage
from core.types import Incoming, Modal
from tests.e2e.telegram_kit import flow, idle, running
from tests.fakes.clock import FakeClock
from tests.fakes.handler import slowly, tell, words
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.fakes.telegram_wire import Limits, Refused

ANA = Person(7)
GROUP = -1001
DRAFTS = replace(TelegramConfig(TOKEN), drafts=True)
TEXT = "um dois três quatro cinco seis"


@pytest.mark.spec("T5", "T7")
async def test_an_answer_grows_in_a_draft_and_then_stands_as_one_message(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, slowly(clock, TEXT, 1.0), DRAFTS) as bot:
        await bot.answers(server.says(ANA, "conte"))
        assert server.chats[7].screen() == [TEXT]
        assert server.draft(7) is None
    drafts = [call.text for call in server.done("sendmessagedraft")]
    assert drafts[0] == "IA está pensando..."
    assert "um dois" in drafts
    assert len(server.done("sendmessage")) == 1
    assert not server.done("editmessagetext")
    assert all(call.params["can_stop"] == "true" for call in server.done("sendmessagedraft"))


async def test_each_message_of_a_turn_stands_before_the_next_one_is_drafted(clock: FakeClock) -> None:
    async def script(_: Incoming, view: View) -> None:
        await view.status("Buscando por memórias...")
        await view.show(OutgoingMessage("🧠 **senha**: abc123", Modal.MEMORY))
        await view.status("IA está pensando...")
        await tell(view, words("É abc123."))

    async with TelegramServer(clock) as server, running(server, clock, script, DRAFTS) as bot:
        await bot.answers(server.says(ANA, "qual é a senha?"))
        assert server.chats[7].screen() == ["🧠 senha: abc123", "É abc123."]
        assert server.draft(7) is None


async def test_a_draft_does_not_fade_during_a_long_thought(clock: FakeClock) -> None:
    async def script(_: Incoming, view: View) -> None:
        await view.status("IA está pensando...")
        await clock.sleep(100.0)
        await view.show(OutgoingMessage("pronto"))

    async with TelegramServer(clock) as server, running(server, clock, script, DRAFTS) as bot:
        await bot.answers(server.says(ANA, "pense bem"))
    shown = [call.at_s for call in server.done("sendmessagedraft", "sendmessage")]
    assert len(shown) >= 5
    assert all(later - earlier < 30.0 for earlier, later in pairwise(shown))


async def test_a_refused_draft_becomes_a_message_with_edits_for_that_message_only(clock: FakeClock) -> None:
    faults = iter([Refused(400, "Bad Request: TEXTDRAFT_PEER_INVALID")])

    def fault(method: str, _: object) -> None:
        if method == "sendmessagedraft" and (refusal := next(faults, None)):
            raise refusal

    async with TelegramServer(clock) as server, running(server, clock, slowly(clock, TEXT, 1.0), DRAFTS) as bot:
        server.faults.append(fault)
        await bot.answers(server.says(ANA, "conte"))
        assert server.done("editmessagetext")
        assert not server.done("sendmessagedraft")
        await bot.answers(server.says(ANA, "de novo"))
        assert server.done("sendmessagedraft")
        assert server.chats[7].screen() == [TEXT, TEXT]


async def test_a_server_that_knows_no_drafts_is_asked_once_and_the_token_is_not_doubted(clock: FakeClock) -> None:
    def fault(method: str, _: object) -> None:
        if method == "sendmessagedraft":
            raise Refused(404, "Not Found")

    async with TelegramServer(clock) as server, running(server, clock, slowly(clock, TEXT, 1.0), DRAFTS) as bot:
        server.faults.append(fault)
        for count in (1, 2):
            server.says(ANA, "conte")
            await flow(server, clock, lambda count=count: bot.handler.answered == count)  # type: ignore[misc]
        assert server.chats[7].screen() == [TEXT, TEXT]
        assert len(server.done("editmessagetext")) > 4
        assert not bot.task.done()
    assert [call.code for call in server.calls if call.method == "sendmessagedraft"] == [404]
    assert len(server.done("getme")) == 1


async def test_a_flood_wait_on_drafts_does_not_lose_the_final_text(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, slowly(clock, TEXT, 1.0), DRAFTS) as bot:
        server.says(ANA, "conte")
        await flow(server, clock, lambda: len(server.done("sendmessagedraft")) == 3)
        server.flood(7, 280)
        await flow(server, clock, lambda: bot.handler.answered == 1)
        assert server.chats[7].screen() == [TEXT]
    assert sum(call.code == 429 for call in server.calls) == 1


async def test_groups_get_no_drafts(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, slowly(clock, TEXT, 1.0), DRAFTS) as bot:
        await bot.answers(server.says(ANA, "conte @elefante_bot", chat_id=GROUP))
        assert not server.done("sendmessagedraft")
        assert server.chats[GROUP].screen() == [TEXT]


async def test_the_stop_button_under_a_draft_stops_the_answer(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, slowly(clock, TEXT, 5.0), DRAFTS) as bot:
        server.says(ANA, "conte")
        await flow(server, clock, lambda: "um" in [call.text for call in server.done("sendmessagedraft")])
        server.push({"stopped_message_generation": {"chat": server.chats[7].json(), "draft_id": 1}})
        await flow(server, clock, lambda: bot.handler.answered == 1)
        assert clock.monotonic() < 12.0
        assert server.chats[7].screen()[-1].startswith("um")
    stop = bot.handler.received[-1]
    assert (stop.text, stop.user.user, stop.private) == ("/stop", "7", True)
    assert stop.conversation == bot.handler.received[0].conversation


async def test_typing_is_shown_while_only_a_status_says_that_work_goes_on(clock: FakeClock) -> None:
    async def script(_: Incoming, view: View) -> None:
        await view.status("IA está pensando...")
        await clock.sleep(21.0)
        await tell(view, words("pronto"))
        await clock.sleep(20.0)

    async with TelegramServer(clock) as server, running(server, clock, script) as bot:
        await bot.answers(server.says(ANA, "pense"))
    assert [call.at_s for call in server.done("sendchataction")] == pytest.approx([0.0, 4.0, 8.0, 12.0, 16.0, 20.0])


async def test_typing_never_takes_what_the_answer_of_a_group_needs(clock: FakeClock) -> None:
    async def script(_: Incoming, view: View) -> None:
        await view.status("IA está pensando...")
        await clock.sleep(60.0)
        await tell(view, words("pronto"))

    async with TelegramServer(clock, Limits()) as server, running(server, clock, script) as bot:
        server.says(ANA, "pense @elefante_bot", chat_id=GROUP)
        server.says(Person(8), "pense também @elefante_bot", chat_id=GROUP)
        await flow(server, clock, lambda: server.chats.get(GROUP) and server.chats[GROUP].screen() == ["pronto"] * 2)
        assert clock.monotonic() == pytest.approx(60.0, abs=0.5)
        at_s = [call.at_s for call in server.done("sendchataction")]
        assert at_s[:3] == [0.0, 4.0, 8.0], "once for both"
        assert {call.code for call in server.calls} == {200}
        await idle(server)
        assert bot.handler.answered == 2
