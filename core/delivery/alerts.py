"""Alert the owners to trouble that only they can end: once when it begins, once when it is over, never a flood."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from contextvars import Context
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final, TypeAlias

from pydantic import TypeAdapter, ValidationError

from core.delivery.notifier import Notifier
from core.errors import Damaged, DiskFull, StorageDown, StorageError
from core.outgoing import OutgoingMessage
from core.ports import Clock
from core.stores import KeptStore
from core.tasks import first_of
from core.text.catalogue import cldr, counted, forms, text
from core.text.markdown import verbatim
from core.types import Locale, Localized, UserKey

KEPT_AS: Final = "alarms"
"""The name under which the alarms are kept."""

QUIET: Final = timedelta(hours=1)
"""How long after a notice no other beginning of the same alarm is told."""

SETTLE_S: Final = 5.0
"""How long after a platform was connected its owners are told of older alarms: what ended meanwhile is not told."""

_POST: Final = "post"
_LOOK_S: Final = 60.0
_RETRY_S: Final = 600.0
_NAMED: Final = 3
_TELLING: Final = timedelta(minutes=10)  # longer than any notice, with its repeats, takes
_WEEK: Final = timedelta(days=7)
_FAILURES_TO_ALERT: Final = 3

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Alarm:
    """One trouble, and who knows of it. Who is told is named `platform:user`, or `post` for the `Post`."""

    text: dict[Locale, str]
    since: datetime
    stops_answers: bool = False
    """Whether people go without answers as long as it is open."""
    places: dict[str, str] = field(default_factory=dict)
    """Where it is so, by an id: titles of rooms, "" for private chats. They stand for {places} in the text."""
    only_way: str = ""
    """The platform whose owners cannot be told while it is open: they are told of its end."""
    over_at: datetime | None = None
    """From when on it counts as over; None while nobody said so."""
    end: dict[Locale, str] | None = None
    """What is said when it is over, if anything."""
    told: set[str] = field(default_factory=set)
    """Who was told of its beginning, and not of its end."""
    telling: dict[str, datetime] = field(default_factory=dict)
    """Whom a worker is telling, and since when; one that died is replaced after `_TELLING`."""
    noticed: datetime | None = None
    """When anybody was last told anything of it."""
    quiet_until: datetime | None = None
    """Before when its present beginning is not told."""

    def is_over(self, now: datetime) -> bool:
        """Return whether it is over."""
        return self.over_at is not None and self.over_at <= now

    def is_past(self, now: datetime) -> bool:
        """Return whether it can be deleted: all who knew of it know that it is over, or nobody was told for a week."""
        age = now - (self.noticed or self.since)
        is_known = self.end is None or not self.told
        return age >= _WEEK or (self.is_over(now) and is_known and age >= QUIET)

    def due(self, whom: str, now: datetime) -> Localized | None:
        """Return what they are to be told now, if anything."""
        if whom in self.telling and abs(now - self.telling[whom]) < _TELLING:
            return None
        if self.is_over(now):
            return self.end if whom in self.told else None
        is_quiet = self.quiet_until is not None and now < self.quiet_until
        return None if is_quiet or whom in self.told else self.said()

    def said(self) -> Localized:
        """Return its text, with the places."""
        if not self.places:
            return self.text
        return {locale: text.replace("{places}", _named(self.places, locale)) for locale, text in self.text.items()}


Alarms: TypeAlias = dict[str, Alarm]
Change: TypeAlias = Callable[[Alarms], None]
Post: TypeAlias = Callable[[str], Awaitable[bool]]
"""Send a sentence to where the owner reads without the chat platforms, once; return whether it was taken."""


class _Book:
    """The alarms, as this process knows them. All workers keep them as one text in the `store`, if there is one.

    A change applies to this process at once; the next `sync` applies it again, to what the store holds by then.
    """

    def __init__(self) -> None:
        self.alarms: Alarms = {}
        self.store: KeptStore | None = None
        self.storage_failures = 0
        self._unsaved: list[Change] = []
        self._saving = asyncio.Lock()

    @property
    def is_cut_off(self) -> bool:
        """Whether the database failed so often that nothing waits for it."""
        return self.storage_failures >= _FAILURES_TO_ALERT

    def change(self, change: Change) -> None:
        """Change the alarms. With several workers `change` runs again on the store's thread."""
        change(self.alarms)
        self._unsaved.append(change)

    async def sync(self) -> None:
        """Store what was changed here, and load what others changed."""
        async with self._saving:
            if self.store is None:
                self._unsaved.clear()
            if self.store is None or self.is_cut_off:
                return
            changes, alarms = tuple(self._unsaved), Alarms()

            def replay(kept: str | None) -> str:
                nonlocal alarms
                alarms = read_alarms(kept)
                for change in changes:
                    change(alarms)
                return _FORM.dump_json(alarms).decode()

            try:
                if changes:
                    await self.store.change(KEPT_AS, replay)
                else:
                    alarms = read_alarms(await self.store.get(KEPT_AS))
            except StorageError as error:
                _log.warning("alarms not kept", extra={"error": type(error).__name__})
                return
            del self._unsaved[: len(changes)]
            for change in self._unsaved:
                change(alarms)
            self.alarms = alarms


