"""/admin: what owners and admins steer the bot with. Knows the verbs and who may use each. Checked on ids, every time.

Does not know how a decision is made, nor what the bot looks like from inside: those are `decide` and `survey`.
"""

from __future__ import annotations

from core.access import room_name
from core.commands.command import Command, Request
from core.commands.decide import decide, undo
from core.commands.survey import actions, changes, status, users
from core.commands.verb import MAX_ID_CHARS, Verb, person
from core.people import ALLOWED, OFF, ON, Matter, Standing
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
HERE = "here"
_ROLES = (Standing.ADMIN.value, Standing.MEMBER.value)


async def admin(request: Request, argument: str) -> None:
    """Run a verb, or list those that the person may use. Where others read along only what is about that room."""
    name, _, rest = argument.partition(" ")
    verb = VERBS.get(name.strip().casefold())
    if not request.incoming.private and rest.strip().casefold() != HERE:
        await request.tell(NOT_HERE)
    elif verb is None or not verb.is_for(request.standing):
        lines = [f"/admin {verb.name}{verb.usage} — {verb.about[request.locale]}" for verb in _open_to(request)]
        await request.turn.tell("\n".join(lines))
    else:
        await verb.run(request, rest.strip())


async def allow(request: Request, argument: str) -> None:
    """Let a person in, or the room."""
    words = argument.split()
    if words and words[0].casefold() == HERE:
        await decide(request, Matter.ROOM, room_name(request.incoming.chat), ALLOWED)
    elif name := await person(request, words, 1):
        standing = await request.desk.kept.decisions.value(Matter.STANDING, name)
        is_in = standing in {Standing.OWNER, Standing.ADMIN}
        await decide(request, Matter.STANDING, name, standing if is_in else Standing.MEMBER.value)


async def deny(request: Request, argument: str) -> None:
    """Let a person, or the room, in no more."""
    words = argument.split()
    if words and words[0].casefold() == HERE:
        await decide(request, Matter.ROOM, room_name(request.incoming.chat), "")
    elif name := await person(request, words, 1):
        await decide(request, Matter.STANDING, name, "")


async def block(request: Request, argument: str) -> None:
    """Answer a person no more, wherever they write."""
    if name := await person(request, argument.split(), 1):
        await decide(request, Matter.STANDING, name, Standing.BLOCKED.value)


async def role(request: Request, argument: str) -> None:
    """Make a person an admin, or a member."""
    words = argument.split()
    if name := await person(request, words, 2):
        given = words[1].casefold()
        if given in _ROLES:
            await decide(request, Matter.STANDING, name, given)
        else:
            await request.tell(NO_ROLE, name=given[:MAX_ID_CHARS], roles=", ".join(_ROLES))


async def switch(request: Request, argument: str) -> None:
    """List the actions, or turn one on or off, at once and for good (T6)."""
    values = {"enable": ON, "disable": OFF}
    match argument.split():
        case [verb, name] if verb.casefold() in values:
            await _turn_action(request, name, values[verb.casefold()])
        case _:
            await actions(request)


async def pause(request: Request, _: str) -> None:
    """Answer nobody but owners."""
    await decide(request, Matter.PAUSE, "", ON)


async def resume(request: Request, _: str) -> None:
    """Answer everybody again whom the bot knows."""
    await decide(request, Matter.PAUSE, "", "")


async def _undo(request: Request, _: str) -> None:
    await undo(request)


async def _turn_action(request: Request, name: str, value: str) -> None:
    registry = request.desk.registry
    known = {action.name.casefold(): action.name for action in (*registry.enabled, *registry.disabled)}
    found = known.get(name.casefold())
    if found is None:
        await request.tell(NO_ACTION, name=name[:MAX_ID_CHARS], actions=", ".join(known.values()))
    elif found == registry.fallback.name:
        await request.tell(ALWAYS_ON, name=found)
    else:
        await decide(request, Matter.ACTION, found, value)


def _open_to(request: Request) -> list[Verb]:
    return [verb for verb in VERBS.values() if verb.is_for(request.standing)]


NOT_HERE: Localized = {
    PT: "Aqui só: /admin allow here, /admin deny here. O resto, em particular.",
    EN: "Here only: /admin allow here, /admin deny here. Everything else in private.",
    ES: "Aquí solo: /admin allow here, /admin deny here. Lo demás, en privado.",
}
NO_ROLE: Localized = {
    PT: "Não há papel “{name}”. Há: {roles}.",
    EN: "There is no role “{name}”. There are: {roles}.",
    ES: "No hay rol “{name}”. Hay: {roles}.",
}
NO_ACTION: Localized = {
    PT: "Não há ação “{name}”. Há: {actions}.",
    EN: "There is no action “{name}”. There are: {actions}.",
    ES: "No hay acción “{name}”. Hay: {actions}.",
}
ALWAYS_ON: Localized = {
    PT: "{name} termina toda resposta e não pode ser desligada.",
    EN: "{name} ends every answer and cannot be turned off.",
    ES: "{name} termina toda respuesta y no se puede desactivar.",
}

VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb("status", {PT: "como o bot está", EN: "how the bot does", ES: "cómo está el bot"}, status),
        Verb("users", {PT: "quem é quem, e quem pediu", EN: "who is who, who asked", ES: "quién es quién"}, users),
        Verb("allow", {PT: "deixa entrar", EN: "let in", ES: "deja entrar"}, allow, " PLATFORM:ID | here"),
        Verb(
            "deny", {PT: "não deixa mais", EN: "let in no more", ES: "ya no deja entrar"}, deny, " PLATFORM:ID | here"
        ),
        Verb("block", {PT: "nunca mais responde", EN: "never answer", ES: "no responde nunca"}, block, " PLATFORM:ID"),
        Verb(
            "role",
            {PT: "dá um papel", EN: "give a role", ES: "da un rol"},
            role,
            " PLATFORM:ID admin|member",
            for_owners=True,
        ),
        Verb(
            "actions",
            {PT: "lista, liga, desliga ações", EN: "list, turn on, turn off", ES: "lista, activa, desactiva acciones"},
            switch,
            " list | enable NAME | disable NAME",
        ),
        Verb("pause", {PT: "só donos", EN: "owners only", ES: "solo dueños"}, pause, for_owners=True),
        Verb("resume", {PT: "volta a atender", EN: "answer again", ES: "vuelve a atender"}, resume, for_owners=True),
        Verb("changes", {PT: "o que mudou, e quem", EN: "what changed, by whom", ES: "qué cambió, y quién"}, changes),
        Verb(
            "undo", {PT: "desfaz a última mudança", EN: "undo the last change", ES: "deshace el último cambio"}, _undo
        ),
    )
}

ADMIN = Command(
    "admin",
    {PT: "cuida do bot", EN: "run the bot", ES: "administra el bot"},
    admin,
    usage=" …",
    for_staff=True,
)
