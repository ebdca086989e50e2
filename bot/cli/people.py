"""`elefante users ...`: see and change who may use the bot.

Decisions are recorded as the console owner's, like those that owners make in a chat.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

import typer

from bot.cli.shell import JsonOption, load_settings, person, run, show
from bot.settings.settings import Settings
from bot.wiring import App, build
from core.errors import BotError, ConfigError
from core.features.access.rules import STRANGERS_KEPT
from core.features.admin.storage import ALLOWED, Applied, Decision, DecisionKind
from core.types import Role, UserKey

users_app = typer.Typer(
    no_args_is_help=True,
    help="""See and change who may use the bot. A bot that runs sees it at once.

    Example: elefante users list""",
)

PersonArgument = Annotated[str, typer.Argument(metavar="PLATFORM:ID", help="Who, such as telegram:123456.")]


@users_app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List who has which role, which rooms are let in, and who wrote without being known.

    Example: elefante users list
    """
    show(run(users(load_settings())), as_json=as_json, plain=render)


@users_app.command("allow")
def allow_(user: PersonArgument, as_json: JsonOption = False) -> None:
    """Let a person in, as a member.

    Example: elefante users allow telegram:123456
    """
    loaded = load_settings()
    show(run(allow(loaded, person(user, loaded))), as_json=as_json, plain=render)


@users_app.command("deny")
def deny_(user: PersonArgument, as_json: JsonOption = False) -> None:
    """Take a person's role away.

    Example: elefante users deny telegram:123456
    """
    _give(user, "", as_json=as_json)


@users_app.command("block")
def block_(user: PersonArgument, as_json: JsonOption = False) -> None:
    """Answer a person no more, wherever they write.

    Example: elefante users block telegram:123456
    """
    _give(user, Role.BLOCKED.value, as_json=as_json)


@users_app.command("role")
def role_(
    user: PersonArgument,
    role: Annotated[str, typer.Argument(help=", ".join(ROLES))],
    as_json: JsonOption = False,
) -> None:
    """Give a person a role.

    Example: elefante users role telegram:123456 admin
    """
    if role not in ROLES:
        raise ConfigError("users role", f"there is no role {role!r}; write one of {', '.join(ROLES)}")
    _give(user, role, as_json=as_json)


def _give(user: str, role: str, *, as_json: bool) -> None:
    loaded = load_settings()
    show(run(give(loaded, person(user, loaded), role)), as_json=as_json, plain=render)


Document: TypeAlias = dict[str, Any]

ROLES: Final = tuple(role.value for role in Role if role is not Role.BLOCKED)
_MAX_STRANGERS: Final = 100
_REFUSED: Final = {
    Applied.STALE: "that changed meanwhile; see how it stands and try again",
    Applied.LAST_OWNER: "the bot would be left without an owner on that platform",
}


async def users(settings: Settings) -> Document:
    """Return who has which role, which rooms are allowed, and which strangers wrote lately."""
    async with build(settings) as app:
        access = app.features.access
        rooms = await app.features.stores.decisions.values(DecisionKind.ROOM)
        return {
            "users": [
                {
                    "user": str(each.user),
                    "role": each.role.value,
                    "name": each.name,
                    "since": each.since.isoformat(timespec="seconds"),
                }
                for each in await access.people()
            ],
            "rooms": [name for name, value in rooms.items() if value == ALLOWED],
            "strangers": [
                {"user": str(each.user), "name": each.name, "at": each.at.isoformat(timespec="seconds")}
                for each in await access.strangers(_MAX_STRANGERS)
            ],
        }


async def give(settings: Settings, user: UserKey, role: str) -> Document:
    """Give a person a role, "" for none, and return what it was and is.

    Raises:
        BotError: their platform would be left without an owner; nothing was changed.
    """
    async with build(settings) as app:
        return await _decide(app, DecisionKind.ROLE, str(user), role)


async def allow(settings: Settings, user: UserKey) -> Document:
    """Let a person in as a member; owners and admins keep their role."""
    async with build(settings) as app:
        person = await app.features.access.person(user)
        is_in = person is not None and person.role in {Role.OWNER, Role.ADMIN}
        role = person.role.value if person is not None and is_in else Role.MEMBER.value
        return await _decide(app, DecisionKind.ROLE, str(user), role)


def render(document: Document) -> str:
    """Return the document as text for a person."""
    lines = (
        [f"{document['name']}: {document['before'] or '-'} → {document['after'] or '-'}"] if "name" in document else []
    )
    if "users" in document:
        lines += [f"{each['role']:<8} {each['user']}  {each['name']}".rstrip() for each in document["users"]]
        lines += [f"room     {name}" for name in document["rooms"]]
        lines += [
            f"stranger {each['user']}  {each['name']}".rstrip() + f"  (wrote {each['at'][:16]})"
            for each in document["strangers"]
        ]
        lines = lines or [f"Nobody has a role, and nobody wrote in {STRANGERS_KEPT.days} days."]
    return "\n".join(lines)


async def _decide(app: App, matter: DecisionKind, name: str, after: str) -> Document:
    """Record a decision of the console owner; do nothing if it holds already."""
    before = await app.features.stores.decisions.value(matter, name)
    if before != after:
        by = app.settings.console_owner
        applied = await app.features.decider.make(Decision(app.clock.now(), by, matter, name, before, after))
        if applied is not Applied.DONE:
            raise BotError(f"{name}: {_REFUSED[applied]}; nothing was changed")
    return {"name": name, "before": before, "after": after}
