"""Telegram: CPU of an update, time to the first sign, edits at the real limits, memory over turns.

The bare library's share is measured in the same run: same updates, same transport that answers from memory.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Awaitable, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from telegram import Bot, Update
from telegram.ext import Application, ApplicationBuilder, ContextTypes, filters
from telegram.ext import MessageHandler as LibraryHandler
from telegram.request import BaseRequest, RequestData

from adapters.telegram.api import TelegramApi
from adapters.telegram.config import Pace, TelegramConfig
from adapters.telegram.pacer import Pacer
from adapters.telegram.state import State
from adapters.telegram.update_handler import UpdateHandler
from adapters.telegram.updates import take_one
from bench.process import rss_mib
from bench.table import show
from core.clock import SystemClock
from core.delivery.view import View
from core.dialogue import Task
from core.features.ledger.storage import SqlLedger
from core.outgoing import OutgoingMessage
from core.ports import Channel, Channels, Clock, MessageHandler
from core.storage.database import Database
from core.storage.history import SqlHistory
from core.storage.inbox import SqlInbox
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.types import Incoming
from core.workers import OneWorker
from tests.e2e.telegram_kit import flow, running
from tests.fakes.clock import FakeClock
from tests.fakes.handler import slowly
from tests.fakes.house import House, Script
from tests.fakes.telegram_limits import Limits
from tests.fakes.telegram_people import BOT, People, Person
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.reference.kept import InMemoryKept

ROUNDS = 3
UPDATES = 2000
CHATS = 200


class Memory(BaseRequest):
    """A transport without a network: every message is accepted at once, and counted."""

    def __init__(self) -> None:
        self.messages = 0

    @property
    def read_timeout(self) -> float:
        """Seconds; nothing here takes any."""
        return 5.0

    async def initialize(self) -> None:
        """Nothing to open."""

    async def shutdown(self) -> None:
        """Nothing to close."""

    async def do_request(
        self,
        url: str,
        method: str,  # noqa: ARG002 (the port's)
        request_data: RequestData | None = None,
        *_: Any,
        **__: Any,
    ) -> tuple[int, bytes]:
        """Answer as the Bot API would."""
        if url.endswith("/getMe"):
            return 200, json.dumps({"ok": True, "result": BOT}).encode()
        self.messages += url.endswith("/sendMessage")
        asked = request_data.parameters if request_data else {}
        sent = {"message_id": 1, "date": 1, "chat": {"id": asked.get("chat_id", 1), "type": "private"}, "from": BOT}
        return 200, json.dumps({"ok": True, "result": sent | {"text": asked.get("text", "")}}).encode()


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


def updates(count: int, clock: Clock) -> list[dict[str, Any]]:
    """Messages of many people, as the server gives them."""
    people = People(clock)
    for number in range(count):
        people.says(Person(1000 + number % CHATS), f"Você lembra da mensagem **{number}**?")
    return people.updates


async def bare(raw: list[dict[str, Any]], *, silent: bool) -> float:
    """CPU microseconds an update in the bare library: parse, dispatch, a handler that answers or does nothing."""

    async def handle(update: Update, _: ContextTypes.DEFAULT_TYPE) -> None:
        if not silent and update.message is not None:
            await update.message.reply_text(update.message.text or "")

    app: Application[Any, Any, Any, Any, Any, Any] = (
        ApplicationBuilder().token(TOKEN).request(Memory()).get_updates_request(Memory()).updater(None).build()
    )
    app.add_handler(LibraryHandler(filters.TEXT, handle))
    async with app:
        began = time.process_time()
        for one in raw:
            await app.process_update(Update.de_json(one, app.bot))
        return (time.process_time() - began) / len(raw) * 1e6


async def ours(raw: list[dict[str, Any]], *, silent: bool) -> float:
    """CPU microseconds an update in the adapter: parse, intake, and view, pacer and formatter of an answer."""
    clock = SystemClock()
    transport = Memory()
    async with Bot(TOKEN, request=transport, get_updates_request=Memory()) as bot:
        intake = _intake(bot, clock, Echo(clock, silent=silent))
        began = time.process_time()
        for one in raw:
            await take_one(one, bot, intake.take)
        await intake.drain(1e9)
        took_s = time.process_time() - began
        assert silent or transport.messages == len(raw)
        return took_s / len(raw) * 1e6


def _intake(bot: Bot, clock: Clock, handler: MessageHandler) -> UpdateHandler:
    boundless = Pace(burst=10**8, per_s=1e9)  # what is measured is work, not waiting
    config = TelegramConfig(TOKEN, private=boundless, overall=boundless, max_age_s=1e9)
    state = State(InMemoryKept())
    api = TelegramApi(bot, Pacer(config.private, config.group, config.overall, clock, OneWorker()), state)
    return UpdateHandler(handler, api, bot.bot, clock, config, state=state)


def cpu() -> None:
    """An update's CPU, ours beside the library's, interleaved; the lowest of the rounds."""
    raw = updates(UPDATES, FakeClock())
    rows = []
    for silent, what in ((True, "taken, not answered"), (False, "answered with one message")):
        library, adapter = [], []
        for _ in range(ROUNDS):
            library.append(asyncio.run(bare(raw, silent=silent)))
            adapter.append(asyncio.run(ours(raw, silent=silent)))
        rows.append((what, f"{min(library):.0f}", f"{min(adapter):.0f}", f"{min(adapter) / min(library):.2f}"))
    show("CPU of an update, us", ("update", "bare library", "ours", "ratio"), rows)


async def _first_signs(folder: str, count: int) -> list[float]:
    """Seconds from an update to the first thing that its chat sees, with `elefante run` as a process of its own."""
    clock = SystemClock()
    async with TelegramServer(clock, patience_s=60.0) as server:
        env = os.environ | {"TELEGRAM_TOKEN": TOKEN, "TELEGRAM_API_BASE_URL": server.url, "DATA_DIR": folder}
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", "run", env=env, stderr=asyncio.subprocess.PIPE
        )
        assert child.stderr is not None
        while not (link := re.search(rb"start=(\S+)", await child.stderr.readline())):
            pass
        server.says(Person(7), f"/start {link[1].decode()}")
        await server.until(lambda: server.done("sendmessage"))
        waits = []
        for number in range(count):
            chat_id = -1000 - number
            began = clock.monotonic()
            server.says(Person(7), "@elefante_bot qual é a senha do wi-fi?", chat_id=chat_id)
            await server.until(lambda: server.done("sendmessage", chat_id=chat_id))  # noqa: B023 (awaited at once)
            waits.append(clock.monotonic() - began)
            await asyncio.sleep(0.2)
        child.terminate()
        await child.wait()
        return waits


def first_sign() -> None:
    """From an update to the first visible sign, the durable inbox included, no model."""
    with tempfile.TemporaryDirectory() as folder:
        waits = asyncio.run(_first_signs(folder, 40))
    tail = quantiles(waits, n=20)[-1]
    rows = [(f"{median(waits) * 1000:.0f} ms", f"{tail * 1000:.0f} ms", f"{max(waits) * 1000:.0f} ms", "under 300 ms")]
    show("From an update to the first sign in the chat", ("p50", "p95", "max", "aim"), rows)


async def _hundred() -> tuple[int, int, int, float]:
    clock = FakeClock()
    text = "palavra " * 250 + "fim"
    async with TelegramServer(clock, Limits()) as server, running(server, clock, slowly(clock, text, 0.1)) as bot:
        for number in range(100):
            if number % 4:
                server.says(Person(100 + number), "oi")
            else:
                server.says(Person(100 + number), "oi @elefante_bot", chat_id=-2000 - number)
        await flow(server, clock, lambda: bot.handler.answered == 100)
        whole = sum(chat.screen()[-1].endswith("fim") for chat in server.chats.values())
        edits = len(server.done("editmessagetext"))
        return whole, edits, sum(call.code == 429 for call in server.calls), clock.monotonic()


def limits() -> None:
    """A hundred chats at once against the documented limits, on a virtual clock."""
    whole, edits, refused, took_s = asyncio.run(_hundred())
    rows = [(f"{whole} of 100", f"{edits / 100:.1f}", str(refused), f"{took_s:.0f} s, of which the model 25 s")]
    show("100 chats at once, 2,000 characters each", ("whole answers", "edits an answer", "429s (aim 0)", "time"), rows)


def _house(database: Database, clock: Clock) -> House:
    """Put the whole core together over a database on disk, with a model and an embedder that answer from memory."""
    script: Script = {
        Task.DECIDE: lambda prompt: "Finish" if prompt.context.steps else "MemorySearch",
        Task.SAVE_DRAFTS: lambda prompt: json.dumps(
            {"items": [{"type": "text", "content": prompt.context.message, "bindings": [prompt.context.message[:40]]}]}
        ),
        Task.SEARCH_QUERIES: lambda prompt: json.dumps({"items": [prompt.context.message]}),
        Task.FINISH: lambda _: "A senha é **abc123**.",
    }
    return House(
        script,
        clock=clock,
        history=SqlHistory(database),
        inbox=SqlInbox(database),
        store=SqlMemories(database),
        ledger=SqlLedger(database),
        trusted=("telegram",),
    )


async def _turns(folder: str, marks: Sequence[int]) -> list[tuple[float, float]]:
    """MiB of this process, and of its database, after so many turns: each looks for what its person saved before."""
    clock, path = SystemClock(), Path(folder) / "bot.db"
    found: list[tuple[float, float]] = []
    database = await open_database(path)
    house, people, done = _house(database, clock), People(clock), 0
    transport = Memory()
    async with Bot(TOKEN, request=transport, get_updates_request=Memory()) as bot, house.chatbot() as handler:
        intake = _intake(bot, clock, handler)
        for number in range(CHATS):
            people.says(Person(1000 + number), f"/remember a senha do cofre {number} é {number * 7}")
        for mark in (0, *marks):
            while people.updates or done < mark:
                for number in range(0 if people.updates else CHATS):
                    people.says(Person(1000 + number), f"qual é a senha do cofre {number}?")
                    done += 1
                for raw in list(people.updates):
                    await take_one(raw, bot, intake.take)
                await intake.drain(1e9)
                for kept in (people.updates, people.said, house.model.prompts, house.embedder.calls):
                    kept.clear()  # what the fakes remember is not the bot's
                people.chats.clear()
            assert transport.messages >= done
            gc.collect()
            found.append((rss_mib(os.getpid()), _mib_on_disk(Path(folder))))
    await database.close()
    return found[1:]


def _mib_on_disk(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.iterdir()) / 2**20


def memory() -> None:
    """Resident memory of this process after so many turns of the whole bot: adapter, core, SQLite, index."""
    marks = (1000, 2000, 5000, 10_000)
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(_turns(folder, marks))
    rows = [
        (f"{mark:,} turns", f"{mib:.1f} MiB", f"{disk:.1f} MiB") for mark, (mib, disk) in zip(marks, found, strict=True)
    ]
    show("Memory over turns of the whole bot (aim: flat)", ("after", "resident", "database"), rows)


def main() -> None:
    """Measure and print."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    cpu()
    first_sign()
    limits()
    memory()
