"""A process killed while it keeps files has the bytes of all that it called saved, and a start leaves no others."""

from __future__ import annotations

import asyncio
import hashlib
import random
import subprocess
import sys
import textwrap
from datetime import timedelta
from pathlib import Path

import pytest

from core.clock import SystemClock
from core.files.port import FileStore
from core.storage.database import Database
from core.storage.files import FolderFiles, SqlFiles
from core.storage.memories import SqlMemories
from core.storage.postgres import open_postgres
from core.storage.sqlite import open_database
from core.types import UserKey
from tests.postgres import new_database
from tests.profile import long

ANA = UserKey("telegram", "ana")

CHILD = textwrap.dedent(
    """
    import asyncio, hashlib, itertools, os, random, sys
    from core.enclosures import Attachment, AttachmentKind
    from core.clock import SystemClock
    from core.storage.memories import SqlMemories
    from core.types import MemoryDraft, MemoryKind, Passage, UserKey
    from tests.crash.test_files_kill import ANA, opened
    from tests.fakes.memories import add

    async def main(place, run):
        database, files = await opened(place)
        store, dice = SqlMemories(database), random.Random(run)
        for number in itertools.count():
            content = dice.randbytes(dice.choice([10, 5_000, 400_000]))
            sha256 = await files.put(ANA, content)
            os.write(1, f"put {sha256}\\n".encode())
            words = f"photo {run} {number}"
            photo = Attachment(AttachmentKind.PHOTO, sha256=sha256)
            pages = tuple(Passage(f"{words} {page}", page) for page in range(40))
            draft = MemoryDraft(MemoryKind.TEXT, words, (words,), attachments=(photo,), passages=pages)
            [item] = await add(store, ANA, [draft], at=SystemClock().now())
            os.write(1, f"saved {item.id} {sha256}\\n".encode())

    asyncio.run(main(*sys.argv[1:]))
    """
)


async def opened(place: str) -> tuple[Database, FileStore]:
    """Open the database and the files of a folder, or of a PostgreSQL server."""
    if place.startswith("postgres"):
        database: Database = await open_postgres(place, pool=2)
        return database, SqlFiles(database, SystemClock(), 10**9)
    return await open_database(Path(place) / "elefante.db"), FolderFiles(Path(place) / "files", SystemClock(), 10**9)


def left(folder: Path) -> list[Path]:
    """Return what was being written."""
    return list(folder.rglob("part-*"))


async def killed(place: str, run: int, after: int) -> list[list[str]]:
    """Return what a child had acknowledged, as words of lines, when it was killed after that many lines."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CHILD, place, str(run)), stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert child.stdout is not None
    lines = [await child.stdout.readline() for _ in range(after)]
    child.kill()
    lines += (await child.stdout.read()).splitlines(keepends=True)
    await child.wait()
    return [line.decode().split() for line in lines if line.endswith(b"\n")]


@pytest.mark.parametrize(
    ("place", "workers", "kills"),
    [("folder", 1, 1), long("folder", 1, 15), long("folder", 2, 8), long("postgres", 2, 8)],
)
async def test_what_was_called_saved_has_its_bytes_and_nothing_else_is_left(
    tmp_path: Path, place: str, workers: int, kills: int
) -> None:
    place = new_database() if place == "postgres" else str(tmp_path)
    dice, saved = random.Random(5), dict[str, str]()  # noqa: S311 - data
    database, files = await opened(place)
    await database.close()
    for run in range(kills):
        told = await asyncio.gather(*(killed(place, 9 * run + n, dice.randint(3, 20)) for n in range(workers)))
        saved |= {line[1]: line[2] for lines in told for line in lines if line[0] == "saved"}
        database, files = await opened(place)
        store = SqlMemories(database)
        items = {item.id: item for item in await store.page(ANA, limit=10**6)}
        assert saved.keys() <= items.keys()
        named = await store.files_named()
        await files.sweep(named, SystemClock().now() + timedelta(hours=1))
        assert await files.digests(ANA) == named[ANA] >= set(saved.values())
        for sha256 in named[ANA]:
            content = await files.get(ANA, sha256)
            assert content is not None
            assert hashlib.sha256(content).hexdigest() == sha256
        for key in saved:
            assert len(await store.passages(ANA, key)) == 40
        assert not left(tmp_path)
        await database.close()
    assert len(saved) >= kills
