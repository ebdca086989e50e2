"""Read the words for a time in Portuguese, English and Spanish."""

from __future__ import annotations

from datetime import datetime

from core.times.reading import Found
from core.types import Locale


def find_time(text: str, now: datetime, locale: Locale) -> Found | None:
    """Return the time that a text names; None if it names none, or in words that are not understood to the last.

    `now` is aware, in the person's zone; `locale` is the language that is tried first, and decides whether 03/05 is a
    day in May. Takes time linear in the text, of which the first 2,000 characters are read.
    """
    raise NotImplementedError
