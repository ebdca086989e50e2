"""/admin owner: make somebody else an owner, once both sides agreed, and step down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from core.commands.command import Command, Request
from core.commands.menu import choice_field
from core.confirmations import Confirmations
from core.delivery.notifier import Notifier
from core.features.access.gate import ROLES, minute, named, person_line
from core.features.access.people import Person
from core.features.access.rules import Access
from core.features.admin.admin import Verb
from core.features.admin.decide import TOLD, DecisionEffects
from core.features.admin.decisions import Applied, Decision, DecisionKind, Decisions
from core.features.admin.names import EXAMPLE, SOMEBODY, Names
from core.language_choice import Locales
from core.outgoing import Button, OutgoingMessage
from core.ports import Clock
from core.text.catalogue import text
from core.types import Localized, Role, UserKey

OFFERED_FOR: Final = timedelta(days=1)
CONFIRM, LEAVE, ACCEPT, DECLINE = "confirm", "leave", "accept", "decline"
_LET_IN: Final = {Role.ADMIN, Role.MEMBER, Role.GUEST}


@dataclass(frozen=True, slots=True)
class NewOwner:
    """What an owner is asked to confirm: to offer that person to be an owner, too."""

    user: UserKey


class SteppingDown(StrEnum):
    """What an owner is asked to confirm: to be an owner no more."""

    MEMBER = "member"


class Handover:
    """Offer /admin owner and, to whom it was offered, /owner.

    An offer is a decision, open for OFFERED_FOR: it is in /admin changes, and /admin undo withdraws it. It is void once
    whoever made it is no owner any more.
    """

    def __init__(
        self,
        decisions: Decisions,
        access: Access,
        effects: DecisionEffects,
        *,
        names: Names,
        confirmations: Confirmations,
        notifier: Notifier,
        locales: Locales,
        clock: Clock,
    ) -> None:
        self._decisions = decisions
        self._access = access
        self._effects = effects
        self._names = names
        self._confirmations = confirmations
        self._notifier = notifier
        self._locales = locales
        self._clock = clock

    @property
    def verb(self) -> Verb:
        """The verb of /admin."""
        about = text("admin.commands.owner")
        leaving = choice_field("what", text("menus.fields.owner"), {LEAVE: text("menus.owner.leave")})
        return Verb(
            "owner",
            about,
            self._owner,
            " [PERSON | leave]",
            EXAMPLE,
            for_owners=True,
            decisive=True,
            fields=(*SOMEBODY, leaving),
            complete=self._names.complete,
        )

    @property
    def command(self) -> Command:
        """The command of the buttons below an offer."""
        return Command("owner", text("commands.owner"), self._answer, in_private=True, in_menus=False)

    async def _owner(self, request: Request, argument: str) -> None:
        """Show the owners, or ask whether to offer it to a person, or to step down."""
        words = argument.split()
        match [word.casefold() for word in words]:
            case [] if not request.incoming.quoted_user:
                await self._show(request)
            case [word, _] if word == CONFIRM:
                await self._confirmed(request, words[1])
            case [word] if word == LEAVE:
                await self._ask_to_leave(request)
            case _:
                await self._ask_to_offer(request, await self._names.find(request, words))

    async def _show(self, request: Request) -> None:
        locale = request.locale
        owners = [await self._line(person, request) for person in await self._owners()]
        offers = [await self._open_offer(_user(name)) for name in await self._decisions.values(DecisionKind.OFFER)]
        lines = [
            OFFERED[locale].format(user=offer.name, until=minute(offer.at + OFFERED_FOR)) for offer in offers if offer
        ]
        await request.answer.tell("\n".join([OWNERS[locale], *owners, *lines, "", HOW[locale]]))

    async def _ask_to_offer(self, request: Request, user: UserKey) -> None:
        """Say what it means that somebody becomes an owner, and ask for a confirmation."""
        locale, person = request.locale, await self._access.person(user)
        if person is None or person.role not in {*_LET_IN, Role.OWNER}:
            role = ROLES[person.role.value if person else ""][locale]
            await request.tell(NOT_LET_IN, user=user, role=role)
        elif person.role is Role.OWNER:
            await request.tell(IS_OWNER, who=await self._line(person, request))
        else:
            code = await self._confirmations.ask(request.incoming.conversation, NewOwner(user))
            command = f"/admin owner {CONFIRM} {code}"
            asked = OFFER_ASKS[locale].format(who=await self._line(person, request), command=command)
            has_named = any(self._access.is_named(each.user) for each in await self._owners(user.platform))
            lines = [NAMED_STAYS[locale], asked] if has_named else [asked]
            button = Button(OFFER_IT[locale], command, in_place=True)
            await request.answer.tell("\n".join(lines), choices=[button])

    async def _ask_to_leave(self, request: Request) -> None:
        """Say what stepping down means, and ask for a confirmation; the last owner of a platform stays."""
        me, locale = request.incoming.user, request.locale
        owners = [person.user for person in await self._owners(me.platform)]
        if me not in owners:
            await request.tell(NOT_BY_ROLE)
        elif owners == [me]:
            await request.tell(LAST_OWNER)
        else:
            code = await self._confirmations.ask(request.incoming.conversation, SteppingDown.MEMBER)
            command = f"/admin owner {CONFIRM} {code}"
            lines = [NAMED_RETURNS[locale]] if self._access.is_named(me) else []
            lines.append(LEAVE_ASKS[locale].format(command=command))
            button = Button(STEP_DOWN[locale], command, in_place=True)
            await request.answer.tell("\n".join(lines), choices=[button])

    async def _confirmed(self, request: Request, code: str) -> None:
        wanted: NewOwner | SteppingDown | None = await self._confirmations.take(
            request.incoming, code, NewOwner, SteppingDown
        )
        match wanted:
            case NewOwner(user):
                await self._offer(request, user)
            case SteppingDown():
                await self._leave(request)
            case _:
                await request.tell(NOT_CONFIRMED)

    async def _offer(self, request: Request, user: UserKey) -> None:
        """Record the offer, and send it; one that does not arrive is withdrawn."""
        me, now = request.incoming.user, self._clock.now()
        before, after = await self._decisions.value(DecisionKind.OFFER, str(user)), now.isoformat(timespec="seconds")
        offer = Decision(now, me, DecisionKind.OFFER, str(user), before, after)
        if before != after and (applied := await self._decisions.apply(offer)) is not Applied.DONE:
            await request.answer.tell(TOLD[applied][request.locale])
            return
        locale, until = await self._locales.known(user), minute(now + OFFERED_FOR)
        sent = OutgoingMessage(
            OFFER[locale].format(by=await self._called(me), until=until),
            choices=(
                Button(ACCEPT_IT[locale], f"/owner {ACCEPT}", in_place=True),
                Button(DECLINE_IT[locale], f"/owner {DECLINE}", in_place=True),
            ),
        )
        if await self._notifier.tell(user, sent):
            await request.tell(SENT, who=await self._called(user), until=until)
        else:
            await self._close(user, me)
            await request.tell(UNREACHABLE, who=await self._called(user))

    async def _answer(self, request: Request, argument: str) -> None:
        """Take the answer of the person to whom it was offered."""
        me, word = request.incoming.user, argument.casefold()
        offer = await self._open_offer(me)
        if offer is None or word not in {ACCEPT, DECLINE}:
            is_owner = word == ACCEPT and await self._access.role(me) is Role.OWNER  # accepted before a restart
            await request.tell(ACCEPTED if is_owner and request.turn.memory.context.is_again else NO_OFFER)
            return
        await self._close(me, me, offer)
        if word == DECLINE:
            await request.tell(DECLINED)
            await self._tell([offer.by] if offer.by else [], HAS_DECLINED, await self._called(me))
            return
        if await self._change_role(me, Role.OWNER) is not Applied.DONE:
            await request.tell(NO_OFFER)
            return
        await request.tell(ACCEPTED)
        others = [person.user for person in await self._owners() if person.user != me]
        await self._tell(others, HAS_ACCEPTED, await self._called(me))

    async def _leave(self, request: Request) -> None:
        me = request.incoming.user
        applied = await self._change_role(me, Role.MEMBER)
        if applied is not Applied.DONE:
            await request.answer.tell(TOLD[applied][request.locale])
            return
        await request.tell(LEFT)
        await self._tell([person.user for person in await self._owners()], HAS_LEFT, await self._called(me))

    async def _change_role(self, user: UserKey, role: Role) -> Applied:
        """Change the role of a person who decided so themselves; a stranger, or whom an owner blocked, gets none."""
        before = await self._decisions.value(DecisionKind.ROLE, str(user))
        if before not in {*_LET_IN, Role.OWNER}:
            return Applied.STALE
        decision = Decision(self._clock.now(), user, DecisionKind.ROLE, str(user), before, role.value)
        applied = await self._decisions.apply(decision)
        if applied is Applied.DONE:
            self._effects.take_effect(DecisionKind.ROLE, str(user), role.value)
        return applied

    async def _open_offer(self, user: UserKey) -> Decision | None:
        """Return the offer that a person can accept now, or None."""
        held = await self._decisions.value(DecisionKind.OFFER, str(user))
        newest = await self._decisions.newest(1, on=(DecisionKind.OFFER, str(user)))
        if not held or not newest or newest[0].by is None or await self._access.role(newest[0].by) is not Role.OWNER:
            return None
        return newest[0] if self._clock.now() - datetime.fromisoformat(held) < OFFERED_FOR else None

    async def _close(self, user: UserKey, by: UserKey, offer: Decision | None = None) -> None:
        """Close the offer to a person; what is closed is not offered again by /admin undo."""
        [newest] = [offer] if offer else await self._decisions.newest(1, on=(DecisionKind.OFFER, str(user)))
        now, name = self._clock.now(), str(user)
        await self._decisions.apply(Decision(now, by, DecisionKind.OFFER, name, newest.after, "", undoes=newest.id))

    async def _tell(self, users: Sequence[UserKey], said: Localized, who: str) -> None:
        for user in users:
            await self._notifier.tell(user, OutgoingMessage(said[await self._locales.known(user)].format(who=who)))

    async def _owners(self, platform: str = "") -> Sequence[Person]:
        people = await self._access.people()
        return [each for each in people if each.role is Role.OWNER and platform in {"", each.user.platform}]

    async def _line(self, person: Person, request: Request) -> str:
        account = await self._access.account(person.user)
        return person_line(person, request.locale, account.handle if account is not None else "")

    async def _called(self, user: UserKey) -> str:
        """Return a person's name and id, without their @name."""
        person = await self._access.person(user)
        return " ".join([*(named(person.name) if person else []), f"`{user}`"])


