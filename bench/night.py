"""A bot on loopback over an hour of trouble, on a clock that the bench moves: what its owners and members read.

Everything but the clock is the real program: `bot.run` with its settings file, log, database and alarms, real SDKs,
real sockets. Two owners on Telegram (one reads Portuguese, one English), one admin, three members.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, redirect_stderr, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import StringIO
from itertools import cycle
from pathlib import Path
from typing import Any
from unittest.mock import patch

import bot.run
from bot.logs import LOG_FILE, configure
from bot.settings.settings import Settings, load
from bot.wiring import build
from core.errors import BotError
from core.features.access.people import Person as Known
from core.features.access.storage import SqlPeople
from core.storage.sqlite import open_database
from core.text.catalogue import text
from core.types import Role, UserKey
from tests.e2e.telegram_kit import idle
from tests.fakes import anthropic_server, openai_server, telegram_server
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import TOKEN as DISCORD_TOKEN
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import OWNER_ID
from tests.fakes.discord_world import Person as Member
from tests.fakes.http_server import Answer, Asked, LoopbackServer
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_wire import Refused
from tests.fakes.wires import Api

HOUR_S = 3600.0
KEY = "sk-SECRET-KEY"
WORD = "jabuticaba"
"""A word of every message of the members': it stands in no alarm and no line of the log."""

PT, EN, ADMIN = Person(7, "Ana", "pt-br"), Person(8, "Eve", "en"), Person(6, "Adm", "en")
MEMBERS = Person(9, "Bia", "pt-br"), Person(10, "Caio", "pt-br"), Person(11, "Dan", "en")
THERE = Member(OWNER_ID, "Eve", "en-US")

THINKING = text("common.thinking")

IN_VAIN = re.compile(r"tente de novo (daqui|em )|try again in|daqui a pouco|in a little while", re.IGNORECASE)
"""What a member must not read where only the owner can help."""

APIS: dict[str, Api] = {"anthropic": anthropic_server, "openai": openai_server, "ollama": openai_server}
Script = Answer | Callable[[Asked], Answer]


class Killed(Exception):
    """The process is gone, whatever it was doing."""


@dataclass
class Told:
    """One message that an owner read: when, who, what."""

    at_s: float
    to: str
    text: str


