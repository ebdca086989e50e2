"""/admin: what owners and admins steer the bot with. Knows the verbs and who may use each. Checked on ids, every time.

Does not know how a decision is made, nor what the bot looks like from inside: those are `decide` and `survey`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from core.access import room_name
from core.commands.command import Command, Request
from core.commands.decide import decide, undo
from core.commands.survey import actions, changes, status, users
from core.people import ALLOWED, OFF, ON, Matter, Standing
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
HERE = "here"
_MAX_ID_CHARS = 64
_ROLES = (Standing.ADMIN.value, Standing.MEMBER.value)


@dataclass(frozen=True, slots=True)
class Verb:
    """What stands after /admin. `run` gets the words after it; only owners may run one that is `for_owners`."""

    name: str
    about: Localized
    run: Callable[[Request, list[str]], Awaitable[None]]
    usage: str = ""
    for_owners: bool = False

    def is_for(self, standing: Standing | None) -> bool:
        """Whether somebody of that standing may run it."""
        return standing is Standing.OWNER or (standing is Standing.ADMIN and not self.for_owners)


async def admin(request: Request, argument: str) -> None:
    """Run a verb, or list those that the person may use. Where others read along only what is about that room."""
    name, *rest = argument.split() or [""]
    verb = VERBS.get(name.casefold())
    if not request.incoming.private and [word.casefold() for word in rest] != [HERE]:
        await request.tell(NOT_HERE)
    elif verb is None or not verb.is_for(request.standing):
        lines = [f"/admin {verb.name}{verb.usage} — {verb.about[request.locale]}" for verb in _open_to(request)]
        await request.turn.tell("\n".join(lines))
    else:
        await verb.run(request, rest)


async def allow(request: Request, words: list[str]) -> None:
    """Let a person in, or the room."""
    if words and words[0].casefold() == HERE:
        await decide(request, Matter.ROOM, room_name(request.incoming.chat), ALLOWED)
    elif name := await _person(request, words, 1):
        standing = await request.desk.kept.decisions.value(Matter.STANDING, name)
        is_in = standing in {Standing.OWNER, Standing.ADMIN}
        await decide(request, Matter.STANDING, name, standing if is_in else Standing.MEMBER.value)


async def deny(request: Request, words: list[str]) -> None:
    """Let a person, or the room, in no more."""
    if words and words[0].casefold() == HERE:
        await decide(request, Matter.ROOM, room_name(request.incoming.chat), "")
    elif name := await _person(request, words, 1):
        await decide(request, Matter.STANDING, name, "")


async def block(request: Request, words: list[str]) -> None:
    """Answer a person no more, wherever they write."""
    if name := await _person(request, words, 1):
        await decide(request, Matter.STANDING, name, Standing.BLOCKED.value)


async def role(request: Request, words: list[str]) -> None:
    """Make a person an admin, or a member."""
    if name := await _person(request, words, len(_ROLES)):
        given = words[1].casefold()
        if given in _ROLES:
            await decide(request, Matter.STANDING, name, given)
        else:
            await request.tell(NO_ROLE, name=given[:_MAX_ID_CHARS], roles=", ".join(_ROLES))


async def switch(request: Request, words: list[str]) -> None:
    """List the actions, or turn one on or off, at once and for good (T6)."""
    values = {"enable": ON, "disable": OFF}
    match words:
        case [verb, name] if verb.casefold() in values:
            await _turn_action(request, name, values[verb.casefold()])
        case _:
            await actions(request)


async def pause(request: Request, _: list[str]) -> None:
    """Answer nobody but owners."""
    await decide(request, Matter.PAUSE, "", ON)


async def resume(request: Request, _: list[str]) -> None:
    """Answer everybody again whom the bot knows."""
    await decide(request, Matter.PAUSE, "", "")


async def _undo(request: Request, _: list[str]) -> None:
    await undo(request)


async def _turn_action(request: Request, name: str, value: str) -> None:
    registry = request.desk.registry
    known = {action.name.casefold(): action.name for action in (*registry.enabled, *registry.disabled)}
    found = known.get(name.casefold())
    if found is None:
        await request.tell(NO_ACTION, name=name[:_MAX_ID_CHARS], actions=", ".join(known.values()))
    elif found == registry.fallback.name:
        await request.tell(ALWAYS_ON, name=found)
    else:
        await decide(request, Matter.ACTION, found, value)


async def _person(request: Request, words: list[str], count: int) -> str:
    """Return the person that the first word names, as PLATFORM:ID, or "" after telling what is wrong with it.

    An id alone is one of the platform that the request came from.
    """
    name = words[0] if words else ""
    platform, colon, user = name.partition(":")
    if not colon:
        platform, user = request.incoming.user.platform, name
    platforms = request.desk.platforms
    if len(words) != count or not user or len(name) > _MAX_ID_CHARS:
        await request.tell(HOW_TO_NAME)
    elif platform not in platforms:
        await request.tell(NO_PLATFORM, name=platform, platforms=", ".join(sorted(platforms)))
    else:
        return f"{platform}:{user}"
    return ""


def _open_to(request: Request) -> list[Verb]:
    return [verb for verb in VERBS.values() if verb.is_for(request.standing)]


NOT_HERE: Localized = {
    PT: "Aqui só: /admin allow here, /admin deny here. O resto, em particular.",
    EN: "Here only: /admin allow here, /admin deny here. Everything else in private.",
    ES: "Aquí solo: /admin allow here, /admin deny here. Lo demás, en privado.",
}
HOW_TO_NAME: Localized = {
    PT: "Diga quem, como PLATAFORMA:ID (por exemplo, telegram:123456). Veja /admin users e /admin.",
    EN: "Say who, as PLATFORM:ID (for example, telegram:123456). See /admin users and /admin.",
    ES: "Di quién, como PLATAFORMA:ID (por ejemplo, telegram:123456). Mira /admin users y /admin.",
}
NO_PLATFORM: Localized = {
    PT: "Não há plataforma “{name}” aqui. Há: {platforms}.",
    EN: "There is no platform “{name}” here. There are: {platforms}.",
    ES: "Aquí no hay plataforma “{name}”. Hay: {platforms}.",
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
