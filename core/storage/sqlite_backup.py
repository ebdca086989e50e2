"""Copies of the database file: made while it is in use, verified, and put back; and how far each of them came.

Copies are made in threads of their own: one of gigabytes holds nobody up. How far a database came are its `Marks`: by
them a start notices a file that lost what a backup of it holds. Numbers of rows are given once, in ascending order, and
deleting a row gives none back (sqlite.org/autoinc.html): who forgets everything does not look like a loss. A database
that is put back from an older backup goes on above the numbers that were given since, so that no button or list in a
chat names something else by one of them.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import re
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeVar

from core.errors import Damaged, DiskFull, StorageError
from core.storage.kept import FIND_MARK, SealMark, mark_in
from core.storage.sqlite_migrations import MIGRATIONS, Migration
from core.storage.sqlite_schema import schema_version, tables_of, translated, usable_version

T = TypeVar("T")

SIDES: Final = ("-wal", "-shm")  # what SQLite keeps beside a file that is in use
PART: Final = ".part"
"""What the name of a copy ends in until it is whole."""

_ROOM_LEFT_BYTES: Final = 16 << 20  # a copy never takes the last of the disk
_PAGES_AT_ONCE: Final = 2_000
_STEPS_BETWEEN_LOOKS: Final = 100_000  # of SQLite's machine: some milliseconds
_SHARED_LOCK: Final = 0x40000002
"""First byte of the lock of whoever has a file open, of 510 (sqlite.org/fileformat.html, 1.3.1)."""

_WAIT_S: Final = 1.0  # for others
_MEBIBYTE: Final = 1 << 20


class InUse(StorageError):
    """Another process has the database open. The message is its name."""


async def in_thread(function: Callable[[threading.Event], T]) -> T:
    """Return what a function returns that runs in a thread; if this is cancelled, its event is set and it has ended."""
    stop = threading.Event()
    doing = asyncio.get_running_loop().run_in_executor(None, function, stop)
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([doing])
        raise


async def restore_database(copy: Path, database: Path, aside: Path) -> list[Path]:
    """Put the copy in the database's place, and what was there in `aside`; return the files that it is kept in.

    Raises:
        SchemaTooNew, SchemaTooOld, Damaged: the copy cannot be used; nothing was changed.
        StorageError: somebody has the database open, or there is no room; nothing was changed.
    """
    return await asyncio.to_thread(_restored, copy, database, aside)


def copied(source: Path, target: Path, stop: threading.Event) -> int:
    """Write what is committed now to a new file, readable by its owner only; return the version of the schema.

    It is a single file, sound and complete, or it is not there: also if `stop` is set meanwhile.

    Raises:
        DiskFull: the disk has no room for it; nothing was written.
        Damaged, StorageError: there is no copy: `target` exists, there is no room, or the source is not sound.
    """
    try:
        if target.exists():
            raise StorageError(f"{target} is there already; name another file")
        with new_file(target) as part:
            with translated(), closing(_open(source, "rw")) as live:
                write_copy(live, part, stop)
            return verified(part, stop)
    except OSError as error:
        raise unwritten(target, error) from error


def drop_kept(copy: Path, names: Sequence[str]) -> None:
    """Remove from a copy the texts of the table `kept` whose names begin so, every byte of them."""
    with translated(), closing(_open(copy, "rw")) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'kept'").fetchone():
            for name in names:
                connection.execute("DELETE FROM kept WHERE substr(name, 1, length(?)) = ?", (name, name))


def write_copy(live: sqlite3.Connection, part: Path, stop: threading.Event) -> None:
    """Write what is committed to the empty file `part`, as one file with nothing beside it.

    Raises:
        DiskFull: the disk has no room for it; nothing was written.
        StorageError: `stop` was set.
        sqlite3.Error: the database cannot be read, or the file cannot be written.
    """

    def look(*_: int) -> None:
        if stop.is_set():
            raise StorageError("the copy was stopped")

    live.execute("BEGIN")  # one state: a copy in steps would begin anew after each commit of others
    try:
        [pages] = live.execute("PRAGMA page_count").fetchone()
        [page_bytes] = live.execute("PRAGMA page_size").fetchone()
        ensure_room(part.parent, pages * page_bytes)
        with closing(_open(part, "rw")) as copy:
            live.backup(copy, pages=_PAGES_AT_ONCE, progress=look)
            copy.execute("PRAGMA journal_mode = DELETE")
    finally:
        live.rollback()


def ensure_room(folder: Path, needed_bytes: int) -> None:
    """Return if the disk of the folder has room for so many bytes, and some more.

    Raises:
        DiskFull: it has not.
        OSError: there is no such folder.
    """
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes + _ROOM_LEFT_BYTES:
        raise DiskFull(
            f"{folder} has no room for a copy: it takes {needed_bytes / _MEBIBYTE:.0f} MB and "
            f"{free_bytes / _MEBIBYTE:.0f} MB are free. Make room, or name a folder of another disk: BACKUP_DIR"
        )


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a file to write to, its owner's only: it is at `path` when all went well, or nowhere.

    Raises:
        OSError: it cannot be written.
    """
    part = path.with_name(f"{path.name}{PART}")
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield part
        settle(part)
        part.replace(path)
        settle(path.parent)
    except BaseException:
        for left in (part, Path(f"{part}-journal")):
            left.unlink(missing_ok=True)
        raise


