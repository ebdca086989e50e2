"""Set a reminder that a person asks for, or ask what is missing, and word what became of it.

Actions and commands share this: both have the words for what to do, and what was read of the time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from core.actions.proposal import open_offers
from core.answering.turn import Turn
from core.features.preferences.timezone import local_now
from core.features.reminders.reminders import Kind, Mention, Reminder, ReminderState, Schedule
from core.features.reminders.service import Refusal, ReminderPlace, Reminders
from core.outgoing import Button
from core.text.catalogue import Sentences, in_words, text, texts
from core.text.clauses import parts
from core.text.markdown import QUOTED_CHARS, quoted, time_link
from core.text.unicode import one_line
from core.text.words import FUNCTION_WORDS, folded_words, same
from core.times import rules, wording
from core.times.grammar import find_time
from core.times.reading import Beside, Once, Past, Recurrence, Time, Unclear
from core.times.said import is_of_place
from core.times.zones import exemplar, zone_key
from core.types import Locale, Localized, MemoryItem

CARD = Sentences("reminders.card")
MENTION = Sentences("reminders.mention")
TOLD = Sentences("reminders.told")

_MAX_OPTIONS: Final = 5
_MAX_LABEL_CHARS: Final = 40
_MAX_MEMORIES: Final = 5
_EVENING_HOUR: Final = 18
_MORNING_HOUR: Final = 8
_FIRST_HOUR: Final = 7
"""The first hour that is rather before noon where it may be either."""

_NOON: Final = 12
_NEAR_MINUTES: Final = 4 * 60
"""To so near an hour a reminder is moved where the words may also mean another half of the day."""
_KEPT_FOR: Final = timedelta(days=365)
MENTION_SIGN: Final = "💬"
_HOURS_OF_RULE: Final = re.compile("BYHOUR|HOURLY|MINUTELY")


@dataclass(frozen=True, slots=True)
class Wish:
    """A reminder that lacks its time, as it is stored with the question about it (`core.answering.confirmations`).

    `options` are the times that the person is offered, at which one for a `mention` is over. `reminder_id`: it is to be
    moved, and not to be set anew. `past` is the time that they named, if it has passed. `aloud` is what it says if it
    speaks to somebody of the room.
    """

    text: str
    options: tuple[Schedule, ...] = ()
    kind: Kind = Kind.REMINDER
    mention: Mention | None = None
    reminder_id: str = ""
    past: datetime | None = None
    aloud: str = ""


@dataclass(frozen=True, slots=True)
class ReminderNotice:
    """What the person is told: the text, and buttons below it.

    `reminder` is the one that was set or changed, or None; `memory` the one that its time was taken from. `asks`: it
    is a question, which ends the turn.
    """

    text: str
    choices: tuple[Button, ...] = ()
    reminder: Reminder | None = None
    asks: bool = False
    memory: MemoryItem | None = None


def place_of(turn: Turn) -> ReminderPlace:
    """Return where a turn takes place, and whose it is."""
    here, person, context = turn.conversation.thread.conversation, turn.person, turn.memory.context
    place = ReminderPlace(here.user, here.chat, person.is_private, person.locale, person.speaker, context.act)
    return replace(place, is_again=context.is_again, accounts=person.accounts)


async def settle_time(
    turn: Turn, reminders: Reminders, wish: Wish, time: Time | None, *, is_sure: bool = True
) -> ReminderNotice:
    """Set the reminder, or move it, if the time is plain; else ask which time is meant, or say why there is none.

    `time` is in the person's zone (`local_now`), None if none was named. A time that is not sure, as a model read it,
    is set when the person agrees.
    """
    time = await _with_rule(turn, reminders, wish, time)
    match time:
        case Once() | Recurrence() if is_sure:
            return await put(turn, reminders, wish, time)
        case Once() | Recurrence():
            return await _ask(turn, wish, [time], TOLD.meant)
        case Unclear():
            return await _ask(turn, wish, time.options, WHY[time.why])
        case Past():
            return await _past(turn, wish, time.at)
        case Beside():
            return await _beside(turn, reminders, wish, time, is_sure=is_sure)
    return await _ask(turn, wish, _usual(local_now(turn)[0]), WHEN)


async def _with_rule(turn: Turn, reminders: Reminders, wish: Wish, time: Time | None) -> Time | None:
    """Return the time with the rule, or the day, of the reminder that is to be moved, if only an hour was named.

    Where only a day was, it keeps its hour; of an hour before and after noon the one that is near is meant.
    """
    old = await reminders.find(place_of(turn), wish.reminder_id) if wish.reminder_id else None
    if old is None or _HOURS_OF_RULE.search(old.schedule.rule):
        return time
    schedule = old.schedule

    def repeated(each: Once | Recurrence) -> Once | Recurrence:
        if isinstance(each, Once) and each.has_day and not each.has_hour:
            return replace(each, at=each.at.replace(hour=schedule.wall.hour, minute=schedule.wall.minute))
        if isinstance(each, Recurrence) or each.has_day:
            return each
        wall = schedule.wall.replace(hour=each.at.hour, minute=each.at.minute)
        if not schedule.rule:  # that hour of its day, if that is ahead
            at = wall.replace(tzinfo=each.at.tzinfo)
            return replace(each, at=at) if at > local_now(turn)[0] else each
        return Recurrence(schedule.rule, wall.replace(tzinfo=each.at.tzinfo))

    if isinstance(time, Unclear):  # from 8 to 9: rather in the morning, too
        by_distance = sorted(time.options, key=lambda each: _apart(as_schedule(each).wall, schedule.wall))
        moved = tuple(map(repeated, by_distance))
        near = as_schedule(moved[0]).wall
        is_of_noon = not time.why and len({as_schedule(each).wall.hour % _NOON for each in moved}) == 1
        is_plain = is_of_noon and _apart(near, schedule.wall) <= _NEAR_MINUTES and near.date() == schedule.wall.date()
        return moved[0] if is_plain else replace(time, options=moved)
    return repeated(time) if isinstance(time, Once) else time


def _apart(one: datetime, other: datetime) -> int:
    """Return how many minutes lie between the hours of two days."""
    return abs((one.hour - other.hour) * 60 + one.minute - other.minute)


async def put(turn: Turn, reminders: Reminders, wish: Wish, time: Once | Recurrence) -> ReminderNotice:
    """Set the reminder at that time, or move it there, and word what became of it."""
    place, (now, guessed) = place_of(turn), local_now(turn)
    if wish.reminder_id:
        moved = await reminders.reschedule(place, wish.reminder_id, time)
        if isinstance(moved, Refusal):
            return refused(turn, reminders, moved)
        return told(turn, moved, TOLD.moved_text, can_undo=bool(reminders.undo_within))
    # The zone that was named is no guess, and what waits for a mention has no hour.
    guessed = guessed and wish.mention is None and as_schedule(time).zone == zone_key(now)
    made = await reminders.set(place, wish.text, time, guessed=guessed, kind=wish.kind, mention=wish.mention)
    if isinstance(made, Refusal):
        if made is Refusal.PAST and isinstance(time, Once):
            return await _past(turn, wish, time.at)
        return refused(turn, reminders, made)
    return await told_set(turn, reminders, made)


async def told_set(turn: Turn, reminders: Reminders, made: Reminder) -> ReminderNotice:
    """Return the sentence about a reminder that was set; the first by a guessed zone asks whether that is right."""
    now, guessed = local_now(turn)
    sentence = TOLD.briefed if made.kind is Kind.BRIEFING else SET
    answer = told(turn, made, sentence, can_undo=bool(reminders.undo_within))
    if not (guessed and made.schedule.guessed) or await reminders.any_guessed(made.user, made):
        return answer
    locale, zone = turn.person.locale, zone_key(now)
    asked = TOLD.zone[locale].format(zone=wording.zone_told(zone, now, locale))
    right = Button(TOLD.right[locale], f"/timezone {zone}")
    await open_offers(turn, [right], asked, lasts=False)
    choices = (
        *answer.choices,
        right,
        Button(TOLD.another_zone[locale], "/timezone", asks=TOLD.another_zone_asked[locale]),
    )
    return replace(answer, text=f"{answer.text}\n\n{asked}", choices=choices)


def told(turn: Turn, reminder: Reminder, sentence: Localized, *, can_undo: bool) -> ReminderNotice:
    """Return the sentence about a reminder that was set or changed, its time in full, and the button to undo it."""
    locale = turn.person.locale
    lines = [
        sentence[locale].format(text=heading(reminder, locale)),
        f"{_sign(reminder)} {when(reminder, turn.services.clock.now(), locale, zone_key(local_now(turn)[0]))}",
        *_at_home(turn, reminder),
    ]
    choices = (undo_button(reminder, locale),) if can_undo else ()
    return ReminderNotice("\n".join(lines), choices, reminder)


def _sign(reminder: Reminder) -> str:
    return "⏰" if reminder.mention is None else MENTION_SIGN


def _at_home(turn: Turn, reminder: Reminder) -> list[str]:
    """Return a line on what the person's clock shows when one of another zone is due; none for one of their own."""
    now, _ = local_now(turn)
    zone, due, locale = reminder.schedule.zone, reminder.due, turn.person.locale
    own = zone_key(now)
    if due is None or reminder.mention is not None or wording.offset(zone, due) == wording.offset(own, due):
        return []
    at = wording.told(due, now, own, locale)
    return [TOLD.at_home[locale].format(at=time_link(at, due), zone=wording.zone_told(own, due, locale))]


