"""What waits for a person's yes: stored, so that a restart loses none of it, and open for ten minutes.

The code that says yes stands in a button, and can be typed. It is good in the conversation it was asked in, once.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar

from pydantic import TypeAdapter

from core.ports import Clock
from core.threads import Confirmation, ConfirmationStore
from core.types import ConversationKey, UserKey

VALID_FOR: Final = timedelta(minutes=10)
_SKEW: Final = timedelta(seconds=5)
"""How far a platform's clock may be behind ours."""

_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # none that is taken for a digit
_CODE_CHARS: Final = 4
_MAX_ARRIVALS: Final = 10_000

Wanted = TypeVar("Wanted")


@dataclass(frozen=True, slots=True)
class Arrival:
    """When a message came: its place among everything that came and was asked, and the platform's time of it."""

    number: int
    at: datetime


class Confirmations:
    """At most one in each conversation: what the person was asked last. What is asked for is any dataclass or enum."""

    def __init__(self, store: ConfirmationStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._numbers: Iterator[int] = itertools.count(1)
        self._asked: dict[ConversationKey, int] = {}

    async def ask(self, conversation: ConversationKey, wanted: object) -> str:
        """Keep what the person would say yes to there, and return the code."""
        now = self._clock.now()
        await self._store.expire(now - VALID_FOR)
        code = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_CHARS))
        data = TypeAdapter(type(wanted)).dump_json(wanted).decode()
        await self._store.put(conversation, Confirmation(code, type(wanted).__name__, data, now))
        if len(self._asked) >= _MAX_ARRIVALS:
            self._asked.pop(next(iter(self._asked)))
        self._asked[conversation] = next(self._numbers)
        return code

    async def take(self, conversation: ConversationKey, said: str, *kinds: type[Wanted]) -> Wanted | None:
        """Return what the person says yes to by that code; None if it is not theirs, too old, or of another kind.

        Asked once, right or wrong, it is used up.
        """
        asked = await self._store.take(conversation)
        right = asked is not None and said.strip().upper() == asked.code
        return self._read(asked, kinds) if right else None

    async def waiting(
        self, conversation: ConversationKey, arrival: Arrival, *kinds: type[Wanted]
    ) -> tuple[str, Wanted] | None:
        """Return the code and what waits there, if it was asked before that message came."""
        asked = await self._store.find(conversation)
        wanted = self._read(asked, kinds)
        if asked is None or wanted is None:
            return None
        early = arrival.number < self._asked.get(conversation, 0) or arrival.at < asked.at - _SKEW
        return None if early else (asked.code, wanted)

    async def asked_at(self, conversation: ConversationKey) -> datetime | None:
        """Return when what waits there was asked, or None."""
        asked = await self._store.find(conversation)
        return None if asked is None else asked.at

    async def drop(self, conversation: ConversationKey, *kinds: type[object]) -> bool:
        """Let what waits there go, if it is of those kinds; return whether it was still good."""
        wanted = self._read(asked := await self._store.find(conversation), kinds)
        if asked is not None and asked.kind in {kind.__name__ for kind in kinds}:
            await self._store.take(conversation)
        return wanted is not None

    def arrived(self, at: datetime) -> Arrival:
        """Note that a message came: no answer to what is asked later."""
        return Arrival(next(self._numbers), at)

    async def expire(self) -> None:
        """Keep nothing that is too old."""
        await self._store.expire(self._clock.now() - VALID_FOR)

    async def forget(self, user: UserKey) -> None:
        """Keep nothing that waits for that person."""
        await self._store.forget(user)

    def _read(self, asked: Confirmation | None, kinds: tuple[type[Wanted], ...]) -> Wanted | None:
        """Return what was asked for, if it is of those kinds and not too old."""
        if asked is None or self._clock.now() - asked.at > VALID_FOR:
            return None
        for kind in kinds:
            if kind.__name__ == asked.kind:
                return TypeAdapter(kind).validate_json(asked.data)
        return None
