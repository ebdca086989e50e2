"""Reminders, message by message, on both platforms: the bot as it is run, on a real file, and sockets; time goes by."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Generic, TypeVar
from unittest import mock

import pytest

from bot.settings.settings import load
from bot.wiring import App, build, open_chatbot
from core.dialogue import Task
from core.features.access.storage import People, Person
from core.features.admin.storage import ALLOWED, Decision, DecisionKind, Decisions
from core.features.preferences.storage import PreferenceStore
from core.features.reminders.scheduler import Scheduler
from core.models import HotModel
from core.ports import ChatModel
from core.providers.failure import Rejected
from core.providers.usem3 import Usem3Embedder
from core.storage.sqlite import open_database
from core.types import Preferences, Role, Vectors
from tests.e2e.flowing import counting_the_disk
from tests.e2e.wire import ANA, BIA, ROOM, WIRES, DiscordWire, Seen, TelegramWire, Wire
from tests.fakes.clock import START, FakeClock
from tests.fakes.discord_components import labels
from tests.fakes.model import Answer, Calls, ScriptedModel

ZONE = "America/New_York"
"""Ana's and Bia's, where it is 11:09 on Saturday, 14 March 2026."""

BUTTONS = " [✅ Done | 10 min | 1 h | Tomorrow]"
UNDO = " [↩️ Undo]"
NOT_YOURS = "That reminder is somebody else's; only they can act on it."
KICKED = "403: Forbidden: bot was kicked from the supergroup chat"


def utc(day: int, hour: int, minute: int = 0, *, month: int = 3) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


DUE = utc(14, 15, 30)


def read(text: str, labels: Sequence[str]) -> str:
    below = f" [{' | '.join(labels)}]" if labels else ""
    return text.partition("(I run without")[0].rstrip() + below


On = TypeVar("On", bound=Wire)


@dataclass(frozen=True)
class Place(Generic[On]):
    """Ana, who owns the bot, Bia, and a room, on one platform."""

    folder: Path
    wire: On

    @asynccontextmanager
    async def running(self, model: ChatModel | None = None) -> AsyncIterator[App]:
        """Run the bot on what the folder holds; leaving stops it as a signal does."""
        settings = load(None, data_dir=self.folder, cycle="stepwise" if model is None else "single")
        stop = asyncio.Event()
        async with build(settings, clock=self.wire.clock) as app:
            if model is not None:
                models = app.parts.services.models
                for hot in (models.heavy, models.reasoning, models.chat, models.summary):
                    assert isinstance(hot, HotModel)
                    hot.model = model
            async with open_chatbot(app) as chatbot, app.features.get(Scheduler).until(stop):
                async with self.wire.serving(chatbot, app.parts.commands.menu()):
                    yield app
                    stop.set()
                chatbot.abandon()

    def seen(self, where: str = ANA) -> list[str]:
        """What the bot said there for all to see, as it stands now, with the labels of the buttons below."""
        return [self.read(seen) for seen in self.wire.ours(where)]

    def read(self, seen: Seen) -> str:
        return read(seen.text.replace(f"<@{self.wire.user(ANA).user}>", ANA), seen.labels)

    def now(self, seen: Seen, where: str) -> Seen:
        """That message as it stands now."""
        return next(each for each in self.wire.ours(where) if each.id == seen.id)

    def is_time(self, told: str, at: datetime, words: str) -> bool:
        """Whether a time is told: in words, or by Discord's mark, which every reader sees as their own hour."""
        if (stamp := re.fullmatch(r"<t:(\d+):F>", told)) is None:
            return told == words
        return at <= datetime.fromtimestamp(int(stamp[1]), UTC) <= at + timedelta(seconds=10)

    async def say(self, text: str, who: str = ANA, where: str = "", *, to_all: bool = False) -> str:
        """Write, to the bot by name in a room, and return what stands last there a little later."""
        await self.wire.says(text, who, where=where, to_all=to_all)
        await self.rest()
        return self.seen(where or who)[-1]

    async def press(self, label: str, seen: Seen | None = None, who: str = ANA, where: str = ANA) -> list[str]:
        """Press what says that below the last message there, or another; return what else was answered."""
        told = await self.wire.press(label, (seen or self.wire.ours(where)[-1]).id, who, where)
        await self.rest()
        return told()

    async def rest(self) -> None:
        """Let what was begun be done: a few seconds go by."""
        await self.pass_until(self.wire.clock.now() + timedelta(seconds=3))

    async def pass_until(self, at: datetime) -> None:
        clock = self.wire.clock
        sleeping = asyncio.ensure_future(clock.sleep((at - clock.now()) / timedelta(seconds=1)))
        await self.wire.flow(sleeping.done, limit_s=10**6)

    async def skip_to(self, at: datetime) -> None:
        """Set the clock to five minutes before that, which is sooner than to wait, and wait for the rest."""
        self.wire.clock.jump(at - timedelta(minutes=5) - self.wire.clock.now())
        await self.pass_until(at)

    async def fired(self, where: str = ANA, text: str = "pay the rent") -> Seen:
        """Let Ana ask for a reminder for 11:30, and return the message when it is due."""
        await self.say(f"remind me to {text} at 11:30", where=where)
        await self.pass_until(DUE + timedelta(seconds=3))
        return self.wire.ours(where)[-1]


