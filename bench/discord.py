"""Discord: CPU of an event, time to the first sign, edits at the real limits, memory over turns.

The bare library's share is measured in the same run: same events, same transport that answers from memory.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its own import warns of `audioop`
    import discord

from adapters.discord.api import DiscordApi
from adapters.discord.bookmark import Bookmarks
from adapters.discord.config import DiscordConfig
from adapters.discord.form import Forms
from adapters.discord.gateway import GatewayClient, Turns
from adapters.discord.message_handler import UpdateHandler
from adapters.discord.pacer import Pacer
from adapters.running import ignored
from bench.process import rss_mib
from bench.table import show
from bench.turn import NoChannel, incoming
from bot.settings.settings import load
from bot.wiring import build, open_chatbot
from core.clock import SystemClock
from core.delivery.view import View
from core.outgoing import OutgoingMessage
from core.ports import Channel, Channels, Clock, MessageHandler
from core.types import ChatKey, Incoming, UserKey
from core.workers import OneWorker
from tests.e2e.discord_kit import flow, running
from tests.fakes.clock import FakeClock
from tests.fakes.discord_limits import Limits
from tests.fakes.discord_server import TOKEN, DiscordServer
from tests.fakes.discord_world import BOT, BOT_ID, OWNER_ID, Json, Note, Person, World
from tests.fakes.handler import slowly
from tests.reference.kept import InMemoryKept

ROUNDS = 3
EVENTS = 2000
CHATS = 200
FIRST_ID = 10**17 + 5000


class Echo(MessageHandler):
    """Answers with one message, or (silent) not at all; keeps nothing."""

    def __init__(self, clock: Clock, *, silent: bool) -> None:
        self._clock = clock
        self._silent = silent

    async def receive(self, incoming: Incoming, channel: Channel) -> Awaitable[None]:
        """Answer in a task of its own, as the core does."""
        return asyncio.ensure_future(self._answer(incoming, channel))

    async def resume(self, platform: str, channels: Channels) -> None:
        """Nothing is owed."""

    async def _answer(self, incoming: Incoming, channel: Channel) -> None:
        if not self._silent:
            view = View(channel, self._clock)
            await view.show(OutgoingMessage(incoming.text))
            await view.close()


class Bare(discord.Client):
    """The library with a handler that answers, or does nothing."""

    def __init__(self, *, silent: bool) -> None:
        super().__init__(intents=discord.Intents.all(), max_messages=None)
        self._silent = silent

    async def on_message(self, message: discord.Message) -> None:
        """Say it back."""
        if not self._silent:
            await message.channel.send(message.content)


async def accept(route: discord.http.Route, **_: Any) -> Json:
    """Answer a request as Discord would, without a network."""
    sent = Note(FIRST_ID, int(route.channel_id or 0), BOT, "ok")
    world = World(SystemClock())
    world.channels[sent.channel] = world.room(sent.channel)
    return world.note_json(sent)


def events(count: int, clock: Clock) -> list[Json]:
    """Direct messages of many people, as the gateway gives them."""
    world = World(clock)
    told = []
    for number in range(count):
        person = Person(FIRST_ID + number % CHATS, "Ana")
        channel = world.direct(person)
        note = Note(world.snowflake(), channel.id, person, f"Você lembra da mensagem **{number}**?")
        told.append(world.note_json(note))
    return told


async def hear(client: discord.Client, told: list[Json]) -> None:
    """Let the library parse the events and run what they set off."""
    client.http.request = accept  # type: ignore[method-assign]
    parse = client._connection.parsers["MESSAGE_CREATE"]  # noqa: SLF001
    for at, event in enumerate(told):
        parse(event)
        if at % 50 == 0:
            await asyncio.sleep(0)
    while len(asyncio.all_tasks()) > 1:  # noqa: ASYNC110 (whatever they are)
        await asyncio.sleep(0)


async def bare(told: list[Json], *, silent: bool) -> float:
    """CPU microseconds an event in the bare library."""
    async with Bare(silent=silent) as client:
        began = time.process_time()
        await hear(client, told)
        return (time.process_time() - began) / len(told) * 1e6


async def no_press(_: discord.Interaction[Any]) -> None:
    """Nobody presses anything here."""


async def ours(told: list[Json], *, silent: bool, rounds: int = 1) -> float:
    """CPU microseconds an event in the adapter: parse, intake, and view and pacer of an answer."""
    clock = FakeClock(auto=True)
    config = DiscordConfig(TOKEN, max_age_s=1e9)
    pacer = Pacer(clock, OneWorker())
    api = DiscordApi(pacer, clock)
    handler, bookmarks = Echo(clock, silent=silent), Bookmarks(InMemoryKept(), clock)
    intake = UpdateHandler(handler, api, bookmarks, config, clock, forms=Forms(clock), tell_unread=ignored, me=BOT_ID)
    duties = OneWorker()
    async with GatewayClient(
        intake,
        no_press,
        pacer.trace(),
        clock,
        bookmarks=bookmarks,
        duties=duties,
        turns=Turns(duties, 1, clock),
        reads_all=True,
        connected=ignored,
    ) as client:
        api.use(client)
        began = time.process_time()
        for _ in range(rounds):
            await hear(client, told)
        return (time.process_time() - began) / len(told) / rounds * 1e6


def cpu() -> None:
    """An event's CPU, ours beside the library's, interleaved; the lowest of the rounds."""
    told = events(EVENTS, FakeClock())
    rows = []
    for silent, what in ((True, "taken, not answered"), (False, "answered with one message")):
        library, adapter = [], []
        for _ in range(ROUNDS):
            library.append(asyncio.run(bare(told, silent=silent)))
            adapter.append(asyncio.run(ours(told, silent=silent)))
        rows.append((what, f"{min(library):.0f}", f"{min(adapter):.0f}", f"{min(adapter) / min(library):.2f}"))
    show("CPU of a MESSAGE_CREATE, us", ("event", "bare library", "ours", "ratio"), rows)


async def _first_signs(folder: str, count: int) -> list[float]:
    """Seconds from an event to the first thing its channel sees, with `elefante run` as a process of its own."""
    clock = SystemClock()
    owner = Person(OWNER_ID, "Dona")
    async with DiscordServer(clock, patience_s=60.0) as server:
        env = os.environ | {"DISCORD_TOKEN": TOKEN, "DISCORD_API_BASE_URL": server.api_url, "DATA_DIR": folder}
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", "run", env=env, stderr=asyncio.subprocess.DEVNULL
        )
        await server.until(lambda: server.gateway.online)
        waits = []
        for _ in range(count):
            done, began = len(server.writes), clock.monotonic()
            await server.says(owner, "qual é a senha do wi-fi?")
            await server.until(lambda: len(server.writes) > done)  # noqa: B023 (awaited at once)
            waits.append(clock.monotonic() - began)
            await asyncio.sleep(1.5)  # until it is answered, within what the channel bears
        child.terminate()
        await child.wait()
        return waits


def first_sign() -> None:
    """From an event to the first visible sign, the durable inbox included, no model."""
    with tempfile.TemporaryDirectory() as folder:
        waits = asyncio.run(_first_signs(folder, 40))
    tail = quantiles(waits, n=20)[-1]
    rows = [(f"{median(waits) * 1000:.0f} ms", f"{tail * 1000:.0f} ms", f"{max(waits) * 1000:.0f} ms", "under 300 ms")]
    show("From an event to the first sign in the channel", ("p50", "p95", "max", "aim"), rows)


async def _hundred() -> tuple[int, int, int, float]:
    clock = FakeClock()
    text = "palavra " * 230 + "fim"
    people = [Person(FIRST_ID + number, "Ana") for number in range(100)]
    async with DiscordServer(clock, Limits()) as server:
        async with running(server, clock, slowly(clock, text, 0.1)) as bot:
            for person in people:
                await server.says(person, "oi")
            await flow(server, clock, lambda: bot.handler.answered == 100, patience_s=600)
        whole = sum(server.direct(person).screen() == [text] for person in people)
        edits = sum(write.verb == "edit" for write in server.writes)
        return whole, edits, len(server.invalid), max(write.at_s for write in server.writes)


def limits() -> None:
    """A hundred chats at once against the reported limits, on a virtual clock."""
    whole, edits, refused, took_s = asyncio.run(_hundred())
    rows = [(f"{whole} of 100", f"{edits / 100:.1f}", str(refused), f"{took_s:.0f} s, of which the model 23 s")]
    show("100 chats at once, 1,850 characters each", ("whole answers", "edits an answer", "429s (aim 0)", "time"), rows)


async def _turns(marks: tuple[int, ...]) -> list[float]:
    found = []
    done = 0
    told = events(100, FakeClock())
    for mark in marks:
        await ours(told, silent=False, rounds=(mark - done) // len(told))
        done = mark
        gc.collect()
        found.append(rss_mib(os.getpid()))
    return found


def memory() -> None:
    """Resident memory of this process after so many turns of the adapter."""
    marks = (1000, 10_000)
    found = asyncio.run(_turns(marks))
    rows = [(f"{mark:,} turns", f"{mib:.1f} MiB") for mark, mib in zip(marks, found, strict=True)]
    show("Memory over turns (aim: flat)", ("after", "resident"), rows)


async def _whole(folder: Path, marks: tuple[int, ...]) -> list[float]:
    """Resident memory of a whole bot, its embedder included, after so many turns of 200 people."""
    found = []
    async with build(load(None, data_dir=folder)) as app, open_chatbot(app) as handler:
        for number in range(1, marks[-1] + 1):
            who = f"{number % CHATS}"
            said = "obrigado!" if number % 50 else f"Lembre que a senha do serviço {number} é k{number * 7919}"
            one = replace(incoming(said, number), user=UserKey("console", who), chat=ChatKey("console", who))
            await (await handler.receive(one, NoChannel()))
            if number in marks:
                gc.collect()
                found.append(rss_mib(os.getpid()))
    return found


def whole() -> None:
    """Resident memory of everything but the platform: core, SQLite, indexes, embedder; no language model."""
    marks = (1000, 10_000)
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(_whole(Path(folder), marks))
    rows = [(f"{mark:,} turns", f"{mib:.1f} MiB") for mark, mib in zip(marks, found, strict=True)]
    show("Memory of a whole bot over turns (aim: flat)", ("after", "resident"), rows)


def main() -> None:
    """Measure and print."""
    cpu()
    first_sign()
    limits()
    memory()
    whole()
