"""What one person in a group alone has use for is seen by them alone, where Telegram allows that. Real sockets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.telegram.config import TelegramConfig
from core.delivery.view import View
from core.outgoing import Button, OutgoingMessage
from core.types import Incoming
from tests.e2e.telegram_kit import flow, running
from tests.fakes.clock import FakeClock
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN, TelegramServer

ANA = Person(7, "Ana")
GROUP = -1001
NEXT = Button("Próximas ›", "/help 2", in_place=True)


async def page(incoming: Incoming, view: View) -> None:
    """Answer with a page that has a button to the next one, and what is no command with its own words."""
    told = incoming.text if incoming.text.startswith("/") else f"ok: {incoming.text}"
    await view.show(OutgoingMessage(told, choices=(NEXT,), unseen="só para você" in told))


def config(server: TelegramServer) -> TelegramConfig:
    server.chat(GROUP)
    return TelegramConfig(TOKEN)


@pytest.mark.parametrize("administered", [True, False])
async def test_a_command_that_was_given_unseen_is_answered_unseen_and_so_is_a_button_below(administered: bool) -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server, running(server, clock, page, config(server)) as bot:
        group = server.chats[GROUP]
        group.administered = administered
        server.whispers(ANA, "/help", GROUP)
        await flow(server, clock, lambda: bot.handler.answered == 1)
        assert (group.screen(), group.heard(7)) == ([], ["/help"])
        [_, post] = group.whispers.values()
        await bot.answers(server.presses(ANA, "Próximas ›", chat_id=GROUP, post=post))
        assert (group.screen(), group.heard(7)) == ([], ["/help 2"])
    assert [call.code for call in server.calls if "ephemeral" in call.method] == [200]
    assert not bot.handler.failures


async def test_the_same_number_given_to_another_command_is_another_message(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, page, config(server)) as bot:
        first = server.whispers(ANA, "/help", GROUP)
        await flow(server, clock, lambda: bot.handler.answered == 1)
        server.chats[GROUP].whispers.clear()
        server._next_ephemeral = first  # "the identifier may be reused", say the documents
        server.whispers(ANA, "/help", GROUP)
        await flow(server, clock, lambda: bot.handler.answered == 2)


async def test_an_answer_that_is_too_late_for_a_whisper_is_not_said_aloud(clock: FakeClock) -> None:
    async def late(incoming: Incoming, view: View) -> None:
        await clock.sleep(16.0)
        await page(incoming, view)

    async with TelegramServer(clock) as server, running(server, clock, late, config(server)) as bot:
        server.whispers(ANA, "/help", GROUP)
        await flow(server, clock, lambda: bot.handler.answered == 1)
        assert server.chats[GROUP].screen() == server.chats[GROUP].heard(7) == []
    assert bot.handler.failures


async def test_an_administrator_whispers_what_others_have_no_use_for_and_says_the_rest_aloud(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, page, config(server)) as bot:
        group = server.chats[GROUP]
        group.administered = True
        for count, said in enumerate(("/help", "/start", "@elefante_bot oi", "@elefante_bot só para você"), 1):
            server.says(ANA, said, chat_id=GROUP)
            await flow(server, clock, lambda count=count: bot.handler.answered == count)  # type: ignore[misc]
        assert group.heard(7) == ["/help", "/start", "ok: só para você"]
        assert group.screen() == ["ok: oi"]


async def test_without_the_right_all_is_said_aloud_and_the_right_is_not_asked_for_each_time(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, page, config(server)) as bot:
        for count in (1, 2):
            server.says(ANA, "/help", chat_id=GROUP)
            await flow(server, clock, lambda count=count: bot.handler.answered == count)  # type: ignore[misc]
        assert server.chats[GROUP].screen() == ["/help", "/help"]
        server.chats[GROUP].administered = True
        server.invites(ANA, GROUP, "administrator", before="member")
        server.says(ANA, "/help", chat_id=GROUP)
        await flow(server, clock, lambda: server.chats[GROUP].heard(7) == ["/help"])
    assert len([call for call in server.calls if call.method == "getchatmember"]) == 2
    assert not [call for call in server.calls if call.code == 400]


async def test_an_older_server_that_knows_no_whispers_is_asked_once(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, page, config(server)) as bot:
        server.knows_ephemeral, server.chats[GROUP].administered = False, True
        for count in (1, 2):
            server.says(ANA, "/help", chat_id=GROUP)
            await flow(server, clock, lambda count=count: bot.handler.answered == count)  # type: ignore[misc]
        assert server.chats[GROUP].screen() == ["/help", "/help"]
    assert ["ephemeral_message_parameters" in call.params for call in server.done("sendmessage")] == [True, False]


async def test_a_whisper_that_grows_beyond_what_an_edit_holds_is_written_anew(clock: FakeClock) -> None:
    async def growing(incoming: Incoming, view: View) -> None:
        await view.status("...")
        await view.show(OutgoingMessage("a" * 1500))

    async with TelegramServer(clock) as server, running(server, clock, growing, config(server)) as bot:
        server.whispers(ANA, "/help", GROUP)
        await flow(server, clock, lambda: bot.handler.answered == 1)
        assert server.chats[GROUP].heard(7) == ["a" * 1500]
    assert not bot.handler.failures


async def test_the_menu_of_groups_has_commands_that_nobody_else_sees(clock: FakeClock) -> None:
    async with TelegramServer(clock) as server, running(server, clock, page, replace(config(server))):
        await flow(server, clock, lambda: ("all_group_chats", "es") in server.commands)
    offered = {each["command"]: each.get("is_ephemeral", False) for each in server.commands["all_group_chats", "en"]}
    assert offered["help"]
    assert not any(each.get("is_ephemeral") for each in server.commands["default", "en"])
