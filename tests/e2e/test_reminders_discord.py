"""Reminders on Discord, message by message: the bot as it is run, on a real file, and sockets; time goes by."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.wiring import App
from core.dialogue import Task
from core.ports import ChatModel
from core.types import Role
from tests.e2e import reminders_kit as kit
from tests.e2e.discord_kit import ANA as PORTUGUESE_ANA
from tests.e2e.discord_kit import BIA, ME, OTHER_ROOM, ROOM, flow, serving
from tests.fakes.clock import START, FakeClock
from tests.fakes.discord_components import labels
from tests.fakes.discord_interactions import Interaction
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import BOT, EPHEMERAL, Channel, Note, Person
from tests.fakes.model import Answer, ScriptedModel

ANA = Person(PORTUGUESE_ANA.id, "Ana", "en-US")
BUTTONS = " [✅ Done | 10 min | 1 h | Tomorrow]"
UNDO = " [↩️ Undo]"
NOT_YOURS = "That reminder is somebody else's; only they can act on it."


def utc(day: int, hour: int, minute: int = 0, *, month: int = 3) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


def mark(at: datetime) -> str:
    """The mark that every reader sees as their own hour."""
    return f"<t:{int(at.timestamp())}:F>"


DUE = utc(14, 15, 30)


def seen(channel: Channel) -> list[str]:
    """What the bot said there for all to see, as it stands now, with the labels of the buttons below."""
    return [_seen(note) for note in channel.notes.values() if note.by is BOT and not note.flags & EPHEMERAL]


def _seen(note: Note) -> str:
    below = labels(note.components)
    return note.text.partition("(I run without")[0].rstrip() + (f" [{' | '.join(below)}]" if below else "")


@dataclass
class Place:
    """Ana, who owns the bot, Bia, and two rooms."""

    folder: Path
    clock: FakeClock
    server: DiscordServer

    def running(self, model: ChatModel | None = None) -> AbstractAsyncContextManager[App]:
        """Run the bot, as a context."""

        def serve(app: App, handler: object) -> AbstractAsyncContextManager[object]:
            return serving(self.server, self.clock, handler, entries=app.parts.commands.menu())  # type: ignore[arg-type]

        return kit.started(self.folder, self.clock, serve, model)

    @property
    def private(self) -> Channel:
        return self.server.direct(ANA)

    @property
    def room(self) -> Channel:
        return self.server.room(ROOM)

    async def say(self, text: str, who: Person = ANA, room: int = 0) -> str:
        """Write, to the bot by name in a room, and return what stands last there a little later."""
        await self.server.says(who, f"{ME} {text}" if room else text, room=room)
        await self.rest()
        return seen(self.server.room(room) if room else self.server.direct(who))[-1]

    async def slash(self, name: str, who: Person = ANA, room: int = 0, **options: Any) -> str:
        """Use a slash command, and return what the person sees of the answer."""
        used = await self.server.interactions.command(who, name, room=room, **options)
        await self.rest()
        return "\n".join(_seen(note) for note in used.notes)

    async def press(self, note: Note, label: str, who: Person = ANA) -> Interaction:
        used = await self.server.interactions.press(who, note, label)
        await self.rest()
        return used

    async def rest(self) -> None:
        """Let what was begun be done: a few seconds go by."""
        await self.pass_until(self.clock.now() + timedelta(seconds=3))

    async def pass_until(self, at: datetime) -> None:
        await flow(self.server, self.clock, kit.until(self.clock, at), limit_s=10**6)

    async def skip_to(self, at: datetime) -> None:
        """Set the clock to five minutes before that, which is sooner than to wait, and wait for the rest."""
        self.clock.jump(at - timedelta(minutes=5) - self.clock.now())
        await self.pass_until(at)

    async def fired(self, room: int = 0, text: str = "pay the rent") -> Note:
        """Let Ana ask for a reminder for 11:30, and return the message when it is due."""
        await self.say(f"remind me to {text} at 11:30", room=room)
        await self.pass_until(DUE + timedelta(seconds=3))
        channel = self.room if room else self.private
        return [note for note in channel.notes.values() if note.by is BOT][-1]

    def tries(self, channel: Channel) -> Sequence[timedelta]:
        """When it was tried to write there, in vain, since 11:30."""
        path = f"/channels/{channel.id}/messages"
        refused = [each for each in self.server.calls if (each.path, each.status) == (path, 403)]
        return [timedelta(minutes=(each.at_s - (DUE - START).total_seconds()) // 60) for each in refused]


@pytest.fixture
async def place(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Place]:
    async with opened(tmp_path, clock) as place:
        yield place


@asynccontextmanager
async def opened(folder: Path, clock: FakeClock) -> AsyncIterator[Place]:
    people = {str(ANA.id): Role.OWNER, str(BIA.id): Role.MEMBER}
    await kit.found(folder, "discord", people, [ROOM, OTHER_ROOM])
    async with DiscordServer(clock) as server:
        for room in (ROOM, OTHER_ROOM):
            server.room(room)
        server.direct(ANA)
        with kit.at_rest_with_the_disk(server):
            yield Place(folder, clock, server)


# --- in private -------------------------------------------------------------------------------------------------------


async def test_what_is_set_in_private_is_confirmed_with_a_mark_of_its_time_and_said_at_the_minute(
    place: Place,
) -> None:
    async with place.running():
        answer = await place.say("remind me to pay the rent at 11:30")
        assert answer == f"All right, I will remind you: “pay the rent”\n⏰ {mark(DUE)}{UNDO}"
        await place.pass_until(DUE - timedelta(seconds=1))
        assert seen(place.private) == [answer]
        await place.pass_until(DUE + timedelta(seconds=1))
        assert seen(place.private) == [answer, f"⏰ pay the rent{BUTTONS}"]
        assert not list(place.private.notes.values())[-1].pinged
        await place.pass_until(DUE + timedelta(hours=2))
        assert len(seen(place.private)) == 2, "once"


@pytest.mark.parametrize(
    ("label", "again", "restarted"),
    [
        ("✅ Done", None, False),
        ("✅ Done", None, True),
        ("10 min", DUE + timedelta(minutes=10), True),
        ("Tomorrow", utc(15, 15, 30), False),
    ],
)
async def test_a_button_below_a_reminder_changes_the_message_in_place_and_it_is_said_again_then(
    place: Place, label: str, again: datetime | None, *, restarted: bool
) -> None:
    async with place.running():
        note = await place.fired()
        if not restarted:
            await place.press(note, label)
    async with place.running():
        if restarted:
            await place.press(note, label)
        [told] = seen(place.private)[1:]
        assert told == _seen(note)
        if again is None:
            assert told == "✓ “pay the rent”"
            await place.pass_until(DUE + timedelta(hours=2))
            assert seen(place.private)[1:] == [told]
            return
        stamp = int(told.partition("<t:")[2].partition(":")[0])
        assert told == f"⏰ Again: <t:{stamp}:F>\n“pay the rent”"
        assert again <= datetime.fromtimestamp(stamp, UTC) <= again + timedelta(seconds=10)
        await place.skip_to(again - timedelta(seconds=2))
        assert seen(place.private)[1:] == [told]
        await place.pass_until(again + timedelta(seconds=20))
        assert seen(place.private)[1:] == [told, f"⏰ pay the rent{BUTTONS}"]


# --- in a room --------------------------------------------------------------------------------------------------------


async def test_in_a_room_the_person_is_notified_and_nobody_else_whoever_the_words_name(place: Place) -> None:
    async with place.running():
        note = await place.fired(ROOM, f"tell @everyone and <@{BIA.id}>")
        assert note.pinged == {ANA.id}
        assert _seen(note).startswith(f"<@{ANA.id}> ⏰ ")
        assert note.reply_to is None
        assert seen(place.private) == []


async def test_pressed_by_somebody_else_in_a_room_they_alone_are_told_it_is_not_theirs_and_nothing_changes(
    place: Place,
) -> None:
    async with place.running():
        note = await place.fired(ROOM)
        before = seen(place.room)
        for label in ("✅ Done", "10 min", "1 h", "Tomorrow"):
            pressed = await place.press(note, label, BIA)
            assert [told.text for told in pressed.notes if told is not note] == [NOT_YOURS]
            assert seen(place.room) == before
        await place.pass_until(DUE + timedelta(hours=2))
        assert seen(place.room) == before
        await place.press(note, "✅ Done")
        assert _seen(note).endswith("✓ “pay the rent”")


# --- slash commands ---------------------------------------------------------------------------------------------------


async def test_remind_sets_one_by_its_field_and_offers_times_while_one_types(place: Place) -> None:
    async with place.running():
        typed = await place.server.interactions.typing(ANA, "remind", "text", typed="tomorrow at 9 pay the rent")
        await place.rest()
        assert typed.offered == [
            ("tomorrow, March 15, at 9:00 AM · pay the rent", "tomorrow at 9 pay the rent"),
        ]
        bare = await place.server.interactions.typing(ANA, "remind", "text", typed="pay the rent")
        await place.rest()
        assert bare.offered == [
            ("today, March 14, at 12:09 PM · pay the rent", "in 1 hour pay the rent"),
            ("today, March 14, at 6:00 PM · pay the rent", "today at 6 pm pay the rent"),
            ("tomorrow, March 15, at 8:00 AM · pay the rent", "tomorrow at 8 am pay the rent"),
        ]
        assert typed.offered is not None
        assert await place.slash("remind", text=typed.offered[0][1]) == (
            f"All right, I will remind you: “pay the rent”\n⏰ {mark(utc(15, 13))}{UNDO}"
        )
        await place.skip_to(utc(15, 13) + timedelta(seconds=3))
        assert seen(place.private)[-1] == f"⏰ pay the rent{BUTTONS}"


async def test_remind_in_a_room_is_answered_for_all_and_said_there(place: Place) -> None:
    async with place.running():
        await place.slash("remind", room=ROOM, text="11:30 bring cake")
        assert seen(place.room) == [f"All right, I will remind you: “bring cake”\n⏰ {mark(DUE)}{UNDO}"]
        await place.pass_until(DUE + timedelta(seconds=3))
        assert seen(place.room)[1:] == [f"<@{ANA.id}> ⏰ bring cake{BUTTONS}"]


# --- late -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("resumable", [True, False])
async def test_when_the_connection_breaks_around_its_minute_it_is_said_once(place: Place, *, resumable: bool) -> None:
    async with place.running():
        await place.say("remind me to pay the rent at 11:30")
        await place.pass_until(DUE - timedelta(seconds=1))
        await place.server.gateway.drop(resumable=resumable)
        await place.pass_until(DUE + timedelta(minutes=3))
        assert seen(place.private)[1:] == [f"⏰ pay the rent{BUTTONS}"]
        await place.server.gateway.drop(resumable=resumable)
        await place.pass_until(DUE + timedelta(minutes=6))
        assert len(seen(place.private)) == 2


# --- with a language model, in the single cycle -----------------------------------------------------------------------


def model(*answers: Answer) -> ScriptedModel:
    return ScriptedModel({Task.SINGLE: list(answers)})
