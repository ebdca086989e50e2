"""Several real `elefante run` over one PostgreSQL and a platform on loopback, killed while people write.

`storm` does it on Telegram, and `Outcome` is what is left on the screens, and how long it took others to take over.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Final, Self

import psycopg

from core.clock import SystemClock
from core.models import Cycle
from tests.crash.kills import Bubble, SlowModel, Tally, tally
from tests.crash.presses import Presser, Presses, Rows, TelegramPlace, aimed
from tests.e2e.command import Running, start
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.postgres import Server

LEASE_S: Final = 5.0
_PATIENCE_S: Final = 240.0
_WATCH_S: Final = 0.05
_LOG_LINES: Final = 60
_STANDS_STILL: Final = 0.25
"""How often a worker stands still for two leases instead of being killed."""

_ANSWER = re.compile(r"w(\d+)\.\d+\b")
_CLAIMED: Final = """
SELECT claims.name, workers.program, coalesce(bool_or(inbox.payload IS NOT NULL), false) FROM claims
JOIN workers ON workers.id = claims.worker
LEFT JOIN inbox ON claims.name = 'chat:' || inbox.platform || ':' || inbox.chat GROUP BY 1, 2
"""


@dataclass(slots=True)
class Outcome:
    """What a storm left: `chats_s` and `polls_s` are the times until others had what a killed worker had."""

    asked: int = 0
    kills: int = 0
    restarts: int = 0
    codes: list[int] = field(default_factory=list)  # with which workers ended that nobody killed
    disorder: list[tuple[int, int]] = field(default_factory=list)
    chats_s: list[float] = field(default_factory=list)
    polls_s: list[float] = field(default_factory=list)
    answers_s: list[float] = field(default_factory=list)
    left: Tally = field(default_factory=Tally)
    screens: dict[int, list[str]] = field(default_factory=dict)  # of chats in which something is wrong


class Fleet:
    """Workers over one database. Leaving the context kills those that are left."""

    def __init__(self, url: str, model_url: str, folder: Path, **settings: str) -> None:
        self.running: list[Running] = []
        self._folder = folder
        self._drains: list[asyncio.Task[bytes]] = []
        self._settings = {
            "STORAGE_URL": url, "MODEL": "openai:slow", "OPENAI_BASE_URL": f"{model_url}/v1", "LOCALE": "pt-BR",
            "CYCLE": Cycle.SINGLE.value, "ACCESS": "open", "QUOTA_GUEST": "none", **settings,
        }  # fmt: skip

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for worker in self.running:
            worker.kill()
        if kind is not None:  # what they logged explains it
            for number, log in enumerate(await asyncio.gather(*self._drains)):
                print(f"--- worker {number} ---", *log.decode().splitlines()[-_LOG_LINES:], sep="\n")  # noqa: T201
        for drain in self._drains:
            drain.cancel()

    async def grow(self, **settings: str) -> Running:
        """Start one more worker, with a data folder of its own, as in a container, and perhaps settings of its own."""
        folder = self._folder / f"worker-{len(self._drains)}"
        environment = {**os.environ, **self._settings, **settings, "DATA_DIR": str(folder)}
        worker = await start("run", environment=environment)
        assert worker.stderr is not None
        self._drains.append(asyncio.create_task(worker.stderr.read()))
        self.running.append(worker)
        return worker

    async def kill(self, worker: Running) -> None:
        """Kill it."""
        self.running.remove(worker)
        worker.kill()
        while worker.returncode is None:  # noqa: ASYNC110 (`wait` would wait for its children, too)
            await asyncio.sleep(0.01)

    async def stop(self) -> list[int]:
        """Stop all as an orchestrator does; return their exit codes."""
        for worker in self.running:
            worker.terminate()
        return [await worker.wait() for worker in self.running]


def settings_of(telegram: TelegramServer) -> dict[str, str]:
    """Return the settings by which workers are on that server."""
    return {"TELEGRAM_TOKEN": TOKEN, "TELEGRAM_API_BASE_URL": telegram.url}


class Watch:
    """What the database says of who has claimed what."""

    def __init__(self, server: Server, database: str) -> None:
        self._server = server
        self._database = database

    async def claimed(self) -> dict[str, tuple[int, bool]]:
        """Map claims to the process that has them, and whether something is owed there; nothing while it is away."""
        return await asyncio.to_thread(self._claimed)

    async def taken_over(self, pid: int, claims: Sequence[str], poll: str | None) -> tuple[float, float | None]:
        """Return how long it takes until none of these is that process's: chats, and the poller if it was that."""
        began_s, chats_s, poll_s = monotonic(), None, None
        while chats_s is None or (poll and poll_s is None):
            held = await self.claimed()
            now_s = monotonic() - began_s
            if held and chats_s is None and not any(held.get(name, (0, False)) == (pid, True) for name in claims):
                chats_s = now_s
            if poll and poll_s is None and held.get(poll, (pid, False))[0] != pid:
                poll_s = now_s
            await asyncio.sleep(_WATCH_S)
        return chats_s, poll_s

    async def until_held(self, by: Callable[[dict[str, int]], object]) -> dict[str, int]:
        """Return which process has which claim, once that is true of it."""
        async with asyncio.timeout(_PATIENCE_S):
            while not by(held := {name: pid for name, (pid, _) in (await self.claimed()).items()}):  # noqa: ASYNC110
                await asyncio.sleep(4 * _WATCH_S)
        return held

    async def at_work(self) -> set[int]:
        """Return the processes of the workers that live; none while the database is away."""
        return await asyncio.to_thread(self._pids)

    def _pids(self) -> set[int]:
        with (
            suppress(psycopg.Error),
            psycopg.connect(self._server.url(self._database), connect_timeout=2) as connection,
        ):
            rows = connection.execute("SELECT program FROM workers").fetchall()
            return {int(program.rpartition(":")[2]) for (program,) in rows}
        return set()

    def _claimed(self) -> dict[str, tuple[int, bool]]:
        with (
            suppress(psycopg.Error),
            psycopg.connect(self._server.url(self._database), connect_timeout=2) as connection,
        ):
            rows = connection.execute(_CLAIMED).fetchall()
            return {name: (int(program.rpartition(":")[2]), owed) for name, program, owed in rows}
        return {}

    async def until_answered(self, asked: int) -> None:
        """Return when that many messages were stored, and none is owed an answer any more."""
        until_s = monotonic() + _PATIENCE_S + asked
        while (found := await asyncio.to_thread(self._owed)) != (asked, 0):
            assert found[0] <= asked, "some were stored twice"
            assert monotonic() < until_s, f"of {asked} messages, {found[0]} were stored, {found[1]} are owed an answer"
            await asyncio.sleep(0.2)

    def _owed(self) -> tuple[int, int]:
        with (
            suppress(psycopg.Error),
            psycopg.connect(self._server.url(self._database), connect_timeout=2) as connection,
        ):
            [(stored, owed)] = connection.execute("SELECT count(*), count(payload) FROM inbox").fetchall()
            return int(stored), int(owed)
        return 0, -1


