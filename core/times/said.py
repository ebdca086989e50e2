"""Read times as data: the time that a question names, the day that a fact means, and until when it is true.

A text is read in the person's language, or in the one that it seems to be in; the first 1,000 characters count, in time
linear in them. Moments to read at are aware, in the person's zone.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final

from core.locales import head
from core.ports import TimeReader
from core.text.language import detect
from core.text.unicode import flat
from core.text.words import FUNCTION_WORDS
from core.times.clocks import LENGTH_S, calendar, clock_at
from core.times.grammar import MAX_CHARS, languages, read
from core.times.reading import ClockTime, Day, NotUnderstood, Once, Parts, Past, Time, Unclear
from core.times.scan import Scan
from core.times.stretches import FIRST, LAST, Stretch, Stretches, names_any
from core.times.tokens import Tokens, number_of, table, tokens
from core.types import AskedTime, Locale, Span

_DAY: Final = timedelta(days=1)
_NOON: Final = 12
_LAST_YEAR: Final = 2200
_MOST: Final = 100
"""Of units ahead; more are a number of something else."""
_PLACE: Final = re.compile(
    r"\b(?:rua|r\.|av\.?|avenida|travessa|praca|alameda|calle|plaza|paseo|street|avenue) (?:d[aeo]l? )?$"
)
"""What stands before a date that is a name: "Rua Sete de Abril 80"."""

_NUMBERED: Final = re.compile(
    r"[a-z]? (?:[\w'’.]+ ){1,3}(?:street|road|avenue|lane|drive|court|square|boulevard|close|st|rd|ave|ln|dr|blvd)\b"
)
"""What stands behind the number of a house in English: "at 12 Green Street"."""

_SHORT: Final = 3
"""Abbreviated names of days are other words, too, where no number stands beside them."""

_JOINT: Final = re.compile(r"[.,;:!?\n()–—]|\b(?:mas|but|pero|que|that)\b")
_UNTIL: Final = re.compile("U[oiat]{0,3}")
_OF: Final = frozenset({"of", "de", "del", "do"})
_LASTING: Final = re.compile("[ox]{0,2}(?:(?P<n>n)x?)?(?P<u>u)")  # "two weeks", "a month"
_FOR_NEXT: Final = re.compile("[oFai]{1,3}(?:x(?P<n>n)|(?P<m>n)x)(?P<u>u)")  # "for the next two weeks"


def asked(text: str, now: datetime, locale: Locale, *, ahead: bool = False) -> AskedTime | None:
    """Return the time that a question names; None if it names none.

    "What did I tell you last week?" asks for what was said then; "what do I have on friday?" is about that day.
    `ahead`: it is known to ask for what is to come, whatever its verb.
    """
    words = _words(text, locale)
    if not names_any(words):
        return None
    cues, said = table(words.tag).cues, flat(words.text)
    is_past = not ahead and bool(cues["told"].search(said) or cues["past"].search(said))
    stretch = Stretches(words, now.replace(tzinfo=None), back=is_past).first()
    if stretch is None or stretch.end <= stretch.begin:  # "10 at 3 april" is no time
        return None
    told = cues["told"].search(said) if cues["asks"].search(said) else None
    topic = cues["about"].search(said, told.end()) if told else None
    if topic and stretch.is_open and said[topic.end() : words.items[stretch.at].start].strip():
        # "About the meeting on friday": the day is the meeting's.
        stretch, told = Stretches(words, now.replace(tzinfo=None), back=False).first() or stretch, None
    is_said = told is not None and stretch.begin < now.replace(tzinfo=None)
    end = _midnight(now + _DAY) if is_said and stretch.end == LAST else stretch.end
    begins, ends = words.items[stretch.at].start, words.items[stretch.stop - 1].end
    return AskedTime(
        Span(_aware(stretch.begin, now), _aware(end, now)),
        is_said,
        first=stretch.begin.date(),
        last=(end - timedelta(microseconds=1)).date(),
        locale=locale,
        rest=" ".join(f"{words.text[:begins]} {words.text[ends:]}".split()),
        alone=_is_alone(words, stretch),
    )


def _is_alone(words: Tokens, stretch: Stretch) -> bool:
    """Whether a question names nothing but a time: "o que eu tenho na sexta?", "what did I tell you yesterday?"."""
    others = (
        token for at, token in enumerate(words.items) if token.kind == "w" and not stretch.at <= at < stretch.stop
    )
    cues, said = table(words.tag).cues, flat(words.text)
    told = {at for found in cues["told"].finditer(said) for at in range(*found.span())}
    return all(
        token.value in FUNCTION_WORDS or token.start in told or cues["agenda"].fullmatch(token.value)
        for token in others
    )


def meant(text: str, at: datetime, locale: Locale) -> str:
    """Return the day, or the minute, that the words of a fact mean: "2026-11-23", "2026-12-12T14:00"; or "".

    "Amanhã tenho prova", said on a Sunday, means the Monday. What comes again, what is not understood to the last, and
    whole weeks, months and years mean no day. `at` is when it was said.
    """
    words = _words(text, locale)
    time, scan = read(words, at)
    instant = None if time is None else _instant(time)
    if instant is None or not _names_day(words, scan) or _comes_again(words, scan.parts):
        return ""
    if _is_past(words, scan.spans()[0]):
        if instant > at and scan.parts.is_ahead:  # "I haven't smoked in 6 weeks"
            return ""
        if not {"t", "F"} & set(_used(words, scan)) and scan.parts.days and _is_open(scan.parts.days[0]):
            last = Stretches(words, at.replace(tzinfo=None), back=True).first()
            instant = instant if last is None else datetime.combine(last.begin, instant.timetz())
    has_minute = bool(scan.parts.clocks or scan.parts.real) and not isinstance(time, Unclear)
    return f"{instant:%Y-%m-%dT%H:%M}" if has_minute else f"{instant:%Y-%m-%d}"


def until(text: str, at: datetime, locale: Locale) -> datetime | None:
    """Return when a fact stops being true by its own words, in UTC; None if they tell of no end, or of one before `at`.

    "Until friday the code is 4411" ends with that friday, "parking spot today is B12" with the day. Deadlines, opening
    hours and appointments are no end. `at` is when it was said.
    """
    words, now = _words(text, locale), at.replace(tzinfo=None)
    if table(words.tag).cues["deed"].search(flat(words.text)) or is_yearly(words.text):
        return None
    stretches = Stretches(words, now, back=False)
    end = _end_named(words, stretches, now)
    if end is None and not _is_past(words):
        end = _end_of_state(words, stretches, now)
    return _aware(end, at) if end is not None and end > now else None


def lasting(text: str, at: datetime, locale: Locale) -> tuple[datetime, int] | None:
    """Return the end of the day until which the days, weeks or months last that a text begins with: "two weeks".

    With it comes where their words end; None if it begins with none. The end is in the zone of `at`.
    """
    words = tokens(text[:MAX_CHARS], languages(locale)[0])
    found = _LASTING.match(words.kinds)
    if found is None or words.items[0].start > 1:
        return None
    unit, count = words.value(found.start("u")), number_of(words.items[found.start("n")]) if found["n"] else 1
    if unit in LENGTH_S or not 0 < count <= _MOST:
        return None
    end = _midnight(at.replace(tzinfo=None) + calendar(unit, count) + _DAY)
    return _aware(end, at).astimezone(at.tzinfo), words.items[found.end() - 1].end


def is_yearly(text: str) -> bool:
    """Return whether a text is about what comes again each year without saying so, as a birthday does."""
    return _yearly().search(flat(text)) is not None


@cache
def _yearly() -> re.Pattern[str]:
    """Return the pattern of words for it in all languages."""
    return re.compile(rf"\b(?:{'|'.join(word for locale in Locale for word in head(locale).get('yearly', ()))})\b")


def _words(text: str, locale: Locale) -> Tokens:
    """Return the words of a text in the person's language, or in the one it seems to be in, if that knows more."""
    codes = dict.fromkeys(languages(each)[0] for each in (locale, detect(text) or locale))
    return max((tokens(text[:MAX_CHARS], code) for code in codes), key=_known)


