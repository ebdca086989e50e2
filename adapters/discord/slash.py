"""Slash commands: the core's tables of commands, and one to talk by, as Discord's menus show them.

Knows names, options, languages and when Discord has to be told of a change. Does not know what a command does.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Protocol, TypeAlias

import discord
from discord import app_commands

from adapters.discord.option import MAX_MESSAGE_CHARS, filled, named, options_of, told, with_options
from adapters.discord.texts import ASK, IN_PRIVATE, MESSAGE
from core.commands.command import Command
from core.features.admin.admin import ADMIN, VERBS
from core.features.admin.verb import Verb
from core.features.tables import COMMANDS, STAFF_COMMANDS
from core.text.language import from_tag
from core.types import Locale

_AnyCommand: TypeAlias = app_commands.Command[Any, Any, None] | app_commands.Group


class Say(Protocol):
    """Who is told what people say by commands."""

    async def __call__(self, interaction: discord.Interaction[Any], text: str, *, unseen: bool, file: str = "") -> None:
        """Take what a person says: for all or `unseen`, with the address of a `file` or ""."""
        ...


class CommandTranslator(app_commands.Translator):
    """Gives each text in the languages that it came with; English is the text itself."""

    async def translate(
        self, string: app_commands.locale_str, locale: discord.Locale, context: app_commands.TranslationContextTypes
    ) -> str | None:
        """Return the text in that language, or None where it has none."""
        del context
        told: dict[Locale, str] = string.extras.get("told", {})
        ours = from_tag(locale.value)
        return None if ours in {None, Locale.EN} else told.get(ours)


class Menus:
    """The commands of one client, and where they are shown.

    Those of everybody are shown wherever people write, also where somebody took the bot along (`goes_along`). Those of
    the staff are shown in the `admin_guild` alone, or, if there is none (0), to who manages a server. That is no more
    than tidiness: who may run them is the core's to say, each time.
    """

    def __init__(
        self, tree: app_commands.CommandTree[Any], say: Say, *, admin_guild: int, goes_along: bool = False
    ) -> None:
        self._tree = tree
        self._homes = [None, *([discord.Object(admin_guild)] if admin_guild else [])]
        everywhere = [_ask(say), *(_command(command, f"/{command.name}", say) for command in COMMANDS.values())]
        for command in everywhere:
            _show(command, goes_along=goes_along)
            tree.add_command(command)
        for entry in STAFF_COMMANDS.values():
            built = _admin(say) if entry is ADMIN else _command(entry, f"/{entry.name}", say)
            built.default_permissions = discord.Permissions(manage_guild=True)
            if not admin_guild:
                _show(built, goes_along=False)
            tree.add_command(built, guild=self._homes[-1])

    async def tell_if_new(self, known: str) -> str:
        """Send the commands to Discord unless it knows them by that fingerprint; return the fingerprint.

        Telling it at each start is what locks bots out: 200 new commands a day.
        """
        offered = [[str(home and home.id), *await self._payload(home)] for home in self._homes]
        said = json.dumps([self._tree.client.application_id, offered], sort_keys=True)
        fingerprint = hashlib.sha256(said.encode()).hexdigest()
        if fingerprint != known:
            for home in self._homes:
                await self._tree.sync(guild=home)
        return fingerprint

    async def _payload(self, home: discord.Object | None) -> list[Any]:
        translator = CommandTranslator()
        commands = self._tree.get_commands(guild=home)
        return [await command.get_translated_payload(self._tree, translator) for command in commands]


def _show(command: _AnyCommand, *, goes_along: bool) -> None:
    """Offer a command in servers and direct messages, and where somebody who installed the bot takes it along.

    Source: discord.com/developers/docs/interactions/application-commands#contexts.
    """
    command.allowed_installs = app_commands.AppInstallationType(guild=True, user=goes_along)
    command.allowed_contexts = app_commands.AppCommandContext(guild=True, dm_channel=True, private_channel=goes_along)


def _ask(say: Say) -> app_commands.Command[Any, Any, None]:
    @app_commands.rename(message=named("message"), private=named("private"))
    @app_commands.describe(message=told(MESSAGE), private=told(IN_PRIVATE))
    async def ask(
        interaction: discord.Interaction[Any],
        message: app_commands.Range[str, 1, MAX_MESSAGE_CHARS],
        private: bool = False,
    ) -> None:
        await say(interaction, message, unseen=private)

    return app_commands.Command(name=named("ask"), description=told(ASK), callback=ask)


def _admin(say: Say) -> app_commands.Group:
    """Return the group of what owners and admins do."""
    group = app_commands.Group(name=named(ADMIN.name), description=told(ADMIN.about))
    for verb in VERBS.values():
        group.add_command(_command(verb, f"/{ADMIN.name} {verb.name}", say))
    return group


def _command(entry: Command | Verb, words: str, say: Say) -> app_commands.Command[Any, Any, None]:
    """Return a command that says `words`, and after them what is filled in."""

    async def fill_in(interaction: discord.Interaction[Any], **given: Any) -> None:
        said = filled(words, given)
        await say(interaction, said.text, unseen=said.unseen, file=said.file)

    callback: Any = with_options(fill_in, options_of(words.removeprefix("/"), entry.usage))
    return app_commands.Command(name=named(entry.name), description=told(entry.about), callback=callback)
