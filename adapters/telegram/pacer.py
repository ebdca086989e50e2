"""Who may write to which chat, and when.

Knows the budgets of every chat and of the bot as a whole, and what a flood wait costs. Does not know what is written.

Each chat has a bucket of tokens, the bot has one for all; a write takes one from both. A write of lower rank has to
leave more behind, so that there is always something left for what ranks above it. Nobody waits here: who comes too
early is told when to come back, and brings the newest text then. A flood wait is a debt of its chat alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from adapters.telegram.config import Pace
from core.errors import ChannelBusy
from core.ports import Clock

_SWEEP_ABOVE = 1024  # buckets; full ones say nothing and are dropped


class Priority(Enum):
    """What a write is worth: the share of a full bucket that it has to leave behind."""

    FINAL = 0.0
    ANSWER = 0.1
    STATUS = 0.2
    EDIT = 0.3
    TYPING = 0.5


@dataclass(slots=True)
class _Bucket:
    pace: Pace
    tokens: float
    at_s: float

    def refill(self, now_s: float) -> None:
        earned = (now_s - self.at_s) * self.pace.refill_per_s
        self.tokens, self.at_s = min(self.tokens + earned, float(self.pace.burst)), now_s

    def wait_s(self, priority: Priority) -> float:
        """Return how long until a write of that rank leaves behind what it must; 0.0 for now."""
        missing = 1.0 + priority.value * self.pace.burst - self.tokens
        return missing / self.pace.refill_per_s if missing > 1e-9 else 0.0  # noqa: PLR2004 (rounding of a refill)


class Pacer:
    """The budgets of all chats. Negative chat ids are groups, as Telegram numbers them."""

    def __init__(self, private: Pace, group: Pace, overall: Pace, clock: Clock) -> None:
        self._private = private
        self._group = group
        self._clock = clock
        self._overall = _Bucket(overall, float(overall.burst), clock.monotonic())
        self._chats: dict[int, _Bucket] = {}

    def __len__(self) -> int:
        """Return how many chats it keeps in mind."""
        return len(self._chats)

    def pace(self, chat_id: int) -> Pace:
        """Return what that chat bears."""
        return self._group if chat_id < 0 else self._private

    def admit(self, chat_id: int, priority: Priority) -> None:
        """Count the write that now goes out.

        Raises:
            SurfaceBusy: it may not go yet; nothing was counted.
        """
        chat = self._bucket(chat_id)
        self._overall.refill(chat.at_s)
        wait_s = max(chat.wait_s(priority), self._overall.wait_s(priority))
        if wait_s:
            raise ChannelBusy(wait_s)
        chat.tokens -= 1.0
        self._overall.tokens -= 1.0

    @property
    def now_s(self) -> float:
        """The time of its clock."""
        return self._clock.monotonic()

    async def admit_aside(self) -> None:
        """Return when a call may go that costs nothing of what its chat bears; it is counted."""
        self._overall.refill(self.now_s)
        while wait_s := self._overall.wait_s(Priority.EDIT):
            await self._clock.sleep(wait_s)
            self._overall.refill(self.now_s)
        self._overall.tokens -= 1.0

    def flooded(self, chat_id: int, retry_after_s: float) -> None:
        """Keep that chat quiet until the flood wait is over; the others go on."""
        bucket = self._bucket(chat_id)
        bucket.tokens = min(bucket.tokens, 1.0 - bucket.pace.refill_per_s * retry_after_s)

    def _bucket(self, chat_id: int) -> _Bucket:
        now_s = self._clock.monotonic()
        if chat_id not in self._chats:
            if len(self._chats) >= _SWEEP_ABOVE:
                self._sweep(now_s)
            pace = self.pace(chat_id)
            self._chats[chat_id] = _Bucket(pace, float(pace.burst), now_s)
        bucket = self._chats[chat_id]
        bucket.refill(now_s)
        return bucket

    def _sweep(self, now_s: float) -> None:
        for chat_id, bucket in list(self._chats.items()):
            bucket.refill(now_s)
            if bucket.tokens >= bucket.pace.burst:
                del self._chats[chat_id]
