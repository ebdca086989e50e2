"""The master key and the sealing that everything is opened with; sealing what is stored, and opening it again."""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from bot.archive import given_settings
from bot.settings.env_file import env_path
from bot.settings.settings import Settings
from core.errors import ConfigError, StorageError, WrongKey
from core.features.transfer.files import locked
from core.sealing.port import PLAIN, Sealing
from core.sealing.sealed import KEY_BYTES, KeyFile, Sealed
from core.storage import convert_sqlite
from core.storage.convert import Conversion, are_files_unfinished, convert_files, finish_files
from core.storage.database import Row
from core.storage.files import owner_name
from core.storage.kept import SealMark
from core.storage.memory_rows import VECTORS
from core.storage.move import Progress
from core.storage.sqlite_backup import is_lost, open_to_read, seal_mark_of, settle, unwritten
from core.storage.sqlite_schema import translated
from core.types import UserKey

KEY: Final = "MEMORY_KEY_FILE"
KEYS: Final = "PEOPLE_KEYS_FILE"
PROTECTS: Final = (
    "With a key, all that people say, send and are told is sealed on the disk and in backups: whoever copies the data "
    "folder, a backup or the database server reads nothing. "
    "Without the key and the file of the people's keys nobody can read it either, you included: keep a copy of both "
    "away from this machine."
)
"""What is said before a key is made, in two sentences."""

_CREDENTIALS: Final = "CREDENTIALS_DIRECTORY"
_CREDENTIAL: Final = "memory-key"
_SECRETS: Final = Path("/run/secrets")
_AS_VALUE: Final = "MEMORY_KEY"
_MAX_BYTES: Final = 1 << 10
_ENCODED_CHARS: Final = 44

Rows: TypeAlias = Callable[..., Iterable[Row]]
"""Yields the rows of a query with its values."""


def key_path(settings: Settings) -> Path | None:
    """Return where the master key is: MEMORY_KEY_FILE, or the credential memory-key of systemd; None if there is none.

    Raises:
        ConfigError: the key itself stands in a setting, or lies where copies are made.
    """
    if given_settings().get(_AS_VALUE):
        raise ConfigError(
            _AS_VALUE,
            "a key in the environment or in .env is read by every process and every copy of that file; write it into "
            f"a file (`elefante key make PATH` makes one), let {KEY} name that, and remove this line",
        )
    path = settings.memory_key_file
    if path is None:
        folder = os.environ.get(_CREDENTIALS, "")
        found = Path(folder) / _CREDENTIAL
        return found if folder and found.exists() else None
    if not path.exists() and len(path.name) in {_ENCODED_CHARS - 1, _ENCODED_CHARS, 2 * KEY_BYTES}:
        with_key = _decoded(path.name.encode()) or _is_hex(path.name)
        if with_key:
            raise ConfigError(KEY, "this is a key, and the setting names a file that holds one; make another key")
    refuse_copied(settings, KEY, path)
    return path


def refuse_copied(settings: Settings, setting: str, path: Path) -> None:
    """Return if a file does not lie where copies are made.

    Raises:
        ConfigError: it lies in the data folder or in that of the backups.
    """
    for name, folder in (("data folder", settings.data_dir), ("folder of backups", settings.backups_folder)):
        if path.resolve().is_relative_to(folder.resolve()):
            raise ConfigError(
                setting,
                f"{path} lies in the {name}, and whoever copies that would have the key, too; name a file outside of "
                f"{folder}",
            )


def read_key(path: Path) -> bytes:
    """Return the master key that a file holds: 32 bytes, in base64 on one line.

    Raises:
        ConfigError: there is no such file, others may read it, or it holds something else.
    """
    try:
        mode = path.stat().st_mode
        if mode & _refused_bits(path):
            raise ConfigError(KEY, f"others may read {path}; say: chmod 400 {path}")
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES)
    except OSError as error:
        raise ConfigError(KEY, f"{path} cannot be read: {error.strerror}") from error
    if (key := _decoded(text.strip())) is None:
        raise ConfigError(
            KEY, f"{path} holds no key: that is one line of {_ENCODED_CHARS} characters, as `elefante key make` writes"
        )
    return key


def make_key(path: Path) -> bytes:
    """Write a new master key into a new file that its owner can only read, and return it.

    Raises:
        StorageError: there is such a file, or it cannot be written.
    """
    key = secrets.token_bytes(KEY_BYTES)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as file:
            file.write(base64.b64encode(key) + b"\n")
        settle(path)
        settle(path.parent)
    except FileExistsError as error:
        raise StorageError(f"{path} is there already, and a key is never written over; name another file") from error
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}") from error
    return key


@contextmanager
def opened_keys(settings: Settings, *, make: bool) -> Iterator[Sealed | None]:
    """Give the sealing of the settings, by the key file, which may be made now; None if there is no master key.

    Raises:
        ConfigError: the master key cannot be used.
        WrongKey, StorageError: the key file was made with another one, is not there, or cannot be used.
    """
    if (path := key_path(settings)) is None:
        yield None
        return
    keys = settings.people_keys
    refuse_copied(settings, KEYS, keys)
    try:
        file = KeyFile(keys, read_key(path), make=make)
    except WrongKey as error:
        raise WrongKey(f"{error}: let {KEY} name that one (now {path})") from error
    except StorageError as error:
        if make:
            raise StorageError(f"{error}; let {KEYS} name a file in a folder that can be written to") from error
        if not keys.exists():
            raise StorageError(
                f"the database is sealed, and the people's keys are gone: there is no {keys}. Put back the copy that "
                f"`elefante key backup` made, or let {KEYS} name where it is"
            ) from error
        raise
    try:
        yield Sealed(file, (VECTORS,) if settings.vectors == "open" else ())
    finally:
        file.close()


