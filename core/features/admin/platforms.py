"""How each platform of this process does, for /admin status: connected, connecting, or ended and tried again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from core.text.catalogue import text
from core.types import Locale


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
    why = REFUSED[locale].format(setting=state.setting) if state.setting else FAILED[locale]
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


LINES = {
    Link.CONNECTING: text("admin.platforms.connecting"),
    Link.CONNECTED: text("admin.platforms.connected"),
    Link.ENDED: text("admin.platforms.ended"),
}
REFUSED = text("admin.platforms.refused")
FAILED = text("admin.platforms.failed")
