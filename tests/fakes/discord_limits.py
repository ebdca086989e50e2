"""Discord's rate limits: a fixed window a bucket, and 50 a second in all.

Source: discord.com/developers/docs/topics/rate-limits; 5 in 5 s a channel is what people report for sends and edits,
1 in 0.25 s for reactions.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

GLOBAL_PER_S = 50


@dataclass
class Window:
    """A bucket's current window."""

    ends_s: float = -math.inf
    used: int = 0


@dataclass
class Limits:
    """`per_window` requests of one bucket in `window_s`; with `overall` also the platform's limit for everything."""

    per_window: int = 5
    window_s: float = 5.0
    overall: bool = True
    windows: dict[str, Window] = field(default_factory=dict)
    all: deque[float] = field(default_factory=deque)

    def spend(self, bucket: str, now_s: float) -> tuple[float, bool, Mapping[str, str]]:
        """Count a request; return the wait (0: it may pass), whether that is the global limit, and the headers."""
        while self.all and self.all[0] <= now_s - 1.0:
            self.all.popleft()
        if self.overall and len(self.all) >= GLOBAL_PER_S:
            return self.all[0] + 1.0 - now_s, True, {"X-RateLimit-Global": "true", "X-RateLimit-Scope": "global"}
        self.all.append(now_s)
        per_window, window_s = (1, 0.25) if "reactions" in bucket else (self.per_window, self.window_s)
        window = self.windows.setdefault(bucket, Window())
        if now_s >= window.ends_s:
            window.ends_s, window.used = now_s + window_s, 0
        left_s = window.ends_s - now_s
        over = window.used >= per_window
        window.used += not over
        headers = {
            "X-RateLimit-Limit": str(per_window), "X-RateLimit-Remaining": str(per_window - window.used),
            "X-RateLimit-Reset-After": f"{left_s:.3f}", "X-RateLimit-Reset": f"{2e9 + left_s:.3f}",
            "X-RateLimit-Bucket": bucket.split(" ", maxsplit=1)[0].lower() + bucket.split("/")[1],
        }  # fmt: skip
        return (left_s if over else 0.0), False, headers | ({"X-RateLimit-Scope": "user"} if over else {})
