"""Sealing and opening by processes that are killed at random: nothing is lost, and no word is left at the end."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from bot.cli.key import check
from bot.sealing import convert, finish_conversion, make_key, mark_of, opened_keys
from bot.settings.settings import Settings, load
from bot.wiring import storage
from core.errors import StorageError
from core.storage.postgres import open_postgres
from core.storage.sqlite import open_database
from tests import postgres
from tests.fakes.canaries import PEOPLE, filled, found, rows_found, with_files

ROOT = Path(__file__).parents[2]
KILLS = 24
FILES = 4


def settings_in(folder: Path, **more: object) -> Settings:
    key = folder / "etc" / "key"
    make_key(key)
    return load(None, data_dir=folder / "data", memory_key_file=key, **more)


def said(settings: Settings, verb: str) -> subprocess.Popen[bytes]:
    """Start the command in a process of its own."""
    environment = {
        "DATA_DIR": settings.data_dir, "MEMORY_KEY_FILE": settings.memory_key_file, "PYTHONPATH": ROOT,
        "STORAGE_URL": settings.storage_url.get_secret_value(),
    }  # fmt: skip
    named = {name: str(value) for name, value in environment.items()}
    return subprocess.Popen(
        [sys.executable, "-m", "bot", "key", verb, "--yes", "--json"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ | named,
    )  # fmt: skip


def here(settings: Settings, *, opens: bool) -> int:
    """Convert in this process, and return how many rows that were."""
    with opened_keys(settings, make=True) as keys:
        assert keys is not None
        return convert(settings, keys, lambda *_: None, opens=opens).rows


async def killed(settings: Settings, verb: str, most: int = KILLS) -> tuple[int, int]:
    """Have the command killed so often at random, and begun anew; return the kills, and how many runs ended."""
    began_s = time.monotonic()
    _, failed = said(settings, verb).communicate(timeout=120)
    whole_s = time.monotonic() - began_s
    assert (mark_of(settings) is None) is (verb == "unseal"), failed.decode()
    here(settings, opens=verb == "seal")
    chance, kills, ended = random.Random(verb), 0, 1  # noqa: S311
    while kills < most:
        process, began_s = said(settings, verb), time.monotonic()
        with suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(process.wait, chance.uniform(0.4, 1.0) * whole_s)
        # Others use the machine, too.
        whole_s = 1.05 * whole_s if process.poll() is None else time.monotonic() - began_s
        process.kill()
        _, failed = process.communicate(timeout=60)
        if process.returncode == -signal.SIGKILL:
            kills += 1
        else:
            assert process.returncode == 0, failed.decode()
            ended += 1
            here(settings, opens=verb == "seal")
        await readable(settings)
    return kills, ended


async def readable(settings: Settings) -> None:
    """Start as a bot would: what is sealed opens, and what is not is told to be so."""
    finish_conversion(settings)
    mark = mark_of(settings)
    if mark is not None and mark.state == "sealed":
        async with storage(settings) as database:
            assert await database.rows("SELECT count(*) FROM memories") != [(0,)]
        assert check(settings)["ok"]
    else:
        with pytest.raises(StorageError, match=r"elefante key (un)?seal"):
            async with storage(settings):
                pass


@pytest.mark.long
@pytest.mark.parametrize("verb", ["seal", "unseal"])
async def test_a_file_is_whole_on_one_side_however_often_it_was_killed(tmp_path: Path, verb: str) -> None:
    settings = settings_in(tmp_path)
    database = await open_database(settings.database_path)
    await database.write(lambda query: filled(query, 150))
    await database.close()
    with_files(settings.files_folder, FILES)
    rows = here(settings, opens=False)
    values = check(settings)["values"]
    if verb == "seal":
        here(settings, opens=True)
    kills, ended = await killed(settings, verb)
    print(f"{verb}: {kills} killed, {ended} came to their end")  # noqa: T201
    assert here(settings, opens=False) in {rows, 0}
    report = check(settings)
    assert report["ok"]
    assert report["values"] == values
    assert found([settings.data_dir]) == []
    assert sorted(path.name for path in settings.data_dir.iterdir() if path.suffix != ".log") == [
        "elefante.db",
        "files",
    ]
    here(settings, opens=True)
    assert len(found([settings.files_folder])) == FILES * len(PEOPLE)


@pytest.mark.long
@pytest.mark.parametrize("verb", ["seal", "unseal"])
async def test_a_server_is_converted_to_the_end_however_often_that_was_killed(tmp_path: Path, verb: str) -> None:
    url = postgres.new_database()
    settings = settings_in(tmp_path, storage_url=url)
    database = await open_postgres(url)
    await database.write(lambda query: filled(query, 200))
    await database.close()
    before = rows_found(url)
    assert before
    here(settings, opens=False)
    values = check(settings)["values"]
    assert rows_found(url) == 0
    if verb == "seal":
        here(settings, opens=True)
    kills, ended = await killed(settings, verb)
    print(f"{verb}: {kills} killed, {ended} came to their end")  # noqa: T201
    here(settings, opens=verb == "unseal")  # the last was killed on its way, which has one end
    here(settings, opens=False)
    report = check(settings)
    assert report["ok"]
    assert report["values"] == values
    assert rows_found(url) == 0
    here(settings, opens=True)
    assert rows_found(url) >= before - 200 * len(PEOPLE)  # the terms of messages are found by the searches to come