def heading(each: Reminder | Wish, locale: Locale, *, max_chars: int | None = QUOTED_CHARS) -> str:
    """Return the text of a reminder in quotation marks, or what a briefing is called."""
    if each.kind is Kind.RETURN:
        return CARD.returning[locale].format(place=exemplar(each.text, locale))
    return CARD.briefing[locale] if each.kind is Kind.BRIEFING else quoted(each.text, max_chars)


def undo_button(reminder: Reminder, locale: Locale) -> Button:
    """Return the button that takes back the last change of a reminder."""
    return Button(UNDO[locale], f"/reminders undo {reminder.id}", in_place=True)


def with_named_buttons(answer: ReminderNotice, text: str) -> ReminderNotice:
    """Return the answer with a button to undo that names the reminder, as others stand beside it."""

    def named(button: Button) -> Button:
        is_undo = button.command.startswith("/reminders undo ")
        return replace(button, label=one_line(f"{button.label}: {text}", _MAX_LABEL_CHARS)) if is_undo else button

    return replace(answer, choices=tuple(map(named, answer.choices))) if text else answer


def when(reminder: Reminder, now: datetime, locale: Locale, own_zone: str = "") -> str:
    """Return when a reminder is due, in words with date, hour and zone: its rule, if it repeats, and the next time.

    By another clock than that of `own_zone` no day is called today: there it may be tomorrow already.
    """
    schedule, due = reminder.schedule, reminder.due
    if reminder.mention is not None:
        until = "" if due is None else wording.day_told(due.astimezone(ZoneInfo(schedule.zone)), locale, now)
        words = at_mention(reminder.mention, locale)
        return MENTION.until[locale].format(when=words, day=until) if until else words
    rule = wording.rule_told(schedule.rule, schedule.wall, locale, schedule.zone) if schedule.rule else ""
    if due is None or (rule and reminder.state in {ReminderState.PAUSED, ReminderState.REMOVED}):
        return rule
    at = due.astimezone(ZoneInfo(schedule.zone))
    # The zone is one of the link's words: who reads their own hour in its place needs none.
    is_own = own_zone in {"", schedule.zone}
    day = wording.told(at, now, schedule.zone, locale) if is_own else wording.rule_told("", at, locale)
    words = f"{day} · {wording.zone_told(schedule.zone, at, locale)}"
    named = time_link(words, at)
    explained = skipped(schedule, due, locale)
    words = TOLD.next[locale].format(rule=rule, next=named) if rule else named
    return f"{words}\n{explained}" if explained else words


