"""The data folder: where copies lie, whether the database lost what they hold, and daily care for both."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from adapters.console.person import EXPORTS
from bot.archive import FILES_ASIDE, is_of_sqlite, is_sealed, is_whole, marks_in, pack
from bot.sealing import sealing_of
from bot.settings.settings import Settings
from core.clock import SystemClock
from core.delivery.alerts import DAMAGED, IS_SOUND, OwnerAlerts
from core.errors import Damaged, DiskFull, StorageError
from core.features.transfer.files import Backup, Copies, locked
from core.ports import Clock
from core.storage.database import Database
from core.storage.sqlite import open_database
from core.storage.sqlite_backup import PART, Marks, free_path, is_lost, marks_of, raise_marks
from core.storage.sqlite_schema import RESTORE
from core.storage.sqlite_upgrade import BEFORE_UPDATE
from core.tasks import background
from core.text.catalogue import filled, text
from core.types import Localized, UserKey

_log = logging.getLogger(__name__)

_NAME: Final = "elefante-"
_TIME: Final = "%Y%m%d-%H%M%S"
_ASIDE: Final = "before-restore-"
_EVERY: Final = timedelta(days=1)
_HOUR_S: Final = 3600.0


class BackupUnderWay(StorageError):
    """Another process is making a backup."""


class DataFolder(Copies):
    """Make and find copies of the data: backups in BACKUP_DIR, files handed over in the terminal in `exports`.

    The daily backups and those made by hand are `elefante-TIME.zip` (`bot.archive`) and rotate together; what a restore
    replaced is `before-restore-TIME.db`, its files in `before-restore-TIME.files`, and migrations leave
    `before-update-TIME.db` (`core.storage.sqlite_upgrade`).
    """

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self.backups = settings.backups_folder
        self.daily = settings.backups_kept if settings.engine == "sqlite" else 0
        self.exports = settings.data_dir / EXPORTS

    async def make(self) -> Backup:
        """Make and verify a backup; remove the oldest beyond BACKUPS_KEPT.

        Raises:
            DiskFull: there is no room; no backup was made.
            BackupUnderWay: another process makes one.
            StorageError: the database is damaged, or the folder cannot be written; no backup was made.
        """
        with self.alone():
            path = self._free(_NAME, ".zip")
            size_bytes = await pack(self._settings, path, self._clock.now().astimezone(UTC))
            old = self._rotating()[: -self._settings.backups_kept]
            for each in old:
                each.unlink(missing_ok=True)
        return Backup(path, size_bytes, tuple(old))

    def newest(self) -> datetime | None:
        """Return when the newest backup was made; None if there is none."""
        times = []
        for path in self._rotating():
            with suppress(ValueError):  # somebody gave it another name
                times.append(datetime.strptime(path.stem.removeprefix(_NAME)[:15], _TIME).replace(tzinfo=UTC))
        return max(times, default=None)

    def due_in(self) -> timedelta:
        """Return how long until the next daily backup is due; not positive if it is due now."""
        newest = self.newest()
        return timedelta(0) if newest is None else newest + _EVERY - self._clock.now()

    async def paths(self) -> Sequence[Path]:
        """Return every backup and export, each of which may hold what was deleted since."""
        return self._paths()

    async def readable(self) -> Sequence[Path]:
        """Return those of them that are not sealed."""
        return await asyncio.to_thread(self.in_the_clear)

    def in_the_clear(self) -> list[Path]:
        """Return the backups and exports that are not sealed."""
        return [path for path in self._paths() if not is_sealed(path)]

    def _paths(self) -> list[Path]:
        found = [path for folder in (self.backups, self.exports) for path in folder.glob("*")]
        return sorted(path for path in found if path.is_file() or path.suffix == FILES_ASIDE)

    def aside(self) -> Path:
        """Return a free path for a database that is about to be replaced. Call and use it inside `alone`."""
        return self._free(_ASIDE, ".db")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from making copies here; remove the half copies that a crash left.

        Raises:
            BackupUnderWay: another process is making a copy.
            StorageError: the folder cannot be made.
        """
        try:
            self.backups.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = locked(self.backups)
        except OSError as error:
            raise StorageError(f"{self.backups} cannot be made: {error.strerror}") from error
        if lock is None:
            raise BackupUnderWay("another backup is being made: try again when it is done")
        try:
            for name in (_NAME, _ASIDE):
                for part in self.backups.glob(f"{name}*{PART}*"):
                    if part.is_dir():
                        shutil.rmtree(part, ignore_errors=True)
                    else:
                        part.unlink(missing_ok=True)
            yield
        finally:
            os.close(lock)

    def scratch(self) -> Path:
        """Return the path of a file that is removed by the next `alone` at the latest. Use it inside `alone`."""
        return self.backups / f"{_NAME}restore{PART}"

    def restorable(self) -> list[Path]:
        """Return the backups that can be put back, the newest first."""
        found = [*self._rotating(), *self.backups.glob(f"{BEFORE_UPDATE}*.db")]
        return sorted(found, key=lambda path: path.name.removeprefix(BEFORE_UPDATE).removeprefix(_NAME), reverse=True)

    def _rotating(self) -> list[Path]:
        """Return the backups of which the newest stay, the oldest first."""
        return sorted(path for path in self.backups.glob(f"{_NAME}*") if path.suffix in {".zip", ".db"})

    def _free(self, name: str, suffix: str) -> Path:
        """Return a free path named by the time, so that names sort by age."""
        return free_path(self.backups, f"{name}{self._clock.now().astimezone(UTC):{_TIME}}", suffix)


