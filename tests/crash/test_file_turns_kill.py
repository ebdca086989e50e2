"""`elefante run`, killed while people send documents to be kept: each is kept once and whole, and nothing besides."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from core.clock import SystemClock
from core.files.port import FileStore
from core.storage.database import Database
from core.storage.files import FolderFiles, SqlFiles
from core.storage.memories import SqlMemories
from core.storage.postgres import open_postgres
from core.storage.sqlite import open_database
from core.types import UserKey
from tests.e2e.command import Running, start
from tests.fakes.made_files import pdf
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.postgres import HAS_POSTGRES, WHY_NOT, new_database

pytestmark = pytest.mark.long

AT = {"fetch": "getfile", "write": "file", "commit": "sendmessage"}
"""Stages of a turn, and the call that tells that it was reached: what is asked for, is on its way, is answered."""

_LATER_S = 0.4
"""A kill comes up to so long after such a call: within the writing, and the commit."""


@dataclass
class Bot:
    """Processes over one database, all on one server; whoever is left in the end is killed."""

    server: TelegramServer
    folder: Path
    url: str
    running: list[Running] = field(default_factory=list)
    drains: list[asyncio.Task[bytes]] = field(default_factory=list)

    async def grow(self) -> None:
        """Start a process; over a folder it takes over the data of the last."""
        data = self.folder / (f"worker-{len(self.drains)}" if self.url else "data")
        settings = {"TELEGRAM_TOKEN": TOKEN, "TELEGRAM_API_BASE_URL": self.server.url, "ACCESS": "open"}
        settings |= {"DATA_DIR": str(data), "QUOTA_GUEST": "none"} | ({"STORAGE_URL": self.url} if self.url else {})
        child = await start("run", environment=os.environ | settings)
        assert child.stderr is not None
        self.drains.append(asyncio.create_task(child.stderr.read()))
        self.running.append(child)

    async def kill(self, one: Running) -> None:
        self.running.remove(one)
        one.kill()
        while one.returncode is None:  # noqa: ASYNC110 (`wait` would wait for its children, too)
            await asyncio.sleep(0.01)

    async def opened(self) -> tuple[Database, FileStore]:
        """Open what they wrote."""
        if self.url:
            database: Database = await open_postgres(self.url, pool=2)
            return database, SqlFiles(database, SystemClock(), 10**9)
        data = self.folder / "data"
        return await open_database(data / "elefante.db"), FolderFiles(data / "files", SystemClock(), 10**9)


@asynccontextmanager
async def bot(server: TelegramServer, folder: Path, url: str, workers: int) -> AsyncIterator[Bot]:
    async with AsyncExitStack() as stack:
        crew = Bot(server, folder, url)

        async def end() -> None:
            for one in list(crew.running):
                await crew.kill(one)
            for drain in crew.drains:
                drain.cancel()

        stack.push_async_callback(end)
        for _ in range(workers):
            await crew.grow()
        yield crew


def document(number: int) -> bytes:
    """Return a document of three quarters of a megabyte that is no other's."""
    return pdf(f"Contract number {number}", "Rent is due on the first.") + random.Random(number).randbytes(750_000)  # noqa: S311


def kept(server: TelegramServer, number: int) -> bool:
    return any(f"contract {number}" in text for text in server.chat(number).screen())


@pytest.mark.parametrize(
    ("workers", "kills"),
    [(1, 9), pytest.param(2, 9, marks=pytest.mark.skipif(not HAS_POSTGRES, reason=WHY_NOT))],
)
async def test_what_people_sent_is_kept_once_and_whole_whenever_the_bot_dies(
    tmp_path: Path, workers: int, kills: int
) -> None:
    dice, url = random.Random(7), new_database() if workers > 1 else ""  # noqa: S311
    async with (
        TelegramServer(SystemClock(), patience_s=240.0) as server,
        bot(server, tmp_path, url, workers) as crew,
    ):
        reached: dict[str, asyncio.Event] = {stage: asyncio.Event() for stage in AT.values()}

        def note(method: str, _: Any) -> None:
            if method in reached:
                reached[method].set()

        server.faults.append(note)
        for number in range(1, kills + 1):
            stage = list(AT.values())[number % len(AT)]
            server.files[f"d{number}"] = document(number)
            for event in reached.values():
                event.clear()
            file = {"file_id": f"d{number}", "file_unique_id": "u", "file_name": f"{number}.pdf"}
            server.says(Person(number), None, caption=f"remember this: contract {number}", document=file)
            async with asyncio.timeout(120):
                await reached["getfile" if stage == "file" else stage].wait()
            await asyncio.sleep(dice.random() * _LATER_S if stage != "getfile" else 0.0)
            await crew.kill(dice.choice(crew.running))
            await crew.grow()
        await server.until(lambda: all(kept(server, number) for number in range(1, kills + 1)))
        for one in crew.running:
            one.terminate()
        assert [await one.wait() for one in crew.running] == [0] * workers
        crew.running.clear()
        await check(crew, kills)


async def check(crew: Bot, kills: int) -> None:
    """Look into the database and at the files: one memory each, with its bytes, and nothing besides after the sweep."""
    database, files = await crew.opened()
    try:
        await compare(crew, kills, SqlMemories(database), files)
    finally:
        await database.close()


async def compare(crew: Bot, kills: int, store: SqlMemories, files: FileStore) -> None:
    named = await store.files_named()
    for number in range(1, kills + 1):
        who = UserKey("telegram", str(number))
        [item] = await store.page(who, limit=9)
        [thing] = item.attachments
        content = crew.server.files[f"d{number}"]
        assert thing.sha256 == hashlib.sha256(content).hexdigest()
        assert await files.get(who, thing.sha256) == content
        assert len(await store.passages(who, item.id)) == 2
    await files.sweep(named, SystemClock().now() + timedelta(hours=1))
    for number in range(1, kills + 1):
        who = UserKey("telegram", str(number))
        assert await files.digests(who) == named[who]
        assert len(named[who]) == 1
    assert not list(crew.folder.rglob("part-*"))
