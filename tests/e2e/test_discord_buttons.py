"""Buttons, menus and forms in Discord: who sees the answer, what survives a restart, what is refused."""

from __future__ import annotations

from functools import partial

import pytest

from adapters.discord.button import BEGIN_ANEW, YOUR_TEXT
from adapters.discord.config import DiscordConfig
from adapters.discord.interaction_handler import NOT_HERE
from core.delivery.view import View
from core.outgoing import Button, OutgoingMessage
from core.types import ChatKey, Incoming, Locale, UserKey
from tests.e2e.discord_kit import ANA, BIA, ME, OTHER_ROOM, ROOM, Bot, flow, idle, running
from tests.fakes.clock import FakeClock
from tests.fakes.discord_components import labels
from tests.fakes.discord_server import TOKEN, DiscordServer
from tests.fakes.discord_world import EPHEMERAL, Note
from tests.fakes.handler import Script, slowly

EDIT = Button("Editar", "/edit 7", asks="Novo conteúdo", text="senha: abc123", in_place=True)
NEXT = Button("Próxima", "/page 2", in_place=True)
UNDO = Button("Desfazer", "/undo 5")
CARD = OutgoingMessage("Um cartão.", choices=(EDIT, NEXT, UNDO))


def showing(*cards: OutgoingMessage) -> Script:
    """Answer what is said with the cards, and a press with what it says."""

    async def script(incoming: Incoming, view: View) -> None:
        if incoming.pressed and incoming.text.startswith(("/edit", "/page", "/undo", "/confirm", "/reminders")):
            await view.show(OutgoingMessage(f"{incoming.user_name}: {incoming.text}"))
            return
        for card in cards:
            await view.show(card)

    return script


async def card_for(server: DiscordServer, clock: FakeClock, bot: Bot, room: int = 0) -> Note:
    """Ana asks, and gets the card."""
    before = bot.handler.answered
    await server.says(ANA, f"{ME} cartão" if room else "cartão", room=room)
    await flow(server, clock, lambda: bot.handler.answered > before)
    channel = server.room(room) if room else server.direct(ANA)
    return channel.notes[server.writes[-1].message]


async def test_buttons_stand_in_rows_of_five_and_what_is_listed_in_a_menu_above_them(clock: FakeClock) -> None:
    choices = tuple(Button(f"b{n}", "/same") for n in range(12))
    menu = tuple(Button(f"{n}. {'coisa ' * 30}", f"/memories {n}", in_place=True) for n in range(1, 31))
    shown = [
        OutgoingMessage("muitos", choices=tuple(Button(f"b{n}", f"/x {n}") for n in range(30))),
        OutgoingMessage("os dois", choices=choices, menu=menu),
        OutgoingMessage("um que não cabe", choices=(Button("longo", "/" + "é" * 90), NEXT)),
    ]
    async with DiscordServer(clock) as server, running(server, clock, showing(*shown)) as bot:
        await bot.answers(server.says(ANA, "oi"))
        many, both, dropped = [note.components for note in server.direct(ANA).notes.values() if note.components]
        assert [len(row["components"]) for row in many] == [5] * 5
        assert [row["components"][0]["type"] for row in both] == [3, 3, 2, 2, 2]
        assert [len(row["components"][0].get("options", [])) for row in both[:2]] == [25, 5]
        assert labels(dropped) == ["Próxima"]


async def test_a_press_in_direct_messages_is_its_pressers_and_edits_the_message_where_that_is_wanted() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock, showing(CARD)) as bot:
        note = await card_for(server, clock, bot)
        undone = await server.interactions.press(ANA, note, "Desfazer")
        await flow(server, clock, lambda: undone.screen == ["Ana: /undo 5"])
        assert note.text == "Um cartão."
        assert not undone.notes[0].flags & EPHEMERAL
        turned = await server.interactions.press(ANA, note, "Próxima")
        await flow(server, clock, lambda: note.text == "Ana: /page 2")
        assert turned.notes == [note]
        assert not note.components
        pressed = bot.handler.received[-1]
        assert (pressed.pressed, pressed.private, pressed.user) == (True, True, UserKey("discord", str(ANA.id)))
        assert pressed.conversation == bot.handler.received[0].conversation


async def test_in_a_server_each_press_is_answered_to_who_pressed_alone_and_what_all_read_stays_as_it_is() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock, showing(CARD)) as bot:
        note = await card_for(server, clock, bot, ROOM)
        for person in (ANA, BIA):
            pressed = await server.interactions.press(person, note, "Próxima")
            await flow(server, clock, partial(getattr, pressed, "screen"))
            assert pressed.screen == [f"{person.name}: /page 2"]
            assert pressed.notes[0].flags & EPHEMERAL
            incoming = bot.handler.received[-1]
            assert incoming.user == UserKey("discord", str(person.id))
            assert incoming.chat == ChatKey("discord", str(ROOM), f"@{person.id}")
            assert incoming.private
        assert server.room(ROOM).screen() == ["Um cartão."]
        assert labels(note.components) == ["Editar", "Próxima", "Desfazer"]


