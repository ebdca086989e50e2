"""Ask people to confirm things. A question is stored, so that it outlives a restart, and open for ten minutes.

The code that confirms is in a button and can be typed. It is valid once, in the conversation of the question: for one
message, however often the answer to that is begun anew.
"""

from __future__ import annotations

import itertools
import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from core.models import adapter_of
from core.outgoing import Button
from core.ports import Clock
from core.threads import Confirmation, ConfirmationStore
from core.types import ConversationKey, Incoming

VALID_FOR: Final = timedelta(minutes=10)
_SKEW: Final = timedelta(seconds=5)
"""How far a platform's clock may lag."""

_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # none that looks like a digit
_CODE_CHARS: Final = 4
_MAX_ARRIVALS: Final = 10_000
_MAX_OPEN: Final = 4
"""Of a conversation; older questions are let go."""

Wanted = TypeVar("Wanted")


@dataclass(frozen=True, slots=True)
class Arrival:
    """When a message came: its number among all messages and questions, and the platform's time.

    `again`: its answer was begun before, by a process that ended or another worker.
    """

    number: int
    at: datetime
    again: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """What a button below an answer offers: the command that it says, and a plain yes.

    `lasts`: a yes counts although another message was answered since.
    """

    command: str
    lasts: bool = True


@dataclass(frozen=True, slots=True)
class WhichOne:
    """The commands of which one was meant by a word that answers several open questions."""

    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Open:
    """An open question; `about` tells people what it asked, `passed` that another message was answered since.

    `muted`: something was declined since, so that a later yes is not for this; its buttons still answer it.
    `choices` are the commands of its buttons, each with its label, for an answer that is shown again after a restart.
    `data` is what it is about as JSON, and no text that holds JSON, so that whoever is forgotten is found in it.
    """

    code: str
    kind: str
    data: Any
    at: datetime
    about: str = ""
    passed: bool = False
    muted: bool = False
    choices: tuple[tuple[str, str], ...] = ()


