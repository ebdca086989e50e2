"""/admin users, allow, deny, block, role, access: show and change who is let in. `Decider` checks who may decide so."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from core.commands.command import Request
from core.commands.menu import choice_field
from core.confirmations import Confirmations
from core.delivery.notifier import Notifier
from core.features.access.gate import ROLES, card, fits, person_line, stranger_line, verdicts
from core.features.access.people import DENIED, Stranger
from core.features.access.rules import Access, Mode
from core.features.admin.admin import HERE, MAX_ID_CHARS, ROOM, Verb, WrongUse
from core.features.admin.decide import Decider
from core.features.admin.decisions import ALLOWED, DecisionKind, Decisions
from core.features.admin.names import EXAMPLE, NOT_SEEN_YET, SOMEBODY, Names
from core.language_choice import Locales
from core.outgoing import Button, OutgoingMessage
from core.text.catalogue import counted, forms, text
from core.text.unicode import one_line
from core.texts import LET_IN
from core.types import Localized, Role, UserKey, room_name

GIVEN: Final = (Role.ADMIN.value, Role.MEMBER.value, Role.GUEST.value)
"""The roles that /admin role gives."""

MAX_STRANGERS: Final = 20
MOST_COUNTED: Final = 1000
MAX_LABEL_CHARS: Final = 40
_OUTSIDE: Final = {"", DENIED}


class PeopleVerbs:
    """Let people and rooms in, turn them away, and show who is who."""

    def __init__(
        self,
        decider: Decider,
        decisions: Decisions,
        access: Access,
        *,
        names: Names,
        confirmations: Confirmations,
        notifier: Notifier,
        locales: Locales,
    ) -> None:
        self._decider = decider
        self._decisions = decisions
        self._access = access
        self._names = names
        self._confirmations = confirmations
        self._notifier = notifier
        self._locales = locales

    @property
    def verbs(self) -> Sequence[Verb]:
        """The verbs, in the order of /admin."""
        of_people, roles = partial(Verb, fields=SOMEBODY, complete=self._names.complete), " PERSON admin|member|guest"
        on_people, here = partial(of_people, by_reply=True, decisive=True), (*SOMEBODY, ROOM)
        given = choice_field("role", text("menus.fields.role"), {role: ROLES[role] for role in GIVEN}, required=True)
        return (
            of_people("users", text("admin.commands.users"), self._users, " [PERSON]", EXAMPLE),
            on_people(
                "allow",
                text("admin.commands.allow"),
                self._allow,
                " PERSON | here",
                EXAMPLE,
                in_rooms=True,
                fields=here,
            ),
            on_people(
                "deny", text("admin.commands.deny"), self._deny, " PERSON | here", EXAMPLE, in_rooms=True, fields=here
            ),
            on_people("block", text("admin.commands.block"), self._block, " PERSON", EXAMPLE),
            on_people(
                "role",
                text("admin.commands.role"),
                self._role,
                roles,
                f"{EXAMPLE} admin",
                for_owners=True,
                fields=(*SOMEBODY, given),
            ),
            Verb(
                "access",
                text("admin.commands.access"),
                self._mode,
                " [private|members|open]",
                "members",
                for_owners=True,
                fields=(choice_field("mode", text("menus.fields.access"), MODE_LABELS),),
            ),
        )

    async def _users(self, request: Request, argument: str) -> None:
        """Show who has which role, which rooms are let in and who asked to be; or what is known of one person."""
        if argument or request.incoming.quoted_user:
            await self._show(request, await self._names.find(request, argument.split()))
        else:
            await self._show_all(request)

    async def _show_all(self, request: Request) -> None:
        locale = request.locale
        asked = await self._access.strangers(MOST_COUNTED)
        rooms = await self._decisions.values(DecisionKind.ROOM)
        people = await self._access.people()
        lines = [USERS[locale], *[person_line(each, locale, await self._handle(each.user)) for each in people]]
        if rooms:
            lines += ["", ROOMS[locale], *(f"`{name}`" for name in rooms)]
        if denied := await self._access.denied():
            lines += ["", REFUSED[locale], *[await self._line(each) for each in denied[:MAX_STRANGERS]]]
        if asked:
            shown = asked[:MAX_STRANGERS]
            lines += ["", ASKED[locale], *[f"{at}. {await self._line(each)}" for at, each in enumerate(shown, 1)]]
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
        known, noted = await self._access.person(user), await self._access.stranger(user)
        if known is not None:
            await request.answer.tell(person_line(known, locale, await self._handle(user)))
        elif noted is not None and not noted.denied:
            shown = card(noted, locale, await self._handle(user))
            await request.answer.tell(shown.text, choices=shown.choices)
        else:
            told = f"{ROLES[DENIED if noted else ''][locale]} · `{user}`"
            if not await self._names.is_seen(user, request):
                told = f"{told}\n{NOT_SEEN_YET[locale]}"
            await request.answer.tell(told, choices=() if noted else verdicts(user, locale))

    async def _line(self, stranger: Stranger) -> str:
        return stranger_line(stranger, await self._handle(stranger.user))

    async def _handle(self, user: UserKey) -> str:
        account = await self._access.account(user)
        return account.handle if account is not None else ""

    async def _allow(self, request: Request, argument: str) -> None:
        """Let a person in as a member, unless they are more; or let the room in."""
        words = argument.split()
        if words and words[0].casefold() == HERE:
            await self._decider.decide(request, DecisionKind.ROOM, room_name(request.incoming.chat), ALLOWED)
        else:
            user = await self._names.find(request, words)
            role = await self._decisions.value(DecisionKind.ROLE, str(user))
            is_more = role in {Role.OWNER, Role.ADMIN}
            await self._give(request, user, role if is_more else Role.MEMBER.value)

    async def _deny(self, request: Request, argument: str) -> None:
        """Take a person's or the room's access away; owners are not asked about a denied person for a while."""
        words = argument.split()
        if words and words[0].casefold() == HERE:
            await self._decider.decide(request, DecisionKind.ROOM, room_name(request.incoming.chat), "")
        else:
            await self._give(request, await self._names.find(request, words), DENIED)

    async def _block(self, request: Request, argument: str) -> None:
        """Never answer a person, wherever they write."""
        await self._give(request, await self._names.find(request, argument.split()), Role.BLOCKED.value)

    async def _role(self, request: Request, argument: str) -> None:
        """Make a person an admin, a member or a guest."""
        words = argument.split()
        user = await self._names.find(request, words, more=1)
        given = words[-1].casefold()
        if given not in GIVEN:
            raise WrongUse(NO_ROLE[request.locale].format(name=given[:MAX_ID_CHARS], roles=", ".join(GIVEN)))
        await self._give(request, user, given)

    async def _mode(self, request: Request, argument: str) -> None:
        """Show the access mode, or change it; opening the bot to everybody has to be confirmed."""
        wanted, _, code = argument.partition(" ")
        confirmations, here = self._confirmations, request.incoming.conversation
        if not wanted:
            await self._show_modes(request)
            return
        if wanted.casefold() not in set(Mode):
            raise WrongUse(NO_MODE[request.locale].format(name=wanted[:MAX_ID_CHARS]))
        mode, now = Mode(wanted.casefold()), await self._access.mode()
        if mode is Mode.OPEN and now is not mode and await confirmations.take(request.incoming, code, Mode) is not mode:
            command = f"/admin access {mode} {await confirmations.ask(here, mode)}"
            choices = [Button(OPEN_IT[request.locale], command, in_place=True)]
            await request.answer.tell(OPEN_ASKS[request.locale].format(command=command), choices=choices)
        else:
            await self._decider.decide(request, DecisionKind.ACCESS, "", mode.value)

    async def _show_modes(self, request: Request) -> None:
        now = await self._access.mode()
        lines = [f"{'●' if mode is now else '○'} {mode} — {MODES[mode][request.locale]}" for mode in Mode]
        choices = [Button(str(mode), f"/admin access {mode}", in_place=True) for mode in Mode if mode is not now]
        await request.answer.tell("\n".join([ACCESS_IS[request.locale], *lines]), choices=choices)

    async def _give(self, request: Request, user: UserKey, role: str) -> None:
        """Give a person a role; a stranger who asked to be let in, and now is, is told so.

        A button below a question about a stranger decides nothing once somebody has decided on them.
        """
        noted = await self._access.stranger(user)
        by_card = request.incoming.pressed and not request.incoming.written
        done = await self._decider.decide(request, DecisionKind.ROLE, str(user), role, only_undecided=by_card)
        if done is not None and not await self._names.is_seen(user, request):
            await request.tell(NOT_SEEN_YET)
        if done is not None and noted is not None and done.before in _OUTSIDE and done.after in GIVEN:
            locale = await self._locales.known(user, noted.language)
            await self._notifier.tell(user, OutgoingMessage(LET_IN[locale]))


USERS = text("admin.survey.users")
ROOMS = text("admin.survey.rooms")
ASKED = text("admin.survey.asked")
REFUSED = text("admin.survey.refused")
MORE = forms("admin.survey.more")
NO_ROLE = text("access.admission.no_role")
NO_MODE = text("access.admission.no_mode")
ACCESS_IS = text("access.admission.access_is")
MODES: dict[Mode, Localized] = {
    Mode.PRIVATE: text("access.admission.modes.private"),
    Mode.MEMBERS: text("access.admission.modes.members"),
    Mode.OPEN: text("access.admission.modes.open"),
}
MODE_LABELS: dict[str, Localized] = {
    Mode.PRIVATE: text("menus.access.private"),
    Mode.MEMBERS: text("menus.access.members"),
    Mode.OPEN: text("menus.access.open"),
}
OPEN_ASKS = text("access.admission.open_asks")
OPEN_IT = text("access.admission.open_it")
