"""The figures of /admin status: what is being answered, what went wrong, what was spent, how large the data is.

Knows how they are told. Does not know how any of them is measured.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from core.commands.command import Request
from core.features.ledger.calls import BOT
from core.text.catalogue import forms, text
from core.text.plural import counted

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


QUEUE = text("admin.figures.queue")
ERRORS = forms("admin.figures.errors")
SPEND = text("admin.figures.spend")
UNPRICED = forms("admin.figures.unpriced")
DATA = text("admin.figures.data")
VERSION = text("admin.figures.version")
