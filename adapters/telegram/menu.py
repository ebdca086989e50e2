"""The menu of commands that Telegram's clients offer. Knows which ones there are. A menu is no right to use them."""

from __future__ import annotations

import logging

from telegram import Bot, BotCommand, BotCommandScope, BotCommandScopeAllGroupChats, BotCommandScopeDefault
from telegram.error import TelegramError

from core.commands import COMMANDS
from core.types import Locale

_LOG = logging.getLogger(__name__)

# The menu without a language is what everybody sees whose language has none of its own.
_LANGUAGES = {"": Locale.PT, "en": Locale.EN, "es": Locale.ES}


async def offer_commands(bot: Bot) -> None:
    """Set the menu in each language, where it is not what it should be already; groups get what may be read there."""
    try:
        for tag, locale in _LANGUAGES.items():
            everything = [BotCommand(command.name, command.about[locale]) for command in COMMANDS.values()]
            public = [offer for offer in everything if not COMMANDS[offer.command].in_private]
            await _offer(bot, everything, BotCommandScopeDefault(), tag)
            await _offer(bot, public, BotCommandScopeAllGroupChats(), tag)
    except TelegramError as error:  # a menu is a convenience
        _LOG.warning("the menu of commands was not set", extra={"error": type(error).__name__})


async def _offer(bot: Bot, commands: list[BotCommand], scope: BotCommandScope, tag: str) -> None:
    # What the server has is the fingerprint: nothing of ours to keep, and nothing to get out of step.
    if await bot.get_my_commands(scope=scope, language_code=tag or None) != tuple(commands):
        await bot.set_my_commands(commands, scope=scope, language_code=tag or None)
