"""What commands see of what the bot runs on: its models, its last errors, its version, its size.

Knows the sockets. Does not know any provider, log file or disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Protocol


class Doubt(Enum):
    """Why a model is not put in place; in brackets what `Proof.detail` then tells."""

    FORM = auto()  # it is not written as PROVIDER:MODEL
    PROVIDER = auto()  # there is no such provider (those there are)
    KEY = auto()  # the provider wants a key, and has none (the setting that holds it)
    ANSWER = auto()  # it was asked, and did not answer (what came instead; no secret, no word of anybody's)


@dataclass(frozen=True, slots=True)
class Proof:
    """What came of asking a model one tiny question: nothing against it, or a doubt, and which of several it is about.

    `priced` says whether it is known what it costs.
    """

    doubt: Doubt | None = None
    about: str = ""
    detail: str = ""
    priced: bool = True


class ModelSwitch(Protocol):
    """Which model answers in which mode (`core.models.MODES`). A name is PROVIDER:MODEL, or several with commas."""

    def usual(self, mode: str) -> str:
        """Return what the settings name for the mode."""
        ...

    def held(self, mode: str) -> str:
        """Return what is in place now."""
        ...

    def is_limited(self, mode: str) -> bool:
        """Whether what is in place is the mind without a language model."""
        ...

    async def prove(self, mode: str, name: str) -> Proof:
        """Ask each of the models one tiny question, as the mode would; it takes some seconds at most."""
        ...

    def put(self, mode: str, name: str) -> None:
        """Let that be asked from now on ("": what the settings name). What cannot be asked at all changes nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error or warning: what and where, in fixed phrases; how often, and when last. Nobody's words are in it."""

    at: datetime
    level: str
    place: str
    kind: str
    count: int = 1


class TroubleLog(Protocol):
    """The last errors and warnings."""

    def newest(self, limit: int) -> Sequence[Trouble]:
        """Return the last of them, the newest first; those that are alike as one."""
        ...

    def errors_since(self, at: datetime) -> int:
        """Return how many errors there were since then."""
        ...


@dataclass(frozen=True, slots=True)
class Machine:
    """What the bot runs on. `database_bytes` is what its data takes on the disk now."""

    models: ModelSwitch
    troubles: TroubleLog
    version: str
    database_bytes: Callable[[], int]
