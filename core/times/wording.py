"""Times in words for people, in every language of `core/locales`."""

from __future__ import annotations

from datetime import datetime

from core.types import Locale


def told(at: datetime, now: datetime, zone: str, locale: Locale) -> str:
    """Return an instant as people say it: "sexta-feira, 27 de novembro, às 8:00"; with the year if it is another one.

    Today and tomorrow are named so, with the date.
    """
    raise NotImplementedError


def zone_told(zone: str, at: datetime, locale: Locale) -> str:
    """Return a zone in words for the person: "horário de São Paulo" (UTC−3)."""
    raise NotImplementedError


def rule_told(rule: str, wall: datetime, locale: Locale) -> str:
    """Return a recurrence in words with its hour: "toda sexta-feira às 8:00", "every weekday at 7:00"."""
    raise NotImplementedError
