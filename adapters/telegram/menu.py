"""Set what Telegram's clients show of the bot: menus of commands, and who it is, in each language.

Everybody has a menu, staff one of their own in their private chats. A menu is no right to a command: the core checks
who runs it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from telegram import (
    Bot,
    BotCommand,
    BotCommandScope,
    BotCommandScopeAllGroupChats,
    BotCommandScopeChat,
    BotCommandScopeDefault,
)
from telegram.error import BadRequest, Forbidden, TelegramError

from adapters.telegram.failure import MALFORMED
from adapters.telegram.state import State
from core.commands.menu import MenuEntry
from core.errors import StorageError
from core.text.catalogue import text
from core.types import Locale, Localized

_LOG = logging.getLogger(__name__)

# What has no language is what everybody sees whose language has none of its own.
# Telegram takes codes of two letters. Source: core.telegram.org/bots/api#setmycommands.
_LANGUAGES = {"": Locale.EN} | {each.code: each for each in Locale if len(each.code) == 2}  # noqa: PLR2004


@dataclass(frozen=True, slots=True)
class Staff:
    """The Telegram ids of owners and admins; `changed` is set when there may be others."""

    ids: Callable[[], Awaitable[Collection[int]]]
    changed: asyncio.Event


class Menus:
    """Sets each menu that is not yet what it should be."""

    def __init__(self, bot: Bot, state: State, entries: Sequence[MenuEntry], staff: Staff | None = None) -> None:
        self._bot = bot
        self._state = state
        self._entries = entries
        self._staff = staff

    def changed(self) -> None:
        """Have the menus of staff set again: somebody may have become one of them."""
        if self._staff is not None:
            self._staff.changed.set()

    async def offer(self) -> None:
        """Set who the bot is, everybody's menus, in groups only what may be read there; then those of staff."""
        everybody = [entry for entry in self._entries if entry.is_listed and not entry.for_staff]
        public = [entry for entry in everybody if not entry.in_private]
        try:
            for tag, locale in _LANGUAGES.items():
                await self._set(_offers(everybody, locale), BotCommandScopeDefault(), tag)
                await self._set(_offers(public, locale, in_groups=True), BotCommandScopeAllGroupChats(), tag)
        except (TelegramError, *MALFORMED) as error:  # a menu is a convenience
            _LOG.warning("the menu of commands was not set", extra={"error": type(error).__name__})
        try:
            await self._describe(self._description, self._bot.set_my_description, DESCRIPTION)
            await self._describe(self._short_description, self._bot.set_my_short_description, SHORT_DESCRIPTION)
        except (TelegramError, *MALFORMED) as error:
            _LOG.warning("the bot's description was not set", extra={"error": type(error).__name__})
        await self._offer_staff()

    async def follow(self) -> None:
        """Set the menus of staff again after each change, for ever."""
        while self._staff is not None:
            await self._staff.changed.wait()
            self._staff.changed.clear()
            await self._offer_staff()

    async def _set(self, commands: list[BotCommand], scope: BotCommandScope, tag: str) -> None:
        # What the server has is the fingerprint: nothing of ours to keep, and nothing to get out of step.
        there = await self._bot.get_my_commands(scope=scope, language_code=tag or None)
        if [each.to_dict() for each in there] != [each.to_dict() for each in commands]:
            await self._bot.set_my_commands(commands, scope=scope, language_code=tag or None)

    async def _describe(
        self, read: Callable[[str], Awaitable[str]], write: Callable[..., Awaitable[bool]], words: Localized
    ) -> None:
        """Set a description in each language, unless the owner wrote one of their own."""
        for tag, locale in _LANGUAGES.items():
            if (there := await read(tag)) not in {"", *words.values()}:
                return
            if there != words[locale]:
                await write(words[locale], language_code=tag or None)

    async def _description(self, tag: str) -> str:
        return (await self._bot.get_my_description(language_code=tag or None)).description

    async def _short_description(self, tag: str) -> str:
        return (await self._bot.get_my_short_description(language_code=tag or None)).short_description

    async def _offer_staff(self) -> None:
        """Offer staff their commands in their private chats; take them from those who are staff no more."""
        if self._staff is None:
            return
        try:
            await self._state.load()  # another worker may have given some since
            staff, known = set(await self._staff.ids()), self._state.menus
        except StorageError as error:
            _LOG.warning("who the staff are could not be read", extra={"error": type(error).__name__})
            return
        listed = [entry for entry in self._entries if entry.is_listed]
        menus = {tag: _offers(listed, locale) for tag, locale in _LANGUAGES.items()}
        fingerprint = _fingerprint(menus)
        for person in sorted(staff | set(known)):
            wanted = fingerprint if person in staff else ""
            if known.get(person, "") == wanted:
                continue
            try:
                for tag, commands in menus.items():
                    await self._give(person, commands if wanted else [], tag)
            except (BadRequest, Forbidden) as error:  # one who never wrote to the bot has no chat with it
                _LOG.info("no menu for one of the staff", extra={"error": type(error).__name__})
                if wanted:
                    continue  # once they write, the next start or change gives it
            except (TelegramError, *MALFORMED) as error:
                _LOG.warning("the menu of staff was not set", extra={"error": type(error).__name__})
                return
            try:
                await self._state.put_menu(person, wanted)
            except StorageError as error:  # it is given once more
                _LOG.warning("the menu of staff was not recorded", extra={"error": type(error).__name__})

    async def _give(self, person: int, commands: list[BotCommand], tag: str) -> None:
        scope = BotCommandScopeChat(person)
        if commands:
            await self._bot.set_my_commands(commands, scope=scope, language_code=tag or None)
        else:
            await self._bot.delete_my_commands(scope=scope, language_code=tag or None)


def _offers(entries: Iterable[MenuEntry], locale: Locale, *, in_groups: bool = False) -> list[BotCommand]:
    """Return the commands of a menu; in groups those whose answer is not for all are seen by who gives them alone.

    Source: core.telegram.org/bots/api#botcommand (`is_ephemeral`, Bot API 10.2; older servers leave it out).
    """
    unseen = {"is_ephemeral": True}
    return [
        BotCommand(entry.name, entry.about[locale], api_kwargs=unseen if in_groups and not entry.for_all else None)
        for entry in entries
    ]


def _fingerprint(menus: dict[str, list[BotCommand]]) -> str:
    told = {tag: [command.to_dict() for command in commands] for tag, commands in menus.items()}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


DESCRIPTION = text("telegram.description")
"""Read in a chat with the bot before it is started; 512 characters at most.

Source of both: core.telegram.org/bots/api#setmydescription, #setmyshortdescription.
"""

SHORT_DESCRIPTION = text("telegram.short_description")
"""Read on the bot's profile, and with links to it; 120 characters at most."""
