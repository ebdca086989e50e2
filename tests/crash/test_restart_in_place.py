"""`elefante run`, killed again and again amid its answers, leaves nothing on the screens that is no answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.models import Cycle
from tests.crash.kills import killed, scene_of, struck

pytestmark = pytest.mark.long

KILLS = 5


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("platform", "cycle"), [("telegram", Cycle.SINGLE), ("discord", Cycle.STEPWISE)])
async def test_after_many_kills_every_answer_stands_there_once_and_nothing_else_does(
    platform: str, cycle: Cycle, seed: int, tmp_path: Path
) -> None:
    async with scene_of(platform) as scene:
        found = await killed(scene, tmp_path / "data", kills=KILLS, seed=1 + seed, cycle=cycle)
    assert found.lost == []
    assert found.unmarked == 0
    assert found.thinking == 0
    # Telegram has nothing to find a message by whose confirmation a kill cut off: at most that one is left.
    assert found.orphans + found.stops <= 2, found
    assert found.twice <= 1


@pytest.mark.parametrize(
    ("platform", "cycle"), [("telegram", Cycle.STEPWISE), ("telegram", Cycle.SINGLE), ("discord", Cycle.STEPWISE)]
)
async def test_nor_does_a_kill_leave_a_dead_stop_button_that_comes_before_a_write_is_known_to_be_done(
    platform: str, cycle: Cycle, tmp_path: Path
) -> None:
    async with scene_of(platform) as scene:
        found = await struck(scene, tmp_path / "data", kills=KILLS, seed=7, cycle=cycle)
    assert (found.lost, found.stops, found.unmarked, found.thinking) == ([], 0, 0, 0), found
    assert platform == "telegram" or found.orphans == 0, found