def at_mention(mention: Mention, locale: Locale) -> str:
    """Return at which mention something is said, and whether each time."""
    return (MENTION.each if mention.each else MENTION.once)[locale].format(subject=quoted(mention.subject))


def mentioned(reminder: Reminder, locale: Locale) -> str:
    """Return the line by which it is said, as the person has mentioned what it waited for."""
    subject = "" if reminder.mention is None else quoted(reminder.mention.subject)
    return f"{MENTION_SIGN} {MENTION.mentioned[locale].format(text=heading(reminder, locale), subject=subject)}"


def skipped(schedule: Schedule, due: datetime, locale: Locale) -> str:
    """Return why it is due at another hour than was said: a change of clocks skips that hour; "" if it is not."""
    hour = rules.skipped(schedule.wall, schedule.zone, schedule.rule, due)
    if hour is None:
        return ""
    local = due.astimezone(ZoneInfo(schedule.zone))
    told_hour = wording.hour_told(datetime.combine(local.date(), hour), locale)
    return TOLD.skipped[locale].format(hour=told_hour, day=wording.day_told(local, locale))


def refused(turn: Turn, reminders: Reminders, refusal: Refusal) -> ReminderNotice:
    """Return why a reminder was not set or changed."""
    limits, locale = reminders.limits, turn.person.locale
    interval = in_words(limits.smallest_interval, locale)
    within = in_words(reminders.undo_within, locale)
    return ReminderNotice(REFUSED[refusal][locale].format(most=limits.most, interval=interval, within=within))


