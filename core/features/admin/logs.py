"""/admin logs: the last errors and warnings: when, where, what kind, how often. Nobody's words are in them."""

from __future__ import annotations

from datetime import UTC
from typing import Final

from core.commands.command import Request
from core.features.admin.machine import Trouble
from core.features.admin.verb import Verb
from core.text.catalogue import forms, text
from core.text.plural import counted
from core.types import Locale

USUAL, MOST = 10, 50
_MARKS: Final = {"WARNING": "⚠️", "ERROR": "❌", "CRITICAL": "❌"}


async def logs(request: Request, argument: str) -> None:
    """Show the last so many."""
    limit = min(max(int(argument), 1), MOST) if argument.isdecimal() and len(argument) <= len(str(MOST)) else USUAL
    troubles = request.context.machine.troubles.newest(limit)
    lines = [_line(trouble, request.locale) for trouble in troubles]
    await request.turn.tell("\n".join([TITLE[request.locale], *lines]) if lines else NONE[request.locale])


def _line(trouble: Trouble, locale: Locale) -> str:
    kind, place = (text.replace("`", "'") for text in (trouble.kind, trouble.place))
    often = f" · {counted(TIMES, locale, trouble.count)}" if trouble.count > 1 else ""
    at = f"{trouble.at.astimezone(UTC):%Y-%m-%d %H:%M}"
    return f"{_MARKS.get(trouble.level, '❌')} {at} · `{kind}` · `{place}`{often}"


TITLE = text("admin.logs.title")
NONE = text("admin.logs.none")
TIMES = forms("admin.logs.times")

LOGS = Verb(
    "logs",
    text("admin.commands.logs"),
    logs,
    " [N]",
)
