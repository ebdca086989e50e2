"""Read a person's message as a request for a reminder."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.times.reading import Found
from core.types import Locale


@dataclass(frozen=True, slots=True)
class Request:
    """A request for a reminder: what to remind of, and the time that it names (None: none)."""

    text: str
    found: Found | None = None
    when: str = ""
    briefing: bool = False


def read_request(message: str, now: datetime, locale: Locale) -> Request | None:
    """Return the request that a message makes; None if it asks for no reminder."""
    raise NotImplementedError