@dataclass
class Night:
    """The worlds around one bot, and what was read there. `wrong` is what must not be, in words."""

    folder: Path
    clock: FakeClock
    telegram: TelegramServer
    discord: DiscordServer | None = None
    models: dict[str, LoopbackServer] = field(default_factory=dict)
    webhook: LoopbackServer | None = None
    wrong: list[str] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    began_s: float = 0.0
    ended_s: float | None = None
    terminal: StringIO = field(default_factory=StringIO)
    app: Any = None
    answered: set[str] = field(default_factory=set)
    posted: list[tuple[float, str]] = field(default_factory=list)
    _task: asyncio.Task[None] | None = None
    _people: Iterator[Person] = field(default_factory=lambda: cycle(MEMBERS))
    _number: int = 0

    # --- the bot ---

    def write_env(self, **settings: str) -> None:
        """Write the settings file; what was in it before stays, but for these."""
        path = self.folder / ".env"
        old = dict(line.split("=", 1) for line in path.read_text().splitlines()) if path.exists() else {}
        path.write_text("".join(f"{name}={value}\n" for name, value in (old | settings).items()))

    @property
    def settings(self) -> Settings:
        """What the settings file says now."""
        return load(self.folder / ".env")

    async def let_in(self) -> None:
        """Give everybody their role, in the database of a bot that does not run."""
        self.settings.data_dir.mkdir(exist_ok=True)
        database = await open_database(self.settings.database_path)
        people = SqlPeople(database)
        for who in (PT, EN, ADMIN, *MEMBERS):
            role = {7: Role.OWNER, 8: Role.OWNER, 6: Role.ADMIN}.get(who.id, Role.MEMBER)
            await people.put(Known(UserKey("telegram", str(who.id)), role, who.first_name, self.clock.now()))
            self.telegram.chat(who.id)
        if self.discord is not None:
            owner = UserKey("discord", str(THERE.id))
            await people.put(Known(owner, Role.OWNER, THERE.name, self.clock.now()))
        await database.close()

    async def hello(self) -> None:
        """Start the bot with everybody in it; the owners and a member have talked to it before."""
        await self.let_in()
        await self.start()
        for who, said in ((PT, "Oi, qual é a cor do céu hoje?"), (EN, "Hello, what is the colour of the sky today?")):
            await self.answer(who, said)  # now their languages are known
        for _ in MEMBERS:
            self.ask()
            await self.pass_(5.0)

    async def crash(self) -> None:
        """Kill the bot: nothing that it does from now on reaches the disk that the next one starts with."""
        assert self._task is not None
        kept = self.folder / "kept"
        shutil.copytree(self.folder / "data", kept)
        calls, asked = self.telegram.calls, [list(server.asked) for server in self.models.values()]
        before = len(calls)

        def dead(_method: str, _params: Any) -> None:
            raise Refused(502, "Bad Gateway")

        self.telegram.faults.append(dead)
        self._task.cancel()
        while not self._task.done():
            await self.rest()
            await self.clock.advance(0.5)
        self.telegram.faults.remove(dead)
        del calls[before:]
        for server, old in zip(self.models.values(), asked, strict=True):
            server.asked[:] = old
        shutil.rmtree(self.folder / "data")
        kept.rename(self.folder / "data")
        self._task = None

    async def discord_answer(self, text: str) -> str:
        """Say something as the owner on Discord, and return what they read last."""
        assert self.discord is not None
        await self.discord.says(THERE, text)
        await self.pass_(20.0)
        screen = self.discord.direct(THERE).screen()
        self.answered |= set(screen[-1:])
        return screen[-1] if screen else ""

    async def start(self, until_connected: bool = True) -> None:
        """Start the bot, and wait until it polls."""
        settings = self.settings
        settings.data_dir.mkdir(exist_ok=True)
        configure(settings.log_folder, settings.log_level, settings.secrets())
        self.telegram.polled = False
        if self.discord is not None:
            self.discord.direct(THERE)

        @asynccontextmanager
        async def built(settings: Settings, **given: Any) -> AsyncIterator[Any]:
            async with build(settings, clock=self.clock, **given) as self.app:
                yield self.app

        async def run() -> None:
            with patch.object(bot.run, "build", built), redirect_stderr(self.terminal):
                await bot.run.run(settings)

        self._task = asyncio.create_task(run())
        while until_connected and not self.telegram.polled and not self._task.done():
            await self.pass_(0.1)
        await self.pass_(1.0)

    @property
    def is_up(self) -> bool:
        """Whether the bot runs."""
        return self._task is not None and not self._task.done()

    async def stop(self) -> BotError | None:
        """Stop the bot as SIGTERM does; return the error that it ended with."""
        assert self._task is not None
        if not self._task.done():
            os.kill(os.getpid(), signal.SIGTERM)
        while not self._task.done():
            await self.rest()
            await self.clock.advance(1.0)
        failed = self._task.exception()
        self._task = None
        if failed is not None and not isinstance(failed, BotError):
            raise failed
        return failed

    # --- time ---

    async def rest(self) -> None:
        """Return when nothing happens any more on sockets and threads: real milliseconds."""
        quiet, seen = 0, tuple[int, ...]()
        while quiet < 4:
            await idle(self.telegram)
            await asyncio.sleep(0.002)
            now = (
                len(self.telegram.calls),
                *(len(server.asked) for server in self.models.values()),
                len(self.discord.calls) if self.discord else 0,
                len(self.webhook.asked) if self.webhook else 0,
                self._log_bytes(),
            )
            quiet, seen = (quiet + 1 if now == seen else 0), now

    async def pass_(self, seconds: float, step_s: float = 1.0) -> None:
        """Let time go by."""
        until_s = self.clock.monotonic() + seconds
        while (left_s := until_s - self.clock.monotonic()) > 0:
            await self.rest()
            await self.clock.advance(min(step_s, left_s))
        await self.rest()

    async def trouble(
        self, hours: float = 1.0, ask_every_s: float = 60.0, turn: Callable[[], None] | None = None
    ) -> None:
        """Pass so many hours of trouble, from now on, while members ask; `turn` is called before each question."""
        await self.pass_(30.0, 5.0)  # what stands before it is done
        began_s = self.began_s = self.clock.monotonic()
        while self.clock.monotonic() - began_s < hours * HOUR_S:
            if turn is not None:
                turn()
            self.ask()
            step_s = 0.5 if self.clock.monotonic() - began_s < 240 else 20.0
            await self.pass_(ask_every_s, step_s)

    # --- people ---

    def ask(self, words: str = "", who: Person | None = None) -> Person:
        """Let the next member ask something."""
        who = who or next(self._people)
        self._number += 1
        self.telegram.says(who, words or f"Qual é a cor da {WORD} número {self._number}?")
        return who

    async def answer(self, who: Person, text: str) -> str:
        """Say something as that person, and return what they read last."""
        self.telegram.says(who, text)
        await self.pass_(20.0)
        screen = self.telegram.chat(who.id).screen()
        return screen[-1] if screen else ""

    async def look(self) -> None:
        """Ask for /admin status and /admin logs, as the admin."""
        self.answers["status"] = await self.answer(ADMIN, "/admin status")
        self.answers["logs"] = await self.answer(ADMIN, "/admin logs")

    def read(self, who: Person) -> str:
        """What that person sees last from the bot."""
        screen = self.telegram.chat(who.id).screen()
        return screen[-1] if screen else ""

    def all_read(self) -> list[str]:
        """What members see of the bot, without repeats."""
        return list(dict.fromkeys(text for who in MEMBERS for text in self.telegram.chat(who.id).screen()))

    # --- what owners were told ---

    def told(self) -> list[Told]:
        """Everything that owners were told without having asked."""
        found = [
            Told(call.at_s, {7: "pt", 8: "en"}[call.chat_id], call.text)
            for call in self.telegram.done("sendmessage")
            if call.chat_id in {7, 8} and call.text not in THINKING.values()
        ]
        if self.discord is not None:
            own = self.discord.direct(THERE).id
            found += [
                Told(w.at_s, "discord", w.text)
                for w in self.discord.writes
                if w.channel == own and w.verb == "post" and w.text not in THINKING.values()
            ]
        if self.webhook is not None:
            found += [Told(at_s, "webhook", text) for at_s, text in self.posted]
        return sorted((each for each in found if each.text not in self.answered), key=lambda each: each.at_s)

    def of_trouble(self, to: str = "pt") -> list[Told]:
        """What one owner was told from the beginning of the trouble to its end."""
        end_s = self.ended_s if self.ended_s is not None else self.clock.monotonic() + 1
        return [each for each in self.told() if each.to == to and self.began_s <= each.at_s < end_s]

    def after(self, to: str = "pt") -> list[Told]:
        """What one owner was told after the trouble."""
        return [
            each for each in self.told() if each.to == to and self.ended_s is not None and each.at_s >= self.ended_s
        ]

    def end(self) -> None:
        """The trouble is over now."""
        self.ended_s = self.clock.monotonic()

    # --- judging ---

    def must(self, holds: object, what: str) -> None:
        """Note what is wrong unless that holds."""
        if not holds:
            self.wrong.append(what)

    @property
    def log(self) -> str:
        """The whole log."""
        path = self.settings.log_folder
        return (path / LOG_FILE).read_text("utf-8") if path and (path / LOG_FILE).exists() else ""

    def log_lines(self, *levels: str) -> list[dict[str, Any]]:
        """Return the lines of these levels, or all."""
        lines = [json.loads(line) for line in self.log.splitlines()]
        return [line for line in lines if line["level"] in levels] if levels else lines

    def _log_bytes(self) -> int:
        with suppress(OSError):
            return (self.folder / "data" / LOG_FILE).stat().st_size
        return 0


