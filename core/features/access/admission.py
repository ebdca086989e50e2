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
from core.texts import LET_IN
from core.types import Locale, Localized, Role, UserKey, room_name

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
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


NO_ROLE: Localized = {
    PT: "Não há papel “{name}”. Há: {roles}.",
    EN: "There is no role “{name}”. There are: {roles}.",
    ES: "No hay rol “{name}”. Hay: {roles}.",
}
ACCESS_IS: Localized = {
    PT: "Quem eu atendo, além de quem deixaram entrar (/admin access MODO muda):",
    EN: "Whom I answer, besides those who were let in (/admin access MODE changes it):",
    ES: "A quién atiendo, además de quienes dejaron entrar (/admin access MODO lo cambia):",
}
MODES: dict[Mode, Localized] = {
    Mode.PRIVATE: {
        PT: "quem escreve em uma sala permitida, só lá, como convidado",
        EN: "whoever writes in a room that was let in, only there, as a guest",
        ES: "quien escribe en una sala permitida, solo allí, como invitado",
    },
    Mode.MEMBERS: {
        PT: "ninguém mais, tampouco nas salas permitidas",
        EN: "nobody else, not in rooms that were let in either",
        ES: "nadie más, tampoco en las salas permitidas",
    },
    Mode.OPEN: {
        PT: "todo o mundo, em toda parte, como convidado, menos quem foi bloqueado",
        EN: "everybody, everywhere, as a guest, but those who are blocked",
        ES: "todo el mundo, en todas partes, como invitado, menos quienes están bloqueados",
    },
}
OPEN_ASKS: Localized = {
    PT: "Aberto quer dizer: qualquer pessoa que ache este bot é atendida, em particular e em toda sala em que ele "
    "esteja, dentro das cotas de convidados (/admin quota), e você paga. Ninguém mais é perguntado a você. Só quem "
    "está bloqueado fica de fora.\nPara confirmar: {command}",
    EN: "Open means: anybody who finds this bot is answered, in private and in every room that it is in, within the "
    "guests' quotas (/admin quota), and you pay. You are asked about nobody any more. Only the blocked stay out.\n"
    "To confirm: {command}",
    ES: "Abierto quiere decir: cualquiera que encuentre este bot es atendido, en privado y en toda sala en la que "
    "esté, dentro de las cuotas de invitados (/admin quota), y pagas tú. Ya no se te pregunta por nadie. Solo los "
    "bloqueados quedan fuera.\nPara confirmar: {command}",
}
OPEN_IT: Localized = {PT: "Abrir a todos", EN: "Open it to everybody", ES: "Abrir a todos"}

ALLOW = Verb(
    "allow", {PT: "deixa entrar", EN: "let in", ES: "deja entrar"}, allow, " PLATFORM:ID | here", in_rooms=True
)
DENY = Verb(
    "deny",
    {PT: "não deixa mais", EN: "let in no more", ES: "ya no deja entrar"},
    deny,
    " PLATFORM:ID | here",
    in_rooms=True,
)
BLOCK = Verb("block", {PT: "nunca mais responde", EN: "never answer", ES: "no responde nunca"}, block, " PLATFORM:ID")
ROLE = Verb(
    "role",
    {PT: "dá um papel", EN: "give a role", ES: "da un rol"},
    role,
    " PLATFORM:ID admin|member|guest",
    for_owners=True,
)
ACCESS = Verb(
    "access",
    {PT: "a quem o bot está aberto", EN: "to whom the bot is open", ES: "a quién está abierto el bot"},
    access,
    " [private|members|open]",
    for_owners=True,
)
