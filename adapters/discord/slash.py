"""Slash commands and menus of messages and people, with names, descriptions and fields in three languages.

The commands are those of the menu, and one to talk by.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import discord
from discord import app_commands

from adapters.discord.button import ASK_ABOUT_THIS
from adapters.discord.interaction_handler import InteractionHandler
from adapters.discord.room import PLATFORM
from core.commands.menu import MenuEntry, MenuOption, OptionKind
from core.text.catalogue import menu_names, text
from core.text.language import from_tag
from core.text.unicode import one_line
from core.types import Locale, Localized

_LOG = logging.getLogger(__name__)

_AnyCommand: TypeAlias = app_commands.Command[Any, Any, None] | app_commands.Group

_MAX_MESSAGE_CHARS: Final = 6000
"""The length of one option. Source: discord.com/developers/docs/interactions/application-commands."""

_MAX_SHOWN_CHARS: Final = 100
"""The length of a description, and of a choice's name and value."""

_MAX_CHOICES: Final = 25
"""What a field offers. Source: discord.com/developers/docs/interactions/receiving-and-responding#autocomplete."""

ASK = text("discord.ask")
MESSAGE = text("discord.message")
IN_PRIVATE = text("discord.in_private")
ASIDE = text("discord.aside")
REMEMBER_THIS = text("discord.context.remember")
ALLOW = text("discord.context.allow")
BLOCK = text("discord.context.block")
WHY = text("discord.context.why")
LIMITS = text("discord.context.limits")

_FOR_PEOPLE: Final = (("allow", ALLOW), ("block", BLOCK), ("quota", LIMITS))
"""The verbs of /admin that take no more than a person. Discord shows 15 menus of each kind, the library takes 5.

Source: discord.com/developers/docs/interactions/application-commands#registering-a-command.
"""

_TYPES: Final[Mapping[OptionKind, Any]] = {
    OptionKind.CHANNEL: app_commands.AppCommandChannel,
    OptionKind.FILE: discord.Attachment,
    OptionKind.PERSON: discord.User,
    OptionKind.ROLE: discord.Role,
    OptionKind.TEXT: str,
}
"""Each kind of field as the library takes it; a number has its bounds."""


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


class CommandTree(app_commands.CommandTree[discord.Client]):
    """The commands that the library knows, and an answer to those that it does not.

    Clients keep menus for a while: after an update they may send a command, verb or field that is gone, or leave out a
    new one. Nothing of that is run.
    """

    def __init__(self, client: discord.Client, handler: InteractionHandler) -> None:
        super().__init__(client)
        self._handler = handler

    async def interaction_check(self, interaction: discord.Interaction[Any], /) -> bool:
        """Let a command pass, unless it has a field that is gone: the library would leave out what stands in it.

        Raises:
            CommandSignatureMismatch: there is such a field, or one is typed into that offers nothing.
        """
        command = interaction.command
        if isinstance(command, app_commands.Command):
            known = {field.display_name: field for field in command.parameters}
            data: Any = interaction.data
            typed = _focused(data.get("options", ()))
            if not vars(interaction.namespace).keys() <= known.keys() or (typed and not known[typed].autocomplete):
                raise app_commands.CommandSignatureMismatch(command)
        return True

    async def on_error(self, interaction: discord.Interaction[Any], error: app_commands.AppCommandError, /) -> None:
        """Say that the menu is an old one, or that something went wrong."""
        is_old = isinstance(error, app_commands.CommandNotFound | app_commands.CommandSignatureMismatch)
        if not is_old:
            _LOG.error("command failed", exc_info=error)
        await self._handler.misfit(interaction, is_old=is_old)


