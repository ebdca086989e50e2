"""Find the parts of a time in a text of one language, from left to right."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from dateutil.relativedelta import relativedelta

from core.text.unicode import flat
from core.times.clocks import AMOUNT, LENGTH_S, SaidHour, amount, calendar, clock_at, of_day
from core.times.days import WHERE, day_at
from core.times.reading import TOLD_LAST, ClockTime, Day, NotUnderstood, Parts
from core.times.recurrences import is_unsure, rule_at
from core.times.rules import WEEKDAYS
from core.times.tokens import TIMELY, Tokens, number_of

_BESIDE: Final = re.compile(
    rf"(?:{WHERE}~*(?P<amount>{AMOUNT}|C)|[oie]{{0,2}}(?P<day>u)|[oie]{{0,2}}(?P<eve>))(?P<side>[bv])"
)  # "1 h before", "na véspera de"
_EVE: Final = re.compile(r"ves?pera|vispera|eve\b")
_UNTIL: Final = re.compile("U[oiat]{0,3}")  # "até", "until the"
_FROM: Final = re.compile("S[oiats]{0,3}")  # "a partir de", "starting on"
_LASTING: Final = re.compile("F[ox]{0,3}n?x?(?P<u>u)(?<!Fu)")  # "for the next two weeks"
_LASTS_WITH: Final = re.compile("[eDO]|F[ox]*nu")  # "every", "daily", "for two"
_WINDOW: Final = re.compile(  # "das 8 às 18h", "from 9am to 5pm"
    "(?:(?:[oaS]{0,2}(?P<first>C[AP]?|nc?[AP])|(?:S|o?a|o)(?P<bare>n))[atU]|l[oa]?(?P<between>C[AP]?|n[AP]?)&)"
    "o?a?(?P<last>C[AP]?|n[AP]|n)(?!u|o{0,2}M)"
)
_EXCEPT: Final = re.compile("y[oiat]{0,3}(?P<days>E|W(?:(?:[,&]|,&)[oia]{0,2}W){0,5})")  # "menos sábado e domingo"
_HOUR: Final = "(?:n|C)[AP]?c?"
_HOURS_LISTED: Final = re.compile(
    f"[oFsU]?a[oa]?(?P<hours>{_HOUR}(?:,(?:a[oa]?)?{_HOUR})+,?&(?:a[oa]?)?{_HOUR})(?!u|o{{0,2}}M)"
)
"""At least three hours: "at 8, 14 and 20", "às 8h30, 12h e 18h"."""

_PAIR_LISTED: Final = re.compile("[oFsU]?a(?P<hours>n&n)(?![uAPcoM])")  # "at 9 and 21", in English
_WINDOW_WITH: Final = re.compile("[eH]|nin")  # "every", "hourly"
_AHEAD: Final = re.compile(rf"[oat]?i~*(?P<amount>{AMOUNT}|C(?:&n(?![uAPc]))?)L?~?")  # "daqui a 20 minutos", "in 1h30"
_AGO: Final = re.compile(rf"g~*(?P<amount>{AMOUNT})g?|~*(?P<last>{AMOUNT})g")  # "há 2 dias", "an hour ago"
_LATER: Final = re.compile(rf"~*(?P<amount>{AMOUNT})L")  # "two hours from now"
_BARE: Final = re.compile(rf"[oatF]{{0,2}}~*(?P<amount>{AMOUNT}|C)")  # "timer for 10 minutes"
_PART: Final = re.compile("(?:[oaFsi]{0,2}e?(?P<part>p)(?!b)|[oa]?(?P<tonight>I))")  # "de manhã", "in the evening"
_LATE_PART: Final = re.compile("(?:[oaFsit]{0,2}e?(?P<part>p)(?!b)|[oa]?(?P<tonight>I))")  # "para la noche"

_LEFT_OVER: Final = re.compile(
    f"[{''.join(sorted(TIMELY))}]|(?<=a)[hq]n|b[oia]{{0,2}}(?:[dWTIMC]|n[APc]|(?<=a)n)|y[oia]{{0,2}}[dWTBEp]|xnu"
)
"""Words for times: "tomorrow at half 8" is not understood, nor "before friday"."""

_FILLER: Final = re.compile("[w,](?!&)|[aoitsx~,w]{4}")
"""Words that no part of a time begins with, for speed."""

_NOON, _HOURS = 12, 24

_SHORT: Final = 3
"""Abbreviated names of days and months are other words, too, where no number stands beside them: "out", "mar"."""

_OF: Final = frozenset({"da", "das", "do", "de", "del", "of", "from"})
_INFINITIVE: Final = re.compile(r"\w{2,}[aei]r(?:me|l[aeo])?")
_THAT: Final = frozenset({"que", "that", "pra", "me", "remind", "lembra", "avisa", "recuerdame", "avisame"})


class Scan:
    """The parts of a time in a text; `used` are the tokens that they took, as (start, end)."""

    def __init__(self, words: Tokens, *, bare: bool = False) -> None:
        """`bare`: an amount of time alone is one from now on, as for a timer. Raises NotUnderstood."""
        self.parts = Parts()
        self.used: list[tuple[int, int]] = []
        self._gone: list[tuple[tuple[int, int], Callable[[], None]]] = []  # what is past, and what stores it
        self._feast: tuple[tuple[int, int], Day] | None = None  # that a date behind it may have taken place on
        self._words = words
        self._kinds = words.kinds
        self._rules: Sequence[Callable[[int], int]] = (
            self._beside, self._except, self._until, self._starting, self._window, self._recurrence, self._lasting,
            self._ago, self._duration, *([self._bare_duration] if bare else []), self._day, self._clocks, self._clock,
            self._part, self._holidays,
        )  # fmt: skip

    def run(self) -> None:
        """Take the parts from left to right. Raises NotUnderstood for words of times that are left over."""
        at = 0
        while at < len(self._kinds):
            if stop := self._stop(at):
                self.used.append((at, stop))
            elif _LEFT_OVER.match(self._kinds, at) and not self._is_other_word(at):
                raise NotUnderstood
            at = stop or at + 1
        for span, store in self._gone:
            if self._is_past(span):
                store()
            else:
                self.used.remove(span)

    def spans(self) -> Sequence[tuple[int, int]]:
        """Return where the words of the parts stand in the text; spans that touch are one."""
        spans: list[tuple[int, int]] = []
        for start, stop in self.used:
            begin, end = self._words.items[start].start, self._words.items[stop - 1].end
            if spans and spans[-1][1] >= begin - 1:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((begin, end))
        return spans

    def weight(self) -> int:
        """Return how many letters of the text the language takes for words of times."""
        used = {at for start, stop in self.used for at in range(start, stop)}
        items = enumerate(self._words.items)
        return sum(token.end - token.start for at, token in items if token.kind in TIMELY or at in used)

    def _stop(self, at: int) -> int:
        if _FILLER.match(self._kinds, at):
            return 0
        return next((stop for rule in self._rules if (stop := rule(at))), 0)

    def _is_other_word(self, at: int) -> bool:
        """Whether a word of times that no part took is another word: an abbreviation, a month that is a name."""
        kind = self._kinds[at]
        if kind == "@":
            return False
        if (kind in "pb" and self.parts.clocks) or (kind == "V" and self.parts.days):
            return True
        is_name = kind == "M" and self._kinds[at - 1 : at] not in {"o", "i", "s", "x"}
        return is_name or self._is_of_deed(at) or len(self._words.written(self._words.items[at])) <= _SHORT

    def _is_past(self, span: tuple[int, int]) -> bool:
        """Whether a time that is past is the time meant, and no part of the deed: "send last week's report"."""
        start, stop = span
        is_of = self._words.written(self._words.items[start]) in _OF or self._words.following(stop).startswith("'s")
        others = [other for other in self.used if other != span]
        is_alone = not (self.parts.days or self.parts.rule or self.parts.is_ahead)
        return is_alone and not is_of and (not others or any(start in other or stop in other for other in others))

    def _is_of_deed(self, at: int) -> bool:
        """Whether an hour is a part of the deed, where another was said before: "before the 5 o'clock patient"."""
        written = {self._words.written(token) for token in self._words.items[max(at - 1, 0) : at + 1]}
        is_of = (
            bool(written & _OF) or self._kinds[at - 1 : at] in {"o", "b"} or self._kinds[max(at - 2, 0) : at] == "oa"
        )
        return bool(self.parts.clocks) and not self._is_joined(at) and is_of

    def _is_joined(self, at: int) -> bool:
        """Whether the words of another part end there."""
        return bool(self.used) and self.used[-1][1] == at

    # Each rule returns where its words end, and stores what they mean; 0 if they do not stand there.

    def _beside(self, at: int) -> int:
        found = _BESIDE.match(self._kinds, at)
        if not found or self.parts.event or (found["day"] and self._words.value(found.start("day")) != "day"):
            return 0
        begin = found.end()
        if found["eve"] is not None and not _EVE.match(flat(self._words.between(found.start("side"), begin))):
            return 0
        real, days = timedelta(), relativedelta(days=1)
        if found["amount"]:
            if (length := self._length(*found.span("amount"))) is None:
                return 0
            real, days = length
        if found["side"] == "b":
            real, days = -real, -days
        if moved := self._moved(begin, real, days.days):
            return moved
        stop = self._event_end(begin, has_hour=bool(real))
        if stop == begin and self._moved_back(real, days.days):
            return stop
        if self.parts.days or (self.parts.clocks and real):
            raise NotUnderstood
        self.parts.real, self.parts.calendar = real, days
        self.parts.event = self._words.between(begin, stop) if stop > begin else TOLD_LAST
        return stop

    def _moved(self, at: int, real: timedelta, days: int) -> int:
        """Take an hour or a day that is named there, moved: "10 minutes before 6pm", "the day before christmas"."""
        if not days and (said := clock_at(self._words, at, follows_day=False)):
            self.parts.shift = real
            self.parts.clocks.append(said.clock)
            return said.stop
        if days and not real and (named := day_at(self._words, at)) and self._kinds[named[0] :][:1] != "w":
            self.parts.days.append(replace(named[1], plus=days))
            return named[0]
        return 0

    def _moved_back(self, real: timedelta, days: int) -> bool:
        """Move what was named before: "the exam is on friday at 9, remind me the day before"."""
        if real and not days:
            self.parts.shift = real
            return True
        if days and not real and self.parts.days:
            last = self.parts.days[-1]
            self.parts.days[-1] = replace(last, plus=last.plus + days)
            return True
        return False

    def _event_end(self, at: int, *, has_hour: bool) -> int:
        """Return where the name of an event ends; an hour behind it is when on that day, if it has none of its own."""
        while at < len(self._kinds) and self._kinds[at] != "," and not self._begins_deed(at):
            if not has_hour and clock_at(self._words, at, follows_day=False):
                break
            at += 1
        return at

    def _begins_deed(self, at: int) -> bool:
        """Whether what is to be done begins there: "to take", "de pegar", "para salir"."""
        token, following = self._words.items[at], self._words.items[at + 1 : at + 2]
        if token.kind == "t" or (token.kind == "w" and token.value in _THAT):
            return True
        if self._words.tag == "en":  # "my brother's wedding"
            return token.value == "to"
        if token.kind == "o":
            return bool(following) and _INFINITIVE.fullmatch(following[0].value) is not None
        return self._kinds[max(at - 1, 0) : at + 1] == "ww" and _INFINITIVE.fullmatch(token.value) is not None

    def _until(self, at: int) -> int:
        found = _UNTIL.match(self._kinds, at)
        if not found:
            return 0
        if day := day_at(self._words, found.end()):
            self.parts.until = day[1]
            return day[0]
        hour = clock_at(self._words, at + 1, follows_day=True)  # "every half hour until 5 pm"
        if hour is None or hour.tonight or not {"e", "H"} & set(self._kinds):
            return 0
        self.parts.until_hour = hour.clock
        return hour.stop

    def _starting(self, at: int) -> int:
        found = _FROM.match(self._kinds, at)
        if not found or not (day := day_at(self._words, found.end())):
            return 0
        self.parts.start = day[1]
        return day[0]

    def _except(self, at: int) -> int:
        found, rule = _EXCEPT.match(self._kinds, at), self.parts.rule
        if not found or not rule:
            return 0
        if rule.keys() - {"FREQ", "BYDAY"} or rule["FREQ"] not in {"DAILY", "WEEKLY"}:
            raise NotUnderstood
        out = {"SA", "SU"} if found["days"] == "E" else {token.value for token in self._words.said(found, "W")}
        kept = [day for day in rule.get("BYDAY", ",".join(WEEKDAYS)).split(",") if day not in out]
        rule |= {"FREQ": "WEEKLY", "BYDAY": ",".join(kept)}
        return found.end()

    def _lasting(self, at: int) -> int:
        found = _LASTING.match(self._kinds, at)
        if not found or not (self.parts.rule or _LASTS_WITH.search(self._kinds)):
            return 0
        numbers, unit = self._words.said(found, "n"), self._words.value(found.start("u"))
        if unit in LENGTH_S:
            return 0
        self.parts.lasts = calendar(unit, number_of(numbers[0]) if numbers else 1)
        self.parts.rule.setdefault("FREQ", "DAILY")
        return found.end()

    def _window(self, at: int) -> int:
        found = _WINDOW.match(self._kinds, at)
        if not found or not _WINDOW_WITH.search(self._kinds):
            return 0
        begins = next(name for name in ("first", "bare", "between") if found[name])
        first, last = self._bound(*found.span(begins)), self._bound(*found.span("last"))
        if first is None or last is None:
            return 0
        self.parts.window = first, last
        return found.end()

    def _bound(self, start: int, stop: int) -> ClockTime | None:
        """Return the hour that bounds others, which may be a number alone."""
        if self._kinds[start:stop] == "n":
            hour = number_of(self._words.items[start])
            return ClockTime(hour, halves=hour < _NOON) if hour < _HOURS else None
        said = self._said(start)
        return said.clock if said is not None else None

    def _recurrence(self, at: int) -> int:
        if not (named := rule_at(self._words, at)):
            return 0
        found, rule = named
        if any(self.parts.rule.get(name, value) != value for name, value in rule.items()):
            raise NotUnderstood
        self.parts.is_rule_unsure = not self.parts.rule and is_unsure(self._words, found)
        self.parts.rule |= rule
        # "the first monday of the month" is said of one, and of every one.
        if "p" in found[0]:
            self.parts.part = self._words.value(found.end() - 1)
        return found.end()

    def _duration(self, at: int) -> int:
        return self._ahead(_AHEAD.match(self._kinds, at) or _LATER.match(self._kinds, at))

    def _ago(self, at: int) -> int:
        found = _AGO.match(self._kinds, at)
        if not found:
            return 0
        real, days = amount(self._words, *found.span("amount" if found["amount"] else "last"))

        def store() -> None:
            self.parts.real, self.parts.calendar, self.parts.is_ahead = -real, -days, True

        self._gone.append((found.span(), store))
        return found.end()

    def _bare_duration(self, at: int) -> int:
        return self._ahead(_BARE.match(self._kinds, at))

    def _ahead(self, found: re.Match[str] | None) -> int:
        if not found:
            return 0
        if (length := self._length(*found.span("amount"))) is None:
            return 0
        self.parts.real += length[0]
        self.parts.calendar += length[1]
        self.parts.is_ahead = True
        return found.end()

    def _length(self, start: int, stop: int) -> tuple[timedelta, relativedelta] | None:
        """Return the amount of time that tokens are; None for "8:30", which is an hour."""
        if self._kinds[start] != "C":
            return amount(self._words, start, stop)
        hours, is_amount, minutes = self._words.value(start).partition("h")
        if not is_amount or not hours.strip().isdecimal():
            return None
        more = number_of(self._words.items[stop - 1]) if stop - start > 1 else 0  # "1h e 15"
        return timedelta(hours=int(hours), minutes=int(re.sub(r"\D", "", minutes) or 0) + more), relativedelta()

    def _day(self, at: int) -> int:
        is_further = self._kinds[at] == "&" and bool(self.parts.days) and self._is_joined(at)
        named = day_at(self._words, at + 1 if is_further else at)
        if named is None or ("V" in self._kinds[at : named[0]] and self.parts.days):  # a feast may be the deed
            return 0
        stop, day = named
        self._leave_feast(at, day)
        if "V" in self._kinds[at:stop] and (
            self._kinds[at] == "V" or self._words.written(self._words.items[at]) in _OF
        ):
            self._feast = (at, stop), day
        if day.weeks < 0 and self.parts.rule.get("FREQ") == "MONTHLY":  # "every month on the last friday"
            day = Day(weekday=day.weekday, nth=-1)
        if day.weeks < 0 or (day.ahead or 0) < 0:
            self._gone.append(((at, stop), lambda: self.parts.days.append(day)))
        else:
            self.parts.days.append(day)
        return stop

    def _leave_feast(self, at: int, day: Day) -> None:
        """Leave a feast to the deed, where a day says when that is: "Christmas party on 15 December".

        A weekday right behind its name may be that of the feast: "Christmas, Friday".
        """
        if self._feast is None:
            return
        span, feast = self._feast
        is_apart = self._kinds[span[0]] != "V" or any(self._kinds[each] == "w" for each in range(span[1], at))
        if day.day > 0 or (day.ahead is not None and not day.whole) or (day.weekday and is_apart):
            self.used.remove(span)
            self.parts.days.remove(feast)
            self._feast = None

    def _holidays(self, at: int) -> int:
        """Take "exceto feriados"."""
        if self._kinds[at] != "R":
            return 0
        self.parts.has_holidays = True
        return at + 1

    def _clocks(self, at: int) -> int:
        """Take hours that are listed, of which each alone may be no hour."""
        found = _HOURS_LISTED.match(self._kinds, at)
        if found is None and self._words.tag == "en" and _WINDOW_WITH.search(self._kinds.replace("D", "e")):
            found = _PAIR_LISTED.match(self._kinds, at)
        if found is None:
            return 0
        clocks: list[ClockTime] = []
        for stop in range(found.start("hours"), found.end("hours")):
            if self._kinds[stop] not in "nC":
                continue
            half = {"A": "am", "P": "pm"}.get(self._kinds[stop + 1 : stop + 2], "")
            number = number_of(self._words.items[stop]) if self._kinds[stop] == "n" else 0
            if number > _HOURS:
                return 0
            said = None if self._kinds[stop] == "n" else clock_at(self._words, stop, follows_day=True)
            clocks.append(said.clock if said is not None else of_day(ClockTime(number), half))
        self.parts.has_apart |= bool(self.parts.clocks)
        self.parts.clocks += clocks
        return found.end()

    def _clock(self, at: int) -> int:
        is_further = self._kinds[at] in "&," and bool(self.parts.clocks) and self._is_joined(at)
        said = self._said(at + 1 if is_further else at)
        if said is None or self._is_of_deed(at):
            return 0
        if "U" in self._kinds[max(at - 1, 0) : at + 1] and _WINDOW_WITH.search(self._kinds):  # "every hour until 6pm"
            raise NotUnderstood
        self.parts.has_apart |= bool(self.parts.clocks) and not is_further
        self.parts.clocks.append(said.clock)
        return said.stop

    def _said(self, at: int) -> SaidHour | None:
        """Return the hour whose words begin at a token; "tonight" names the day, too."""
        follows_day = bool(self.used) and self.used[-1][1] >= at - 1 and self._kinds[at - 1] in "dW,Mp"
        leads_day = self._kinds[at : at + 1] == ":" and self._kinds[at + 1 : at + 2] in {"d", "W"}  # "7.30 tomorrow"
        said = clock_at(self._words, at, follows_day=follows_day or leads_day)
        if said is not None and said.tonight and not self.parts.days:
            self.parts.days.append(Day(ahead=0))
        return said

    def _part(self, at: int) -> int:
        found = (_PART if self.parts.clocks else _LATE_PART).match(self._kinds, at)
        # "the night shift" is a part of the deed, where the hour was said elsewhere.
        if not found or (found[0] == "p" and self.parts.clocks and not self._is_joined(at)):
            return 0
        part = "evening"
        if found["tonight"]:
            self.parts.days.append(Day(ahead=0))
        else:
            part = self._words.value(found.start("part"))
        if self.parts.part not in {"", part} and not self.parts.clocks:
            raise NotUnderstood
        self.parts.part = part
        return found.end()
