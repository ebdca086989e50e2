"""`elefante run`, killed when a button was pressed: what is said then is what the store holds, and it is done once."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from tests.crash.kills import pressed, scene_of
from tests.crash.workers import pressed as pressed_at_workers
from tests.postgres import HAS_POSTGRES, WHY_NOT, own_server
from tests.profile import long


@pytest.mark.spec("T10", "T12")
@pytest.mark.parametrize(("platform", "kills"), [("telegram", 2), long("telegram", 30), long("discord", 30)])
async def test_what_is_said_of_a_press_is_what_the_store_holds(platform: str, kills: int, tmp_path: Path) -> None:
    async with scene_of(platform) as scene:
        found = await pressed(scene, tmp_path, kills=kills, seed=kills)
    assert found.pressed == kills
    assert (found.lost, found.unmarked, found.untrue) == ([], [], [])


@pytest.mark.long
@pytest.mark.spec("T10", "T12")
@pytest.mark.skipif(not HAS_POSTGRES, reason=WHY_NOT)
@pytest.mark.parametrize(("workers", "kills"), [(2, 2), (4, 20)])
async def test_nor_does_another_worker_deny_it_that_takes_over(workers: int, kills: int, tmp_path: Path) -> None:
    """From one that was killed, or that stood still until its lease was over and then went on."""
    with own_server() as server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("CREATE DATABASE bot")
        found = await pressed_at_workers(server, "bot", tmp_path, workers=workers, kills=kills)
    assert found.pressed == kills
    assert (found.lost, found.unmarked, found.untrue) == ([], [], [])
