"""A damaged database, a full disk and a locked file: people and owners read what is so, and what to do."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import aiosqlite
import pytest

from bot.data_folder import upkeep
from bot.run import serving
from bot.settings.settings import Settings
from bot.wiring import App, build, open_chatbot
from core.answering.chatbot import ChatBot
from core.answering.outcomes import FAILURES
from core.delivery.alerts import HAS_ROOM, IS_DAMAGED, IS_FULL
from core.errors import BotError, Damaged, DiskFull, StorageError
from core.storage.sqlite import SqliteDatabase, open_database
from core.tasks import background
from core.types import ChatKey, Incoming, Locale, UserKey
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.clock import START, FakeClock

ANA, OWNER = UserKey("telegram", "ana"), UserKey("telegram", "olga")
EN = Locale.EN


class House:
    """A bot over a real file, with an owner who is reached elsewhere."""

    def __init__(self, app: App, bot: ChatBot) -> None:
        self.app, self.bot, self.number = app, bot, 0
        self.owner = RecordingChannel(app.clock)
        self.features = app.features

    async def say(self, text: str, *, private: bool = True) -> str:
        self.number += 1
        channel = RecordingChannel(self.app.clock)
        chat = ChatKey("telegram", "ana")
        incoming = Incoming(chat, ANA, "Ana", str(self.number), text, START, language="en", private=private)
        await (await self.bot.receive(incoming, channel))
        return channel.texts[-1]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path) as made:
        yield made


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 16 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.decode()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


@asynccontextmanager
async def open_house(folder: Path) -> AsyncIterator[House]:
    settings = Settings(data_dir=folder, access="open", language="en")
    async with build(settings) as app, open_chatbot(app) as bot:
        made = House(app, bot)
        await app.features.access.own(OWNER, "Olga")
        made.features.notifier.connect("telegram", OneChannel(made.owner))
        yield made


def damage(path: Path, table: str) -> None:
    """Overwrite the root page of a table in the file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        [page] = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
        [size] = connection.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)


def writer(house: House) -> aiosqlite.Connection:
    assert isinstance(house.app.database, SqliteDatabase)
    return house.app.database._writer


async def fill_the_disk(house: House) -> None:
    [(pages,)] = await house.app.database.rows("PRAGMA page_count")
    await writer(house).execute_fetchall(f"PRAGMA max_page_count = {pages}")


async def test_a_corrupt_page_is_told_to_the_person_truly_and_to_the_owner_once(house: House, tmp_path: Path) -> None:
    assert await house.say("/memories")
    damage(tmp_path / "elefante.db", "preferences")
    await house.app.database.write(lambda query: query.run("INSERT INTO spaces (name) VALUES ('x')"))
    for _ in range(2):
        assert await house.say("hello") == FAILURES[Damaged][EN]
    await until(lambda: house.owner.texts == [IS_DAMAGED[EN]])


async def test_a_file_that_is_damaged_already_is_found_by_the_start_and_daily(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "elefante.db"
    await (await open_database(path)).close()
    settings = Settings(data_dir=tmp_path, language="en")
    async with build(settings) as app:
        features, owner = app.features, RecordingChannel(app.clock)
        await app.features.access.own(OWNER, "Olga")
        features.notifier.connect("telegram", OneChannel(owner))
        async with background(upkeep(app.database, features.alerts, clock)):
            await until(lambda: bool(clock._sleepers))
            assert owner.texts == []
            damage(path, "calls")
            await clock.advance(86_400)
            await until(lambda: bool(owner.texts))
        assert owner.texts == [IS_DAMAGED[EN]]


async def test_owners_are_told_even_if_the_list_of_them_and_what_they_wrote_are_damaged(
    house: House, tmp_path: Path
) -> None:
    assert await house.say("/memories")
    for table in ("preferences", "people", "threads"):
        damage(tmp_path / "elefante.db", table)
    await house.app.database.write(lambda query: query.run("INSERT INTO spaces (name) VALUES ('x')"))
    for _ in range(2):
        assert await house.say("hello") == FAILURES[Damaged][EN]
    await until(lambda: house.owner.texts == [IS_DAMAGED[EN]])


def test_a_disk_that_is_full_at_the_start_keeps_nobody_from_holding_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.pwrite", full)
    settings = Settings(data_dir=tmp_path)
    with (
        serving(settings, "elefante run", ["telegram"]),
        pytest.raises(BotError, match="Another process already answers Telegram"),
        serving(settings, "elefante run", ["telegram"]),
    ):
        pass


async def test_a_full_disk_is_told_and_told_to_be_over(house: House) -> None:
    assert await house.say("/memories")
    await fill_the_disk(house)
    while (said := await house.say("remember " + "x" * 9000)) != FAILURES[DiskFull][EN]:
        pass
    assert said == FAILURES[DiskFull][EN]
    await until(lambda: house.owner.texts == [IS_FULL[EN]])
    await writer(house).execute_fetchall("PRAGMA max_page_count = 1000000")
    await house.say("/memories")
    await until(lambda: house.owner.texts == [IS_FULL[EN], HAS_ROOM[EN]])


async def test_on_a_full_disk_people_still_read_what_is_there_and_are_told_that_nothing_is_kept(disk: Path) -> None:
    filler = disk / "filler"
    async with open_house(disk) as house:
        await house.say("remember that my dog is called Rex")
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(4096)):
                pass
        full = FAILURES[DiskFull][EN]
        while (said := await house.say("remember that my cat is called Tom")) != full:
            assert "Tom" in said, "a page of the log was left"
        for looks in ("/recall dog", "/memories", "What is my dog called?"):
            said = await house.say(looks)
            assert said.startswith(full), "nobody takes it that this was kept"
            assert "my dog is called Rex" in said
        assert await house.say("What is my dog called?", private=False) == full, "others read along"
        assert await house.say("/reset") == full
        filler.unlink()
        assert full not in await house.say("remember that my cat is called Tom")
        assert await house.say("/recall cat")
        assert full not in await house.say("/recall cat")


async def test_a_locked_file_is_a_sentence_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.storage.sqlite._BUSY_TIMEOUT_S", 0.01)
    path = tmp_path / "elefante.db"
    await (await open_database(path)).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StorageError, match="another program holds it"):
            await open_database(path)


async def until(true: Callable[[], bool]) -> None:
    """Let the other tasks and threads go on until it is so."""
    async with asyncio.timeout(120):
        while not true():  # noqa: ASYNC110 - threads set no event
            await asyncio.sleep(0.01)
