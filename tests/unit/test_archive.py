"""A backup holds what makes a bot and no secret; what is damaged, foreign or too new is refused."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from bot.archive import pack, unpack
from bot.settings.settings import Settings, load
from core.errors import Damaged, DiskFull, SchemaTooNew, StorageError
from core.storage import sqlite_backup
from core.storage.kept import SqlKept
from core.storage.record import program_version
from core.storage.sqlite import open_database
from core.storage.sqlite_migrations import MIGRATIONS
from tests.fakes.canaries import content
from tests.fakes.clock import START

ENV = """\
TELEGRAM_TOKEN=123:secret_telegram_DEF-9
LANGUAGE=pt-BR
MODEL='ollama:qwen3:8b'
OLLAMA_BASE_URL=http://me:hidden@localhost:11434/v1
CONSOLE_USER='Ana "the owner" # 1'
DATA_DIR=data
SOMEBODY_ELSES_KEY=foreign
"""


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


@pytest.fixture
async def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    (tmp_path / "env").write_text(ENV)
    monkeypatch.setenv("ELEFANTE_ENV", str(tmp_path / "env"))
    monkeypatch.setenv("DISCORD_TOKEN", "secret_discord.of.three_parts")
    loaded = load()
    await (await open_database(loaded.database_path)).close()
    return loaded


async def test_a_backup_holds_neither_claim_codes_nor_alarms_and_no_byte_of_them(
    settings: Settings, tmp_path: Path
) -> None:
    database = await open_database(settings.database_path)
    kept = SqlKept(database)
    for name in ("claim:telegram", "alarms", "telegram"):
        await kept.put(name, f"value of {name}")
    await pack(settings, tmp_path / "all.zip", START)
    held = unpack(tmp_path / "all.zip", tmp_path / "scratch.db").database.read_bytes()
    assert [f"value of {name}".encode() in held for name in ("claim:telegram", "alarms", "telegram")] == [
        False,
        False,
        True,
    ]
    assert await kept.get("claim:telegram") == "value of claim:telegram"
    await database.close()


async def test_a_backup_holds_the_database_and_settings_without_secrets(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size_bytes = await pack(settings, tmp_path / "all.zip", START)
    held = unpack(tmp_path / "all.zip", tmp_path / "scratch.db")
    assert (tmp_path / "all.zip").stat().st_size == size_bytes
    assert (tmp_path / "all.zip").stat().st_mode & 0o777 == 0o600
    assert held.database == tmp_path / "scratch.db"
    assert held.about is not None
    assert set(held.about.secrets) == {"OLLAMA_BASE_URL", "TELEGRAM_TOKEN", "DISCORD_TOKEN"}
    assert held.about.paths == ("DATA_DIR",)
    assert (held.about.program, held.about.schema) == (program_version(), len(MIGRATIONS))
    for word in (b"secret_", b"hidden", b"foreign"):
        assert word not in content(tmp_path / "all.zip")
    (tmp_path / "new").write_text(held.settings or "")
    monkeypatch.delenv("DISCORD_TOKEN")
    again = load(tmp_path / "new", data_dir=tmp_path)
    assert (again.language, again.model, again.console_user) == ("pt-BR", "ollama:qwen3:8b", settings.console_user)
    assert again.telegram() is None


async def test_a_bare_database_file_is_a_backup_too(settings: Settings, tmp_path: Path) -> None:
    held = unpack(settings.database_path, tmp_path / "scratch.db")
    assert (held.database, held.about, held.settings) == (settings.database_path, None, None)


async def test_what_is_broken_foreign_or_too_new_is_refused(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tmp_path / "all.zip"
    await pack(settings, whole, START)
    raw = bytearray(whole.read_bytes())
    middle = len(raw) // 2
    raw[middle : middle + 200] = bytes(200)
    (tmp_path / "broken.zip").write_bytes(raw)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
        other.writestr("letter.txt", "hello")
    with closing(sqlite3.connect(tmp_path / "other.db")) as other_database:
        other_database.execute("CREATE TABLE letters (text TEXT)")
    (tmp_path / "text").write_text("hello" * 999)
    refused = {"broken.zip": "broken", "other.zip": "no backup", "other.db": "another program's", "text": "no backup"}
    for name, why in refused.items():
        with pytest.raises(Damaged, match=why):
            unpack(tmp_path / name, tmp_path / f"{name}.scratch")
    with pytest.raises(StorageError, match="there is no file"):
        unpack(tmp_path / "nowhere.zip", tmp_path / "scratch.db")
    monkeypatch.setattr(sqlite_backup, "MIGRATIONS", MIGRATIONS[:-1])
    with pytest.raises(SchemaTooNew, match=f"which knows {len(MIGRATIONS) - 1}"):
        unpack(whole, tmp_path / "newer.db")


async def test_a_backup_takes_nobodys_place_and_no_disk_is_filled(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.zip").write_text("mine")
    with pytest.raises(StorageError, match="there already"):
        await pack(settings, tmp_path / "mine.zip", START)
    assert (tmp_path / "mine.zip").read_text() == "mine"
    before = files(tmp_path)
    monkeypatch.setattr(sqlite_backup, "_ROOM_LEFT_BYTES", 1 << 60)
    with pytest.raises(DiskFull, match=r"MB and \d+ MB are free. Make room, or name .*BACKUP_DIR"):
        await pack(settings, tmp_path / "all.zip", START)
    assert files(tmp_path) == before


async def test_a_backup_that_is_stopped_leaves_nothing(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, reached = asyncio.get_running_loop(), asyncio.Event()

    def copied(source: Path, target: Path, stop: threading.Event) -> int:
        version = sqlite_backup.copied(source, target, stop)
        loop.call_soon_threadsafe(reached.set)
        stop.wait()
        return version

    monkeypatch.setattr("bot.archive.copied", copied)
    before = files(tmp_path)
    packing = asyncio.create_task(pack(settings, tmp_path / "all.zip", START))
    await reached.wait()
    packing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await packing
    assert files(tmp_path) == before
