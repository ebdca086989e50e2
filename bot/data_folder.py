"""The folder that holds all data: where backups and what was handed over in the terminal lie in it, and which go.

Does not know how a database is copied: `core/storage/backup.py` does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC
from pathlib import Path
from typing import Final

from adapters.console.files import EXPORTS
from bot.settings.settings import Settings
from core.errors import StorageError
from core.features.transfer.files import Backup, Copies, locked
from core.ports import Clock
from core.storage.backup import PART, copy_database

_BACKUPS: Final = "backups"
_NAME: Final = "elefante-"
_ASIDE: Final = "before-restore-"


class DataFolder(Copies):
    """The data folder: backups in `backups`, and in `exports` what was handed over in the terminal."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self.backups = settings.data_dir / _BACKUPS
        self.exports = settings.data_dir / EXPORTS

    async def make(self) -> Backup:
        """Make a backup and verify it; the oldest beyond BACKUPS_KEPT go.

        Raises:
            StorageError: there is none: no room, or the database is not sound.
        """
        with self.alone():
            path = self._free(_NAME)
            size_bytes = await copy_database(self._settings.database_path, path)
        old = sorted(self.backups.glob(f"{_NAME}*.db"))[: -self._settings.backups_kept]
        for each in old:
            each.unlink(missing_ok=True)
        return Backup(path, size_bytes, tuple(old))

    async def paths(self) -> Sequence[Path]:
        """Return every file that may still hold what was deleted since."""
        return sorted(path for folder in (self.backups, self.exports) for path in folder.glob("*") if path.is_file())

    def aside(self) -> Path:
        """Return where the database goes that is about to be replaced. To be asked, and used, `alone`."""
        return self._free(_ASIDE)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep everybody else from making copies here; what a crash left of one goes.

        Raises:
            StorageError: somebody else is making one, or the folder cannot be made.
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
        """Return a path that is not taken, named by the time, so that names sort as they were made."""
        stem = f"{name}{self._clock.now().astimezone(UTC):%Y%m%d-%H%M%S}"
        path, number = self.backups / f"{stem}.db", 1
        while path.exists():
            number += 1
            path = self.backups / f"{stem}_{number:02}.db"
        return path
