"""The figures of /admin status: what is being answered, what went wrong, what was spent, how large the data is.

Knows how they are told. Does not know how any of them is measured.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from core.commands.command import Request
from core.features.ledger.calls import BOT
from core.text.plural import Counted, counted
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
_A_DAY: Final = timedelta(days=1)
_MEBIBYTE: Final = 1024 * 1024


async def figures(request: Request) -> list[str]:
    """Return the figures, one a line."""
    context, locale, machine = request.context, request.locale, request.context.machine
    elsewhere = sum(conversation != request.incoming.conversation for conversation in request.running)
    today, _ = await context.quotas.spent(BOT)
    spend = today.spend
    lines = [
        QUEUE[locale].format(running=elsewhere, waiting=max(request.others - elsewhere, 0)),
        counted(ERRORS, locale, machine.troubles.errors_since(context.clock.now() - _A_DAY)),
        SPEND[locale].format(messages=spend.messages, tokens=spend.tokens, cost=f"{spend.cost_usd:.4f}"),
        DATA[locale].format(mebibytes=f"{machine.database_bytes() / _MEBIBYTE:.1f}"),
        VERSION[locale].format(version=machine.version),
    ]
    if spend.unpriced:
        lines[2] += f" {counted(UNPRICED, locale, spend.unpriced)}"
    return lines


QUEUE: Localized = {
    PT: "Respostas em andamento: {running}; na fila: {waiting}",
    EN: "Answers under way: {running}; waiting: {waiting}",
    ES: "Respuestas en curso: {running}; en espera: {waiting}",
}
ERRORS: Counted = {
    PT: {"one": "{count} erro nas últimas 24 h (/admin logs)", "other": "{count} erros nas últimas 24 h (/admin logs)"},
    EN: {
        "one": "{count} error in the last 24 h (/admin logs)",
        "other": "{count} errors in the last 24 h (/admin logs)",
    },
    ES: {
        "one": "{count} error en las últimas 24 h (/admin logs)",
        "other": "{count} errores en las últimas 24 h (/admin logs)",
    },
}
SPEND: Localized = {
    PT: "Hoje: mensagens {messages}, tokens {tokens}, US$ {cost}",
    EN: "Today: messages {messages}, tokens {tokens}, US$ {cost}",
    ES: "Hoy: mensajes {messages}, tokens {tokens}, US$ {cost}",
}
UNPRICED: Counted = {
    PT: {"one": "(mais {count} chamada sem preço conhecido)", "other": "(mais {count} chamadas sem preço conhecido)"},
    EN: {"one": "(and {count} call without a known price)", "other": "(and {count} calls without a known price)"},
    ES: {"one": "(y {count} llamada sin precio conocido)", "other": "(y {count} llamadas sin precio conocido)"},
}
DATA: Localized = {
    PT: "Banco de dados: {mebibytes} MB",
    EN: "Database: {mebibytes} MB",
    ES: "Base de datos: {mebibytes} MB",
}
VERSION: Localized = {PT: "Versão: {version}", EN: "Version: {version}", ES: "Versión: {version}"}