def as_schedule(time: Once | Recurrence) -> Schedule:
    """Return a time as it is stored."""
    first, rule = (time.first, time.rule) if isinstance(time, Recurrence) else (time.at, "")
    return Schedule(first.replace(tzinfo=None), zone_key(first), rule)


def as_time(schedule: Schedule) -> Once | Recurrence:
    """Return the time that a schedule was made of."""
    first = schedule.wall.replace(tzinfo=ZoneInfo(schedule.zone))
    return Recurrence(schedule.rule, first) if schedule.rule else Once(first)


async def _ask(
    turn: Turn, wish: Wish, times: Sequence[Once | Recurrence], question: Localized, **values: object
) -> ReminderNotice:
    """Store the wish, and return the question which of the times is meant, with a button for each."""
    locale, now = turn.person.locale, turn.services.clock.now()
    options = tuple(as_schedule(time) for time in times[:_MAX_OPTIONS])
    code = await turn.services.confirmations.ask(turn.conversation.thread.conversation, replace(wish, options=options))
    labels = [label(option, now, locale, zone_key(local_now(turn)[0])) for option in options]
    choices = [Button(label, f"/remind pick {code} {number}", in_place=True) for number, label in enumerate(labels, 1)]
    choices.append(Button(TOLD.another[locale], f"/remind at {code}", asks=TOLD.another_asked[locale], in_place=True))
    asked = question[locale].format(text=heading(wish, locale), time=labels[0] if labels else "", **values)
    return ReminderNotice(asked, tuple(choices), asks=True)


async def at_mentions(
    turn: Turn, reminders: Reminders, wish: Wish, until: datetime | None, *, is_sure: bool = True
) -> ReminderNotice:
    """Set the reminder for a mention, or ask whether it is meant; it is over then, after a year if that is not said."""
    now, locale = local_now(turn)[0], turn.person.locale
    end = Once(until if until is not None and until > now else now + _KEPT_FOR)
    if is_sure or wish.mention is None:
        return await put(turn, reminders, wish, end)
    code = await turn.services.confirmations.ask(
        turn.conversation.thread.conversation, replace(wish, options=(as_schedule(end),))
    )
    asked = MENTION.meant[locale].format(text=heading(wish, locale), when=at_mention(wish.mention, locale))
    return ReminderNotice(asked, (Button(YES[locale], f"/remind pick {code} 1", in_place=True),), asks=True)


