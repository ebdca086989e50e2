"""Verb owner: make somebody else an owner, too, and step down. Both are confirmed, and undone as any role is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from core.commands.command import Request
from core.features.access.gate import ROLES, named, person_line
from core.features.access.people import Person
from core.features.admin.admin import ask_to_confirm
from core.features.admin.decide import TOLD
from core.features.admin.decisions import Applied, Decision, DecisionKind
from core.features.feature import Shared
from core.outgoing import OutgoingMessage
from core.text.catalogue import text
from core.types import Localized, Role, UserKey

CONFIRM, LEAVE = "confirm", "leave"


@dataclass(frozen=True, slots=True)
class NewOwner:
    """What an owner is asked to confirm: to make that person an owner, too."""

    user: UserKey


class SteppingDown(StrEnum):
    """What an owner is asked to confirm: to be an owner no more."""

    MEMBER = "member"


class Handover:
    """Show who owns the bot; make a person who is let in an owner; let an owner become a member."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._access = shared.access
        self._ask = partial(ask_to_confirm, confirmations=shared.confirmations, command=f"/admin owner {CONFIRM}")

    async def owner(self, request: Request, argument: str) -> None:
        """Show the owners, or ask whether to make a person one, or to step down."""
        words = argument.split()
        match [word.casefold() for word in words]:
            case [] if not request.incoming.quoted_user:
                owners = [await self._line(person, request) for person in await self._owners()]
                lines = [OWNERS[request.locale], *owners, "", HOW[request.locale]]
                await request.answer.tell("\n".join(lines))
            case [word, _] if word == CONFIRM:
                await self._confirmed(request, words[1])
            case [word] if word == LEAVE:
                await self._ask_to_leave(request)
            case _:
                await self._ask_to_make(request, await self._shared.names.find(request, words))

    async def _ask_to_make(self, request: Request, user: UserKey) -> None:
        """Say what it means that somebody becomes an owner, and ask for a confirmation."""
        locale, person = request.locale, await self._access.person(user)
        if person is None or person.role is Role.BLOCKED:
            role = ROLES[person.role.value if person else ""][locale]
            await request.tell(NOT_LET_IN, who=await self._shared.names.of_person(user), user=user, role=role)
        elif person.role is Role.OWNER:
            await request.tell(IS_OWNER, who=await self._line(person, request))
        else:
            has_named = any(self._access.is_named(each.user) for each in await self._owners(user.platform))
            await self._ask(
                request,
                NewOwner(user),
                said=MAKE_ASKS,
                label=MAKE_IT,
                before=[NAMED_STAYS[locale]] if has_named else [],
                who=await self._line(person, request),
            )

    async def _ask_to_leave(self, request: Request) -> None:
        """Say what stepping down means, and ask for a confirmation; the last owner of a platform stays."""
        me, locale = request.incoming.user, request.locale
        owners = [person.user for person in await self._owners(me.platform)]
        if me not in owners:
            await request.tell(NOT_BY_ROLE)
        elif owners == [me]:
            await request.tell(TOLD[Applied.LAST_OWNER])
        else:
            returns = [NAMED_RETURNS[locale]] if self._access.is_named(me) else []
            await self._ask(request, SteppingDown.MEMBER, said=LEAVE_ASKS, label=STEP_DOWN, before=returns)

    async def _confirmed(self, request: Request, code: str) -> None:
        match await self._shared.confirmations.take(request.incoming, code, NewOwner, SteppingDown):
            case NewOwner(user):
                await self._make(request, user)
            case SteppingDown():
                await self._leave(request)
            case _:
                await request.tell(NOT_CONFIRMED)

    async def _make(self, request: Request, user: UserKey) -> None:
        """Make them an owner if they are still let in, and tell them."""
        person = await self._access.person(user)
        if person is None or person.role is Role.BLOCKED:
            await request.tell(TOLD[Applied.STALE])
        elif await self._shared.decider.decide(request, DecisionKind.ROLE, str(user), Role.OWNER.value):
            await self._tell([user], IS_OWNER_NOW, await self._called(request.incoming.user))

    async def _leave(self, request: Request) -> None:
        me, now = request.incoming.user, self._shared.clock.now()
        before = await self._shared.stores.decisions.value(DecisionKind.ROLE, str(me))
        decision = Decision(now, me, DecisionKind.ROLE, str(me), before, Role.MEMBER.value)
        applied = await self._shared.decider.make(decision) if before == Role.OWNER else Applied.STALE
        if applied is not Applied.DONE:
            await request.tell(TOLD[applied])
            return
        await request.tell(LEFT)
        await self._tell([person.user for person in await self._owners()], HAS_LEFT, await self._called(me))

    async def _tell(self, users: Sequence[UserKey], said: Localized, who: str) -> None:
        for user in users:
            locale = await self._shared.locales.known(user)
            await self._shared.notifier.tell(user, OutgoingMessage(said[locale].format(who=who)))

    async def _owners(self, platform: str = "") -> Sequence[Person]:
        people = await self._access.people()
        return [each for each in people if each.role is Role.OWNER and platform in {"", each.user.platform}]

    async def _line(self, person: Person, request: Request) -> str:
        return person_line(person, request.locale, await self._access.handle(person.user))

    async def _called(self, user: UserKey) -> str:
        """Return a person's name and id, without their @name."""
        person = await self._access.person(user)
        return " ".join([*(named(person.name) if person else []), f"`{user}`"])


OWNERS = text("admin.owner.owners")
HOW = text("admin.owner.how")
NOT_LET_IN = text("admin.owner.not_let_in")
IS_OWNER = text("admin.owner.is_owner")
MAKE_ASKS = text("admin.owner.make_asks")
MAKE_IT = text("admin.owner.make_it")
NAMED_STAYS = text("admin.owner.named_stays")
NAMED_RETURNS = text("admin.owner.named_returns")
NOT_BY_ROLE = text("admin.owner.not_by_role")
LEAVE_ASKS = text("admin.owner.leave_asks")
STEP_DOWN = text("admin.owner.step_down")
NOT_CONFIRMED = text("admin.owner.not_confirmed")
IS_OWNER_NOW = text("admin.owner.is_owner_now")
LEFT = text("admin.owner.left")
HAS_LEFT = text("admin.owner.has_left")
