"""Ask people to confirm things. A question is stored, so that it outlives a restart, and open for ten minutes.

The code that confirms is in a button and can be typed. It is valid once, in the conversation of the question: for one
message, however often the answer to that is begun anew.
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
from core.types import ConversationKey, Incoming

VALID_FOR: Final = timedelta(minutes=10)
_SKEW: Final = timedelta(seconds=5)
"""How far a platform's clock may lag."""

_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # none that looks like a digit
_CODE_CHARS: Final = 4
_MAX_ARRIVALS: Final = 10_000

Wanted = TypeVar("Wanted")


@dataclass(frozen=True, slots=True)
class Arrival:
    """When a message came: its number among all messages and questions, and the platform's time.

    `again`: its answer was begun before, by a process that ended or another worker.
    """

    number: int
    at: datetime
    again: bool = False


class Confirmations:
    """Open questions, at most one in each conversation: the last one. What is asked for is any dataclass or enum."""

    def __init__(self, store: ConfirmationStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._numbers: Iterator[int] = itertools.count(1)
        self._asked: dict[ConversationKey, int] = {}

    async def ask(self, conversation: ConversationKey, wanted: object) -> str:
        """Store what the person is asked to confirm, and return the code."""
        now = self._clock.now()
        await self._store.expire(now - VALID_FOR)
        code = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_CHARS))
        data = TypeAdapter(type(wanted)).dump_json(wanted).decode()
        await self._store.put(conversation, Confirmation(code, type(wanted).__name__, data, now))
        if len(self._asked) >= _MAX_ARRIVALS:
            self._asked.pop(next(iter(self._asked)))
        self._asked[conversation] = next(self._numbers)
        return code

    async def take(self, incoming: Incoming, said: str, *kinds: type[Wanted]) -> Wanted | None:
        """Return what the message confirms by that code; None for a wrong or expired code, or another kind.

        Any code, right or wrong, closes the question. For a message that is answered again, all is as it was first.
        """
        since = self._clock.now() - VALID_FOR
        asked = await self._store.take(incoming.conversation, incoming.message_id, since)
        right = asked is not None and said.strip().upper() == asked.code
        return _read(asked, kinds) if right else None

    async def taken(self, incoming: Incoming, *kinds: type[Wanted]) -> tuple[str, Wanted] | None:
        """Return the code and the question that the message closed, if its answer was begun before."""
        asked = await self._store.taken(incoming.conversation, incoming.message_id)
        wanted = _read(asked, kinds)
        return None if asked is None or wanted is None else (asked.code, wanted)

    async def waiting(
        self, conversation: ConversationKey, arrival: Arrival, *kinds: type[Wanted]
    ) -> tuple[str, Wanted] | None:
        """Return the code and the open question, if it was asked before that message came."""
        asked = await self._store.find(conversation)
        wanted = self._valid(asked, kinds)
        if asked is None or wanted is None:
            return None
        early = arrival.number < self._asked.get(conversation, 0) or arrival.at < asked.at - _SKEW
        return None if early else (asked.code, wanted)

    async def asked_at(self, conversation: ConversationKey) -> datetime | None:
        """Return when the open question was asked, or None."""
        asked = await self._store.find(conversation)
        return None if asked is None else asked.at

    async def drop(self, conversation: ConversationKey, *kinds: type[object]) -> bool:
        """Remove the open question if it is of those kinds; return whether it was still valid."""
        wanted = self._valid(asked := await self._store.find(conversation), kinds)
        if asked is not None and asked.kind in {kind.__name__ for kind in kinds}:
            await self._store.take(conversation)
        return wanted is not None

    def arrived(self, at: datetime, *, again: bool = False) -> Arrival:
        """Number a message that came, so that it does not answer a later question."""
        return Arrival(next(self._numbers), at, again)

    async def expire(self) -> None:
        """Remove the questions that are too old."""
        await self._store.expire(self._clock.now() - VALID_FOR)

    def _valid(self, asked: Confirmation | None, kinds: tuple[type[Wanted], ...]) -> Wanted | None:
        is_over = asked is not None and self._clock.now() - asked.at > VALID_FOR
        return None if is_over else _read(asked, kinds)


def _read(asked: Confirmation | None, kinds: tuple[type[Wanted], ...]) -> Wanted | None:
    for kind in kinds:
        if asked is not None and kind.__name__ == asked.kind:
            return TypeAdapter(kind).validate_json(asked.data)
    return None