def _user(name: str) -> UserKey:
    platform, _, user = name.partition(":")
    return UserKey(platform, user)


OWNERS = text("admin.owner.owners")
OFFERED = text("admin.owner.offered")
HOW = text("admin.owner.how")
NOT_LET_IN = text("admin.owner.not_let_in")
IS_OWNER = text("admin.owner.is_owner")
OFFER_ASKS = text("admin.owner.offer_asks")
OFFER_IT = text("admin.owner.offer_it")
NAMED_STAYS = text("admin.owner.named_stays")
NAMED_RETURNS = text("admin.owner.named_returns")
NOT_BY_ROLE = text("admin.owner.not_by_role")
LAST_OWNER = text("admin.decide.told.last_owner")
LEAVE_ASKS = text("admin.owner.leave_asks")
STEP_DOWN = text("admin.owner.step_down")
NOT_CONFIRMED = text("admin.owner.not_confirmed")
OFFER = text("admin.owner.offer")
ACCEPT_IT = text("admin.owner.accept_it")
DECLINE_IT = text("admin.owner.decline_it")
SENT = text("admin.owner.sent")
UNREACHABLE = text("admin.owner.unreachable")
NO_OFFER = text("admin.owner.no_offer")
DECLINED = text("admin.owner.declined")
ACCEPTED = text("admin.owner.accepted")
LEFT = text("admin.owner.left")
HAS_DECLINED = text("admin.owner.has_declined")
HAS_ACCEPTED = text("admin.owner.has_accepted")
HAS_LEFT = text("admin.owner.has_left")
