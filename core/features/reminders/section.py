"""Reminders in the file of an export: written, read, and set again by an import."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from icalendar import Alarm, Calendar, Event
from icalendar.prop import vRecur

from core.commands.command import Request
from core.features.feature import Counts, Section
from core.features.reminders.reminders import IMPORTED, OPEN, Kind, Mention, Reminder, ReminderState, Schedule
from core.features.reminders.service import MAX_TEXT_CHARS, Refusal, Reminders
from core.features.reminders.telling import as_time, heading, place_of
from core.memory.memories import Memories
from core.ports import Clock
from core.stores import HistoryStore
from core.text.catalogue import Plurals
from core.text.language import from_tag
from core.text.unicode import clean, fold
from core.times.rules import instant, next_after, problem, read, skipping
from core.types import ChatKey, ConversationKey, Locale, UserKey

IMPORT_PLURALS = Plurals("transfer.import")

_PRODUCT: Final = "-//Elefante//Reminders//EN"
_AHEAD: Final = timedelta(days=366 * 20)
"""How far ahead the changes of clocks are written."""


def to_ics(reminders: Iterable[Reminder], now: datetime) -> str:
    """Return a calendar with the reminders that are still to come; the id of each is its UID. `now` is aware.

    Those of days and longer are in their zone, of which the rules are in the file; those of hours and minutes in UTC.
    One that is paused has no alarm.
    """
    calendar = Calendar()
    calendar.add("version", "2.0")
    calendar.add("prodid", _PRODUCT)
    starts = [now]
    for each in reminders:
        if each.mention is None and (start := _start(each)) is not None:
            calendar.add_component(_event(each, start, now))
            starts.append(start)
    first, last = min(starts) - timedelta(days=1), max(starts) + _AHEAD
    calendar.add_missing_timezones(first.date(), last.date())
    return str(calendar.to_ical(), "utf-8")


def _start(reminder: Reminder) -> datetime | None:
    """Return the first instant that the event has, in the zone that its rule counts in; None if there is none."""
    schedule = reminder.schedule
    begin = instant(schedule.wall, schedule.zone)
    if not schedule.rule:
        return (reminder.due or begin).astimezone(ZoneInfo(schedule.zone))
    first = next_after(schedule.wall, schedule.zone, schedule.rule, begin - timedelta(microseconds=1))
    return first and first.astimezone(UTC if read(schedule.rule).is_sub_daily else ZoneInfo(schedule.zone))


def _event(reminder: Reminder, start: datetime, now: datetime) -> Event:
    """Return the event of a reminder, which takes no time and makes nobody busy."""
    title = reminder.text if reminder.kind is Kind.REMINDER else heading(reminder, reminder.locale)
    event = Event.new(
        uid=reminder.id, summary=title, start=start, stamp=now.astimezone(UTC), created=reminder.created_at
    )
    event.add("transp", "TRANSPARENT")
    if reminder.schedule.rule:
        event.add("rrule", _recurrence(reminder))
        if skipped := _skipped(reminder.schedule):
            event.add("exdate", skipped)
    if reminder.state is not ReminderState.PAUSED:
        alarm = Alarm.new(description=title)
        alarm.add("action", "DISPLAY")
        alarm.add("trigger", timedelta())
        event.add_component(alarm)
    return event


def _recurrence(reminder: Reminder) -> vRecur:
    """Return the rule, with an UNTIL in UTC, as it has to be where the start has a zone."""
    schedule = reminder.schedule
    recurrence: vRecur = vRecur.from_ical(skipping(schedule.rule.upper(), (), date.max))
    if (ends := read(schedule.rule).ends(schedule.zone)) is not None:
        recurrence["UNTIL"] = [ends.replace(microsecond=0)]
    return recurrence


def _skipped(schedule: Schedule) -> list[datetime]:
    """Return the instants that a schedule leaves out, in the zone that its rule counts in."""
    every, found = skipping(schedule.rule, (), date.max), list[datetime]()
    zone = UTC if read(schedule.rule).is_sub_daily else ZoneInfo(schedule.zone)
    for day in read(schedule.rule).skips:
        begin, end = (instant(datetime.combine(each, time()), schedule.zone) for each in (day, day + timedelta(days=1)))
        at = next_after(schedule.wall, schedule.zone, every, begin - timedelta(microseconds=1))
        while at is not None and at < end:
            found.append(at.astimezone(zone))
            at = next_after(schedule.wall, schedule.zone, every, at)
    return found


_YEARS: Final = range(1900, 9000)
"""Of times that every zone has."""

_READ: Final = (
    "text",
    "kind",
    "state",
    "wall",
    "zone",
    "rule",
    "guessed",
    "language",
    "private",
    "user",
    "chat",
    "topic",
    "mention",
)
"""What is read of an entry."""


@dataclass(frozen=True, slots=True)
class TakenReminder:
    """A reminder of a file that was still to come.

    `user` and `chat` are where it was set, if that was on an account of the person who imports it; else None.
    """

    text: str
    schedule: Schedule
    kind: Kind
    mention: Mention | None
    locale: Locale | None
    paused: bool
    private: bool
    user: UserKey | None
    chat: ChatKey | None


class ReminderSection(Section):
    """Entries of reminders; those that are over, or cannot be set, are left out of an import."""

    name = "reminders"

    def __init__(self, reminders: Reminders, memories: Memories, history: HistoryStore, clock: Clock) -> None:
        self._reminders = reminders
        self._memories = memories
        self._history = history
        self._clock = clock

    async def entries(self, users: Sequence[UserKey]) -> Sequence[Mapping[str, object]]:
        """Return everything that is kept of the accounts' reminders, an entry each."""
        return [_entry(each) for each in await self._reminders.store.of(users, frozenset(ReminderState))]

    async def calendar(self, users: Sequence[UserKey]) -> tuple[bytes, int]:
        """Return the open reminders for a calendar (RFC 5545), and how many there are."""
        from core.features.reminders.section import to_ics  # its library takes 28 ms to load

        coming = await self._reminders.store.of(users)
        return (to_ics(coming, self._clock.now()).encode() if coming else b""), len(coming)

    def read(self, entries: Sequence[Any]) -> tuple[list[dict[str, Any]], int]:
        """Return what is needed of the entries that were still to come, each once, and how many others there are."""
        taken = [(entry, one) for entry in entries if (one := _taken(entry, ())) is not None]
        different = {same(one): entry for entry, one in taken}.values()
        plain = [{key: _plain(entry[key]) for key in _READ if key in entry} for entry in different]
        return plain, len(entries) - len(taken)

    async def preview(self, request: Request, entries: Sequence[Any], unread: int) -> tuple[Counts, int]:
        """Return what is told of entries that were read, `unread` others, and how many reminders they would be."""
        new, old = await self._sorted(request, entries)
        total = len(new) + len(old)
        return (
            (IMPORT_PLURALS.reminders_in_it, total),
            (IMPORT_PLURALS.reminders_known, len(old)),
            (IMPORT_PLURALS.reminders_left, unread + len(entries) - total),
        ), total

    async def save(self, request: Request, entries: Sequence[Any]) -> tuple[Counts, bool]:
        """Set the reminders of entries that were read; return what is told of that, and whether it can be undone."""
        mine = {same(each) for each in await self._reminders.done(place_of(request.turn))}
        new, known = await self._sorted(request, entries)
        old = [each for each in known if same(each) not in mine]
        made = await self._set(request, new) + len(known) - len(old)
        told = [(IMPORT_PLURALS.reminders_set, made)] if entries and (new or known) else []
        return [*told, *([(IMPORT_PLURALS.reminders_known, len(old))] if old else [])], bool(
            made and self._reminders.undo_within
        )

    async def _sorted(
        self, request: Request, entries: Sequence[Any]
    ) -> tuple[Sequence[TakenReminder], Sequence[TakenReminder]]:
        """Return those of the reminders that can be set, and those that the person has already."""
        reminders, accounts = self._reminders, await self._memories.accounts(request.incoming.user)
        taken = [each for entry in entries if (each := _taken(entry, accounts)) is not None]
        mine = await reminders.store.of(accounts)
        known = {same(each) for each in mine}
        possible = [
            each for each in taken if same(each) not in known and reminders.refusal(as_time(each.schedule)) is None
        ]
        return possible[: max(reminders.limits.most - len(mine), 0)], [each for each in taken if same(each) in known]

    async def _set(self, request: Request, taken: Sequence[TakenReminder]) -> int:
        """Set the reminders in the chats where the person has written, the others here; return how many were set."""
        incoming, batch = request.incoming, f"{IMPORTED}{request.turn.memory.context.act}"
        accounts = await self._memories.accounts(incoming.user) if taken else ()
        threads = [thread for account in accounts for thread in await self._history.threads(account)]
        written = {thread.conversation for thread in threads}
        here = replace(place_of(request.turn), private=True, name=incoming.user_name)
        made: list[Reminder] = []
        for each in taken:
            places = [replace(here, locale=each.locale or request.locale)]
            if each.user and each.chat and ConversationKey(each.chat, each.user) in written:
                places.insert(0, replace(places[0], user=each.user, chat=each.chat, private=each.private))
            for place in places:
                time, guessed = as_time(each.schedule), each.schedule.guessed
                state = ReminderState.PAUSED if each.paused else ReminderState.WAITING
                done = await self._reminders.set(
                    *(place, each.text, time),
                    guessed=guessed,
                    kind=each.kind,
                    mention=each.mention,
                    state=state,
                    batch=batch,
                )
                made += [done] if isinstance(done, Reminder) else []
                if done is not Refusal.OFF_HERE:
                    break
        return len(made)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value if isinstance(value, bool) or value is None else clean(str(value))