@pytest.mark.parametrize("command", ["/confirm 7 yes", "/undo 5", "/reminders undo 3"])
async def test_what_one_agrees_to_or_takes_back_in_a_room_is_said_in_place_of_what_was_asked_to_them_alone(
    command: str,
) -> None:
    clock = FakeClock()
    asked = OutgoingMessage("Apago isto?", choices=(Button("Sim", command, in_place=True),))
    async with DiscordServer(clock) as server, running(server, clock, showing(asked)) as bot:
        note = await card_for(server, clock, bot, ROOM)
        theirs = await server.interactions.press(BIA, note, "Sim")
        await flow(server, clock, lambda: theirs.screen == [f"Bia: {command}"])
        assert theirs.notes[0].flags & EPHEMERAL
        assert bot.handler.received[-1].private
        assert (note.text, labels(note.components)) == ("Apago isto?", ["Sim"])
        pressed = await server.interactions.press(ANA, note, "Sim")
        await flow(server, clock, lambda: note.text == f"Ana: {command}")
        assert pressed.notes == [note]
        assert server.room(ROOM).screen() == [f"Ana: {command}"]
        assert not note.components
        incoming = bot.handler.received[-1]
        assert (incoming.chat, incoming.private) == (ChatKey("discord", str(ROOM)), False)


async def test_what_only_one_person_sees_is_edited_in_place_also_in_a_server_and_long_after(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock, showing(CARD)) as bot:
        used = await server.interactions.command(ANA, "memories", room=ROOM)
        await flow(server, clock, lambda: used.screen == ["Um cartão."])
        await clock.advance(20 * 60)  # the command's own 15 minutes are over; each press has its own
        turned = await server.interactions.press(ANA, used.notes[0], "Próxima")
        await flow(server, clock, lambda: used.screen == ["Ana: /page 2"])
        assert turned.notes == used.notes
        assert server.room(ROOM).screen() == []
        assert not server.invalid
        assert {one.chat for one in bot.handler.received} == {ChatKey("discord", str(ROOM), f"@{ANA.id}")}


async def test_a_button_that_asks_opens_a_form_begun_with_the_text_and_sends_what_was_written(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock, showing(CARD)) as bot:
        note = await card_for(server, clock, bot)
        opened = await server.interactions.press(ANA, note, "Editar")
        await flow(server, clock, lambda: opened.form)
        [label] = opened.form["components"]
        assert opened.form["title"] == "Novo conteúdo"
        assert label["label"] == YOUR_TEXT[Locale.PT]
        assert label["component"]["value"] == "senha: abc123"
        assert [one.text for one in bot.handler.received] == ["cartão"]
        await server.interactions.submit(ANA, opened, "senha:\n  xyz 789")
        await flow(server, clock, lambda: note.text == "Ana: /edit 7 senha:\n  xyz 789")
        assert bot.handler.received[-1].pressed


async def test_nobody_else_finds_a_persons_text_in_a_form_and_after_a_restart_or_an_hour_it_is_gone() -> None:
    clock = FakeClock()

    async def begun(note: Note, person: object) -> tuple[object, object]:
        opened = await server.interactions.press(person, note, "Editar")  # type: ignore[arg-type]
        await flow(server, clock, lambda: opened.form)
        field = opened.form["components"][0]["component"]
        return field.get("value"), field.get("placeholder")

    async with DiscordServer(clock) as server:
        async with running(server, clock, showing(CARD)) as bot:
            note = await card_for(server, clock, bot, ROOM)
            assert await begun(note, ANA) == ("senha: abc123", None)
            assert await begun(note, BIA) == (None, BEGIN_ANEW[Locale.EN])
        async with running(server, clock, showing(CARD)) as bot:
            assert await begun(note, ANA) == (None, BEGIN_ANEW[Locale.PT])
            await card_for(server, clock, bot, ROOM)
            assert (await begun(note, ANA))[0] == "senha: abc123"
            await clock.advance(3601)
            assert (await begun(note, ANA))[0] is None


@pytest.mark.long
async def test_everything_that_can_be_pressed_goes_on_working_after_a_restart(clock: FakeClock) -> None:
    listed = OutgoingMessage("Lista.", choices=(UNDO,), menu=(Button("1. a", "/page 1"),))
    async with DiscordServer(clock) as server:
        async with running(server, clock, showing(listed, CARD)) as bot:
            card = await card_for(server, clock, bot)
            menu = next(note for note in server.direct(ANA).notes.values() if note.text == "Lista.")
            opened = await server.interactions.press(ANA, card, "Editar")
            await flow(server, clock, lambda: opened.form)
        async with running(server, clock, showing()) as bot:
            await server.interactions.submit(ANA, opened, "novo")  # a form that was open meanwhile
            await server.interactions.press(ANA, menu, "1. a")
            await server.interactions.press(ANA, menu, "Desfazer")
            await flow(server, clock, lambda: bot.handler.answered == 3)
            assert sorted(one.text for one in bot.handler.received) == ["/edit 7 novo", "/page 1", "/undo 5"]
            assert card.text == "Ana: /edit 7 novo"
            reopened = await server.interactions.press(ANA, menu, "Desfazer")
            await flow(server, clock, lambda: reopened.screen)


