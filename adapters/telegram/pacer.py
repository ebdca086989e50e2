"""When to write to which chat: each has a bucket of tokens, the bot has one for all, and a write takes one from both.

A group has besides a number of writes that any minute may hold. A write of lower rank has to leave more behind, so that
there is always something left for what ranks above it. Who comes too early for a chat is told when to come back, and
brings the newest text then. For the bot's own bucket a text that stays takes a number and waits here, so that many
people who ask at once are answered one after another, as fast as all together may be. That bucket is this worker's
share of what the bot has; a chat's budget is whole, for one worker at a time writes there.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum

from adapters.running import SHARE_S, Bucket, SharedBucket
from adapters.telegram.config import WritePace
from core.errors import ChannelBusy
from core.ports import Clock
from core.workers.port import Worker

_SWEEP_ABOVE = 1024  # chats; those with a full budget are dropped
_MINUTE_S = 60.0
_LIMIT = "telegram:writes"


class Priority(Enum):
    """Ranks of writes: the share of a full bucket that each leaves behind, and of the writes of a group's minute."""

    STOP = (0.0, 0.0)
    """What was asked to be seen at once: it may take a chat's next token before it is there."""
    FINAL = (0.0, 0.05)
    ANSWER = (0.1, 0.1)
    STATUS = (0.2, 0.55)
    EDIT = (0.3, 0.55)
    TYPING = (0.5, 0.65)

    @property
    def is_lasting(self) -> bool:
        """Whether it takes a number for the bot's own bucket: nothing newer will take its place."""
        return self in {Priority.STOP, Priority.FINAL, Priority.ANSWER}


@dataclass(slots=True)
class _ChatBudget:
    """The budget of one chat: its bucket, and for a group the times of its last minute's writes."""

    bucket: Bucket
    per_minute: int
    quiet_until_s: float = 0.0
    times_s: deque[float] = field(default_factory=deque)

    def refill(self, now_s: float) -> None:
        """Add what was earned, and drop writes that are a minute old."""
        self.bucket.refill(now_s)
        while self.times_s and self.times_s[0] <= now_s - _MINUTE_S:
            self.times_s.popleft()

    def wait_s(self, rank: Priority, now_s: float) -> float:
        """Return the seconds until a write of that rank may go."""
        share, of_minute = rank.value
        reserve = -1.0 if rank is Priority.STOP else share * self.bucket.burst
        waits_s = [self.quiet_until_s - now_s, self.bucket.wait_s(reserve)]
        if self.per_minute:
            too_many = len(self.times_s) + 1 + round(of_minute * self.per_minute) - self.per_minute
            if too_many > 0:
                waits_s.append(self.times_s[too_many - 1] + _MINUTE_S - now_s)
        return max(*waits_s, 0.0)

    def take(self, at_s: float) -> None:
        """Count a write that goes then."""
        self.bucket.take()
        if self.per_minute:
            self.times_s.append(at_s)

    def is_full(self) -> bool:
        """Whether nothing is owed."""
        return self.bucket.tokens >= self.bucket.burst and not self.times_s


class Pacer:
    """The budgets of all chats. Negative chat ids are groups, as Telegram numbers them."""

    def __init__(self, private: WritePace, group: WritePace, overall: WritePace, clock: Clock, worker: Worker) -> None:
        self._private = private
        self._group = group
        self.clock = clock
        self._overall = SharedBucket(_LIMIT, worker, float(overall.burst), overall.per_s, clock.monotonic())
        self._chats: dict[int, _ChatBudget] = {}

    def __len__(self) -> int:
        """Return how many chats have a budget."""
        return len(self._chats)

    def pace(self, chat_id: int) -> WritePace:
        """Return the budget of that chat."""
        return self._group if chat_id < 0 else self._private

    async def admit(self, chat_id: int, priority: Priority) -> None:
        """Count the write that goes when this returns.

        Raises:
            ChannelBusy: it may not go yet; nothing was counted.
            ClaimLost: it is another worker's to write by now.
        """
        now_s = self.clock.monotonic()
        chat = self._chat(chat_id, now_s)
        wait_s, whole_s = (chat.wait_s(rank, now_s) for rank in (priority, Priority.FINAL))
        self._overall.refill(now_s)
        if not priority.is_lasting:
            wait_s = max(wait_s, min(self._overall.wait_s(priority.value[0] * self._overall.burst), SHARE_S))
        if wait_s > 0:
            raise ChannelBusy(wait_s, whole_s)
        if priority is Priority.STOP:
            chat.take(now_s)
            self._overall.take()
        else:
            chat.take(now_s + self._overall.wait_s())
            await self._overall.take_in_turn(self.clock)

    async def admit_aside(self) -> None:
        """Wait until a call may go that takes no token of its chat, and count it."""
        self._overall.refill(self.clock.monotonic())
        while wait_s := self._overall.wait_s(Priority.EDIT.value[0] * self._overall.burst):
            await self.clock.sleep(min(wait_s, SHARE_S))
            self._overall.refill(self.clock.monotonic())
        self._overall.take()

    def flooded(self, chat_id: int, retry_after_s: float) -> None:
        """Let nothing into that chat until the flood wait is over; the others go on."""
        now_s = self.clock.monotonic()
        chat = self._chat(chat_id, now_s)
        chat.quiet_until_s = max(chat.quiet_until_s, now_s + retry_after_s)
        chat.bucket.tokens = min(chat.bucket.tokens, 1.0 - chat.bucket.refill_per_s * retry_after_s)

    def _chat(self, chat_id: int, now_s: float) -> _ChatBudget:
        if chat_id not in self._chats:
            if len(self._chats) >= _SWEEP_ABOVE:
                self._sweep(now_s)
            pace = self.pace(chat_id)
            self._chats[chat_id] = _ChatBudget(Bucket(float(pace.burst), pace.per_s, now_s), pace.per_minute)
        chat = self._chats[chat_id]
        chat.refill(now_s)
        return chat

    def _sweep(self, now_s: float) -> None:
        for chat_id, chat in list(self._chats.items()):
            chat.refill(now_s)
            if chat.is_full():
                del self._chats[chat_id]
