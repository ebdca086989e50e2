"""Files on the disk: those that are sent to a person, which are removed after that, and the port of backups."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Final, Protocol

from core.errors import StorageError

_PREFIX: Final = "handing-over-"


class Spool:
    """Keep each file that is being sent in a private folder, below `folder` or the system's temporary one."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    @asynccontextmanager
    async def place(self, name: str) -> AsyncIterator[Path]:
        """Yield the path of a file to be made there; remove the file at the end, in every case.

        Raises:
            StorageError: no folder can be made.
        """
        try:
            own = Path(await asyncio.to_thread(mkdtemp, "", _PREFIX, self._folder))
            lock = locked(own)
        except OSError as error:
            raise StorageError(f"no file can be made: {error.strerror}") from error
        try:
            yield own / name
        finally:
            await asyncio.to_thread(_remove, own, lock)

    def clear(self) -> None:
        """Remove what a crash left behind; files that any process is sending now stay."""
        for left in self._folder.glob(f"{_PREFIX}*") if self._folder else ():
            with suppress(FileNotFoundError):  # handed over meanwhile
                if (lock := locked(left)) is not None:
                    _remove(left, lock)


def _remove(folder: Path, lock: int | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def locked(folder: Path) -> int | None:
    """Lock the folder and return the descriptor, which holds the lock until it is closed; None if it is locked.

    The lock ends with the process at the latest. Source: flock(2).

    Raises:
        OSError: there is no such folder, or it cannot be read.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def private_file(path: Path) -> int:
    """Create a file that only its owner may read, and return its descriptor, open for writing.

    Raises:
        FileExistsError: there is one of that name.
    """
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of all that makes a bot; `removed` are the older copies that were deleted for it."""

    path: Path
    size_bytes: int
    removed: tuple[Path, ...] = ()


class Copies(Protocol):
    """Copies of all that is kept. `on_server`: a database server keeps it, of whose copies nothing is known here.

    One is made every day, and the newest `daily` stay; 0: none is.
    """

    on_server: bool = False
    daily: int = 0

    async def make(self) -> Backup:
        """Make a backup, verify it, and delete the oldest ones beyond the number to keep.

        Raises:
            StorageError: no backup was made: the disk is full, or the database is damaged.
        """
        ...

    async def paths(self) -> Sequence[Path]:
        """Return every file that may still have what was deleted since: backups and exports."""
        ...

    async def readable(self) -> Sequence[Path]:
        """Return those of them that are not sealed, so that anybody who has them can read them."""
        ...


class NoCopies(Copies):
    """No copies: nothing is kept on a disk."""

    async def make(self) -> Backup:
        """Raise StorageError, as there is nothing to copy."""
        raise StorageError("nothing is kept on a disk here")

    async def paths(self) -> Sequence[Path]:
        """Return nothing."""
        return ()

    async def readable(self) -> Sequence[Path]:
        """Return nothing."""
        return ()
