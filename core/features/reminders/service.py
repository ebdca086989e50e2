"""Set, change, find and take back reminders: what actions, commands and the shell share. It says nothing to anybody."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum, auto
from typing import Final
from zoneinfo import ZoneInfo

from core.features.reminders.mentioned import Subjects
from core.features.reminders.reminders import (
    KEPT,
    OPEN,
    Before,
    Days,
    Kind,
    Mention,
    Reminder,
    ReminderState,
    Schedule,
    instants,
)
from core.features.reminders.storage import ReminderStore
from core.memory.embedding import Embedding
from core.memory.memories import Memories
from core.ports import Clock
from core.storage.lexicon import index_terms, keywords, query_terms
from core.text.unicode import clean
from core.text.words import FUNCTION_WORDS
from core.times import rules
from core.times.reading import Once, Recurrence
from core.times.zones import zone_key
from core.types import ChatKey, Locale, UserKey

MAX_TEXT_CHARS: Final = 1_000
_TRIES: Final = 5
"""How often a change is made anew if the reminder was changed meanwhile, as by whoever fires it."""

_ASKED_BACK: Final = time(9)
"""When people are asked whether they are back, by the clock at home."""

_LISTED: Final = OPEN | {ReminderState.FAILED}


class Refusal(Enum):
    """Why a reminder was not set or changed."""

    TOO_MANY = auto()  # the person has as many as the owner allows
    TOO_OFTEN = auto()  # it would repeat more often than the owner allows
    PAST = auto()  # no instant of it is ahead
    NO_TEXT = auto()
    UNREACHABLE = auto()  # nobody can be written to unasked on this platform
    OFF_HERE = auto()  # reminders are off in this room
    NOT_HERE = auto()  # its text was said elsewhere, and would be heard by others here
    NOT_THEN = auto()  # it is not due on those days
    GONE = auto()  # it is not there any more, or was changed meanwhile
    TOO_LATE = auto()  # its last change can no longer be taken back


@dataclass(frozen=True, slots=True)
class Limits:
    """What the owner allows: open reminders a person, and the smallest interval of one that repeats."""

    most: int = 100
    smallest_interval: timedelta = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class ReminderPlace:
    """Where a person says something: their account and name, the chat, and whether nobody else reads along.

    `act` is what changes made there are part of, or ""; `is_again`: it was begun before, and broken off. What it has
    changed already is returned then, and not changed again.
    """

    user: UserKey
    chat: ChatKey
    private: bool
    locale: Locale
    name: str = ""
    act: str = ""
    is_again: bool = False

    accounts: tuple[UserKey, ...] = ()
    """All of that person's, if they were asked for."""


