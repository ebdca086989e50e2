"""One file that holds a bot: a ZIP archive of what is needed to go on elsewhere.

| entry | what it is |
| --- | --- |
| `about.json` | versions of the program and of the schema, when it was made, settings that are left to be filled in |
| `marks.json` | how far the database came (`core.storage.sqlite_backup`) |
| `elefante.db` | the database, verified |
| `files/OWNER/SHA256` | the files that people have kept (`core.storage.files`), as they are |
| `settings.env` | the settings that differ from the defaults; secrets by their name only, paths commented out |
"""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
import time
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

import dotenv
from pydantic import SecretStr

from bot.settings.env_file import env_path
from bot.settings.settings import Settings
from core.errors import Damaged, StorageError
from core.features.transfer.files import private_file
from core.storage.files import write_file
from core.storage.move import in_folder
from core.storage.record import program_version
from core.storage.sqlite_backup import (
    Marks,
    copied,
    drop_kept,
    ensure_room,
    in_thread,
    is_lost,
    marks_of,
    new_file,
    seal_mark_of,
    unwritten,
    verified,
)
from core.storage.sqlite_schema import RESTORE

_ABOUT: Final = "about.json"
_MARKS: Final = "marks.json"
_DATABASE: Final = "elefante.db"
_SETTINGS: Final = "settings.env"
_FILES: Final = "files"
_FILE: Final = re.compile(rf"{_FILES}/([0-9a-f]{{32}})/([0-9a-f]{{64}})")
FILES_ASIDE: Final = ".files"
"""What the name of a folder of files ends in that lies beside the database whose files they are."""

_NOT_KEPT: Final = ("alarms", "status", "claim:")
"""What the names begin with of texts that no backup holds: what owners were told, and codes that make an owner."""

_CREDENTIALS: Final = re.compile(r"://[^/@\s]*:[^/@\s]*@")  # in an address
_ANOTHER: Final = "`elefante backup --list` shows the backups that there are"
_ZIP, _DUMP, _SQLITE = b"PK\x03\x04", b"PGDMP", b"SQLite format 3\0"
"""What such files begin with: those of ZIP, of `pg_dump --format=custom`, of SQLite."""

_ENCRYPTED: Final = 1  # a flag: APPNOTE.TXT of PKWARE, 4.4.4
_CHUNK_BYTES: Final = 1 << 20
_FAST: Final = 1  # of zlib: vectors hardly get smaller


@dataclass(frozen=True, slots=True)
class About:
    """What a backup says of itself. `secrets` and `paths` are names of settings whose values it does not hold."""

    program: str
    schema: int
    at: str
    secrets: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    sealed: bool = False


@dataclass(frozen=True, slots=True)
class Contents:
    """An opened backup: the paths of a verified database and of a folder of files, and settings; None of a bare .db."""

    database: Path
    settings: str | None
    about: About | None
    files: Path | None = None


async def pack(settings: Settings, target: Path, at: datetime) -> int:
    """Write a backup to a new file, readable by its owner only, and return its size in bytes.

    It is sound and complete, or it is not there.

    Raises:
        DiskFull: the disk has no room for it.
        Damaged, StorageError: `target` exists, or the database or the settings cannot be read.
    """
    return await in_thread(partial(_pack, settings, target, at))


def unpack(file: Path, scratch: Path) -> Contents:
    """Open and verify a backup, or a bare database file, beside which its files may lie.

    The database of a backup is written to the new file `scratch`, and its files beside that.

    Raises:
        SchemaTooNew: a newer version of this program made it.
        Damaged: it is no backup, or broken.
        StorageError: it cannot be read, or there is no room.
    """
    if not zipfile.is_zipfile(file):
        _check_kind(file)
        _verify(file, file)
        return Contents(file, None, None, files if (files := file.with_suffix(FILES_ASIDE)).is_dir() else None)
    try:
        with zipfile.ZipFile(file) as archive:
            _check_ours(archive, file)
            contents = _read(archive, scratch)
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, EOFError, NotImplementedError) as error:
        raise Damaged(f"{file} is a backup of this program, but a part of it is broken. {_ANOTHER}") from error
    except OSError as error:
        raise unwritten(scratch, error) from error
    _verify(scratch, file)
    return contents


