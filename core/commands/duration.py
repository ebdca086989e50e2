"""How long something is, in words. Knows days, hours and minutes. Does not know what lasts."""

from __future__ import annotations

from datetime import timedelta

from core.plural import Counted, counted
from core.types import Locale

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES


def in_words(length: timedelta, locale: Locale) -> str:
    """Return the length in the largest unit that says it without a remainder: "7 days", "90 minutes"."""
    minutes = max(int(length.total_seconds()) // 60, 0)
    for unit, size in ((DAYS, 24 * 60), (HOURS, 60)):
        if minutes and minutes % size == 0:
            return counted(unit, locale, minutes // size)
    return counted(MINUTES, locale, minutes)


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