@asynccontextmanager
async def night(
    folder: Path, *models: str, discord: bool = False, webhook: bool = False, **settings: str
) -> AsyncIterator[Night]:
    """Open the worlds: servers of those models, which answer everything until a scenario has them do otherwise."""
    clock = FakeClock(start=datetime.now(UTC).replace(microsecond=0))
    with ExitStack() as patches:
        for library in ("openai", "anthropic"):  # an SDK waits by the real clock before it asks again
            module = f"{library}._base_client.INITIAL_RETRY_DELAY"
            patches.enter_context(patch(module, 0.001))
        own = {name: "" for name in os.environ if name.endswith(("_TOKEN", "_API_KEY", "_BASE_URL"))}
        patches.enter_context(patch.dict(os.environ, own | {"ELEFANTE_ENV": str(folder / ".env")}))
        async with _opened(folder, clock, models, discord=discord, webhook=webhook) as world:
            env = {
                "TELEGRAM_TOKEN": telegram_server.TOKEN,
                "TELEGRAM_API_BASE_URL": world.telegram.url,
                "DATA_DIR": str(folder / "data"),
            }
            if world.discord is not None:
                env |= {"DISCORD_TOKEN": DISCORD_TOKEN, "DISCORD_API_BASE_URL": world.discord.api_url}
            for name in models:
                provider = name.rstrip("2")
                env[f"{provider.upper()}_BASE_URL"] = world.models[name].url + (
                    "" if provider == "anthropic" else "/v1"
                )
                if provider != "ollama":
                    env[f"{provider.upper()}_API_KEY"] = f"{KEY}-{provider}"
            if world.webhook is not None:
                env["ALERT_URL"] = f"{world.webhook.url}/hook/SECRET-PATH"
            world.write_env(**env | settings)
            try:
                yield world
            finally:
                if world.is_up:
                    await world.stop()


@asynccontextmanager
async def _opened(
    folder: Path, clock: FakeClock, models: tuple[str, ...], *, discord: bool, webhook: bool
) -> AsyncIterator[Night]:
    from contextlib import AsyncExitStack

    async with AsyncExitStack() as stack:
        telegram = await stack.enter_async_context(TelegramServer(clock))
        world = Night(folder, clock, telegram)
        if discord:
            world.discord = await stack.enter_async_context(DiscordServer(clock))
        for name in models:
            server = world.models[name] = LoopbackServer()
            await stack.enter_async_context(server.running())
            server.answers = [says(name)]
        if webhook:
            world.webhook = LoopbackServer()
            await stack.enter_async_context(world.webhook.running())

            def take(asked: Asked) -> Answer:
                world.posted.append((clock.monotonic(), str(asked.body.get("text"))))
                return Answer(200, body=b"{}")

            world.webhook.answers = [take]
        yield world


def says(name: str, text: str = "Roxa.") -> Answer:
    """An answer of a model that works."""
    return APIS[name.rstrip("2")].says(text)


def fails(name: str, status: int, message: str = "SECRET", headers: dict[str, str] | None = None) -> Answer:
    """An HTTP error of a model."""
    return APIS[name.rstrip("2")].fails(status, message, headers)
