"""Days on which nobody writes: how often a bot that has people, memories and reminders asks its model meanwhile.

All that `elefante run` does, on both platforms, on a clock that goes by as fast as the bot sleeps.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.proof.page import Proven, Table
from bot.platforms import PLATFORMS
from bot.run import answer
from bot.settings.settings import load
from tests.e2e.flowing import counting_the_disk, flow, idle
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import TOKEN as DISCORD_TOKEN
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import Person as Member
from tests.fakes.http_server import LoopbackServer
from tests.fakes.openai_server import says
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN, TelegramServer

DAYS: Final = 7
PEOPLE: Final = 5
SAID: Final = (
    "/remember the wifi password is tulip{n}",
    "How are you?",
    "Tell me about boats",
    "/remind in 3 days pay {n}",
)
_STEP_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class Town:
    """A bot of both platforms on a clock of our own, and the model that counts its calls."""

    clock: FakeClock
    telegram: TelegramServer
    discord: DiscordServer
    model: LoopbackServer

    async def say(self, number: int, text: str) -> None:
        """Let the person of that number write on each platform, and wait for something new there."""
        friend, member = Person(1000 + number, "Ana", "en"), Member(10**17 + 5000 + number, "Ana", "en-US")
        here, there = self.telegram.chat(friend.id), self.discord.direct(member)
        before = len(here.screen()), len(there.screen())
        self.telegram.says(friend, text)
        await self.discord.says(member, text)
        await flow(
            self.telegram, self.clock, lambda: len(here.screen()) > before[0] and len(there.screen()) > before[1]
        )

    @property
    def written(self) -> int:
        """How many messages the bot has written."""
        return len(self.telegram.done("sendmessage")) + len(self.discord.done("POST", "/messages"))


@asynccontextmanager
async def town(folder: Path) -> AsyncIterator[Town]:
    """Run the bot, open to everybody."""
    clock = FakeClock()
    async with AsyncExitStack() as stack:
        telegram = await stack.enter_async_context(TelegramServer(clock))
        discord = await stack.enter_async_context(DiscordServer(clock))
        model = LoopbackServer([says("Purple.")])
        await stack.enter_async_context(model.running())
        stack.enter_context(counting_the_disk(telegram))  # time waits for it
        settings = load(
            None, data_dir=folder, access="open", language="en", quota_guest="none", quota_person="none",
            model="openai:m", openai_api_key="k", openai_base_url=f"{model.url}/v1",
            telegram_token=TOKEN, telegram_api_base_url=telegram.url,
            discord_token=DISCORD_TOKEN, discord_api_base_url=discord.api_url,
        )  # fmt: skip
        chosen = {name: PLATFORMS[name] for name in ("telegram", "discord")}
        stop = asyncio.Event()
        bot = asyncio.create_task(answer(settings, chosen, stop, clock=clock))
        here = Town(clock, telegram, discord, model)
        await flow(telegram, clock, lambda: telegram.polled and discord.gateway.online)
        try:
            yield here
        finally:
            stop.set()
            while not bot.done():
                await idle(telegram)
                await clock.advance(1.0)
            assert await bot is None


async def idle_days(days: int) -> Proven:
    """Let people talk, then let so many days go by, then let one write again."""
    with tempfile.TemporaryDirectory() as folder:
        async with town(Path(folder)) as here:
            for number in range(PEOPLE):
                for text in SAID:
                    await here.say(number, text.format(n=number))
            await here.clock.advance(_STEP_S)  # what follows a talk in the background
            await idle(here.telegram)
            talked, wrote = len(here.model.asked), here.written
            for _ in range(int(days * 86_400 / _STEP_S)):
                await here.clock.advance(_STEP_S)
                await idle(here.telegram)
            calls, reminded = len(here.model.asked) - talked, here.written - wrote
            await here.say(0, "How are you?")
            again = len(here.model.asked) - talked - calls
    said = 2 * PEOPLE * len(SAID)
    due = 2 * PEOPLE * (days >= 4)
    rows = [
        (f"a talk of {said} messages of {2 * PEOPLE} people", str(said), str(talked), str(wrote)),
        (f"{days} days on which nobody writes", "0", str(calls), f"{reminded}, all of them reminders that came due"),
        ("two messages after them", "2", str(again), "2"),
    ]
    wrong = [f"{calls} calls of the model on idle days"] * bool(calls)
    wrong += [f"{reminded} messages on idle days, where {due} reminders came due"] * (reminded != due)
    wrong += ["the model was not asked after them"] * (not again)
    return Proven(
        f"{days} idle days, {calls} calls of the model.",
        [Table(("when", "messages of people", "calls of the model", "messages of the bot"), rows)],
        wrong=wrong,
        figures={"idle_days": str(days), "idle_calls": str(calls)},
    )
