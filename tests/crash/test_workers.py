"""Several real workers, killed again and again, and their database restarted, while people write: all is answered."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import psycopg
import pytest

from core.clock import SystemClock
from core.delivery.alerts import IS_AWAY, REACHABLE
from core.storage.postgres import open_postgres
from core.types import Locale
from tests.crash.workers import LEASE_S, Fleet, Storm, pressed, settings_of, storm
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer
from tests.postgres import HAS_POSTGRES, WHY_NOT, Server, own_server

pytestmark = [pytest.mark.long, pytest.mark.skipif(not HAS_POSTGRES, reason=WHY_NOT)]

STORMS = [
    Storm(workers=2, kills=3, restarts=1, chats=6, every_s=0.5),
    Storm(workers=4, kills=15, restarts=2, every_s=0.6),
]


def database_of(server: Server) -> str:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("CREATE DATABASE bot")
    return server.url("bot")


async def test_an_owner_hears_once_that_the_database_is_away_and_once_that_it_is_back(tmp_path: Path) -> None:
    """From one of the workers, though none can ask the database who tells. What was written meanwhile is answered."""
    told, over = IS_AWAY[Locale.EN].strip(), REACHABLE[Locale.EN]
    ana = Person(1000, "Ana", "en")
    async with TelegramServer(SystemClock(), patience_s=240.0) as telegram:
        with own_server() as server:
            url = database_of(server)
            await (await open_postgres(url)).close()
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("INSERT INTO people VALUES ('telegram', '1000', 'owner', 'Ana', 0)")
            async with Fleet(url, "http://127.0.0.1:9", tmp_path, LOCALE="en", **settings_of(telegram)) as fleet:
                for _ in range(2):
                    await fleet.grow()
                telegram.says(ana, "/help")
                await telegram.until(lambda: telegram.chat(ana.id).screen())
                await asyncio.to_thread(server.stop)
                await telegram.until(lambda: told in telegram.chat(ana.id).screen())
                telegram.says(ana, "/n1")  # no command there is: it is named in the answer
                await asyncio.to_thread(server.start)
                await telegram.until(lambda: over in telegram.chat(ana.id).screen())
                await telegram.until(lambda: any("/n1" in text for text in telegram.chat(ana.id).screen()))
                assert await fleet.stop() == [0, 0]
        screen = telegram.chat(ana.id).screen()
    assert (screen.count(told), screen.count(over)) == (1, 1)


@pytest.mark.parametrize("plan", STORMS, ids=lambda plan: f"{plan.workers} workers, {plan.kills} kills")
async def test_no_message_is_lost_nor_said_twice_unmarked_nor_out_of_order(plan: Storm, tmp_path: Path) -> None:
    with own_server() as server:
        database_of(server)
        outcome = await storm(plan, server, "bot", tmp_path)
    assert (outcome.kills, outcome.restarts) == (plan.kills, plan.restarts)
    assert outcome.asked >= plan.kills
    assert set(outcome.codes) <= {0, -signal.SIGTERM}  # a database that is away ends no worker
    assert outcome.left.lost == []
    assert outcome.left.unmarked == 0
    assert outcome.disorder == []
    # How long a takeover takes stands in docs/performance.md; here it has to be by lease, not by chance.
    assert all(seconds >= LEASE_S * 0.5 for seconds in outcome.polls_s)


@pytest.mark.spec("T10", "T12")
@pytest.mark.parametrize(("workers", "kills"), [(2, 2), (4, 20)])
async def test_what_is_said_of_a_press_is_what_the_store_holds_whoever_takes_over(
    workers: int, kills: int, tmp_path: Path
) -> None:
    """From one that was killed, or that stood still until its lease was over and then went on."""
    with own_server() as server:
        database_of(server)
        found = await pressed(server, "bot", tmp_path, workers=workers, kills=kills)
    assert found.pressed == kills
    assert (found.lost, found.unmarked, found.untrue) == ([], [], [])
