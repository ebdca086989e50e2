"""Verbs about people: users, allow, deny, block, role, access, owner. `Decider` checks who may decide so.

To make somebody else an owner, and to step down, are confirmed, and undone as any role is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

from core.answering.outcomes import LET_IN
from core.commands.command import Request
from core.enclosures import Speaker
from core.features.access.gate import ALL_HERE, ROLES, card, fits, named, person_line, stranger_line, verdicts
from core.features.access.rules import Mode
from core.features.access.storage import DENIED, Person, Stranger
from core.features.admin.admin import HERE, MAX_ID_CHARS, WrongUse, ask_to_confirm, tell_room
from core.features.admin.decide import TOLD
from core.features.admin.names import NOT_SEEN_YET
from core.features.admin.storage import Applied, Decision, DecisionKind
from core.features.feature import Shared
from core.outgoing import Button, OutgoingMessage
from core.text.catalogue import Sentences, counted, forms, texts
from core.text.unicode import one_line
from core.types import Incoming, Locale, Localized, Role, UserKey, room_name

ADMISSION = Sentences("access.admission")
OWNER = Sentences("admin.owner")
SURVEY = Sentences("admin.survey")

GIVEN: Final = (Role.ADMIN.value, Role.MEMBER.value, Role.GUEST.value)
"""The roles that /admin role gives."""

MAX_STRANGERS: Final = 20
MOST_COUNTED: Final = 1000
MAX_LABEL_CHARS: Final = 40
_OUTSIDE: Final = {"", DENIED}


class PeopleVerbs:
    """Verbs that let people and rooms in, turn them away, and show who is who."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._access = shared.access
        self._names = shared.names
        self._decide = shared.decider.decide
        shared.decider.after[DecisionKind.ROOM] = self._announce

    async def _announce(self, request: Request, decision: Decision) -> None:
        """Tell a room that it was let in from elsewhere."""
        if decision.after and decision.name != room_name(request.incoming.chat):
            await tell_room(request, self._shared.notifier, decision.name, ALL_HERE[request.locale])

    async def users(self, request: Request, argument: str) -> None:
        """Show who has which role, which rooms are let in and who asked to be; or what is known of one person."""
        if argument or request.incoming.quoted_user:
            await self._show(request, await self._names.find(request, argument.split()))
        else:
            await self._show_all(request)

    async def _show_all(self, request: Request) -> None:
        locale = request.locale
        asked = await self._access.strangers(MOST_COUNTED)
        rooms = await self._shared.stores.decisions.values(DecisionKind.ROOM)
        people = await self._access.people.all()
        lines = [
            SURVEY.users[locale],
            *[person_line(each, locale, await self._access.handle(each.user)) for each in people],
        ]
        if rooms:
            lines += ["", SURVEY.rooms[locale], *[await self._room_line(name) for name in rooms]]
        if denied := await self._access.denied():
            lines += ["", SURVEY.refused[locale], *[await self._line(each, locale) for each in denied[:MAX_STRANGERS]]]
        if asked:
            shown = asked[:MAX_STRANGERS]
            lines += [
                "",
                SURVEY.asked[locale],
                *[f"{at}. {await self._line(each, locale)}" for at, each in enumerate(shown, 1)],
            ]
        if (more := len(asked) - MAX_STRANGERS) > 0:
            lines.append(counted(MORE, locale, more))
        menu = [
            Button(f"{at}. {one_line(each.name, MAX_LABEL_CHARS) or each.user}", command)
            for at, each in enumerate(asked[:MAX_STRANGERS], 1)
            if fits(command := f"/admin users {each.user}")
        ]
        await request.answer.tell("\n".join(lines), menu=menu)

    async def _show(self, request: Request, user: UserKey) -> None:
        """Show a person; a stranger on whom nobody decided is shown with the buttons that do."""
        locale = request.locale
        known, noted = await self._access.people.find(user), await self._access.people.stranger(user)
        if known is not None:
            await request.answer.tell(person_line(known, locale, await self._access.handle(user)))
        elif noted is not None and not noted.denied:
            shown = card(noted, locale, await self._access.handle(user))
            await request.answer.tell(shown.text, choices=shown.choices)
        else:
            told = f"{ROLES[DENIED if noted else ''][locale]} · `{user}`"
            if not await self._names.is_seen(user, request):
                told = f"{told}\n{NOT_SEEN_YET[locale]}"
            await request.answer.tell(told, choices=() if noted else verdicts(user, locale))

    async def _room_line(self, room: str) -> str:
        title = await self._names.titles.of(room)
        return " · ".join([*named(title), f"`{room}`"])

    async def _line(self, stranger: Stranger, locale: Locale) -> str:
        return stranger_line(stranger, locale, await self._access.handle(stranger.user))

    async def judge(self, request: Request, argument: str, *, role: str, room: str | None = None) -> None:
        """Give a person that role, or the room where this is said about nobody the value of `room`, if it can have one.

        To let somebody in takes no higher role away. Owners are not asked about a denied person for a while.
        """
        words = argument.split()
        is_of_room = words[0].casefold() == HERE if words else _is_about_room(request.incoming)
        if room is not None and is_of_room:
            await self._decide(request, DecisionKind.ROOM, room_name(request.incoming.chat), room)
            return
        user = await self._names.find(request, words)
        held = await self._shared.stores.decisions.value(DecisionKind.ROLE, str(user))
        is_more = role == Role.MEMBER and held in {Role.OWNER, Role.ADMIN}
        await self._give(request, user, held if is_more else role)

    async def role(self, request: Request, argument: str) -> None:
        """Make a person an admin, a member or a guest."""
        words = argument.split()
        user = await self._names.find(request, words, more=1)
        given = words[-1].casefold()
        if given not in GIVEN:
            raise WrongUse(ADMISSION.no_role[request.locale].format(name=given[:MAX_ID_CHARS], roles=", ".join(GIVEN)))
        await self._give(request, user, given)

    async def access_mode(self, request: Request, argument: str) -> None:
        """Show the access mode, or change it; opening the bot to everybody has to be confirmed."""
        wanted, _, code = argument.partition(" ")
        if not wanted:
            await self._show_modes(request)
            return
        if wanted.casefold() not in set(Mode):
            raise WrongUse(ADMISSION.no_mode[request.locale].format(name=wanted[:MAX_ID_CHARS]))
        mode, now = Mode(wanted.casefold()), await self._access.mode()
        if mode is Mode.OPEN and now is not mode and await request.confirmed(code, Mode) is not mode:
            command = f"/admin access {mode}"
            await ask_to_confirm(request, mode, command=command, said=ADMISSION.open_asks, label=ADMISSION.open_it)
        else:
            await self._decide(request, DecisionKind.ACCESS, "", mode.value)

    async def _show_modes(self, request: Request) -> None:
        now = await self._access.mode()
        lines = [f"{'●' if mode is now else '○'} {mode} — {MODES[mode][request.locale]}" for mode in Mode]
        choices = [Button(str(mode), f"/admin access {mode}", in_place=True) for mode in Mode if mode is not now]
        await request.answer.tell("\n".join([ADMISSION.access_is[request.locale], *lines]), choices=choices)

    async def _give(self, request: Request, user: UserKey, role: str) -> None:
        """Give a person a role; a stranger who asked to be let in, and now is, is told so.

        A button below a question about a stranger decides nothing once somebody has decided on them.
        """
        noted = await self._access.people.stranger(user)
        by_card = request.incoming.pressed and not request.incoming.written
        done = await self._decide(request, DecisionKind.ROLE, str(user), role, only_undecided=by_card)
        if done is not None and not await self._names.is_seen(user, request):
            await request.tell(NOT_SEEN_YET)
        if done is not None and noted is not None and done.before in _OUTSIDE and done.after in GIVEN:
            locale = await self._shared.locales.known(user, noted.language)
            await self._shared.notifier.tell(user, OutgoingMessage(LET_IN[locale]))


