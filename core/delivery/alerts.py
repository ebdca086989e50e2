"""Alert the owners to trouble that only they can end: once when it begins, once when it is over, never a flood."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol, TypeAlias

from core.claims import unclaimed
from core.delivery.notifier import Delivery, Notifier
from core.errors import Damaged, DiskFull, StorageDown, StorageError
from core.outgoing import OutgoingMessage
from core.ports import Clock
from core.text.catalogue import text
from core.types import Locale, Localized, UserKey

QUIET_S: Final = 3600.0
"""How long after a notice nothing more is said of the same alarm, in seconds, unless it is the end of what was told."""

SETTLE_S: Final = 5.0
"""How long after a platform was connected its owners are told of older alarms: what ended meanwhile is not told."""

_POST_WAITS_S: Final = (0.0, 30.0, 300.0)
_POST: Final = "post"
_TELLING_S: Final = 600.0  # longer than any notice, with its repeats, takes
_FAILURES_TO_ALERT: Final = 3
_KEPT: Final = timedelta(days=7)

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Alarm:
    """One trouble: its sentence, and who knows of it. `since` is None once it is over; `end` is the sentence for that.

    `told` are the owners who were told and do not know of its end; `posted` says the same of the `Post`. `noticed` is
    the time of the last notice to anybody. `stops_answers` says that people go without answers as long as it is open.
    The alarm was opened `openings` times; `announced` is the last of them that
    there was a notice of. `telling` is whom a worker is telling, and since when.
    """

    text: dict[Locale, str]
    since: datetime | None
    noticed: datetime | None = None
    openings: int = 0
    announced: int = 0
    told: set[UserKey] = field(default_factory=set)
    posted: bool = False
    end: dict[Locale, str] | None = None
    telling: dict[str, datetime] = field(default_factory=dict)
    stops_answers: bool = False


@dataclass(frozen=True, slots=True)
class OpenAlarm:
    """An alarm that is not over, for those who ask what is the matter."""

    key: str
    since: datetime
    text: Localized
    stops_answers: bool


Alarms: TypeAlias = dict[str, Alarm]
Change: TypeAlias = Callable[[Alarms], None]


class AlarmBook(Protocol):
    """Port: the alarms that all workers keep together, over restarts."""

    async def change(self, change: Change) -> Alarms:
        """Change what is kept, with no other worker in between, and return it; empty if it cannot be read.

        `change` may be called on another thread, and again with what is kept by then.

        Raises:
            StorageError: it could not be done.
        """
        ...


Post: TypeAlias = Callable[[str], Awaitable[bool]]
"""Send a sentence to where the owner reads without the chat platforms, once; return whether it was taken."""


class OwnerAlerts:
    """Alarms, each under a key of fixed words. Owners whose platform is not connected yet are told when it is.

    An alarm that opens again within QUIET_S of its last notice is told when that time is over, if it is open then.
    `keep_in` gives them a book. What is opened or closed here counts at once, and is brought into the book before
    anybody is told; whom one worker tells, no other does. Without the book, and while it cannot be reached, the alarms
    are those of this process.
    """

    def __init__(
        self,
        owners: Callable[[], Awaitable[Collection[UserKey]]],
        notifier: Notifier,
        locale_of: Callable[[UserKey], Awaitable[Locale]],
        clock: Clock,
    ) -> None:
        self._owners = owners
        self._notifier = notifier
        self._locale_of = locale_of
        self._clock = clock
        self._alarms: Alarms = {}
        self._unsaved: list[Change] = []
        self._saving = asyncio.Lock()
        self._noted: dict[str, tuple[int, bool]] = {}  # what this worker has tried to tell: openings, is it open
        self._telling: set[tuple[str, str]] = set()
        self._gone: set[UserKey] = set()
        self._book: AlarmBook | None = None
        self._post: Post | None = None
        self._locale = Locale.EN
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: dict[str, asyncio.Task[None]] = {}
        self._storage_failures = 0
        self._known: dict[UserKey, Locale] = {}  # the owners, for when the database cannot be asked
        notifier.on_connect(self._connected)

    async def keep_in(self, book: AlarmBook | None, post: Post | None = None, locale: Locale | None = None) -> None:
        """Go on with the alarms of the book and keep all in it; tell `post`, too, in the first owner's language.

        `locale` is the language of `post` while nobody owns the bot. Alarms older than a week are dropped: if they are
        still true, they are told once more.
        """
        self._book, self._post, self._locale = book, post, locale or self._locale
        known, oldest = deepcopy(self._alarms), self._clock.now() - _KEPT

        def begin(alarms: Alarms) -> None:
            for key in [key for key, each in alarms.items() if (each.since or each.noticed or oldest) <= oldest]:
                del alarms[key]
            for key, alarm in known.items():
                alarms.setdefault(key, deepcopy(alarm))

        self._unsaved = [begin]
        await self._agree()

    async def catch_up(self) -> None:
        """Learn what other workers opened, closed and told; tell the owners whom they could not reach."""
        if self._book is None:
            return
        with suppress(StorageError):
            await self._known_owners()
        self._change(_nothing)
        await self._agree()
        for key, alarm in tuple(self._alarms.items()):
            if self._noted.get(key) != _state(alarm):
                self._later(self._notify(key))
                self._later(self._notify_end(key))

    def open_now(self) -> Sequence[OpenAlarm]:
        """Return the alarms that are not over, the oldest first."""
        return open_alarms(self._alarms)

    async def tell(
        self, key: str, text: Localized, *, about: str = "", level: int = logging.ERROR, stops_answers: bool = False
    ) -> None:
        """Open the alarm `key` and tell every owner who can be reached; nobody is told twice while it is open.

        The text says what happened and what to do, without secrets or people's words. Opening is a line of the log at
        that level, which names the key and what it is `about`: a model, a platform. A bot with an alarm that
        `stops_answers` is not well (`elefante status`).

        Raises:
            StorageError: the list of owners cannot be read, and never was.
        """
        self._open(key, text, about, level, stops_answers)
        await self._notify(key)

    async def over(self, key: str, text: Localized | None = None) -> None:
        """Close an alarm, if it is open; with a `text`, tell those who were told of it."""
        if self._close(key, text):
            await self._notify_end(key)

    def tell_soon(
        self, key: str, text: Localized, *, about: str = "", level: int = logging.ERROR, stops_answers: bool = False
    ) -> None:
        """Open the alarm at once, as `tell`, and tell the owners in a task: a chat that hangs holds nobody up."""
        self._open(key, text, about, level, stops_answers)
        self._later(self._notify(key))

    def over_soon(self, key: str, text: Localized | None = None, *, settle_s: float = 0.0) -> None:
        """Close the alarm at once, as `over`; tell the owners in a task, after `settle_s` if it is not open again."""
        if not self._close(key, text):
            return
        if settle_s:
            self._after(f"end of {key}", settle_s, partial(self._notify_end, key))
        else:
            self._later(self._notify_end(key))

    def report_soon(self, key: str, text: Localized) -> None:
        """Tell owners of what is past already: an alarm that ends by itself after QUIET_S, and ends the one before."""
        self.over_soon(key)
        self.tell_soon(key, text, level=logging.WARNING)
        self._after(f"end of {key}", QUIET_S, partial(self.over, key))

    def storage_away(self, *, speaks: bool) -> None:
        """Alert the owners to a database server that is away, if this worker `speaks` for all of them.

        Until `storage_written` the alarms are those of this process: nothing waits for the database.
        """
        self._storage_failures = _FAILURES_TO_ALERT
        if speaks:
            self.tell_soon(_AWAY, IS_AWAY, stops_answers=True)

    def storage_failed(self, error: StorageError) -> None:
        """Log the error; alert the owners to a full disk, and a database that is damaged or refuses again and again.

        A server that is away is watched elsewhere (`storage_away`).
        """
        is_known = isinstance(error, Damaged | DiskFull)
        _log.log(logging.ERROR if is_known else logging.WARNING, "storage: %s", error)
        if isinstance(error, StorageDown):
            return
        self._storage_failures += not is_known
        if isinstance(error, Damaged):
            self.tell_soon(DAMAGED, IS_DAMAGED, stops_answers=True)
        elif isinstance(error, DiskFull):
            self.tell_soon(_FULL, IS_FULL, stops_answers=True)
        elif self._storage_failures >= _FAILURES_TO_ALERT:
            self.tell_soon(_UNREACHABLE, UNREACHABLE, stops_answers=True)

    def storage_written(self) -> None:
        """Close the alarms for a full disk and a database that refuses, after a successful write."""
        self._storage_failures = 0
        self.over_soon(_FULL, HAS_ROOM)
        self.over_soon(_UNREACHABLE, REACHABLE)
        self.over_soon(_AWAY, REACHABLE)

    async def close(self, within_s: float = 0.0) -> None:
        """Let notices under way end, for so long at most; cancel what waits for its time."""
        for timer in self._timers.values():
            timer.cancel()
        if self._tasks and within_s:
            await asyncio.wait(self._tasks, timeout=within_s)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, *self._timers.values(), return_exceptions=True)
        await self._agree()

    # --- the alarms, here and in the book ---

    def _change(self, change: Change) -> None:
        """Change the alarms here at once, and in the book with the next `_agree`."""
        change(self._alarms)
        self._unsaved.append(change)

    async def _agree(self) -> None:
        """Bring what was changed here into the book, and learn what is in it; do nothing if nothing was changed."""
        async with self._saving:
            changes, now = tuple(self._unsaved), self._clock.now()
            if not changes or self._storage_failures >= _FAILURES_TO_ALERT:
                return
            try:
                alarms = await self._save(partial(_all, changes, now))
            except StorageError as error:
                _log.warning("alarms not kept", extra={"error": type(error).__name__})
                return
            del self._unsaved[: len(changes)]
            for change in self._unsaved:
                change(alarms)
            self._alarms = alarms

    async def _save(self, change: Change) -> Alarms:
        if self._book is not None:
            return await self._book.change(change)
        _trim(self._alarms, self._clock.now())
        return self._alarms

    def _open(self, key: str, text: Localized, about: str, level: int, stops_answers: bool) -> None:
        words, now = {locale: text[locale] for locale in Locale}, self._clock.now()
        if (known := self._alarms.get(key)) is None or known.since is None:
            event = f"alarm {key}" + (f" ({about})" if about else "")
            _log.log(level, event)  # no arguments: each key is a kind of its own for /admin logs

        def begin(alarms: Alarms) -> None:
            alarm = alarms.setdefault(key, Alarm(words, None))
            alarm.text, alarm.stops_answers = words, stops_answers
            if alarm.since is None:
                if alarm.end is None:  # nobody waits for the end of what was before
                    alarm.told.clear()
                alarm.since, alarm.end = now, None
                alarm.openings += 1

        self._change(begin)

    def _close(self, key: str, text: Localized | None) -> bool:
        """Close an open alarm; return whether its end is to be told."""
        if (known := self._alarms.get(key)) is None or known.since is None:
            return False
        event = f"alarm over {key}"
        _log.info(event)
        words = {locale: text[locale] for locale in Locale} if text is not None else None

        def end(alarms: Alarms) -> None:
            alarm = alarms.get(key)
            if alarm is None or alarm.since is None:
                return
            alarm.since, alarm.end = None, words
            if words is None:
                alarm.told.clear()
                alarm.posted = False

        self._change(end)
        if words is None:
            self._later(self._agree())
        return words is not None

    @asynccontextmanager
    async def _alone(self, key: str, whom: str, wanted: Callable[[Alarm], bool]) -> AsyncIterator[Alarm | None]:
        """While the block runs, no other task or worker tells `whom` of that alarm.

        It gives a copy of the alarm, or None if that is not `wanted` any more, or somebody else is at it.
        """
        if (key, whom) in self._telling:
            yield None
            return
        self._telling.add((key, whom))
        now, claimed = self._clock.now(), None

        def claim(alarms: Alarms) -> None:
            nonlocal claimed
            alarm, claimed = alarms.get(key), None
            if alarm is not None and wanted(alarm) and not _is_fresh(alarm.telling.get(whom), now):
                alarm.telling[whom], claimed = now, deepcopy(alarm)

        def release(alarms: Alarms) -> None:
            if (alarm := alarms.get(key)) is not None:
                alarm.telling.pop(whom, None)

        try:
            self._change(claim)
            await self._agree()
            if claimed is None:
                yield None
                return
            try:
                yield claimed
            finally:
                self._change(release)
        finally:
            self._telling.discard((key, whom))
        await self._agree()

    def _announce(self, key: str, opening: int, learned: Callable[[Alarm], None]) -> None:
        """Record that there was a notice of that opening, and who learned of it."""
        now = self._clock.now()

        def announce(alarms: Alarms) -> None:
            if (alarm := alarms.get(key)) is not None:
                alarm.announced, alarm.noticed = max(opening, alarm.announced), now
                learned(alarm)

        self._change(announce)

    # --- telling ---

    async def _notify(self, key: str) -> None:
        """Tell those who do not know yet of an open alarm, or let a timer do it when the quiet time is over."""
        await self._agree()
        alarm = self._alarms.get(key)
        if alarm is None or alarm.since is None:
            return
        self._noted[key] = _state(alarm)
        if wait_s := self._quiet_s(alarm):
            self._after(key, wait_s, partial(self._notify, key))
            return
        if self._post is not None and not alarm.posted:
            self._later(self._send(key))
        unknowing = [user for user in await self._known_owners() if user not in alarm.told]
        await asyncio.gather(*(self._tell(key, user) for user in unknowing))

    async def _tell(self, key: str, user: UserKey) -> None:
        if user in self._gone or user.platform not in self._notifier.platforms:
            return

        def is_news(alarm: Alarm) -> bool:
            return alarm.since is not None and user not in alarm.told and not self._quiet_s(alarm)

        # Another notice, or another worker's, may have reached them since it was found that they do not know; or the
        # alarm ended meanwhile, and is open anew.
        async with self._alone(key, _name(user), is_news) as alarm:
            if alarm is None:
                self._try_again(key, _name(user))
                return
            if not await self._arrives(user, alarm.text):
                return
            self._announce(key, alarm.openings, lambda alarm: alarm.told.add(user))
        if (alarm := self._alarms.get(key)) is not None and alarm.since is None:  # it ended while they were being told
            await self._notify_end(key)

    def _try_again(self, key: str, whom: str) -> None:
        """Look again at a notice that another worker has begun: it may have died meanwhile."""
        alarm = self._alarms.get(key)
        if alarm is not None and whom in alarm.telling and (key, whom) not in self._telling:
            self._after(f"{key} by another worker", _TELLING_S, partial(self._notify, key))

    async def _notify_end(self, key: str) -> None:
        """Tell those who were told of an alarm that it is over, as far as they can be reached now."""
        await self._agree()
        alarm = self._alarms.get(key)
        if alarm is None or alarm.since is not None or alarm.end is None:
            return
        self._noted[key] = _state(alarm)
        if alarm.posted:
            self._later(self._send_end(key))
        await asyncio.gather(*(self._tell_end(key, user) for user in tuple(alarm.told)))

    async def _tell_end(self, key: str, user: UserKey) -> None:
        if user.platform not in self._notifier.platforms:
            return
        async with self._alone(key, _name(user), lambda alarm: alarm.since is None and user in alarm.told) as alarm:
            if alarm is None or alarm.end is None or not await self._arrives(user, alarm.end):
                return
            self._announce(key, alarm.announced, lambda alarm: alarm.told.discard(user))

    async def _known_owners(self) -> Collection[UserKey]:
        """Return the owners; those that are known from before while the database cannot be reached."""
        if not self._known or self._storage_failures < _FAILURES_TO_ALERT:
            self._known = {user: await self._locale_of(user) for user in await self._owners()}
        return self._known

    async def _arrives(self, user: UserKey, words: Localized) -> bool:
        """Send the words to an owner; return whether they arrived. Who let the bot write no more is left alone."""
        delivery = await self._notifier.write(
            user, None, OutgoingMessage(words[self._known.get(user) or await self._locale_of(user)])
        )
        if delivery is Delivery.GONE:
            self._gone.add(user)
        return delivery is Delivery.ARRIVED

    def _quiet_s(self, alarm: Alarm) -> float:
        """Return how long nothing is to be said of this opening; 0.0 also if the wall clock was set back."""
        if alarm.noticed is None or alarm.announced >= alarm.openings:
            return 0.0
        past_s = (self._clock.now() - alarm.noticed).total_seconds()
        return QUIET_S - past_s if 0.0 <= past_s < QUIET_S else 0.0

    def _after(self, timer: str, wait_s: float, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Do something later, in place of what was put off under the same name."""

        async def waited() -> None:
            await self._clock.sleep(wait_s)
            del self._timers[timer]
            await self._contained(work())

        if timer in self._timers:
            self._timers[timer].cancel()
        with unclaimed():
            self._timers[timer] = asyncio.get_running_loop().create_task(waited())

    async def _send(self, key: str) -> None:
        """Post the text of an alarm, again after a while if it was not taken, as long as the alarm is open."""
        async with self._alone(key, _POST, lambda alarm: alarm.since is not None and not alarm.posted) as alarm:
            if alarm is None:
                return
            self._announce(key, alarm.openings, _know)
            for wait_s in _POST_WAITS_S:
                await self._clock.sleep(wait_s)
                if (present := self._alarms.get(key)) is None or present.since != alarm.since:
                    return
                if await self._posted(alarm.text):
                    self._announce(key, alarm.openings, _know_by_post)
                    return

    async def _send_end(self, key: str) -> None:
        async with self._alone(key, _POST, lambda alarm: alarm.since is None and alarm.posted) as alarm:
            if alarm is None or alarm.end is None:
                return
            self._announce(key, alarm.announced, _forget_post)
            for wait_s in _POST_WAITS_S:
                await self._clock.sleep(wait_s)
                if await self._posted(alarm.end):
                    return

    async def _posted(self, words: Localized) -> bool:
        locale = self._locale
        with suppress(StorageError):
            for owner in list(await self._owners())[:1]:
                locale = await self._locale_of(owner)
        return self._post is not None and await self._post(words[locale])

    def _connected(self) -> None:
        self._later(self._tell_again())

    async def _tell_again(self) -> None:
        self._gone.clear()
        for owner in await self._owners():  # read also without alarms: both may be damaged later
            await self._locale_of(owner)
        if not self._alarms and self._book is None:
            return
        await self._clock.sleep(SETTLE_S)
        for key in tuple(self._alarms):
            self._later(self._notify(key))
            self._later(self._notify_end(key))

    def _later(self, work: Coroutine[None, None, None]) -> None:
        with unclaimed():  # it outlives the turn that it was told of
            task = asyncio.get_running_loop().create_task(self._contained(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @staticmethod
    async def _contained(work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except StorageError as error:
            _log.warning("owners not told", extra={"error": type(error).__name__})


def open_alarms(alarms: Alarms) -> Sequence[OpenAlarm]:
    """Return those that are not over, the oldest first."""
    found = [OpenAlarm(key, a.since, a.text, a.stops_answers) for key, a in alarms.items() if a.since is not None]
    return sorted(found, key=lambda alarm: alarm.since)


def _all(changes: Sequence[Change], now: datetime, alarms: Alarms) -> None:
    for change in changes:
        change(alarms)
    _trim(alarms, now)


def _trim(alarms: Alarms, now: datetime) -> None:
    """Forget the alarms that are over, known to be, and out of their quiet time."""
    for key, alarm in tuple(alarms.items()):
        if alarm.since is not None or any(_is_fresh(since, now) for since in alarm.telling.values()):
            continue
        limit = _KEPT if alarm.told or alarm.posted else timedelta(seconds=QUIET_S)
        if alarm.noticed is None or alarm.noticed < now - limit:
            del alarms[key]


def _is_fresh(since: datetime | None, now: datetime) -> bool:
    """Return whether a worker that began to tell somebody then may still be at it."""
    return since is not None and timedelta(0) <= now - since < timedelta(seconds=_TELLING_S)


def _state(alarm: Alarm) -> tuple[int, bool]:
    return alarm.openings, alarm.since is not None


def _name(user: UserKey) -> str:
    return f"{user.platform}:{user.user}"


def _nothing(_: Alarms) -> None:
    pass


def _know(_: Alarm) -> None:
    pass


def _know_by_post(alarm: Alarm) -> None:
    alarm.posted = True


def _forget_post(alarm: Alarm) -> None:
    alarm.posted = False


IS_DAMAGED = text("disk.is_damaged")
IS_SOUND = text("alerts.damage_over")
IS_FULL = text("disk.is_full")
HAS_ROOM = text("disk.has_room")
UNREACHABLE = text("alerts.unreachable")
IS_AWAY = text("alerts.away")
REACHABLE = text("alerts.reachable")
DAMAGED: Final = "database-damaged"
_FULL, _UNREACHABLE, _AWAY = "disk-full", "database-unreachable", "database-away"
