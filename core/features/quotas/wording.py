"""What people read of limits, in their language: amounts, times, refusals, notes. Does not know when it is said."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from core.features.quotas.limits import Limit
from core.features.quotas.quotas import Use
from core.text.catalogue import forms, text
from core.text.plural import counted
from core.types import Locale, Localized

_MONEY: Final = "#,##0.00##"


def number(value: float | Decimal, locale: Locale) -> str:
    """Return a number as the language writes it."""
    from babel.numbers import format_decimal  # loaded by the first number, not by the start

    return format_decimal(value, locale=_tag(locale))


def money(dollars: float | Decimal, locale: Locale) -> str:
    """Return an amount of US dollars, with up to four places: one answer costs less than a cent."""
    from babel.numbers import format_decimal

    return f"US$ {format_decimal(dollars, _MONEY, locale=_tag(locale))}"


def clock_time(at: datetime, zone: ZoneInfo, locale: Locale) -> str:
    """Return a moment as a day and the time on the clock there, with the name of the time zone."""
    from babel.dates import format_skeleton

    local, tag = at.astimezone(zone), _tag(locale)
    # The plain day and time: together babel knows them under no name. The hour counts to 24 in all three languages.
    day, time = format_skeleton("MMMd", local, locale=tag), format_skeleton("Hm", local, locale=tag)
    return f"{day}, {time} ({zone.key})"


def day_text(day: date, locale: Locale) -> str:
    """Return a day without its year."""
    from babel.dates import format_skeleton

    return format_skeleton("MMMd", day, locale=_tag(locale))


def amount(limit: Limit, value: Decimal, locale: Locale) -> str:
    """Return so much of what the limit counts: "50,000 tokens", "US$ 2.50"."""
    if limit.is_cost:
        return money(value, locale)
    counts = MESSAGES if limit is Limit.MESSAGES_MINUTE else TOKENS
    return counted(counts, locale, int(value), number=number(int(value), locale))


def limit_text(use: Use, locale: Locale) -> str:
    """Return whose limit that is, and how much: "your limit of 50,000 tokens a day"."""
    whose = _YOURS if use.scope.user else _THE_ROOMS if use.scope.room else _THE_BOTS
    return whose[locale].format(amount=amount(use.limit, use.allowed, locale), per=PER[use.limit][locale])


def refusal(use: Use, now: datetime, zone: ZoneInfo, locale: Locale) -> str:
    """Return what somebody is told who is kept out by a limit: which, and when there is room again."""
    limit = limit_text(use, locale)
    if not use.allowed:
        return ZERO[locale].format(limit=limit)
    if use.limit is Limit.MESSAGES_MINUTE:
        return counted(TOO_FAST, locale, max(math.ceil((use.ends - now).total_seconds()), 1), limit=limit)
    if not use.is_used_up:
        return BUSY[locale].format(limit=limit)
    return FULL[locale].format(limit=limit, when=clock_time(use.ends, zone, locale))


def note(use: Use, zone: ZoneInfo, locale: Locale) -> str:
    """Return what is said below an answer that used most of a limit."""
    when = clock_time(use.ends, zone, locale)
    return NOTE[locale].format(percent=use.percent, limit=limit_text(use, locale), when=when)


def notice(use: Use, zone: ZoneInfo, locale: Locale) -> str:
    """Return what an owner is told of somebody's limit."""
    return NOTICE[locale].format(
        name=use.scope.name,
        percent=use.percent,
        amount=amount(use.limit, use.allowed, locale),
        per=PER[use.limit][locale],
        when=clock_time(use.ends, zone, locale),
    )


def _tag(locale: Locale) -> str:
    return locale.value.replace("-", "_")


TOKENS = forms("quotas.wording.tokens")
MESSAGES = forms("quotas.wording.messages")
_A_DAY = text("quotas.wording.a_day")
_A_MONTH = text("quotas.wording.a_month")
PER: dict[Limit, Localized] = {
    Limit.MESSAGES_MINUTE: text("quotas.wording.per.messages_minute"),
    Limit.TOKENS_DAY: _A_DAY,
    Limit.TOKENS_MONTH: _A_MONTH,
    Limit.COST_DAY: _A_DAY,
    Limit.COST_MONTH: _A_MONTH,
}
_YOURS = text("quotas.wording.yours")
_THE_ROOMS = text("quotas.wording.the_rooms")
_THE_BOTS = text("quotas.wording.the_bots")
FULL = text("quotas.wording.full")
BUSY = text("quotas.wording.busy")
ZERO = text("quotas.wording.zero")
TOO_FAST = forms("quotas.wording.too_fast")
NOTE = text("quotas.wording.note")
NOTICE = text("quotas.wording.notice")