async def found(folder: Path, wire: Wire) -> None:
    """Let Ana, Bia and the room be known before the first start."""
    database = await open_database(folder / "elefante.db")
    for who, role in ((ANA, Role.OWNER), (BIA, Role.MEMBER)):
        await People(database).put(Person(wire.user(who), role, who, START))
        await PreferenceStore(database).put(wire.user(who), Preferences(zone=ZONE))
    let_in = Decision(START, wire.user(ANA), DecisionKind.ROOM, f"{wire.name}:{wire.room}", "", ALLOWED)
    await Decisions(database).apply(let_in)
    await database.close()


@asynccontextmanager
async def opened(folder: Path, clock: FakeClock, kind: type[On]) -> AsyncIterator[Place[On]]:
    """Open a platform; there is no embedder, so that words must do: of an outage an alarm would come amid answers."""

    async def embed(_self: Usem3Embedder, _texts: Sequence[str]) -> Vectors:
        raise Rejected("off", "")

    async with kind(clock, language="en-US") as wire:
        await found(folder, wire)
        with counting_the_disk(wire.server), mock.patch.object(Usem3Embedder, "embed", embed):
            yield Place(folder, wire)


@pytest.fixture(params=sorted(WIRES))
async def place(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Place[Wire]]:
    async with opened(tmp_path, clock, WIRES[request.param]) as place:
        yield place


@pytest.fixture
async def telegram(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Place[TelegramWire]]:
    async with opened(tmp_path, clock, TelegramWire) as place:
        yield place


@pytest.fixture
async def discord(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Place[DiscordWire]]:
    async with opened(tmp_path, clock, DiscordWire) as place:
        yield place


# --- in private -------------------------------------------------------------------------------------------------------


async def test_what_is_set_in_private_is_confirmed_with_its_time_and_said_at_the_minute_with_its_buttons(
    place: Place[Wire],
) -> None:
    async with place.running():
        answer = await place.say("remind me to pay the rent at 11:30")
        head, _, told = answer.removesuffix(UNDO).partition("\n⏰ ")
        assert head == "All right, I will remind you: “pay the rent”"
        assert place.is_time(told, DUE, "today, March 14, at 11:30 AM · New York time (UTC−4)")
        await place.pass_until(DUE - timedelta(seconds=1))
        assert place.seen() == [answer]
        await place.pass_until(DUE + timedelta(seconds=1))
        assert place.seen() == [answer, f"⏰ pay the rent{BUTTONS}"]
        sent = [write for write in place.wire.written() if write.is_new][-1]
        assert sent.at_s == pytest.approx((DUE - START).total_seconds(), abs=0.5)
        assert (place.wire.ours()[-1].rings, place.wire.ours()[-1].pings) == (True, frozenset())
        await place.pass_until(DUE + timedelta(hours=2))
        assert len(place.seen()) == 2, "once"


