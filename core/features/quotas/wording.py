"""What people read about limits in their language: what is used, refusals, warnings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from core.features.ledger.wording import MESSAGES, TOKENS, clock_time, money, number
from core.features.quotas.limits import Limit
from core.features.quotas.quotas import Use
from core.text.catalogue import counted, forms, text
from core.types import Locale, Localized


def amount(limit: Limit, value: Decimal, locale: Locale) -> str:
    """Return a value in the limit's unit: "50,000 tokens", "US$ 2.50"."""
    if limit.is_cost:
        return money(value, locale)
    counts = MESSAGES if limit is Limit.MESSAGES_MINUTE else TOKENS
    return counted(counts, locale, int(value), number=number(int(value), locale))


def limit_text(use: Use, locale: Locale) -> str:
    """Return a limit with its owner: "your limit of 50,000 tokens a day"."""
    whose = _YOURS if use.scope.user else _THE_ROOMS if use.scope.room else _THE_BOTS
    return whose[locale].format(amount=amount(use.limit, use.allowed, locale), per=PER[use.limit][locale])


def refusal(use: Use, now: datetime, zone: ZoneInfo, locale: Locale) -> str:
    """Return what is said to a person whom a limit keeps out: which limit, and until when."""
    limit = limit_text(use, locale)
    if not use.allowed:
        return ZERO[locale].format(limit=limit)
    if use.limit is Limit.MESSAGES_MINUTE:
        return counted(TOO_FAST, locale, max(math.ceil((use.ends - now).total_seconds()), 1), limit=limit)
    if not use.is_used_up:
        return BUSY[locale].format(limit=limit)
    return FULL[locale].format(limit=limit, when=clock_time(use.ends, zone, locale))


def note(use: Use, zone: ZoneInfo, locale: Locale) -> str:
    """Return the warning below an answer that used most of a limit."""
    when = clock_time(use.ends, zone, locale)
    return NOTE[locale].format(percent=use.percent, limit=limit_text(use, locale), when=when)


def notice(use: Use, zone: ZoneInfo, locale: Locale) -> str:
    """Return what owners are told about the limit of a person, a room or the bot."""
    return NOTICE[locale].format(
        name=use.scope.name,
        percent=use.percent,
        amount=amount(use.limit, use.allowed, locale),
        per=PER[use.limit][locale],
        when=clock_time(use.ends, zone, locale),
    )


def use_text(uses: Sequence[Use], locale: Locale) -> str:
    """Return how much is used of each limit, on one line."""
    return ", ".join(
        USED[locale].format(
            percent=use.percent, amount=amount(use.limit, use.allowed, locale), per=PER[use.limit][locale]
        )
        for use in uses
    )


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
USED = text("usage.used")
