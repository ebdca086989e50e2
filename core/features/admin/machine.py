"""Ports to what the bot runs on, for /admin: its models, its last errors, its version, its size."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import Protocol

from core.features.admin.platforms import PlatformStates
from core.stores import Backlog
from core.types import Localized
from core.workers.port import Colleague


class Doubt(Enum):
    """Why a model is not put in place; in brackets what `Proof.detail` tells then."""

    FORM = auto()  # it is not written as PROVIDER:MODEL
    PROVIDER = auto()  # there is no such provider (those there are)
    KEY = auto()  # the provider wants a key, and has none (the setting that holds it)
    ANSWER = auto()  # it was asked, and did not answer: `Proof.why` tells it


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of asking a model one tiny question: no doubt, or a doubt and which of several models it is about.

    `priced` says whether it is known what it costs; `nearest` is the known model that was meant perhaps, "" for none.
    """

    doubt: Doubt | None = None
    about: str = ""
    detail: str = ""
    why: Localized = field(default_factory=dict)
    priced: bool = True
    nearest: str = ""


class ModelSwitch(Protocol):
    """Which model answers in which mode (`core.models.MODES`). A name is PROVIDER:MODEL, or several with commas."""

    def usual(self, mode: str) -> str:
        """Return what the settings name for the mode."""
        ...

    def held(self, mode: str) -> str:
        """Return what is in place now."""
        ...

    def is_limited(self, mode: str) -> bool:
        """Whether what is in place works without a language model."""
        ...

    def names(self) -> Sequence[str]:
        """Return the models that have a price and whose provider can be asked."""
        ...

    def unpriced(self) -> Sequence[str]:
        """Return the models in place whose price is not known."""
        ...

    async def prove(self, mode: str, name: str) -> Proof:
        """Ask each of the models one tiny question, as the mode would; it takes some seconds at most."""
        ...

    def put(self, mode: str, name: str) -> None:
        """Use that model from now on ("": what the settings name); one that cannot be asked at all changes nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error or warning: what and where, in fixed phrases without what people wrote; how often, and when last."""

    at: datetime
    level: str
    place: str
    kind: str
    count: int = 1


class TroubleLog(Protocol):
    """The last errors and warnings."""

    def newest(self, limit: int) -> Sequence[Trouble]:
        """Return the last of them, the newest first; equal ones as one."""
        ...

    def errors_since(self, at: datetime) -> int:
        """Return how many errors there were since then."""
        ...


@dataclass(frozen=True, slots=True)
class Survey:
    """What workers have in common: the database's name and bytes, what is owed by platform, who is at work.

    `workers` are none where there can be only one.
    """

    storage: Callable[[], Awaitable[tuple[str, int]]]
    owed: Callable[[], Awaitable[Mapping[str, Backlog]]]
    workers: Callable[[], Awaitable[Sequence[Colleague]]]


@dataclass(frozen=True, slots=True)
class Machine:
    """What the bot runs on. `started_s` is monotonic."""

    models: ModelSwitch
    troubles: TroubleLog
    version: str
    survey: Survey
    started_s: float = 0.0
    platforms: PlatformStates = field(default_factory=PlatformStates)