class Confirmations:
    """Open questions, the last few of each conversation. What is asked for is any dataclass or enum.

    They wait in one row, the newest first, which holds the code and the kind of that.
    """

    def __init__(self, store: ConfirmationStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._numbers: Iterator[int] = itertools.count(1)
        self._asked: dict[tuple[ConversationKey, str], int] = {}

    async def ask(
        self, conversation: ConversationKey, wanted: object, about: str = "", choices: Mapping[str, str] | None = None
    ) -> str:
        """Store what the person is asked to confirm, and return the code; `about` tells it if it is asked again.

        `choices` maps the commands of its buttons, in which "{code}" stands for the code, to their labels.
        """
        now = self._clock.now()
        await self._store.expire(now - VALID_FOR)
        code = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_CHARS))
        data = adapter_of(type(wanted)).dump_python(wanted, mode="json")
        buttons = tuple((command.format(code=code), label) for command, label in (choices or {}).items())
        asked = Open(code, type(wanted).__name__, data, now, about, choices=buttons)
        others = [each for each in await self._open(conversation) if (each.kind, each.data) != (asked.kind, data)]
        await self._put(conversation, [asked, *others][:_MAX_OPEN])
        if len(self._asked) >= _MAX_ARRIVALS:
            self._asked.pop(next(iter(self._asked)))
        self._asked[conversation, code] = next(self._numbers)
        return code

    async def take(self, incoming: Incoming, said: str, *kinds: type[Wanted]) -> Wanted | None:
        """Return what the message confirms by that code; None for a wrong or expired code, or another kind.

        A right code closes that question, a wrong one all. For a message that is answered again, it is as it was first.
        """
        since = self._clock.now() - VALID_FOR
        again = await self._store.taken(incoming.conversation, incoming.message_id) is not None
        found = _opened(await self._store.take(incoming.conversation, incoming.message_id, since))
        found = [each for each in found if again or each.at >= since]
        right = next((each for each in found if each.code == said.strip().upper()), None)
        if right is None:
            return None
        await self._put(incoming.conversation, [each for each in found if each != right])
        return _read(right, kinds)

    async def all_open(self, conversation: ConversationKey, arrival: Arrival) -> Sequence[Open]:
        """Return the questions that were asked before that message came, the newest first."""
        return [
            each
            for each in await self._open(conversation)
            if arrival.number >= self._asked.get((conversation, each.code), 0) and arrival.at >= each.at - _SKEW
        ]

    async def choices(self, conversation: ConversationKey, since: datetime | None) -> Sequence[Button]:
        """Return the buttons of the newest open question, if it was asked since then."""
        newest = next((each for each in await self._open(conversation) if since and each.at >= since - _SKEW), None)
        return [Button(label, command, in_place=True) for command, label in (newest.choices if newest else ())]

    async def all_taken(self, incoming: Incoming) -> Sequence[Open]:
        """Return the questions that were open when the message closed one, before its answer was broken off."""
        return _opened(await self._store.taken(incoming.conversation, incoming.message_id))

    async def pass_over(self, conversation: ConversationKey) -> None:
        """Note that another message is answered."""
        found = await self._open(conversation)
        if any(not each.passed for each in found):
            await self._put(conversation, [replace(each, passed=True) for each in found])

    async def mute(self, conversation: ConversationKey, but: str = "") -> None:
        """Let words answer none of the open questions any more, but the one with that code."""
        found = await self._open(conversation)
        if any(each.code != but and not each.muted for each in found):
            await self._put(conversation, [replace(each, muted=each.code != but) for each in found])

    async def drop(self, conversation: ConversationKey, *kinds: type[object]) -> bool:
        """Remove the open questions of those kinds; return whether one was still valid."""
        names, since = {kind.__name__ for kind in kinds}, self._clock.now() - VALID_FOR
        return any(each.at >= since for each in await self._remove(conversation, lambda each: each.kind in names))

    async def drop_offers(self, conversation: ConversationKey, verb: str) -> None:
        """Remove the offers of a command: it was given, so that they are out of date."""
        await self._remove(conversation, lambda each: _verb(each) == verb)

    def arrived(self, at: datetime, *, again: bool = False) -> Arrival:
        """Number a message that came, so that it does not answer a later question."""
        return Arrival(next(self._numbers), at, again)

    async def expire(self) -> None:
        """Remove the questions that are too old."""
        await self._store.expire(self._clock.now() - VALID_FOR)

    async def _open(self, conversation: ConversationKey) -> list[Open]:
        since = self._clock.now() - VALID_FOR
        return [each for each in _opened(await self._store.find(conversation)) if each.at >= since]

    async def _remove(self, conversation: ConversationKey, is_meant: Callable[[Open], bool]) -> Sequence[Open]:
        """Remove the questions that are meant, and return them."""
        found = _opened(await self._store.find(conversation))
        if removed := [each for each in found if is_meant(each)]:
            await self._store.take(conversation)
            await self._put(conversation, [each for each in found if each not in removed])
        return removed

    async def _put(self, conversation: ConversationKey, found: Sequence[Open]) -> None:
        """Store the questions, if there are any, as one row."""
        if found:
            data = _OPEN.dump_json(list(found)).decode()
            await self._store.put(conversation, Confirmation(found[0].code, found[0].kind, data, found[0].at))


_OPEN: Final = TypeAdapter(list[Open])


def _opened(row: Confirmation | None) -> list[Open]:
    """Return the questions of a row; none of one that an older version of the program wrote."""
    try:
        return [] if row is None else _OPEN.validate_json(row.data)
    except ValidationError:
        return []


def _verb(asked: Open) -> str:
    """Return the name of the command that is offered; "" where another thing is asked."""
    return read_open(asked, Offer).command.partition(" ")[0] if asked.kind == Offer.__name__ else ""


def newest(found: Iterable[Open], *kinds: type[Wanted]) -> tuple[str, Wanted] | None:
    """Return the code and the content of the newest of those questions that is of one of the kinds, or None."""
    return next(((each.code, wanted) for each in found if (wanted := _read(each, kinds)) is not None), None)


def _read(asked: Open, kinds: tuple[type[Wanted], ...]) -> Wanted | None:
    return next((read_open(asked, kind) for kind in kinds if kind.__name__ == asked.kind), None)


def read_open(asked: Open, kind: type[Wanted]) -> Wanted:
    """Return what an open question of that kind asks for."""
    return adapter_of(kind).validate_json(json.dumps(asked.data))
