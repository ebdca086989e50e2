"""Sealing with AES-256-GCM-SIV (RFC 8452), and hashing with HMAC-SHA-256, by keys derived from a person's (RFC 5869).

A sealed value is: version (1 byte), id of the person's key (8), nonce (12), ciphertext and tag (16); in a column of
text, in base64url without padding. GCM-SIV leaks no more than that two texts are equal if a nonce ever comes twice.

Bytes are sealed with AES-256-GCM, which opens a vector in a third of the time: whoever has 100,000 waits for them at a
first search. Random nonces are safe for 2^32 values of one key (NIST SP 800-38D, 8.3).
"""

from __future__ import annotations

import hmac
import secrets
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESGCMSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.errors import Unreadable
from core.sealing.key_file import KEY_BYTES, KEY_ID_BYTES, NONCE_BYTES, KeyFile, PersonKey
from core.sealing.port import BLANKS, SEALED_EXTRA_BYTES, Sealing
from core.types import UserKey

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
