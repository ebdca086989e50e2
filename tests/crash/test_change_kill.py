"""A process killed while accounts are linked, or an act is taken back, leaves all of it done or nothing."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.stores import ChangeContext
from core.types import MemoryDraft, MemoryKind, UserKey
from tests.fakes.clock import START
from tests.fakes.memories import add
from tests.profile import long

ANA, BIA = UserKey("telegram", "ana"), UserKey("discord", "ana")
SIZE, DELETED = 150, 20
PATIENCE_S = 120.0

CHILD = textwrap.dedent(
    """
    import asyncio, itertools, os, sys
    from pathlib import Path
    from core.clock import SystemClock
    from core.storage.memories import SqlMemories
    from core.storage.sqlite import open_database
    from core.stores import ChangeContext
    from core.types import UserKey

    ANA, BIA = UserKey("telegram", "ana"), UserKey("discord", "ana")

    async def main(path, run):
        store = SqlMemories(await open_database(Path(path)))
        await store.unlink(ANA, BIA)
        for number in itertools.count():
            keys, act = [item.id for item in await store.page(BIA, limit=20)], f"{run}x{number}"
            await store.delete(BIA, keys, at=SystemClock().now(), context=ChangeContext(act))
            os.write(1, f"{act} {','.join(keys)}\\n".encode())
            await store.link(ANA, BIA)
            await store.undo(ANA, act)
            await store.unlink(ANA, BIA)

    asyncio.run(main(*sys.argv[1:]))
    """
)

# Every row stands under the owner of its memory, and every memory under the owner of its account.
TORN = """
    SELECT
        (SELECT count(*) FROM phrases AS p JOIN memories AS m ON m.id = p.memory WHERE m.owner != p.owner),
        (SELECT count(*) FROM rooms AS r JOIN memories AS m ON m.id = r.memory WHERE m.owner != r.owner),
        (SELECT count(*) FROM memories AS m JOIN owners AS o ON o.id = m.account WHERE o.linked IS NOT m.owner),
        (SELECT count(*) FROM changes AS c JOIN owners AS o ON o.id = c.account WHERE o.linked IS NOT c.owner),
        (SELECT count(*) FROM memories WHERE id NOT IN (SELECT memory FROM terms))
"""


async def kill_in_the_middle(path: Path, run: int, after: int, wait_s: float) -> tuple[str, list[str]]:
    """Kill the child soon after it said so many times what it deleted; return the last act, and those ids."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, str(path), str(run), stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert child.stdout is not None
    async with asyncio.timeout(PATIENCE_S):  # a process that failed with its database open does not end
        lines = [await child.stdout.readline() for _ in range(after)]
    await asyncio.sleep(wait_s)
    child.kill()
    lines += (await child.stdout.read()).splitlines(keepends=True)
    await child.wait()
    act, keys = [line for line in lines if line.endswith(b"\n")][-1].decode().split()
    return act, keys.split(",")


@pytest.mark.spec("T12", "T15")
@pytest.mark.parametrize("kills", [3, long(20)])
async def test_links_and_undos_are_whole_whenever_the_process_is_killed(tmp_path: Path, kills: int) -> None:
    path = tmp_path / "elefante.db"
    database = await open_database(path)
    for owner in (ANA, BIA):
        drafts = [MemoryDraft(MemoryKind.TEXT, f"fact {n}", (f"key {n}", f"other {n}")) for n in range(SIZE)]
        await add(SqlMemories(database), owner, drafts, at=START, context=ChangeContext(room="telegram:room"))
    await database.close()
    dice = random.Random(5)  # noqa: S311 - data
    for run in range(kills):
        act, keys = await kill_in_the_middle(path, run, dice.randint(1, 3), dice.random() * 0.06)
        database = await open_database(path)
        store = SqlMemories(database)
        await store.purge(START)  # as the next start does
        assert await database.rows(TORN) == [(0,) * 5]
        assert await database.rows("PRAGMA integrity_check") == [("ok",)]
        linked = len(await store.accounts(BIA)) == 2
        there = len(await store.get(BIA, keys))
        undone = {change.undone for change in await store.changes(BIA, act=act)}
        assert there in {0, DELETED}, "all or nothing"
        assert len(undone) == 1
        assert there == 0 or undone == {True}
        held = SIZE - DELETED + there
        from_bia = (await store.shares(BIA))[BIA].count
        assert (from_bia, await store.count(BIA)) == (held, held + (SIZE if linked else 0))
        assert await store.count(ANA) == SIZE + (held if linked else 0)
        for change in await store.changes(BIA, not_undone=True, limit=1):
            assert await store.undo(BIA, change.act), "the next run has them all again"
        await database.close()