@pytest.mark.parametrize(
    ("label", "words", "again", "restarted"),
    [
        ("✅ Done", "", None, False),
        ("✅ Done", "", None, True),
        ("10 min", "today, March 14, at 11:40 AM", utc(14, 15, 40), True),
        ("1 h", "today, March 14, at 12:30 PM", utc(14, 16, 30), False),
        ("Tomorrow", "tomorrow, March 15, at 11:30 AM", utc(15, 15, 30), False),
    ],
)
async def test_a_button_below_a_reminder_changes_the_message_in_place_and_it_is_said_again_then(
    place: Place[Wire], label: str, words: str, again: datetime | None, *, restarted: bool
) -> None:
    async with place.running():
        fired = await place.fired()
        if not restarted:
            await place.press(label, fired)
    async with place.running():
        if restarted:
            await place.press(label, fired)
        await place.rest()
        [told] = place.seen()[1:]
        assert place.wire.ours()[-1].id == fired.id
        if again is None:
            assert told == "✓ “pay the rent”"
        else:
            assert told.startswith("⏰ Again: ")
            assert told.endswith("\n“pay the rent”")
            assert place.is_time(told.removeprefix("⏰ Again: ").partition("\n")[0], again, words)
        await place.skip_to((again or DUE + timedelta(days=1)) - timedelta(seconds=10))
        assert place.seen()[1:] == [told]
        if again is not None:
            await place.pass_until(again + timedelta(seconds=30))
            assert place.seen()[1:] == [told, f"⏰ pay the rent{BUTTONS}"]
        assert (await place.say("/reminders")).startswith("You have no reminders.")


# --- in a room --------------------------------------------------------------------------------------------------------


async def test_in_a_room_the_person_is_notified_and_nobody_else_whoever_the_words_name(place: Place[Wire]) -> None:
    words = f"tell @everyone and <@{place.wire.user(BIA).user}>"
    async with place.running():
        fired = await place.fired(ROOM, words)
        assert {str(each) for each in fired.pings} == {place.wire.user(ANA).user}
        assert re.match("Ana ⏰ `?tell ", place.read(fired)), "what could call somebody is shown as code"
        assert place.read(fired).endswith(BUTTONS)
        assert fired.reply_to is None
        assert place.seen() == []


async def test_pressed_by_somebody_else_in_a_room_they_are_told_it_is_not_theirs_and_nothing_changes(
    place: Place[Wire],
) -> None:
    async with place.running():
        fired = await place.fired(ROOM)
        for label in ("✅ Done", "10 min", "1 h", "Tomorrow"):
            assert await place.press(label, fired, BIA, ROOM) == [NOT_YOURS]
            assert place.now(fired, ROOM) == fired
        await place.pass_until(DUE + timedelta(hours=2))
        assert [text for text in place.seen(ROOM) if "⏰ pay the rent" in text] == [f"Ana ⏰ pay the rent{BUTTONS}"]
        await place.press("✅ Done", fired, ANA, ROOM)
        assert place.read(place.now(fired, ROOM)) == "Ana ✓ “pay the rent”"


# --- on Telegram ------------------------------------------------------------------------------------------------------


async def test_what_waits_for_a_mention_is_said_below_the_answer_also_after_a_restart(
    telegram: Place[TelegramWire],
) -> None:
    place = telegram
    async with place.running():
        assert await place.say("when I mention the dentist, remind me about the bill") == (
            "All right, I will remind you: “the bill”\n"
            f"💬 when you mention “dentist” · until Sunday, March 14, 2027{UNDO}"
        )
    async with place.running():
        assert "💬" not in await place.say("the dentist is at 5 tomorrow, remember that", BIA)
        answer = await place.say("remember that the dentist is at 5 tomorrow")
        assert "\n\n💬 By the way, you wanted to be reminded when you mention “dentist”: “the bill”" in answer
        assert answer.startswith("Saved: “the dentist is at 5 tomorrow”")
        await place.say("when I mention the plumber, remind me about the leak until tomorrow")
        await place.skip_to(utc(16, 4))
        assert place.seen()[-1] == (
            "💬 You have not mentioned “plumber”, and that was until today. "
            "This is what I was to remind you of: “the leak”"
        )


async def test_the_words_are_said_as_they_were_written(telegram: Place[TelegramWire]) -> None:
    words = "send *all* of <b>it</b> to _me_ & `you`, [see](http://x.example) @bia #1"
    async with telegram.running():
        assert (await telegram.fired(text=words)).text == f"⏰ {words}"
        post = telegram.wire.server.chat(7).ours()[-1]
        assert {entity["type"] for entity in post.entities} <= {"code"}


