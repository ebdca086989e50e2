"""Ports for what people send besides words: where its bytes lie, and what can be read in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import BinaryIO, Final, Protocol, TypeAlias

from core.enclosures import Attachment
from core.errors import FileQuotaExceeded
from core.types import UserKey

Content: TypeAlias = bytes | BinaryIO
"""What is in a file: its bytes, or a file on the disk, which is read from its beginning a piece at a time."""


class FileStore(Protocol):
    """Bytes under their owner, addressed by their content. Nothing is shared between owners.

    An owner is an account as memories know it: of linked accounts the one that they are linked to. Raises StorageError
    only.
    """

    quota: int
    """How many bytes an owner may keep."""

    async def put(self, owner: UserKey, content: bytes) -> str:
        """Keep the bytes, and return their SHA-256 in hexadecimal digits; they are on disk when this returns.

        Bytes that the owner has already are kept once.

        Raises:
            FileQuotaExceeded: the owner would have more than they may; nothing was kept.
            DiskFull: there is no room; nothing was kept.
        """

    async def get(self, owner: UserKey, sha256: str) -> bytes | None:
        """Return the bytes; None if the owner has none of that digest, or they are not what they were."""

    async def used(self, owner: UserKey) -> int:
        """Return how many bytes of the owner are kept."""

    async def digests(self, owner: UserKey) -> frozenset[str]:
        """Return the digests of all that the owner has."""

    async def remove(self, owner: UserKey, digests: Collection[str] | None = None) -> None:
        """Remove those of the owner's files, or all of them; no byte of them is left when this returns."""

    async def copy(self, owner: UserKey, to: UserKey, digests: Collection[str]) -> None:
        """Give those of one owner's files to another, too, whatever that one may keep; all are on disk then."""

    async def sweep(self, named: Mapping[UserKey, Collection[str]], before: datetime) -> int:
        """Remove what was last put before then and is not among its owner's digests; return how many files that is.

        No byte of it is left when this returns.
        """


class NoFiles(FileStore):
    """Where no bytes are kept."""

    quota = 0

    async def put(self, owner: UserKey, content: bytes) -> str:
        """Raise FileQuotaExceeded."""
        del owner, content
        raise FileQuotaExceeded(0, 0)

    async def get(self, owner: UserKey, sha256: str) -> bytes | None:
        """Return None."""
        del owner, sha256
        return None

    async def used(self, owner: UserKey) -> int:
        """Return 0."""
        del owner
        return 0

    async def digests(self, owner: UserKey) -> frozenset[str]:
        """Return none."""
        del owner
        return frozenset()

    async def remove(self, owner: UserKey, digests: Collection[str] | None = None) -> None:
        """Do nothing."""

    async def copy(self, owner: UserKey, to: UserKey, digests: Collection[str]) -> None:
        """Do nothing."""

    async def sweep(self, named: Mapping[UserKey, Collection[str]], before: datetime) -> int:
        """Remove nothing."""
        del named, before
        return 0


class Problem(StrEnum):
    """Why nothing, or not all, could be read in a file."""

    UNKNOWN = "unknown"
    """Of a kind that holds no text, or is not read."""

    EMPTY = "empty"
    ENCRYPTED = "encrypted"
    SCANNED = "scanned"
    """It has pages, and no words on them but in pictures."""

    BROKEN = "broken"
    TOO_LARGE = "too large"
    """Unpacked, or in time, memory or pages."""

    NOT_TAKEN = "not taken"
    """It has more bytes than are fetched, or than its platform hands out."""

    HEIC = "heic"
    """A picture of a kind that takes the extra `heic`, which is not here."""

    SILENT = "silent"
    """It is a recording or a video in which nobody speaks."""

    UNHEARD = "unheard"
    """It is a recording, and what writes down speech did not."""

    GONE = "gone"
    """Its platform does not hand it out any more, or not now."""


LOST: Final = frozenset({Problem.EMPTY, Problem.GONE, Problem.NOT_TAKEN})
"""Why there is nothing that could be kept."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read in a file."""

    media_type: str
    """What its first bytes say that it is, whatever its name; "" if they do not tell."""

    pages: tuple[str, ...] = ()
    """The text, a page each as far as the format has pages (of a spreadsheet, its sheets), else one; cleaned."""

    problem: Problem | None = None
    """Why it ends there; None if all was read."""

    width: int = 0
    height: int = 0
    """Pixels of a picture, as it is looked at."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """What came with a message, and what was read in it."""

    attachment: Attachment
    """With its type, size and sides as its bytes tell, if they were fetched."""

    reading: Reading | None = None
    """None: it was not fetched, as it has no bytes or none that anybody here reads."""

    is_quoted: bool = False
    """Whether it came with what the message replies to or forwards."""

    @property
    def pages(self) -> tuple[str, ...]:
        """The text, as far as there is any."""
        return () if self.reading is None else self.reading.pages

    @property
    def has_text(self) -> bool:
        """Whether there is any."""
        return any(self.pages)

    @property
    def problem(self) -> Problem | None:
        """Why nothing, or not all, could be read in it."""
        return None if self.reading is None else self.reading.problem

    @property
    def is_picture(self) -> bool:
        """Whether it can be looked at."""
        return self.reading is not None and bool(self.reading.width) and self.problem is None


@dataclass(frozen=True, slots=True)
class Abilities:
    """What this bot can do with what people send, beside what a language model sees."""

    hears: bool = False
    """Whether what is said in recordings is written down."""

    reads_pictures: bool = False
    """Whether the words on pictures are read."""


class FileReader(Protocol):
    """Read files that strangers made, in a process of their own with limits. Raises nothing but cancellation."""

    reads_pictures: bool = False
    """Whether the words on pictures are read, too."""

    async def read(self, content: Content, name: str = "") -> Reading:
        """Return the text of a file; `name` helps only where its bytes do not tell what it is."""

    async def picture(self, content: Content, max_side_px: int) -> bytes | None:
        """Return a picture as a JPEG or PNG: upright, without EXIF, no side longer than that; None if it is none."""

    async def close(self) -> None:
        """End the process. Closing twice does nothing."""


Heard: TypeAlias = Callable[[float, float], Awaitable[None]]
"""Gets how many seconds of a recording are written down, and how many it has."""


class Transcriber(Protocol):
    """Write down what is said in a recording, or in a video."""

    name: str
    """`provider:model`, for logs and the ledger."""

    async def transcribe(self, content: Content, media_type: str, language: str, heard: Heard | None = None) -> str:
        """Return what is said, "" for silence; `language` is a tag of what is likely spoken, or "".

        One that knows how far it came tells it to `heard` meanwhile.

        Raises:
            ProviderError: it did not answer as asked.
        """

    async def close(self) -> None:
        """End processes and connections. Closing twice does nothing."""
