"""Slash commands and buttons in Discord: languages, who sees the answer, 3 seconds, 15 minutes, restarts."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from adapters.discord.config import DiscordConfig
from adapters.discord.interaction_handler import NOT_HERE, STOPPING
from adapters.running import NOT_YOURS
from core.delivery.view import View
from core.outgoing import OutgoingMessage
from core.storage.kept import SqlKept
from core.types import ChatKey, Incoming, Locale
from tests.e2e.discord_kit import ANA, BIA, ME, OTHER_ROOM, ROOM, flow, refusing, running, set_by
from tests.fakes.clock import FakeClock
from tests.fakes.commands import COMMANDS, STAFF_COMMANDS, VERBS
from tests.fakes.discord_interactions import Interaction
from tests.fakes.discord_server import TOKEN, DiscordServer
from tests.fakes.discord_world import APP_ID, EPHEMERAL, GUILD_ID
from tests.fakes.handler import slowly
from tests.fakes.ram import RamDatabase
from tests.profile import long

LONG = "palavra " * 60


@dataclass(frozen=True)
class Owed:
    """A command that is owed an answer: as Discord knows it, as it was stored, and what was recorded as posted."""

    used: Interaction
    asked: Incoming
    posted: list[str]


async def test_every_command_of_the_core_is_offered_with_names_and_descriptions_in_three_languages() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock):
        [offered] = server.commands
        by_name = {command["name"]: command for command in offered}
        assert {name for name, told in by_name.items() if told["type"] == 1} == {"ask", *COMMANDS, *STAFF_COMMANDS}
        for name, command in COMMANDS.items():
            told = by_name[name]
            assert told["description"] == command.about[Locale.EN]
            assert told["description_localizations"]["pt-BR"] == command.about[Locale.PT]
            assert told["description_localizations"]["es-ES"] == command.about[Locale.ES]
            assert told["description_localizations"]["es-419"] == command.about[Locale.ES]
        assert by_name["memories"]["name_localizations"]["pt-BR"] == "memórias"
        assert by_name["ask"]["options"][0]["name_localizations"]["es-ES"] == "mensaje"


async def test_a_command_in_a_server_is_acknowledged_first_and_answered_to_that_person_alone(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        used = await bot.answers(server.interactions.command(BIA, "memories", room=ROOM, memory="wifi"))
        await flow(server, clock, lambda: used.screen == ["Você disse: /memories wifi"])
        assert all(note.flags & EPHEMERAL for note in used.notes)
        assert server.room(ROOM).screen() == []
        [incoming] = bot.handler.received
        assert (incoming.text, incoming.language, incoming.private) == ("/memories wifi", "en-US", True)
        assert incoming.chat == ChatKey("discord", str(ROOM), f"@{BIA.id}")
        interactions = [call for call in server.calls if "callback" in call.path or "webhooks" in call.path]
        assert interactions[0].body == {"type": 5, "data": {"flags": EPHEMERAL}}


async def test_to_ask_by_a_command_is_answered_for_all_unless_the_person_wants_it_private(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        await server.interactions.command(ANA, "ask", room=ROOM, message="qual é a senha?")
        await flow(server, clock, lambda: server.room(ROOM).screen() == ["Você disse: qual é a senha?"])
        hidden = await server.interactions.command(ANA, "ask", room=ROOM, message="só eu", private=True)
        await flow(server, clock, lambda: hidden.screen == ["Você disse: só eu"])
        direct = await server.interactions.command(ANA, "ask", message="aqui")
        await flow(server, clock, lambda: direct.screen == ["Você disse: aqui"])
        assert [incoming.private for incoming in bot.handler.received] == [False, True, True]
        assert len(server.room(ROOM).screen()) == 1
        assert not direct.notes[0].flags & EPHEMERAL


async def test_a_long_answer_to_a_command_goes_on_in_follow_ups(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock, slowly(clock, LONG * 9, 0.02)) as bot:
        used = await bot.answers(server.interactions.command(ANA, "ask", room=ROOM, message="conte", private=True))
        assert len(used.screen) == 3
        assert " ".join(used.screen).split() == (LONG * 9).split()
        assert all(note.flags & EPHEMERAL and not note.buttons for note in used.notes)
        assert [call.body["flags"] >> 12 for call in server.done("POST", "/webhooks")] == [1, 1]  # none notifies


async def test_a_follow_up_that_discord_denies_for_a_minute_is_there_twice_at_most_and_says_so() -> None:
    async def script(_: Incoming, view: View) -> None:
        await view.show(OutgoingMessage("um"))
        await view.show(OutgoingMessage("dois"))
        await view.flush()

    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock, script) as bot:
        server.denies = lambda method, path: method == "POST" and "webhooks" in path and clock.monotonic() < 60.0
        used = await bot.answers(server.interactions.command(ANA, "ask", message="conte"))
        await clock.advance(100.0)
        assert used.screen == ["um", "dois", "↻ dois"]


@pytest.mark.parametrize("private", [False, True])
async def test_an_answer_that_outlives_its_fifteen_minutes_moves_to_an_ordinary_message(*, private: bool) -> None:
    async def script(_: Incoming, view: View) -> None:
        await view.status("IA está pensando...")
        await clock.sleep(16 * 60)
        await view.show(OutgoingMessage("Pronto."))

    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock, script) as bot:
        await bot.answers(server.interactions.command(ANA, "ask", room=ROOM, message="demore", private=private))
        assert not bot.handler.failures
        assert server.direct(ANA).screen() == (["Pronto."] if private else [])
        assert server.room(ROOM).screen()[-1:] == ([] if private else ["Pronto."])
        assert not server.invalid


async def test_a_command_is_stored_before_it_is_acknowledged(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        stored_then: list[int] = []
        server.faults.append(
            lambda _, path: stored_then.append(len(bot.handler.received)) if path.endswith("/callback") else None
        )
        used = await server.interactions.command(ANA, "help")
        await flow(server, clock, lambda: used.screen == ["Você disse: /help"])
        await server.interactions.press(ANA, used.notes[0], "elefante:do:0:/again", forged=True)
        await flow(server, clock, lambda: bot.handler.answered == 2)
        assert stored_then == [1, 2]


@pytest.mark.parametrize("private", [False, True])
async def test_a_command_that_was_acknowledged_too_late_is_answered_in_a_message_of_its_own(*, private: bool) -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        server.room(ROOM)
        server.faults.append(lambda m, p: refusing(404, 10062)(m, p) if "callback" in p else None)
        await bot.answers(server.interactions.command(ANA, "ask", room=ROOM, message="oi", private=private))
        there, elsewhere = server.direct(ANA).screen(), server.room(ROOM).screen()
        assert (there if private else elsewhere) == ["Você disse: oi"]
        assert not (elsewhere if private else there)


async def interrupted(server: DiscordServer, clock: FakeClock, until: str, *, private: bool) -> Owed:
    """Use `/ask` with a bot that ends once it is stored, thinking, or written to."""

    async def script(_: Incoming, view: View) -> None:
        if until == "written":
            await view.status("IA está pensando...")
        await clock.sleep(3600.0)

    if until == "stored":
        server.faults.append(lambda m, p: refusing(503, 0)(m, p) if "callback" in p else None)
    async with running(server, clock, script, DiscordConfig(TOKEN, drain_s=0.0)) as bot:
        used = await server.interactions.command(ANA, "ask", room=ROOM, message="conte", private=private)
        await flow(server, clock, lambda: bot.handler.received and (until == "stored" or used.kind))
        await flow(server, clock, lambda: until != "written" or used.screen)
        [asked] = bot.handler.received
    server.faults.clear()
    return Owed(used, asked, [str(used.notes[0].id)] if until == "written" else [""])


@pytest.mark.parametrize("private", [False, long(True)])
@pytest.mark.parametrize("until", ["thinking", long("written")])
async def test_after_a_restart_a_command_is_answered_in_its_place(*, private: bool, until: str) -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        owed = await interrupted(server, clock, until, private=private)
        used = owed.used
        async with running(server, clock, owed=[owed.asked], posted=owed.posted) as bot:
            await flow(server, clock, lambda: bot.handler.answered)
        assert used.screen == ["Você disse: conte"]
        assert not used.thinking
        assert server.room(ROOM).screen() == ([] if private else ["Você disse: conte"])
        assert server.direct(ANA).screen() == []
        assert not [note for note in used.notes if note.buttons]


@pytest.mark.long
@pytest.mark.parametrize("private", [False, True])
async def test_a_quarter_of_an_hour_later_the_public_answer_still_takes_its_place_and_a_hidden_one_is_sent(
    *, private: bool
) -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        owed = await interrupted(server, clock, "written", private=private)
        await clock.advance(16 * 60)
        async with running(server, clock, owed=[owed.asked], posted=owed.posted) as bot:
            await flow(server, clock, lambda: bot.handler.answered)
        assert server.room(ROOM).screen() == ([] if private else ["Você disse: conte"])
        assert server.direct(ANA).screen() == (["Você disse: conte"] if private else [])
        assert not server.invalid


@pytest.mark.long
@pytest.mark.parametrize("private", [False, True])
async def test_a_command_that_was_stored_and_never_acknowledged_is_answered_after_a_restart(*, private: bool) -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        owed = await interrupted(server, clock, "stored", private=private)
        async with running(server, clock, owed=[owed.asked], posted=owed.posted) as bot:
            await flow(server, clock, lambda: bot.handler.answered)
        assert server.room(ROOM).screen() == ([] if private else ["Você disse: conte"])
        assert server.direct(ANA).screen() == (["Você disse: conte"] if private else [])


async def test_an_acknowledgement_whose_confirmation_got_lost_is_one_all_the_same(clock: FakeClock) -> None:
    lost = [True]
    async with DiscordServer(clock) as server, running(server, clock):
        server.swallow = lambda _, path: "callback" in path and bool(lost and lost.pop())
        used = await server.interactions.command(ANA, "help")
        await flow(server, clock, lambda: used.screen == ["Você disse: /help"])
        assert not lost


async def test_an_answer_that_only_begins_after_fifteen_minutes_is_an_ordinary_message(clock: FakeClock) -> None:
    async def script(_: Incoming, view: View) -> None:
        await clock.sleep(16 * 60)
        await view.status("Um momento...")
        await clock.sleep(5)
        await view.show(OutgoingMessage("Pronto."))

    async with DiscordServer(clock) as server, running(server, clock, script) as bot:
        await bot.answers(server.interactions.command(ANA, "ask", room=ROOM, message="demore"))
        assert server.room(ROOM).screen() == ["Pronto."]


async def test_a_response_that_somebody_deleted_is_written_anew_once_it_is_whole(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock, slowly(clock, LONG[:80], 1.0)) as bot:
        used = await server.interactions.command(ANA, "ask", room=ROOM, message="conte")
        await flow(server, clock, lambda: len(server.writes) >= 3)
        server.room(ROOM).notes.clear()
        used.notes.clear()
        await flow(server, clock, lambda: bot.handler.answered)
        assert server.room(ROOM).screen() == [LONG[:80].strip()]


async def test_what_the_core_has_nothing_to_say_to_leaves_no_sign_of_thinking(clock: FakeClock) -> None:
    async def silence(_: Incoming, __: View) -> None:
        """Say nothing, as to a repeat."""

    async with DiscordServer(clock) as server, running(server, clock, silence):
        used = await server.interactions.command(ANA, "ask", message="oi")
        await flow(server, clock, lambda: used.kind and not used.notes)
        assert server.direct(ANA).screen() == []


async def test_a_command_where_the_bot_does_not_answer_says_so_to_that_person_alone(clock: FakeClock) -> None:
    config = DiscordConfig(TOKEN, rooms=frozenset({ROOM}))
    async with DiscordServer(clock) as server:
        server.room(OTHER_ROOM)
        async with running(server, clock, config=config) as bot:
            used = await server.interactions.command(ANA, "memories", room=OTHER_ROOM)
            await flow(server, clock, lambda: used.notes)
            assert used.screen == [NOT_HERE[Locale.PT]]
            assert used.notes[0].flags & EPHEMERAL
            assert not bot.handler.received


async def test_commands_are_told_to_discord_when_they_changed_and_not_at_each_start() -> None:
    clock, kept = FakeClock(), SqlKept(RamDatabase())
    async with DiscordServer(clock) as server:
        for _ in range(3):
            async with running(server, clock, kept=kept):
                pass
        assert len(server.commands) == 1
        await kept.put("discord.commands", "another")
        async with running(server, clock, kept=kept):
            pass
        assert len(server.commands) == 2


@pytest.mark.parametrize("home", [0, GUILD_ID])
async def test_the_staffs_group_is_shown_in_the_admin_server_alone_or_in_private_and_to_nobody_in_servers(
    home: int,
) -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock, config=set_by(discord_admin_guild=home)):
        told = {call.path: {one["name"]: one for one in call.body} for call in server.done("PUT", "/commands")}
        everywhere = told[f"/applications/{APP_ID}/commands"]
        shown = told[f"/applications/{APP_ID}/guilds/{home}/commands"] if home else everywhere
        assert set(shown) >= set(STAFF_COMMANDS)
        assert shown["admin"]["default_member_permissions"] == (1 << 5 if home else 0)  # to manage that server
        assert shown["admin"].get("contexts") == (None if home else [0, 1])
        assert {option["name"] for option in shown["admin"]["options"]} == set(VERBS)
        assert ("admin" in everywhere) == (not home)
        assert everywhere["help"]["default_member_permissions"] is None


async def test_where_the_bot_was_brought_along_direct_messages_are_not_private(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        for_both = await server.interactions.command(ANA, "ask", context=2, message="para nós dois")
        await flow(server, clock, lambda: for_both.screen == ["Você disse: para nós dois"])
        for_one = await server.interactions.command(ANA, "memories", context=2)
        await flow(server, clock, lambda: for_one.screen == ["Você disse: /memories"])
        assert [incoming.private for incoming in bot.handler.received] == [False, True]
        assert for_one.notes[0].flags & EPHEMERAL


async def test_a_command_of_few_words_offers_them_to_choose_from(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock):
        by_name = {command["name"]: command for command in server.commands[0]}
        [option] = by_name["news"]["options"]
        assert [(choice["value"], choice["name"]) for choice in option["choices"]] == [
            ("off", "Turn off"), ("on", "Turn on"),
        ]  # fmt: skip
        assert option["choices"][1]["name_localizations"]["pt-BR"] == "Receber"
        memory, kind, page = by_name["memories"]["options"]
        assert (memory["autocomplete"], [choice["value"] for choice in kind["choices"]], page["type"]) == (
            True, ["profile"], 4,
        )  # fmt: skip
        assert page["min_value"] == 1


async def test_the_stop_button_stops_the_answer_of_who_asked_and_disappears(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock, slowly(clock, LONG, 0.5)) as bot:
        await server.says(ANA, f"{ME} conte", room=ROOM)
        await flow(server, clock, lambda: len(server.writes) >= 4)
        note = server.room(ROOM).notes[server.writes[-1].message]
        [button] = note.buttons
        meddling = await server.interactions.press(BIA, note, button)
        await flow(server, clock, lambda: meddling.notes)
        assert meddling.screen == ["Only the person who asked can stop this answer."] == [NOT_YOURS[Locale.EN]]
        assert not bot.handler.answered
        pressed = await server.interactions.press(ANA, note, button)
        await flow(server, clock, lambda: bot.handler.answered and not pressed.thinking)
        assert not note.buttons
        assert 0 < len(note.content) < len(LONG)
        assert pressed.notes == [note]
        assert bot.handler.received[-1].conversation == bot.handler.received[0].conversation


async def test_the_owner_may_want_no_stop_button(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        config = set_by(discord_stop_button=False)
        async with running(server, clock, slowly(clock, LONG, 0.5), config) as bot:
            await server.says(ANA, "conte")
            await flow(server, clock, lambda: len(server.writes) >= 3)
            assert not server.direct(ANA).notes[server.writes[-1].message].buttons
            await flow(server, clock, lambda: bot.handler.answered)


@pytest.mark.long
async def test_a_button_pressed_after_a_restart_is_understood_and_taken_away(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        async with running(server, clock, slowly(clock, LONG, 0.5), DiscordConfig(TOKEN, drain_s=1.0)):
            await server.says(ANA, "conte")
            await flow(server, clock, lambda: len(server.writes) >= 3)
            note = server.direct(ANA).notes[server.writes[-1].message]
            note_then = (list(note.components), note.content)
        note.components, note.content = note_then  # as a crash would have left it
        async with running(server, clock) as bot:
            pressed = await server.interactions.press(ANA, note, note.buttons[0])
            await flow(server, clock, lambda: not note.buttons)
            assert [incoming.text for incoming in bot.handler.received] == ["/stop"]
            assert pressed.screen == [note_then[1], "Você disse: /stop"]
            assert pressed.notes[1].flags & EPHEMERAL


async def test_stop_as_a_command_stops_the_answer_and_says_so_in_private(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock, slowly(clock, LONG, 0.5)) as bot:
        await server.says(ANA, f"{ME} conte", room=ROOM)
        await flow(server, clock, lambda: len(server.writes) >= 3)
        used = await server.interactions.command(ANA, "stop", room=ROOM)
        await flow(server, clock, lambda: bot.handler.answered and used.screen)
        assert used.screen == [STOPPING[Locale.PT]]
        assert used.notes[0].flags & EPHEMERAL
        assert not any(note.buttons for note in server.room(ROOM).notes.values())
