"""A backup that was killed is no backup: nothing of it is taken for one, and the next one removes what it left."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from bot.archive import unpack
from bot.data_folder import DataFolder
from bot.settings.settings import load
from core.clock import SystemClock
from core.storage.sqlite import open_database

COPYING = """
import sys, threading, time
from pathlib import Path
from core.storage import sqlite_backup as backup

def halfway(path, stop):
    print("halfway", flush=True)
    time.sleep(60)

backup.verified = halfway  # all is written, and nothing is settled yet
backup.copied(Path(sys.argv[1]), Path(sys.argv[2]), threading.Event())
"""


def _copy_and_be_killed(database: Path, target: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", COPYING, str(database), str(target)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"halfway\n"
        process.kill()
    assert [path.name for path in target.parent.iterdir()] == ["elefante-1.db.part"]


async def test_what_a_killed_backup_left_is_no_backup_and_goes_with_the_next(tmp_path: Path) -> None:
    settings = load(env_file=None, data_dir=tmp_path, backups_kept=1)
    database = await open_database(settings.database_path)
    folder = DataFolder(settings, SystemClock())
    folder.backups.mkdir()
    await asyncio.to_thread(_copy_and_be_killed, settings.database_path, folder.backups / "elefante-1.db")
    (folder.backups / "elefante-1.db.part-journal").touch()
    made = await folder.make()
    assert list(folder.backups.iterdir()) == [made.path]
    await asyncio.to_thread(unpack, made.path, tmp_path / "scratch")
    await database.close()
