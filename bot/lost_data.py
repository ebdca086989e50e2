"""Notice at the start that the database was lost, or a part of it, and name the backup that has it.

A database that is gone or empty is one beside which backups lie. One that lost its last changes (a log that was cut, an
old copy of the disk) has given fewer numbers than a backup of it: `core.storage.sqlite_backup`. Where nothing is amiss
it takes a millisecond for each backup: nothing of a database is read but these numbers.
"""

from __future__ import annotations

import asyncio
import shlex
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bot.archive import is_whole, marks_in
from bot.data_folder import DataFolder
from bot.sealing import sealing_of
from bot.settings.settings import Settings
from core.clock import SystemClock
from core.errors import Damaged, StorageError
from core.storage.sqlite import open_database
from core.storage.sqlite_backup import Marks, is_lost, marks_of, raise_marks
from core.storage.sqlite_schema import RESTORE

_RESTORE: Final = "Put it back, then start the bot:"


def check_not_lost(settings: Settings) -> None:
    """Return if the database file has all that the backups beside it hold.

    Raises:
        StorageError: it has not; the message has the lines to type.
    """
    backups = DataFolder(settings, SystemClock()).restorable()
    if not backups:
        return
    path = settings.database_path
    own = _marks_of(path)
    if own is None:
        what = f"{path} is empty" if path.exists() else f"there is no {path}"
        reason = f"the database is gone: {what}, but backups of it lie in {settings.backups_folder}"
        raise StorageError(_told(reason, backups, f"Or begin anew with an empty one:\n{_anyway(settings)}"))
    lacking = [each for each in backups if (marks := marks_in(each)) is not None and own.lacks(marks)]
    if lacking:
        reason = f"a part of the database is lost: {path} lacks what a backup holds"
        raise StorageError(_told(reason, lacking, f"Or go on without it:\n{_anyway(settings)}"))


def damaged(settings: Settings, error: Damaged) -> Damaged:
    """Return the error about a database that cannot be opened, with the lines to type."""
    reason = f"{settings.database_path}: {str(error).removesuffix(f': {RESTORE}')}"
    backups = DataFolder(settings, SystemClock()).restorable()
    return (
        Damaged(_told(reason, backups))
        if backups
        else Damaged(
            f"{reason}, and there is no backup in {settings.backups_folder}. If there is one elsewhere: "
            f"elefante restore FILE. To begin anew: mv {settings.database_path} {settings.database_path}.broken"
        )
    )


async def go_on_anyway(settings: Settings) -> None:
    """Let the database be what it is from now on, whatever the backups beside it hold.

    Raises:
        StorageError: it cannot be used.
    """
    if settings.engine != "sqlite" or settings.in_memory:
        return
    with sealing_of(settings) as sealing:
        database = await open_database(settings.database_path, backups=settings.backups_folder, sealing=sealing)
        await database.close()
    await asyncio.to_thread(raise_marks, settings.database_path, known_marks(settings))


def known_marks(settings: Settings) -> list[Marks]:
    """Return how far the database came by each of its states that can be read: its own, and those of the backups."""
    backups = DataFolder(settings, SystemClock()).restorable()
    known = [marks for each in backups if (marks := marks_in(each)) is not None]
    with suppress(Damaged):
        if (own := _marks_of(settings.database_path)) is not None:
            known.append(own)
    return known


def _marks_of(database: Path) -> Marks | None:
    """Return how far a database came; None if there is none, or nothing in it.

    Opening an empty file, SQLite would delete a log beside it.

    Raises:
        Damaged, StorageError: it cannot be read.
    """
    return None if is_lost(database) or not (marks := marks_of(database)).schema else marks


def _told(reason: str, backups: list[Path], otherwise: str = "") -> str:
    """Return the reason, with the lines to type."""
    newest = next((each for each in backups if is_whole(each)), None)
    if newest is None:
        lines = [f"{reason}. No backup there can be read to its end: look for a copy elsewhere"]
    else:
        made = datetime.fromtimestamp(newest.stat().st_mtime, UTC)
        lines = [f"{reason}. The newest whole backup is of {made:%Y-%m-%d %H:%M} UTC. {_RESTORE}"]
        lines.append(f"    elefante restore {shlex.quote(str(newest.absolute()))}")
    return "\n".join([*lines, *([otherwise] if otherwise else [])])


def _anyway(settings: Settings) -> str:
    """Return the line that goes on whatever was lost: `run` needs a platform."""
    verb = "run" if settings.telegram() or settings.discord() or settings.http_port else "chat"
    return f"    elefante {verb} --anyway"
