"""Days that are named from today on, written as dates: "tomorrow" is another day when it is read again."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from core.unicode import flat

_DAY: Final = re.compile(
    r"\b(?:(?P<after>depois de amanha|pasado manana|(?:the )?day after tomorrow)|"
    r"(?P<before>anteontem|anteayer|antes de ayer|(?:the )?day before yesterday)|"
    r"(?P<tomorrow>amanha|tomorrow|(?<!la )(?<!una )(?<!cada )(?<!esta )(?<!esa )manana)|"
    r"(?P<yesterday>ontem|ayer|yesterday)|(?P<today>hoje|hj|hoy|today|tonight))\b"
    r"(?! ?\(\d{4}-)"
)
_DAYS: Final = {"after": 2, "tomorrow": 1, "today": 0, "yesterday": -1, "before": -2}


def dated(text: str, now: datetime) -> str:
    """Return the text with the date after each word that names a day from `now`: "tomorrow (2026-11-23)"."""
    written, end = [], 0
    for found in _DAY.finditer(flat(text)):
        date = now.date() + timedelta(days=_DAYS[found.lastgroup or "today"])
        written += [text[end : found.end()], f" ({date.isoformat()})"]
        end = found.end()
    return "".join((*written, text[end:]))
