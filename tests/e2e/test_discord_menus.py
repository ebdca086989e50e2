"""Menus in Discord as people meet them: of a message, of a person, of an older version, and where they are refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from adapters.discord.interaction_handler import NO_LONGER_KEPT, OLD_MENU
from core.answering.chatbot import ChatBot
from core.answering.outcomes import PAUSED, PRIVATE
from core.enclosures import QuoteKind, Speaker
from core.features.access.gate import BLOCKED
from core.features.access.storage import Person as Known
from core.features.admin.storage import ON, Decision, DecisionKind
from core.types import ChatKey, Locale, MemoryDraft, MemoryKind, Role, UserKey
from tests.e2e.discord_kit import ANA, BIA, ROOM, Bot, flow, running, serving
from tests.fakes.clock import FakeClock
from tests.fakes.discord_interactions import Interaction
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import EPHEMERAL, Note, Person
from tests.fakes.house import House

EVA = Person(10**17 + 9, "Eva")
WIFI = "O wifi da casa é abc123"


@dataclass
class Place:
    """A bot that echoes, and a room with a message of Bia's."""

    server: DiscordServer
    clock: FakeClock
    bot: Bot
    note: Note

    async def until(self, condition: Callable[[], object]) -> None:
        await flow(self.server, self.clock, condition)


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        await server.says(BIA, WIFI, room=ROOM)
        [note] = server.room(ROOM).notes.values()
        yield Place(server, clock, bot, note)


async def test_a_message_is_remembered_from_its_menu_unseen_by_the_room(place: Place) -> None:
    told = {one["name"]: one for one in place.server.commands[0] if one["type"] != 1}
    assert told["Remember this"]["name_localizations"]["pt-BR"] == "Guardar isto"
    assert {name: (one["type"], one["default_member_permissions"]) for name, one in told.items()} == {
        "Remember this": (3, None), "Ask about this": (3, None), "Why this answer?": (3, None),
        "Allow to use the bot": (2, 0), "Block from the bot": (2, 0), "Show their limits": (2, 0),
    }  # fmt: skip
    assert [told[name]["contexts"] for name in ("Remember this", "Block from the bot")] == [[0, 1, 2], [0]]
    used = await place.server.interactions.point_at_message(ANA, "Remember this", place.note)
    await place.until(lambda: used.screen)
    assert all(note.flags & EPHEMERAL for note in used.notes)
    [incoming] = place.bot.handler.received
    assert (incoming.text, incoming.private, incoming.chat) == (
        "/remember", True, ChatKey("discord", str(ROOM), f"@{ANA.id}"),
    )  # fmt: skip
    [quote] = incoming.quotes
    assert (quote.kind, quote.text, quote.name, quote.speaker) == (QuoteKind.REPLY, WIFI, "Bia", Speaker.OTHER)
    along = await place.server.interactions.point_at_message(ANA, "Remember this", place.note, context=2)
    await place.until(lambda: along.screen)  # where the bot is no member, and was brought along
    assert all(note.flags & EPHEMERAL for note in along.notes)


async def test_who_asks_about_a_message_writes_the_question_in_a_form(place: Place) -> None:
    used = await place.server.interactions.point_at_message(ANA, "Ask about this", place.note)
    await place.until(lambda: used.form)
    assert used.form["title"] == "Perguntar sobre isto"
    sent = await place.server.interactions.submit(ANA, used, "de que casa?")
    await place.until(lambda: sent.screen)
    assert all(note.flags & EPHEMERAL for note in sent.notes)
    [incoming] = place.bot.handler.received
    assert (incoming.text, incoming.private, incoming.quotes[0].text) == ("de que casa?", True, WIFI)
    await place.clock.advance(3601)
    late = await place.server.interactions.submit(ANA, used, "e agora?")
    await place.until(lambda: late.screen)
    assert late.screen == [NO_LONGER_KEPT[Locale.PT]]
    assert len(place.bot.handler.received) == 1


async def test_the_menu_of_a_person_is_the_command_of_the_staff_with_their_id(place: Place) -> None:
    for name in ("Allow to use the bot", "Block from the bot", "Show their limits"):
        used = await place.server.interactions.point_at_person(ANA, name, EVA, room=ROOM)
        await place.until(lambda used=used: used.screen)  # type: ignore[misc]  # mypy cannot infer such a lambda
        assert all(note.flags & EPHEMERAL for note in used.notes)
    assert [incoming.text for incoming in place.bot.handler.received] == [
        f"/admin {verb} discord:{EVA.id}" for verb in ("allow", "block", "quota")
    ]


async def test_a_menu_of_an_older_version_is_answered_with_what_to_do_and_nothing_is_run(place: Place) -> None:
    use = place.server.interactions
    used = [
        await use.command(ANA, "list"),  # a command that is gone
        await use.command(ANA, "memories", text="wifi"),  # a field that is gone
        await use.command(ANA, "remember"),  # a field that has to be filled in now
        await use.command(ANA, "reminders"),  # a command that has verbs now
        await use.command(ANA, "reminders move", reminder="x"),  # a verb that is gone
        await use.point_at_message(ANA, "Save this", place.note),
        await use.point_at_person(ANA, "Remove", EVA, room=ROOM),
    ]
    await place.until(lambda: all(one.screen for one in used))
    assert [one.screen for one in used] == [[OLD_MENU[Locale.PT]]] * len(used)
    assert all(one.notes[0].flags & EPHEMERAL for one in used)
    typed = [
        await use.typing(ANA, "list", "text", typed="a"),
        await use.typing(ANA, "memories", "text", typed="a"),
        await use.typing(ANA, "memories", "kind", typed="a"),
        await use.typing(ANA, "reminders move", "reminder", typed="a"),
    ]
    await place.until(lambda: all(one.offered is not None for one in typed))
    assert [one.offered for one in typed] == [[]] * len(typed)
    assert not place.bot.handler.received