class OwnerAlerts:
    """Alarms, each under a key of fixed words. `owners` are those to be told, each in their language.

    Owners whose platform is not connected are told when it is. Of several workers, one tells each owner.
    """

    def __init__(
        self, owners: Callable[[], Awaitable[Mapping[UserKey, Locale]]], notifier: Notifier, clock: Clock
    ) -> None:
        self._owners = owners
        self._notifier = notifier
        self._clock = clock
        self._book = _Book()
        self._post: Post | None = None
        self._known: Mapping[UserKey, Locale] = {}
        self._resting: dict[str, float] = {}  # who could not be told is left alone until then
        self._changed = asyncio.Event()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        notifier.on_connect(self._connected)

    async def keep_in(self, store: KeptStore, post: Post | None = None) -> None:
        """Load the alarms that are kept there, and keep them there; tell `post`, too, in the first owner's language."""
        self._book.store, self._post = store, post
        await self.catch_up()

    async def catch_up(self) -> None:
        """Load what other workers opened, closed and told; tell the owners whom they could not reach."""
        await self._book.sync()
        self._look_soon()

    def open_now(self) -> Alarms:
        """Return the alarms that are not over, by their keys."""
        return open_alarms(self._book.alarms, self._clock.now())

    def tell(
        self,
        key: str,
        text: Localized,
        *,
        stops_answers: bool = False,
        place: tuple[str, str] | None = None,
        only_way: str = "",
        settle_s: float = 0.0,
    ) -> None:
        """Open an alarm, or bring its text up to date; every owner is told once, when `settle_s` have passed.

        The text says what happened and what to do, without secrets or people's words. An alarm that was told within
        the hour is told when that has passed, if it is open then. Opening is a line of the log: an error, if it
        `stops_answers`. `place` is the id and the title of one more place where it is so: see `Alarm.places`; for
        `only_way` see there, too.
        """
        words, now, known = dict(text), self._clock.now(), self._book.alarms.get(key)
        is_known = known and known.over_at is None and (known.text, known.stops_answers) == (words, stops_answers)
        if known and is_known and (place is None or place[0] in known.places):
            return
        if known is None or known.is_over(now):
            event = f"alarm {key}"  # no arguments: each key is a kind of its own for /admin logs
            _log.log(logging.ERROR if stops_answers else logging.WARNING, event)

        def begin(alarms: Alarms) -> None:
            if key not in alarms:
                alarms[key] = Alarm(words, now, quiet_until=now + timedelta(seconds=settle_s))
            alarm = alarms[key]
            if alarm.is_over(now):
                alarm.since, alarm.places = now, {}
                alarm.quiet_until = max(
                    now + timedelta(seconds=settle_s), min(alarm.noticed, now) + QUIET if alarm.noticed else now
                )
                if alarm.end is None:  # nobody waits for the end of what was before
                    alarm.told.clear()
            alarm.text, alarm.stops_answers, alarm.over_at, alarm.end = words, stops_answers, None, None
            alarm.only_way = only_way
            alarm.places |= {} if place is None else {place[0]: place[1]}

        self._change(begin)

    def over_in(self, key: str, place: str) -> None:
        """Take a place out of an alarm; the last one closes it."""
        known = self._book.alarms.get(key)
        if known is None or place not in known.places:
            return
        if len(known.places) == 1:
            self.over(key)
            return

        def leave(alarms: Alarms) -> None:
            if (alarm := alarms.get(key)) is not None:
                alarm.places.pop(place, None)

        self._change(leave)

    def over(self, key: str, text: Localized | None = None, *, settle_s: float = 0.0) -> None:
        """Close an alarm, if it is open, unless it is opened again within `settle_s`.

        With a `text`, everybody who was told of it is told that.
        """
        at, known = self._clock.now() + timedelta(seconds=settle_s), self._book.alarms.get(key)
        if known is None or known.is_over(at):
            return
        event = f"alarm over {key}"
        _log.info(event)
        words = None if text is None else dict(text)

        def end(alarms: Alarms) -> None:
            if (alarm := alarms.get(key)) is not None and not alarm.is_over(at):
                alarm.over_at, alarm.end, alarm.stops_answers = at, words, False

        self._change(end)

    def storage_away(self, *, speaks: bool) -> None:
        """Alert the owners to a database server that is away, if this worker `speaks` for all of them.

        Until `storage_written` the alarms are those of this process: nothing waits for the database.
        """
        self._book.storage_failures = _FAILURES_TO_ALERT
        if speaks:
            self.tell(_AWAY, IS_AWAY, stops_answers=True)

    def storage_failed(self, error: StorageError) -> None:
        """Log the error; alert the owners to a full disk, and a database that is damaged or refuses again and again.

        A server that is away is watched elsewhere (`storage_away`).
        """
        is_grave = isinstance(error, Damaged | DiskFull)
        _log.log(logging.ERROR if is_grave else logging.WARNING, "storage: %s", error)
        if isinstance(error, Damaged):
            self.tell(DAMAGED, IS_DAMAGED, stops_answers=True)
        elif isinstance(error, DiskFull):
            self.tell(_FULL, IS_FULL, stops_answers=True)
        elif not isinstance(error, StorageDown):
            self._book.storage_failures += 1
            if self._book.is_cut_off:
                self.tell(_UNREACHABLE, UNREACHABLE, stops_answers=True)

    def storage_written(self) -> None:
        """Close the alarms that a successful write disproves; that of a damaged database the daily check closes."""
        self._book.storage_failures = 0
        for key, words in ((_AWAY, REACHABLE), (_UNREACHABLE, REACHABLE), (_FULL, HAS_ROOM)):
            self.over(key, words)

    async def close(self, within_s: float = 0.0) -> None:
        """Tell what is due, within that time, and end."""
        if within_s and (sending := await self._send_all()):
            await asyncio.wait(sending, timeout=within_s)
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await self._book.sync()

    def _change(self, change: Change) -> None:
        self._book.change(change)
        self._look_soon()

    def _connected(self) -> None:
        self._resting.clear()
        self._start("connected", self._tell_connected())

    async def _tell_connected(self) -> None:
        await self._learn_owners()  # also without alarms: the database may be damaged later
        if self._book.alarms or self._book.store is not None:
            await self._clock.sleep(SETTLE_S)
            self._look_soon()

    async def _learn_owners(self) -> None:
        """Load the owners; keep those known from before while the database cannot be read."""
        if not self._known or not self._book.is_cut_off:
            try:
                self._known = await self._owners()
            except StorageError as error:
                _log.warning("owners not read", extra={"error": type(error).__name__})

    def _look_soon(self) -> None:
        self._changed.set()
        self._start("looking", self._look())

    async def _look(self) -> None:
        """Tell owners what they do not know yet: after each change, and each minute while there are alarms."""
        while self._changed.is_set() or self._book.alarms:
            self._changed.clear()
            now = self._clock.now()
            if any(alarm.is_past(now) for alarm in self._book.alarms.values()):
                self._book.change(partial(_forget, now))
            await self._send_all()
            if self._book.alarms:
                await first_of(self._changed.wait(), self._clock.sleep(_LOOK_S))

    async def _send_all(self) -> Collection[asyncio.Task[None]]:
        """Start a task for each owner who has something to be told: a chat that hangs delays no other owner."""
        await self._book.sync()
        if self._book.alarms:
            await self._learn_owners()
        people = {f"{user.platform}:{user.user}": user for user in self._known}
        self._pass_over(people)
        whom = [name for name, user in people.items() if user.platform in self._notifier.platforms]
        whom += [_POST] * (self._post is not None)
        now_s = self._clock.monotonic()
        return [
            self._start(each, self._tell(each, people.get(each)))
            for each in whom
            if self._resting.get(each, 0.0) <= now_s and self._next_due(each)
        ]

    def _pass_over(self, people: Mapping[str, UserKey]) -> None:
        """Have those told of the end of an alarm who could not be told of it, as it cut them off, for a minute."""
        long_ago = self._clock.now() - timedelta(seconds=_LOOK_S)
        for key, alarm in self.open_now().items():
            there = {name for name, user in people.items() if user.platform == alarm.only_way} - alarm.told
            if there and alarm.since <= long_ago:
                self._book.change(partial(_passed_over, key, there))

    def _next_due(self, whom: str) -> str:
        """Return the key of the next alarm of which they are to be told something; "" if there is none."""
        now = self._clock.now()
        return next((key for key, alarm in self._book.alarms.items() if alarm.due(whom, now)), "")

    async def _tell(self, whom: str, user: UserKey | None) -> None:
        """Tell one of them all that is due, one after another; None is the post."""
        while key := self._next_due(whom):
            if (claimed := await self._claim(key, whom)) is None:
                continue
            words, is_end = claimed
            arrived = False
            try:
                arrived = await self._send(user, words)
            finally:
                self._book.change(partial(_told, key, whom, self._clock.now(), arrived=arrived, is_end=is_end))
            await self._book.sync()
            if not arrived:
                self._resting[whom] = self._clock.monotonic() + _RETRY_S
                return

    async def _claim(self, key: str, whom: str) -> tuple[Localized, bool] | None:
        """Return what to tell them, and whether it is the end of the alarm; None if another worker tells them."""
        claimed: tuple[Localized, bool] | None = None
        now = self._clock.now()

        def claim(alarms: Alarms) -> None:
            nonlocal claimed
            claimed, alarm = None, alarms.get(key)
            if alarm is not None and (words := alarm.due(whom, now)):
                alarm.telling[whom] = now
                claimed = words, alarm.is_over(now)

        self._book.change(claim)
        await self._book.sync()
        return claimed

    async def _send(self, user: UserKey | None, words: Localized) -> bool:
        if user is not None:
            return await self._notifier.tell(user, OutgoingMessage(words[self._known.get(user, Locale.EN)]))
        first = next(iter(self._known.values()), Locale.EN)
        return self._post is not None and await self._post(words[first])

    def _start(self, name: str, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Begin a work, unless one of that name is under way. It belongs to no turn, and is done under no claim."""
        if name in self._tasks and not self._tasks[name].done():
            work.close()
        else:
            self._tasks[name] = asyncio.get_running_loop().create_task(work, context=Context())
        return self._tasks[name]


def read_alarms(kept: str | None) -> Alarms:
    """Return the alarms of a text that was kept; none if it cannot be read."""
    try:
        return _FORM.validate_json(kept or "{}")
    except ValidationError as error:
        _log.warning("alarms not read", extra={"error": type(error).__name__})
        return {}


def open_alarms(alarms: Alarms, now: datetime) -> Alarms:
    """Return those that are not over."""
    return {key: alarm for key, alarm in alarms.items() if not alarm.is_over(now)}


def _named(places: Mapping[str, str], locale: Locale) -> str:
    """Return where an alarm is so: up to three rooms by their titles, the others and private chats by their number."""
    from babel.lists import format_list  # loaded by the first alarm of places, not by the start

    titles = [title for title in places.values() if title]
    named = [ROOM[locale].format(room=verbatim(title)) for title in titles[:_NAMED]]
    more, private = len(titles) - len(named), len(places) - len(titles)
    named += [counted(MORE, locale, more)] * bool(more) + [counted(PRIVATE, locale, private)] * bool(private)
    return format_list(named, locale=cldr(locale.value))


def _forget(now: datetime, alarms: Alarms) -> None:
    for key in [key for key, alarm in alarms.items() if alarm.is_past(now)]:
        del alarms[key]


def _told(key: str, whom: str, now: datetime, alarms: Alarms, *, arrived: bool, is_end: bool) -> None:
    """Record that this worker is done telling them and, if it `arrived`, what they know now."""
    if (alarm := alarms.get(key)) is None:
        return
    alarm.telling.pop(whom, None)
    if arrived:
        alarm.noticed = now
        alarm.told = alarm.told - {whom} if is_end else alarm.told | {whom}


def _passed_over(key: str, people: Collection[str], alarms: Alarms) -> None:
    if key in alarms:
        alarms[key].told.update(people)


_FORM: Final = TypeAdapter(Alarms)

ROOM = text("alerts.places.room")
MORE = forms("alerts.places.more")
PRIVATE = forms("alerts.places.private")
DAMAGED: Final = "database-damaged"
_AWAY, _FULL, _UNREACHABLE = "database-away", "disk-full", "database-unreachable"
IS_DAMAGED = text("disk.is_damaged")
IS_SOUND = text("alerts.damage_over")
IS_FULL = text("disk.is_full")
HAS_ROOM = text("disk.has_room")
UNREACHABLE = text("alerts.unreachable")
IS_AWAY = text("alerts.away")
REACHABLE = text("alerts.reachable")
