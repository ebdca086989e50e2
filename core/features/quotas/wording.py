"""What people read of limits, in their language: amounts, times, refusals, notes. Does not know when it is said."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from core.features.quotas.limits import Limit
from core.features.quotas.quotas import Use
from core.text.plural import Counted, counted
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
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


TOKENS: Counted = {
    PT: {"one": "{number} token", "other": "{number} tokens"},
    EN: {"one": "{number} token", "other": "{number} tokens"},
    ES: {"one": "{number} token", "other": "{number} tokens"},
}
MESSAGES: Counted = {
    PT: {"one": "{number} mensagem", "other": "{number} mensagens"},
    EN: {"one": "{number} message", "other": "{number} messages"},
    ES: {"one": "{number} mensaje", "other": "{number} mensajes"},
}
_A_DAY: Localized = {PT: "por dia", EN: "a day", ES: "al día"}
_A_MONTH: Localized = {PT: "por mês", EN: "a month", ES: "al mes"}
PER: dict[Limit, Localized] = {
    Limit.MESSAGES_MINUTE: {PT: "por minuto", EN: "a minute", ES: "por minuto"},
    Limit.TOKENS_DAY: _A_DAY,
    Limit.TOKENS_MONTH: _A_MONTH,
    Limit.COST_DAY: _A_DAY,
    Limit.COST_MONTH: _A_MONTH,
}
_YOURS: Localized = {
    PT: "o seu limite de {amount} {per}",
    EN: "your limit of {amount} {per}",
    ES: "tu límite de {amount} {per}",
}
_THE_ROOMS: Localized = {
    PT: "o limite desta sala, de {amount} {per},",
    EN: "the limit of this room, {amount} {per},",
    ES: "el límite de esta sala, de {amount} {per},",
}
_THE_BOTS: Localized = {
    PT: "o meu limite para todos, de {amount} {per},",
    EN: "my limit for everybody, {amount} {per},",
    ES: "mi límite para todos, de {amount} {per},",
}
FULL: Localized = {
    PT: "Por agora é tudo, desculpe: {limit} chegou ao fim. Volto a responder a partir de {when}; comandos como "
    "/memories e /usage continuam funcionando.",
    EN: "That is all for now, I am sorry: {limit} is used up. I answer again from {when} on; commands such as "
    "/memories and /usage go on working.",
    ES: "Por ahora es todo, lo siento: {limit} se agotó. Vuelvo a responder a partir de {when}; los comandos como "
    "/memories y /usage siguen funcionando.",
}
BUSY: Localized = {
    PT: "Um momento: {limit} pode acabar com as respostas em andamento. Pergunte de novo daqui a pouco.",
    EN: "One moment: {limit} may be used up by the answers that I am working on. Please ask again in a little while.",
    ES: "Un momento: {limit} puede agotarse con las respuestas en curso. Pregunta de nuevo en un rato.",
}
ZERO: Localized = {
    PT: "Não posso responder: {limit} não deixa nada. Só um dono do bot pode mudar isso.",
    EN: "I cannot answer: {limit} leaves nothing. Only an owner of the bot can change that.",
    ES: "No puedo responder: {limit} no deja nada. Solo un dueño del bot puede cambiarlo.",
}
TOO_FAST: Counted = {
    PT: {
        "one": "Mais devagar, por favor: {limit} foi atingido. Tente de novo em {count} segundo.",
        "other": "Mais devagar, por favor: {limit} foi atingido. Tente de novo em {count} segundos.",
    },
    EN: {
        "one": "More slowly, please: {limit} is reached. Try again in {count} second.",
        "other": "More slowly, please: {limit} is reached. Try again in {count} seconds.",
    },
    ES: {
        "one": "Más despacio, por favor: {limit} se alcanzó. Inténtalo de nuevo en {count} segundo.",
        "other": "Más despacio, por favor: {limit} se alcanzó. Inténtalo de nuevo en {count} segundos.",
    },
}
NOTE: Localized = {
    PT: "Aviso: {limit} já está {percent} % usado. Recomeça em {when}. Veja /usage.",
    EN: "A note: {limit} is {percent} % used. It begins anew at {when}. See /usage.",
    ES: "Aviso: {limit} ya está usado al {percent} %. Vuelve a empezar el {when}. Mira /usage.",
}
NOTICE: Localized = {
    PT: "Cota: `{name}` usou {percent} % de {amount} {per}. Recomeça em {when}. Para ver ou mudar: /admin quota {name}",
    EN: "Quota: `{name}` has used {percent} % of {amount} {per}. It begins anew at {when}. To see or change it: "
    "/admin quota {name}",
    ES: "Cuota: `{name}` ha usado el {percent} % de {amount} {per}. Vuelve a empezar el {when}. Para verla o "
    "cambiarla: /admin quota {name}",
}
