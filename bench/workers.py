"""Workers over one PostgreSQL: turns a second, our own time, CPU and statements a turn, beside SQLite.

Each worker is a process of its own with the whole bot but its platform: messages go round among them as behind a load
balancer, each is answered by whoever holds its chat, and is written nowhere. The model answers at once, in a process of
its own. `python -m bench workers storm` kills 2 and 4 real ones, and their database, over loopback Telegram.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import psycopg

from bench.model_server import serving
from bench.process import cpu_s
from bench.table import show
from bot.settings.settings import load
from bot.wiring import App, build, open_chatbot
from core.answering.chatbot import ChatBot
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel, Channels
from core.storage.postgres import PostgresQuery
from core.storage.sqlite import SqliteQuery
from core.types import ChatKey, Incoming, UserKey
from tests.crash.workers import Outcome, Storm, pressed, storm
from tests.postgres import Server, new_server, own_server

WORKERS: Final = (1, 2, 4)
CHATS: Final = 60
BURST: Final = 240
CALM: Final = 60
CALM_A_S: Final = 3.0
_PLATFORM: Final = "bench"
_LOOK_S: Final = 0.05
_STORMS: Final = (
    Storm(workers=2, kills=40, restarts=4, every_s=1.0),
    Storm(workers=4, kills=100, restarts=10, every_s=0.6),
)

_PRESSES: Final = ((2, 40), (4, 100))
"""Workers, and presses at which one of them is killed or stands still."""

_written: dict[str, float] = {}
"""The wall clock at the last write for each message, in this process."""


@dataclass(slots=True)
class TimedChannel(Channel):
    """A chat that costs nothing to write into, and keeps the time of the last write."""

    message: str
    limits: ChannelLimits = field(default_factory=lambda: ChannelLimits(max_chars=4096, edit_interval_s=0.0))

    def measure(self, text: str) -> int:
        """Return the number of code points."""
        return len(text)

    async def post(self, _: OutgoingMessage) -> str:
        """Write nowhere."""
        _written[self.message] = time.time()
        return "m"

    async def edit(self, _: str, __: OutgoingMessage) -> None:
        """Write nowhere."""
        _written[self.message] = time.time()


class TimedChannels(Channels):
    """Opens it for the messages that another worker accepted."""

    def again(self, incoming: Incoming) -> Channel:
        """Return the chat."""
        return TimedChannel(incoming.message_id)

    def private(self, user: UserKey, once: str = "") -> Channel:
        """Return a chat of which nobody keeps the time."""
        del once
        return TimedChannel(user.user)


@dataclass(frozen=True, slots=True)
class Share:
    """The messages of one worker: each `step`th from `first` on below `end`; one each `every_s`, or all at once."""

    first: int
    step: int
    end: int
    every_s: float


@dataclass(frozen=True, slots=True)
class Done:
    """What one worker did: when its messages came, when it last wrote for which, its CPU and its statements."""

    came: dict[str, float]
    written: dict[str, float]
    cpu_s: float
    statements: int


def incoming(number: int) -> Incoming:
    """Return a message of one of the people."""
    user = f"p{number % CHATS}"
    words = "Good morning!"
    return Incoming(ChatKey(_PLATFORM, user), UserKey(_PLATFORM, user), user, str(number), words, datetime.now(UTC))


async def _do(app: App, bot: ChatBot, share: Share) -> Done:
    before_s, asked = time.process_time(), _statements()
    came: dict[str, float] = {}
    for number in range(share.first, share.end, share.step):
        came[str(number)] = time.time()
        _ = await bot.receive(incoming(number), TimedChannel(str(number)))  # it is answered in a task of the bot's
        if share.every_s:
            await asyncio.sleep(share.every_s)
    while await app.parts.inbox.backlog():  # noqa: ASYNC110
        await asyncio.sleep(_LOOK_S)
    return Done(came, dict(_written), time.process_time() - before_s, _statements() - asked)


_counted: Counter[str] = Counter()


def _statements() -> int:
    return _counted.total()


def _count_statements() -> None:
    for kind, names in ((PostgresQuery, ("_send", "run_many")), (SqliteQuery, ("run", "run_many"))):
        for name in names:
            setattr(kind, name, _counting(getattr(kind, name)))


def _counting(run: Any) -> Any:
    def counted(self: Any, sql: str, *rest: Any) -> Any:
        _counted[sql] += not sql.startswith(("BEGIN", "COMMIT"))
        return run(self, sql, *rest)

    return counted


def _work(settings: dict[str, Any], pipe: Connection) -> None:
    """Be a worker: do each share that comes, until there is None."""
    _count_statements()

    async def work() -> None:
        async with build(load(None, **settings)) as app, open_chatbot(app) as bot:
            await bot.resume(_PLATFORM, TimedChannels())
            pipe.send("ready")
            while (share := await asyncio.to_thread(pipe.recv)) is not None:
                pipe.send(await _do(app, bot, share))

    asyncio.run(work())


@contextmanager
def workers(count: int, storage_url: str, model_url: str, folder: Path) -> Iterator[list[Connection]]:
    """Run so many workers, each in a process of its own; they are ready."""
    pipes = []
    with ExitStack() as stack:
        for number in range(count):
            here, there = multiprocessing.Pipe()
            settings = {
                "data_dir": folder / f"{count}-{number}", "storage_url": storage_url, "access": "open",
                "model": "openai:instant", "openai_base_url": f"{model_url}/v1", "openai_api_key": "none",
            }  # fmt: skip
            process = multiprocessing.get_context("spawn").Process(target=_work, args=(settings, there), daemon=True)
            process.start()
            stack.callback(process.join)
            stack.callback(here.send, None)
            pipes.append(here)
        for pipe in pipes:
            pipe.recv()
        yield pipes


def ask(pipes: Sequence[Connection], first: int, turns: int, a_s: float = 0.0) -> list[Done]:
    """Give the workers so many messages in turn, at a rate or all at once; return what each did."""
    count = len(pipes)
    for number, pipe in enumerate(pipes):
        pipe.send(Share(first + number, count, first + turns, count / a_s if a_s else 0.0))
    return [pipe.recv() for pipe in pipes]


def _took_ms(done: Sequence[Done]) -> list[float]:
    """Return the milliseconds from each message to the last write for it, wherever that was made."""
    came = {number: at_s for each in done for number, at_s in each.came.items()}
    written = {number: max(each.written.get(number, 0.0) for each in done) for number in came}
    return [1000 * (written[number] - at_s) for number, at_s in came.items()]


def measure(pipes: Sequence[Connection], server: Server | None) -> tuple[str, ...]:
    """Return the figures of those workers as cells of a row."""
    ask(pipes, 0, CHATS)  # everybody has a thread, every statement a plan
    calm = _took_ms(ask(pipes, CHATS, CALM, CALM_A_S))
    server_s = _server_cpu_s(server) if server else 0.0
    done = ask(pipes, CHATS + CALM, BURST)
    server_s = _server_cpu_s(server) - server_s if server else 0.0
    began_s = min(min(each.came.values()) for each in done)
    ended_s = max(each.written[number] for each in done for number in each.written)
    return (
        f"{BURST / (ended_s - began_s):.0f}",
        f"{median(calm):.0f}",
        f"{quantiles(calm, n=20)[-1]:.0f}",
        f"{1000 * sum(each.cpu_s for each in done) / BURST:.1f}",
        f"{1000 * server_s / BURST:.1f}" if server else "",
        f"{sum(each.statements for each in done) / BURST:.1f}",
    )


def _server_cpu_s(server: Server) -> float:
    """Return the CPU of a server so far: of its first process, those that ended, and those that run."""
    fields = Path(f"/proc/{server.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    ended = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text("utf-8").split()
    return cpu_s(server.pid) + ended + sum(cpu_s(int(child)) for child in children)


@contextmanager
def on_disk() -> Iterator[Server]:
    """Give a server that writes through to the disk."""
    folder = Path(tempfile.mkdtemp(prefix="bench-postgres-"))
    server = new_server(folder)
    server.start("fsync=on")
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _kill() -> None:
    rows = []
    for plan in _STORMS:
        with _new_bot() as (server, folder):
            rows.append(_row(plan, asyncio.run(storm(plan, server, "bot", folder))))
    show(
        f"Workers and their database killed while {_STORMS[0].chats} people write",
        ("workers", "kills", "restarts", "messages", "lost", "twice", "unmarked", "out of order", "ended by themselves",
         "chats taken over, s", "polling taken over, s"),
        rows,
    )  # fmt: skip


def _press() -> None:
    rows = []
    for workers, kills in _PRESSES:
        with _new_bot() as (server, folder):
            found = asyncio.run(pressed(server, "bot", folder, workers=workers, kills=kills))
            counts = (found.pressed, len(found.lost), found.doubled, len(found.unmarked), len(found.untrue))
            rows.append((str(workers), *map(str, counts)))
    show(
        "Workers killed, or standing still, at a press of a button",
        ("workers", "presses", "lost", "twice", "unmarked", "sentences that differ from the store"),
        rows,
    )


@contextmanager
def _new_bot() -> Iterator[tuple[Server, Path]]:
    with own_server() as server, tempfile.TemporaryDirectory() as folder:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("CREATE DATABASE bot")
        yield server, Path(folder)


def _row(plan: Storm, outcome: Outcome) -> list[str]:
    left = outcome.left
    counts = (plan.workers, outcome.kills, outcome.restarts, outcome.asked, len(left.lost), left.twice, left.unmarked)
    told = [str(count) for count in (*counts, len(outcome.disorder), sum(code > 0 for code in outcome.codes))]
    return [*told, *(f"{median(s):.1f}, at most {max(s):.1f}" if s else "" for s in (outcome.chats_s, outcome.polls_s))]


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table; with `storm`, those of the kills."""
    if list(arguments) == ["storm"]:
        _kill()
        _press()
        return
    rows = []
    with serving() as model_url, tempfile.TemporaryDirectory() as folder:
        with workers(1, "sqlite:", model_url, Path(folder) / "sqlite") as pipes:
            rows.append(("SQLite", "1", *measure(pipes, None)))
        with on_disk() as server:
            for count in WORKERS:
                with psycopg.connect(server.url(), autocommit=True) as connection:
                    connection.execute(f"CREATE DATABASE bot_{count}")
                with workers(count, server.url(f"bot_{count}"), model_url, Path(folder)) as pipes:
                    rows.append(("PostgreSQL", str(count), *measure(pipes, server)))
    show(
        f"Turns with a model that answers at once, {CHATS} chats",
        ("storage", "workers", "turns/s", "p50 ms", "p95 ms", "CPU ms a turn", "of the server", "statements a turn"),
        rows,
    )
