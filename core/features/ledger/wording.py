"""Numbers, amounts, costs and times as people read them in their language."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from core.features.ledger.calls import Spend
from core.text.catalogue import counted, forms, text
from core.types import Locale

_MONEY: Final = "#,##0.00##"


def number(value: float | Decimal, locale: Locale) -> str:
    """Return a number in the notation of the language."""
    from babel.numbers import format_decimal  # loaded by the first number, not by the start

    return format_decimal(value, locale=_tag(locale))


def money(dollars: float | Decimal, locale: Locale) -> str:
    """Return an amount of US dollars, with up to four places: one answer costs less than a cent."""
    from babel.numbers import format_decimal

    return f"US$ {format_decimal(dollars, _MONEY, locale=_tag(locale))}"


def clock_time(at: datetime, zone: ZoneInfo, locale: Locale) -> str:
    """Return a moment as a day and a clock time in the time zone, with its name."""
    from babel.dates import format_skeleton

    local, tag = at.astimezone(zone), _tag(locale)
    # The plain day and time: together babel knows them under no name. The hour counts to 24 in all three languages.
    day, time = format_skeleton("MMMd", local, locale=tag), format_skeleton("Hm", local, locale=tag)
    return f"{day}, {time} ({zone.key})"


def day_text(day: date, locale: Locale) -> str:
    """Return a day without its year."""
    from babel.dates import format_skeleton

    return format_skeleton("MMMd", day, locale=_tag(locale))


def spend_text(spend: Spend, locale: Locale) -> str:
    """Return messages, tokens and cost, such as "3 messages, 4,096 tokens, US$ 0.02"."""
    parts = [
        counted(MESSAGES, locale, spend.messages, number=number(spend.messages, locale)),
        counted(TOKENS, locale, spend.tokens, number=number(spend.tokens, locale)),
        cost_text(spend.cost_usd, spend.unpriced, locale),
    ]
    return ", ".join(parts)


def cost_text(cost_usd: float, unpriced: int, locale: Locale) -> str:
    """Return a cost: with a mark if a part of it is not known, and a word if nothing of it is."""
    if unpriced and not cost_usd:
        return UNKNOWN_COST[locale]
    return money(cost_usd, locale) + (" + ?" if unpriced else "")


def unpriced_note(calls: int, locale: Locale) -> list[str]:
    """Return a line that says of how many calls the cost is not known; none if there are no such calls."""
    return [counted(UNPRICED, locale, calls, number=number(calls, locale))] if calls else []


def _tag(locale: Locale) -> str:
    return locale.value.replace("-", "_")


TOKENS = forms("quotas.wording.tokens")
MESSAGES = forms("quotas.wording.messages")
UNKNOWN_COST = text("usage.unknown_cost")
UNPRICED = forms("usage.unpriced")
