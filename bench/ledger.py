"""What the sums of a million calls in thirty days cost: those of limits, of /admin usage, of one person."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from bench.table import show
from core.clock import SystemClock
from core.features.ledger.calls import BOT, Call, Scope
from core.features.ledger.storage import SqlLedger
from core.storage.database import Database, Query
from core.storage.record import microseconds
from core.storage.sqlite import open_database
from core.storage.sqlite_migrations import MIGRATIONS
from core.types import UserKey

CALLS = 1_000_000
CALLS_A_TURN = 4
PEOPLE = 1_000
ROOMS = 20
DAYS = 30
REPEATS = 5
BY = ((), ("day", "model"), ("day",), ("model",), ("user",))
MODELS = ("anthropic:claude-opus", "anthropic:claude-haiku", "openai:gpt", "openai:gpt-mini")
OUTCOMES = ("end",) * 97 + ("length", "left", "ProviderBusy")


def main() -> None:
    """Print the table."""
    asyncio.run(_measure())


async def _measure() -> None:
    now = SystemClock().now()
    since = now - timedelta(days=DAYS)
    with tempfile.TemporaryDirectory() as folder:
        database = await open_database(Path(folder) / "bench.db")
        await _fill(database, since)
        await database.close()
        database = await open_database(Path(folder) / "bench.db")
        ledger, ana, room = SqlLedger(database), Scope(UserKey("bench", "7")), Scope(room="bench:-3")
        asked: dict[str, Callable[[], Awaitable[object]]] = {
            "the bot's month": lambda: ledger.spent(BOT, since),
            "a room's month": lambda: ledger.spent(room, since),
            "a person's month": lambda: ledger.spent(ana, since),
            "/admin usage 30": lambda: _usage(ledger, since),
            **{f"- by {', '.join(by) or 'nothing'}": partial(ledger.sums, since, by) for by in BY},
            "a person's days and models, as /export has them": lambda: ledger.sums(
                since, ("user", "day", "model"), ana
            ),
            "a call recorded": lambda: _record(ledger, now),
        }
        rows = [[what, *await _timed(ask)] for what, ask in asked.items()]
        await database.close()
    show(f"{CALLS:,} calls of {PEOPLE:,} people in {DAYS} days, ms of wall time", ["what", "first", "median"], rows)


async def _usage(ledger: SqlLedger, since: datetime) -> None:
    for by in BY:
        await ledger.sums(since, by)


async def _record(ledger: SqlLedger, now: datetime) -> None:
    await ledger.record(Call(now, UserKey("bench", "7"), "chat", "finish", MODELS[0], "end", 2.0))


async def _timed(ask: Callable[[], Awaitable[object]]) -> list[str]:
    wall_ms = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        await ask()
        wall_ms.append((time.perf_counter() - started) * 1000)
    return [f"{wall_ms[0]:.1f}", f"{sorted(wall_ms)[REPEATS // 2]:.1f}"]


async def _fill(database: Database, since: datetime) -> None:
    """Write the calls, and sum them up as the migration does that meets a ledger without sums."""
    sums = [sql for step in MIGRATIONS for sql in step if "FROM calls GROUP BY" in sql]

    def fill(query: Query) -> None:
        query.run_many(
            "INSERT INTO calls (at, platform, user, mode, task, model, outcome, duration_s, "
            "input_tokens, output_tokens, cost_usd, room) VALUES (?, ?, ?, ?, 'finish', ?, ?, 2.5, ?, ?, ?, ?)",
            _calls(since),
        )
        query.run("INSERT INTO asked (at, platform, user, room) SELECT at, platform, user, room FROM calls")
        for sql in sums:
            query.run(sql)

    await database.write(fill)


def _calls(since: datetime) -> Iterator[tuple[object, ...]]:
    """Yield turns of several calls each, of anybody, at any time, one in ten in a room."""
    dice, start = random.Random(1), microseconds(since)
    for second in sorted(dice.choices(range(DAYS * 86_400), k=CALLS // CALLS_A_TURN)):
        at = start + second * 1_000_000
        user, model = str(dice.randrange(PEOPLE)), dice.choice(MODELS)
        room = f"bench:-{dice.randrange(ROOMS)}" if dice.random() < 0.1 else ""
        for call in range(CALLS_A_TURN):
            mode = "chat" if call else "decide"
            yield (at + call, "bench", user, mode, model, dice.choice(OUTCOMES), 1500, 80, 0.004, room)


if __name__ == "__main__":
    main()