async def _past(turn: Turn, wish: Wish, at: datetime) -> ReminderNotice:
    """Say that the time has passed; offer the same hour on the next day, if that is ahead."""
    now, _ = local_now(turn)
    at = at.astimezone(now.tzinfo)
    later = at.replace(year=now.year, month=now.month, day=now.day)
    if later <= now:
        later += timedelta(days=1)
    past = wording.told(at, now, zone_key(now), turn.person.locale)
    past = past[:1].upper() + past[1:]  # it begins the sentence
    return await _ask(turn, replace(wish, past=at), [Once(later)], TOLD.passed, past=past)


async def _beside(turn: Turn, reminders: Reminders, wish: Wish, beside: Beside, *, is_sure: bool) -> ReminderNotice:
    """Set the reminder beside the event, if its hour is known from the person's memories or reminders; else ask."""
    now, _ = local_now(turn)
    if _telling(beside.event):
        memory, at = await _hour_in_memories(turn, beside, now)
        known = await reminders.matching(place_of(turn), beside.event) if at is None else ()
    else:  # "the day before", "two hours before it"
        memory, at, known = await _told_last(turn, reminders, now)
        told_last = next((each.text for each in known), memory.content if memory is not None else "")
        wish = replace(wish, text=told_last) if told_last and not _telling(wish.text) else wish
    at = at or next((each.due for each in known if each.due), None)
    if at is None and not _telling(beside.event):
        return await _ask(turn, wish, _usual(now), WHEN)
    if at is None:
        return await _ask(turn, wish, [], TOLD.unknown_event, event=quoted(beside.event))
    # Hours are counted on, whatever clocks do meanwhile.
    shifted = (at.astimezone(UTC) + beside.offset).astimezone(now.tzinfo)
    if beside.hour is not None:
        is_after_noon = beside.hour.halves and beside.hour.hour < _FIRST_HOUR
        shifted = shifted.replace(hour=beside.hour.hour + _NOON * is_after_noon, minute=beside.hour.minute)
    if shifted <= now:
        return await _past(turn, wish, shifted)
    if not is_sure:
        return await _ask(turn, wish, [Once(shifted)], TOLD.meant)
    answer = await put(turn, reminders, wish, Once(shifted))
    if memory is None or answer.reminder is None:
        return answer
    rests_on = TOLD.rests_on[turn.person.locale].format(memory=quoted(memory.content))
    return replace(answer, text=f"{answer.text}\n{rests_on}", memory=memory)


async def _told_last(
    turn: Turn, reminders: Reminders, now: datetime
) -> tuple[MemoryItem | None, datetime | None, Sequence[Reminder]]:
    """Return the newest memory with the hour ahead that it names, or the reminder that was set since."""
    newest = next(iter(await turn.memory.page(limit=1)), None)
    time = None if newest is None else _time_of(newest, "", now, turn.person.locale)
    last = await reminders.newest_change(place_of(turn))
    is_of_that = last is not None and newest is not None and last.text == newest.content
    is_later = last is not None and (newest is None or (last.changed_at or last.created_at) > newest.updated_at)
    is_later &= not is_of_that  # a second one of the same
    if newest is not None and isinstance(time, Once) and not is_later:
        return newest, time.at, ()
    return None, None, (last,) if last is not None and is_later else ()


