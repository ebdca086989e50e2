"""The command that moves storage is killed at any point, and begins again: all is moved, and nothing twice."""

from __future__ import annotations

import asyncio
import itertools
import random
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from bot.settings.settings import load
from tests.e2e.command import Elefante, start
from tests.postgres import new_database
from tests.unit.test_move_storage import lived, stored

pytestmark = pytest.mark.long

KILLS = 40
_WITHIN_S = 0.8
_OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid()"


async def killed(elefante: Elefante, to: str, url: str, dice: random.Random) -> bool:
    """Kill the command at a random point of its work; return whether that was before its end."""
    with closing(psycopg.connect(url, autocommit=True)) as server:

        def others() -> int:
            return int(server.execute(_OTHERS).fetchall()[0][0])

        while others():  # noqa: ASYNC110 (of the one that was killed before)
            await asyncio.sleep(0.01)
        environment = elefante.environment(ELEFANTE_ENV=str(elefante.folder / ".env"))
        child = await start("move-storage", to, environment=environment)
        # Before it has a connection it may not have taken over its pipes.
        while not others() and child.returncode is None:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    await asyncio.sleep(dice.random() * _WITHIN_S)  # any point will do
    if child.returncode is None:
        child.kill()
    return await child.wait() != 0


async def moved(elefante: Elefante, to: str, url: str, dice: random.Random, most: int) -> int:
    """Kill a move up to so many times, then let it end; return how often it was killed."""
    kills = 0
    while kills < most and await killed(elefante, to, url, dice):
        kills += 1
    if load(elefante.folder / ".env").storage_url.get_secret_value() != to:
        code, _, said = await elefante.meanwhile("move-storage", to, ELEFANTE_ENV=str(elefante.folder / ".env"))
        assert code == 0, said
    return kills


async def test_a_move_that_is_killed_begins_again_and_all_is_there_once(tmp_path: Path) -> None:
    dice, kills = random.Random(4), 0  # noqa: S311 - a test repeats
    await lived(tmp_path / "first.db", people=20)
    before = (tmp_path / "first.db").read_bytes()
    for number in itertools.count():
        elefante, url = Elefante(tmp_path / str(number)), new_database()
        path, old = elefante.folder / "data" / "elefante.db", elefante.folder / "old.db"
        path.parent.mkdir(parents=True)
        (elefante.folder / ".env").write_text("LANGUAGE=en\n")
        path.write_bytes(before)
        kills += await moved(elefante, url, url, dice, KILLS // 2)
        assert path.read_bytes() == before
        path.rename(old)
        kills += await moved(elefante, "sqlite:", url, dice, KILLS // 2)
        assert stored(path) == stored(old)
        assert [each.name for each in path.parent.glob("elefante.db*")] == ["elefante.db"]
        if kills >= KILLS:
            break