@pytest.mark.parametrize("forged", ["elefante:do:pfa0:/edit 7", "elefante:do:x:/undo", "elefante:stop:1:2:x", "zzz"])
async def test_a_forged_id_gives_nobody_more_than_what_they_could_type(clock: FakeClock, forged: str) -> None:
    async with DiscordServer(clock) as server, running(server, clock, showing(CARD)) as bot:
        note = await card_for(server, clock, bot, ROOM)
        made = await server.interactions.press(BIA, note, forged, forged=True)
        await flow(server, clock, lambda: made.kind)
        if made.form:  # a form opens, empty; what it sends is Bia's own
            assert "value" not in made.form["components"][0]["component"]
            made = await server.interactions.submit(BIA, made, "meu agora")
            await flow(server, clock, lambda: made.screen == ["Bia: /edit 7 meu agora"])
            assert made.notes[0].flags & EPHEMERAL
        await idle(server)
        assert all(one.user.user == str(BIA.id) for one in bot.handler.received[1:])
        assert [one.text for one in bot.handler.received[1:]] == ([""] if not made.form and "pfa" not in forged else
                                                              ["/edit 7 meu agora"])  # fmt: skip
        assert server.room(ROOM).screen() == ["Um cartão."]


async def test_a_press_where_the_bot_does_not_answer_any_more_says_so(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        server.room(OTHER_ROOM)
        async with running(server, clock, showing(CARD)) as bot:
            note = await card_for(server, clock, bot, OTHER_ROOM)
        async with running(server, clock, showing(CARD), DiscordConfig(TOKEN, rooms=frozenset({ROOM}))) as bot:
            pressed = await server.interactions.press(ANA, note, "Desfazer")
            await flow(server, clock, lambda: pressed.screen == [NOT_HERE[Locale.PT]])
            assert not bot.handler.received


async def test_a_button_below_an_answer_to_somebody_else_asks_the_model_again_for_nobody_but_its_presser() -> None:
    clock = FakeClock()
    again = OutgoingMessage("Resposta.", choices=(Button("De novo", "/retry"),))
    async with DiscordServer(clock) as server, running(server, clock, showing(again)) as bot:
        note = await card_for(server, clock, bot, ROOM)
        theirs = await server.interactions.press(BIA, note, "De novo")
        await flow(server, clock, lambda: theirs.screen)
        assert theirs.notes[0].flags & EPHEMERAL
        assert bot.handler.received[-1].chat.thread == f"@{BIA.id}"
        await server.interactions.press(ANA, note, "De novo")
        await flow(server, clock, lambda: len(server.room(ROOM).screen()) == 2)
        assert bot.handler.received[-1].chat == ChatKey("discord", str(ROOM))
        assert not bot.handler.received[-1].private


async def test_where_the_bot_was_brought_along_what_five_follow_ups_do_not_hold_goes_on_in_private() -> None:
    clock = FakeClock()
    parts = [OutgoingMessage(f"parte {n}") for n in range(8)]
    async with DiscordServer(clock) as server, running(server, clock, showing(*parts)) as bot:
        used = await bot.answers(server.interactions.command(ANA, "ask", context=2, message="conte"))
        assert not bot.handler.failures
        assert used.screen == [f"parte {n}" for n in range(6)]
        assert server.direct(ANA).screen()[-2:] == ["parte 6", "parte 7"]
        by_name = {command["name"]: command for command in server.commands[0]}
        assert (by_name["ask"]["contexts"], by_name["ask"]["integration_types"]) == ([0, 1, 2], [0, 1])
        assert (by_name["admin"]["contexts"], by_name["admin"]["integration_types"]) == ([0, 1], [0])


async def test_an_application_that_people_cannot_install_offers_nothing_to_take_along(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        server.installs = {"0": {}}
        async with running(server, clock):
            assert all(command["integration_types"] == [0] for command in server.commands[0])


async def test_the_stop_button_of_an_answer_that_only_one_person_sees_stops_that_one(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock, slowly(clock, "palavra " * 60, 0.5)) as bot:
        used = await server.interactions.command(ANA, "ask", room=ROOM, message="conte", private=True)
        await flow(server, clock, lambda: len(server.writes) >= 3)
        await server.interactions.press(ANA, used.notes[0], "⏹️")
        await flow(server, clock, lambda: bot.handler.answered)
        assert 0 < len(used.notes[0].content) < len("palavra " * 60)
        assert not used.notes[0].components
        assert server.room(ROOM).screen() == []