@dataclass(frozen=True, slots=True)
class Storm:
    """What happens: so many workers, kills and restarts; a message each `every_s`, a kill each `kill_s`, in the mean.

    Only a worker that is at work is killed, and of several not the last.
    """

    workers: int
    kills: int
    restarts: int
    chats: int = 24
    every_s: float = 0.5
    kill_s: float = 3.0
    seed: int = 0


async def storm(plan: Storm, server: Server, database: str, folder: Path) -> Outcome:
    """Let people write while workers are killed and the database is restarted; return when all is answered."""
    model, watch = SlowModel(), Watch(server, database)
    async with (
        TelegramServer(SystemClock(), patience_s=_PATIENCE_S) as telegram,
        model.running(),
        Fleet(server.url(database), model.url, folder, **settings_of(telegram)) as fleet,
    ):
        for _ in range(plan.workers):
            await fleet.grow()
        await telegram.until(lambda: telegram.polled)
        scene = _Scene(plan, server, telegram, fleet, watch)
        writing = asyncio.create_task(scene.write())
        async with asyncio.TaskGroup() as watching:
            await scene.kill(watching)
        writing.cancel()
        outcome, asked_s = scene.outcome, scene.asked_s
        outcome.asked = len(asked_s)
        await watch.until_answered(outcome.asked)
        outcome.codes = await fleet.stop()
        look(telegram, plan.chats, outcome)
        outcome.answers_s = [_answered_s(telegram, number, at_s) for number, at_s in enumerate(asked_s)]
    return outcome


