"""What waits for a person's yes. Knows codes and how long they hold. Does not know what anything is for.

In RAM, and a few only: after a restart, or when many wait, a person is asked once more.
"""

from __future__ import annotations

import secrets
from typing import Final, TypeVar

from core.ports import Clock
from core.types import UserKey

VALID_S: Final = 600.0
_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # none that is taken for a digit
_CODE_CHARS: Final = 4
_MAX_WAITING: Final = 16

Wanted = TypeVar("Wanted")


class Confirmations:
    """One for each person: what they were asked last, under the code that says yes to it, and to nothing else."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[UserKey, tuple[str, float, object]] = {}

    def ask(self, user: UserKey, wanted: object) -> str:
        """Keep what the person would say yes to, and return the code."""
        self._waiting.pop(user, None)
        if len(self._waiting) >= _MAX_WAITING:
            self._waiting.pop(next(iter(self._waiting)))
        code = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_CHARS))
        self._waiting[user] = (code, self._clock.monotonic(), wanted)
        return code

    def take(self, user: UserKey, said: str, kind: type[Wanted]) -> Wanted | None:
        """Return what the person says yes to by that code; None if it is not theirs, too old, or for another kind.

        Asked once, right or wrong, it is used up.
        """
        code, at_s, wanted = self._waiting.pop(user, ("", 0.0, None))
        right = bool(code) and said.strip().upper() == code and self._clock.monotonic() - at_s <= VALID_S
        return wanted if right and isinstance(wanted, kind) else None

    def forget(self, user: UserKey) -> None:
        """Keep nothing that waits for that person."""
        self._waiting.pop(user, None)
