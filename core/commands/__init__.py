"""What a person steers the bot with: a table from name to command, the same on every platform.

Knows which commands there are, who may run each, and where. Does not know how a platform draws menus or hides answers.
"""

from __future__ import annotations

from core.commands.command import ONLY_IN_PRIVATE, Command, Request
from core.commands.context import CommandContext, Stores
from core.features.admin.admin import ADMIN
from core.features.broadcast.news import NEWS
from core.features.conversations.retry import RETRY, again, asked_before, is_retry
from core.features.conversations.talk import RESET, STOP
from core.features.conversations.threads import CONTEXT_COMMAND, THREADS
from core.features.ledger.usage import USAGE
from core.features.links.link import LINK, UNLINK_COMMAND
from core.features.memories.confirm import CONFIRM
from core.features.memories.memories import MEMORIES, RECALL
from core.features.memories.remember import REMEMBER
from core.features.pending_input.pending import completed, is_stop, let_go
from core.features.preferences.choices import LANGUAGE, MEMORY
from core.features.preferences.drafts import DRAFTS, has_drafts
from core.features.privacy.forget import FORGET
from core.features.privacy.privacy import PRIVACY_COMMAND
from core.features.transfer.export import EXPORT
from core.features.transfer.import_ import IMPORT
from core.features.undo import UNDO_COMMAND
from core.text.catalogue import text

__all__ = [
    "BUTTON_COMMANDS",
    "COMMANDS",
    "DRAFT_COMMANDS",
    "STAFF_COMMANDS",
    "Command",
    "CommandContext",
    "Request",
    "Stores",
    "again",
    "asked_before",
    "completed",
    "is_retry",
    "is_stop",
    "let_go",
    "run",
]


async def run(request: Request, text: str) -> None:
    """Run the command that the text starts with ("/name argument"), or say that there is none.

    To somebody without the right to a command there is none of that name.
    """
    head, _, argument = text.removeprefix("/").partition(" ")
    name = head.split("\n", 1)[0].casefold()
    command = _ALL.get(_ALIASES.get(name, name))
    if command is None or not command.is_for(request.role):
        await request.tell(UNKNOWN, name=name[:32])
    elif command.in_private and not request.incoming.private:
        await request.tell(ONLY_IN_PRIVATE)
    else:
        await command.run(request, argument.strip())


async def help_(request: Request, _: str) -> None:
    """List the commands that the person may use, and say what to write without one."""
    lines = [HELP_INTRO[request.locale], ""]
    lines += [
        f"/{command.name}{command.usage} — {command.about[request.locale]}"
        for command in _ALL.values()
        if command.name not in BUTTON_COMMANDS
        and command.is_for(request.role)
        and (command.name not in DRAFT_COMMANDS or has_drafts(request))
    ]
    await request.turn.tell("\n".join(lines))


HELP_INTRO = text("help.intro")
UNKNOWN = text("help.unknown")

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command("help", text("commands.help"), help_),
        REMEMBER,
        RECALL,
        MEMORIES,
        FORGET,
        UNDO_COMMAND,
        MEMORY,
        EXPORT,
        IMPORT,
        PRIVACY_COMMAND,
        LINK,
        UNLINK_COMMAND,
        LANGUAGE,
        NEWS,
        THREADS,
        CONTEXT_COMMAND,
        USAGE,
        RESET,
        RETRY,
        STOP,
    )
}
"""What everybody may run: what menus offer to everybody."""

DRAFT_COMMANDS: dict[str, Command] = {DRAFTS.name: DRAFTS}
"""What menus offer to everybody where the platform has drafts."""

STAFF_COMMANDS: dict[str, Command] = {ADMIN.name: ADMIN}
"""What only owners and admins may run."""

BUTTON_COMMANDS: dict[str, Command] = {CONFIRM.name: CONFIRM}
"""What everybody may run, and no menu offers: what buttons say."""

_ALL = COMMANDS | DRAFT_COMMANDS | BUTTON_COMMANDS | STAFF_COMMANDS
_ALIASES = {"start": "help"}