class _Scene:
    """A storm while it goes on."""

    def __init__(self, plan: Storm, server: Server, telegram: TelegramServer, fleet: Fleet, watch: Watch) -> None:
        self.outcome = Outcome()
        self.asked_s: list[float] = []
        self._plan = plan
        self._server = server
        self._telegram = telegram
        self._fleet = fleet
        self._watch = watch
        self._chance = random.Random(plan.seed)  # noqa: S311 - a dice
        self._is_away = False

    async def write(self) -> None:
        """Say something in one chat after another, until cancelled."""
        while True:
            number = len(self.asked_s)
            self._telegram.says(Person(1000 + number % self._plan.chats, "Ana"), f"ask-{number}")
            self.asked_s.append(monotonic())
            await asyncio.sleep(self._chance.expovariate(1 / self._plan.every_s))

    async def kill(self, watching: asyncio.TaskGroup) -> None:
        """Kill workers, each time starting another, and restart the database now and then meanwhile."""
        each = self._plan.kills // (self._plan.restarts + 1)
        for number in range(self._plan.kills):
            await asyncio.sleep(self._chance.expovariate(1 / self._plan.kill_s))
            while len(at_work := await self._at_work()) < min(2, self._plan.workers):  # noqa: ASYNC110 (the database tells)
                await asyncio.sleep(_WATCH_S)
            victim = self._chance.choice(at_work)
            held = await self._watch.claimed()
            await self._fleet.kill(victim)
            self.outcome.kills += 1
            watching.create_task(self._take_over(victim.pid, held))
            await self._fleet.grow()
            if (number + 1) % each == 0 and (number + 1) // each <= self._plan.restarts:
                watching.create_task(self._restart())

    async def _at_work(self) -> list[Running]:
        pids = await self._watch.at_work()
        return [worker for worker in self._fleet.running if worker.pid in pids]

    async def _take_over(self, pid: int, held: dict[str, tuple[int, bool]]) -> None:
        claims = [name for name, (holder, owed) in held.items() if holder == pid and owed]
        poll = next((name for name, (holder, _) in held.items() if holder == pid and name.endswith(":poll")), None)
        if not claims and not poll:
            return
        restarts, was_away = self.outcome.restarts, self._is_away
        chats_s, poll_s = await self._watch.taken_over(pid, claims, poll)
        if restarts == self.outcome.restarts and not was_away and not self._is_away:  # else it is not the worker's time
            self.outcome.chats_s += [chats_s] if claims else []
            self.outcome.polls_s += [poll_s] if poll_s is not None else []

    async def _restart(self) -> None:
        number = self.outcome.restarts
        self._is_away = True
        await asyncio.to_thread(self._server.stop, signal.SIGQUIT if number % 2 else signal.SIGINT)
        await asyncio.sleep((0.0, 1.0, 2 * LEASE_S)[number % 3])
        await asyncio.to_thread(self._server.start)
        self.outcome.restarts += 1
        self._is_away = False


def look(telegram: TelegramServer, chats: int, outcome: Outcome) -> None:
    """Read the screens of private chats from 1000 on; `outcome` says how many messages were asked there."""
    bubbles: list[Bubble] = []
    for number in range(chats):
        first: dict[int, int] = {}
        for post in telegram.chat(1000 + number).ours():
            bubbles.append(Bubble(post.text, any("x7" in b["callback_data"] for row in post.buttons for b in row)))
            if found := _ANSWER.search(post.text):
                first.setdefault(int(found[1]), post.id)
        order = [answer for answer, _ in sorted(first.items(), key=lambda item: item[1])]
        wrong = [(a, b) for a, b in pairwise(order) if a > b]
        outcome.disorder += wrong
        if wrong:
            outcome.screens[number] = [f"{post.id} {post.text[:30]}" for post in telegram.chat(1000 + number).ours()]
    outcome.left = tally(bubbles, outcome.asked)


def _answered_s(telegram: TelegramServer, number: int, asked_s: float) -> float:
    """Return the seconds from a message to the last write of its answer."""
    word = f"w{number}."
    return (
        max((call.at_s for call in telegram.calls if call.code == 200 and word in call.text), default=asked_s) - asked_s
    )


async def pressed(server: Server, database: str, folder: Path, *, workers: int, kills: int, seed: int = 0) -> Presses:
    """Let people press buttons, and kill the worker that answers, or let it stand still; return what came of it."""
    model, watch, chance = SlowModel(), Watch(server, database), random.Random(seed)  # noqa: S311 - a dice
    rows = _rows_of(server.url(database))
    async with (
        TelegramServer(SystemClock(), patience_s=_PATIENCE_S) as telegram,
        model.running(),
        Fleet(server.url(database), model.url, folder, MODEL="limited", LOCALE="en", **settings_of(telegram)) as fleet,
    ):
        for _ in range(workers):
            await fleet.grow()
        await telegram.until(lambda: telegram.polled)
        ana = Person(1000, "Ana", "en")
        presser = Presser(TelegramPlace(telegram, ana), rows, seed)

        async def strike() -> None:
            held = await watch.claimed()
            pid = held.get(f"chat:telegram:{ana.id}", (0, False))[0]
            victim = next((worker for worker in fleet.running if worker.pid == pid), chance.choice(fleet.running))
            if chance.random() < _STANDS_STILL:
                os.kill(victim.pid, signal.SIGSTOP)
                await asyncio.sleep(2 * LEASE_S)
                os.kill(victim.pid, signal.SIGCONT)
            else:
                await fleet.kill(victim)
                await fleet.grow()

        for number in range(kills):
            await presser.press(number, aimed(chance, strike))
        await fleet.stop()
    return presser.found


def _rows_of(url: str) -> Rows:
    def rows(sql: str) -> Sequence[Sequence[object]]:
        with psycopg.connect(url, connect_timeout=2, autocommit=True) as connection:
            return connection.execute(sql.encode()).fetchall()

    return rows
