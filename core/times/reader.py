"""The port of the engine to the times that people name."""

from __future__ import annotations

from datetime import datetime

from core.ports import TimeReader
from core.times import said
from core.types import AskedTime, Locale


class TimeWords(TimeReader):
    """Reads times by the words of `core.times`, in Portuguese, English and Spanish."""

    def asked(self, text: str, now: datetime, locale: Locale) -> AskedTime | None:
        """Return the time that a question names: see `core.times.said.asked`."""
        return said.asked(text, now, locale)

    def meant(self, text: str, at: datetime, locale: Locale) -> str:
        """Return the day or the minute that a fact means: see `core.times.said.meant`."""
        return said.meant(text, at, locale)

    def until(self, text: str, at: datetime, locale: Locale) -> datetime | None:
        """Return when a fact stops being true: see `core.times.said.until`."""
        return said.until(text, at, locale)
