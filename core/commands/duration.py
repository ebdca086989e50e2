"""Durations in words: days, hours, minutes and seconds."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from core.text.catalogue import forms
from core.text.plural import counted
from core.types import Locale


def in_words(length: timedelta, locale: Locale) -> str:
    """Return the length in the largest unit that says it without a remainder: "7 days", "90 minutes"."""
    seconds = max(int(length.total_seconds()), 0)
    unit, size = next((unit, size) for unit, size in UNITS if seconds % size == 0 and (seconds or unit is MINUTES))
    return counted(unit, locale, seconds // size)


DAYS = forms("duration.days")
HOURS = forms("duration.hours")
MINUTES = forms("duration.minutes")
SECONDS = forms("duration.seconds")
UNITS: Final = ((DAYS, 86_400), (HOURS, 3_600), (MINUTES, 60), (SECONDS, 1))
