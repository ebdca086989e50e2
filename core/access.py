"""Who is answered. Checked for every message, on ids, before any model call and before anything is stored.

Knows the rule. Does not know where standings are kept, nor what is said to whom.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection
from datetime import timedelta
from enum import Enum, auto

from core.people import People, Person, Standing
from core.ports import Clock
from core.types import Incoming, UserKey
from core.unicode import one_line

TOLD_EVERY = timedelta(days=1)
_CLAIM_BYTES = 16


class Verdict(Enum):
    """What is done with a message."""

    ANSWER = auto()
    CLAIMED = auto()  # its sender has just become the owner
    TELL_OFF = auto()  # one polite line that the bot is private
    IGNORE = auto()


class Access:
    """Closed by default: the owner, and whom somebody let in. On `trusted` platforms everybody is the owner.

    A platform without an owner has a one-time code; whoever sends `/start CODE` in a private chat owns the bot there.
    Codes live as long as the process and are not stored.
    """

    def __init__(self, people: People, clock: Clock, *, trusted: Collection[str] = ()) -> None:
        self._people = people
        self._clock = clock
        self._trusted = frozenset(trusted)
        self._codes: dict[str, str] = {}

    async def claim_code(self, platform: str) -> str | None:
        """Return the code that makes its sender the owner, or None if the platform has an owner."""
        owned = any(
            person.standing is Standing.OWNER and person.user.platform == platform
            for person in await self._people.all()
        )
        return None if owned else self._codes.setdefault(platform, secrets.token_urlsafe(_CLAIM_BYTES))

    async def own(self, user: UserKey, name: str) -> None:
        """Make somebody an owner because their platform says so, whatever they were before."""
        await self._people.put(Person(user, Standing.OWNER, one_line(name, 64), self._clock.now()))

    async def standing(self, user: UserKey) -> Standing | None:
        """Return what the person is to the bot, or None for a stranger."""
        if user.platform in self._trusted:
            return Standing.OWNER
        person = await self._people.find(user)
        return None if person is None else person.standing

    async def judge(self, incoming: Incoming) -> Verdict:
        """Return what is done with the message. A message that was not meant for the bot is never answered."""
        if incoming.user.platform in self._trusted:
            return Verdict.ANSWER
        if not incoming.addressed:
            return Verdict.IGNORE
        person = await self._people.find(incoming.user)
        if person is not None:
            return Verdict.IGNORE if person.standing is Standing.BLOCKED else Verdict.ANSWER
        if not incoming.private:
            return Verdict.IGNORE
        if await self._claims(incoming):
            return Verdict.CLAIMED
        due = await self._people.note_stranger(incoming.user, self._clock.now(), TOLD_EVERY)
        return Verdict.TELL_OFF if due else Verdict.IGNORE

    async def _claims(self, incoming: Incoming) -> bool:
        command, _, given = incoming.text.partition(" ")
        code = self._codes.get(incoming.user.platform)
        if command != "/start" or code is None or not hmac.compare_digest(given.strip().encode(), code.encode()):
            return False
        owner = Person(incoming.user, Standing.OWNER, one_line(incoming.user_name, 64), self._clock.now())
        del self._codes[incoming.user.platform]
        return await self._people.claim(owner)
