"""What the stores ask of a sealing: to seal values before they are written, and to open those that were read.

A sealed value is bound to its place: the person, the column and the row that it was sealed for are authenticated with
it, so that no cell opens in place of another. Short words that people are found by are not sealed but hashed with the
person's key: equal words of one person have equal hashes, and nothing else is seen of them.

Values that say nothing stay as they are, for SQL compares with them: `BLANKS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from core.types import UserKey

BLANKS: Final = frozenset(("", '""', "{}", "[]"))
"""Texts that are never sealed: nothing, and empty JSON."""


BOT: Final = UserKey("bot", "bot")
"""Whose key seals what is the bot's own word: what owners let it say to everybody, and how they want it to be."""


class Sealing:
    """Sealing of values. This one seals nothing: everything is written as it is; `core.sealing.sealed` overrides all.

    `column` is TABLE.COLUMN; `row` is what tells the row from others of its table, for good. It may be used from
    several threads. A person's key is made when something is first sealed for them, and is on disk then.
    """

    # ruff: noqa: ARG002 - nothing is sealed, whosever it is

    is_on: bool = False
    """Whether anything is sealed at all."""

    extra_bytes: int = 0
    """How many bytes longer `seal_bytes` makes what it seals."""

    @property
    def id(self) -> str:
        """The name of the key file, which a database keeps to know its own; "" if nothing is sealed."""
        return ""

    def seals(self, column: str) -> bool:
        """Return whether values of that column are sealed."""
        return False

    def refresh(self) -> None:
        """Heed which keys other processes destroyed. An engine calls it as each transaction that writes begins."""

    def key_id(self, owner: UserKey) -> bytes | None:
        """Return the id of a person's key, which stands in all that is sealed for them; None if they have none."""
        return None

    def destroy(self, key_id: bytes) -> None:
        """Destroy the key of that id for good: what it sealed opens nowhere any more.

        Raises:
            StorageError: the key file cannot be written.
        """

    def destroyed(self) -> frozenset[bytes]:
        """Return the ids of all keys that were destroyed."""
        return frozenset()

    def seal(self, owner: UserKey, column: str, row: object, text: str) -> str:
        """Return the text sealed for its place.

        Raises:
            StorageError: the key file cannot be written.
        """
        return text

    def open(self, column: str, row: object, sealed: str) -> str:
        """Undo `seal`.

        Raises:
            Unreadable: it was not sealed for this place, was changed, or its key is gone.
        """
        return sealed

    def seal_bytes(self, owner: UserKey, column: str, row: object, content: bytes) -> bytes:
        """Return the bytes sealed for their place; `extra_bytes` longer."""
        return content

    def open_bytes(self, column: str, row: object, sealed: bytes) -> bytes:
        """Undo `seal_bytes`; raises as `open`."""
        return sealed

    def hashed(self, owner: UserKey, words: Iterable[str]) -> list[str]:
        """Return, in their order, what the words of a person are stored and looked up as."""
        return list(words)

    def hashed_of(self, owners: Sequence[UserKey], words: Iterable[str]) -> tuple[str, ...]:
        """Return what any of these people's words are looked up as, each once."""
        return tuple(words)

    def digest(self, owner: UserKey, digest: bytes) -> bytes:
        """Return what a digest of a person's text is stored as: who guesses the text cannot see that they are right."""
        return digest


PLAIN: Final = Sealing()

SEALED_EXTRA_BYTES: Final = 37
"""What sealing adds to bytes: version (1 byte), id of the key (8), nonce (12), tag (16)."""
