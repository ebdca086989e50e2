"""Files that commands make: what is handed over to a person, and copies of everything.

Knows how long a file that is handed over lies on the disk: until the person has it. Does not know what is in any file,
nor how a backup is made.
"""

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
    """Where a file lies while it is handed over: in a folder of its own that nobody else may read.

    Without a `folder`, in the system's folder for such files.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    @asynccontextmanager
    async def place(self, name: str) -> AsyncIterator[Path]:
        """Give the path of a file that is not there yet; at the end it is removed, whatever happened.

        Raises:
            StorageError: there is no room for it.
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
        """Remove what a crash left behind; what is being handed over now, by any process, stays."""
        for left in self._folder.glob(f"{_PREFIX}*") if self._folder else ():
            with suppress(FileNotFoundError):  # handed over meanwhile
                if (lock := locked(left)) is not None:
                    _remove(left, lock)


def _remove(folder: Path, lock: int | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def locked(folder: Path) -> int | None:
    """Return a descriptor that holds the folder until it is closed, at the latest by the end of the process.

    None: somebody else holds it. Source: flock(2).

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
    """Make a file that only its owner may read, open it for writing and return its descriptor.

    Raises:
        FileExistsError: there is one of that name.
    """
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of the whole database: where it lies, how large it is, and which older ones went for it."""

    path: Path
    size_bytes: int
    removed: tuple[Path, ...] = ()


class Copies(Protocol):
    """Copies of what is kept, which lie beside it."""

    async def make(self) -> Backup:
        """Make a backup and verify it; the oldest beyond the number that is kept go.

        Raises:
            StorageError: there is none: no room, or the database is not sound.
        """
        ...

    async def paths(self) -> Sequence[Path]:
        """Return every file that may still hold what was deleted since: backups, and exports that were handed over."""
        ...


class NoCopies(Copies):
    """Where nothing is kept on a disk."""

    async def make(self) -> Backup:
        """Raise StorageError: there is nothing that could be copied."""
        raise StorageError("nothing is kept on a disk here")

    async def paths(self) -> Sequence[Path]:
        """Return nothing."""
        return ()