def _known(words: Tokens) -> int:
    """Return how many letters of a text its language takes for words of times."""
    return sum(token.end - token.start for token in words.items if token.kind not in "w,")


# --- the day that a fact means ---


def _instant(time: Time) -> datetime | None:
    """Return the instant of a time; of several on one day, any."""
    match time:
        case Once(at=at, has_day=True) | Past(at=at):
            return at
        case Unclear(options=options):
            instants = [each.at for each in options if isinstance(each, Once) and each.has_day]
            is_one = len(instants) == len(options) and len({at.date() for at in instants}) == 1
            return instants[0] if is_one else None
    return None


def _names_day(words: Tokens, scan: Scan) -> bool:
    """Whether the words for a time name one day, and no stretch of several, nor perhaps another word."""
    parts, used = scan.parts, _used(words, scan)
    if parts.rule or parts.window or parts.until or parts.start or parts.lasts or parts.shift or "V" in used:
        return False
    if not parts.days:
        return parts.is_ahead and not (parts.calendar.months or parts.calendar.years)
    names = [words.written(token) for token in words.items if token.kind == "W"]
    is_word = not set(used) & set("nrCTx") and any(len(name) <= _SHORT for name in names)  # "dom", "sun"
    is_place = is_of_place(words.text, (scan.spans()[0][0], scan.spans()[-1][1]))
    is_share = words.text[scan.spans()[-1][1] :].startswith(("%", "€", "$"))  # "el 15%"
    is_whole = any(day.whole or (day.nth and not day.month) or day.year > _LAST_YEAR for day in parts.days)
    stretch = Stretches(words, datetime(2026, 1, 1), back=False).first()  # noqa: DTZ001  # any day will do
    is_range = stretch is not None and stretch.end - stretch.begin > _DAY
    return not (is_word or is_place or is_share or is_whole or is_range)