class ServerCopies(DataFolder):
    """The copies of before, where the data are in PostgreSQL, whose own programs make new ones."""

    on_server = True

    async def make(self) -> Backup:
        """Raise StorageError, with the command to give."""
        raise copied_by_server(self._settings, DUMP)


DUMP: Final = "pg_dump --format=custom --file={file} --dbname={database}"
_RESTORE: Final = "pg_restore --clean --if-exists --no-owner --dbname={database} {file}"


def copied_by_server(settings: Settings, command: str, file: Path | None = None) -> StorageError:
    """Return the error that names the command which copies the data in PostgreSQL, or puts a copy in their place."""
    named = file or Path("elefante.dump")
    if command is DUMP and named.suffix == ".zip":  # what pg_dump writes is none
        named = named.with_suffix(".dump")
    said = command.format(database=settings.storage_address, file=shlex.quote(str(named)))
    return StorageError(f"the data are in PostgreSQL, whose own programs copy them: {said}")


def put_back_by_server(settings: Settings, file: Path) -> StorageError:
    """Return the error that names the commands which put a copy in the place of the data in PostgreSQL."""
    if not is_of_sqlite(file):
        return copied_by_server(settings, _RESTORE, file)
    here = f"{file} is a backup of SQLite, and the data are in PostgreSQL at {settings.storage_place}"
    there, then = f"elefante restore {shlex.quote(str(file))}", "elefante move-storage"
    way = " and then ".join(f"`STORAGE_URL=sqlite: {verb}`" for verb in (there, then))
    return StorageError(f"{here}. It gets there by way of SQLite, into an empty database: {way}")


# --- what was lost
#
# A database that is gone or empty is one beside which backups lie. One that lost its last changes (a log that was cut,
# an old copy of the disk) has given fewer numbers than a backup of it: `core.storage.sqlite_backup`. Where nothing is
# amiss a start takes a millisecond for each backup: nothing of a database is read but these numbers.


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
        lines = [f"{reason}. The newest whole backup is of {made:%Y-%m-%d %H:%M} UTC. Put it back, then start the bot:"]
        lines.append(f"    elefante restore {shlex.quote(str(newest.absolute()))}")
    return "\n".join([*lines, *([otherwise] if otherwise else [])])


def _anyway(settings: Settings) -> str:
    """Return the line that goes on whatever was lost: `run` needs a platform."""
    verb = "run" if settings.telegram() or settings.discord() or settings.http_port else "chat"
    return f"    elefante {verb} --anyway"


# --- while the bot runs


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


async def upkeep(database: Database, alerts: OwnerAlerts, clock: Clock) -> None:
    """Maintain and check the database at once and then daily, and scrub what is deleted, until cancelled."""
    while True:
        try:
            await database.maintain()
            if found := await database.integrity():
                raise Damaged(f"the database is not sound: {len(found)} faults")  # they may quote what is stored
            alerts.over(DAMAGED, IS_SOUND)
            await database.scrub()
        except StorageError as error:
            alerts.storage_failed(error)
        await clock.sleep(_DAY_S)


@asynccontextmanager
async def daily_backups(settings: Settings, alerts: OwnerAlerts, clock: Clock) -> AsyncIterator[None]:
    """While the block runs, make a backup whenever the newest is a day old; tell the owners if that fails.

    Leaving the block breaks off the one under way. With BACKUPS_KEPT=0, or without a SQLite file, there are none.
    """
    if settings.engine != "sqlite" or not settings.backups_kept:
        yield
        return
    async with background(_back_up(DataFolder(settings, clock), alerts, clock)):
        yield


async def _back_up(folder: DataFolder, alerts: OwnerAlerts, clock: Clock) -> None:
    while True:
        if (due_in := folder.due_in()) <= timedelta(0):
            try:
                await folder.make()
            except BackupUnderWay:
                pass  # it is looked at again in an hour
            except StorageError as error:
                _log.error("no backup: %s", error)
                reason = filled(_why_not(error), folder=str(folder.backups))
                alerts.tell("backup", filled(FAILED, reason=reason))
            else:
                alerts.over("backup", MADE)
        await clock.sleep(min(due_in.total_seconds(), _HOUR_S) if due_in > timedelta(0) else _HOUR_S)


def _why_not(error: StorageError) -> Localized:
    if isinstance(error, DiskFull):
        return NO_ROOM
    return IS_DAMAGED if isinstance(error, Damaged) else UNWRITTEN


FAILED = text("backups.failed")
NO_ROOM = text("backups.why.no_room")
IS_DAMAGED = text("backups.why.damaged")
UNWRITTEN = text("backups.why.unwritten")
MADE = text("backups.made")
