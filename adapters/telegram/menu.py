"""The menus of commands that Telegram's clients offer. Knows who is offered which. A menu is no right to use it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
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
from core.commands.command import Command
from core.errors import StorageError
from core.features.tables import COMMANDS, DRAFT_COMMANDS, STAFF_COMMANDS
from core.types import Locale

_LOG = logging.getLogger(__name__)

# The menu without a language is what everybody sees whose language has none of its own.
# Telegram takes codes of two letters. Source: core.telegram.org/bots/api#setmycommands.
_LANGUAGES = {"": Locale.PT} | {each.code: each for each in Locale if each is not Locale.PT and len(each.code) == 2}  # noqa: PLR2004
_EVERYBODY = (*COMMANDS.values(), *DRAFT_COMMANDS.values())
_STAFF = (*_EVERYBODY, *STAFF_COMMANDS.values())


@dataclass(frozen=True, slots=True)
class Staff:
    """The Telegram ids of who may run the commands of owners and admins; `changed` is set when they may be others."""

    ids: Callable[[], Awaitable[Collection[int]]]
    changed: asyncio.Event


class Menus:
    """Sets each menu where it is not what it should be already."""

    def __init__(self, bot: Bot, state: State, staff: Staff | None = None) -> None:
        self._bot = bot
        self._state = state
        self._staff = staff

    async def offer(self) -> None:
        """Set the menus of everybody, in each language; groups get what may be read there. Then those of staff."""
        public = [command for command in _EVERYBODY if not command.in_private]
        try:
            for tag, locale in _LANGUAGES.items():
                await self._set(_offers(_EVERYBODY, locale), BotCommandScopeDefault(), tag)
                await self._set(_offers(public, locale), BotCommandScopeAllGroupChats(), tag)
        except (TelegramError, *MALFORMED) as error:  # a menu is a convenience
            _LOG.warning("the menu of commands was not set", extra={"error": type(error).__name__})
        await self._offer_staff()

    async def follow(self) -> None:
        """Keep the menus of staff as they should be, for ever."""
        while self._staff is not None:
            await self._staff.changed.wait()
            self._staff.changed.clear()
            await self._offer_staff()

    async def _set(self, commands: list[BotCommand], scope: BotCommandScope, tag: str) -> None:
        # What the server has is the fingerprint: nothing of ours to keep, and nothing to get out of step.
        if await self._bot.get_my_commands(scope=scope, language_code=tag or None) != tuple(commands):
            await self._bot.set_my_commands(commands, scope=scope, language_code=tag or None)

    async def _offer_staff(self) -> None:
        """Offer staff their commands, each in their private chat, and nobody else any more."""
        if self._staff is None:
            return
        try:
            staff, known = set(await self._staff.ids()), self._state.menus
        except StorageError as error:
            _LOG.warning("who the staff are could not be read", extra={"error": type(error).__name__})
            return
        menus = {tag: _offers(_STAFF, locale) for tag, locale in _LANGUAGES.items()}
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
            self._state.put_menu(person, wanted)

    async def _give(self, person: int, commands: list[BotCommand], tag: str) -> None:
        scope = BotCommandScopeChat(person)
        if commands:
            await self._bot.set_my_commands(commands, scope=scope, language_code=tag or None)
        else:
            await self._bot.delete_my_commands(scope=scope, language_code=tag or None)


def _offers(commands: Iterable[Command], locale: Locale) -> list[BotCommand]:
    return [BotCommand(command.name, command.about[locale]) for command in commands]


def _fingerprint(menus: dict[str, list[BotCommand]]) -> str:
    told = {tag: [command.to_dict() for command in commands] for tag, commands in menus.items()}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]