async def test_where_an_admin_turned_reminders_off_none_is_set_and_those_set_before_come_in_private(
    telegram: Place[TelegramWire],
) -> None:
    place = telegram
    async with place.running():
        await place.say("hi")  # a bot writes to nobody who never wrote
        await place.say("remind me to bring cake at 11:30", where=ROOM)
        await place.say("/admin@elefante_bot room reminders off", where=ROOM, to_all=True)
        refused = await place.say("remind me to bring beer at 11:40", where=ROOM)
        assert refused == "Reminders are turned off in this room. Ask me in private, and I will remind you there."
        before = len(place.seen(ROOM))
        await place.pass_until(utc(14, 15, 45))
        assert place.seen(ROOM)[before:] == []
        assert place.seen()[1:] == [
            (
                "Here in private, because reminders are turned off in the room where you asked for it:\n\n"
                f"⏰ bring cake{BUTTONS}"
            )
        ]
        await place.press("10 min")
        await place.pass_until(utc(14, 15, 57))
        assert place.seen()[1] == "⏰ Again: today, March 14, at 11:55 AM\n“bring cake”"
        assert place.seen()[2].endswith(f"⏰ bring cake{BUTTONS}")
        assert len(place.seen(ROOM)) == before


BACKOFF = [timedelta(minutes=minutes) for minutes in (0, 1, 6, 36, 156, 876)]


