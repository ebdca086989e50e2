"""Zero what deleted rows left in a database file, in place and in small steps, while others go on using it.

SQLite zeroes the cells it frees (`secure_delete`), but when it divides or joins pages it leaves copies of the cells it
moved in the unallocated space of the old page. That space is found by each page's own header and filled with zeros: a
write that a crash tears in two harms nothing, as nobody reads there.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import ClassVar

from core.errors import StorageError

_MAX_PASSES = 8  # a page that SQLite renumbers during a pass can slip behind it; writers renumber some at any time
_CHUNK_BYTES = 1 << 20
_FIRST_PAGES, _MAX_PAGES = 16, 256  # zeroed under one lock
_HOLD_S = 0.01  # a writer that finds the lock taken looks again after 1, 2, 5, 10, ... up to 100 ms
_MAX_REST_S = 0.2
_PATIENCE_S = 60.0
_WAIT_S = 0.05  # for a lock; a checkpoint that waits for readers holds up writers meanwhile
_HEADER = struct.Struct(">BHHH")  # of a b-tree page: its kind, first freeblock, number of cells, start of the content
_FREEBLOCK = struct.Struct(">HH")
_POINTERS_AT = {2: 12, 5: 12, 10: 8, 13: 8}
"""By kind of b-tree page, where its cell pointers begin. Overflow and free pages begin with a page number, whose first
byte is 0 or 1 in a file of less than 128 GiB. Source: sqlite.org/fileformat.html, 1.6."""


def unallocated(page: bytes | memoryview, usable: int) -> list[tuple[int, int]]:
    """Return the ranges of a page that hold nothing by its own header; none for a page that is no sound b-tree page."""
    kind, freeblock, cells, content = _HEADER.unpack_from(page)
    pointers = _POINTERS_AT.get(kind)
    if pointers is None:
        return []
    start, end = pointers + 2 * cells, content or 65536
    if not start <= end <= usable:
        return []
    ranges = [(start, end)]
    last = end
    while freeblock:
        if not last <= freeblock <= usable - _FREEBLOCK.size:
            return []
        following, size = _FREEBLOCK.unpack_from(page, freeblock)
        last = freeblock + size
        if not _FREEBLOCK.size <= size <= usable - freeblock:
            return []
        ranges.append((freeblock + _FREEBLOCK.size, last))
        freeblock = following
    return ranges


def remains(page: bytes, usable: int) -> list[tuple[int, int]]:
    """Return those of the unallocated ranges in which a byte is not zero."""
    return [(a, b) for a, b in unallocated(page, usable) if page.count(0, a, b) != b - a]


class DatabaseFile:
    """A descriptor of a database file, one for all who have the file open in this process; `release` it.

    It is closed after the last connection: closing it earlier would drop the locks of every connection of the process.
    Source: sqlite.org/howtocorrupt.html, 2.2.
    """

    _held: ClassVar[dict[tuple[int, int], tuple[int, int]]] = {}

    def __init__(self, path: Path) -> None:
        self.path = path
        status = path.stat()
        self._key = (status.st_dev, status.st_ino)
        descriptor, users = self._held.get(self._key) or (os.open(path, os.O_RDWR | os.O_CLOEXEC), 0)
        self._held[self._key] = (descriptor, users + 1)
        self.descriptor = descriptor

    def release(self) -> None:
        """Close it, unless others use it; call this when the connections are closed."""
        descriptor, users = self._held.pop(self._key)
        if users > 1:
            self._held[self._key] = (descriptor, users - 1)
        else:
            os.close(descriptor)


def scrub(file: DatabaseFile, stop: threading.Event) -> None:
    """Zero all that is left of what was deleted before this call, in the file and in its log.

    Raises:
        StorageError: no moment was found for it, or `stop` was set; what was done stays done.
        sqlite3.Error, OSError: the file cannot be read or written.
    """
    with closing(_connect(file.path)) as writer, closing(_connect(file.path)) as copier:
        _Scrubber(file, writer, copier, stop).run()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=_WAIT_S)
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


class _Scrubber:
    """One pass after another over a file."""

    def __init__(
        self, file: DatabaseFile, writer: sqlite3.Connection, copier: sqlite3.Connection, stop: threading.Event
    ) -> None:
        self._file = file.descriptor
        self._writer = writer
        self._copier = copier
        self._stop = stop
        self._pages = _FIRST_PAGES
        header = os.pread(self._file, 100, 0)
        [size] = struct.unpack_from(">H", header, 16)
        self._page_bytes = 65536 if size == 1 else size
        self._usable = self._page_bytes - header[20]

    def run(self) -> None:
        """Make passes until one finds nothing, and write them through to the disk."""
        for _ in range(_MAX_PASSES):
            self._until_done(self._empty_log)
            suspects, is_clean = self._suspects(), True
            while batch := list(islice(suspects, self._pages)):
                is_clean = False
                self._until_done(partial(self._zero, batch))
            if is_clean:
                break
        self._until_done(self._empty_log)
        os.fsync(self._file)

    def _suspects(self) -> Iterator[int]:
        """Yield the numbers, from 0, of pages that seem to hold remains; looked at without any lock.

        Page 0 holds the schema, and nobody's words.
        """
        at, size = self._page_bytes, self._page_bytes
        while chunk := os.pread(self._file, _CHUNK_BYTES, at):
            began_s = time.thread_time()
            suspects = [
                (at + start) // size
                for start in range(0, len(chunk) - size + 1, size)
                if remains(chunk[start : start + size], self._usable)
            ]
            at += len(chunk) - len(chunk) % size or size
            self._rest(2 * (time.thread_time() - began_s))
            yield from suspects

    def _until_done(self, step: Callable[[], bool]) -> None:
        """Take a step, again and again while others are in its way."""
        give_up_s = time.monotonic() + _PATIENCE_S
        done = False
        while not done:
            began_s = time.monotonic()
            try:
                done = step()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                    raise
            if not done and time.monotonic() > give_up_s:
                raise StorageError("what was deleted is not scrubbed from the disk yet: the file is in use")
            self._rest(time.monotonic() - began_s)

    def _empty_log(self) -> bool:
        """Empty the log into the file; return False if a reader still needs it."""
        self._checkpoint("PASSIVE")  # the most of it, holding nobody up
        return self._checkpoint("TRUNCATE")

    def _zero(self, pages: Sequence[int]) -> bool:
        """Zero the remains in those pages while nobody can write; return False if a reader still needs the log.

        With the write lock held and all of the log in the file, no checkpoint has anything to copy: the file stands
        still. A commit follows, by which every connection drops the pages that it has in memory.
        """
        self._checkpoint("PASSIVE")
        self._writer.execute("BEGIN IMMEDIATE")
        began_s = time.monotonic()
        try:
            if not self._checkpoint("PASSIVE"):
                return False
            for page in pages:
                at = page * self._page_bytes
                for start, end in remains(os.pread(self._file, self._page_bytes, at), self._usable):
                    os.pwrite(self._file, bytes(end - start), at + start)
            [version] = self._writer.execute("PRAGMA user_version").fetchone()
            self._writer.execute(f"PRAGMA user_version = {version}")
            self._writer.execute("COMMIT")
        finally:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
        fitting = int(len(pages) * _HOLD_S / max(time.monotonic() - began_s, 1e-6))
        self._pages = max(1, min(fitting, 2 * self._pages, _MAX_PAGES))
        return True

    def _checkpoint(self, mode: str) -> bool:
        """Copy the log into the file; return whether all of it is there."""
        [busy, frames, copied] = self._copier.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
        return not busy and frames == copied

    def _rest(self, seconds: float) -> None:
        """Wait a while, so that others get the machine and the file."""
        if self._stop.wait(min(seconds, _MAX_REST_S)):
            raise StorageError("what was deleted is not scrubbed from the disk yet: stopped")
