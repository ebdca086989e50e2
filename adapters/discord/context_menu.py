"""What can be chosen from the menu of a message, and, by who manages a server, from that of a person.

Discord shows 15 of each kind, the library takes 5.
Source: discord.com/developers/docs/interactions/application-commands#registering-a-command.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import discord
from discord import app_commands

from adapters.discord.interaction_handler import InteractionHandler
from adapters.discord.room import PLATFORM
from adapters.discord.texts import ALLOW, ASK_ABOUT_THIS, BLOCK, LIMITS, REMEMBER_THIS
from core.types import Locale, Localized

_MAX_SHOWN_CHARS: Final = 100
_FOR_PEOPLE: Final = (("allow", ALLOW), ("block", BLOCK), ("quota", LIMITS))
"""The verbs of /admin that take no more than a person."""


def on_messages(handler: InteractionHandler) -> Sequence[app_commands.ContextMenu]:
    """Return what everybody can do with a message; only they see what comes of it."""

    async def remember(interaction: discord.Interaction[Any], message: discord.Message) -> None:
        await handler.remember(interaction, message)

    async def ask(interaction: discord.Interaction[Any], message: discord.Message) -> None:
        await handler.ask_about(interaction, message)

    return (
        app_commands.ContextMenu(name=in_menus(REMEMBER_THIS), callback=remember),
        app_commands.ContextMenu(name=in_menus(ASK_ABOUT_THIS), callback=ask),
    )


def on_people(handler: InteractionHandler) -> Sequence[app_commands.ContextMenu]:
    """Return what the staff can do with a person: the same as by /admin, by the same rights."""
    return [_on_person(verb, called, handler) for verb, called in _FOR_PEOPLE]


def _on_person(verb: str, called: Localized, handler: InteractionHandler) -> app_commands.ContextMenu:
    async def run(interaction: discord.Interaction[Any], person: discord.User) -> None:
        await handler.say(interaction, f"/admin {verb} {account(person)}", unseen=True)

    return app_commands.ContextMenu(name=in_menus(called), callback=run)


def account(person: discord.abc.User) -> str:
    """Return the name of an account in commands, PLATFORM:ID."""
    return f"{PLATFORM}:{person.id}"


def in_menus(text: Localized) -> app_commands.locale_str:
    """Return a name or description in every language; one that is the same in all has no translations."""
    told = {} if len(set(text.values())) == 1 else text
    return app_commands.locale_str(text[Locale.EN][:_MAX_SHOWN_CHARS], told=told)
