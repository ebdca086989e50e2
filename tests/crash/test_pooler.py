"""Two real workers whose database is behind PgBouncer in transaction mode; one dies, and then PgBouncer does."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from core.clock import SystemClock
from tests.crash.kills import SlowModel
from tests.crash.workers import Fleet, Outcome, Watch, look, settings_of
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer
from tests.pgbouncer import PROGRAM, WHY_NOT, own_pooler
from tests.postgres import new_database, shared_server

pytestmark = [pytest.mark.long, pytest.mark.skipif(PROGRAM is None, reason=WHY_NOT)]

CHATS = 3


async def test_workers_behind_a_pooler_go_on_for_each_other_and_when_it_is_restarted(tmp_path: Path) -> None:
    """One has a direct connection besides, to hear of messages at once; the other looks each second."""
    url, model = new_database(), SlowModel()
    watch, outcome = Watch(shared_server(), url.rpartition("/")[2]), Outcome()
    with own_pooler() as pooler:
        async with (
            TelegramServer(SystemClock(), patience_s=120.0) as telegram,
            model.running(),
            Fleet(pooler.through(url), model.url, tmp_path, **settings_of(telegram)) as fleet,
        ):

            def ask(count: int) -> None:
                for _ in range(count):
                    telegram.says(Person(1000 + outcome.asked % CHATS, "Ana"), f"ask-{outcome.asked}")
                    outcome.asked += 1

            def begun(number: int) -> bool:
                return any(f"w{number}." in post.text for post in telegram.chat(1000 + number % CHATS).ours())

            first = await fleet.grow(STORAGE_DIRECT_URL=url)
            await telegram.until(lambda: telegram.polled)
            await fleet.grow()
            while len(await watch.at_work()) < 2:  # noqa: ASYNC110 (the database tells)
                await asyncio.sleep(0.05)
            ask(CHATS)
            await telegram.until(lambda: begun(CHATS - 1))
            await fleet.kill(first)  # which asks for updates, and answers
            ask(CHATS)
            await telegram.until(lambda: begun(2 * CHATS - 1))
            await asyncio.to_thread(pooler.stop)
            ask(1)
            await asyncio.to_thread(pooler.start)
            ask(CHATS)
            await watch.until_answered(outcome.asked)
            assert await fleet.stop() == [0]
            look(telegram, CHATS, outcome)
    assert outcome.left.lost == []
    assert outcome.left.unmarked == 0
    assert outcome.disorder == []
