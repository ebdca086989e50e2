"""Read the words for a time in Portuguese, English and Spanish.

The words of a text become letters (`core.times.tokens`); patterns over the letters find the parts of a time
(`core.times.scan`): a recurrence, a day, an hour, a duration, an end. `core.times.meaning` makes the time of them.
Words for times that no part took mean that the text was not understood.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from core.locales import TAGS
from core.times.meaning import Meaning
from core.times.reading import FoundTime, NotUnderstood, Time
from core.times.scan import Scan
from core.times.tokens import TIMELY, Tokens, table, tokens
from core.types import Locale

MAX_CHARS: Final = 1_000
_FOLDER: Final = Path(__file__).parent
_CODES: Final = tuple(code for tag in TAGS if (_FOLDER / f"{(code := tag.partition('-')[0])}.toml").is_file())


def find_time(text: str, now: datetime, locale: Locale, *, bare: bool = False) -> FoundTime | None:
    """Return the time that a text names; None if it names none, or in words that are not understood to the last.

    "dentist tomorrow at 8", read on a Sunday, is Once(Monday 08:00) at (8, 21). `now` is aware, in the person's zone;
    `locale` is the language that is tried first. `bare`: an amount of time alone counts from now on, as for a timer.
    Takes time linear in the text, of which the first 1,000 characters are read.
    """
    found = [read(tokens(text[:MAX_CHARS], code), now, bare=bare) for code in languages(locale)]
    # Another language may know fewer of the words, and so find a part of the time only.
    time, scan = max(found, key=lambda each: each[1].weight())
    return FoundTime(time, tuple(scan.spans())) if time is not None else None


def names_time(text: str, locale: Locale) -> bool:
    """Return whether words for times stand in a text of that language, understood or not."""
    return any(token.kind in TIMELY for token in tokens(text[:MAX_CHARS], languages(locale)[0]).items)


def read(words: Tokens, now: datetime, *, bare: bool = False) -> tuple[Time | None, Scan]:
    """Return the time that words mean, None if they are not understood, and its parts: see `find_time`."""
    scan = Scan(words, bare=bare)
    result: Time | None = None
    try:
        scan.run()
        if scan.used:
            result = Meaning(scan.parts, now, table(words.tag).hours).time()
    except (NotUnderstood, ValueError, OverflowError):
        pass
    return result, scan


def languages(locale: Locale) -> Sequence[str]:
    """Return the languages that are known, that of `locale` first."""
    own = locale.code
    return [*[code for code in _CODES if code == own], *[code for code in _CODES if code != own]]
