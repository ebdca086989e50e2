"""Seal all that is stored, or open it again: the database and the files that people have kept."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.sealing import mark_of
from bot.settings.settings import Settings
from core.errors import StorageError
from core.features.transfer.files import locked
from core.sealing.port import Sealing
from core.storage import convert_files, convert_sqlite
from core.storage.convert import Conversion
from core.storage.files import owner_name
from core.storage.move import Progress
from core.storage.sqlite_backup import open_to_read, seal_mark_of, unwritten
from core.storage.sqlite_schema import translated
from core.types import UserKey


@dataclass(frozen=True, slots=True)
class Converted:
    """How many rows and files were converted, in how many seconds; no rows if it was done before."""

    rows: int
    files: int
    seconds: float


def convert(settings: Settings, sealing: Sealing, progress: Progress, *, opens: bool) -> Converted:
    """Seal all that is stored, or open it; what was broken off is gone on with, or begun anew.

    Raises:
        StorageError: a bot runs, there is no room, or something does not open; what is there can be used as before.
    """
    began_s = time.monotonic()
    conversion = Conversion(sealing, opens=opens)
    mark = mark_of(settings)
    if mark is not None and mark.file != sealing.id:
        raise StorageError(f"the database is sealed with the keys of another key file: {mark.file}")
    rows = files = 0
    if settings.engine == "postgres":
        from core.storage.convert_postgres import convert as in_place  # this loads psycopg

        rows = in_place(settings.storage_url.get_secret_value(), settings.storage_place, conversion, progress)
    else:
        with _locked(settings.data_dir):
            _finish(settings)
            if (seal_mark_of(settings.database_path) is None) is not opens:
                rows, files = _in_a_new_file(settings, conversion, progress)
                _finish(settings)
    return Converted(rows, files, time.monotonic() - began_s)


def _in_a_new_file(settings: Settings, conversion: Conversion, progress: Progress) -> tuple[int, int]:
    path, folder, files = settings.database_path, settings.files_folder, 0
    owners = _owners(settings)

    def with_files() -> None:
        nonlocal files
        files = convert_files.convert_files(folder, owners, conversion.sealing, opens=conversion.opens)

    rows = convert_sqlite.convert(path, conversion, progress, backups=settings.backups_folder, before_switch=with_files)
    return rows, files


def finish(settings: Settings) -> None:
    """Clear away what a conversion left that was killed, and put in place what it had converted.

    Raises:
        StorageError: it cannot be done.
    """
    path, folder = settings.database_path, settings.files_folder
    if settings.engine == "sqlite" and (convert_sqlite.is_unfinished(path) or convert_files.is_unfinished(folder)):
        with _locked(settings.data_dir):
            _finish(settings)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other processes from converting what lies in the folder, and from clearing away what is in the making.

    Raises:
        StorageError: one does.
    """
    if (lock := locked(folder)) is None:
        raise StorageError(f"another process is sealing or opening what is in {folder}: wait until it has ended")
    try:
        yield
    finally:
        os.close(lock)


def _finish(settings: Settings) -> None:
    path, folder = settings.database_path, settings.files_folder
    convert_sqlite.finish(path)
    try:
        convert_files.finish_files(folder, is_sealed=seal_mark_of(path) is not None)
    except OSError as error:
        raise unwritten(folder, error) from error


def _owners(settings: Settings) -> dict[str, UserKey]:
    """Return everybody by the name of their folder of files."""
    with translated(), closing(open_to_read(settings.database_path)) as connection:
        people = connection.execute("SELECT platform, user FROM owners").fetchall()
    return {owner_name(owner): owner for owner in (UserKey(*row) for row in people)}