class Reminders:
    """The reminders of everybody.

    `wake`, which whoever fires them sets, is called whenever the next due time may have become
    earlier. `is_off` tells whether reminders are off in a room. On `answering` platforms the bot only answers, and
    cannot write unasked.
    """

    def __init__(
        self,
        store: ReminderStore,
        memories: Memories,
        clock: Clock,
        limits: Limits,
        wake: Callable[[], None] = lambda: None,
        *,
        is_off: Callable[[ChatKey], Awaitable[bool]] | None = None,
        answering: Collection[str] = (),
    ) -> None:
        self.store = store
        self.limits = limits
        self._memories = memories
        self._clock = clock
        self.wake = wake
        self._is_off = is_off
        self._answering = frozenset(answering)
        self._subjects = Subjects()

    @property
    def undo_within(self) -> timedelta:
        """How long a change can be taken back; 0: not at all."""
        return self._memories.undo_within

    async def set(
        self,
        place: ReminderPlace,
        text: str,
        time: Once | Recurrence,
        *,
        guessed: bool = False,
        kind: Kind = Kind.REMINDER,
        mention: Mention | None = None,
        state: ReminderState = ReminderState.WAITING,
        batch: str = "",
    ) -> Reminder | Refusal:
        """Store a reminder; it is on disk when this returns. `time` is in the person's zone; `guessed`: our guess.

        One for a `mention` is over at that time.
        """
        text, now = _kept(text), self._clock.now()
        if not text and kind in {Kind.REMINDER, Kind.MENTION}:
            return Refusal.NO_TEXT
        if place.user.platform in self._answering:
            return Refusal.UNREACHABLE
        if await self.is_off(place.chat):
            return Refusal.OFF_HERE
        timed = self._timed(time, guessed=guessed)
        if isinstance(timed, Refusal):
            return timed
        if await self._is_full(place.user):
            return Refusal.TOO_MANY
        schedule, due = timed
        reminder = Reminder(
            place.user,
            place.chat,
            text,
            schedule,
            due,
            created_at=now,
            private=place.private,
            name=place.name,
            kind=kind,
            mention=mention,
            locale=place.locale,
            state=state,
            batch=batch,
            changed_at=now,
            act=place.act,
        )
        added = await self.store.add(reminder, most=self.limits.most)
        self.wake()
        return added or Refusal.TOO_MANY

    async def done(self, place: ReminderPlace) -> Sequence[Reminder]:
        """Return the reminders that the act set or changed last before it was broken off."""
        if not (place.is_again and place.act):
            return []
        found = await self.store.of(await self._accounts(place), frozenset(ReminderState))
        return [reminder for reminder in found if reminder.act == place.act]

    def refusal(self, time: Once | Recurrence) -> Refusal | None:
        """Return why no reminder can be set for that time, whoever asks; None if one can."""
        timed = self._timed(time, guessed=False)
        return timed if isinstance(timed, Refusal) else None

    async def of(self, place: ReminderPlace) -> Sequence[Reminder]:
        """Return the person's reminders that may be spoken of there, the next first: in a room those of that room.

        Those that could not be delivered are among them.
        """
        found = await self.store.of(await self._accounts(place), _LISTED)
        return [reminder for reminder in found if is_heard(reminder, place)]

    async def find(self, place: ReminderPlace, reminder_id: str) -> Reminder | None:
        """Return the reminder of that id, in any state, if it is the person's and may be spoken of there."""
        found = await self.store.find(await self._accounts(place), reminder_id)
        return found if found is not None and is_heard(found, place) else None

    async def name_of_other(self, place: ReminderPlace, reminder_id: str) -> str | None:
        """Return the name of the other person whose reminder that is, "" if it is not known; None if it is not so."""
        found = await self.store.whose(reminder_id)
        return None if found is None or found[0] in await self._accounts(place) else found[1]

    async def matching(self, place: ReminderPlace, *texts: str) -> Sequence[Reminder]:
        """Return those of `of` of which the text shares a word that tells with one of these, the best of each first."""
        telling = [words for words in texts if not FUNCTION_WORDS.issuperset(keywords(words))]
        known, found = await self.of(place) if telling else (), dict[str, Reminder]()
        for words in telling:
            wanted = query_terms(words)
            scored = [(reminder, self._shared(wanted, reminder.named_by)) for reminder in known]
            best = sorted(scored, key=lambda each: -each[1])  # of equals, the next first
            found |= {reminder.id: reminder for reminder, shared in best if shared}
        return list(found.values())

    async def said(self, place: ReminderPlace, batch: str) -> Sequence[Reminder]:
        """Return the person's reminders that were said in that batch, and may be spoken of there."""
        found = await self.store.in_batch(await self._accounts(place), batch)
        return [reminder for reminder in found if is_heard(reminder, place)]

    async def is_off(self, chat: ChatKey) -> bool:
        """Return whether owners turned reminders off in that room."""
        return self._is_off is not None and await self._is_off(chat)

    async def of_mentions(self, place: ReminderPlace) -> Sequence[Reminder]:
        """Return the person's reminders that are said at a mention, with those that are over."""
        found = await self.store.of(await self._accounts(place), _LISTED | {ReminderState.DONE})
        return [each for each in found if each.mention is not None]

    async def mentioned(self, place: ReminderPlace, message: str, embedding: Embedding) -> Sequence[Reminder]:
        """Mark as said what is to be said there at that message; return all that its act said, before a restart, too.

        Nothing is that the act set or changed itself.
        """
        now, users = self._clock.now(), await self._accounts(place)
        waiting = await self.of_mentions(place)
        ready = [each for each in waiting if each.is_ready(now) and each.act != place.act and is_heard(each, place)]
        if ready and await self.is_off(place.chat):
            ready = []
        subjects = [each.mention.subject for each in ready if each.mention is not None]
        has = await self._subjects.mentioned(message, subjects, embedding) if subjects else ()
        ids = [each.id for each, is_mentioned in zip(ready, has, strict=True) if is_mentioned]
        if not ids:
            return [each for each in waiting if place.act and each.batch == place.act]
        return await self.store.mention(users, ids, place.act, now)

    async def unsaid(self, place: ReminderPlace, act: str) -> None:
        """Let what an act said at a mention be said again: its message was edited, or deleted."""
        users = await self._accounts(place)

        def ready(old: Reminder) -> Reminder:
            if old.batch != act or old.state not in {ReminderState.WAITING, ReminderState.DONE}:
                return old
            due = rules.instant(old.schedule.wall, old.schedule.zone)
            return replace(old, state=ReminderState.WAITING, due=due, sent_at=None, batch="")

        for each in await self.store.mention(users, (), act, self._clock.now()):
            await self._replace(users, each.id, ready)

    async def _accounts(self, place: ReminderPlace) -> Sequence[UserKey]:
        """Return all accounts of the person, asked for once a turn."""
        return place.accounts or await self._memories.accounts(place.user)

    async def any_guessed(self, user: UserKey, besides: Reminder | None = None) -> bool:
        """Return whether the person has a reminder, in any state, but that one, set by our guess of their zone."""
        found = await self.store.of(await self._memories.accounts(user), frozenset(ReminderState))
        return any(each.schedule.guessed for each in found if besides is None or each.id != besides.id)

    async def newest_change(self, place: ReminderPlace) -> Reminder | None:
        """Return the reminder that the person changed last, if that can still be taken back there, or None."""
        found = await self.store.newest_change(await self._accounts(place))
        return found if found is not None and is_heard(found, place) and self._can_undo(found) else None

    async def remove(self, place: ReminderPlace, reminder_id: str) -> Reminder | Refusal:
        """Delete a reminder; it can be taken back for as long as a deleted memory can."""

        def removed(old: Reminder) -> Reminder | Refusal:
            return replace(self._changing(old), state=ReminderState.REMOVED)

        return await self._change(place, reminder_id, removed)

    async def reword(self, place: ReminderPlace, reminder_id: str, text: str) -> Reminder | Refusal:
        """Change the text. That of a room's reminder is changed only there, before those who will read it."""
        text = _kept(text)

        def reworded(old: Reminder) -> Reminder | Refusal:
            if not may_reword(old, place):
                return Refusal.NOT_HERE
            return replace(self._changing(old), text=text) if text else Refusal.NO_TEXT

        return await self._change(place, reminder_id, reworded)

    async def reschedule(self, place: ReminderPlace, reminder_id: str, time: Once | Recurrence) -> Reminder | Refusal:
        """Change when it is due; one that was held, fired for the last time or given up goes on."""
        is_full = await self._is_full(place.user)

        def rescheduled(old: Reminder) -> Reminder | Refusal:
            timed = self._timed(time, guessed=False)
            if isinstance(timed, Refusal):
                return timed
            if is_full and old.state not in OPEN:
                return Refusal.TOO_MANY
            schedule, due = timed
            if old.mention is not None:
                schedule = replace(schedule, rule="")
            guessed = old.schedule.guessed and old.schedule.zone == schedule.zone
            return _waiting(replace(self._changing(old), schedule=replace(schedule, guessed=guessed)), due)

        return await self._change(place, reminder_id, rescheduled)

    async def pause(self, place: ReminderPlace, reminder_id: str, *, paused: bool) -> Reminder | Refusal:
        """Hold a reminder, or let it go on from its next instant that is ahead."""

        def held(old: Reminder) -> Reminder | Refusal:
            if old.state is ReminderState.PAUSED:
                return old
            return replace(self._changing(old), state=ReminderState.PAUSED) if old.state in OPEN else Refusal.GONE

        def resumed(old: Reminder) -> Reminder | Refusal:
            if old.state in {ReminderState.WAITING, ReminderState.SENDING}:
                return old
            due = self._next(old.schedule)
            return Refusal.PAST if due is None else _waiting(self._changing(old), due)

        return await self._change(place, reminder_id, held if paused else resumed)

    async def snooze(self, place: ReminderPlace, batch: str, until: datetime) -> Sequence[Reminder]:
        """Let the reminders that were said in that batch be said again then; a repeated one goes on besides."""
        said = await self.said(place, batch)
        single = [reminder for reminder in said if not reminder.schedule.rule]
        again: list[Reminder] = []
        for old in single:
            moved = await self._change(place, old.id, lambda now: self._snoozed(now, until))
            again += [moved] if isinstance(moved, Reminder) else []
        known = {(reminder.chat, reminder.text) for reminder in single}
        for old in said:
            # Pressed twice, it is put off once.
            if old.schedule.rule and old.state is not ReminderState.REMOVED and (old.chat, old.text) not in known:
                new = replace(self._snoozed(old, until), created_at=self._clock.now(), sent_at=None, before=None)
                new = replace(new, act=place.act, id="")
                added = await self.store.add(new, most=self.limits.most + len(said))
                again += [added] if added else []
        self.wake()
        return again

    async def postpone(self, place: ReminderPlace, reminder_id: str, until: datetime) -> Reminder | Refusal:
        """Let a reminder be due then this once: one that repeats goes on by its rule, one that was said comes again."""
        if until <= self._clock.now():
            return Refusal.PAST
        is_full = await self._is_full(place.user)

        def postponed(old: Reminder) -> Reminder | Refusal:
            if place.act and old.act == place.act:  # before a restart
                return old
            if is_full and old.state not in OPEN:
                return Refusal.TOO_MANY
            if not old.schedule.rule:
                return self._snoozed(old, until)
            return _waiting(self._changing(old), until.astimezone(UTC))

        return await self._change(place, reminder_id, postponed)

    async def skip(self, place: ReminderPlace, reminder_id: str, now: datetime, days: Days) -> Reminder | Refusal:
        """Leave out the times of a reminder on those days, as `now` counts them; one that is due once is deleted."""

        def skipped(old: Reminder) -> Reminder | Refusal:
            if place.act and old.act == place.act:
                return old
            due = instants(old, now, days)
            if not due:
                return Refusal.NOT_THEN
            if not old.schedule.rule:
                return replace(self._changing(old), state=ReminderState.REMOVED)
            zone = ZoneInfo(old.schedule.zone)
            gone = {each.astimezone(zone).date() for each in due}
            rule = rules.skipping(old.schedule.rule, gone, now.astimezone(zone).date())
            schedule = replace(old.schedule, rule=rule)
            following = old.due if old.due is not None and old.due not in due else self._next(schedule)
            if following is None or len(rule) > rules.MAX_RULE_CHARS:
                return Refusal.PAST
            return replace(self._changing(old), schedule=schedule, due=following)

        return await self._change(place, reminder_id, skipped)

    async def said_since(self, place: ReminderPlace, since: datetime) -> Sequence[Reminder]:
        """Return the reminders that were said since then, and may be spoken of there; those that are over, too."""
        found = await self.store.of(await self._accounts(place), frozenset(ReminderState))
        return [
            each
            for each in found
            if each.sent_at is not None and each.sent_at >= since and is_heard(each, place)
            if each.state is not ReminderState.REMOVED and each.kind is Kind.REMINDER
        ]

    async def undo(self, place: ReminderPlace, reminder_id: str) -> Reminder | Refusal:
        """Take back the last change of a reminder, and return it as it is then (REMOVED, if it was new)."""

        def undone(old: Reminder) -> Reminder | Refusal:
            if not self._can_undo(old):
                return Refusal.TOO_LATE
            return replace(self._as_before(old), changed_at=None, before=None, act=place.act)

        return await self._change(place, reminder_id, undone, removed=True)

    async def undo_act(self, place: ReminderPlace, act: str) -> Sequence[bool]:
        """Take back what an act changed; return for each reminder whether that could be done."""
        found = await self.store.of(await self._accounts(place), frozenset(ReminderState))
        changed = [each for each in found if act and each.act == act and each.changed_at is not None]
        undone = [await self.undo(place, each.id) for each in changed]
        return [isinstance(each, Reminder) for each in undone]

    async def take_back(self, place: ReminderPlace, batch: str) -> Sequence[Reminder]:
        """Delete those of a batch again that nobody has changed since they were set, and return them."""
        done = await self.done(place)
        untouched = [each for each in await self.said(place, batch) if each.before is None]
        undone = [await self.undo(place, each.id) for each in untouched if each.state is not ReminderState.REMOVED]
        return [*(each for each in done if each in untouched), *(each for each in undone if isinstance(each, Reminder))]

    async def move_zone(
        self, user: UserKey, zone: str, before: str = ""
    ) -> tuple[Sequence[Reminder], Sequence[Reminder]]:
        """Let the person's reminders follow them to another zone; return those that moved, and those that stayed.

        One that repeats, and one that was set by our guess of the zone, keeps its wall time. Any other single one keeps
        its instant. One that repeats by another clock than that of `before`, the zone that they told last, stays by it.
        """
        moved: list[Reminder] = []
        stayed: list[Reminder] = []
        users = await self._memories.accounts(user)
        for each in await self.store.of(users):
            of_another = bool(each.schedule.rule and before) and each.schedule.zone != before
            is_same = each.schedule.zone == zone or of_another or each.kind in {Kind.RETURN, Kind.MENTION}
            if is_same and not each.schedule.guessed:
                continue
            if not (each.schedule.rule or each.schedule.guessed):
                stayed.append(each)
                continue
            new = await self._replace(users, each.id, lambda old: self._moved(old, zone))
            if isinstance(new, Reminder) and each.schedule.zone != zone:
                moved.append(new)
        self.wake()
        return moved, stayed

    async def ask_back(self, place: ReminderPlace, home: str, until: date | None) -> Reminder | Refusal | None:
        """Let the person be asked on that day, if there is one, whether they are back; what was to be asked is not."""
        for each in await self.store.of(await self._accounts(place)):
            if each.kind is Kind.RETURN:
                await self.remove(place, each.id)
        if until is None:
            return None
        at = datetime.combine(until, _ASKED_BACK, ZoneInfo(home))
        return await self.set(place, home, Once(at), kind=Kind.RETURN)

    async def purge(self) -> None:
        """Delete for good what was fired for the last time long ago, and what was deleted and cannot come back."""
        now = self._clock.now()
        await self.store.purge(now - KEPT, now - self.undo_within)

    async def _change(
        self,
        place: ReminderPlace,
        reminder_id: str,
        change: Callable[[Reminder], Reminder | Refusal],
        *,
        removed: bool = False,
    ) -> Reminder | Refusal:
        """Change a reminder that may be spoken of there; a removed one only where that is said."""

        def allowed(old: Reminder) -> Reminder | Refusal:
            if place.is_again and place.act and old.act == place.act:
                return old
            gone = not is_heard(old, place) or (old.state is ReminderState.REMOVED and not removed)
            return Refusal.GONE if gone else change(old)

        def marked(old: Reminder) -> Reminder | Refusal:
            new = allowed(old)
            is_change = isinstance(new, Reminder) and new.changed_at is not None and new != old
            return replace(new, act=place.act) if isinstance(new, Reminder) and is_change else new

        changed = await self._replace(await self._accounts(place), reminder_id, marked)
        self.wake()
        if isinstance(changed, Reminder) and changed.state is ReminderState.REMOVED and not self.undo_within:
            await self.purge()
        return changed

    async def _replace(
        self, users: Sequence[UserKey], reminder_id: str, change: Callable[[Reminder], Reminder | Refusal]
    ) -> Reminder | Refusal:
        """Store what `change` makes of a reminder; make it anew of what it is then, if it was changed meanwhile."""
        for _ in range(_TRIES):
            old = await self.store.find(users, reminder_id)
            new = Refusal.GONE if old is None else change(old)
            if old is None or isinstance(new, Refusal) or new == old or await self.store.replace(old, new):
                return new
        return Refusal.GONE

    def _timed(self, time: Once | Recurrence, *, guessed: bool) -> tuple[Schedule, datetime] | Refusal:
        """Return the schedule of a time, and its next instant, if it may be set."""
        first, rule = (time.first, time.rule) if isinstance(time, Recurrence) else (time.at, "")
        schedule = Schedule(first.replace(tzinfo=None), zone_key(first), rule, guessed)
        if rule:
            if rules.problem(rule):
                return Refusal.PAST
            interval = rules.shortest_interval(schedule.wall, schedule.zone, rule)
            if interval is not None and interval < self.limits.smallest_interval:
                return Refusal.TOO_OFTEN
        due = self._next(schedule)
        return Refusal.PAST if due is None else (schedule, due)

    def _next(self, schedule: Schedule) -> datetime | None:
        return rules.next_after(schedule.wall, schedule.zone, schedule.rule, self._clock.now())

    def _changing(self, old: Reminder) -> Reminder:
        """Return a reminder that is about to be changed by the person, with what it can be taken back to."""
        if not self.undo_within:
            return replace(old, changed_at=None, before=None)
        return replace(old, changed_at=self._clock.now(), before=Before(old.text, old.schedule, old.due, old.state))

    def _snoozed(self, old: Reminder, until: datetime) -> Reminder:
        """Return the reminder as due once, then."""
        wall = until.astimezone(ZoneInfo(old.schedule.zone)).replace(tzinfo=None)
        return _waiting(
            replace(self._changing(old), schedule=replace(old.schedule, wall=wall, rule="")), until.astimezone(UTC)
        )

    def _as_before(self, old: Reminder) -> Reminder:
        """Return what a reminder was before its last change; what was said since is not said again."""
        before = old.before
        if before is None:
            return replace(old, state=ReminderState.REMOVED)
        was_open = before.state in OPEN and old.state in {
            ReminderState.WAITING,
            ReminderState.SENDING,
            ReminderState.DONE,
        }
        is_said = old.sent_at is not None and old.changed_at is not None and old.sent_at >= old.changed_at
        is_put_off = before.text == old.text and before.due != old.due and not is_said
        same = before.schedule == old.schedule and before.state is not ReminderState.PAUSED
        if was_open and same and not is_put_off:
            return replace(old, text=before.text)  # only the words were changed: it went on meanwhile
        state = ReminderState.WAITING if before.state is ReminderState.SENDING else before.state
        back = replace(old, text=before.text, schedule=before.schedule, due=before.due, state=state, tries=0)
        if (
            state is ReminderState.WAITING
            and before.due is not None
            and old.sent_at is not None
            and old.sent_at >= before.due
        ):
            due = self._next(before.schedule)
            return replace(back, due=due, state=ReminderState.DONE if due is None else state)
        return back

    def _moved(self, old: Reminder, zone: str) -> Reminder | Refusal:
        schedule = replace(old.schedule, zone=zone, guessed=False)
        due = self._next(schedule) or rules.instant(schedule.wall, zone)  # one that has passed there is said at once
        return replace(old, schedule=schedule, due=due)

    def _can_undo(self, reminder: Reminder) -> bool:
        changed = reminder.changed_at
        return bool(self.undo_within) and changed is not None and changed >= self._clock.now() - self.undo_within

    async def _is_full(self, user: UserKey) -> bool:
        return len(await self.store.of(await self._memories.accounts(user))) >= self.limits.most

    def _shared(self, wanted: Iterable[Sequence[str]], text: str) -> int:
        """Return how many of the wanted words a text has, by their stems."""
        terms = set(index_terms([text]))
        return sum(not terms.isdisjoint(word) for word in wanted)


def is_heard(reminder: Reminder, place: ReminderPlace) -> bool:
    """Return whether a reminder may be spoken of there: anywhere in private, in a room only what was said there."""
    return place.private or (not reminder.private and _is_of(reminder, place.chat))


def may_reword(reminder: Reminder, place: ReminderPlace) -> bool:
    """Return whether its words may be changed there: in private if it was set so, else in its room."""
    return place.private if reminder.private else _is_of(reminder, place.chat)


def _is_of(reminder: Reminder, chat: ChatKey) -> bool:
    there = reminder.chat
    return (there.platform, there.chat) == (chat.platform, chat.chat) and there.thread in {"", chat.thread}


def _kept(text: str) -> str:
    """Return the words that are kept of a text, with an ellipsis if it was cut."""
    whole = clean(text)
    return whole if len(whole) <= MAX_TEXT_CHARS else f"{whole[: MAX_TEXT_CHARS - 1].rstrip()}…"


def _waiting(reminder: Reminder, due: datetime) -> Reminder:
    return replace(reminder, state=ReminderState.WAITING, due=due, tries=0, failures=0)
