"""Who is answered. Checked for every message, on ids, before any model call and before anything is stored.

Knows the rule. Does not know where standings are kept, nor what is said to whom.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum

from core.errors import StorageError
from core.features.access.people import DENIED_FOR, People, Person, Stranger
from core.features.admin.decisions import ALLOWED, DecisionKind, Decisions
from core.hooks import Verdict
from core.ports import Clock
from core.text.language import detect
from core.text.unicode import one_line
from core.types import Incoming, Role, UserKey, room_name

TOLD_EVERY = timedelta(days=1)
STRANGERS_KEPT = DENIED_FOR
STAYS = frozenset({Role.OWNER, Role.ADMIN, Role.BLOCKED})
"""What a person still is when all else of them is forgotten: an owner keeps the bot, the blocked stay out."""

_MAX_NAME_CHARS = 64
_MAX_TAG_CHARS = 16
_CLAIM_BYTES = 16


class Mode(StrEnum):
    """To whom the bot is open besides those whom somebody let in."""

    PRIVATE = "private"  # whoever writes in a room that was let in, there
    MEMBERS = "members"  # nobody
    OPEN = "open"  # everybody, everywhere


class Access:
    """Closed by default: the owner, and whom somebody let in. On `trusted` platforms everybody is the owner.

    On `embedded` platforms a program of somebody's own decides who asks: each is a member there, and more only if the
    program grants it by name (`grants`), for as long as the process lives.
    Whom nobody gave a standing is a guest where the mode says so, and a stranger everywhere else; `mode` is the one
    that holds while nobody decided on another.
    A platform without an owner has a one-time code, in every mode; whoever sends `/start CODE` in a private chat owns
    the bot there. Codes live as long as the process and are not stored.
    """

    def __init__(
        self,
        people: People,
        decisions: Decisions,
        clock: Clock,
        *,
        trusted: Collection[str] = (),
        embedded: Collection[str] = (),
        grants: Mapping[UserKey, Role] | None = None,
        mode: Mode = Mode.PRIVATE,
    ) -> None:
        self._people = people
        self._decisions = decisions
        self._clock = clock
        self._trusted = frozenset(trusted)
        self._embedded = frozenset(embedded)
        self._grants = dict(grants or {})
        self._mode = mode
        self._codes: dict[str, str] = {}
        self._owners: set[UserKey] = set()

    async def claim_code(self, platform: str) -> str | None:
        """Return the code that makes its sender the owner, or None if the platform has an owner."""
        owned = any(
            person.role is Role.OWNER and person.user.platform == platform for person in await self._people.all()
        )
        return None if owned else self._codes.setdefault(platform, secrets.token_urlsafe(_CLAIM_BYTES))

    async def own(self, user: UserKey, name: str) -> None:
        """Make somebody an owner because their platform says so, whatever they were before."""
        await self._people.put(Person(user, Role.OWNER, one_line(name, _MAX_NAME_CHARS), self._clock.now()))
        self._owners.add(user)

    async def mode(self) -> Mode:
        """Return to whom the bot is open now."""
        decided = await self._decisions.value(DecisionKind.ACCESS)
        return Mode(decided) if decided else self._mode

    async def role(self, user: UserKey) -> Role | None:
        """Return the standing that somebody gave the person, or None if nobody did. It holds everywhere."""
        return self._standing_of(user, await self._people.find(user))

    async def role_here(self, incoming: Incoming) -> Role | None:
        """Return what the sender is to the bot where they wrote, or None for a stranger there."""
        given = await self.role(incoming.user)
        return given or (Role.GUEST if await self._welcomes(incoming) else None)

    async def judge(self, incoming: Incoming) -> Verdict:
        """Return what is done with a message that has just come; it may claim the bot, and a stranger's is noted."""
        if await self._claims(incoming):
            return Verdict.CLAIMED
        verdict = await self.recheck(incoming)
        if verdict is not Verdict.TELL_OFF:
            return verdict
        now = self._clock.now()
        stranger = Stranger(incoming.user, _name(incoming), now, _language(incoming))
        if not await self._people.note_stranger(stranger, TOLD_EVERY):
            return Verdict.IGNORE
        await self._people.drop_strangers(now - STRANGERS_KEPT)
        return Verdict.TELL_OFF

    async def recheck(self, incoming: Incoming) -> Verdict:
        """Return what is done with a message by what holds now. One that was not meant for the bot is never answered.

        ANSWER, IGNORE, TELL_PAUSED, or TELL_OFF for a stranger in private.
        """
        if incoming.user.platform in self._trusted:
            return Verdict.ANSWER
        if not incoming.addressed:
            return Verdict.IGNORE
        role = await self._known(incoming)
        if role is Role.BLOCKED:
            return Verdict.IGNORE
        if role is None and not await self._welcomes(incoming):
            return Verdict.TELL_OFF if incoming.private else Verdict.IGNORE
        if role is not Role.OWNER and await self._decisions.value(DecisionKind.PAUSE):
            return Verdict.TELL_PAUSED
        return Verdict.ANSWER

    async def forget(self, user: UserKey) -> None:
        """Keep nothing of a person but a standing that STAYS, without a name."""
        person = await self._people.find(user)
        if person is not None and person.role in STAYS:
            await self._people.put(replace(person, name=""))
        else:
            await self._people.remove(user)

    async def people(self) -> Sequence[Person]:
        """Return everybody who has a standing, the oldest first."""
        return await self._people.all()

    async def owners(self) -> Collection[UserKey]:
        """Return the owners; where they cannot be read any more, those who were it when they last could.

        Raises:
            StorageError: they cannot be read, and never were.
        """
        try:
            self._owners = {person.user for person in await self._people.all() if person.role is Role.OWNER}
        except StorageError:
            if not self._owners:
                raise
        return tuple(self._owners)

    async def person(self, user: UserKey) -> Person | None:
        """Return somebody who was given a standing, or None."""
        return await self._people.find(user)

    async def stranger(self, user: UserKey) -> Stranger | None:
        """Return what is noted of somebody who asked to be let in, None if nothing."""
        return await self._people.stranger(user)

    async def denied(self) -> Sequence[Stranger]:
        """Return who was denied within the last 30 days, the last one first."""
        await self._people.drop_strangers(self._clock.now() - STRANGERS_KEPT)
        return await self._people.denied()

    async def strangers(self, limit: int) -> Sequence[Stranger]:
        """Return who asked to be let in within the last 30 days, and waits, the newest first."""
        await self._people.drop_strangers(self._clock.now() - STRANGERS_KEPT)
        return await self._people.strangers(limit)

    async def _welcomes(self, incoming: Incoming) -> bool:
        """Whether somebody without a standing is a guest there.

        A room's permission is for its own chat, and so never for a private one; what only its asker sees of a room's
        chat is said in the room.
        """
        mode = await self.mode()
        if mode is Mode.PRIVATE:
            return await self._decisions.value(DecisionKind.ROOM, room_name(incoming.chat)) == ALLOWED
        return mode is Mode.OPEN

    async def _known(self, incoming: Incoming) -> Role | None:
        """Return the sender's standing, and keep the name that they go by now."""
        person, name = await self._people.find(incoming.user), _name(incoming)
        if person is not None and name and name != person.name:
            await self._people.rename(incoming.user, name)
        return self._standing_of(incoming.user, person)

    def _standing_of(self, user: UserKey, person: Person | None) -> Role | None:
        if user.platform in self._trusted:
            return Role.OWNER
        if user in self._grants:
            return self._grants[user]
        if person is not None:
            return person.role
        return Role.MEMBER if user.platform in self._embedded else None

    async def _claims(self, incoming: Incoming) -> bool:
        """Make the sender the owner if they sent the code in private, whomever the bot answers. The blocked cannot."""
        platform, (command, _, given) = incoming.user.platform, incoming.text.partition(" ")
        code = self._codes.get(platform)
        if not incoming.private or command != "/start" or code is None:
            return False
        if not hmac.compare_digest(given.strip().encode(), code.encode()):
            return False
        if await self.role(incoming.user) is Role.BLOCKED:
            return False
        claimed = await self._people.claim(Person(incoming.user, Role.OWNER, _name(incoming), self._clock.now()))
        self._codes.pop(platform, None)
        if claimed:
            self._owners.add(incoming.user)
        return claimed


def _name(incoming: Incoming) -> str:
    return one_line(incoming.user_name, _MAX_NAME_CHARS)


def _language(incoming: Incoming) -> str:
    """Return the tag of what they speak, as the platform says; of what they wrote nothing is kept but its language."""
    return one_line(incoming.language, _MAX_TAG_CHARS) or detect(incoming.text) or ""