class SlashMenus:
    """The commands of one client, and where they are shown.

    Those of everybody are shown wherever people write, also where somebody took the bot along (`goes_along`); those of
    who manages a server there, to them; those of the staff in the `admin_guild` alone, to whoever manages it, or, if
    there is none (0), in direct messages and to nobody in servers but their administrators, from whom nothing can be
    hidden. A menu is no right to a command: the core checks who runs it, each time.
    """

    def __init__(
        self,
        tree: app_commands.CommandTree[Any],
        handler: InteractionHandler,
        entries: Sequence[MenuEntry],
        *,
        admin_guild: int,
        goes_along: bool = False,
    ) -> None:
        self._tree = tree
        self._homes = [None, *([discord.Object(admin_guild)] if admin_guild else [])]
        built = [_built(entry, handler) for entry in entries if not entry.for_staff and not entry.for_managers]
        for command in (_ask(handler), *built, *_on_messages(handler)):
            _show(command, goes_along=goes_along)
            tree.add_command(command)
        for command in (_built(entry, handler) for entry in entries if entry.for_managers):
            command.default_permissions = discord.Permissions(manage_guild=True)
            _show(command, goes_along=False, in_private=False)
            tree.add_command(command)
        staff = [_built(entry, handler) for entry in entries if entry.for_staff]
        for command in (*staff, *(_on_people(handler) if staff else ())):
            command.default_permissions = discord.Permissions(manage_guild=bool(admin_guild))
            if not admin_guild:
                _show(command, goes_along=False, in_private=not isinstance(command, app_commands.ContextMenu))
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


def _show(command: _AnyCommand | app_commands.ContextMenu, *, goes_along: bool, in_private: bool = True) -> None:
    """Offer a command in servers and direct messages, and where somebody who installed the bot takes it along.

    Source: discord.com/developers/docs/interactions/application-commands#contexts.
    """
    command.allowed_installs = app_commands.AppInstallationType(guild=True, user=goes_along)
    command.allowed_contexts = app_commands.AppCommandContext(
        guild=True, dm_channel=in_private, private_channel=goes_along
    )


def _ask(handler: InteractionHandler) -> app_commands.Command[Any, Any, None]:
    @app_commands.rename(message=_named("message"), private=_named("private"))
    @app_commands.describe(message=_in_menus(MESSAGE), private=_in_menus(IN_PRIVATE))
    async def ask(
        interaction: discord.Interaction[Any],
        message: app_commands.Range[str, 1, _MAX_MESSAGE_CHARS],
        private: bool = False,
    ) -> None:
        await handler.say(interaction, message, unseen=private)

    return app_commands.Command(name=_named("ask"), description=_in_menus(ASK), callback=ask)


def _on_messages(handler: InteractionHandler) -> Sequence[app_commands.ContextMenu]:
    """Return what everybody can do with a message; only they see what comes of it."""

    async def remember(interaction: discord.Interaction[Any], message: discord.Message) -> None:
        await handler.remember(interaction, message)

    async def ask(interaction: discord.Interaction[Any], message: discord.Message) -> None:
        await handler.ask_about(interaction, message)

    async def why(interaction: discord.Interaction[Any], message: discord.Message) -> None:
        await handler.why(interaction, message)

    return (
        app_commands.ContextMenu(name=_in_menus(REMEMBER_THIS), callback=remember),
        app_commands.ContextMenu(name=_in_menus(ASK_ABOUT_THIS), callback=ask),
        app_commands.ContextMenu(name=_in_menus(WHY), callback=why),
    )


def _on_people(handler: InteractionHandler) -> Sequence[app_commands.ContextMenu]:
    """Return what the staff can do with a person: the same as by /admin, by the same rights."""
    return [_on_person(verb, called, handler) for verb, called in _FOR_PEOPLE]


def _on_person(verb: str, called: Localized, handler: InteractionHandler) -> app_commands.ContextMenu:
    async def run(interaction: discord.Interaction[Any], person: discord.User) -> None:
        await handler.say(interaction, f"/admin {verb} {_account(person)}", unseen=True)

    return app_commands.ContextMenu(name=_in_menus(called), callback=run)


def _built(entry: MenuEntry, handler: InteractionHandler, group: str = "") -> _AnyCommand:
    """Return a command, or, for an entry with verbs, a group of commands."""
    words = f"{group or '/'}{entry.name}"
    if not entry.verbs:
        return _command(entry, words, handler)
    built = app_commands.Group(name=_named(entry.name), description=_in_menus(entry.about))
    for verb in entry.verbs:
        built.add_command(_built(verb, handler, f"{words} "))
    return built


