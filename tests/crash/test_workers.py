"""Several real workers, killed again and again, and their database restarted, while people write: all is answered."""

from __future__ import annotations

import signal
from pathlib import Path

import psycopg
import pytest

from tests.crash.workers import LEASE_S, Storm, storm
from tests.postgres import HAS_POSTGRES, WHY_NOT, own_server
from tests.profile import LONG

pytestmark = pytest.mark.skipif(not HAS_POSTGRES, reason=WHY_NOT)

STORMS = (
    [Storm(workers=2, kills=40, restarts=4, every_s=1.0), Storm(workers=4, kills=100, restarts=10, every_s=0.6)]
    if LONG
    else [Storm(workers=2, kills=3, restarts=1, chats=6, every_s=0.5)]
)


@pytest.mark.parametrize("plan", STORMS, ids=lambda plan: f"{plan.workers} workers, {plan.kills} kills")
async def test_no_message_is_lost_nor_said_twice_unmarked_nor_out_of_order(plan: Storm, tmp_path: Path) -> None:
    with own_server() as server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("CREATE DATABASE bot")
        outcome = await storm(plan, server, "bot", tmp_path)
    assert (outcome.kills, outcome.restarts) == (plan.kills, plan.restarts)
    assert outcome.asked >= plan.kills
    assert set(outcome.codes) <= {0, -signal.SIGTERM}  # a database that is away ends no worker
    assert outcome.left.lost == []
    assert outcome.left.unmarked == 0
    assert outcome.disorder == []
    # How long a takeover takes is measured (`python -m bench workers`); here it has to be by lease, not by chance.
    assert all(seconds >= LEASE_S * 0.5 for seconds in outcome.polls_s)
