"""The arithmetic of pacing that platforms share: a bucket of tokens, and pauses that double."""

from __future__ import annotations

from dataclasses import dataclass, field

_ROUNDING = 1e-9  # of a refill


@dataclass(slots=True)
class Bucket:
    """Tokens that writes take: `burst` at most, `refill_per_s` more each second. Below 0 they are a debt."""

    burst: float
    refill_per_s: float
    at_s: float
    tokens: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin full."""
        self.tokens = self.burst

    def refill(self, now_s: float) -> None:
        """Add what was earned since the last refill."""
        self.tokens = min(self.tokens + (now_s - self.at_s) * self.refill_per_s, self.burst)
        self.at_s = now_s

    def wait_s(self, reserve: float = 0.0) -> float:
        """Return the seconds from the last refill until a token can be taken that leaves `reserve` behind."""
        missing = 1.0 + reserve - self.tokens
        return missing / self.refill_per_s if missing > _ROUNDING else 0.0


class Backoff:
    """Pauses between attempts: `first_s`, then each twice the one before, `longest_s` at most."""

    def __init__(self, first_s: float = 1.0, longest_s: float = 30.0) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._next_s = first_s

    def next_s(self) -> float:
        """Return the pause before the next attempt, in seconds."""
        pause_s, self._next_s = self._next_s, min(self._next_s * 2, self._longest_s)
        return pause_s

    def reset(self) -> None:
        """Begin anew, after an attempt that succeeded."""
        self._next_s = self._first_s
