"""When to write to which chat: each has a bucket of tokens, the bot has one for all, and a write takes one from both.

A write of lower rank has to leave more behind, so that there is always something left for what ranks above it. Nobody
waits here: whoever comes too early is told when to come back, and brings the newest text then. A flood wait is a debt
of its chat alone.
"""

from __future__ import annotations

from enum import Enum

from adapters.running import Bucket
from adapters.telegram.config import Pace
from core.errors import ChannelBusy
from core.ports import Clock

_SWEEP_ABOVE = 1024  # buckets; full ones are dropped


class Priority(Enum):
    """Ranks of writes, each the share of a full bucket that it has to leave behind."""

    FINAL = 0.0
    ANSWER = 0.1
    STATUS = 0.2
    EDIT = 0.3
    TYPING = 0.5


class Pacer:
    """The budgets of all chats. Negative chat ids are groups, as Telegram numbers them."""

    def __init__(self, private: Pace, group: Pace, overall: Pace, clock: Clock) -> None:
        self._private = private
        self._group = group
        self._clock = clock
        self._overall = _bucket(overall, clock.monotonic())
        self._chats: dict[int, Bucket] = {}

    def __len__(self) -> int:
        """Return how many chats have a bucket."""
        return len(self._chats)

    def pace(self, chat_id: int) -> Pace:
        """Return the budget of that chat."""
        return self._group if chat_id < 0 else self._private

    def admit(self, chat_id: int, priority: Priority) -> None:
        """Count the write that now goes out.

        Raises:
            ChannelBusy: it may not go yet; nothing was counted.
        """
        chat = self._bucket_of(chat_id)
        self._overall.refill(chat.at_s)
        wait_s, whole_s = (
            max(bucket.wait_s(rank.value * bucket.burst) for bucket in (chat, self._overall))
            for rank in (priority, Priority.FINAL)
        )
        if wait_s:
            raise ChannelBusy(wait_s, whole_s)
        chat.tokens -= 1.0
        self._overall.tokens -= 1.0

    @property
    def now_s(self) -> float:
        """The time of its clock."""
        return self._clock.monotonic()

    async def admit_aside(self) -> None:
        """Wait until a call may go that takes no token of its chat, and count it."""
        self._overall.refill(self.now_s)
        while wait_s := self._overall.wait_s(Priority.EDIT.value * self._overall.burst):
            await self._clock.sleep(wait_s)
            self._overall.refill(self.now_s)
        self._overall.tokens -= 1.0

    def flooded(self, chat_id: int, retry_after_s: float) -> None:
        """Let nothing into that chat until the flood wait is over; the others go on."""
        bucket = self._bucket_of(chat_id)
        bucket.tokens = min(bucket.tokens, 1.0 - bucket.refill_per_s * retry_after_s)

    def _bucket_of(self, chat_id: int) -> Bucket:
        now_s = self._clock.monotonic()
        if chat_id not in self._chats:
            if len(self._chats) >= _SWEEP_ABOVE:
                self._sweep(now_s)
            self._chats[chat_id] = _bucket(self.pace(chat_id), now_s)
        bucket = self._chats[chat_id]
        bucket.refill(now_s)
        return bucket

    def _sweep(self, now_s: float) -> None:
        for chat_id, bucket in list(self._chats.items()):
            bucket.refill(now_s)
            if bucket.tokens >= bucket.burst:
                del self._chats[chat_id]


def _bucket(pace: Pace, now_s: float) -> Bucket:
    return Bucket(float(pace.burst), pace.refill_per_s, now_s)