def is_of_place(text: str, span: tuple[int, int]) -> bool:
    """Return whether what stands there in a text is of an address: "Rua Sete de Abril", "at 12 Green Street"."""
    start, end = span
    return _PLACE.search(flat(text[:start])) is not None or _NUMBERED.match(flat(text[end:])) is not None


def _used(words: Tokens, scan: Scan) -> str:
    """Return the kinds of the words that the time is made of."""
    return "".join(words.kinds[start:stop] for start, stop in scan.used)


def _is_open(day: Day) -> bool:
    """Whether a day may be before or after now."""
    return day.ahead is None and not day.year and day.weeks >= 0


def _is_past(words: Tokens, span: tuple[int, int] | None = None) -> bool:
    """Whether a sentence tells of what has been; with a span of the text, the clause in which that stands."""
    cues, said = table(words.tag).cues, flat(words.text)
    if span is not None:
        before = [found.end() for found in _JOINT.finditer(said, 0, span[0])]
        after = _JOINT.search(said, span[1])
        said = said[before[-1] if before else 0 : after.start() if after else len(said)]
    return cues["past"].search(said) is not None and cues["ahead"].search(said) is None


def _comes_again(words: Tokens, parts: Parts) -> bool:
    """Whether a day comes again without saying so: a birthday, the day of the rent, the weekday of a class."""
    cues, said = table(words.tag).cues, flat(words.text)
    is_monthly = any(day.day > 0 and not (day.month or day.months or day.weekday) for day in parts.days)
    is_weekly = any(day.weekday and not (day.day or day.weeks or day.nth) for day in parts.days)
    if (is_monthly and cues["dues"].search(said)) or (is_weekly and cues["habit"].search(said)):
        return True
    is_party = any(day.weekday and not day.month for day in parts.days)  # of a birthday: it is on friday but once
    return is_yearly(words.text) and not is_party


# --- until when a fact is true ---


