"""How long something is, in words. Knows days, hours, minutes and seconds. Does not know what lasts."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from core.text.plural import Counted, counted
from core.types import Locale

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES


def in_words(length: timedelta, locale: Locale) -> str:
    """Return the length in the largest unit that says it without a remainder: "7 days", "90 minutes"."""
    seconds = max(int(length.total_seconds()), 0)
    unit, size = next((unit, size) for unit, size in UNITS if seconds % size == 0 and (seconds or unit is MINUTES))
    return counted(unit, locale, seconds // size)


DAYS: Counted = {
    PT: {"one": "{count} dia", "other": "{count} dias"},
    EN: {"one": "{count} day", "other": "{count} days"},
    ES: {"one": "{count} día", "other": "{count} días"},
}
HOURS: Counted = {
    PT: {"one": "{count} hora", "other": "{count} horas"},
    EN: {"one": "{count} hour", "other": "{count} hours"},
    ES: {"one": "{count} hora", "other": "{count} horas"},
}
MINUTES: Counted = {
    PT: {"one": "{count} minuto", "other": "{count} minutos"},
    EN: {"one": "{count} minute", "other": "{count} minutes"},
    ES: {"one": "{count} minuto", "other": "{count} minutos"},
}
SECONDS: Counted = {
    PT: {"one": "{count} segundo", "other": "{count} segundos"},
    EN: {"one": "{count} second", "other": "{count} seconds"},
    ES: {"one": "{count} segundo", "other": "{count} segundos"},
}
UNITS: Final = ((DAYS, 86_400), (HOURS, 3_600), (MINUTES, 60), (SECONDS, 1))
