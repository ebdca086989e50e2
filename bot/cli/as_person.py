"""`elefante as`: give a command of the chat for a person, as they would in private, and print the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, TypeAlias

import typer

from bot.cli.collecting import CollectingChannel, buttons, said_by
from bot.cli.shell import JsonOption, load_settings, person, run, show
from bot.settings.settings import Settings
from bot.wiring import build
from core.answering.opening import Opening
from core.commands.command import Request
from core.delivery.view import View
from core.errors import ConfigError
from core.types import Role, UserKey

_ME = "me"

Document: TypeAlias = dict[str, Any]


def as_(
    user: Annotated[str, typer.Argument(metavar="PERSON", help="PLATFORM:ID, or me: you, in the terminal.")],
    command: Annotated[str, typer.Argument(help="A command of the chat, in quotes; /help lists them.")],
    as_json: JsonOption = False,
) -> None:
    """Give a command of the chat for a person, and print what they would read.

    It is given in private, in the conversation that they used last. What is asked back is answered by the command of a
    button, which stands beside it. Nothing is written into their chat.

    Example: elefante as telegram:123456 "/memories wifi"
    """
    loaded = load_settings()
    whose = person("" if user == _ME else user, loaded)
    show(run(obey(loaded, whose, command)), as_json=as_json, plain=render)


async def obey(settings: Settings, user: UserKey, command: str) -> Document:
    """Run a command for a person, with their role (without one, a member's), and return what was answered.

    Raises:
        ConfigError: it is no command.
    """
    if not command.startswith("/"):
        raise ConfigError("as", f"{command!r} is no command; write one such as '/memories', or `elefante think` it")
    channel = CollectingChannel()
    async with build(settings) as app:
        said = replace(await said_by(app, command, user), private=True)
        arrival = app.parts.services.confirmations.arrived(said.at)
        turn = await Opening(app.parts).turn(said, View(channel, app.clock), arrival)
        role = await app.parts.hooks.gate.role_here(said) or Role.MEMBER
        await app.parts.commands.run(Request(turn, said, role, worker=app.parts.worker), command)
        await turn.answer.complete()
        await turn.answer.view.close()
    answers = [
        {"text": each.words, "buttons": buttons(each), **({"file": each.files[0].name} if each.files else {})}
        for each in channel.stays
    ]
    return {"user": str(user), "command": command, "answers": answers}


def render(document: Document) -> str:
    """Return the document as text for a person."""
    lines = []
    for answer in document["answers"]:
        lines += [f"📄 {answer['file']}"] if "file" in answer else []
        lines += [answer["text"], *(f"  [{each['label']}] {each['command']}" for each in answer["buttons"])]
    return "\n".join(lines)
