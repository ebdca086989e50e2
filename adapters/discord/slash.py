"""Slash commands: the core's tables of commands, and one to talk by, as Discord's menus show them.

Knows names, options, languages and when Discord has to be told of a change. Does not know what a command does.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import discord
from discord import app_commands

from adapters.discord.texts import ASK, IN_PRIVATE, MESSAGE, NAMES
from core.commands import COMMANDS, STAFF_COMMANDS, Command
from core.commands.admin import ADMIN, VERBS, Verb
from core.types import Locale, Localized

Say = Callable[["discord.Interaction[Any]", str, bool], Awaitable[None]]
"""Called with the interaction, what the person says by it, and whether only the person may see the answer."""

_MAX_MESSAGE_CHARS = 6000
"""Of one option. Source: discord.com/developers/docs/interactions/application-commands."""

_LOCALES = {
    discord.Locale.brazil_portuguese: Locale.PT,
    discord.Locale.spain_spanish: Locale.ES,
    discord.Locale.latin_american_spanish: Locale.ES,
}
_CHOICES = re.compile(r"\w+(?: \| \w+)+")


class CommandTranslator(app_commands.Translator):
    """Gives each text in the languages that it came with; English is the text itself."""

    async def translate(
        self, string: app_commands.locale_str, locale: discord.Locale, context: app_commands.TranslationContextTypes
    ) -> str | None:
        """Return the text in that language, or None where it has none."""
        del context
        told: dict[Locale, str] = string.extras.get("told", {})
        ours = _LOCALES.get(locale)
        return None if ours is None else told.get(ours)


class Menus:
    """The commands of one client, and where they are shown.

    Those of the staff are shown in the `admin_guild` alone, or, if there is none (0), to who manages a server. That is
    no more than tidiness: who may run them is the core's to say, each time.
    """

    def __init__(self, tree: app_commands.CommandTree[Any], say: Say, *, admin_guild: int) -> None:
        self._tree = tree
        self._homes = [None, *([discord.Object(admin_guild)] if admin_guild else [])]
        tree.add_command(_ask(say))
        for command in COMMANDS.values():
            tree.add_command(_command(command, f"/{command.name}", say))
        for command in STAFF_COMMANDS.values():
            built = _admin(say) if command is ADMIN else _command(command, f"/{command.name}", say)
            built.default_permissions = discord.Permissions(manage_guild=True)
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


def _ask(say: Say) -> app_commands.Command[Any, Any, None]:
    @app_commands.rename(message=_named("message"), private=_named("private"))
    @app_commands.describe(message=_told(MESSAGE), private=_told(IN_PRIVATE))
    async def ask(
        interaction: discord.Interaction[Any],
        message: app_commands.Range[str, 1, _MAX_MESSAGE_CHARS],
        private: bool = False,
    ) -> None:
        await say(interaction, message, private)

    return app_commands.Command(name=_named("ask"), description=_told(ASK), callback=ask)


def _admin(say: Say) -> app_commands.Group:
    """Return the group of what owners and admins do."""
    group = app_commands.Group(name=ADMIN.name, description=_told(ADMIN.about))
    for verb in VERBS.values():
        group.add_command(_command(verb, f"/{ADMIN.name} {verb.name}", say))
    return group


def _command(entry: Command | Verb, words: str, say: Say) -> app_commands.Command[Any, Any, None]:
    """Return a command that says `words`; one with a usage has an option for what comes after them."""

    async def plain(interaction: discord.Interaction[Any]) -> None:
        await say(interaction, words, True)

    @app_commands.rename(text=_named("text"))
    @app_commands.describe(text=entry.usage.strip(" []") or "…")
    @app_commands.choices(text=_choices(entry.usage))
    async def with_text(interaction: discord.Interaction[Any], text: str = "") -> None:
        await say(interaction, f"{words} {text}".rstrip(), True)

    callback = with_text if entry.usage else plain
    return app_commands.Command(name=_named(entry.name), description=_told(entry.about), callback=callback)


def _choices(usage: str) -> list[app_commands.Choice[str]]:
    """Return what may be chosen, where the usage is a list of words."""
    words = usage.strip().split(" | ") if _CHOICES.fullmatch(usage.strip()) else []
    return [app_commands.Choice(name=word, value=word) for word in words]


def _named(name: str) -> app_commands.locale_str:
    return app_commands.locale_str(name, told=NAMES.get(name, {}))


def _told(text: Localized) -> app_commands.locale_str:
    return app_commands.locale_str(text[Locale.EN], told=dict(text))