async def test_what_a_group_that_is_gone_refuses_to_the_last_is_said_in_private_with_the_reason(
    telegram: Place[TelegramWire],
) -> None:
    place, server = telegram, telegram.wire.server
    async with place.running():
        await place.say("hi")
        await place.say("remind me to bring cake at 11:30", where=ROOM)
        group = server.chat(TelegramWire.GROUP)
        group.refusal = KICKED
        await place.pass_until(utc(16, 15))
        since_s = (DUE - START).total_seconds()
        refused = [
            each for each in server.calls if (each.method, each.code, each.chat_id) == ("sendmessage", 403, group.id)
        ]
        assert [timedelta(minutes=(each.at_s - since_s) // 60) for each in refused] == BACKOFF
        assert place.seen()[1:] == [
            (
                "Here in private, because I could not write in the room where you asked for it:\n\n"
                f"⏰ bring cake\nLate: it was due Saturday, March 14, at 11:30 AM.{BUTTONS}"
            )
        ]


def model(*answers: Answer) -> ScriptedModel:
    return ScriptedModel({Task.SINGLE: list(answers)})


async def test_a_model_sets_it_with_one_call_and_none_is_made_when_it_is_due(telegram: Place[TelegramWire]) -> None:
    place = telegram
    mind = model(Calls([("ReminderSet", {"text": "pay the rent", "when": "at 11:30", "then": "stop"})]))
    async with place.running(mind):
        assert await place.say("remind me to pay the rent at 11:30") == (
            "All right, I will remind you: “pay the rent”\n"
            f"⏰ today, March 14, at 11:30 AM · New York time (UTC−4){UNDO}"
        )
        await place.pass_until(utc(14, 15, 31))
        assert place.seen()[1:] == [f"⏰ pay the rent{BUTTONS}"]
        await place.press("10 min")
        await place.pass_until(utc(14, 15, 42))
        assert place.seen()[2:] == [f"⏰ pay the rent{BUTTONS}"]
    assert len(mind.prompts) == 1


async def test_who_is_away_is_asked_on_the_day_after_and_goes_on_by_the_clock_at_home(
    telegram: Place[TelegramWire],
) -> None:
    place = telegram
    async with place.running():
        await place.say("hi")
        await place.say("I'm in Tokyo this week")
        await place.press("🕐 Yes, go by it")
        assert "Your time zone: Tokyo time (UTC+9)" in place.seen()[-1]
        await place.skip_to(utc(16, 13) + timedelta(seconds=5))  # Monday, 9:00 in New York
        assert place.seen()[-1] == (
            "🏠 Are you back? Then I go by New York time (UTC−4) again, and so do your reminders."
            " [Yes, I am back | Tomorrow]"
        )
        await place.press("Yes, I am back")
        assert place.seen()[-1].startswith("Done. Your time zone: New York time (UTC−4)")


async def test_in_a_group_somebody_else_is_not_reminded_and_the_agenda_has_heads(telegram: Place[TelegramWire]) -> None:
    place = telegram
    async with place.running():
        assert await place.say("remind Bia to bring the cake at 11:30", where=ROOM) == (
            "I remind only who asks me, so they would have to ask me themselves. Shall I remind you?"
            " “remind Bia to bring the cake” [⏰ Yes, remind me | ⏰ Say it here]"
        )
        await place.press("⏰ Yes, remind me", where=ROOM)
        await place.say("/agenda@elefante_bot", where=ROOM, to_all=True)
        post = place.wire.server.chat(TelegramWire.GROUP).ours()[-1]
        assert post.text.startswith(
            "Saturday, March 14 · today\n⏰ 11:30 AM remind Bia to bring the cake\n\nSunday, March 15"
        )
        assert {entity["type"] for entity in post.entities} >= {"bold"}


# --- on Discord -------------------------------------------------------------------------------------------------------


def mark(at: datetime) -> str:
    """The mark that every reader sees as their own hour."""
    return f"<t:{int(at.timestamp())}:F>"


async def slash(place: Place[DiscordWire], name: str, room: int = 0, **options: Any) -> str:
    """Use a slash command, and return what the person sees of the answer."""
    used = await place.wire.server.interactions.command(place.wire.people[ANA], name, room=room, **options)
    await place.rest()
    return "\n".join(read(note.text, labels(note.components)) for note in used.notes)


async def test_remind_sets_one_by_its_field_and_offers_times_while_one_types(discord: Place[DiscordWire]) -> None:
    place, ana, interactions = discord, discord.wire.people[ANA], discord.wire.server.interactions
    async with place.running():
        typed = await interactions.typing(ana, "remind", "text", typed="tomorrow at 9 pay the rent")
        await place.rest()
        assert typed.offered == [
            ("tomorrow, March 15, at 9:00 AM · pay the rent", "tomorrow at 9 pay the rent"),
        ]
        bare = await interactions.typing(ana, "remind", "text", typed="pay the rent")
        await place.rest()
        assert bare.offered == [
            ("today, March 14, at 12:09 PM · pay the rent", "in 1 hour pay the rent"),
            ("today, March 14, at 6:00 PM · pay the rent", "today at 6 pm pay the rent"),
            ("tomorrow, March 15, at 8:00 AM · pay the rent", "tomorrow at 8 am pay the rent"),
        ]
        assert typed.offered is not None
        assert await slash(place, "remind", text=typed.offered[0][1]) == (
            f"All right, I will remind you: “pay the rent”\n⏰ {mark(utc(15, 13))}{UNDO}"
        )
        await place.skip_to(utc(15, 13) + timedelta(seconds=3))
        assert place.seen()[-1] == f"⏰ pay the rent{BUTTONS}"


async def test_remind_in_a_room_is_answered_for_all_and_said_there(discord: Place[DiscordWire]) -> None:
    async with discord.running():
        await slash(discord, "remind", int(discord.wire.room), text="11:30 bring cake")
        assert discord.seen(ROOM) == [f"All right, I will remind you: “bring cake”\n⏰ {mark(DUE)}{UNDO}"]
        await discord.pass_until(DUE + timedelta(seconds=3))
        assert discord.seen(ROOM)[1:] == [f"Ana ⏰ bring cake{BUTTONS}"]


@pytest.mark.parametrize("resumable", [True, False])
async def test_when_the_connection_breaks_around_its_minute_it_is_said_once(
    discord: Place[DiscordWire], *, resumable: bool
) -> None:
    place, gateway = discord, discord.wire.server.gateway
    async with place.running():
        await place.say("remind me to pay the rent at 11:30")
        await place.pass_until(DUE - timedelta(seconds=1))
        await gateway.drop(resumable=resumable)
        await place.pass_until(DUE + timedelta(minutes=3))
        assert place.seen()[1:] == [f"⏰ pay the rent{BUTTONS}"]
        await gateway.drop(resumable=resumable)
        await place.pass_until(DUE + timedelta(minutes=6))
        assert len(place.seen()) == 2