def free_path(folder: Path, stem: str, suffix: str) -> Path:
    """Return a path that nobody has, named by the stem and, from the second on, a number: names sort by age."""
    taken = [re.fullmatch(r"(?:_(\d+))?", path.stem.removeprefix(stem)) for path in folder.glob(f"{stem}*{suffix}")]
    last = max((int(found[1] or 1) for found in taken if found), default=0)
    return folder / (f"{stem}_{last + 1:02}{suffix}" if last else f"{stem}{suffix}")


def unwritten(path: Path, error: OSError) -> StorageError:
    """Return our error for a file that could not be written."""
    kind = DiskFull if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG} else StorageError
    return kind(f"{path} cannot be written: {error.strerror}")


def verified(path: Path, stop: threading.Event | None = None, *, migrations: Sequence[Migration] | None = None) -> int:
    """Read the whole file and return its schema, if it is a sound database of this program, of any version up to ours.

    Raises:
        SchemaTooNew, SchemaTooOld: this version of the program cannot use it.
        Damaged, StorageError: it is none, or cannot be read; or `stop` was set.
    """
    if not path.is_file():
        raise StorageError(f"there is no file {path}")
    with translated(), closing(_open(path, "ro")) as connection:
        if stop is not None:
            connection.set_progress_handler(stop.is_set, _STEPS_BETWEEN_LOOKS)
        version = usable_version(connection, MIGRATIONS if migrations is None else migrations)
        if not version:
            raise Damaged("this file is no database of this program")
        [found] = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok" or connection.execute("PRAGMA foreign_key_check").fetchone():
            raise Damaged("this database is not sound")
    return version


def is_lost(file: Path) -> bool:
    """Return whether there is no such file, or nothing in it."""
    return not file.exists() or not file.stat().st_size


def _restored(copy: Path, database: Path, aside: Path) -> list[Path]:
    stop = threading.Event()
    verified(copy)
    try:
        if not any(path.exists() for path in _files(database)):
            copied(copy, database, stop)
            return []
        if is_lost(database):  # opening it, SQLite would delete a log beside it, which can be read yet
            _replaced_unread(copy, database, aside, stop)
        else:
            _replaced(copy, database, aside, stop)
    except InUse as error:
        raise StorageError(f"{error} has the database open: stop it first, then restore") from error
    except OSError as error:
        raise unwritten(Path(error.filename2 or error.filename or aside), error) from error
    return [path for path in _files(aside) if path.exists()]


def _replaced(copy: Path, database: Path, aside: Path, stop: threading.Event) -> None:
    try:
        with translated(), closing(alone(database)) as present:
            with new_file(aside) as part:
                write_copy(present, part, stop)
            with closing(_open(copy, "ro")) as source:
                source.backup(present)
    except Damaged:
        _replaced_unread(copy, database, aside, stop)


def _replaced_unread(copy: Path, database: Path, aside: Path, stop: threading.Event) -> None:
    """Put the copy in place of a file that cannot be opened, which is kept in `aside` byte for byte, as is its log.

    Both may lie on different disks. Until all is written, nothing is removed.
    """
    if database.exists() and _is_open_elsewhere(database):
        raise InUse(_holder(database))
    with new_file(database) as part:
        with translated(), closing(_open(copy, "ro")) as source:
            write_copy(source, part, stop)
        for path in _files(database):
            if not is_lost(path):
                kept = Path(f"{aside}{path.name.removeprefix(database.name)}")
                ensure_room(kept.parent, path.stat().st_size)
                with new_file(kept) as kept_part:
                    shutil.copyfile(path, kept_part)
        for side in _files(database)[1:]:  # SQLite would apply the old log to the new file
            side.unlink(missing_ok=True)


def _files(database: Path) -> list[Path]:
    return [database, *(Path(f"{database}{side}") for side in SIDES)]


def _is_open_elsewhere(database: Path) -> bool:
    """Return whether another process has the file open, whatever is in it. Not for a process that has it open itself.

    Closing a file drops every lock that the process has on it: fcntl(2).
    """
    with database.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, _SHARED_LOCK)
        except BlockingIOError:
            return True
    return False