# --- with the whole bot ----------------------------------------------------------------------------------------------


@dataclass
class Talk:
    """A whole bot of Ana's, who is its owner; Bia is blocked, Eva a stranger."""

    server: DiscordServer
    clock: FakeClock
    house: House
    bot: ChatBot

    async def of(self, used: Interaction) -> list[str]:
        await flow(self.server, self.clock, lambda: used.screen and not self.bot.tasks)
        return used.screen

    async def slash(self, person: Person, name: str, *, room: int = 0, **options: Any) -> list[str]:
        return await self.of(await self.server.interactions.command(person, name, room=room, **options))

    async def offered(self, person: Person, name: str, field: str, typed: str = "", room: int = 0) -> list[str]:
        used = await self.server.interactions.typing(person, name, field, room=room, typed=typed)
        await flow(self.server, self.clock, lambda: used.offered is not None)
        return [label for label, _ in used.offered or []]


@asynccontextmanager
async def whole_bot() -> AsyncIterator[Talk]:
    clock = FakeClock()
    house = House(clock=clock, trusted=())
    for person, role in ((ANA, Role.OWNER), (BIA, Role.BLOCKED)):
        await house.people.put(Known(UserKey("discord", str(person.id)), role, person.name, clock.now()))
    async with DiscordServer(clock) as server:
        entries = house.features().commands.menu()
        async with house.chatbot(house.access()) as bot, serving(server, clock, bot, entries=entries):
            await flow(server, clock, lambda: server.commands)
            yield Talk(server, clock, house, bot)


async def test_whoever_is_not_answered_reads_why_and_nobody_else_does() -> None:
    async with whole_bot() as talk:
        for room in (ROOM, 0):
            for _ in range(2):  # a command is told each time, a message once a day
                assert await talk.slash(EVA, "memories", room=room) == [PRIVATE[Locale.PT]]
                assert await talk.slash(EVA, "ask", room=room, message="oi") == [PRIVATE[Locale.PT]]
            assert await talk.slash(BIA, "ask", room=room, message="hi") == [BLOCKED[Locale.EN]]
        await talk.house.people.put(Known(UserKey("discord", str(EVA.id)), Role.MEMBER, "Eva", talk.clock.now()))
        pause = Decision(talk.clock.now(), UserKey("discord", str(ANA.id)), DecisionKind.PAUSE, "", "", ON)
        await talk.house.decisions.apply(pause)
        assert await talk.slash(EVA, "ask", room=ROOM, message="oi") == [PAUSED[Locale.PT]]
        notes = [
            note for used in talk.server.interactions.all.values() for note in used.notes if used.channel.id == ROOM
        ]
        assert len(notes) == 6
        assert all(note.flags & EPHEMERAL for note in notes)
        assert talk.server.room(ROOM).screen() == []


async def test_a_message_of_somebody_else_is_kept_with_who_said_it_and_replaces_nothing() -> None:
    async with whole_bot() as talk:
        await talk.server.says(BIA, WIFI, room=ROOM)
        [note] = talk.server.room(ROOM).notes.values()
        owner = talk.house.memories.of(UserKey("discord", str(ANA.id)))
        for told in ("Guardei", "Isto eu já sabia"):
            shown = await talk.of(await talk.server.interactions.point_at_message(ANA, "Remember this", note))
            assert shown == [f"{told}: “Bia: {WIFI}”"]
        [item] = await owner.page(limit=9)
        assert (item.kind, item.content) == (MemoryKind.TEXT, f"Bia: {WIFI}")
        assert talk.server.room(ROOM).screen() == []


async def test_while_one_types_ones_own_things_are_offered_and_never_somebody_elses() -> None:
    async with whole_bot() as talk:
        await talk.house.people.put(Known(UserKey("discord", str(EVA.id)), Role.MEMBER, "Eva", talk.clock.now()))
        for person, secret in ((ANA, "abc123"), (EVA, "xyz789")):
            mine = talk.house.memories.of(UserKey("discord", str(person.id)))
            await mine.save([MemoryDraft(MemoryKind.TEXT, secret, ("senha do wifi",))], {})
        for name in ("memories", "forget", "memory"):
            for typed in ("", "wif", "senha do wifi"):
                for room in (0, ROOM):
                    assert await talk.offered(ANA, name, "memory", typed, room) == ["senha do wifi: abc123"]
                    assert await talk.offered(EVA, name, "memory", typed, room) == ["senha do wifi: xyz789"]
        assert await talk.offered(ANA, "memories", "memory", "xyz789") == []
        assert await talk.offered(BIA, "memories", "memory") == []
        assert any("Eva" in label for label in await talk.offered(ANA, "admin allow", "known", "ev"))
        assert any("MemorySave" in label for label in await talk.offered(ANA, "admin actions", "action", "save"))
        for name, field in (("admin allow", "known"), ("admin actions", "action"), ("admin model", "model")):
            assert await talk.offered(EVA, name, field) == []
        assert (await talk.offered(ANA, "language", "language", "alem"))[0].startswith("alemão")
        assert "São Paulo (Brasil)" in (await talk.offered(ANA, "timezone", "place", "são paulo"))[0]
        await talk.slash(ANA, "remind", text="amanhã às 9 pagar o aluguel")
        [rent] = await talk.offered(ANA, "reminders show", "reminder", "alug")
        assert "pagar o aluguel" in rent
        assert await talk.offered(ANA, "reminders resume", "reminder") == []
        assert await talk.offered(EVA, "reminders show", "reminder") == []
        assert await talk.offered(ANA, "threads switch", "conversation") != []
        assert await talk.offered(EVA, "threads switch", "conversation") == []
