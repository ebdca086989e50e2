"""/admin allow, deny, block, role, access: who is let in, by whom, and how. Knows standings, rooms and modes.

Whether somebody may decide so is checked where it is decided.
"""

from __future__ import annotations

from typing import Final

from core.commands.command import Request
from core.features.access.people import DENIED
from core.features.access.rules import Mode
from core.features.admin.decide import decide
from core.features.admin.decisions import ALLOWED, DecisionKind
from core.features.admin.verb import MAX_ID_CHARS, Verb, person
from core.outgoing import Button, OutgoingMessage
from core.text.catalogue import text
from core.texts import LET_IN
from core.types import Localized, Role, UserKey, room_name

HERE: Final = "here"
ROLES: Final = (Role.ADMIN.value, Role.MEMBER.value, Role.GUEST.value)
_OUTSIDE: Final = {"", DENIED}


async def allow(request: Request, argument: str) -> None:
    """Let a person in, or the room."""
    words = argument.split()
    if words and words[0].casefold() == HERE:
        await decide(request, DecisionKind.ROOM, room_name(request.incoming.chat), ALLOWED)
    elif name := await person(request, words, 1):
        role = await request.context.stores.decisions.value(DecisionKind.ROLE, name)
        is_more = role in {Role.OWNER, Role.ADMIN}
        await _give(request, name, role if is_more else Role.MEMBER.value)


async def deny(request: Request, argument: str) -> None:
    """Let a person, or the room, in no more; of the person nobody is asked for a while."""
    words = argument.split()
    if words and words[0].casefold() == HERE:
        await decide(request, DecisionKind.ROOM, room_name(request.incoming.chat), "")
    elif name := await person(request, words, 1):
        await _give(request, name, DENIED)


async def block(request: Request, argument: str) -> None:
    """Answer a person no more, wherever they write."""
    if name := await person(request, argument.split(), 1):
        await _give(request, name, Role.BLOCKED.value)


async def role(request: Request, argument: str) -> None:
    """Make a person an admin, a member or a guest."""
    words = argument.split()
    if name := await person(request, words, 2):
        given = words[1].casefold()
        if given in ROLES:
            await _give(request, name, given)
        else:
            await request.tell(NO_ROLE, name=given[:MAX_ID_CHARS], roles=", ".join(ROLES))


async def access(request: Request, argument: str) -> None:
    """Say to whom the bot is open, or change that; opening it to everybody is asked once more."""
    wanted, _, code = argument.partition(" ")
    confirmations, here = request.context.confirmations, request.incoming.conversation
    if wanted.casefold() not in set(Mode):
        await _tell_modes(request)
        return
    mode, now = Mode(wanted.casefold()), await request.context.access.mode()
    if mode is Mode.OPEN and now is not mode and await confirmations.take(here, code, Mode) is not mode:
        command = f"/admin access {mode} {await confirmations.ask(here, mode)}"
        choices = [Button(OPEN_IT[request.locale], command, in_place=True)]
        await request.turn.tell(OPEN_ASKS[request.locale].format(command=command), choices=choices)
    else:
        await decide(request, DecisionKind.ACCESS, "", mode.value)


async def _give(request: Request, name: str, role: str) -> None:
    """Decide what a person is to the bot; who asked to be let in, and was, is told.

    A button stands below a question about a stranger: pressed once somebody decided on them, it decides nothing.
    """
    context, (platform, _, account) = request.context, name.partition(":")
    user = UserKey(platform, account)
    noted = await context.access.stranger(user)
    done = await decide(request, DecisionKind.ROLE, name, role, only_undecided=request.incoming.pressed)
    if done is not None and noted is not None and done.before in _OUTSIDE and done.after in ROLES:
        locale = await context.locales.known(user, noted.language)
        await context.notifier.tell(user, OutgoingMessage(LET_IN[locale]))


async def _tell_modes(request: Request) -> None:
    now = await request.context.access.mode()
    lines = [f"{'●' if mode is now else '○'} {mode} — {MODES[mode][request.locale]}" for mode in Mode]
    choices = [Button(str(mode), f"/admin access {mode}", in_place=True) for mode in Mode if mode is not now]
    await request.turn.tell("\n".join([ACCESS_IS[request.locale], *lines]), choices=choices)


NO_ROLE = text("access.admission.no_role")
ACCESS_IS = text("access.admission.access_is")
MODES: dict[Mode, Localized] = {
    Mode.PRIVATE: text("access.admission.modes.private"),
    Mode.MEMBERS: text("access.admission.modes.members"),
    Mode.OPEN: text("access.admission.modes.open"),
}
OPEN_ASKS = text("access.admission.open_asks")
OPEN_IT = text("access.admission.open_it")

ALLOW = Verb("allow", text("admin.commands.allow"), allow, " PLATFORM:ID | here", in_rooms=True)
DENY = Verb(
    "deny",
    text("admin.commands.deny"),
    deny,
    " PLATFORM:ID | here",
    in_rooms=True,
)
BLOCK = Verb("block", text("admin.commands.block"), block, " PLATFORM:ID")
ROLE = Verb(
    "role",
    text("admin.commands.role"),
    role,
    " PLATFORM:ID admin|member|guest",
    for_owners=True,
)
ACCESS = Verb(
    "access",
    text("admin.commands.access"),
    access,
    " [private|members|open]",
    for_owners=True,
)