def alone(database: Path) -> sqlite3.Connection:
    """Open the file for this connection only; others wait until it is closed.

    Whoever has a file in WAL mode open holds a shared lock on it, so that an exclusive one shows that nobody does.
    Source: sqlite.org/wal.html, "Use of WAL Without Shared-Memory".

    Raises:
        InUse: another process has it open.
        sqlite3.Error: it cannot be opened.
    """
    connection = _open(database, "rw")
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")  # the lock stays
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            raise InUse(_holder(database)) from error
        raise
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _holder(database: Path) -> str:
    """Return the name of a process that has the file open, where the system tells. Source: proc_locks(5)."""
    try:
        inode = str(database.stat().st_ino)
        for line in Path("/proc/locks").read_text("ascii").splitlines():
            *_, pid, file, start, _end = line.split()
            if file.rpartition(":")[2] == inode and start == str(_SHARED_LOCK):
                return _process(int(pid))
    except (OSError, ValueError):
        pass
    return "another process"


def _process(pid: int) -> str:
    """Return the name of a process, without the arguments of its verb: those may be somebody's words."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace").split("\0")
    except OSError:
        words = []
    for program, verb in pairwise(words):
        if Path(program).name in {"elefante", "bot"}:
            return f"`elefante {verb}` (process {pid})"
    return f"process {pid}"


def settle(path: Path) -> None:
    """Write a file, or the names in a folder, through to the disk, so that a crash of the machine loses nothing."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def erase(path: Path) -> None:
    """Overwrite a file with zeros, and remove it."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        zero(descriptor)
    finally:
        os.close(descriptor)
    path.unlink()


def zero(descriptor: int) -> None:
    """Overwrite an open file with zeros, through to the disk."""
    size, at = os.fstat(descriptor).st_size, 0
    while at < size:
        at += os.pwrite(descriptor, bytes(min(_MEBIBYTE, size - at)), at)
    os.fsync(descriptor)


def open_to_read(path: Path, wait_s: float = _WAIT_S) -> sqlite3.Connection:
    """Open a file that others may have open; where nobody has, no file is made beside it."""
    return _open(path, "ro" if Path(f"{path}{SIDES[0]}").exists() else "ro&immutable=1", wait_s)


def _open(path: Path, mode: str, wait_s: float = _WAIT_S) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=wait_s)


# --- how far a database came ------------------------------------------------------------------------------------------

_PATIENCE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Marks:
    """The schema of a database, when it was made (microseconds since 1970), and the last number of each table."""

    schema: int
    made: int
    numbers: Mapping[str, int] = field(default_factory=dict)

    def lacks(self, other: Marks) -> bool:
        """Return whether that is an earlier state of this database's own, which came further."""
        is_same = (self.schema, self.made) == (other.schema, other.made)
        return is_same and any(self.numbers.get(name, 0) < number for name, number in other.numbers.items())


def marks_of(path: Path) -> Marks:
    """Read the marks of a database file, of any version; others may have it open, or be migrating it.

    Raises:
        Damaged, StorageError: it cannot be read.
    """
    with translated(), closing(open_to_read(path, _PATIENCE_S)) as connection:
        schema = schema_version(connection)
        tables = tables_of(connection)
        made, numbers = 0, {}
        if "schema_history" in tables:
            [made] = connection.execute("SELECT coalesce(min(at), 0) FROM schema_history").fetchone()
        if "sqlite_sequence" in tables:
            numbers = dict(connection.execute("SELECT name, seq FROM sqlite_sequence"))
        return Marks(schema, made, numbers)


def seal_mark_of(path: Path) -> SealMark | None:
    """Return the mark of a database file that is sealed; None of one that is not, or not there.

    Raises:
        Damaged, StorageError: it cannot be read.
    """
    if is_lost(path):
        return None
    with translated(), closing(open_to_read(path, _PATIENCE_S)) as connection:
        schema_version(connection)
        return mark_in(connection.execute(FIND_MARK).fetchall()) if "kept" in tables_of(connection) else None


def raise_marks(path: Path, known: Iterable[Marks]) -> None:
    """Let the next numbers of a database that nobody has open be above those of its other states.

    Raises:
        StorageError: it cannot be written.
    """
    own = marks_of(path)
    numbers: dict[str, int] = {}
    for marks in known:
        if marks.made == own.made:
            numbers |= {name: max(number, numbers.get(name, 0)) for name, number in marks.numbers.items()}
    with translated(), closing(sqlite3.connect(path)) as connection, connection:
        for name, number in numbers.items():
            if name not in own.numbers:
                connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, number))
            elif number > own.numbers[name]:
                connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", (number, name))
