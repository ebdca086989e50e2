"""Decide who is answered: checked for every message, on ids, before anything is stored and any model is asked."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum

from core.answering.parts import Verdict
from core.enclosures import Speaker
from core.errors import StorageError
from core.features.access.storage import DENIED_FOR, Account, People, Person, Stranger
from core.features.admin.storage import Decisions
from core.ports import Clock
from core.stores import KeptStore
from core.text.language import detect
from core.text.unicode import one_line
from core.types import Incoming, Role, UserKey, room_name

TOLD_EVERY = timedelta(days=1)
STRANGERS_KEPT = DENIED_FOR
STAYS = frozenset({Role.OWNER, Role.ADMIN, Role.BLOCKED})
"""The roles that a person keeps when all else of them is forgotten: an owner keeps the bot, the blocked stay out."""

CODE = "claim:{}"
"""The name under which the code of a platform is kept."""

_MAX_NAME_CHARS = 64
_MAX_TAG_CHARS = 16
_CLAIM_BYTES = 16


_rechecked: ContextVar[tuple[Incoming, Person | None] | None] = ContextVar("rechecked", default=None)
"""The message whose answer the task has begun, and its sender as they were then."""


class Mode(StrEnum):
    """Which people without a role are answered, as guests."""

    PRIVATE = "private"  # those who write in a room that was let in, there
    MEMBERS = "members"  # nobody
    OPEN = "open"  # everybody, everywhere


class Access:
    """The rule of access: closed to all but the owner and those who were given a role.

    On `trusted` platforms everybody is the owner. On `embedded` platforms the surrounding program says who writes: each
    person is a member, or has the role in `grants`, as long as the process lives. Everybody else without a role is a
    guest where the mode says so, and a stranger elsewhere; `mode` holds while no other was decided.

    A platform without an owner has a one-time code, in every mode: the sender of `/start CODE` in a private chat
    becomes its owner. `codes` keeps them, one for each platform, for all workers and over restarts.
    """

    def __init__(
        self,
        people: People,
        decisions: Decisions,
        codes: KeptStore,
        clock: Clock,
        *,
        trusted: Collection[str] = (),
        embedded: Collection[str] = (),
        grants: Mapping[UserKey, Role] | None = None,
        mode: Mode = Mode.PRIVATE,
    ) -> None:
        self.people = people
        self._decisions = decisions
        self._clock = clock
        self._trusted = frozenset(trusted)
        self.embedded = frozenset(embedded)
        self._grants = dict(grants or {})
        self._mode = mode
        self._codes = codes
        self._owners: set[UserKey] = set()
        self._named: set[UserKey] = set()

    async def claim_code(self, platform: str) -> str | None:
        """Return the code that makes its sender the owner, or None if the platform has an owner."""
        owned = any(
            person.role is Role.OWNER and person.user.platform == platform for person in await self.people.all()
        )
        if owned:
            return None
        new = secrets.token_urlsafe(_CLAIM_BYTES)
        return await self._codes.change(CODE.format(platform), lambda known: known or new)

    async def own(self, user: UserKey, name: str) -> None:
        """Make a person an owner because their platform says so, in place of the role they had."""
        self._named.add(user)
        await self.people.put(Person(user, Role.OWNER, one_line(name, _MAX_NAME_CHARS), self._clock.now()))
        self._owners.add(user)

    def is_trusted(self, platform: str) -> bool:
        """Whether everybody on that platform is the owner."""
        return platform in self._trusted

    def is_named(self, user: UserKey) -> bool:
        """Whether the platform itself names that owner, and does so again whenever it is connected."""
        return user in self._named

    async def mode(self) -> Mode:
        """Return the mode that holds now."""
        decided = await self._decisions.access_mode()
        return Mode(decided) if decided else self._mode

    async def role(self, user: UserKey) -> Role | None:
        """Return the role that the person was given, or None for none. It holds everywhere."""
        return self._role_of(user, await self.people.find(user))

    async def role_here(self, incoming: Incoming) -> Role | None:
        """Return the sender's role where they wrote, or None for a stranger there; as it was when it was rechecked."""
        judged = _rechecked.get()
        if judged is not None and judged[0] is incoming:
            given = self._role_of(incoming.user, judged[1])
        else:
            given = await self.role(incoming.user)
        return given or (Role.GUEST if await self.welcomes(room_name(incoming.chat)) else None)

    async def judge(self, incoming: Incoming) -> Verdict:
        """Return what is done with a message that has just come: it may claim the bot, and a stranger is noted."""
        if await self._claims(incoming):
            await self._meet(incoming, await self.people.account(incoming.user))
            return Verdict.CLAIMED
        person, account = await self._known(incoming)
        verdict = await self._verdict(incoming, person)
        if verdict is Verdict.ANSWER:
            await self._meet(incoming, account)
        if verdict is not Verdict.TELL_OFF:
            return verdict
        now = self._clock.now()
        stranger = Stranger(incoming.user, _name(incoming), now, _language(incoming))
        if not await self.people.note_stranger(stranger, TOLD_EVERY):
            return Verdict.IGNORE
        await self._meet(incoming, account)
        await self.people.drop_strangers(now - STRANGERS_KEPT)
        return Verdict.TELL_OFF

    async def recheck(self, incoming: Incoming) -> Verdict:
        """Return what is done with a message by the rights of now; one not addressed to the bot is never answered.

        ANSWER, IGNORE, TELL_PAUSED, or TELL_OFF for a stranger in private.
        """
        await self._decisions.refresh()
        person, _ = await self._known(incoming)
        _rechecked.set((incoming, person))
        return await self._verdict(incoming, person)

    async def _verdict(self, incoming: Incoming, person: Person | None) -> Verdict:
        if incoming.user.platform in self._trusted:
            return Verdict.ANSWER
        if not incoming.addressed:
            return Verdict.IGNORE
        role = await self._named_role(incoming, person)
        if role is Role.BLOCKED or not (role is Role.OWNER or await self.is_let_here(incoming)):
            return Verdict.IGNORE
        if role is None and not await self.welcomes(room_name(incoming.chat)):
            return Verdict.TELL_OFF if incoming.private else Verdict.IGNORE
        if role is not Role.OWNER and await self._decisions.is_paused():
            return Verdict.TELL_PAUSED
        return Verdict.ANSWER

    async def is_let_here(self, incoming: Incoming) -> bool:
        """Whether who manages the server lets the bot answer there; the command by which they do so is always heard."""
        is_theirs = incoming.text.casefold().split(maxsplit=1)[:1] == ["/server"]
        return is_theirs or await self._decisions.lets_answer(incoming)

    async def forget(self, user: UserKey) -> None:
        """Remove what is kept of a person; a role that STAYS is kept, without a name."""
        await self.people.forget_account(user)
        person = await self.people.find(user)
        if person is not None and person.role in STAYS:
            await self.people.put(replace(person, name=""))
        else:
            await self.people.remove(user)

    async def owners(self) -> Collection[UserKey]:
        """Return the owners; if they cannot be read any more, those who were owners when they last could.

        Raises:
            StorageError: they cannot be read, and never could.
        """
        try:
            self._owners = {person.user for person in await self.people.all() if person.role is Role.OWNER}
        except StorageError:
            if not self._owners:
                raise
        return tuple(self._owners)

    async def handle(self, user: UserKey) -> str:
        """Return the @name that the platform told of an account, without the @; "" if none."""
        account = await self.people.account(user)
        return account.handle if account is not None else ""

    async def language(self, user: UserKey) -> str:
        """Return the tag of the language that the platform told of a person, "" if none."""
        account = await self.people.account(user)
        return account.language if account is not None else ""

    async def learn_name(self, incoming: Incoming) -> None:
        """Store the name of a person without one, as it came with the message of theirs that another one replies to."""
        user = UserKey(incoming.user.platform, incoming.quoted_user)
        known = await self.people.find(user) or await self.people.stranger(user)
        quoted = next((each.name for each in incoming.quotes[:1] if each.speaker is Speaker.OTHER), "")
        if known is not None and not known.name and quoted:
            await self.people.rename(user, one_line(quoted, _MAX_NAME_CHARS))

    async def denied(self) -> Sequence[Stranger]:
        """Return the strangers who were denied within the last 30 days, the last one first."""
        await self.people.drop_strangers(self._clock.now() - STRANGERS_KEPT)
        return await self.people.strangers(denied=True)

    async def strangers(self, limit: int) -> Sequence[Stranger]:
        """Return the strangers of the last 30 days on whom nobody decided, the newest first."""
        await self.people.drop_strangers(self._clock.now() - STRANGERS_KEPT)
        return await self.people.strangers(limit)

    async def welcomes(self, room: str) -> bool:
        """Whether people without a role are guests in a room, named as PLATFORM:ID.

        A room that is let in is named by its own chat, so this never lets in a private chat; an answer in a room that
        only its asker sees is given in the room's chat.
        """
        mode = await self.mode()
        return await self._decisions.is_let_in(room) if mode is Mode.PRIVATE else mode is Mode.OPEN

    async def _meet(self, incoming: Incoming, known: Account | None) -> None:
        """Store the sender's handle and language as they are now. A tag told in a room may be the room's own."""
        user, tag = incoming.user, one_line(incoming.language, _MAX_TAG_CHARS)
        if user.platform in self._trusted:
            return
        before = known.language if known is not None else ""
        language = tag if tag and (incoming.private or not before) else before
        account = Account(user, one_line(incoming.handle, _MAX_NAME_CHARS).removeprefix("@"), language)
        if account != known:
            await self.people.put_account(account)

    async def _known(self, incoming: Incoming) -> tuple[Person | None, Account | None]:
        """Return what is known of a sender on whom the verdict depends."""
        if incoming.user.platform in self._trusted or not incoming.addressed:
            return None, None
        return await self.people.known(incoming.user)

    async def _named_role(self, incoming: Incoming, person: Person | None) -> Role | None:
        """Return the sender's role, and store the name that they go by now."""
        name = _name(incoming)
        if person is not None and name and name != person.name:
            await self.people.rename(incoming.user, name)
        return self._role_of(incoming.user, person)

    def _role_of(self, user: UserKey, person: Person | None) -> Role | None:
        if user.platform in self._trusted:
            return Role.OWNER
        if user in self._grants:
            return self._grants[user]
        if person is not None:
            return person.role
        return Role.MEMBER if user.platform in self.embedded else None

    async def _claims(self, incoming: Incoming) -> bool:
        """Make the sender the owner if they sent the code in private, in every mode; a blocked person cannot."""
        platform, (command, _, given) = incoming.user.platform, incoming.text.partition(" ")
        if not incoming.private or command != "/start" or not given:
            return False
        if (code := await self._codes.get(CODE.format(platform))) is None:
            return False
        if not hmac.compare_digest(given.strip().encode(), code.encode()):
            return False
        if await self.role(incoming.user) is Role.BLOCKED:
            return False
        claimed = await self.people.claim(Person(incoming.user, Role.OWNER, _name(incoming), self._clock.now()))
        await self._codes.delete(CODE.format(platform))
        if claimed:
            self._owners.add(incoming.user)
        return claimed


def _name(incoming: Incoming) -> str:
    return one_line(incoming.user_name, _MAX_NAME_CHARS)


def _language(incoming: Incoming) -> str:
    """Return the language tag that the platform tells, else the language of what they wrote."""
    return one_line(incoming.language, _MAX_TAG_CHARS) or detect(incoming.text) or ""
