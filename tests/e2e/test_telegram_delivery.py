"""How an answer arrives: in place, whole, in time, and through flood waits. Real sockets, a clock of our own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.telegram.config import TelegramConfig
from core.delivery.view import View
from core.outgoing import OutgoingMessage
from core.types import Incoming, MemoryNote, Modal
from tests.e2e.telegram_kit import flow, running
from tests.fakes.clock import FakeClock
from tests.fakes.handler import slowly
from tests.fakes.telegram_people import Person, units
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.fakes.telegram_wire import Limits, Refused

ANA, BIA = Person(7, "Ana"), Person(8, "Bia")
GROUP_A, GROUP_B = -1001, -1002


@pytest.mark.long
async def test_a_hundred_chats_at_once_stay_within_the_real_limits(clock: FakeClock) -> None:
    script = slowly(clock, "palavra " * 50 + "fim", 0.2)
    async with TelegramServer(clock, Limits()) as server, running(server, clock, script) as bot:
        for number in range(100):
            if number % 4:
                server.says(Person(100 + number), "oi")
            else:
                server.says(Person(100 + number), "oi @elefante_bot", chat_id=-2000 - number)
        await flow(server, clock, lambda: bot.handler.answered == 100)
        assert all(chat.screen()[-1].endswith("fim") for chat in server.chats.values())
    assert not [call for call in server.calls if call.code == 429]


@pytest.mark.spec("T5")
@pytest.mark.parametrize("chat_id", [7, GROUP_A])
async def test_a_whole_answer_waits_only_for_the_limits_of_its_chat(clock: FakeClock, chat_id: int) -> None:
    asked_s: list[float] = []

    async def script(incoming: Incoming, view: View) -> None:
        asked_s.append(clock.monotonic())
        await view.status("IA está pensando...")
        view.write("Você disse uma coisa: ")
        await clock.sleep(0.6)
        view.write(incoming.text)
        await view.complete()
        await view.flush()

    async with TelegramServer(clock, Limits()) as server, running(server, clock, script) as bot:
        for number in range(4):
            server.says(ANA, f"n{number} @elefante_bot", chat_id=chat_id)
        await flow(server, clock, lambda: bot.handler.answered == 4)
        writes = server.done("sendmessage", "editmessagetext", chat_id=chat_id)
    whole_s = [next(call.at_s for call in writes if f"n{number}" in call.text) for number in range(4)]
    assert [whole - asked - 0.6 for whole, asked in zip(whole_s, asked_s, strict=True)] == pytest.approx(
        [0.0, 0.0, 0.2, 0.4]
    )
    assert {call.code for call in server.calls} == {200}


async def test_a_refused_format_is_sent_as_plain_text_and_a_dead_network_is_not() -> None:
    clock = FakeClock(auto=True)
    faults = iter([Refused(400, "Bad Request: can't parse entities: x"), Refused(502, "Bad Gateway")])

    def fault(method: str, params: dict[str, object]) -> None:
        if method == "sendmessage" and params.get("entities") and (refusal := next(faults, None)):
            raise refusal

    async def script(_: Incoming, view: View) -> None:
        await view.show(OutgoingMessage("isto é **forte**"))
        await view.show(OutgoingMessage("e isto **também**"))

    async with TelegramServer(clock) as server, running(server, clock, script):
        server.faults.append(fault)
        server.says(ANA, "oi")
        await server.until(lambda: len(server.chats[7].screen()) == 2)
        first, second = [post for post in server.chats[7].posts.values() if post.by == 42]
    assert (first.text, first.entities) == ("isto é forte", [])
    assert (second.text, [entity["type"] for entity in second.entities]) == ("↻ e isto também", ["bold"])


async def test_an_edit_that_arrived_but_whose_answer_got_lost_counts_as_done(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        lost = iter([True])
        server.swallow = lambda method, _: method == "editmessagetext" and next(lost, False)
        await bot.answers(server.says(ANA, "oi"))
        assert server.chats[7].screen() == ["Você disse: oi"]
    assert "not modified" in "".join(call.refusal for call in server.calls)
    assert not bot.handler.failures


async def test_an_equal_edit_is_not_even_sent(clock: FakeClock) -> None:
    async def script(_: Incoming, view: View) -> None:
        await view.status("IA está **pensando**...")
        await view.show(OutgoingMessage("IA está __pensando__..."))  # other Markdown, the same message

    config = replace(TelegramConfig(TOKEN), stop_button=False)  # which an edit would take off
    async with TelegramServer(clock) as server, running(server, clock, script, config) as bot:
        await bot.answers(server.says(ANA, "oi"))
    assert not [call for call in server.calls if call.method == "editmessagetext"]


@pytest.mark.parametrize(
    "refusal",
    [
        "403: Forbidden: bot was blocked by the user",
        "400: Bad Request: not enough rights to send text messages",
        "400: Bad Request: SOMETHING_NEW",
        "409: Conflict: whatever",
    ],
)
async def test_a_chat_that_refuses_us_leaves_the_answer_undelivered_and_the_next_is_given(refusal: str) -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        server.chat(7).refusal = refusal
        server.says(ANA, "oi")
        await flow(server, clock, lambda: bot.handler.failures)
        server.says(BIA, "oi")
        await flow(server, clock, lambda: server.chats[8].screen() == ["Você disse: oi"])
    assert [type(failure).__name__ for failure in bot.handler.failures] == ["Undelivered"]


async def test_a_group_that_becomes_a_supergroup_in_mid_answer_gets_the_rest_there(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, slowly(clock, "um dois três", 3.0)) as bot:
        server.says(ANA, "oi @elefante_bot", chat_id=GROUP_A)
        await flow(server, clock, lambda: server.done("sendmessage"))
        server.chat(GROUP_B).posts.update(server.chats[GROUP_A].posts)
        server.chats[GROUP_A].moved_to = GROUP_B
        await flow(server, clock, lambda: bot.handler.answered == 1)
        assert server.chats[GROUP_B].screen() == ["um dois três"]


@pytest.mark.spec("T9")
async def test_recalled_memories_are_one_line_each_in_a_quote_that_opens() -> None:
    item = MemoryNote("senha", "abc123", "14 Mar 2026")

    async def script(_: Incoming, view: View) -> None:
        await view.show(OutgoingMessage("🧠 **senha**: abc123 · 14 Mar 2026", Modal.MEMORY, (item,)))

    clock = FakeClock(auto=True)
    async with TelegramServer(clock) as server, running(server, clock, script):
        server.says(ANA, "qual é a senha?")
        await server.until(lambda: server.done("sendmessage"))
        [post] = [post for post in server.chats[7].posts.values() if post.by == 42]
    assert post.text == "🧠 senha: abc123 · 14 Mar 2026"
    assert [(e["type"], e["offset"], e["length"]) for e in post.entities] == [
        ("expandable_blockquote", 0, units(post.text)),
        ("bold", 3, 5),
    ]


async def test_link_previews_are_off_in_messages_and_edits() -> None:
    clock = FakeClock(auto=True)
    async with TelegramServer(clock) as server, running(server, clock):
        server.says(ANA, "https://example.com")
        await server.until(lambda: len(server.done("sendmessage", "editmessagetext")) == 2)
    for call in server.done("sendmessage", "editmessagetext"):
        assert call.params["link_preview_options"] == {"is_disabled": True}
