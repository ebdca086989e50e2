"""Alert the owners to trouble that only they can end: once when it begins, once when it is over, never a flood."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol, TypeAlias

from core.delivery.notifier import Delivery, Notifier
from core.errors import Damaged, DiskFull, StorageError
from core.outgoing import OutgoingMessage
from core.ports import Clock
from core.text.catalogue import text
from core.types import Locale, Localized, UserKey

QUIET_S: Final = 3600.0
"""How long after a notice nothing more is said of the same alarm, in seconds, unless it is the end of what was told."""

SETTLE_S: Final = 5.0
"""How long after a platform was connected its owners are told of older alarms: what ended meanwhile is not told."""

_POST_WAITS_S: Final = (0.0, 30.0, 300.0)
_FAILURES_TO_ALERT: Final = 3
_KEPT: Final = timedelta(days=7)

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Alarm:
    """One trouble: its sentence, and who knows of it. `since` is None once it is over; `end` is the sentence for that.

    `told` are the owners who were told and do not know of its end; `posted` says the same of the `Post`. `noticed` is
    the time of the last notice to anybody. The alarm was opened `openings` times; `announced` is the last of them that
    there was a notice of.
    """

    text: dict[Locale, str]
    since: datetime | None
    noticed: datetime | None = None
    openings: int = 0
    announced: int = 0
    told: set[UserKey] = field(default_factory=set)
    posted: bool = False
    end: dict[Locale, str] | None = None


@dataclass(frozen=True, slots=True)
class OpenAlarm:
    """An alarm that is not over, for those who ask what is the matter."""

    key: str
    since: datetime
    text: Localized


class AlarmBook(Protocol):
    """Port: alarms kept over a restart. Neither method fails; a book that cannot be read is empty."""

    def load(self) -> dict[str, Alarm]:
        """Return what was saved last."""
        ...

    def save(self, alarms: Mapping[str, Alarm]) -> None:
        """Keep these in place of what was saved before."""
        ...


Post: TypeAlias = Callable[[str], Awaitable[bool]]
"""Send a sentence to where the owner reads without the chat platforms, once; return whether it was taken."""


class OwnerAlerts:
    """Alarms, each under a key of fixed words. Owners whose platform is not connected yet are told when it is.

    An alarm that opens again within QUIET_S of its last notice is told when that time is over, if it is open then.
    Alarms are held in RAM until `keep_in` gives them a book.
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
        self._alarms: dict[str, Alarm] = {}
        self._telling: set[tuple[str, UserKey]] = set()
        self._gone: set[UserKey] = set()
        self._book: AlarmBook | None = None
        self._post: Post | None = None
        self._locale = Locale.EN
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: dict[str, asyncio.Task[None]] = {}
        self._posting: set[str] = set()
        self._storage_failures = 0
        notifier.on_connect(self._connected)

    def keep_in(self, book: AlarmBook | None, post: Post | None = None, locale: Locale | None = None) -> None:
        """Go on with the alarms of the book and keep all in it; tell `post`, too, in the first owner's language.

        `locale` is the language of `post` while nobody owns the bot. Alarms older than a week are dropped: if they are
        still true, they are told once more.
        """
        self._book, self._post, self._locale = book, post, locale or self._locale
        oldest = self._clock.now() - _KEPT
        for key, alarm in (book.load() if book is not None else {}).items():
            if (alarm.since or alarm.noticed or oldest) > oldest:
                self._alarms.setdefault(key, alarm)

    def open_now(self) -> Sequence[OpenAlarm]:
        """Return the alarms that are not over, the oldest first."""
        alarms = [OpenAlarm(key, each.since, each.text) for key, each in self._alarms.items() if each.since is not None]
        return sorted(alarms, key=lambda alarm: alarm.since)

    async def tell(self, key: str, text: Localized, *, about: str = "", level: int = logging.ERROR) -> None:
        """Open the alarm `key` and tell every owner who can be reached; nobody is told twice while it is open.

        The text says what happened and what to do, without secrets or people's words. Opening is a line of the log at
        that level, which names the key and what it is `about`: a model, a platform.

        Raises:
            StorageError: the list of owners cannot be read, and never was.
        """
        self._open(key, text, about, level)
        await self._notify(key)

    async def over(self, key: str, text: Localized | None = None) -> None:
        """Close an alarm, if it is open; with a `text`, tell those who were told of it."""
        if self._close(key, text):
            await self._notify_end(key)

    def tell_soon(self, key: str, text: Localized, *, about: str = "", level: int = logging.ERROR) -> None:
        """Open the alarm at once, as `tell`, and tell the owners in a task: a chat that hangs holds nobody up."""
        self._open(key, text, about, level)
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

    def storage_failed(self, error: StorageError) -> None:
        """Log the error; alert the owners to a full disk, and a database that is damaged or refuses again and again."""
        is_known = isinstance(error, Damaged | DiskFull)
        _log.log(logging.ERROR if is_known else logging.WARNING, "storage: %s", error)
        self._storage_failures += not is_known
        if isinstance(error, Damaged):
            self.tell_soon(DAMAGED, IS_DAMAGED)
        elif isinstance(error, DiskFull):
            self.tell_soon(_FULL, IS_FULL)
        elif self._storage_failures >= _FAILURES_TO_ALERT:
            self.tell_soon(_UNREACHABLE, UNREACHABLE)

    def storage_written(self) -> None:
        """Close the alarms for a full disk and a database that refuses, after a successful write."""
        self._storage_failures = 0
        self.over_soon(_FULL, HAS_ROOM)
        self.over_soon(_UNREACHABLE, REACHABLE)

    async def close(self, within_s: float = 0.0) -> None:
        """Let notices under way end, for so long at most; cancel what waits for its time."""
        for timer in self._timers.values():
            timer.cancel()
        if self._tasks and within_s:
            await asyncio.wait(self._tasks, timeout=within_s)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, *self._timers.values(), return_exceptions=True)

    def _open(self, key: str, text: Localized, about: str, level: int) -> None:
        words = {locale: text[locale] for locale in Locale}
        alarm = self._alarms.setdefault(key, Alarm(words, None))
        alarm.text = words
        if alarm.since is None:
            if alarm.end is None:  # nobody waits for the end of what was before
                alarm.told.clear()
            alarm.since, alarm.end = self._clock.now(), None
            alarm.openings += 1
            event = f"alarm {key}" + (f" ({about})" if about else "")
            _log.log(level, event)  # no arguments: each key is a kind of its own for /admin logs
            self._keep()

    def _close(self, key: str, text: Localized | None) -> bool:
        """Close an open alarm; return whether its end is to be told."""
        alarm = self._alarms.get(key)
        if alarm is None or alarm.since is None:
            return False
        event = f"alarm over {key}"
        _log.info(event)
        alarm.since = None
        alarm.end = {locale: text[locale] for locale in Locale} if text is not None else None
        if alarm.end is None:
            alarm.told.clear()
            alarm.posted = False
        self._keep()
        return alarm.end is not None

    async def _notify(self, key: str) -> None:
        """Tell those who do not know yet of an open alarm, or let a timer do it when the quiet time is over."""
        alarm = self._alarms.get(key)
        if alarm is None or alarm.since is None:
            return
        opening = alarm.openings  # it may be over, and opened again, while a notice is on its way
        if alarm.announced < opening and (wait_s := self._quiet_s(alarm)):
            self._after(key, wait_s, partial(self._notify, key))
            return
        if self._post is not None and not alarm.posted and key not in self._posting:
            self._announce(alarm, opening)
            self._posting.add(key)
            self._later(self._send(key, alarm, alarm.since))
        unknowing = [user for user in await self._owners() if user not in alarm.told]
        await asyncio.gather(*(self._tell(key, alarm, user, opening) for user in unknowing))

    async def _tell(self, key: str, alarm: Alarm, user: UserKey, opening: int) -> None:
        # Another notice may have reached them since it was found that they do not know.
        if (key, user) in self._telling or user in alarm.told or user in self._gone:
            return
        self._telling.add((key, user))
        try:
            if not await self._arrives(user, alarm.text):
                return
            alarm.told.add(user)
            self._announce(alarm, opening)
        finally:
            self._telling.discard((key, user))
        if alarm.since is None:  # it ended while they were being told
            await self._notify_end(key)

    async def _notify_end(self, key: str) -> None:
        """Tell those who were told of an alarm that it is over, as far as they can be reached now."""
        alarm = self._alarms.get(key)
        if alarm is None or alarm.since is not None or alarm.end is None:
            return
        if alarm.posted:
            alarm.posted = False
            self._announce(alarm, alarm.announced)
            self._later(self._send_end(alarm.end))
        await asyncio.gather(*(self._tell_end(key, alarm, user, alarm.end) for user in tuple(alarm.told)))

    async def _tell_end(self, key: str, alarm: Alarm, user: UserKey, end: Localized) -> None:
        if (key, user) in self._telling:
            return
        self._telling.add((key, user))
        try:
            if await self._arrives(user, end):
                alarm.told.discard(user)
                self._announce(alarm, alarm.announced)
        finally:
            self._telling.discard((key, user))

    async def _arrives(self, user: UserKey, words: Localized) -> bool:
        """Send the words to an owner; return whether they arrived. Who let the bot write no more is left alone."""
        delivery = await self._notifier.write(user, None, OutgoingMessage(words[await self._locale_of(user)]))
        if delivery is Delivery.GONE:
            self._gone.add(user)
        return delivery is Delivery.ARRIVED

    def _announce(self, alarm: Alarm, opening: int) -> None:
        alarm.announced, alarm.noticed = opening, self._clock.now()
        self._keep()

    def _quiet_s(self, alarm: Alarm) -> float:
        """Return how long nothing is to be said of the alarm; 0.0 also if the wall clock was set back."""
        if alarm.noticed is None:
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
        self._timers[timer] = asyncio.get_running_loop().create_task(waited())

    async def _send(self, key: str, alarm: Alarm, since: datetime) -> None:
        """Post the text of an alarm, again after a while if it was not taken, as long as the alarm is open."""
        try:
            for wait_s in _POST_WAITS_S:
                await self._clock.sleep(wait_s)
                if alarm.since != since:
                    return
                if await self._posted(alarm.text):
                    alarm.posted = True
                    self._keep()
                    return
        finally:
            self._posting.discard(key)

    async def _send_end(self, words: Localized) -> None:
        for wait_s in _POST_WAITS_S:
            await self._clock.sleep(wait_s)
            if await self._posted(words):
                return

    async def _posted(self, words: Localized) -> bool:
        locale = self._locale
        with suppress(StorageError):
            for owner in list(await self._owners())[:1]:
                locale = await self._locale_of(owner)
        return self._post is not None and await self._post(words[locale])

    def _keep(self) -> None:
        """Forget the alarms that are over, known to be, and out of their quiet time; save the others."""
        oldest, quiet = (self._clock.now() - age for age in (_KEPT, timedelta(seconds=QUIET_S)))
        for key, alarm in tuple(self._alarms.items()):
            if alarm.since is not None or any(told == key for told, _ in self._telling):
                continue
            limit = oldest if alarm.told or alarm.posted else quiet
            if alarm.noticed is None or alarm.noticed < limit:
                del self._alarms[key]
        if self._book is not None:
            self._book.save(self._alarms)

    def _connected(self) -> None:
        self._later(self._tell_again())

    async def _tell_again(self) -> None:
        self._gone.clear()
        for owner in await self._owners():  # read also without alarms: both may be damaged later
            await self._locale_of(owner)
        if not self._alarms:
            return
        await self._clock.sleep(SETTLE_S)
        for key in tuple(self._alarms):
            self._later(self._notify(key))
            self._later(self._notify_end(key))

    def _later(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(self._contained(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @staticmethod
    async def _contained(work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except StorageError as error:
            _log.warning("owners not told", extra={"error": type(error).__name__})


IS_DAMAGED = text("disk.is_damaged")
IS_SOUND = text("alerts.damage_over")
IS_FULL = text("disk.is_full")
HAS_ROOM = text("disk.has_room")
UNREACHABLE = text("alerts.unreachable")
REACHABLE = text("alerts.reachable")
DAMAGED: Final = "database-damaged"
_FULL, _UNREACHABLE = "disk-full", "database-unreachable"
