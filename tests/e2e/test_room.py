"""Ten people ask at once in one room: each sees within moments that they were heard, and each is answered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

import pytest

from core.clock import SystemClock
from core.dialogue import Prompt, StreamEvent, Task
from core.models import HotModel
from core.ports import Clock
from tests.e2e import discord_kit, telegram_kit
from tests.e2e.discord_kit import ANA, ME
from tests.fakes.clock import FakeClock
from tests.fakes.discord_limits import Limits as DiscordLimits
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import Note
from tests.fakes.discord_world import Person as DiscordPerson
from tests.fakes.house import House
from tests.fakes.model import ScriptedModel
from tests.fakes.telegram_people import BOT, Json, Person
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_wire import Limits

PEOPLE = 10
PATIENCE_S = 120.0
ROOM = 10**17 + 100
WORDS = " ".join(["palavra"] * 30) + " fim"


@dataclass(frozen=True)
class Asked:
    """What one person saw: seconds until the first sign, until the first message to them, and until all was said.

    `eyes` says that the sign of waiting was put on their message, `gone` that it went, and not before the answer came.
    """

    sign_s: float
    message_s: float
    whole_s: float
    eyes: bool = False
    gone: bool = False


class ThinkingModel(ScriptedModel):
    """Answers by script, after a while for each call and a moment for each word."""

    def __init__(self, clock: Clock, think_s: float, word_s: float) -> None:
        super().__init__({Task.DECIDE: lambda _: "Finish", Task.FINISH: lambda _: WORDS})
        self._clock = clock
        self._think_s = think_s
        self._word_s = word_s

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Think first."""
        await self._clock.sleep(self._think_s)
        async with super().stream(prompt) as events:
            yield self._slowly(events)

    async def _slowly(self, events: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
        async for event in events:
            await self._clock.sleep(self._word_s)
            yield event


def house(clock: Clock, platform: str, think_s: float, word_s: float, at_once: int = 8) -> House:
    """A bot that answers everybody on that platform, so many of a room at once."""
    built = House(clock=clock, trusted=(platform,))
    built.limits = replace(built.limits, answers_at_once=at_once)
    model = ThinkingModel(clock, think_s, word_s)
    for mode in (built.models.heavy, built.models.reasoning, built.models.chat):
        assert isinstance(mode, HotModel)
        mode.model = model
    return built


async def on_telegram(
    clock: Clock,
    limits: Limits | None = None,
    *,
    think_s: float = 1.0,
    word_s: float = 0.05,
    people: int = PEOPLE,
    at_once: int = 8,
) -> tuple[list[Asked], int]:
    """Ask in a Telegram group; how many calls were refused comes second."""
    chat_id = -1000
    async with TelegramServer(clock, limits, patience_s=PATIENCE_S) as server:
        built = house(clock, "telegram", think_s, word_s, at_once)
        async with built.chatbot() as handler, telegram_kit.serving(server, clock, handler):
            until = partial(telegram_kit.flow, server, clock) if isinstance(clock, FakeClock) else server.until
            await until(lambda: server.polled)
            began_s = clock.monotonic()
            ids = [
                server.says(Person(100 + at), f"@{BOT['username']} {at}?", chat_id=chat_id)["message_id"]
                for at in range(people)
            ]
            chat = server.chat(chat_id)
            await until(
                lambda: (
                    sum(text.endswith("fim") for text in chat.screen()) == people
                    and not any(post.reaction for post in chat.posts.values())
                )
            )
            seen = [_on_telegram(server, message_id, began_s) for message_id in ids]
            return seen, sum(call.code == 429 for call in server.calls)


def _on_telegram(server: TelegramServer, message_id: int, began_s: float) -> Asked:
    reactions = [call for call in server.done("setmessagereaction") if int(call.params["message_id"]) == message_id]
    posts = [call for call in server.done("sendmessage") if _answers(call.params) == message_id]
    ours = {call.message_id for call in posts}
    edits = [call for call in server.done("editmessagetext") if int(call.params["message_id"]) in ours]
    ended = [call.at_s for call in (*posts, *edits) if call.params["text"].endswith("fim")]
    typing = server.done("sendchataction")
    sign_s = min(call.at_s for call in (*reactions, *posts, *typing))
    eyes = [bool(call.params.get("reaction")) for call in reactions] == [True, False]
    gone = eyes and reactions[-1].at_s >= posts[0].at_s
    return Asked(sign_s - began_s, posts[0].at_s - began_s, min(ended) - began_s, bool(reactions), gone)


def _answers(params: Json) -> int:
    return int(params.get("reply_parameters", {}).get("message_id", 0))


async def on_discord(
    clock: Clock,
    limits: DiscordLimits | None = None,
    *,
    think_s: float = 1.0,
    word_s: float = 0.05,
    people: int = PEOPLE,
    at_once: int = 8,
) -> tuple[list[Asked], int]:
    """Ask in a Discord channel; how many requests were refused comes second."""
    askers = [DiscordPerson(10**17 + 5000 + number, "Ana") for number in range(people)]
    async with DiscordServer(clock, limits, patience_s=PATIENCE_S) as server:
        built = house(clock, "discord", think_s, word_s, at_once)
        async with built.chatbot() as handler, discord_kit.serving(server, clock, handler):
            until = partial(discord_kit.flow, server, clock) if isinstance(clock, FakeClock) else server.until
            began_s = clock.monotonic()
            asked = [await server.says(one, f"{discord_kit.ME} {at}?", room=ROOM) for at, one in enumerate(askers)]
            room = server.room(ROOM)
            await until(
                lambda: (
                    sum(text.endswith("fim") for text in room.screen()) == people
                    and not any(note.reactions for note in room.notes.values())
                )
            )
            return [_on_discord(server, note, began_s) for note in asked], len(server.invalid)


def _on_discord(server: DiscordServer, note: Note, began_s: float) -> Asked:
    reactions = [call.at_s for call in server.done("PUT", f"/messages/{note.id}/reactions")]
    posts = [write for write in server.writes if write.verb == "post" and write.reply_to == note.id]
    ours = {write.message for write in posts}
    ended = [write.at_s for write in server.writes if write.message in ours and write.text.endswith("fim")]
    first_s = min(write.at_s for write in posts)
    typing = [call.at_s for call in server.done("POST", "/typing")]
    gone = [call.at_s for call in server.done("DELETE", f"/messages/{note.id}/reactions")]
    sign_s, whole_s = min([*reactions, *typing, first_s]), min(ended)
    return Asked(
        sign_s - began_s,
        first_s - began_s,
        whole_s - began_s,
        bool(reactions),
        [at_s >= first_s for at_s in gone] == [True],
    )


@pytest.mark.parametrize(
    ("platform", "most_s"),
    [("telegram", 40.0), ("discord", 10.0)],  # what a group bears; two rounds side by side, of eight and of two
)
async def test_all_are_heard_at_once_and_answered_in_the_order_they_asked(platform: str, most_s: float) -> None:
    seen, refused = await (on_telegram(FakeClock(), Limits()) if platform == "telegram" else on_discord(FakeClock()))
    assert refused == 0
    assert max(one.sign_s for one in seen) < 2.0
    assert max(one.whole_s for one in seen) < most_s
    assert [one.whole_s for one in seen] == sorted(one.whole_s for one in seen)


async def test_who_waits_for_the_pace_of_a_telegram_group_alone_has_the_eyes_until_the_answer_comes() -> None:
    """Thirty are thought about at once, of whom Telegram lets twenty be answered in a minute."""
    seen, refused = await on_telegram(FakeClock(), Limits(), think_s=1.0, word_s=0.0, people=30, at_once=30)
    _wait_for_the_pace(seen, refused)


@pytest.mark.long
async def test_who_waits_for_the_pace_of_a_discord_channel_alone_has_the_eyes_until_the_answer_comes() -> None:
    """Ten are thought about at once, of whom Discord lets five be answered in five seconds of the library's clock."""
    seen, refused = await on_discord(SystemClock(), DiscordLimits(), think_s=0.1, word_s=0.0, people=10, at_once=10)
    _wait_for_the_pace(seen, refused)


def _wait_for_the_pace(seen: Sequence[Asked], refused: int) -> None:
    assert refused == 0
    assert [one.whole_s for one in seen] == sorted(one.whole_s for one in seen), "in the order they asked"
    begun_s = seen[0].whole_s
    assert [one.eyes for one in seen] == [one.whole_s - begun_s >= 1.0 for one in seen], seen
    assert any(one.eyes for one in seen)
    assert all(one.gone for one in seen if one.eyes), "and not before the answer came"


async def test_a_telegram_group_that_takes_no_reactions_is_asked_once_and_answered_all_the_same() -> None:
    clock = FakeClock()
    async with TelegramServer(clock) as server:
        server.chat(-1000).reactions = ""
        async with (
            house(clock, "telegram", 5.0, 0.0).chatbot() as handler,
            telegram_kit.serving(server, clock, handler),
        ):
            flow = partial(telegram_kit.flow, server, clock)
            for number in range(3):
                server.says(Person(7), f"@elefante_bot {number}?", chat_id=-1000)
                await telegram_kit.idle(server)
            await flow(lambda: sum(text.endswith("fim") for text in server.chat(-1000).screen()) == 3)
        assert [call.code for call in server.calls if call.method == "setmessagereaction"] == [400]


async def test_a_discord_channel_without_the_right_to_react_is_asked_once_and_answered_all_the_same() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        server.room(ROOM).no_reactions = True
        async with house(clock, "discord", 5.0, 0.0).chatbot() as handler, discord_kit.serving(server, clock, handler):
            for number in range(3):
                await server.says(ANA, f"{ME} {number}?", room=ROOM)
            flow = partial(discord_kit.flow, server, clock)
            await flow(lambda: sum(text.endswith("fim") for text in server.room(ROOM).screen()) == 3)
        assert len(server.invalid) == 1


async def test_who_waits_in_private_for_their_own_answer_sees_that_the_bot_is_typing(clock: FakeClock) -> None:
    slow = house(clock, "telegram", 5.0, 0.0)
    async with (
        TelegramServer(clock) as server,
        slow.chatbot() as handler,
        telegram_kit.serving(server, clock, handler),
    ):
        server.says(Person(7), "um")
        server.says(Person(7), "dois")
        chat = server.chat(7)
        await telegram_kit.flow(server, clock, lambda: sum(text.endswith("fim") for text in chat.screen()) == 2)
        assert [call.at_s for call in server.done("sendchataction")][:2] == [0.0, 4.0]
        assert not server.done("setmessagereaction")


async def test_who_asked_in_a_telegram_group_is_notified_of_an_answer_that_took_long(clock: FakeClock) -> None:
    slow = house(clock, "telegram", 15.0, 0.0)
    async with (
        TelegramServer(clock, Limits()) as server,
        slow.chatbot() as handler,
        telegram_kit.serving(server, clock, handler),
    ):
        asked = server.says(Person(7), "@elefante_bot e então?", chat_id=-1000)
        chat = server.chat(-1000)
        await telegram_kit.flow(server, clock, lambda: server.done("deletemessage"))
        [answer] = chat.ours()
        assert (answer.reply_to, answer.text.endswith("fim")) == (asked["message_id"], True)
    first, second = server.done("sendmessage")
    assert (first.text, second.message_id) == ("IA está pensando...", answer.id)


async def test_who_asked_in_a_discord_channel_is_pinged_alone_when_an_answer_took_long_or_waited() -> None:
    clock = FakeClock()
    slow = house(clock, "discord", 15.0, 0.0)
    slow.limits = replace(slow.limits, answers_at_once=1)
    async with DiscordServer(clock) as server:
        room = server.room(ROOM)
        async with slow.chatbot() as handler, discord_kit.serving(server, clock, handler):
            await server.says(ANA, f"{ME} e então?", room=ROOM)
            asked = await server.says(discord_kit.BIA, f"{ME} and me?", room=ROOM)
            await discord_kit.flow(server, clock, lambda: [text[-3:] for text in room.screen()] == ["fim", "fim"])
            await discord_kit.idle(server)
            mine, theirs = (note for note in room.notes.values() if note.by.bot)
            assert (mine.pinged, theirs.pinged) == ({ANA.id}, {discord_kit.BIA.id})
            assert theirs.reply_to == asked.id
            assert len(server.done("PUT", f"/messages/{asked.id}/reactions")) == 1
            await discord_kit.flow(server, clock, lambda: not asked.reactions)  # it goes when the answer comes
