"""Steer reminders in words: put one off, move it, skip it, correct the last; say who is reminded.

"Move call home to 10am" says nothing of reminders: it steers one only if its words name exactly one that is set. What
names none is left to whatever else reads the message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from functools import cache, partial
from itertools import dropwhile
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from core.answering.turn import Heard, Turn
from core.features.preferences.timezone import local_now
from core.features.reminders.reminders import OPEN, REMINDER_SET, Days, Kind, Reminder
from core.features.reminders.service import Refusal, Reminders
from core.features.reminders.telling import (
    REMOVED,
    ReminderNotice,
    Wish,
    as_schedule,
    place_of,
    refused,
    settle_time,
    told,
    with_named_buttons,
)
from core.outgoing import Button
from core.text.catalogue import text
from core.text.clauses import clauses, without
from core.text.markdown import quoted
from core.text.unicode import flat
from core.text.words import FUNCTION_WORDS, POLITE, WORD, folded_words, same, word_tables
from core.times import rules
from core.times.grammar import find_amount, find_time
from core.times.reading import Found, FoundTime, Once, Recurrence, Time, Unclear
from core.times.said import asked
from core.types import Locale

_WORDS: Final = Path(__file__).with_name("steering.toml")
_MAX_CHARS: Final = 200
_LATELY: Final = timedelta(hours=1)
"""How long after it was said "snooze it" means a reminder."""

_MAX_NAMED: Final = 5
"""Of memories that may have the words of a reminder."""

_MAX_STEERED: Final = 6
"""Words that may name a reminder; more tell something else."""

_SEVERAL: Final = 2
_HALVES: Final = (range(4, 12), range(12, 19), range(18, 24))
"""The hours of a morning, an afternoon, and an evening."""

_ONES: Final = frozenset({"one", "uno", "una"})
_FIGURE: Final = re.compile(r"(?<![\d:])([01]?\d|2[0-3])(?::([0-5]\d))?(?![\d:])")


@dataclass(frozen=True, slots=True)
class _SteeringWords:
    """The patterns of one language: see `steering.toml`."""

    locale: Locale
    polite: re.Pattern[str]
    called: re.Pattern[str]
    snooze: re.Pattern[str]
    move: re.Pattern[str]
    skip: re.Pattern[str]
    spare: re.Pattern[str]
    drop: re.Pattern[str]
    spent: re.Pattern[str]
    target: re.Pattern[str]
    halves: tuple[re.Pattern[str], ...]
    next: re.Pattern[str]
    filler: re.Pattern[str]
    at: str
    last: re.Pattern[str]
    last_end: re.Pattern[str]
    reason: re.Pattern[str]
    remind: re.Pattern[str]
    people: re.Pattern[str]
    deed: re.Pattern[str]
    infinitive: str

    def begin(self, said: str) -> int:
        """Return where a text begins behind polite words."""
        found = self.polite.match(said)
        return found.end() if found else 0


async def steered(turn: Turn, reminders: Reminders) -> Heard | None:
    """Do to a reminder what the message asks for, and return what the person is told; None if it asks for nothing."""
    message = turn.asked.text.strip()
    if not message or len(message) > _MAX_CHARS or turn.asked.quotes:
        return None
    own = turn.person.locale
    for begin, end in clauses(message):
        clause = message[begin:end]
        is_whole = len(clause) == len(message)
        for words in sorted(_tables(), key=lambda each: each.locale is not own):
            # So short a sentence may be taken for one of another language than that of its verb.
            turn.person.locale = own if turn.person.language else words.locale
            for steer in (
                _at_hour,
                _postponed,
                _moved,
                _skipped,
                _dropped,
                *((_corrected, _of_others) if is_whole else ()),
            ):
                if (answer := await steer(turn, reminders, words, clause)) is not None:
                    rest = without(message, begin, end)
                    rest = "" if words.reason.match(flat(rest)) else rest
                    if rest and answer.reminder is not None:
                        answer = with_named_buttons(answer, answer.reminder.text)
                    return Heard(answer.text, answer.choices, is_all=True, rest=rest)
    turn.person.locale = own
    return None


# --- one that is named ------------------------------------------------------------------------------------------------


async def _postponed(turn: Turn, reminders: Reminders, words: _SteeringWords, message: str) -> ReminderNotice | None:
    """Put the next time of a reminder off, by an amount or to a time: "snooze the trash for a day"."""
    if (begin := _begun(words, words.snooze, message)) is None:
        return None
    (now, _), rest = local_now(turn), message[begin:]
    amount, time = find_amount(rest, words.locale), find_time(rest, now, words.locale)
    found: Found | None = amount or time
    if found is None:
        return None
    named = await _one(turn, reminders, words, found.without(rest), said_lately=True)
    if named is None and words.called.search(flat(message)):
        return ReminderNotice(NONE[turn.person.locale].format(words=quoted(_bare(words, found.without(rest)))))
    if named is None:
        return None
    # What was just said is put off from now on.
    due = now if named.due is None or _said_lately(named, now) else max(named.due, now)
    if amount is not None:
        until = amount.after(due.astimezone(now.tzinfo))
    elif time is not None and isinstance(time.time, Once):
        until = time.time.at
    else:
        return None
    return _told(turn, reminders, await reminders.postpone(place_of(turn), named.id, until))


async def _moved(turn: Turn, reminders: Reminders, words: _SteeringWords, message: str) -> ReminderNotice | None:
    """Give a reminder another time: "move call home to 10am"."""
    if (begin := _begun(words, words.move, message)) is None:
        return None
    (now, _), rest = local_now(turn), message[begin:]
    rest = " ".join(word for word in rest.split() if flat(word) not in _ONES)  # "the fence one 5:30"
    found = find_time(rest, now, words.locale)
    if found is None:
        return None
    said = found.without(rest)
    named = await (
        _one(turn, reminders, words, said) if _telling(words, said) else _of_day(turn, reminders, found.time)
    )
    if named is None:
        return None
    wish = Wish(named.text, kind=named.kind, reminder_id=named.id)
    return await settle_time(turn, reminders, wish, found.time)


async def _of_day(turn: Turn, reminders: Reminders, at: Time) -> Reminder | None:
    """Return the one reminder of the day that is given another hour: "friday's to 7pm"; None if there is not one."""
    if not isinstance(at, Once) or not (at.has_day and at.has_hour):
        return None
    (now, _), due = local_now(turn), list[Reminder]()
    for each in await reminders.of(place_of(turn)):
        if each.kind is Kind.REMINDER and each.due is not None and _is_same_day(each.due, at.at, now):
            due.append(each)
    return due[0] if len(due) == 1 else None


def _is_same_day(one: datetime, other: datetime, now: datetime) -> bool:
    return one.astimezone(now.tzinfo).date() == other.astimezone(now.tzinfo).date()


async def _at_hour(turn: Turn, reminders: Reminders, words: _SteeringWords, message: str) -> ReminderNotice | None:
    """Give one of the hours of a reminder another, if the words name it by that: "push the 6 one to 6:10"."""
    begin = next((at for verb in (words.move, words.snooze) if (at := _begun(words, verb, message)) is not None), None)
    if begin is None:
        return None
    (now, _), rest = local_now(turn), message[begin:]
    for target in reversed(list(words.target.finditer(flat(rest)))):
        found = find_time(rest[target.start() :], now, words.locale)
        named = None if found is None else await _named(turn, reminders, words, rest[: target.start()])
        if found is None or named is None or named.at is None or _telling(words, found.without(rest[target.start() :])):
            continue
        schedule, options = named.reminder.schedule, _at_hours(found)
        if len(named.hours) < _SEVERAL or not options:
            wish = Wish(named.reminder.text, kind=named.reminder.kind, reminder_id=named.reminder.id)
            return await settle_time(turn, reminders, wish, found.time)
        old = named.at
        new = min(options, key=lambda each: abs(_minutes(each) - _minutes(old)))
        rule = rules.at_times(schedule.rule, {*named.hours, new} - {named.at})
        return await _ruled(turn, reminders, named.reminder, rule)
    return None


async def _dropped(turn: Turn, reminders: Reminders, words: _SteeringWords, message: str) -> ReminderNotice | None:
    """Delete a reminder, or one of its hours, that is named by its hour, or said to be needed no more.

    One that is named by its words alone is deleted where no memory has them: else that may be meant.
    """
    now, _ = local_now(turn)
    days = asked(message, now, words.locale, ahead=True)
    rest = message if days is None else days.rest
    if (spent := words.spent.search(flat(rest))) is not None:
        named = await _named(turn, reminders, words, f"{rest[: spent.start()]} {rest[spent.end() :]}")
        then = None if days is None else Days(days.first, days.last).ahead(now.date())
        if named is not None and then is not None and named.reminder.schedule.rule:  # "not needed today"
            return _told(turn, reminders, await reminders.skip(place_of(turn), named.reminder.id, now, then))
    elif (begin := _begun(words, words.drop, message)) is not None:
        said = message[begin:]
        named = await _named(turn, reminders, words, said)
        if named is not None and named.at is None and await _is_remembered(turn, _telling(words, said)):
            named = None
    else:
        return None
    if named is None:
        return None
    if named.at is not None and len(named.hours) >= _SEVERAL:
        rule = rules.at_times(named.reminder.schedule.rule, {*named.hours} - {named.at})
        return await _ruled(turn, reminders, named.reminder, rule)
    return _told(turn, reminders, await reminders.remove(place_of(turn), named.reminder.id))


async def _ruled(turn: Turn, reminders: Reminders, reminder: Reminder, rule: str) -> ReminderNotice:
    """Give a reminder another rule, from its next instant on."""
    (now, _), schedule = local_now(turn), reminder.schedule
    first = schedule.wall.replace(tzinfo=ZoneInfo(schedule.zone))
    first = min(first, datetime.combine(first.date(), time(*min(rules.read(rule).times)), first.tzinfo))
    due = rules.next_after(first.replace(tzinfo=None), schedule.zone, rule, now)
    if due is None:
        return _told(turn, reminders, await reminders.remove(place_of(turn), reminder.id))
    return _told(turn, reminders, await reminders.reschedule(place_of(turn), reminder.id, Recurrence(rule, first)))


async def _skipped(turn: Turn, reminders: Reminders, words: _SteeringWords, message: str) -> ReminderNotice | None:
    """Leave out the times of some days, or the next: "skip the trash next week"."""
    said = flat(message)
    if not (words.skip.search(said) or words.spare.search(said)):  # the rest takes a moment
        return None
    now, _ = local_now(turn)
    days = asked(message, now, words.locale, ahead=True)
    rest = message if days is None else days.rest
    is_spared = False
    if (begin := _begun(words, words.skip, rest)) is None:
        begin, is_spared = _begun(words, words.spare, rest), True
    if begin is None or (is_spared and days is None):
        return None
    days = days or asked(turn.asked.text, now, words.locale, ahead=True)  # "no class this thursday, skip …"
    named_by = rest[begin:]
    is_next = words.next.search(flat(named_by)) is not None
    if is_next:
        named_by = words.next.sub(" ", flat(named_by))
    named = await _one(turn, reminders, words, named_by)
    if named is None or named.due is None:
        return None
    local = named.due.astimezone(now.tzinfo).date()
    wanted = Days.of(local) if days is None or is_next else Days(days.first, days.last).ahead(now.date())
    if wanted is None:
        return None
    changed = await reminders.skip(place_of(turn), named.id, now, wanted)
    return _told(turn, reminders, changed)


def _told(turn: Turn, reminders: Reminders, changed: Reminder | Refusal) -> ReminderNotice:
    if isinstance(changed, Refusal):
        return refused(turn, reminders, changed)
    sentence = STEERED if changed.state in OPEN else REMOVED
    return told(turn, changed, sentence, can_undo=bool(reminders.undo_within))


def _begun(words: _SteeringWords, pattern: re.Pattern[str], message: str) -> int | None:
    """Return where a message goes on behind words that begin it."""
    said = flat(message)
    found = pattern.match(said, words.begin(said))
    return found.end() if found else None


@dataclass(frozen=True, slots=True)
class _Named:
    """A reminder that words name, all its hours, and the one of them that they name (None: none)."""

    reminder: Reminder
    hours: tuple[tuple[int, int], ...]
    at: tuple[int, int] | None = None


async def _one(
    turn: Turn, reminders: Reminders, words: _SteeringWords, said: str, *, said_lately: bool = False
) -> Reminder | None:
    """Return the one reminder that words name; None if they name none, or several."""
    named = await _named(turn, reminders, words, said, said_lately=said_lately)
    return None if named is None else named.reminder


async def _named(
    turn: Turn, reminders: Reminders, words: _SteeringWords, said: str, *, said_lately: bool = False
) -> _Named | None:
    """Return the one reminder that has all the words which tell something, and is due at the hour that they name.

    None if they name none, or several. Where nothing is said, it is the one that was said just now, if that may be
    meant.
    """
    now, _ = local_now(turn)
    place = place_of(turn)
    found = [each for each in await reminders.of(place) if each.kind is Kind.REMINDER]
    lately = await reminders.said_since(place, now - _LATELY) if said_lately else []
    telling = _telling(words, said)
    if not telling:
        return _Named(lately[0], ()) if len(lately) == 1 else None
    if len(telling) > _MAX_STEERED:
        return None
    every = {each.id: each for each in (*found, *lately)}.values()
    fitting = [_Named(each, _hours_of(each)) for each in every if _has_all(each.text, telling)]
    if not fitting:
        rest, is_meant = _hour_named(words, said, now)
        telling = _telling(words, rest)
        meant = ((each, _hours_of(each)) for each in every if is_meant is not None and _has_all(each.text, telling))
        fitting = [_Named(each, hours, at) for each, hours in meant for at in hours if is_meant and is_meant(at)]
    return fitting[0] if len(fitting) == 1 else None


def _telling(words: _SteeringWords, said: str) -> list[str]:
    """Return the words that may name a reminder."""
    own = (word for word in folded_words(said) if word not in FUNCTION_WORDS)
    return [word for word in own if not words.filler.fullmatch(word)]


def _has_all(text: str, telling: Sequence[str]) -> bool:
    return all(any(same(word, own) for own in folded_words(text)) for word in telling)


async def _is_remembered(turn: Turn, telling: Sequence[str]) -> bool:
    """Return whether a memory has the words that name a reminder."""
    hits = await turn.memory.find(" ".join(telling), limit=_MAX_NAMED) if telling else ()
    return not telling or any(_has_all(hit.item.content, telling) for hit in hits)


def _hours_of(reminder: Reminder) -> tuple[tuple[int, int], ...]:
    """Return the hours and minutes at which a reminder is due."""
    schedule = reminder.schedule
    own = rules.read(schedule.rule).times if schedule.rule else ()
    return own or ((schedule.wall.hour, schedule.wall.minute),)


def _hour_named(
    words: _SteeringWords, said: str, now: datetime
) -> tuple[str, Callable[[tuple[int, int]], bool] | None]:
    """Return words without the hour, or the part of the day, that they name, and whether an hour is meant by that."""
    plain = flat(said)
    for half, pattern in zip(_HALVES, words.halves, strict=True):
        if (part := pattern.search(plain)) is not None:
            return f"{said[: part.start()]} {said[part.end() :]}", partial(_is_within, half)
    said = " ".join(word for word in said.split() if flat(word) not in _ONES)
    found = find_time(said, now, words.locale)
    if found is not None and (hours := _at_hours(found)):
        return found.without(said), hours.__contains__
    if (figure := _FIGURE.search(said)) is not None:
        hour, minute = int(figure[1]), int(figure[2] or 0)
        return f"{said[: figure.start()]} {said[figure.end() :]}", {(hour, minute), (hour + 12, minute)}.__contains__
    return said, None


def _is_within(half: range, at: tuple[int, int]) -> bool:
    return at[0] in half


def _at_hours(found: FoundTime) -> set[tuple[int, int]]:
    """Return the hours that a time may mean; none for one that names a day as well, or no hour."""
    times = found.time.options if isinstance(found.time, Unclear) else (found.time,)
    at = [each.at for each in times if isinstance(each, Once) and each.has_hour and not each.has_day]
    return {(each.hour, each.minute) for each in at}


def _minutes(at: tuple[int, int]) -> int:
    return at[0] * 60 + at[1]


def _bare(words: _SteeringWords, said: str) -> str:
    """Return what names a reminder without the words at its edges that say nothing."""
    pieces = said.split()
    while pieces and words.filler.fullmatch(flat(pieces[0])):
        del pieces[0]
    while pieces and words.filler.fullmatch(flat(pieces[-1])):
        del pieces[-1]
    return " ".join(pieces) or said


def _said_lately(reminder: Reminder, now: datetime) -> bool:
    return reminder.sent_at is not None and now - reminder.sent_at <= _LATELY


# --- the last one -----------------------------------------------------------------------------------------------------


async def _corrected(turn: Turn, reminders: Reminders, words: _SteeringWords, message: str) -> ReminderNotice | None:
    """Give the reminder that was set last another time: "actually make that an hour"."""
    if (begin := _begun(words, words.last, message)) is None:
        return None
    (now, _), rest = local_now(turn), message[begin:]
    if _FIGURE.match(rest.strip()):  # "make it 10"
        rest = f"{words.at} {rest}"
    amount, time = find_amount(rest, words.locale), find_time(rest, now, words.locale)
    found: Found | None = time or amount
    if found is None or words.last_end.sub(" ", flat(found.without(rest))).strip(" .,!?"):
        return None
    last = await reminders.newest_change(place_of(turn))
    other = await turn.memory.last_change()
    if last is None or last.state not in OPEN or last.kind is not Kind.REMINDER:
        return None
    if other is not None and last.changed_at is not None and other.at > last.changed_at:
        return None  # what was said last is a memory
    wish = Wish(last.text, kind=last.kind, reminder_id=last.id)
    if time is None and amount is not None:
        return await settle_time(turn, reminders, wish, Once(amount.after(now)))
    return await settle_time(turn, reminders, wish, None if time is None else time.time)


# --- somebody else's --------------------------------------------------------------------------------------------------


async def _of_others(turn: Turn, reminders: Reminders, words: _SteeringWords, message: str) -> ReminderNotice | None:
    """Say that who asks is reminded and nobody else, and offer that: "lembra a Ana de trazer o bolo".

    In a room where owners let reminders be said it is offered, too, to say it there, to her by her name.
    """
    said = flat(message)
    found = words.remind.match(said, _after_space(said, words.begin(said)))
    if found is None or not reminders.limits.most or REMINDER_SET in turn.services.off:
        return None
    name = message[found.start("who") : found.end("who")].split()
    is_person = name[-1][:1].isupper() or words.people.fullmatch(flat(name[-1])) is not None
    now, locale = local_now(turn)[0], turn.person.locale
    rest = message[found.end() :]
    time = find_time(rest, now, words.locale)
    what = (rest if time is None else time.without(rest)).strip(" ?!.")
    if not is_person or words.deed.match(f" {flat(what)} ") is None:
        return None
    deed = f"{words.infinitive.format(verb=found['verb'])} {' '.join(name)} {what}"
    plain = time.time if time is not None and isinstance(time.time, Once | Recurrence) else None
    options = () if plain is None else (as_schedule(plain),)
    place = place_of(turn)
    is_heard = not place.private and not await reminders.is_off(place.chat)
    wish = Wish(deed, options, aloud=f"{_called(name)}: {_BEFORE_A_DEED.sub('', what)}" if is_heard else "")
    code = await turn.services.confirmations.ask(turn.conversation.thread.conversation, wish)
    command = f"/remind pick {code} 1" if options else f"/remind at {code}"
    aloud = (Button(ALOUD[locale], f"/remind aloud {code}", in_place=True),) if is_heard else ()
    buttons = (Button(ONESELF[locale], command, in_place=True), *aloud)
    return ReminderNotice(ONLY_WHO_ASKS[locale].format(text=quoted(deed)), buttons, asks=True)


_BEFORE_A_DEED: Final = re.compile(r"^(?:de|to|pra|para) ", re.IGNORECASE)
_BEFORE_A_NAME: Final = frozenset("a o ao aos as os al la el los las pra pro para the".split())


def _called(name: Sequence[str]) -> str:
    """Return how somebody is spoken to: "Ana" of "a Ana"."""
    return " ".join(dropwhile(lambda word: flat(word) in _BEFORE_A_NAME, name))


def _after_space(said: str, begin: int) -> int:
    return begin + len(said[begin:]) - len(said[begin:].lstrip(" ,"))


@cache
def _tables() -> Sequence[_SteeringWords]:
    return word_tables(
        _WORDS,
        _SteeringWords,
        {"polite": POLITE, **dict.fromkeys(("last_end", "called", "next", "spent", "target"), WORD)},
    )


NONE = text("reminders.actions.none_of_these_words")
STEERED = text("reminders.told.moved_text")
ONLY_WHO_ASKS = text("reminders.steering.only_who_asks")
ONESELF = text("reminders.steering.oneself")
ALOUD = text("reminders.steering.aloud")
