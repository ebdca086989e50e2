"""Fire reminders when they are due: claim them, post them, settle them."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum, auto
from itertools import chain
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from core.delivery.notifier import Delivery, Notifier
from core.errors import StorageError
from core.features.reminders.delivery import ROOM_OFF, ROOM_REFUSED, Due, DueMessages, name_of
from core.features.reminders.reminders import LEASE, DueClaim, Reminder, ReminderState
from core.features.reminders.storage import ReminderStore
from core.ports import Clock
from core.times import rules

BACKOFF: Final = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=12),
)
"""How long a reminder waits after each refusal of its chat. One more, and it is told in private, or given up."""

LONGEST_SLEEP_S: Final = 300.0
"""How long it sleeps at most, for what nobody tells it: a clock that was set, a computer that was asleep, a reminder
that another process set."""

_RETRY_S: Final = 60.0
_LAST_POSTS_S: Final = 2.0
_PAUSED_FOR: Final = timedelta(minutes=1)
_PURGE_INTERVAL_S: Final = 3600.0
_RENEW_INTERVAL_S: Final = LEASE.total_seconds() / 4
_CHATS_AT_ONCE: Final = 1000
"""Of one platform; those in which a message waits for a flood to end take none of the pace of the others."""

_AHEAD_S: Final = 0.5
"""What is claimed further ahead than this would be marked as said already, were the bot stopped now."""

_MOST_COUNTED: Final = 300
"""Of the instants that a reminder missed; of more it says only since when: finding each takes a moment."""

_log = logging.getLogger(__name__)


class Permission(Enum):
    """What to do with a reminder that is due. DROP: give it up.

    WAIT: the bot is paused. PRIVATE: it is told in the person's private chat, for reminders are off in its room.
    """

    FIRE = auto()
    WAIT = auto()
    PRIVATE = auto()
    DROP = auto()


Allowed: TypeAlias = Callable[[Reminder], Awaitable[Permission]]
_Group: TypeAlias = Sequence[Reminder]
"""Claimed reminders of one batch, which become one message."""

_Chat: TypeAlias = tuple[str, str]


class Scheduler:
    """Fire reminders while `until` is entered, on each platform while it is connected, at most `per_s` messages a
    second there, in order of their due times. Chats are written to side by side, each in order.

    It sleeps until the next one is due (`longest_sleep_s` at most); call `wake` when that may have become earlier.
    `allowed` is asked before each post, once for all reminders of one person in one chat. `purge`, called once an hour,
    deletes what is over for long. A platform that is not connected waits. One that refuses is tried again after each
    wait of `BACKOFF`; what was set in a room is then told in private, and what is refused there is FAILED.

    What was claimed and not settled, because its process died, is fired again, marked. With `is_alone`, no other
    process fires reminders of the platforms that are connected here (as the lock of the data folder sees to), and that
    is done as soon as a platform is connected for the first time; else when the leases are over.
    """

    def __init__(
        self,
        store: ReminderStore,
        notifier: Notifier,
        messages: DueMessages,
        clock: Clock,
        *,
        allowed: Allowed,
        purge: Callable[[], Awaitable[None]],
        is_alone: bool = True,
        longest_sleep_s: float = LONGEST_SLEEP_S,
        per_s: int = 20,
    ) -> None:
        self._store = store
        self._notifier = notifier
        self._messages = messages
        self._allowed = allowed
        self._purge = purge
        self._clock = clock
        self._is_alone = is_alone
        self._longest_sleep_s = longest_sleep_s
        self._per_s = per_s
        self._wake = asyncio.Event()
        self._halted = False
        self._released: set[str] = set()
        self._claimed: dict[_Chat, _Group] = {}  # by the chats that are being written to
        self._tasks: set[asyncio.Task[None]] = set()
        self._posting: set[asyncio.Task[None]] = set()
        self._free_at_s: dict[str, float] = {}  # by platform: when the next message may go
        self._renewed_s = self._purged_s = -math.inf
        notifier.on_connect(self.wake)

    def wake(self) -> None:
        """Look for what is due, soon."""
        self._wake.set()

    @asynccontextmanager
    async def until(self, stop: asyncio.Event) -> AsyncIterator[None]:
        """Work while the context is entered; once `stop` is set, post nothing more."""
        self._start(self._work())
        self._start(self._halt_at(stop))
        try:
            yield
        finally:
            self._halted = True
            await self._end_posts()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _end_posts(self) -> None:
        """Let what is being posted be settled, so that the next start does not repeat it."""
        timer = asyncio.ensure_future(self._clock.sleep(_LAST_POSTS_S))
        while self._posting and not timer.done():
            await asyncio.wait({timer, *self._posting}, return_when=asyncio.FIRST_COMPLETED)
        timer.cancel()

    def _start(self, work: Awaitable[None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("reminders broke", exc_info=error)

    async def _halt_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._halted = True

    # --- what is due ---

    async def _work(self) -> None:
        while not self._halted:
            self._wake.clear()
            try:
                delay_s = await self._claim_due()
            except Exception as error:  # noqa: BLE001  (whatever failed, the next are said)
                _log.exception("reminders wait", exc_info=not isinstance(error, StorageError))
                await self._clock.sleep(_RETRY_S)
            else:
                await self._sleep(delay_s)

    async def _claim_due(self) -> float:
        """Claim and start to post what is due; return after how many seconds to look again."""
        connected = set(self._notifier.platforms)
        if self._is_alone and (new := connected - self._released):
            await self._store.release(new)
            self._released |= new
        await self._keep_claims()
        now_s = self._clock.monotonic()
        if now_s - self._purged_s >= _PURGE_INTERVAL_S:
            self._purged_s = now_s
            self._start(self._purge_old())
        ahead_s = {platform: self._free_at_s.get(platform, 0.0) - now_s for platform in connected}
        free = [platform for platform in connected if ahead_s[platform] <= _AHEAD_S and not self._is_full(platform)]
        delays_s = [self._longest_sleep_s, *(left_s - _AHEAD_S for left_s in ahead_s.values() if left_s > _AHEAD_S)]
        if self._claimed:
            delays_s.append(_RENEW_INTERVAL_S)
        if free:
            busy = {chat for _, chat in self._claimed}
            due = await self._store.next_due(free, busy)
            now = self._clock.now()
            if due is not None and due <= now:
                claimed = await self._store.claim(DueClaim(now, free, busy, limit=self._per_s))
                await self._post(claimed)
                return 0.0 if claimed else 1.0  # another worker has them
            if due is not None:
                delays_s.append((due - now).total_seconds())
        return min(delays_s)

    def _is_full(self, platform: str) -> bool:
        return sum(each == platform for each, _ in self._claimed) >= _CHATS_AT_ONCE

    async def _sleep(self, delay_s: float) -> None:
        """Return after that time, or when something wakes it."""
        timer = asyncio.ensure_future(self._ring(delay_s))
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    async def _ring(self, delay_s: float) -> None:
        await self._clock.sleep(delay_s)
        self._wake.set()

    async def _keep_claims(self) -> None:
        """Renew the leases of what waits to be posted, or for a platform to take it."""
        now_s = self._clock.monotonic()
        if self._claimed and now_s - self._renewed_s >= _RENEW_INTERVAL_S:
            await self._store.renew([*chain(*self._claimed.values())], self._clock.now())
            self._renewed_s = now_s

    async def _purge_old(self) -> None:
        try:
            await self._purge()
        except StorageError as error:
            _log.warning("old reminders stay", extra={"error": type(error).__name__})

    # --- saying it ---

    async def _post(self, claimed: _Group) -> None:
        """Begin to post, in order; those of one chat one after another."""
        chats: dict[_Chat, dict[str, list[Reminder]]] = {}
        for each in claimed:
            batches = chats.setdefault((each.chat.platform, each.chat.chat), {})
            batches.setdefault(each.batch, []).append(each)
        for chat, batches in chats.items():
            groups = tuple(batches.values())
            self._claimed[chat] = tuple(chain(*groups))
            posting = self._start(self._say_all(chat, deque(groups)))
            self._posting.add(posting)
            posting.add_done_callback(self._posting.discard)
        await asyncio.sleep(0)  # each takes its place in the line (`_turn`)

    async def _say_all(self, chat: _Chat, groups: deque[list[Reminder]]) -> None:
        """Say everything in one chat; what was not begun when the bot stops is as if it had never been claimed."""
        try:
            while groups:
                await self._turn(chat[0])
                if self._halted:
                    break
                await self._say(groups.popleft())
        finally:
            if groups:
                await self._let_go([*chain(*groups)])
            del self._claimed[chat]
            self.wake()

    async def _turn(self, platform: str) -> None:
        """Return when the next message may go to that platform."""
        now_s = self._clock.monotonic()
        at_s = max(self._free_at_s.get(platform, now_s), now_s)
        self._free_at_s[platform] = at_s + 1 / self._per_s
        if at_s > now_s:
            await self._clock.sleep(at_s - now_s)

    async def _let_go(self, group: _Group) -> None:
        try:
            await self._store.settle([(each, _unsaid(each)) for each in group])
        except StorageError as error:
            _log.warning("claims are left", extra={"error": type(error).__name__})

    async def _say(self, group: _Group) -> None:
        """Post one message and settle it. While the store fails, neither is repeated: it waits, and tries again."""
        settled: tuple[_Group, datetime | None] | None = None
        while True:
            try:
                settled = settled or await self._delivered(group)
                await self._store.settle(list(zip(group, settled[0], strict=True)), settled[1])
            except StorageError as error:
                _log.warning("a reminder waits", extra={"error": type(error).__name__})
                await self._clock.sleep(_RETRY_S)
            except Exception:
                if settled is not None:
                    raise
                # Whatever broke one reminder, it is tried again like a refused one, and the others go on.
                _log.exception("a reminder broke")
                settled = self._refused(group)
            else:
                return

    async def _delivered(self, group: _Group) -> tuple[_Group, datetime | None]:
        """Post one message, if that is allowed; return what the reminders are then, and when to try again."""
        now = self._clock.now()
        permission = await self._allowed(group[0])
        if permission is Permission.WAIT:
            return [_unsaid(each) for each in group], now + _PAUSED_FOR
        if permission is Permission.DROP:
            return [_failed(each) for each in group], None
        batch = [_due(each, now) for each in group]
        delivery, failures = await self._write(batch, now, is_off=permission is Permission.PRIVATE)
        if delivery is Delivery.ARRIVED:
            now = self._clock.now()
            return [replace(due.then, failures=failures, sent_at=now) for due in batch], None
        if delivery is Delivery.OFFLINE:
            return [_unsaid(each) for each in group], None
        return self._refused(group)

    async def _write(self, batch: Sequence[Due], now: datetime, *, is_off: bool) -> tuple[Delivery, int]:
        """Write the message where it belongs; return what became of it, and what counts as failures if it arrived.

        A room's goes to the private chat if reminders are off there, or if the room has refused it to the last.
        """
        first, name = batch[0].reminder, name_of(batch)
        if is_off and not first.private:
            return await self._notifier.write(
                first.user, None, await self._messages.message(batch, now, ROOM_OFF), name
            ), 0
        room = None if first.private else first.chat
        delivery = await self._notifier.write(first.user, room, await self._messages.message(batch, now), name)
        is_refused = delivery in {Delivery.GONE, Delivery.REFUSED}
        if room is None or not is_refused or first.failures < len(BACKOFF) or self._halted:
            return delivery, 0
        told = await self._messages.message(batch, now, ROOM_REFUSED)
        # Counted on: what that room refuses next is told in private at once.
        return await self._notifier.write(first.user, None, told, name), first.failures

    def _refused(self, group: _Group) -> tuple[_Group, datetime | None]:
        """Return what refused reminders are then, and when to try again."""
        if self._halted:  # a platform that is being closed refuses everybody
            return [replace(each, state=ReminderState.WAITING) for each in group], None
        failures = group[0].failures
        if failures >= len(BACKOFF):
            return [_failed(each) for each in group], None
        # Of a message of several a part may be there: it was long.
        tried = [replace(each, state=ReminderState.WAITING) if len(group) > 1 else _unsaid(each) for each in group]
        return [replace(each, failures=failures + 1) for each in tried], self._clock.now() + BACKOFF[failures]


def _due(reminder: Reminder, now: datetime) -> Due:
    """Return the reminder as it is said now, with what it is then; one whose rule cannot be read is FAILED then."""
    schedule, due, missed = reminder.schedule, reminder.due, 0
    then = replace(reminder, state=ReminderState.DONE, due=None, tries=0)
    if not schedule.rule or due is None:
        return Due(reminder, then)

    def after(at: datetime) -> datetime | None:
        return rules.next_after(schedule.wall, schedule.zone, schedule.rule, at)

    try:
        following = after(due)
        while following is not None and following <= now and missed <= _MOST_COUNTED:
            missed += 1
            following = after(following)
        if missed > _MOST_COUNTED:
            missed, following = 0, after(max(due, now))
    except (ValueError, KeyError, OSError):  # of the rule, or of its zone
        _log.exception("a rule cannot be read")
        return Due(reminder, _failed(reminder), missed)
    if rules.read(schedule.rule).skips and following is not None:
        day = following.astimezone(ZoneInfo(schedule.zone)).date()
        then = replace(then, schedule=replace(schedule, rule=rules.skipping(schedule.rule, (), day)))
    return Due(
        reminder, then if following is None else replace(then, state=ReminderState.WAITING, due=following), missed
    )


def _unsaid(claimed: Reminder) -> Reminder:
    """Return a claimed reminder as it was before its claim."""
    return replace(claimed, state=ReminderState.WAITING, tries=claimed.tries - 1)


def _failed(claimed: Reminder) -> Reminder:
    return replace(claimed, state=ReminderState.FAILED, tries=0)
