"""The data folder: where backups, exports and the terminal's history lie, and the daily care for the database."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC
from pathlib import Path
from typing import Final

from adapters.console.files import EXPORTS
from bot.settings.settings import Settings
from core.delivery.alerts import DAMAGED, IS_SOUND, OwnerAlerts
from core.errors import Damaged, StorageError
from core.features.transfer.files import Backup, Copies, locked
from core.ports import Clock
from core.storage.database import Database
from core.storage.sqlite_backup import PART, copy_database
from core.types import UserKey

_BACKUPS: Final = "backups"
_NAME: Final = "elefante-"
_ASIDE: Final = "before-restore-"


class DataFolder(Copies):
    """Make and find copies of the data: backups in `backups`, files handed over in the terminal in `exports`."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self.backups = settings.data_dir / _BACKUPS
        self.exports = settings.data_dir / EXPORTS

    async def make(self) -> Backup:
        """Make and verify a backup; remove the oldest beyond BACKUPS_KEPT.

        Raises:
            StorageError: there is no room, or the database is damaged; no backup was made.
        """
        with self.alone():
            path = self._free(_NAME)
            size_bytes = await copy_database(self._settings.database_path, path)
        old = sorted(self.backups.glob(f"{_NAME}*.db"))[: -self._settings.backups_kept]
        for each in old:
            each.unlink(missing_ok=True)
        return Backup(path, size_bytes, tuple(old))

    async def paths(self) -> Sequence[Path]:
        """Return every backup and export, each of which may hold what was deleted since."""
        return sorted(path for folder in (self.backups, self.exports) for path in folder.glob("*") if path.is_file())

    def aside(self) -> Path:
        """Return a free path for a database that is about to be replaced. Call and use it inside `alone`."""
        return self._free(_ASIDE)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from making copies here; remove the half copies that a crash left.

        Raises:
            StorageError: another process is making a copy, or the folder cannot be made.
        """
        try:
            self.backups.mkdir(mode=0o700, exist_ok=True)
            lock = locked(self.backups)
        except OSError as error:
            raise StorageError(f"{self.backups} cannot be made: {error.strerror}") from error
        if lock is None:
            raise StorageError("another backup is being made: try again when it is done")
        try:
            for part in self.backups.glob(f"*{PART}*"):
                part.unlink(missing_ok=True)
            yield
        finally:
            os.close(lock)

    def _free(self, name: str) -> Path:
        """Return a free path named by the time, so that names sort by age."""
        stem = f"{name}{self._clock.now().astimezone(UTC):%Y%m%d-%H%M%S}"
        path, number = self.backups / f"{stem}.db", 1
        while path.exists():
            number += 1
            path = self.backups / f"{stem}_{number:02}.db"
        return path


class ConsoleHistory:
    """The file of lines that the terminal's prompt brings back with the arrow up: the console owner's words."""

    def __init__(self, settings: Settings) -> None:
        self._path = settings.data_dir / "console-history"
        self._owner = settings.console_owner

    async def forget(self, user: UserKey) -> None:
        """Remove the file if that person is the console owner.

        Raises:
            StorageError: the file cannot be removed.
        """
        if user != self._owner:
            return
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"the terminal's history cannot be removed: {error.strerror}") from error


_DAY_S: Final = 86_400.0


@asynccontextmanager
async def upkeep(database: Database, alerts: OwnerAlerts, clock: Clock) -> AsyncIterator[None]:
    """While the block runs, check the database at once and then daily, and scrub what remains of deleted data."""
    task = asyncio.get_running_loop().create_task(_every_day(database, alerts, clock))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _every_day(database: Database, alerts: OwnerAlerts, clock: Clock) -> None:
    while True:
        try:
            if found := await database.integrity():
                raise Damaged(f"the database is not sound: {len(found)} faults")  # they may quote what is stored
            await alerts.over(DAMAGED, IS_SOUND)
            await database.scrub()
        except StorageError as error:
            await alerts.storage_failed(error)
        await clock.sleep(_DAY_S)
