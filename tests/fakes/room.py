"""Ten people who ask at once in one room, with a model that takes its time: what each of them saw, and when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from adapters import discord
from adapters.discord.config import DiscordConfig
from core.dialogue import Prompt, StreamEvent, Task
from core.models import HotModel
from core.ports import Clock, MessageHandler
from core.storage.kept import SqlKept
from core.workers.port import Worker
from tests.e2e import discord_kit, telegram_kit
from tests.fakes.clock import FakeClock
from tests.fakes.commands import menu
from tests.fakes.discord_limits import Limits as DiscordLimits
from tests.fakes.discord_server import TOKEN, DiscordServer
from tests.fakes.discord_world import Note
from tests.fakes.discord_world import Person as DiscordPerson
from tests.fakes.house import House
from tests.fakes.model import ScriptedModel
from tests.fakes.ram import RamDatabase
from tests.fakes.telegram_limits import Limits as TelegramLimits
from tests.fakes.telegram_people import BOT, Json
from tests.fakes.telegram_people import Person as TelegramPerson
from tests.fakes.telegram_server import TelegramServer

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
    limits: TelegramLimits | None = None,
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
                server.says(TelegramPerson(100 + at), f"@{BOT['username']} {at}?", chat_id=chat_id)["message_id"]
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
        async with built.chatbot() as handler, _listening(server, clock, handler):
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


@asynccontextmanager
async def _listening(server: DiscordServer, clock: Clock, handler: MessageHandler) -> AsyncIterator[None]:
    """Run the adapter: on a clock of the test's, or on the real one."""
    if isinstance(clock, FakeClock):
        async with discord_kit.serving(server, clock, handler):
            yield
        return
    stop, config = asyncio.Event(), DiscordConfig(TOKEN, api_base_url=server.api_url)
    task = asyncio.create_task(
        discord.run(config, handler, clock, stop, menu=menu(), worker=Worker(), kept=SqlKept(RamDatabase()))
    )
    await server.until(lambda: server.gateway.online)
    yield
    stop.set()
    await task


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
