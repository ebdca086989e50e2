"""Read a person's message as a request for a reminder, by the word tables of `request.toml`.

What to remind of are the person's own words, without those of the request and of the time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from core.features.reminders.mentions import only_replies
from core.features.reminders.telling import Wish
from core.text.language import choose
from core.text.replies import Doing, means_no, means_yes, numbered
from core.text.unicode import flat
from core.text.words import WORD, word_tables
from core.times.grammar import MAX_CHARS, find_time, names_time
from core.times.reading import (
    TOLD_LAST,
    Beside,
    ClockTime,
    FoundTime,
    Once,
    Past,
    Recurrence,
    Time,
    Unclear,
)
from core.types import Incoming, Locale

EDGES: Final = " \t\n,.;:!?-–—"
_MAX_POLITE: Final = 6
_NOON: Final = 12
_FIRST_HOUR: Final = 7
"""The first hour that is rather before noon where it may be either."""

_AND: Final = re.compile(
    r"\s*,\s*(?:(?:e|and|y)\s+)?(?:(?:also|tambem|tambien)\s+)?|\s+(?:e|and|y)\s+(?:(?:also|tambem|tambien)\s+)?"
)
_NEAR_CHARS: Final = 4
"""How far from the beginning of a clause its time begins: behind "a", "no", "para"."""

_MAX_REST_CHARS: Final = 12

_WORDS: Final = Path(__file__).with_name("request.toml")
_FORMS: Final = {
    "before": rf"[\s¿¡{re.escape(EDGES)}]*(?:(?:{{}})(?!\w)[\s{re.escape(EDGES)}¿¡]*)?",
    "after": r"(?:^|[\s,.!?]+)(?:{})[\W_]*$",
    "others": r"(?<!\w)(?:{})\s+$",
    **dict.fromkeys(("ask", "question", "named", "wake", "timer", "briefing", "task", "that_day"), WORD),
}


@dataclass(frozen=True, slots=True)
class ReminderRequest:
    """A request for a reminder: what to remind of, and the time that it names (None: none).

    `when` are the words for the time; `briefing`: it asks to be told what the day has in store.
    """

    text: str
    found: FoundTime | None = None
    when: str = ""
    briefing: bool = False


@dataclass(frozen=True, slots=True)
class RequestWords:
    """The patterns of one language, and what is said where a request names no deed."""

    locale: Locale
    before: re.Pattern[str]
    after: re.Pattern[str]
    ask: re.Pattern[str]
    question: re.Pattern[str]
    joint: re.Pattern[str]
    named: re.Pattern[str]
    others: re.Pattern[str]
    wake: re.Pattern[str]
    timer: re.Pattern[str]
    deed: re.Pattern[str]
    task: re.Pattern[str]
    that_day: re.Pattern[str]
    briefing: re.Pattern[str]
    woken: str
    timed: str


@dataclass(frozen=True, slots=True)
class _RequestSpan:
    """Where a request stands in a text, and what it is where it names no deed."""

    start: int
    end: int
    deed: str = ""
    is_timer: bool = False
    needs_time: bool = False


def read_request(message: str, now: datetime, locale: Locale) -> ReminderRequest | None:
    """Return the request that a message makes; None if it asks for no reminder.

    `now` is in the person's zone. The first 1,000 characters are read; what is to be reminded of may be longer.
    """
    text = flat(message[:MAX_CHARS])
    tables = sorted(request_words(), key=lambda words: words.locale.code != locale.code)
    for words in tables:
        if (asked := _asked(words, message, text)) is not None:
            return _read(words, message, asked, now, locale)
    return None


def read_requests(message: str, now: datetime, locale: Locale) -> Sequence[ReminderRequest]:
    """Return the requests that a message makes, each with its own time; () if it asks for no reminder.

    "Remind me at 9 to call Ana and on friday at 5 to pay" makes two; an hour without a day is on the day before it.
    """
    text = flat(message[:MAX_CHARS])
    for words in sorted(request_words(), key=lambda each: each.locale.code != locale.code):
        if (asked := _asked(words, message, text)) is None:
            continue
        for joint in _AND.finditer(text, asked.end):
            first = _read(words, message[: joint.start()], asked, now, locale)
            if first is None or first.found is None or not first.text:
                continue
            rest = _following(words, message[joint.end() :], first.found, now, locale)
            if rest and (rest[0].text != TOLD_LAST or first.text == TOLD_LAST):  # else it is when, and of the first
                return (first, *rest)
        whole = _read(words, message, asked, now, locale)
        return () if whole is None else (whole,)
    return ()


def _following(
    words: RequestWords, message: str, before: FoundTime, now: datetime, locale: Locale
) -> Sequence[ReminderRequest]:
    """Return the requests of a text that goes on behind one: it begins with a time, and names a deed; else ()."""
    for joint in (*_AND.finditer(flat(message)), None):
        head = message if joint is None else message[: joint.start()]
        own = read_request(head, now, locale)
        found = find_time(head, now, locale) if own is None else own.found
        if found is None or (own is None and found.spans[0][0] > _NEAR_CHARS):
            continue
        time = _on_day_of(before.time, found.time)
        what = own.text if own is not None else deed(words, head, found.spans)
        what = what or (TOLD_LAST if isinstance(found.time, Beside) else "")
        is_deed = has_hour(time) or words.deed.match(flat(found.without(head))) is not None
        if not what or not (own is not None or is_deed):
            continue
        request = ReminderRequest(what, replace(found, time=time), " ".join(head[slice(*each)] for each in found.spans))
        if joint is None:
            return (request,)
        rest = _following(words, message[joint.end() :], request.found or found, now, locale)
        if rest and (rest[0].text != TOLD_LAST or what == TOLD_LAST):
            return (request, *rest)
    return ()


def has_hour(time: Time) -> bool:
    """Return whether a time names an hour; one beside an event does."""
    times = time.options if isinstance(time, Unclear) else (time,)
    return all(each.has_hour if isinstance(each, Once | Recurrence) else True for each in times)


def _on_day_of(before: Time, time: Time) -> Time:
    """Return a time on the day of the one before, if it names none: "tomorrow at 9 …, and at 11 …"."""
    if not isinstance(before, Once) or not before.has_day:
        return time
    day = before.at.date()

    def on_day(each: Once | Recurrence) -> Once | Recurrence:
        is_hour = isinstance(each, Once) and not each.has_day
        return Once(datetime.combine(day, each.at.timetz())) if is_hour and isinstance(each, Once) else each

    if isinstance(time, Unclear):
        return replace(time, options=tuple(map(on_day, time.options)))
    return on_day(time) if isinstance(time, Once) else time


def _asked(words: RequestWords, message: str, text: str) -> _RequestSpan | None:
    """Return the request in a text, unless it is a question about something known."""
    begin = _after_polite(words, text)
    for pattern, deed, is_timer in ((words.timer, words.timed, True), (words.wake, words.woken, False)):
        if found := pattern.match(text, begin) or pattern.search(text):
            is_last = len(text[found.end() :].strip(EDGES)) <= _MAX_REST_CHARS
            if found.start() == begin or is_last or text[: found.start()].rstrip(" ").endswith(tuple(EDGES)):
                return _RequestSpan(found.start(), found.end(), deed, is_timer, needs_time=True)
    if (briefing := words.briefing.search(text)) is not None:
        return _RequestSpan(briefing.start(), briefing.end(), needs_time=True)
    if (found := words.ask.search(text)) and not words.others.search(text[: found.start()]):
        # An accent tells what is asked in Spanish from "that".
        rests = (each[found.end() :].lstrip(EDGES) for each in (text, message[:MAX_CHARS].lower()))
        return None if any(map(words.question.match, rests)) else _RequestSpan(found.start(), found.end())
    if (found := words.named.match(text, begin)) and found.end() < len(text):
        return _RequestSpan(found.start(), found.end(), needs_time=text[found.end()] != ":")
    return None


def _read(
    words: RequestWords, message: str, asked: _RequestSpan, now: datetime, locale: Locale
) -> ReminderRequest | None:
    head, tail = message[:MAX_CHARS], message[MAX_CHARS:]
    polite = min(_after_polite(words, flat(head)), asked.start)  # "good morning" names no time
    masked = f"{',' * polite}{head[polite : asked.start]}{',' * (asked.end - asked.start)}{head[asked.end :]}"
    is_briefing = words.briefing.fullmatch(flat(head[asked.start : asked.end])) is not None
    found = find_time(masked, now, locale, bare=asked.is_timer)
    rest = flat(head[asked.end :]).lstrip(EDGES)
    told = None if is_briefing else _of_told(words, head[polite : asked.start], head[asked.end :], now, locale)
    if told is not None:
        return ReminderRequest(told[0], FoundTime(((polite, len(head)),), told[1]), head[polite:])
    if found is None and (asked.needs_time or not (_names_deed(words, rest, masked) or _names_task(words, rest))):
        return None
    if is_briefing and found is not None and isinstance(found.time, Once) and not found.time.has_hour:
        return None  # "remind me what I have to do tomorrow" is a question
    spans = found.spans if found is not None else ()
    when = " ".join(head[start:end] for start, end in spans)
    what = deed(words, head, sorted([(asked.start, asked.end), *spans])) + tail
    event = found.time.event if found is not None and isinstance(found.time, Beside) else ""
    return ReminderRequest("" if is_briefing else what.strip() or asked.deed or event, found, when, is_briefing)


def _of_told(words: RequestWords, told: str, behind: str, now: datetime, locale: Locale) -> tuple[str, Time] | None:
    """Return what a request is about that says only when, behind what it is of, and when that is; None for another.

    "The exam is on friday at 9, remind me the day before" is about the exam; "that day at 4" with nothing before it is
    on the day of what was told last.
    """
    on_that_day = words.that_day.search(flat(behind))
    rest = behind if on_that_day is None else f"{behind[: on_that_day.start()]} {behind[on_that_day.end() :]}"
    own, event = find_time(rest, now, locale), find_time(told, now, locale)
    if own is None or isinstance(own.time, Recurrence):
        return None
    what, left = bare(words, told, is_first=True), deed(words, rest, own.spans)
    if event is not None and what and not left and not isinstance(event.time, Beside):
        time = _beside(event.time, own.time, now)
        return None if time is None else (what, time)
    if on_that_day is None or event is not None or not left:
        return None
    hour = own.time.options[0] if isinstance(own.time, Unclear) else own.time
    if not isinstance(hour, Once) or hour.has_day:
        return None
    clock = (
        ClockTime(hour.at.hour % _NOON or _NOON, hour.at.minute, halves=True)
        if isinstance(own.time, Unclear)
        else (ClockTime(hour.at.hour, hour.at.minute))
    )
    return " ".join(filter(None, (what, left))), Beside(timedelta(), TOLD_LAST, clock)


def _beside(event: Time, own: Time, now: datetime) -> Time | None:
    """Return the time that is named by an event's: so long before it, at an hour of its day, or one of its own."""
    event = event.options[0] if isinstance(event, Unclear) and event.options else event
    if isinstance(own, Beside):
        if own.event != TOLD_LAST or not isinstance(event, Once) or not event.has_hour:
            return None
        at = (event.at.astimezone(UTC) + own.offset).astimezone(event.at.tzinfo)
        at = at if own.hour is None else at.replace(hour=own.hour.hour, minute=own.hour.minute)
        return Once(at) if at > now else Past(at)
    hours = own.options if isinstance(own, Unclear) else (own,)
    if not isinstance(event, Once | Recurrence) or not all(
        isinstance(each, Once) and not each.has_day for each in hours
    ):
        return own
    first = event.first if isinstance(event, Recurrence) else event.at
    if isinstance(event, Recurrence) and "BYHOUR" in event.rule:
        return None
    walls = [first.replace(hour=each.at.hour, minute=each.at.minute) for each in hours if isinstance(each, Once)]
    sooner = [each for each in walls if each < first] if first.hour >= _FIRST_HOUR else []
    times = [
        Recurrence(event.rule, each) if isinstance(event, Recurrence) else Once(each)
        for each in ([max(sooner)] if sooner else walls)
    ]
    return times[0] if len(times) == 1 else Unclear(tuple(times))


