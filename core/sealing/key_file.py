"""The key file: a random key for each person, each wrapped by the master key. It lies outside of data and backups.

Who destroys a person's key makes everything unreadable that was sealed with it, wherever a copy of it lies. Therefore
the file is no part of a backup: an old one would bring a destroyed key back.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV

from core.errors import StorageError, WrongKey
from core.types import UserKey

KEY_BYTES: Final = 32
KEY_ID_BYTES: Final = 8
NONCE_BYTES: Final = 12

_BUSY_TIMEOUT_S: Final = 60.0
_APPLICATION_ID: Final = 0x456C654B
"""`EleK`: what the file says it is."""

_PROOF: Final = b"this master key opens this key file"
_SCHEMA: Final = (
    f"PRAGMA application_id = {_APPLICATION_ID}",
    "CREATE TABLE IF NOT EXISTS file (id TEXT NOT NULL, proof BLOB NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS keys (
        platform TEXT NOT NULL, user TEXT NOT NULL, id BLOB NOT NULL UNIQUE, wrapped BLOB NOT NULL,
        PRIMARY KEY (platform, user)
    ) WITHOUT ROWID
    """,
    # Ids of keys that were here: a database that holds something of them is older than this file.
    "CREATE TABLE IF NOT EXISTS destroyed (id BLOB PRIMARY KEY) WITHOUT ROWID",
)
_PRAGMAS: Final = (
    "PRAGMA secure_delete = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    # The journal stays one file, which is overwritten in place with what it tells of deleted keys (`_erase_journal`).
    "PRAGMA journal_mode = PERSIST",
)


@dataclass(frozen=True, slots=True)
class PersonKey:
    """A person's key: its id, which stands in what is sealed, whose it is, and the key, of KEY_BYTES bytes."""

    id: bytes
    owner: UserKey
    key: bytes


