"""Sealing with AES-256-GCM-SIV (RFC 8452), and hashing with HMAC-SHA-256, by keys derived from a person's (RFC 5869).

A sealed value is: version (1 byte), id of the person's key (8), nonce (12), ciphertext and tag (16); in a column of
text, in base64url without padding. GCM-SIV leaks no more than that two texts are equal if a nonce ever comes twice.

Bytes are sealed with AES-256-GCM, which opens a vector in a third of the time: whoever has 100,000 waits for them at a
first search. Random nonces are safe for 2^32 values of one key (NIST SP 800-38D, 8.3).

The key file holds a random key for each person, each wrapped by the master key. It lies outside of data and backups:
who destroys a person's key makes everything unreadable that was sealed with it, wherever a copy of it lies, and an old
backup of the file would bring the key back.
"""

from __future__ import annotations

import hmac
import os
import secrets
import sqlite3
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESGCMSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.errors import StorageError, Unreadable, WrongKey
from core.sealing.port import BLANKS, SEALED_EXTRA_BYTES, Sealing
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
                    again = _wrapped(new, self._unwrapped(wrapped, owner, key_id), _place_of_key(owner, key_id))
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
        return _wrapped(self._master, key, _place_of_key(owner, key_id))

    def _unwrapped(self, wrapped: bytes, owner: UserKey, key_id: bytes) -> bytes:
        try:
            return _unwrapped(self._master, wrapped, _place_of_key(owner, key_id))
        except InvalidTag as error:
            raise WrongKey(f"a key in {self.path} was changed, or wrapped by another master key") from error


def _place_of_key(owner: UserKey, key_id: bytes) -> bytes:
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


_TEXT, _BYTES = b"\x01", b"\x02"
"""Versions."""

_KEY_AT: Final = 1
_NONCE_AT: Final = _KEY_AT + KEY_ID_BYTES
_CONTENT_AT: Final = _NONCE_AT + NONCE_BYTES

_HASH_BYTES: Final = 9
"""So much of a word's HMAC is kept: 72 bits, 12 characters; two words of one person do not meet."""

_KEPT_KEYS: Final = 4096
"""So many people's keys stay unwrapped in RAM."""


@dataclass(frozen=True, slots=True)
class _Keys:
    """What is derived from a person's key."""

    id: bytes
    owner: bytes
    texts: AESGCMSIV
    contents: AESGCM
    words: bytes


