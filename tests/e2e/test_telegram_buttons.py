"""Buttons: a press is a message of whoever presses, is heard at once, and changes only what is theirs. Real sockets."""

from __future__ import annotations

import pytest

from core.delivery.view import View
from core.outgoing import Button, OutgoingMessage
from core.types import ChatKey, Incoming
from tests.e2e.telegram_kit import flow, idle, running, set_by
from tests.fakes.clock import FakeClock
from tests.fakes.handler import slowly, tell, words
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer

ANA, BIA = Person(7, "Ana"), Person(8, "Bia", "en")
GROUP = -1001
NEXT = Button("Próximas ›", "/memories 2", in_place=True)
SHOW = Button("Mostrar", "/recall 1")
TEXT = "um dois três quatro"


async def paging(incoming: Incoming, view: View) -> None:
    """Answer every command with its own text; with buttons, but on the last page."""
    last = incoming.text == "/memories 2"
    await view.show(OutgoingMessage(f"{incoming.user.user}: {incoming.text}", choices=() if last else (NEXT, SHOW)))


async def test_a_press_is_the_command_of_whoever_presses_and_its_answer_takes_the_message_place() -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server, running(server, clock, paging) as bot:
        await bot.answers(server.says(ANA, "/memories"))
        [post] = server.chats[7].ours()
        assert post.labels == [["Próximas ›", "Mostrar"]]
        await bot.answers(server.presses(ANA, "Próximas ›"))
        assert server.chats[7].screen() == ["7: /memories 2"]
        assert post.labels == []  # the answer has none, so those before it are gone
    pressed = bot.handler.received[1]
    assert (pressed.pressed, pressed.text, pressed.user.user) == (True, "/memories 2", "7")
    assert pressed.conversation == bot.handler.received[0].conversation
    assert (pressed.addressed, pressed.private, pressed.stale, pressed.language) == (True, True, False, "pt-br")


async def test_an_answer_that_takes_no_place_is_a_new_message_and_the_buttons_stay(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, paging) as bot:
        await bot.answers(server.says(ANA, "/memories"))
        await bot.answers(server.presses(ANA, "Mostrar"))
        first, second = server.chats[7].ours()
        assert (first.text, second.text) == ("7: /memories", "7: /recall 1")
        assert first.labels == second.labels == [["Próximas ›", "Mostrar"]]
        assert second.reply_to is None


async def test_a_press_is_heard_at_once_and_once_also_while_the_chat_is_flooded(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, paging) as bot:
        await bot.answers(server.says(ANA, "/memories"))
        server.flood(7, 60)
        server.presses(ANA, "Próximas ›")
        await flow(server, clock, lambda: server.done("answercallbackquery"))
        assert clock.monotonic() < 1.0
        await flow(server, clock, lambda: bot.handler.answered == 2)
        assert clock.monotonic() >= 60.0
        assert server.chats[7].screen() == ["7: /memories 2"]
    assert len([call for call in server.calls if call.method == "answercallbackquery"]) == 1


async def test_a_double_press_is_one_command_and_both_are_heard(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, slowly(clock, TEXT, 1.0)) as bot:
        await bot.answers(server.says(ANA, "conte"))
        [post] = server.chats[7].ours()
        for _ in range(2):
            server.forges(ANA, "+/recall 1", server.chats[7], post)
        await flow(server, clock, lambda: bot.handler.answered == 2)
        await idle(server)
        assert len(server.done("answercallbackquery")) == 2
        assert [incoming.text for incoming in bot.handler.received] == ["conte", "/recall 1"]
        server.forges(ANA, "+/recall 1", server.chats[7], post)  # later, it is a wish of its own
        await flow(server, clock, lambda: bot.handler.answered == 3)