def _command(entry: MenuEntry, words: str, handler: InteractionHandler) -> app_commands.Command[Any, Any, None]:
    """Return a command that says `words`, and after them what is filled in.

    Its callback gets a signature of its own, since the library reads the fields off the callback's parameters.
    """

    async def fill_in(interaction: discord.Interaction[Any], **given: Any) -> None:
        files = [file for file in given.values() if isinstance(file, discord.Attachment)]
        unseen = bool(given.get("private"))
        await handler.say(interaction, said(words, entry.fields, given), unseen=unseen, files=files)

    callback: Any = fill_in
    parameters = [inspect.Parameter("interaction", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    parameters += [_parameter(option.name, _type(option), required=option.required) for option in entry.fields]
    parameters += [_parameter("private", bool)] if entry.in_conversation else []
    callback.__signature__ = inspect.Signature(parameters)
    _describe(callback, entry.fields, private=entry.in_conversation)
    offering = {option.name: _offering(words, option.name, handler) for option in entry.fields if option.completes}
    app_commands.autocomplete(**offering)(callback)
    return app_commands.Command(name=_named(entry.name), description=_in_menus(entry.about), callback=callback)


def _parameter(name: str, kind: Any, *, required: bool = False) -> inspect.Parameter:
    default, annotation = (inspect.Parameter.empty, kind) if required else (None, kind | None)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _type(option: MenuOption) -> Any:
    """Return the field's type as the library takes it."""
    if option.kind is OptionKind.NUMBER:
        return app_commands.Range[int, option.least, option.most]
    return _TYPES[option.kind]


def _describe(callback: Any, options: Sequence[MenuOption], *, private: bool) -> None:
    """Give the fields their names, descriptions and words to choose from."""
    names = {option.name: _named(option.name) for option in options}
    abouts = {option.name: _in_menus(option.about) for option in options}
    if private:
        names["private"], abouts["private"] = _named("private"), _in_menus(ASIDE)
    app_commands.rename(**names)(callback)
    app_commands.describe(**abouts)(callback)
    app_commands.choices(
        **{
            option.name: [
                app_commands.Choice(name=_in_menus(shown), value=word) for word, shown in option.words.items()
            ]
            for option in options
            if option.words
        }
    )(callback)


def _offering(words: str, option: str, handler: InteractionHandler) -> Any:
    """Return what the library calls for each letter that is typed into a field."""

    async def offer(interaction: discord.Interaction[Any], typed: str) -> list[app_commands.Choice[str]]:
        found = await handler.complete(interaction, f"{words} {typed}".rstrip(), option)
        # A label may be cut, a value never.
        fitting = [one for one in found if one.label.strip() and 0 < len(one.value) <= _MAX_SHOWN_CHARS]
        return [
            app_commands.Choice(name=one_line(one.label, _MAX_SHOWN_CHARS), value=one.value)
            for one in fitting[:_MAX_CHOICES]
        ]

    return offer


def said(words: str, fields: Sequence[MenuOption], given: Mapping[str, Any]) -> str:
    """Return what a person says by a command: its own words, then what they filled in, in the order of its fields."""
    filled = [given[field.name] for field in fields if field.kind is not OptionKind.FILE and given.get(field.name)]
    return " ".join([words, *map(_written, filled)])


def _focused(options: Sequence[Any]) -> str:
    """Return the name of the field that is being typed into, "" for none; those of a verb stand below it."""
    names = (each["name"] if each.get("focused") else _focused(each.get("options", ())) for each in options)
    return next(filter(None, names), "")


def _named(name: str) -> app_commands.locale_str:
    """Return a name, with what it is called in other languages."""
    return app_commands.locale_str(name, told=menu_names(name))


def _account(person: discord.abc.User) -> str:
    """Return the name of an account in commands, PLATFORM:ID."""
    return f"{PLATFORM}:{person.id}"


def _written(value: Any) -> str:
    """Return what was filled in as the core reads it."""
    if isinstance(value, app_commands.AppCommandChannel | discord.Role):
        return f"{value.id}={one_line(value.name, _MAX_SHOWN_CHARS)}"
    return str(value) if isinstance(value, str | int) else _account(value)


def _in_menus(text: Localized) -> app_commands.locale_str:
    """Return a name or description in every language; one that is the same in all has no translations."""
    told = {} if len(set(text.values())) == 1 else text
    return app_commands.locale_str(text[Locale.EN][:_MAX_SHOWN_CHARS], told=told)