def same(reminder: Reminder | TakenReminder) -> tuple[str, ...]:
    """Return what two reminders have in common that say the same at the same times."""
    schedule = reminder.schedule
    subject = "" if reminder.mention is None else fold(reminder.mention.subject)
    return (reminder.kind, fold(reminder.text), schedule.wall.isoformat(), schedule.zone, schedule.rule, subject)


def _entry(reminder: Reminder) -> Mapping[str, object]:
    before, mention = reminder.before, reminder.mention
    return {
        **_of(reminder, "id user private name text kind due state tries failures created_at sent_at batch changed_at"),
        **_of(reminder.schedule, "wall zone rule guessed"),
        "chat": reminder.chat.chat,
        "topic": reminder.chat.thread,
        "language": reminder.locale,
        "mention": mention and _of(mention, "subject each"),
        "before": before and {**_of(before, "text due state"), **_of(before.schedule, "wall zone rule guessed")},
    }


def _of(record: object, names: str) -> dict[str, object]:
    return {name: getattr(record, name) for name in names.split()}


def _taken(entry: Any, accounts: Collection[UserKey]) -> TakenReminder | None:
    """Return the reminder of an entry for the person with those accounts, or None if it is over or cannot be set."""
    try:
        text, kind, state = clean(str(entry["text"])), Kind(entry["kind"]), ReminderState(entry["state"])
        wall, zone = datetime.fromisoformat(entry["wall"]), ZoneInfo(entry["zone"]).key
        schedule = Schedule(wall, zone, str(entry["rule"]), entry["guessed"] is True)
        is_time = wall.tzinfo is None and wall.year in _YEARS and not (schedule.rule and problem(schedule.rule))
        if state not in OPEN or not is_time or len(text) > MAX_TEXT_CHARS or not (text or kind is Kind.BRIEFING):
            return None
        mention = _mention(entry.get("mention")) if kind is Kind.MENTION else None
        user = next((user for user in accounts if str(user) == entry["user"]), None)
        return TakenReminder(
            text,
            schedule,
            kind,
            mention,
            from_tag(str(entry.get("language"))),
            state is ReminderState.PAUSED,
            entry["private"] is True,
            user,
            ChatKey(user.platform, str(entry["chat"]), str(entry["topic"])) if user else None,
        )
    except (KeyError, TypeError, ValueError, OSError):  # OSError: the name of a zone that no file can have
        return None


def _mention(given: Any) -> Mention:
    """Return what an entry waits for.

    Raises:
        ValueError: it says nothing.
    """
    subject = clean(str(given["subject"]), MAX_TEXT_CHARS)
    if not subject:
        raise ValueError("nothing to be mentioned")
    return Mention(subject, given["each"] is True)
