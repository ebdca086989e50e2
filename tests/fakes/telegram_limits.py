"""Telegram's documented rate limits as sliding windows. Source: core.telegram.org/bots/faq and `FloodLimit`."""

from __future__ import annotations

from collections import defaultdict, deque


class Limits:
    """20 writes a minute in a group, about one a second in a private chat (5 in 3 s pass), 30 a second in all."""

    def __init__(self) -> None:
        self._writes: defaultdict[int, deque[float]] = defaultdict(deque)
        self._all: deque[float] = deque()

    def wait_s(self, chat_id: int, now_s: float) -> float:
        """Count a write and return 0, or return how long that chat has to be quiet."""
        chat = self._writes[chat_id]
        windows = [(self._all, 30, 1.0), (chat, 20, 60.0)] if chat_id < 0 else [(self._all, 30, 1.0), (chat, 5, 3.0)]
        waits = [_wait_s(writes, most, period_s, now_s) for writes, most, period_s in windows]
        if max(waits) > 0:
            return max(waits)
        for writes, _, _ in windows:
            writes.append(now_s)
        return 0.0


def _wait_s(writes: deque[float], most: int, period_s: float, now_s: float) -> float:
    while writes and writes[0] <= now_s - period_s:
        writes.popleft()
    return writes[0] + period_s - now_s if len(writes) >= most else 0.0
