"""/usage: what a person has spent today and this month, and what is left to them. Knows one person's sums only."""

from __future__ import annotations

from collections.abc import Sequence

from core.commands.command import Command, Request
from core.features.ledger.calls import Scope, Spend
from core.features.quotas.quotas import Use
from core.features.quotas.wording import MESSAGES, PER, TOKENS, amount, clock_time, money, number
from core.text.plural import Counted, counted
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES


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


TODAY: Localized = {PT: "Hoje", EN: "Today", ES: "Hoy"}
THIS_MONTH: Localized = {PT: "Este mês", EN: "This month", ES: "Este mes"}
SPENT: Localized = {PT: "**{when}:** {spend}", EN: "**{when}:** {spend}", ES: "**{when}:** {spend}"}
UNKNOWN_COST: Localized = {PT: "custo desconhecido", EN: "cost unknown", ES: "costo desconocido"}
UNPRICED: Counted = {
    PT: {
        "one": "De {number} chamada não se sabe o preço: ela conta em tokens, não em dinheiro.",
        "other": "De {number} chamadas não se sabe o preço: elas contam em tokens, não em dinheiro.",
    },
    EN: {
        "one": "Of {number} call the price is not known: it counts in tokens, not in money.",
        "other": "Of {number} calls the price is not known: they count in tokens, not in money.",
    },
    ES: {
        "one": "De {number} llamada no se sabe el precio: cuenta en tokens, no en dinero.",
        "other": "De {number} llamadas no se sabe el precio: cuentan en tokens, no en dinero.",
    },
}
LIMITS: Localized = {PT: "Seus limites:", EN: "Your limits:", ES: "Tus límites:"}
NO_LIMITS: Localized = {
    PT: "Você não tem limites próprios; o bot inteiro pode ter.",
    EN: "You have no limits of your own; the whole bot may have some.",
    ES: "No tienes límites propios; el bot entero puede tenerlos.",
}
USED: Localized = {
    PT: "{percent} % de {amount} {per}",
    EN: "{percent} % of {amount} {per}",
    ES: "{percent} % de {amount} {per}",
}
LEFT: Localized = {PT: "restam {left}", EN: "{left} left", ES: "quedan {left}"}
LEFT_UNTIL: Localized = {
    PT: "restam {left}, recomeça em {when}",
    EN: "{left} left, begins anew at {when}",
    ES: "quedan {left}, vuelve a empezar el {when}",
}

USAGE = Command(
    "usage",
    {
        PT: "quanto você usou, e o que resta",
        EN: "what you used, and what is left",
        ES: "cuánto usaste, y qué te queda",
    },
    usage,
    in_private=True,
)
