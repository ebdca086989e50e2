"""Days that are named from today on, written as dates: "tomorrow" is another day when it is read again."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from core.text.unicode import flat

_WEEKDAYS: Final = (
    ("monday", "segunda", "lunes"),
    ("tuesday", "terca", "martes"),
    ("wednesday", "quarta", "miercoles"),
    ("thursday", "quinta", "jueves"),
    ("friday", "sexta", "viernes"),
    ("saturday", "sabado", "sabado"),
    ("sunday", "domingo", "domingo"),
)
_WEEKDAY: Final = rf"(?:{'|'.join(sorted({name for names in _WEEKDAYS for name in names}))})(?:-feira)?"
_DAY: Final = re.compile(
    r"\b(?:(?P<after>depois de amanha|pasado manana|(?:the )?day after tomorrow)|"
    r"(?P<before>anteontem|anteayer|antes de ayer|(?:the )?day before yesterday)|"
    r"(?P<tomorrow>amanha|tomorrow|(?<!la )(?<!una )(?<!cada )(?<!esta )(?<!esa )manana)|"
    r"(?P<yesterday>ontem|ayer|yesterday)|(?P<today>hoje|hj|hoy|today|tonight)|"
    r"(?:in|em|en|daqui a|dentro de) (?P<count>\d{1,3}) (?:(?P<weeks>weeks?|semanas?)|days?|dias?)|"
    rf"(?:next|this|proxim[ao]|est[ae]) (?P<coming>{_WEEKDAY})(?! (?:vez|parte|etapa|fase|semana|edic|temporada))|"
    rf"(?P<that_comes>{_WEEKDAY}) que (?:vem|viene))\b"
    r"(?! ?\(\d{4}-)"
)
_DAYS: Final = {"after": 2, "tomorrow": 1, "today": 0, "yesterday": -1, "before": -2}


def dated(text: str, now: datetime) -> str:
    """Return the text with the date after each word that names a day from `now`: "tomorrow (2026-11-23)".

    "Next Friday" is the first one after today.
    """
    written, end = [], 0
    for found in _DAY.finditer(flat(text)):
        date = now.date() + timedelta(days=_days_ahead(found, now.weekday()))
        written += [text[end : found.end()], f" ({date.isoformat()})"]
        end = found.end()
    return "".join((*written, text[end:]))


def _days_ahead(found: re.Match[str], today: int) -> int:
    if found["count"]:
        return int(found["count"]) * (7 if found["weeks"] else 1)
    if name := found["coming"] or found["that_comes"]:
        name = name.removesuffix("-feira")
        weekday = next(number for number, names in enumerate(_WEEKDAYS) if name in names)
        return (weekday - today - 1) % 7 + 1
    return next(days for group, days in _DAYS.items() if found[group])
