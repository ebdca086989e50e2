"""Ports to what the bot runs on, for /admin: its platforms, its models, its last errors, its version, its size."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from typing import Protocol

from core.stores import Backlog
from core.text.catalogue import Sentences, texts
from core.types import Locale, Localized
from core.workers.port import Colleague

PLATFORMS = Sentences("admin.platforms")


class Link(StrEnum):
    """The connection of a platform. CONNECTING: it does not answer, or has not answered yet. ENDED: it was refused."""

    CONNECTING = "connecting"
    CONNECTED = "connected"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class PlatformState:
    """The connection of a platform, and since when.

    If it ended: why, for the owner, without secrets; the setting that was refused, or ""; when it is tried again.
    """

    name: str
    link: Link
    since: datetime
    reason: str = ""
    setting: str = ""
    next_try: datetime | None = None


@dataclass(slots=True)
class PlatformStates:
    """The states of the platforms that this process runs, by name. `retry` tries those that ended at once."""

    all: dict[str, PlatformState] = field(default_factory=dict)
    retry: Callable[[], None] = lambda: None

    @property
    def any_ended(self) -> bool:
        """Whether a platform ended and waits to be tried again."""
        return any(state.link is Link.ENDED for state in self.all.values())


def line(state: PlatformState, now: datetime, locale: Locale) -> str:
    """Return the line that shows the state of a platform."""
    why = PLATFORMS.refused[locale].format(setting=state.setting) if state.setting else PLATFORMS.failed[locale]
    until = max(state.next_try - now, timedelta()) if state.next_try else timedelta()
    return LINES[state.link][locale].format(
        name=state.name, span=span((now - state.since).total_seconds()), why=why, until=span(until.total_seconds())
    )


def span(seconds: float) -> str:
    """Return a duration in days, hours and minutes, or in seconds below a minute."""
    minutes = int(seconds) // 60
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"{days} d {hours} h {minutes % 60} min"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min" if minutes else f"{int(seconds)} s"


LINES = texts("admin.platforms", Link)


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