def _names_deed(words: RequestWords, rest: str, masked: str) -> bool:
    """Whether a request without a time names a deed, and not just something that is known: "me lembra a senha"."""
    if words.deed.match(rest):
        return not masked.rstrip().endswith("?") or not rest.startswith(("of ", "do ", "da "))
    return not rest.strip(EDGES)


def _names_task(words: RequestWords, rest: str) -> bool:
    """Whether a request names what to do behind words for a time that were not understood: "até sexta de pagar"."""
    return not rest.endswith("?") and words.task.search(rest) is not None and names_time(rest, words.locale)


def deed(words: RequestWords, text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return the text without the spans, nor the words that join them, nor polite ones around it."""
    pieces, end = [], 0
    for start, stop in spans:
        pieces.append(text[end:start])
        end = max(end, stop)
    pieces.append(text[end:])
    kept = [bare(words, piece, is_first=number == 0) for number, piece in enumerate(pieces)]
    return " ".join(filter(None, kept))


def bare(words: RequestWords, piece: str, *, is_first: bool) -> str:
    """Return a piece of the text without joints and polite words at its edges."""
    piece = piece.strip(EDGES)
    for _ in range(_MAX_POLITE):
        low = flat(piece)
        found = words.before.match(low) if is_first else words.joint.match(f"{low} ")
        if not found or not found.end():
            break
        piece = piece[found.end() :].strip(EDGES)
    for _ in range(_MAX_POLITE):
        found = words.after.search(flat(piece))
        if not found:
            break
        piece = piece[: found.start()].rstrip(EDGES)
    return piece


def _after_polite(words: RequestWords, text: str) -> int:
    """Return where a text begins behind greetings and the like."""
    at = 0
    for _ in range(_MAX_POLITE):
        found = words.before.match(text, at)
        if not found or not found.end() > at:
            break
        at = found.end()
    return at


@cache
def request_words() -> tuple[RequestWords, ...]:
    """Return the patterns of each language."""
    return word_tables(_WORDS, RequestWords, _FORMS)


@dataclass(frozen=True, slots=True)
class Removal:
    """The reminders of which one is to be deleted, as the person was shown them."""

    reminder_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Clearing:
    """All the reminders of a place, which are to be deleted if the person agrees."""

    reminder_ids: tuple[str, ...]


Question: TypeAlias = Wish | Removal | Clearing
QUESTIONS: Final = (Wish, Removal, Clearing)


def reply(code: str, asked: Question, incoming: Incoming) -> str:
    """Return the command that the message stands for as a reply to that question; "" if it is none."""
    text = incoming.text
    if isinstance(asked, Clearing):
        is_agreed = means_yes(text, Doing.DELETE)
        return f"/reminders clear {code}" if is_agreed else f"/reminders keep {code}" if means_no(text) else ""
    if isinstance(asked, Removal):
        chosen = numbered(text, len(asked.reminder_ids)) or ()
        return f"/reminders delete {asked.reminder_ids[chosen[0]]}" if len(chosen) == 1 else ""
    if means_no(text) or _names_time(asked, incoming):
        return f"/remind at {code} {text}"
    chosen = numbered(text, len(asked.options)) or ()
    if means_yes(text) and not asked.options:
        return f"/remind at {code}"
    if means_yes(text) and len(asked.options) == 1:
        chosen = (0,)
    return f"/remind pick {code} {chosen[0] + 1}" if len(chosen) == 1 else ""


def _names_time(asked: Wish, incoming: Incoming) -> bool:
    """Return whether a message says little more than a time."""
    zone = ZoneInfo(asked.options[0].zone if asked.options else "UTC")
    now: datetime = incoming.at.astimezone(zone)
    locale = choose(incoming.text, incoming.language)
    if incoming.text.rstrip().endswith("?") or read_request(incoming.text, now, locale) is not None:
        return False
    found = find_time(incoming.text, now, locale)
    return found is not None and only_replies(found.without(incoming.text))