def _end_named(words: Tokens, stretches: Stretches, now: datetime) -> datetime | None:
    """Return the end that "until" names. An hour alone is one of every day, and "até hoje" no end."""
    for found in _UNTIL.finditer(words.kinds):
        begins = range(found.start() + 1, found.end() + 1)
        day = next((day for at in begins if (day := stretches.at(at))), None)
        if day is None:
            hour = _clock(words, found.start() + 1)
            named = (stretches.at(at) for at in range(len(words.kinds)))
            if hour is not None and any(each and _is_today(each, now) for each in named):
                return _at_clock(now, hour)
            continue
        hour = _clock(words, day.stop)
        if hour is not None or not _is_today(day, now):
            return day.end if hour is None else _at_clock(day.begin, hour)
    return None


def _end_of_state(words: Tokens, stretches: Stretches, now: datetime) -> datetime | None:
    """Return the end of the stretch in which something is so: "this week I am on call", "hoje a vaga é a 12"."""
    cues, said = table(words.tag).cues, flat(words.text)
    is_state = cues["state"].search(words.text.casefold()) is not None
    if is_state and (found := _FOR_NEXT.search(words.kinds)):
        return _after(words, found, now)
    named = stretches.first()
    if named is None or named.begin == FIRST or named.end == LAST or named.end <= now:
        return None
    tokens_of = words.items[named.at : named.stop]
    if any(token.kind in "k+" or (token.kind == "r" and token.value == "-1") for token in tokens_of):
        return None  # "the last 3 days"
    if named.is_month and words.kinds[named.at : named.at + 2] == "oM" and _is_of(words, named.at):
        return None  # "the receipt of March"
    if named.end - named.begin > _DAY:  # what is true of a month to come may be true again
        return named.end if named.begin <= now or (is_state and not named.is_month) else None
    is_else = cues["ahead"].search(said) or cues["lasting"].search(said) or {"C", ":"} & set(words.kinds)
    return named.end if is_state and _is_today(named, now) and not is_else else None


def _is_of(words: Tokens, at: int) -> bool:
    """Whether what a month is said of stands before it: "the receipt of", and not "until the end of"."""
    return (
        at > 0 and "U" not in words.kinds[:at] and words.kinds[at - 1] == "w" and words.written(words.items[at]) in _OF
    )


def _is_today(stretch: Stretch, now: datetime) -> bool:
    return stretch.begin.date() == now.date() and stretch.end - stretch.begin <= _DAY and not stretch.is_open


def _clock(words: Tokens, at: int) -> ClockTime | None:
    """Return the hour whose words begin at a token; None if none does."""
    try:
        said = clock_at(words, at, follows_day=True)
    except NotUnderstood:
        return None
    return said.clock if said is not None else None


def _at_clock(day: datetime, clock: ClockTime) -> datetime:
    """Return that hour of a day; of two that it may be, the later."""
    late = _NOON if clock.halves and clock.hour < _NOON else 0
    return _midnight(day) + timedelta(hours=clock.hour + late, minutes=clock.minute)


def _after(words: Tokens, found: re.Match[str], now: datetime) -> datetime | None:
    """Return the end of the day that lies an amount of days, weeks or months ahead."""
    unit, count = words.value(found.start("u")), number_of(words.items[found.start("n" if found["n"] else "m")])
    if unit in LENGTH_S or count > _MOST:
        return None
    return _midnight(now + calendar(unit, count) + _DAY)


def _midnight(wall: datetime) -> datetime:
    return datetime.combine(wall, datetime.min.time())


def _aware(wall: datetime, now: datetime) -> datetime:
    """Return the instant, in UTC, of a time on the wall where `now` is; the moment after a gap of the clocks."""
    return wall.replace(tzinfo=now.tzinfo).astimezone(UTC)


class TimeWords(TimeReader):
    """The engine's port to the times that people name, in Portuguese, English and Spanish."""

    asked = staticmethod(asked)
    meant = staticmethod(meant)
    until = staticmethod(until)