class Sealed(Sealing):
    """Sealing by the keys of a key file; values of the columns `left_open`, bytes all, stay as they are."""

    is_on = True
    extra_bytes = SEALED_EXTRA_BYTES

    def __init__(self, file: KeyFile, left_open: Collection[str] = ()) -> None:
        self.file = file
        self._id = file.id
        self._left_open = frozenset(left_open)
        self._lock = threading.RLock()
        self._version = file.version()
        self._by_owner: OrderedDict[UserKey, _Keys] = OrderedDict()
        self._by_id: dict[bytes, _Keys] = {}

    @property
    def id(self) -> str:
        """The name of the key file."""
        return self._id

    def seals(self, column: str) -> bool:
        """Return whether values of that column are sealed."""
        return column not in self._left_open

    def refresh(self) -> None:
        """Let go of all keys if another process changed the file: it may have destroyed one."""
        with self._lock:
            if (version := self.file.version()) != self._version:
                self._forget_keys()
                self._version = version

    def seal(self, owner: UserKey, column: str, row: object, text: str) -> str:
        """Return the text sealed for its place."""
        if text in BLANKS:
            return text
        keys, nonce = self._of(owner), secrets.token_bytes(NONCE_BYTES)
        content = text.encode("utf-8", "surrogatepass")
        sealed = keys.texts.encrypt(nonce, content, _bound(keys, column, row, _TEXT))
        return urlsafe_b64encode(b"".join((_TEXT, keys.id, nonce, sealed))).rstrip(b"=").decode()

    def open(self, column: str, row: object, sealed: str) -> str:
        """Undo `seal`."""
        if sealed in BLANKS:
            return sealed
        try:
            raw = urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
        except ValueError as error:
            raise _unreadable(column) from error
        keys = self._sealed_with(column, raw, _TEXT)
        try:
            content = keys.texts.decrypt(
                raw[_NONCE_AT:_CONTENT_AT], raw[_CONTENT_AT:], _bound(keys, column, row, _TEXT)
            )
        except InvalidTag as error:
            raise _unreadable(column) from error
        return content.decode("utf-8", "surrogatepass")

    def seal_bytes(self, owner: UserKey, column: str, row: object, content: bytes) -> bytes:
        """Return the bytes sealed for their place."""
        if column in self._left_open:
            return content
        keys, nonce = self._of(owner), secrets.token_bytes(NONCE_BYTES)
        sealed = keys.contents.encrypt(nonce, content, _bound(keys, column, row, _BYTES))
        return b"".join((_BYTES, keys.id, nonce, sealed))

    def open_bytes(self, column: str, row: object, sealed: bytes) -> bytes:
        """Undo `seal_bytes`."""
        if column in self._left_open:
            return sealed
        keys = self._sealed_with(column, sealed, _BYTES)
        try:
            return keys.contents.decrypt(
                sealed[_NONCE_AT:_CONTENT_AT], sealed[_CONTENT_AT:], _bound(keys, column, row, _BYTES)
            )
        except InvalidTag as error:
            raise _unreadable(column) from error

    def hashed(self, owner: UserKey, words: Iterable[str]) -> list[str]:
        """Return what the words of a person are stored and looked up as."""
        keys = self._of(owner)
        return [_hash(keys, word) for word in words]

    def hashed_of(self, owners: Sequence[UserKey], words: Iterable[str]) -> tuple[str, ...]:
        """Return what any of these people's words are looked up as; who has no key has no words."""
        found = [keys for owner in owners if (keys := self._known(owner)) is not None]
        return tuple(dict.fromkeys(_hash(keys, word) for word in [*words] for keys in found))

    def digest(self, owner: UserKey, digest: bytes) -> bytes:
        """Return what a digest of a person's text is stored as, as long as it is."""
        return hmac.digest(self._of(owner).words, b"digest\0" + digest, "sha256")[: len(digest)]

    def key_id(self, owner: UserKey) -> bytes | None:
        """Return the id of a person's key; None if they have none."""
        return None if (keys := self._known(owner)) is None else keys.id

    def destroy(self, key_id: bytes) -> None:
        """Destroy the key of that id: what it sealed opens nowhere any more."""
        with self._lock:
            self.file.destroy(key_id)
            self._forget_keys()

    def destroyed(self) -> frozenset[bytes]:
        """Return the ids of all keys that were destroyed."""
        return self.file.destroyed()

    def _of(self, owner: UserKey) -> _Keys:
        return self._known(owner) or self._kept(self.file.made(owner))

    def _known(self, owner: UserKey) -> _Keys | None:
        with self._lock:
            if (keys := self._by_owner.get(owner)) is not None:
                self._by_owner.move_to_end(owner)
                return keys
        found = self.file.of(owner)
        return None if found is None else self._kept(found)

    def _sealed_with(self, column: str, sealed: bytes, version: bytes) -> _Keys:
        """Return the keys that a value of that version was sealed with."""
        if len(sealed) < SEALED_EXTRA_BYTES or sealed[:_KEY_AT] != version:
            raise _unreadable(column)
        key_id = sealed[_KEY_AT:_NONCE_AT]
        if (keys := self._by_id.get(key_id)) is not None:
            return keys
        if (found := self.file.named(key_id)) is None:
            raise _unreadable(column)
        return self._kept(found)

    def _forget_keys(self) -> None:
        self._by_owner.clear()
        self._by_id.clear()

    def _kept(self, person: PersonKey) -> _Keys:
        texts, contents, words = (_derived(person.key, use) for use in (b"cells", b"bytes", b"words"))
        owner = b"\0".join(part.encode("utf-8", "surrogatepass") for part in (person.owner.platform, person.owner.user))
        keys = _Keys(person.id, owner, AESGCMSIV(texts), AESGCM(contents), words)
        with self._lock:
            self._by_owner[person.owner] = self._by_id[person.id] = keys
            if len(self._by_owner) > _KEPT_KEYS:
                _, oldest = self._by_owner.popitem(last=False)
                del self._by_id[oldest.id]
        return keys


def beginning(key_id: bytes) -> bytes:
    """Return how bytes begin that are sealed with the key of that id."""
    return _BYTES + key_id


def text_beginning(key_id: bytes) -> str:
    """Return how a text begins that is sealed with the key of that id: its bytes fill whole characters of base64."""
    return urlsafe_b64encode(_TEXT + key_id).decode()


def _derived(key: bytes, use: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=b"elefante " + use).derive(key)


def _bound(keys: _Keys, column: str, row: object, version: bytes) -> bytes:
    """Return what a value is authenticated with: person, column, row, version."""
    return b"\0".join((keys.owner, column.encode(), str(row).encode("utf-8", "surrogatepass"), version))


def _hash(keys: _Keys, word: str) -> str:
    found = hmac.digest(keys.words, b"word\0" + word.encode("utf-8", "surrogatepass"), "sha256")
    return urlsafe_b64encode(found[:_HASH_BYTES]).decode()


def _unreadable(column: str) -> Unreadable:
    return Unreadable(
        f"a value of {column} cannot be opened: its key is gone, or it was changed or moved (`elefante key check`)"
    )