def _verify(database: Path, file: Path) -> None:
    """Verify the database of a backup; an error names the backup."""
    try:
        verified(database)
    except Damaged as error:
        reason = str(error).removesuffix(f": {RESTORE}")
        raise Damaged(f"{file} cannot be put back: {reason}. {_ANOTHER}") from error


def marks_in(file: Path) -> Marks | None:
    """Return how far the database in a backup came; None of one that does not say."""
    try:
        if file.suffix != ".zip":
            return marks_of(file)
        with zipfile.ZipFile(file) as archive:
            return Marks(**json.loads(archive.read(_MARKS)))
    except (OSError, StorageError, zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError):
        return None


def is_sealed(file: Path) -> bool:
    """Return whether a copy, of whatever kind, is sealed, so that nobody reads it without the keys."""
    try:
        if file.suffix == FILES_ASIDE:  # a folder of files, beside the database that they belong to
            return seal_mark_of(file.with_suffix(".db")) is not None
        if file.suffix == ".db":
            return seal_mark_of(file) is not None
        with zipfile.ZipFile(file) as archive:
            return bool(json.loads(archive.read(_ABOUT)).get("sealed"))
    except (OSError, StorageError, zipfile.BadZipFile, zlib.error, KeyError, ValueError):
        return False


def is_whole(file: Path) -> bool:
    """Read a backup to its end, and return whether it still is what it was when it was made and verified."""
    try:
        if file.suffix != ".zip":
            return bool(verified(file))
        with zipfile.ZipFile(file) as archive:
            return {_ABOUT, _DATABASE} <= set(archive.namelist()) and archive.testzip() is None
    except (OSError, StorageError, zipfile.BadZipFile, zlib.error, ValueError, EOFError, NotImplementedError):
        return False


def _check_kind(file: Path) -> None:
    """Return if a file that is no ZIP archive can be a database.

    Raises:
        Damaged: it cannot; the message says what it is.
        StorageError: there is none, or it cannot be read.
    """
    if not file.is_file():
        raise StorageError(f"{file} is a folder; name a file in it" if file.is_dir() else f"there is no file {file}")
    try:
        with file.open("rb") as opened:
            start = opened.read(len(_SQLITE))
    except OSError as error:
        raise StorageError(f"{file} cannot be read: {error.strerror}") from error
    if is_lost(file):
        raise Damaged(f"{file} is empty. {_ANOTHER}")
    if start.startswith(_ZIP):
        raise Damaged(f"{file} is an archive whose end is missing: it was not copied whole. Copy it again. {_ANOTHER}")
    if start.startswith(_DUMP):
        raise Damaged(f"{file} is a dump of PostgreSQL: with STORAGE_URL set, this command names the line to type")
    if start != _SQLITE:
        raise Damaged(f"{file} is no backup: neither a ZIP archive nor a database. {_ANOTHER}")


def _check_ours(archive: zipfile.ZipFile, file: Path) -> None:
    if any(entry.flag_bits & _ENCRYPTED for entry in archive.infolist()):
        raise Damaged(f"{file} is encrypted: unpack it with its password, and restore the backup that is in it")
    if not {_ABOUT, _DATABASE, _SETTINGS} <= set(archive.namelist()):
        raise Damaged(f"{file} is an archive, but no backup of this program. {_ANOTHER}")


def _pack(settings: Settings, target: Path, at: datetime, stop: threading.Event) -> int:
    if target.exists():
        raise StorageError(f"{target} is there already; name another file")
    try:
        with new_file(target) as part:
            database = Path(f"{part}.db")
            try:
                schema = copied(settings.database_path, database, stop)
                drop_kept(database, _NOT_KEPT)
                ensure_room(part.parent, database.stat().st_size + _size(settings.files_folder.rglob("*")))
                text, secrets, paths = _settings_text(settings, at)
                is_sealed_now = seal_mark_of(database) is not None
                about = About(
                    program_version(), schema, at.isoformat(timespec="seconds"), secrets, paths, is_sealed_now
                )
                entries = {_MARKS: json.dumps(asdict(marks_of(database))).encode()}
                entries |= {_ABOUT: _told(about).encode(), _SETTINGS: text.encode()}
                _write(part, entries, database, settings.files_folder, stop)
            finally:
                database.unlink(missing_ok=True)
            with zipfile.ZipFile(part) as archive:
                if (broken := archive.testzip()) is not None:
                    raise Damaged(f"{target} could not be read back: {broken}")
    except OSError as error:
        raise unwritten(target, error) from error
    return target.stat().st_size