class KeyFile:
    """An open key file. May be used from several threads, and by several processes; `close` it."""

    def __init__(self, path: Path, master: bytes, *, make: bool = True) -> None:
        """Open the file, readable by its owner only; without `make` there has to be one.

        Raises:
            WrongKey: it was made with another master key; nothing was changed.
            StorageError: there is none, it cannot be read or written, or is no key file.
        """
        if not make and not (path.exists() and path.stat().st_size):
            raise StorageError(f"there is no key file {path}")
        self.path = path
        self._master = AESGCMSIV(master)
        self._lock = threading.Lock()
        with _translated(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
            try:
                self._begin()
            except BaseException:
                self._connection.close()
                raise

    @property
    def id(self) -> str:
        """A random name that the file keeps for good: a database tells by it which key file is its own."""
        with self._lock, _translated(self.path):
            [(name,)] = self._connection.execute("SELECT id FROM file")
            return str(name)

    def version(self) -> int:
        """Return a number that is another one after another connection changed the file."""
        with self._lock, _translated(self.path):
            [(version,)] = self._connection.execute("PRAGMA data_version")
            return int(version)

    def made(self, owner: UserKey) -> PersonKey:
        """Return a person's key, made now if there is none; it is on disk when this returns."""
        if (known := self.of(owner)) is not None:
            return known
        key_id, key = secrets.token_bytes(KEY_ID_BYTES), secrets.token_bytes(KEY_BYTES)
        with self._lock, _translated(self.path):
            self._connection.execute(
                "INSERT INTO keys (platform, user, id, wrapped) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (owner.platform, owner.user, key_id, self._wrapped(key, owner, key_id)),
            )
        return self.made(owner)  # another process may have been faster

    def of(self, owner: UserKey) -> PersonKey | None:
        """Return a person's key, if there is one."""
        return self._found("platform = ? AND user = ?", owner.platform, owner.user)

    def named(self, key_id: bytes) -> PersonKey | None:
        """Return the key of that id, if it is not destroyed."""
        return self._found("id = ?", key_id)

    def destroy(self, key_id: bytes) -> None:
        """Overwrite the key of that id, if it is here, and note its end. It is gone from the disk then."""
        with self._lock, _translated(self.path), self._transaction():
            self._connection.execute("DELETE FROM keys WHERE id = ?", (key_id,))
            self._connection.execute("INSERT INTO destroyed VALUES (?) ON CONFLICT DO NOTHING", (key_id,))
        with self._lock, _translated(self.path):
            self._erase_journal()

    def destroyed(self) -> frozenset[bytes]:
        """Return the ids of all keys that were destroyed."""
        with self._lock, _translated(self.path):
            return frozenset(bytes(row[0]) for row in self._connection.execute("SELECT id FROM destroyed"))

    def ids(self) -> frozenset[bytes]:
        """Return the ids of all keys."""
        with self._lock, _translated(self.path):
            return frozenset(bytes(row[0]) for row in self._connection.execute("SELECT id FROM keys"))

    def copy(self, target: Path) -> None:
        """Write a copy to a new file, readable by its owner only.

        Raises:
            StorageError: it is there already, or cannot be written.
        """
        with self._lock, _translated(target):
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with closing(sqlite3.connect(target)) as copy:
                self._connection.backup(copy)

    def owners(self) -> list[UserKey]:
        """Return everybody who has a key."""
        with self._lock, _translated(self.path):
            rows = self._connection.execute("SELECT platform, user FROM keys ORDER BY platform, user").fetchall()
        return [UserKey(*row) for row in rows]

    def rewrap(self, master: bytes) -> None:
        """Wrap every key by a new master key, in one transaction; the old one opens nothing afterwards."""
        new = AESGCMSIV(master)
        with self._lock, _translated(self.path):
            with self._transaction():
                rows = self._connection.execute("SELECT platform, user, id, wrapped FROM keys").fetchall()
                for platform, user, key_id, wrapped in rows:
                    owner = UserKey(platform, user)
                    again = _wrapped(new, self._unwrapped(wrapped, owner, key_id), _bound(owner, key_id))
                    self._connection.execute("UPDATE keys SET wrapped = ? WHERE id = ?", (again, key_id))
                [(name,)] = self._connection.execute("SELECT id FROM file")
                self._connection.execute("UPDATE file SET proof = ?", (_wrapped(new, _PROOF, name.encode()),))
            self._master = new
            self._erase_journal()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    def _begin(self) -> None:
        [(application,)] = self._connection.execute("PRAGMA application_id")
        [(tables,)] = self._connection.execute("SELECT count(*) FROM sqlite_schema")
        if application != _APPLICATION_ID and (application or tables):
            raise StorageError(f"{self.path} is no key file")
        for pragma in _PRAGMAS:
            self._connection.execute(pragma).fetchall()
        if not tables:
            self._connection.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA:
                self._connection.execute(statement)
            name = secrets.token_hex(8)
            self._connection.execute(
                "INSERT INTO file SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM file)",
                (name, _wrapped(self._master, _PROOF, name.encode())),
            )
            self._connection.execute("COMMIT")
        [(name, proof)] = self._connection.execute("SELECT id, proof FROM file")
        try:
            _unwrapped(self._master, proof, name.encode())
        except InvalidTag as error:
            raise WrongKey(f"the master key is not the one that {self.path} was made with") from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.rollback()
            raise

    def _erase_journal(self) -> None:
        """Overwrite the journal, which holds pages as they were before a change, while nobody else may write one."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            with self.path.with_name(f"{self.path.name}-journal").open("r+b") as journal:
                journal.write(bytes(os.fstat(journal.fileno()).st_size))
                journal.flush()
                os.fsync(journal.fileno())
        finally:
            self._connection.execute("ROLLBACK")

    def _found(self, condition: str, *values: object) -> PersonKey | None:
        with self._lock, _translated(self.path):
            rows = self._connection.execute(
                f"SELECT platform, user, id, wrapped FROM keys WHERE {condition}",  # noqa: S608 - a constant of ours
                values,
            ).fetchall()
        for platform, user, key_id, wrapped in rows:
            owner = UserKey(platform, user)
            return PersonKey(key_id, owner, self._unwrapped(wrapped, owner, key_id))
        return None

    def _wrapped(self, key: bytes, owner: UserKey, key_id: bytes) -> bytes:
        return _wrapped(self._master, key, _bound(owner, key_id))

    def _unwrapped(self, wrapped: bytes, owner: UserKey, key_id: bytes) -> bytes:
        try:
            return _unwrapped(self._master, wrapped, _bound(owner, key_id))
        except InvalidTag as error:
            raise WrongKey(f"a key in {self.path} was changed, or wrapped by another master key") from error


def _bound(owner: UserKey, key_id: bytes) -> bytes:
    return b"\0".join((b"key", str(owner.platform).encode(), str(owner.user).encode("utf-8", "surrogatepass"), key_id))


def _wrapped(master: AESGCMSIV, content: bytes, bound: bytes) -> bytes:
    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + master.encrypt(nonce, content, bound)


def _unwrapped(master: AESGCMSIV, wrapped: bytes, bound: bytes) -> bytes:
    return master.decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], bound)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Raise as ours what SQLite and the file system refuse."""
    try:
        yield
    except sqlite3.Error as error:
        raise StorageError(f"the key file {path} cannot be used: {error}") from error
    except OSError as error:
        raise StorageError(f"the key file {path} cannot be used: {error.strerror}") from error
