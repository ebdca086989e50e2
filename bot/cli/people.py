"""`elefante users ...` and `elefante actions ...`: the verbs. Knows options. Does not know how anything is done."""

from __future__ import annotations

from typing import Annotated

import typer

from bot import people
from bot.shell import JsonOption, person, run, settings, show
from core.errors import ConfigError
from core.types import Role

users_app = typer.Typer(
    no_args_is_help=True, help="See and change who may use the bot. A bot that runs sees it at once."
)
actions_app = typer.Typer(
    no_args_is_help=True, help="See and change what the bot may do; it holds from the next message."
)

PersonArgument = Annotated[str, typer.Argument(metavar="PLATFORM:ID", help="Who, such as telegram:123456.")]
ActionArgument = Annotated[str, typer.Argument(help="The action; see `actions list`.")]


@users_app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List who has which role, which rooms are let in, and who wrote without being known."""
    show(run(people.users(settings())), as_json=as_json, plain=people.render)


@users_app.command("allow")
def allow_(user: PersonArgument, as_json: JsonOption = False) -> None:
    """Let a person in, as a member.

    Example: elefante users allow telegram:123456
    """
    loaded = settings()
    show(run(people.allow(loaded, person(user, loaded))), as_json=as_json, plain=people.render)


@users_app.command("deny")
def deny_(user: PersonArgument, as_json: JsonOption = False) -> None:
    """Let a person in no more."""
    _give(user, "", as_json=as_json)


@users_app.command("block")
def block_(user: PersonArgument, as_json: JsonOption = False) -> None:
    """Answer a person no more, wherever they write."""
    _give(user, Role.BLOCKED.value, as_json=as_json)


@users_app.command("role")
def role_(
    user: PersonArgument,
    role: Annotated[str, typer.Argument(help=", ".join(people.ROLES))],
    as_json: JsonOption = False,
) -> None:
    """Give a person a role.

    Example: elefante users role telegram:123456 admin
    """
    if role not in people.ROLES:
        raise ConfigError("users role", f"there is no role {role!r}; write one of {', '.join(people.ROLES)}")
    _give(user, role, as_json=as_json)


@actions_app.command("list")
def list_actions_(as_json: JsonOption = False) -> None:
    """List the actions, and whether each is on."""
    show(run(people.actions(settings())), as_json=as_json, plain=people.render)


@actions_app.command("enable")
def enable_(name: ActionArgument, as_json: JsonOption = False) -> None:
    """Turn an action on, for good."""
    _switch("enable", name, as_json=as_json)


@actions_app.command("disable")
def disable_(name: ActionArgument, as_json: JsonOption = False) -> None:
    """Turn an action off, for good.

    Example: elefante actions disable MemoryDelete
    """
    _switch("disable", name, as_json=as_json)


def _give(user: str, role: str, *, as_json: bool) -> None:
    loaded = settings()
    show(run(people.give(loaded, person(user, loaded), role)), as_json=as_json, plain=people.render)


def _switch(verb: str, name: str, *, as_json: bool) -> None:
    show(run(people.switch(settings(), name, people.SWITCHES[verb])), as_json=as_json, plain=people.render)