def _told(about: About) -> str:
    """Return what a backup says of itself, as older programs read it if it is not sealed: they know of no sealing."""
    told = {name: value for name, value in asdict(about).items() if name != "sealed" or value}
    return json.dumps(told, indent=2)


def _size(paths: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in paths if path.exists())  # some are removed meanwhile


def _write(part: Path, entries: Mapping[str, bytes], database: Path, files: Path, stop: threading.Event) -> None:
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=_FAST) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
        with database.open("rb") as source, archive.open(_DATABASE, "w", force_zip64=True) as entry:
            while chunk := source.read(_CHUNK_BYTES):
                if stop.is_set():
                    raise StorageError("the backup was stopped")
                entry.write(chunk)
        for owner, sha256 in in_folder(files):  # after the database, whose memories name files that were there before
            if stop.is_set():
                raise StorageError("the backup was stopped")
            with suppress(FileNotFoundError):
                archive.write(files / owner / sha256, f"{_FILES}/{owner}/{sha256}", zipfile.ZIP_STORED)


def _read(archive: zipfile.ZipFile, database: Path) -> Contents:
    kept = json.loads(archive.read(_ABOUT))
    about = About(**(kept | {name: tuple(kept[name]) for name in ("secrets", "paths")}))
    settings = archive.read(_SETTINGS).decode()
    held = [(entry, found) for entry in archive.infolist() if (found := _FILE.fullmatch(entry.filename))]
    needed = sum(entry.file_size for entry in (archive.getinfo(_DATABASE), *(entry for entry, _ in held)))
    ensure_room(database.parent, needed)
    with archive.open(_DATABASE) as entry, os.fdopen(private_file(database), "wb") as target:
        shutil.copyfileobj(entry, target, _CHUNK_BYTES)
    files = Path(f"{database}{FILES_ASIDE}")
    shutil.rmtree(files, ignore_errors=True)
    files.mkdir(mode=0o700)
    for member, found in held:
        owner, sha256 = found.groups()
        write_file(files, owner, sha256, archive.read(member), time.time())
    return Contents(database, settings, about, files)


def given_settings() -> dict[str, str | None]:
    """Return what the settings file and the environment hold, by names in capitals.

    Raises:
        StorageError: the file is not UTF-8.
    """
    try:
        given = dotenv.dotenv_values(env_path(), interpolate=False)
    except UnicodeDecodeError as error:
        raise StorageError(f"{env_path()} is not UTF-8") from error
    return {name.upper(): value for name, value in {**given, **os.environ}.items()}


def is_of_sqlite(file: Path) -> bool:
    """Tell whether a file is a database of SQLite, or an archive as backups of one are."""
    try:
        with file.open("rb") as opened:
            return opened.read(len(_SQLITE)).startswith((_SQLITE, _ZIP))
    except OSError:
        return False


def _settings_text(settings: Settings, at: datetime) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return a settings file without secrets, and the names of the secrets and of the paths that are set."""
    given = given_settings()
    lines, paths, secrets = [], [], []
    for field in type(settings).model_fields:
        if not (value := given.get(name := field.upper())):
            continue
        present = getattr(settings, field)
        if isinstance(present, SecretStr) or _is_secret(value, settings):
            secrets.append(name)
        elif isinstance(present, Path):
            paths.append(f"{name}={_quoted(value)}")
        else:
            lines.append(f"{name}={_quoted(value)}")
    text = [f"# Settings of Elefante {program_version()}, from its backup of {at:%Y-%m-%d %H:%M} UTC.", *lines]
    text += ["# Secrets are in no backup. Fill them in:"] * bool(secrets) + [f"{name}=" for name in secrets]
    text += ["# Paths of the machine where it was made:"] * bool(paths) + [f"# {line}" for line in paths]
    return "\n".join(text) + "\n", tuple(secrets), tuple(line.partition("=")[0] for line in paths)


def _is_secret(value: str, settings: Settings) -> bool:
    return bool(_CREDENTIALS.search(value)) or any(secret and secret in value for secret in settings.secrets())


def _quoted(value: str) -> str:
    if re.fullmatch(r"[\w./:,@+-]*", value, re.ASCII):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
