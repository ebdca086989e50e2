"""Reminders on Telegram, message by message: the bot as it is run, on a real file, and sockets; time goes by."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.wiring import App
from core.dialogue import Task
from core.ports import ChatModel
from core.types import Role
from tests.e2e import reminders_kit as kit
from tests.e2e.telegram_kit import flow, serving
from tests.fakes.clock import START, FakeClock
from tests.fakes.model import Answer, Calls, ScriptedModel
from tests.fakes.telegram_people import Chat, Person, Post
from tests.fakes.telegram_server import TelegramServer

ANA, BIA = Person(7, "Ana", "en"), Person(8, "Bia", "en")
GROUP, OTHER_GROUP = -1001, -1002
BUTTONS = " [✅ Done | 10 min | 1 h | Tomorrow]"
NOT_YOURS = "That reminder is somebody else's; only they can act on it."
KICKED = "403: Forbidden: bot was kicked from the supergroup chat"
UNDO = " [↩️ Undo]"


def utc(day: int, hour: int, minute: int = 0, *, month: int = 3) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


def seen(chat: Chat) -> list[str]:
    """What the bot said there as it stands now, with the labels of the buttons below."""
    return [_seen(post) for post in chat.ours()]


def _seen(post: Post) -> str:
    labels = [label for row in post.labels for label in row]
    buttons = f" [{' | '.join(labels)}]" if labels else ""
    return post.text.partition("(I run without")[0].rstrip() + buttons


def mentioned(post: Post) -> list[int]:
    """Who is mentioned in a message."""
    assert not [entity for entity in post.entities if entity["type"] == "mention"]
    return [entity["user"]["id"] for entity in post.entities if entity["type"] == "text_mention"]


@dataclass
class Place:
    """Ana, who owns the bot, Bia, and two groups."""

    folder: Path
    clock: FakeClock
    server: TelegramServer

    def running(self, model: ChatModel | None = None) -> AbstractAsyncContextManager[App]:
        """Run the bot, as a context."""
        return kit.started(self.folder, self.clock, lambda _, handler: serving(self.server, self.clock, handler), model)

    def chat(self, number: int = ANA.id) -> Chat:
        return self.server.chat(number)

    async def say(self, text: str, who: Person = ANA, chat: int | None = None) -> str:
        """Write, and return what stands last there a little later."""
        self.server.says(who, text, chat_id=chat)
        await self.rest()
        return seen(self.chat(who.id if chat is None else chat))[-1]

    async def press(self, label: str, who: Person = ANA, chat: int | None = None, post: Post | None = None) -> None:
        self.server.presses(who, label, chat_id=chat, post=post)
        await self.rest()

    async def rest(self) -> None:
        """Let what was begun be done: a few seconds go by."""
        await self.pass_until(self.clock.now() + timedelta(seconds=3))

    async def pass_until(self, at: datetime) -> None:
        await flow(self.server, self.clock, kit.until(self.clock, at), limit_s=10**6)

    async def skip_to(self, at: datetime) -> None:
        """Set the clock to five minutes before that, which is sooner than to wait, and wait for the rest."""
        self.clock.jump(at - timedelta(minutes=5) - self.clock.now())
        await self.pass_until(at)


@pytest.fixture
async def place(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Place]:
    async with opened(tmp_path, clock) as place:
        yield place


@asynccontextmanager
async def opened(folder: Path, clock: FakeClock, zone: str = kit.ZONE) -> AsyncIterator[Place]:
    people = {str(ANA.id): Role.OWNER, str(BIA.id): Role.MEMBER}
    await kit.found(folder, "telegram", people, [GROUP, OTHER_GROUP], zone)
    async with TelegramServer(clock) as server:
        with kit.at_rest_with_the_disk(server):
            yield Place(folder, clock, server)


async def fired(place: Place, chat: int | None = None, text: str = "pay the rent") -> Post:
    """Let Ana ask for a reminder for 11:30, in private or in a group, and return the message when it is due."""
    await place.say(f"{'' if chat is None else '@elefante_bot '}remind me to {text} at 11:30", chat=chat)
    await place.pass_until(utc(14, 15, 30) + timedelta(seconds=3))
    return place.chat(ANA.id if chat is None else chat).ours()[-1]


# --- in private -------------------------------------------------------------------------------------------------------


async def test_what_is_set_in_private_is_confirmed_with_its_time_and_said_at_the_minute_with_its_buttons(
    place: Place,
) -> None:
    async with place.running():
        answer = await place.say("remind me to pay the rent at 11:30")
        assert answer == (
            "All right, I will remind you: “pay the rent”\n"
            f"⏰ today, March 14, at 11:30 AM · New York time (UTC−4){UNDO}"
        )
        await place.pass_until(utc(14, 15, 30) - timedelta(seconds=1))
        assert seen(place.chat()) == [answer]
        await place.pass_until(utc(14, 15, 30) + timedelta(seconds=1))
        assert seen(place.chat()) == [answer, f"⏰ pay the rent{BUTTONS}"]
        [_, sent] = place.server.done("sendmessage")
        assert sent.at_s == pytest.approx((utc(14, 15, 30) - START).total_seconds(), abs=0.5)
        assert not sent.params.get("disable_notification")
        assert mentioned(place.chat().ours()[-1]) == []
        await place.pass_until(utc(15, 16))
        assert len(seen(place.chat())) == 2, "once"


async def test_what_waits_for_a_mention_is_said_below_the_answer_also_after_a_restart(place: Place) -> None:
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
        assert seen(place.chat())[-1] == (
            "💬 You have not mentioned “plumber”, and that was until today. "
            "This is what I was to remind you of: “the leak”"
        )


@pytest.mark.parametrize(
    ("label", "told", "again", "restarted"),
    [
        ("✅ Done", "✓ “pay the rent”", None, False),
        ("✅ Done", "✓ “pay the rent”", None, True),
        ("10 min", "⏰ Again: today, March 14, at 11:40 AM\n“pay the rent”", utc(14, 15, 40), True),
        ("1 h", "⏰ Again: today, March 14, at 12:30 PM\n“pay the rent”", utc(14, 16, 30), False),
        ("Tomorrow", "⏰ Again: tomorrow, March 15, at 11:30 AM\n“pay the rent”", utc(15, 15, 30), False),
    ],
)
async def test_a_button_below_a_reminder_changes_the_message_in_place_and_it_is_said_again_then(
    place: Place, label: str, told: str, again: datetime | None, *, restarted: bool
) -> None:
    async with place.running():
        post = await fired(place)
        if not restarted:
            await place.press(label)
    if restarted:
        place.server.presses(ANA, label)  # while the bot is off
    async with place.running():
        await place.rest()
        assert seen(place.chat())[1:] == [told]
        assert place.chat().ours()[-1].id == post.id
        await place.pass_until((again or utc(15, 16)) - timedelta(seconds=10))
        assert seen(place.chat())[1:] == [told]
        if again is not None:
            await place.pass_until(again + timedelta(seconds=30))
            assert seen(place.chat())[1:] == [told, f"⏰ pay the rent{BUTTONS}"]
        assert (await place.say("/reminders")).startswith("You have no reminders.")


async def test_the_words_are_said_as_they_were_written(place: Place) -> None:
    words = "send *all* of <b>it</b> to _me_ & `you`, [see](http://x.example) @bia #1"
    async with place.running():
        post = await fired(place, text=words)
        assert post.text == f"⏰ {words}"
        assert {entity["type"] for entity in post.entities} <= {"code"}


# --- in a group -------------------------------------------------------------------------------------------------------


async def test_in_a_group_the_person_is_mentioned_and_nobody_else_whoever_the_words_name(place: Place) -> None:
    async with place.running():
        post = await fired(place, GROUP, "tell everybody")
        assert _seen(post) == f"Ana ⏰ tell everybody{BUTTONS}"
        assert mentioned(post) == [ANA.id]
        assert post.reply_to is None
        assert seen(place.chat()) == []


async def test_pressed_by_somebody_else_in_a_group_they_are_told_it_is_not_theirs_and_nothing_changes(
    place: Place,
) -> None:
    async with place.running():
        post = await fired(place, GROUP)
        for label in ("✅ Done", "10 min", "1 h", "Tomorrow"):
            await place.press(label, BIA, GROUP, post)
            assert seen(place.chat(GROUP))[-1] == NOT_YOURS
            assert _seen(post) == f"Ana ⏰ pay the rent{BUTTONS}"
        await place.pass_until(utc(15, 16))
        assert [text for text in seen(place.chat(GROUP)) if "⏰ pay the rent" in text] == [
            f"Ana ⏰ pay the rent{BUTTONS}"
        ]
        await place.press("✅ Done", ANA, GROUP, post)
        assert _seen(post) == "Ana ✓ “pay the rent”"


async def test_where_an_admin_turned_reminders_off_none_is_set_and_those_set_before_come_in_private(
    place: Place,
) -> None:
    async with place.running():
        await place.say("hi")  # a bot writes to nobody who never wrote
        await place.say("@elefante_bot remind me to bring cake at 11:30", chat=GROUP)
        await place.say("/admin@elefante_bot room reminders off", chat=GROUP)
        refused = await place.say("@elefante_bot remind me to bring beer at 11:40", chat=GROUP)
        assert refused == "Reminders are turned off in this room. Ask me in private, and I will remind you there."
        before = len(seen(place.chat(GROUP)))
        await place.pass_until(utc(14, 15, 45))
        assert seen(place.chat(GROUP))[before:] == []
        assert seen(place.chat())[1:] == [
            (
                "Here in private, because reminders are turned off in the room where you asked for it:\n\n"
                f"⏰ bring cake{BUTTONS}"
            )
        ]
        await place.press("10 min")
        await place.pass_until(utc(14, 15, 57))
        assert seen(place.chat())[1] == "⏰ Again: today, March 14, at 11:55 AM\n“bring cake”"
        assert seen(place.chat())[2].endswith(f"⏰ bring cake{BUTTONS}")
        assert len(seen(place.chat(GROUP))) == before


# --- what is refused --------------------------------------------------------------------------------------------------


def tries(place: Place, chat: int) -> list[timedelta]:
    """When it was tried to write there, in vain, since 11:30."""
    refused = [each for each in place.server.calls if each.method == "sendmessage" and each.code == 403]
    since = (utc(14, 15, 30) - START).total_seconds()
    return [timedelta(minutes=(each.at_s - since) // 60) for each in refused if each.chat_id == chat]


BACKOFF = [timedelta(minutes=minutes) for minutes in (0, 1, 6, 36, 156, 876)]


async def test_what_a_group_that_is_gone_refuses_to_the_last_is_said_in_private_with_the_reason(place: Place) -> None:
    async with place.running():
        await place.say("hi")
        await place.say("@elefante_bot remind me to bring cake at 11:30", chat=GROUP)
        place.chat(GROUP).refusal = KICKED
        await place.pass_until(utc(16, 15))
        assert tries(place, GROUP) == BACKOFF
        assert seen(place.chat())[1:] == [
            (
                "Here in private, because I could not write in the room where you asked for it:\n\n"
                f"⏰ bring cake\nLate: it was due Saturday, March 14, at 11:30 AM.{BUTTONS}"
            )
        ]


# --- with a language model, in the single cycle -----------------------------------------------------------------------


def model(*answers: Answer) -> ScriptedModel:
    return ScriptedModel({Task.SINGLE: list(answers)})


async def test_a_model_sets_it_with_one_call_and_none_is_made_when_it_is_due(place: Place) -> None:
    mind = model(Calls([("ReminderSet", {"text": "pay the rent", "when": "at 11:30", "then": "stop"})]))
    async with place.running(mind):
        assert await place.say("remind me to pay the rent at 11:30") == (
            "All right, I will remind you: “pay the rent”\n"
            f"⏰ today, March 14, at 11:30 AM · New York time (UTC−4){UNDO}"
        )
        await place.pass_until(utc(14, 15, 31))
        assert seen(place.chat())[1:] == [f"⏰ pay the rent{BUTTONS}"]
        await place.press("10 min")
        await place.pass_until(utc(14, 15, 42))
        assert seen(place.chat())[2:] == [f"⏰ pay the rent{BUTTONS}"]
    assert len(mind.prompts) == 1


# --- by another clock, and of others ----------------------------------------------------------------------------------


async def test_who_is_away_is_asked_on_the_day_after_and_goes_on_by_the_clock_at_home(place: Place) -> None:
    async with place.running():
        await place.say("hi")
        await place.say("I'm in Tokyo this week")
        await place.press("🕐 Yes, go by it")
        assert "Your time zone: Tokyo time (UTC+9)" in seen(place.chat())[-1]
        await place.skip_to(utc(16, 13) + timedelta(seconds=5))  # Monday, 9:00 in New York
        assert seen(place.chat())[-1] == (
            "🏠 Are you back? Then I go by New York time (UTC−4) again, and so do your reminders."
            " [Yes, I am back | Tomorrow]"
        )
        await place.press("Yes, I am back")
        assert seen(place.chat())[-1].startswith("Done. Your time zone: New York time (UTC−4)")


async def test_in_a_group_somebody_else_is_not_reminded_and_the_agenda_has_heads(place: Place) -> None:
    async with place.running():
        said = await place.say("@elefante_bot remind Bia to bring the cake at 11:30", chat=GROUP)
        assert said == (
            "I remind only who asks me, so they would have to ask me themselves. Shall I remind you?"
            " “remind Bia to bring the cake” [⏰ Yes, remind me | ⏰ Say it here]"
        )
        await place.press("⏰ Yes, remind me", chat=GROUP)
        await place.say("/agenda@elefante_bot", chat=GROUP)
        post = place.chat(GROUP).ours()[-1]
        assert post.text.startswith(
            "Saturday, March 14 · today\n⏰ 11:30 AM remind Bia to bring the cake\n\nSunday, March 15"
        )
        assert {entity["type"] for entity in post.entities} >= {"bold"}
