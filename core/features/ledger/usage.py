"""/usage: what a person has spent today and this month, and what is left to them. Knows one person's sums only."""

from __future__ import annotations

from collections.abc import Sequence

from core.commands.command import Command, Request
from core.features.ledger.calls import Scope, Spend
from core.features.quotas.quotas import Use
from core.features.quotas.wording import MESSAGES, PER, TOKENS, amount, clock_time, money, number
from core.text.catalogue import forms, text
from core.text.plural import counted
from core.types import Locale


async def usage(request: Request, _: str) -> None:
    """Show what the person spent, and how much of their limits is left."""
    quotas, locale = request.context.quotas, request.locale
    scope = Scope(request.incoming.user)
    day, month = await quotas.spent(scope)
    [holding] = await quotas.holding([scope], request.role)
    uses = await quotas.uses(holding)
    lines = [
        SPENT[locale].format(when=TODAY[locale], spend=spend_text(day.spend, locale)),
        SPENT[locale].format(when=THIS_MONTH[locale], spend=spend_text(month.spend, locale)),
        *unpriced_note(month.spend.unpriced, locale),
        "",
        *([LIMITS[locale], *(f"- {_left(use, request)}" for use in uses)] if uses else [NO_LIMITS[locale]]),
    ]
    await request.turn.tell("\n".join(lines))


def spend_text(spend: Spend, locale: Locale) -> str:
    """Return messages, tokens and cost, such as "3 messages, 4,096 tokens, US$ 0.02"."""
    parts = [
        counted(MESSAGES, locale, spend.messages, number=number(spend.messages, locale)),
        counted(TOKENS, locale, spend.tokens, number=number(spend.tokens, locale)),
        cost_text(spend.cost_usd, spend.unpriced, locale),
    ]
    return ", ".join(parts)


def cost_text(cost_usd: float, unpriced: int, locale: Locale) -> str:
    """Return what is known of a cost: never "nothing" where nothing is known."""
    if unpriced and not cost_usd:
        return UNKNOWN_COST[locale]
    return money(cost_usd, locale) + (" + ?" if unpriced else "")


def unpriced_note(calls: int, locale: Locale) -> list[str]:
    """Return a line that says of how many calls the cost is not known; nothing, where that is none."""
    return [counted(UNPRICED, locale, calls, number=number(calls, locale))] if calls else []


def use_text(uses: Sequence[Use], locale: Locale) -> str:
    """Return how much is used of each limit, on one line."""
    return ", ".join(
        USED[locale].format(
            percent=use.percent, amount=amount(use.limit, use.allowed, locale), per=PER[use.limit][locale]
        )
        for use in uses
    )


def _left(use: Use, request: Request) -> str:
    locale = request.locale
    used, left = use_text([use], locale), amount(use.limit, use.left, locale)
    if not use.period:
        return f"{used}; {LEFT[locale].format(left=left)}"
    when = clock_time(use.ends, request.context.quotas.zone, locale)
    return f"{used}; {LEFT_UNTIL[locale].format(left=left, when=when)}"


TODAY = text("usage.today")
THIS_MONTH = text("usage.this_month")
SPENT = text("usage.spent")
UNKNOWN_COST = text("usage.unknown_cost")
UNPRICED = forms("usage.unpriced")
LIMITS = text("usage.limits")
NO_LIMITS = text("usage.no_limits")
USED = text("usage.used")
LEFT = text("usage.left")
LEFT_UNTIL = text("usage.left_until")

USAGE = Command(
    "usage",
    text("commands.usage"),
    usage,
    in_private=True,
)
