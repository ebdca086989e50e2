"""The command that moves storage is killed at any point, and goes on there: all is moved, and nothing twice."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from bot.settings.settings import load
from tests.e2e.command import Elefante, start
from tests.postgres import new_database
from tests.profile import tries
from tests.unit.test_move_storage import lived, stored

KILLS = tries(6, 40)
_MOST_LINES = 12


async def killed(elefante: Elefante, to: str, dice: random.Random) -> bool:
    """Kill the command at a random point of its progress; return whether that was before its end."""
    child = await start(
        "move-storage", to, environment=elefante.environment(ELEFANTE_ENV=str(elefante.folder / ".env"))
    )
    assert child.stderr is not None
    for _ in range(dice.randint(1, _MOST_LINES)):  # one that has said nothing has not taken over its pipes yet
        await child.stderr.readline()
    await asyncio.sleep(dice.random() / 50)  # any point will do
    if child.returncode is None:
        child.kill()
    return await child.wait() != 0


async def moved(elefante: Elefante, to: str, dice: random.Random, most: int) -> int:
    """Kill a move up to so many times, then let it end; return how often it was killed."""
    kills = 0
    while kills < most and await killed(elefante, to, dice):
        kills += 1
    if load(elefante.folder / ".env").storage_url.get_secret_value() != to:
        code, _, said = await elefante.meanwhile("move-storage", to, ELEFANTE_ENV=str(elefante.folder / ".env"))
        assert code == 0, said
    return kills


async def test_a_move_that_is_killed_goes_on_and_all_is_there_once(tmp_path: Path) -> None:
    dice, kills = random.Random(4), 0  # noqa: S311 - a test repeats
    await lived(tmp_path / "first.db", people=20)
    before = (tmp_path / "first.db").read_bytes()
    while kills < KILLS:
        elefante, url = Elefante(tmp_path / f"after-{kills}"), new_database()
        path, old = elefante.folder / "data" / "elefante.db", elefante.folder / "old.db"
        path.parent.mkdir(parents=True)
        (elefante.folder / ".env").write_text("LANGUAGE=en\n")
        path.write_bytes(before)
        kills += await moved(elefante, url, dice, KILLS // 2)
        assert path.read_bytes() == before
        path.rename(old)
        kills += await moved(elefante, "sqlite:", dice, KILLS // 2)
        assert stored(path) == stored(old)
        assert [each.name for each in path.parent.glob("elefante.db*")] == ["elefante.db"]
