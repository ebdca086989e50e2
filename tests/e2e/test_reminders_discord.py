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
from tests.fakes.model import Answer, Calls, ScriptedModel

ANA = Person(PORTUGUESE_ANA.id, "Ana", "en-US")
BUTTONS = " [✅ Done | 10 min | 1 h | Tomorrow]"
UNDO = " [↩️ Undo]"
NOT_YOURS = "That reminder is somebody else's; only they can act on it."
CANNOT_SEND = (403, 50007)
NO_ACCESS = (403, 50001)
BACKOFF = [timedelta(minutes=minutes) for minutes in (0, 1, 6, 36, 156, 876)]


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
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> AsyncIterator[Place]:
    async with opened(tmp_path, monkeypatch, clock) as place:
        yield place


@asynccontextmanager
async def opened(folder: Path, monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> AsyncIterator[Place]:
    people = {str(ANA.id): Role.OWNER, str(BIA.id): Role.MEMBER}
    await kit.found(folder, "discord", people, [ROOM, OTHER_ROOM])
    async with DiscordServer(clock) as server:
        kit.at_rest_with_the_disk(monkeypatch, server)
        for room in (ROOM, OTHER_ROOM):
            server.room(room)
        server.direct(ANA)
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


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
@pytest.mark.parametrize(
    ("label", "again"),
    [
        ("✅ Done", None),
        ("10 min", DUE + timedelta(minutes=10)),
        ("1 h", DUE + timedelta(hours=1)),
        ("Tomorrow", utc(15, 15, 30)),
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


async def test_many_that_are_due_at_once_in_one_chat_are_one_message_in_the_order_they_were_set(place: Place) -> None:
    async with place.running():
        for number in range(1, 9):
            await place.say(f"remind me to do chore {number} at 11:30")
        before = len(seen(place.private))
        await place.pass_until(DUE + timedelta(seconds=3))
        listed = "\n".join(f"• do chore {number}" for number in range(1, 9))
        assert seen(place.private)[before:] == [f"⏰ 8 reminders:\n{listed}{BUTTONS}"]


@pytest.mark.parametrize(
    ("start", "days"),
    [
        (utc(6, 18), [utc(7, 13), utc(8, 12), utc(9, 12)]),
        (utc(30, 18, month=10), [utc(31, 12, month=10), utc(1, 13, month=11), utc(2, 13, month=11)]),
    ],
    ids=["spring", "autumn"],
)
async def test_every_day_at_eight_stays_eight_in_new_york_when_clocks_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: datetime, days: list[datetime]
) -> None:
    async with opened(tmp_path, monkeypatch, FakeClock(start=start)) as place, place.running():
        assert await place.say("remind me to stretch every day at 8") == (
            f"All right, I will remind you: “stretch”\n⏰ every day at 8:00 AM; next time: {mark(days[0])}{UNDO}"
        )
        for number, day in enumerate(days, 1):
            await place.skip_to(day - timedelta(seconds=2))
            assert len(seen(place.private)) == number
            await place.pass_until(day + timedelta(seconds=2))
            assert seen(place.private)[1:] == [f"⏰ stretch{BUTTONS}"] * number


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


async def test_the_list_of_a_room_is_of_what_the_person_set_there_and_in_private_of_everything(place: Place) -> None:
    async with place.running():
        await place.say("remind me to buy the secret gift at 12:00")
        await place.say("remind me to bring cake at 13:00", room=ROOM)
        await place.say("remind me to bring beer at 14:00", BIA, ROOM)
        await place.say("remind me to bring salad at 15:00", room=OTHER_ROOM)
        gift, cake = f"⏰ “buy the secret gift” · {mark(utc(14, 16))}", f"⏰ “bring cake” · {mark(utc(14, 17))}"
        beer, salad = f"⏰ “bring beer” · {mark(utc(14, 18))}", f"⏰ “bring salad” · {mark(utc(14, 19))}"
        assert await place.say("/reminders", room=ROOM) == (
            f"Your reminders of this room (1):\n1. {cake} [▾ 1. bring cake]"
        )
        assert await place.say("/reminders", BIA, ROOM) == (
            f"Your reminders of this room (1):\n1. {beer} [▾ 1. bring beer]"
        )
        everything = (
            f"Your reminders (3):\n1. {gift}\n2. {cake}\n3. {salad} "
            "[▾ 1. buy the secret gift · 2. bring cake · 3. bring salad]"
        )
        before = seen(place.room)
        assert await place.slash("reminders list", room=ROOM) == everything  # which only she sees
        assert seen(place.room) == before
        assert await place.slash("reminders list") == everything


async def test_where_an_admin_turned_reminders_off_none_is_set_and_those_set_before_come_in_private(
    place: Place,
) -> None:
    async with place.running():
        await place.say("remind me to bring cake at 11:30", room=ROOM)
        await place.say("/admin room reminders off", room=ROOM)
        refused = await place.say("remind me to bring beer at 11:40", room=ROOM)
        assert refused == "Reminders are turned off in this room. Ask me in private, and I will remind you there."
        before = seen(place.room)
        await place.pass_until(DUE + timedelta(seconds=3))
        assert seen(place.room) == before
        assert seen(place.private) == [
            (
                "Here in private, because reminders are turned off in the room where you asked for it:\n\n"
                f"⏰ bring cake{BUTTONS}"
            )
        ]


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


# --- what is refused --------------------------------------------------------------------------------------------------


async def test_who_takes_no_messages_is_tried_again_ever_later_and_then_finds_it_marked_in_the_list(
    place: Place,
) -> None:
    async with place.running():
        await place.say("remind me to pay the rent at 11:30")
        place.private.refusal = CANNOT_SEND
        await place.pass_until(DUE + timedelta(hours=16))
        assert place.tries(place.private) == BACKOFF
        place.private.refusal = None
        listed = await place.slash("reminders list")
        assert listed.startswith("Your reminders (1):\n1. ⚠️ “pay the rent” · could not be delivered")


async def test_what_a_room_that_is_closed_refuses_to_the_last_is_said_in_private_with_the_reason(place: Place) -> None:
    async with place.running():
        await place.say("remind me to bring cake at 11:30", room=ROOM)
        place.room.refusal = NO_ACCESS
        await place.pass_until(DUE + timedelta(hours=16))
        assert place.tries(place.room) == BACKOFF
        assert seen(place.private) == [
            (
                "Here in private, because I could not write in the room where you asked for it:\n\n"
                f"⏰ bring cake\nLate: it was due {mark(DUE)}.{BUTTONS}"
            )
        ]


# --- late -------------------------------------------------------------------------------------------------------------


async def test_what_came_due_while_the_bot_was_off_is_one_message_at_start_marked_as_late(place: Place) -> None:
    async with place.running():
        await place.say("remind me to pay the rent at 11:30")
        await place.say("remind me to call mom at 12:00")
        await place.say("remind me to swim tomorrow at 9")
        before = len(seen(place.private))
    place.clock.jump(timedelta(hours=2))
    async with place.running():
        await place.rest()
        late = [
            (
                f"⏰ 2 reminders:\n• pay the rent · Late: it was due {mark(DUE)}.\n"
                f"• call mom · Late: it was due {mark(utc(14, 16))}.{BUTTONS}"
            )
        ]
        assert seen(place.private)[before:] == late
        await place.pass_until(place.clock.now() + timedelta(hours=1))
        assert seen(place.private)[before:] == late


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


async def test_a_model_sets_it_with_one_call_and_none_is_made_when_it_is_due(place: Place) -> None:
    mind = model(Calls([("ReminderSet", {"text": "pay the rent", "when": "at 11:30", "then": "stop"})]))
    async with place.running(mind):
        assert await place.say("remind me to pay the rent at 11:30") == (
            f"All right, I will remind you: “pay the rent”\n⏰ {mark(DUE)}{UNDO}"
        )
        await place.pass_until(DUE + timedelta(seconds=3))
        assert seen(place.private)[1:] == [f"⏰ pay the rent{BUTTONS}"]
    assert len(mind.prompts) == 1


@pytest.mark.parametrize("claim", ["Done! I'll remind you at 11:30.", "I have set a reminder for 11:30 AM."])
async def test_a_model_that_only_claims_to_have_set_one_is_not_believed(place: Place, claim: str) -> None:
    async with place.running(model(claim)):
        told = await place.say("remind me to pay the rent at 11:30")
        assert told.startswith("No new reminder was set just now. To set one, write /remind")
        await place.pass_until(DUE + timedelta(seconds=3))
        assert seen(place.private) == [told]