async def test_buttons_work_after_a_restart_and_when_the_press_is_too_old_to_be_told(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server:
        async with running(server, clock, paging) as bot:
            await bot.answers(server.says(ANA, "/memories"))
        server.presses(ANA, "Próximas ›")
        await clock.advance(600.0)
        async with running(server, clock, paging) as bot:
            await flow(server, clock, lambda: bot.handler.answered == 1)
            assert server.chats[7].screen() == ["7: /memories 2"]
    [told] = [call for call in server.calls if call.method == "answercallbackquery"]
    assert "query is too old" in told.refusal


@pytest.mark.parametrize("lost", [False, True])
async def test_a_button_below_a_message_that_is_days_old_works(clock: FakeClock, lost: bool) -> None:
    async with TelegramServer(clock) as server, running(server, clock, paging) as bot:
        await bot.answers(server.says(ANA, "/memories"))
        [post] = server.chats[7].ours()
        await clock.advance(49 * 3600.0)
        server.presses(ANA, "Próximas ›", post=post)
        if lost:
            del server.chats[7].posts[post.id]
        await flow(server, clock, lambda: bot.handler.answered == 2)
        assert server.chats[7].screen() == ["7: /memories 2"]
    assert len(server.done("sendmessage")) == (2 if lost else 1)


async def test_in_a_group_each_presses_for_themselves_and_nobody_changes_the_message_of_another() -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server, running(server, clock, paging) as bot:
        asked = await bot.answers(server.says(ANA, "/memories@elefante_bot", chat_id=GROUP))
        [post] = server.chats[GROUP].ours()
        await bot.answers(server.presses(BIA, "Próximas ›", chat_id=GROUP, post=post))
        assert server.chats[GROUP].screen() == ["7: /memories", "8: /memories 2"]
        assert server.chats[GROUP].ours()[1].reply_to == post.id
        await bot.answers(server.presses(ANA, "Mostrar", chat_id=GROUP, post=post))
        assert server.chats[GROUP].ours()[2].reply_to == asked["message_id"]
        await bot.answers(server.presses(ANA, "Próximas ›", chat_id=GROUP, post=post))
        assert server.chats[GROUP].screen() == ["7: /memories 2", "8: /memories 2", "7: /recall 1"]
    bia = bot.handler.received[1]
    assert (bia.user.user, bia.private, bia.addressed) == ("8", False, True)
    assert bia.chat == ChatKey("telegram", str(GROUP))


@pytest.mark.parametrize("data", ["oi", "!forget all", "\u0000", "x"])
async def test_forged_data_is_no_command(clock: FakeClock, data: str) -> None:
    async with TelegramServer(clock) as server, running(server, clock, paging) as bot:
        await bot.answers(server.says(ANA, "/memories"))
        server.forges(ANA, data, server.chats[7], server.chats[7].ours()[0])
        await flow(server, clock, lambda: len(bot.handler.received) == 2)
    forged = bot.handler.received[1]
    assert (forged.pressed, forged.text, forged.user.user) == (True, data, "7")
    assert not forged.text.startswith("/")  # the core says that this button is dead


async def test_a_press_without_data_or_without_a_message_is_heard_and_no_more(clock: FakeClock) -> None:
    query = {"id": "1", "from": ANA.json(), "chat_instance": "1"}
    async with TelegramServer(clock) as server, running(server, clock, paging) as bot:
        server.push({"callback_query": query | {"inline_message_id": "x", "data": "+/help"}})
        server.push({"callback_query": query | {"inline_message_id": "x", "game_short_name": "g"}})
        await bot.answers(server.says(ANA, "oi"))
    assert [incoming.text for incoming in bot.handler.received] == ["oi"]
    assert len([call for call in server.calls if call.method == "answercallbackquery"]) == 2


async def test_an_answer_in_place_that_takes_its_time_shows_its_status_there_too(clock: FakeClock) -> None:
    async def script(incoming: Incoming, view: View) -> None:
        if incoming.pressed:
            await view.status("Buscando por memórias...")
            await clock.sleep(2.0)
            await tell(view, words("achei duas"))
        else:
            await view.show(OutgoingMessage("lista", choices=(NEXT,)))

    async with TelegramServer(clock) as server, running(server, clock, script) as bot:
        await bot.answers(server.says(ANA, "/memories"))
        await bot.answers(server.presses(ANA, "Próximas ›"))
        assert server.chats[7].screen() == ["achei duas"]
    assert "Buscando por memórias..." in [call.text for call in server.done("editmessagetext")]


# --- the Stop button ---


async def test_a_growing_answer_has_a_stop_button_and_a_whole_one_has_none(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, slowly(clock, TEXT, 2.0)) as bot:
        server.says(ANA, "conte")
        await flow(server, clock, lambda: server.chats[7].screen() == ["um"])
        [post] = server.chats[7].ours()
        assert post.labels == [["⏹ Parar"]]
        await flow(server, clock, lambda: bot.handler.answered == 1)
        assert (post.text, post.labels) == (TEXT, [])


async def test_who_asked_stops_the_answer_by_the_button_and_nobody_else_does(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, slowly(clock, TEXT, 5.0)) as bot:
        server.says(ANA, "conte @elefante_bot", chat_id=GROUP)
        await flow(server, clock, lambda: server.chats.get(GROUP) and server.chats[GROUP].screen() == ["um"])
        server.presses(BIA, "⏹ Parar", chat_id=GROUP)
        await flow(server, clock, lambda: server.notifier)
        assert server.notifier == [("Bia", "Only the person who asked can stop this answer.")]
        assert len(bot.handler.received) == 1
        pressed_s = clock.monotonic()
        server.presses(ANA, "⏹ Parar", chat_id=GROUP)
        await flow(server, clock, lambda: bot.handler.answered == 1)
        assert clock.monotonic() - pressed_s < 0.3
        [post] = server.chats[GROUP].ours()
        assert post.text == "um\n\n⏹ Parei."
        assert post.labels == []
    stop = bot.handler.received[1]
    assert (stop.text, stop.pressed, stop.user.user) == ("/stop", True, "7")
    assert stop.conversation == bot.handler.received[0].conversation
    assert server.notifier == [("Bia", "Only the person who asked can stop this answer.")]


async def test_the_owner_may_want_no_stop_button_and_who_speaks_for_a_group_has_none(clock: FakeClock) -> None:
    without = set_by(telegram_stop_button=False)
    async with TelegramServer(clock) as server, running(server, clock, slowly(clock, TEXT, 2.0), without) as bot:
        await bot.answers(server.says(ANA, "conte"))
    assert not any("reply_markup" in call.params for call in server.calls)
    as_group = {"id": GROUP, "type": "supergroup", "title": "Grupo"}
    async with TelegramServer(clock) as server, running(server, clock, slowly(clock, TEXT, 2.0)) as bot:
        server.says(
            Person(1087968824, "Group", is_bot=True), "conte @elefante_bot", chat_id=GROUP, sender_chat=as_group
        )
        await flow(server, clock, lambda: bot.handler.answered == 1)
    assert not any("reply_markup" in call.params for call in server.calls)
