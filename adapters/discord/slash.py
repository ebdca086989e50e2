"""Slash commands: those of the menu and one to talk by, with names, descriptions and fields in three languages."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

import discord
from discord import app_commands

from adapters.discord.room import PLATFORM
from adapters.discord.texts import ASIDE, ASK, IN_PRIVATE, MESSAGE
from core.commands.menu import MenuEntry, MenuOption, OptionKind
from core.outgoing import Choice
from core.text.catalogue import menu_names
from core.text.language import from_tag
from core.text.unicode import one_line
from core.types import Locale, Localized

_AnyCommand: TypeAlias = app_commands.Command[Any, Any, None] | app_commands.Group

_MAX_MESSAGE_CHARS: Final = 6000
"""The length of one option. Source: discord.com/developers/docs/interactions/application-commands."""

_MAX_ABOUT_CHARS: Final = 100
_MAX_CHOICES, _MAX_CHOICE_CHARS = 25, 100
"""What a field offers. Source: discord.com/developers/docs/interactions/receiving-and-responding#autocomplete."""

_NOT_SAID: Final = frozenset({"file", "private"})
_FIELDS: Final[Mapping[OptionKind, tuple[Any, Any]]] = {
    OptionKind.FILE: (discord.Attachment, inspect.Parameter.empty),
    OptionKind.PERSON: (discord.User | None, None),
    OptionKind.TEXT: (str, ""),
}
"""Each kind of option as the library takes it: its type and its default (empty: it is required)."""


class Say(Protocol):
    """Takes what people say by commands."""

    async def __call__(self, interaction: discord.Interaction[Any], text: str, *, unseen: bool, file: str = "") -> None:
        """Take what a person says: for all or `unseen`, with the address of a `file` or ""."""
        ...


class Complete(Protocol):
    """Finds what a field offers while it is filled in."""

    async def __call__(self, interaction: discord.Interaction[Any], text: str, option: str) -> Sequence[Choice]:
        """Return what the field `option` offers; `text` is the command with what stands in it so far."""
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

    Those of everybody are shown wherever people write, also where somebody took the bot along (`goes_along`); those of
    the staff in the `admin_guild` alone, or, if there is none (0), to whoever manages a server. A menu is no right to a
    command: the core checks who runs it, each time.
    """

    def __init__(
        self,
        tree: app_commands.CommandTree[Any],
        say: Say,
        complete: Complete,
        entries: Sequence[MenuEntry],
        *,
        admin_guild: int,
        goes_along: bool = False,
    ) -> None:
        self._tree = tree
        self._homes = [None, *([discord.Object(admin_guild)] if admin_guild else [])]
        built = [_built(entry, say, complete) for entry in entries if not entry.for_staff]
        for command in (_ask(say), *built):
            _show(command, goes_along=goes_along)
            tree.add_command(command)
        for entry in entries:
            if not entry.for_staff:
                continue
            command = _built(entry, say, complete)
            command.default_permissions = discord.Permissions(manage_guild=True)
            if not admin_guild:
                _show(command, goes_along=False)
            tree.add_command(command, guild=self._homes[-1])

    async def tell_if_new(self, known: str) -> str:
        """Send the commands to Discord unless it knows them by that fingerprint; return the fingerprint.

        Discord locks out bots that send more than 200 new commands a day.
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
    @app_commands.rename(message=_named("message"), private=_named("private"))
    @app_commands.describe(message=_told(MESSAGE), private=_told(IN_PRIVATE))
    async def ask(
        interaction: discord.Interaction[Any],
        message: app_commands.Range[str, 1, _MAX_MESSAGE_CHARS],
        private: bool = False,
    ) -> None:
        await say(interaction, message, unseen=private)

    return app_commands.Command(name=_named("ask"), description=_told(ASK), callback=ask)


def _built(entry: MenuEntry, say: Say, complete: Complete, group: str = "") -> _AnyCommand:
    """Return a command, or, for an entry with verbs, a group of commands."""
    words = f"{group or '/'}{entry.name}"
    if not entry.verbs:
        return _command(entry, words, say, complete)
    built = app_commands.Group(name=_named(entry.name), description=_told(entry.about))
    for verb in entry.verbs:
        built.add_command(_built(verb, say, complete, f"{words} "))
    return built


def _command(entry: MenuEntry, words: str, say: Say, complete: Complete) -> app_commands.Command[Any, Any, None]:
    """Return a command that says `words`, and after them what is filled in.

    Its callback gets a signature of its own, since the library reads the fields off the callback's parameters.
    """

    async def fill_in(interaction: discord.Interaction[Any], **given: Any) -> None:
        file = given.get("file")
        unseen = bool(given.get("private"))
        await say(interaction, said(words, given), unseen=unseen, file=file.url if file else "")

    callback: Any = fill_in
    parameters = [inspect.Parameter("interaction", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    parameters += [_parameter(option.name, *_FIELDS[option.kind]) for option in entry.options]
    parameters += [_parameter("private", bool, default=False)] if entry.in_conversation else []
    callback.__signature__ = inspect.Signature(parameters)
    _describe(callback, entry.options, private=entry.in_conversation)
    offering = {option.name: _offering(words, option.name, complete) for option in entry.options if option.completes}
    app_commands.autocomplete(**offering)(callback)
    return app_commands.Command(name=_named(entry.name), description=_told(entry.about), callback=callback)


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _describe(callback: Any, options: Sequence[MenuOption], *, private: bool) -> None:
    """Give the fields their names, descriptions and words to choose from."""
    names = {option.name: _named(option.name) for option in options}
    abouts = {option.name: _told(option.about) for option in options}
    if private:
        names["private"], abouts["private"] = _named("private"), _told(ASIDE)
    words = {option.name: option.words for option in options if option.words}
    app_commands.rename(**names)(callback)
    app_commands.describe(**abouts)(callback)
    app_commands.choices(
        **{name: [app_commands.Choice(name=word, value=word) for word in those] for name, those in words.items()}
    )(callback)


def _offering(words: str, option: str, complete: Complete) -> Any:
    """Return what the library calls for each letter that is typed into a field."""

    async def offer(interaction: discord.Interaction[Any], typed: str) -> list[app_commands.Choice[str]]:
        found = await complete(interaction, f"{words} {typed}".rstrip(), option)
        # A label may be cut, a value never.
        fitting = [one for one in found if one.label.strip() and 0 < len(one.value) <= _MAX_CHOICE_CHARS]
        return [
            app_commands.Choice(name=one_line(one.label, _MAX_CHOICE_CHARS), value=one.value)
            for one in fitting[:_MAX_CHOICES]
        ]

    return offer


def said(words: str, given: Mapping[str, Any]) -> str:
    """Return what a person says by a command: its own words, then what they filled in, in order."""
    filled = (value for name, value in given.items() if value and name not in _NOT_SAID)
    return " ".join([words, *(value if isinstance(value, str) else f"{PLATFORM}:{value.id}" for value in filled)])


def _named(name: str) -> app_commands.locale_str:
    """Return a name, with what it is called in other languages."""
    return app_commands.locale_str(name, told=menu_names(name))


def _told(text: Localized) -> app_commands.locale_str:
    """Return a description in every language; one that is the same in all has no translations."""
    english = text[Locale.EN][:_MAX_ABOUT_CHARS]
    told = {} if len(set(text.values())) == 1 else text
    return app_commands.locale_str(english, told=told)