async def _hour_in_memories(
    turn: Turn, beside: Beside, now: datetime
) -> tuple[MemoryItem, datetime] | tuple[None, None]:
    """Return the memory that is nearest to an event's name and names a time ahead, with that.

    Of one that names several, the clause counts that names the event. A day is enough where the hour was said.
    """
    for hit in await turn.memory.find(beside.event, limit=_MAX_MEMORIES):
        time = _time_of(hit.item, beside.event, now, turn.person.locale)
        is_of_days = beside.hour is not None or not beside.offset.seconds
        if isinstance(time, Once) and (time.has_hour or is_of_days):
            return hit.item, time.at
    return None, None


def _time_of(item: MemoryItem, event: str, now: datetime, locale: Locale) -> Once | Recurrence | None:
    """Return the time ahead that a memory names of an event: of several, that of the clause which names it best."""
    clauses = [item.content[slice(*each)] for each in parts(item.content)]
    times = [(each, time_in(replace(item, content=each), now, locale)) for each in clauses]
    timed = [((_named_in(each, event), isinstance(time, Once)), time) for each, time in times if time is not None]
    return max(timed, key=lambda each: each[0])[1] if len(timed) > 1 else time_in(item, now, locale)


def _named_in(clause: str, event: str) -> int:
    """Return how many words of an event's name a clause has; names count twice."""
    own = folded_words(clause)
    held = [word for word in event.split() if any(same(each, mine) for each in _telling(word) for mine in own)]
    return len(held) + sum(word[0].isupper() for word in held)


def _telling(words: str) -> list[str]:
    return [word for word in folded_words(words) if word not in FUNCTION_WORDS]


def time_in(item: MemoryItem, now: datetime, locale: Locale) -> Once | Recurrence | None:
    """Return the time ahead that a memory names, read as of when it was said; None if it names none."""
    found = find_time(item.content, item.updated_at.astimezone(now.tzinfo), locale)
    is_time = found is not None and not is_of_place(item.content, (found.spans[0][0], found.spans[-1][1]))
    match found.time if found is not None and is_time else None:
        case Once() as once if once.at > now:
            return once
        case Recurrence() as repeated:
            return repeated
    return None


def _usual(now: datetime) -> Sequence[Once]:
    """Return the times that are offered where none was named: in an hour, this evening, tomorrow morning."""
    evening = now.replace(hour=_EVENING_HOUR, minute=0, second=0, microsecond=0)
    morning = evening.replace(hour=_MORNING_HOUR) + timedelta(days=1)
    soon = (now.astimezone(UTC) + timedelta(hours=1)).astimezone(now.tzinfo).replace(second=0, microsecond=0)
    return [Once(at) for at in (soon, evening, morning) if at > now]


def label(option: Schedule, now: datetime, locale: Locale, own_zone: str = "") -> str:
    """Return a time in words for a button; with its zone, if `own_zone` is given and another one."""
    at, is_own = option.wall.replace(tzinfo=ZoneInfo(option.zone)), own_zone in {"", option.zone}
    if option.rule or not is_own:  # elsewhere it may be tomorrow already
        words = wording.rule_told(option.rule, option.wall, locale, option.zone)
    else:
        words = wording.told(at, now, option.zone, locale)
    return words if is_own else f"{words} · {wording.zone_told(option.zone, at, locale)}"


SET = text("reminders.told.set")
YES = text("reminders.steering.oneself")
MOVED = text("reminders.told.moved")
REWORDED = text("reminders.told.reworded")
PAUSED = text("reminders.told.paused")
PAUSED_TEXT = text("reminders.told.paused_text")
RESUMED_TEXT = text("reminders.told.resumed_text")
RESUMED = text("reminders.told.resumed")
BACK = text("reminders.told.back")
REMOVED = text("reminders.told.removed")
TAKEN_BACK = text("reminders.told.taken_back")
UNDO = text("actions.undo")
WHEN = text("reminders.told.when")
WHY: dict[str, Localized] = {
    "": TOLD.which,
    "holidays": text("reminders.told.holidays"),
    "zone": text("reminders.told.unknown_zone"),
}
REFUSED = texts("reminders.refused", Refusal)
