"""Sealing with AES-256-GCM-SIV (RFC 8452), and hashing with HMAC-SHA-256, by keys derived from a person's (RFC 5869).

A sealed value is: version (1 byte), id of the person's key (8), nonce (12), ciphertext and tag (16); in a column of
text, in base64url without padding. GCM-SIV leaks no more than that two texts are equal if a nonce ever comes twice.
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
from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.errors import Unreadable
from core.sealing.key_file import KEY_BYTES, KEY_ID_BYTES, NONCE_BYTES, KeyFile, PersonKey
from core.sealing.port import BLANKS, SEALED_EXTRA_BYTES, Sealing
from core.types import UserKey

_VERSION: Final = b"\x01"
_KEY_AT: Final = len(_VERSION)
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
    cipher: AESGCMSIV
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
        content = text.encode("utf-8", "surrogatepass")
        return urlsafe_b64encode(self.seal_bytes(owner, column, row, content)).rstrip(b"=").decode()

    def open(self, column: str, row: object, sealed: str) -> str:
        """Undo `seal`."""
        if sealed in BLANKS:
            return sealed
        try:
            raw = urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
        except ValueError as error:
            raise _unreadable(column) from error
        return self.open_bytes(column, row, raw).decode("utf-8", "surrogatepass")

    def seal_bytes(self, owner: UserKey, column: str, row: object, content: bytes) -> bytes:
        """Return the bytes sealed for their place."""
        if column in self._left_open:
            return content
        keys, nonce = self._of(owner), secrets.token_bytes(NONCE_BYTES)
        sealed = keys.cipher.encrypt(nonce, content, _bound(keys, column, row))
        return b"".join((_VERSION, keys.id, nonce, sealed))

    def open_bytes(self, column: str, row: object, sealed: bytes) -> bytes:
        """Undo `seal_bytes`."""
        if column in self._left_open:
            return sealed
        if len(sealed) < SEALED_EXTRA_BYTES or sealed[:_KEY_AT] != _VERSION:
            raise _unreadable(column)
        keys = self._named(bytes(sealed[_KEY_AT:_NONCE_AT]))
        if keys is None:
            raise _unreadable(column)
        try:
            return keys.cipher.decrypt(
                bytes(sealed[_NONCE_AT:_CONTENT_AT]), bytes(sealed[_CONTENT_AT:]), _bound(keys, column, row)
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

    def _named(self, key_id: bytes) -> _Keys | None:
        with self._lock:
            if (keys := self._by_id.get(key_id)) is not None:
                return keys
        found = self.file.named(key_id)
        return None if found is None else self._kept(found)

    def _forget_keys(self) -> None:
        self._by_owner.clear()
        self._by_id.clear()

    def _kept(self, person: PersonKey) -> _Keys:
        cipher, words = (_derived(person.key, use) for use in (b"cells", b"words"))
        owner = b"\0".join(part.encode("utf-8", "surrogatepass") for part in (person.owner.platform, person.owner.user))
        keys = _Keys(person.id, owner, AESGCMSIV(cipher), words)
        with self._lock:
            self._by_owner[person.owner] = self._by_id[person.id] = keys
            if len(self._by_owner) > _KEPT_KEYS:
                _, oldest = self._by_owner.popitem(last=False)
                del self._by_id[oldest.id]
        return keys


def beginning(key_id: bytes) -> bytes:
    """Return how bytes begin that are sealed with the key of that id."""
    return _VERSION + key_id


def text_beginning(key_id: bytes) -> str:
    """Return how a text begins that is sealed with the key of that id: its bytes fill whole characters of base64."""
    return urlsafe_b64encode(beginning(key_id)).decode()


def _derived(key: bytes, use: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=b"elefante " + use).derive(key)


def _bound(keys: _Keys, column: str, row: object) -> bytes:
    """Return what a value is authenticated with: person, column, row, version."""
    return b"\0".join((keys.owner, column.encode(), str(row).encode("utf-8", "surrogatepass"), _VERSION))


def _hash(keys: _Keys, word: str) -> str:
    found = hmac.digest(keys.words, b"word\0" + word.encode("utf-8", "surrogatepass"), "sha256")
    return urlsafe_b64encode(found[:_HASH_BYTES]).decode()


def _unreadable(column: str) -> Unreadable:
    return Unreadable(f"a value of {column} cannot be opened: its key is gone, or it was changed or moved")