@contextmanager
def required_keys(settings: Settings, *, make: bool = False) -> Iterator[Sealed]:
    """Give the sealing of the settings, which have to name a master key; raises as `opened_keys`.

    Raises:
        ConfigError: they name none.
    """
    with opened_keys(settings, make=make) as sealed:
        if sealed is None:
            advice = f"there is no key: `elefante key make PATH` makes one; then write {KEY}=PATH into {env_path()}"
            raise ConfigError(KEY, advice)
        yield sealed


@contextmanager
def sealing_of(settings: Settings, *, makes: bool = True) -> Iterator[Sealing]:
    """Give what the database of these settings is opened with.

    Where nothing is sealed yet, the key file may have to be made; if it may not (`makes`), nothing is sealed here.

    Raises:
        ConfigError, WrongKey, StorageError: as `opened_keys`.
    """
    if settings.in_memory or (path := key_path(settings)) is None:  # nothing is written, or nothing is sealed
        yield PLAIN
        return
    is_new = not settings.people_keys.exists() and mark_of(settings) is None
    if is_new and not makes:
        read_key(path)
        yield PLAIN
        return
    with required_keys(settings, make=is_new) as sealed:
        yield sealed


def mark_of(settings: Settings) -> SealMark | None:
    """Return the mark of the database that the settings name; None of one that is not sealed, or not there.

    Raises:
        ConfigError, StorageError: it cannot be read.
    """
    if settings.in_memory:
        return None
    if settings.engine == "postgres":
        from core.storage.postgres_connection import parameters
        from core.storage.postgres_schema import mark_there  # this loads psycopg

        return mark_there(parameters(settings.storage_url.get_secret_value()))
    return seal_mark_of(settings.database_path)


@contextmanager
def reading(settings: Settings) -> Iterator[Rows]:
    """Give what yields the rows of a query over what is committed, whether the bot runs or not."""
    if settings.engine == "postgres":
        from core.storage.move_postgres import postgres_reader  # this loads psycopg

        with postgres_reader(settings.storage_url.get_secret_value()) as source:
            yield _nothing if source is None else source.stream
        return
    if is_lost(settings.database_path):
        yield _nothing
        return
    with translated(), closing(open_to_read(settings.database_path)) as connection:
        yield connection.execute


def _nothing(*_: object) -> Iterable[Row]:
    return ()


def check_opens(settings: Settings, database: Path) -> None:
    """Return if the database of a backup opens with these settings, or is not sealed.

    Raises:
        ConfigError, WrongKey, StorageError: its key is not there; the message says which is needed.
    """
    if (mark := seal_mark_of(database)) is None:
        return
    with opened_keys(settings, make=False) as sealed:
        if sealed is None:
            raise WrongKey(f"this backup is sealed: let {KEY} name the master key, and {KEYS} the people's keys")
        if sealed.id != mark.file:
            raise WrongKey(
                f"this backup is sealed with the keys of another key file ({mark.file}) than {settings.people_keys} "
                f"({sealed.id}): let {KEYS} name that one"
            )


def check_sealed(settings: Settings, sealing: Sealing) -> None:
    """Return if the database of the settings is sealed with this sealing, or neither seals anything.

    Raises:
        WrongKey, StorageError: they do not fit; the message says what to do.
    """
    mark = mark_of(settings)
    if (mark.file if mark else "") != sealing.id or (mark and mark.state != "sealed"):
        raise StorageError("the database and the key that is set do not fit: `elefante key check` says more")


def _refused_bits(path: Path) -> int:
    """Return the bits of a mode that a key may not have.

    systemd lets the service's user read a credential by an access list, which shows as the group's bits; what a
    container is given as a secret nobody but the container sees.
    """
    given = [Path(folder) for folder in [os.environ.get(_CREDENTIALS)] if folder]
    if any(path.is_relative_to(folder) for folder in given):
        return stat.S_IRWXO
    return 0 if path.is_relative_to(_SECRETS) else stat.S_IRWXG | stat.S_IRWXO


def _decoded(text: bytes) -> bytes | None:
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
    return key if len(key) == KEY_BYTES else None


def _is_hex(text: str) -> bool:
    return len(text) == 2 * KEY_BYTES and set(text.lower()) <= set("0123456789abcdef")


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
        files = convert_files(folder, owners, conversion.sealing, opens=conversion.opens)

    rows = convert_sqlite.convert(path, conversion, progress, backups=settings.backups_folder, before_switch=with_files)
    return rows, files


def finish_conversion(settings: Settings) -> None:
    """Clear away what a conversion left that was killed, and put in place what it had converted.

    Raises:
        StorageError: it cannot be done.
    """
    path, folder = settings.database_path, settings.files_folder
    if settings.engine == "sqlite" and (convert_sqlite.is_unfinished(path) or are_files_unfinished(folder)):
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
        finish_files(folder, is_sealed=seal_mark_of(path) is not None)
    except OSError as error:
        raise unwritten(folder, error) from error


def _owners(settings: Settings) -> dict[str, UserKey]:
    """Return everybody by the name of their folder of files."""
    with translated(), closing(open_to_read(settings.database_path)) as connection:
        people = connection.execute("SELECT platform, user FROM owners").fetchall()
    return {owner_name(owner): owner for owner in (UserKey(*row) for row in people)}
