"""A process killed in the middle of adding and deleting loses nothing that it had acknowledged."""

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
from core.types import MemoryDraft, MemoryKind, UserKey
from tests.fakes.clock import START
from tests.fakes.memories import add, ids_found
from tests.profile import long

ANA = UserKey("telegram", "ana")

CHILD = textwrap.dedent(
    """
    import asyncio, itertools, os, sys
    import numpy as np
    from pathlib import Path
    from core.clock import SystemClock
    from core.storage.memories import SqlMemories
    from core.storage.sqlite import open_database
    from tests.fakes.memories import add
    from core.types import MemoryDraft, MemoryKind, UserKey

    ANA = UserKey("telegram", "ana")
    VECTOR = np.full(8, 8 ** -0.5, np.float32)

    async def main(path, run):
        database = await open_database(Path(path))
        store = SqlMemories(database)
        for number in itertools.count():
            name = f"{run}x{number}"
            draft = MemoryDraft(MemoryKind.TEXT, f"fact {name}", (f"key {name}", f"other {name}"))
            texts = (*draft.bindings, draft.content)
            vectors, now = dict.fromkeys(texts, VECTOR), SystemClock().now()
            [item] = await add(store, ANA, [draft], at=now, vectors=vectors, space="x@8", source_ids=[1])
            os.write(1, f"added {item.id} {name}\\n".encode())
            if number % 3 == 2:
                os.write(1, f"deleting {item.id}\\n".encode())
                await store.delete(ANA, [item.id])
                os.write(1, f"deleted {item.id}\\n".encode())

    asyncio.run(main(*sys.argv[1:]))
    """
)


async def kill_in_the_middle(path: Path, run: int, after: int) -> list[list[str]]:
    """Return what the child had acknowledged, as words of lines, when it was killed after that many lines."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, str(path), str(run), stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert child.stdout is not None
    lines = [await child.stdout.readline() for _ in range(after)]
    child.kill()
    lines += (await child.stdout.read()).splitlines(keepends=True)
    await child.wait()
    return [line.decode().split() for line in lines if line.endswith(b"\n")]


@pytest.mark.spec("T10", "T12", "J5")
@pytest.mark.parametrize("kills", [3, long(20)])
async def test_nothing_acknowledged_is_lost_and_nothing_is_half_written(tmp_path: Path, kills: int) -> None:
    path = tmp_path / "elefante.db"
    dice = random.Random(7)  # noqa: S311 - data
    present: dict[str, str] = {}
    unsure: set[str] = set()
    for run in range(kills):
        for line in await kill_in_the_middle(path, run, after=dice.randint(10, 60)):
            if line[0] == "added":
                present[line[1]] = line[2]
            elif line[0] == "deleting":
                unsure.add(line[1])
            else:
                present.pop(line[1])
                unsure.discard(line[1])
        database = await open_database(path)
        store = SqlMemories(database)
        held = {item.id: item for item in await store.page(ANA, limit=10**6)}
        assert set(present) - unsure <= set(held)
        assert len(set(held) - set(present)) <= run + 1, "at most one that was under way, a run"
        for key, item in held.items():
            assert len(await store.phrases(ANA, memory_ids=[key])) == 3
            assert await ids_found(store, ANA, item.content.split()[1], depth=1) == [key]
        assert len((await store.vectors(ANA, "x@8"))[0]) == 3 * len(held)
        assert await store.unembedded(ANA, "x@8", 1) == {}
        assert await database.rows("PRAGMA integrity_check") == [("ok",)]
        [item] = await add(store, ANA, [MemoryDraft(MemoryKind.TEXT, f"after {run}", ("after",))], at=START)
        await store.delete(ANA, [item.id])
        await database.close()
    assert len(present) > kills * 3