def _is_about_room(incoming: Incoming) -> bool:
    """Whether a verb without a word is about the room: it is said in one, and replies to nobody."""
    is_in_room = not incoming.private or incoming.chat.is_aside
    return is_in_room and not incoming.quoted_user and all(each.speaker is Speaker.BOT for each in incoming.quotes)


MORE = forms("admin.survey.more")
MODES = texts("access.admission.modes", Mode)
MODE_LABELS = texts("menus.access", map(str, Mode))


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
        self._ask = partial(ask_to_confirm, command=f"/admin owner {CONFIRM}")

    async def owner(self, request: Request, argument: str) -> None:
        """Show the owners, or ask whether to make a person one, or to step down."""
        words = argument.split()
        match [word.casefold() for word in words]:
            case [] if not request.incoming.quoted_user:
                owners = [await self._line(person, request) for person in await self._owners()]
                lines = [OWNER.owners[request.locale], *owners, "", OWNER.how[request.locale]]
                await request.answer.tell("\n".join(lines))
            case [word, _] if word == CONFIRM:
                await self._confirmed(request, words[1])
            case [word] if word == LEAVE:
                await self._ask_to_leave(request)
            case _:
                await self._ask_to_make(request, await self._shared.names.find(request, words))

    async def _ask_to_make(self, request: Request, user: UserKey) -> None:
        """Say what it means that somebody becomes an owner, and ask for a confirmation."""
        locale, person = request.locale, await self._access.people.find(user)
        if person is None or person.role is Role.BLOCKED:
            role = ROLES[person.role.value if person else ""][locale]
            await request.tell(OWNER.not_let_in, who=await self._shared.names.of_person(user), user=user, role=role)
        elif person.role is Role.OWNER:
            await request.tell(OWNER.is_owner, who=await self._line(person, request))
        else:
            has_named = any(self._access.is_named(each.user) for each in await self._owners(user.platform))
            await self._ask(
                request,
                NewOwner(user),
                said=OWNER.make_asks,
                label=OWNER.make_it,
                before=[OWNER.named_stays[locale]] if has_named else [],
                who=await self._line(person, request),
            )

    async def _ask_to_leave(self, request: Request) -> None:
        """Say what stepping down means, and ask for a confirmation; the last owner of a platform stays."""
        me, locale = request.incoming.user, request.locale
        owners = [person.user for person in await self._owners(me.platform)]
        if me not in owners:
            await request.tell(OWNER.not_by_role)
        elif owners == [me]:
            await request.tell(TOLD[Applied.LAST_OWNER])
        else:
            returns = [OWNER.named_returns[locale]] if self._access.is_named(me) else []
            await self._ask(request, SteppingDown.MEMBER, said=OWNER.leave_asks, label=OWNER.step_down, before=returns)

    async def _confirmed(self, request: Request, code: str) -> None:
        match await request.confirmed(code, NewOwner, SteppingDown, over=OWNER.not_confirmed):
            case NewOwner(user):
                await self._make(request, user)
            case SteppingDown():
                await self._leave(request)

    async def _make(self, request: Request, user: UserKey) -> None:
        """Make them an owner if they are still let in, and tell them."""
        person = await self._access.people.find(user)
        if person is None or person.role is Role.BLOCKED:
            await request.tell(TOLD[Applied.STALE])
        elif await self._shared.decider.decide(request, DecisionKind.ROLE, str(user), Role.OWNER.value):
            await self._tell([user], OWNER.is_owner_now, await self._called(request.incoming.user))

    async def _leave(self, request: Request) -> None:
        me, now = request.incoming.user, self._shared.clock.now()
        before = await self._shared.stores.decisions.value(DecisionKind.ROLE, str(me))
        decision = Decision(now, me, DecisionKind.ROLE, str(me), before, Role.MEMBER.value)
        applied = await self._shared.decider.make(decision) if before == Role.OWNER else Applied.STALE
        if applied is not Applied.DONE:
            await request.tell(TOLD[applied])
            return
        await request.tell(OWNER.left)
        await self._tell([person.user for person in await self._owners()], OWNER.has_left, await self._called(me))

    async def _tell(self, users: Sequence[UserKey], said: Localized, who: str) -> None:
        for user in users:
            locale = await self._shared.locales.known(user)
            await self._shared.notifier.tell(user, OutgoingMessage(said[locale].format(who=who)))

    async def _owners(self, platform: str = "") -> Sequence[Person]:
        people = await self._access.people.all()
        return [each for each in people if each.role is Role.OWNER and platform in {"", each.user.platform}]

    async def _line(self, person: Person, request: Request) -> str:
        return person_line(person, request.locale, await self._access.handle(person.user))

    async def _called(self, user: UserKey) -> str:
        """Return a person's name and id, without their @name."""
        person = await self._access.people.find(user)
        return " ".join([*(named(person.name) if person else []), f"`{user}`"])
