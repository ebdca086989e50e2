"""The menu of commands that Telegram's clients offer. Knows which ones there are. A menu is no right to use them."""

from __future__ import annotations

import logging

from telegram import Bot, BotCommand
from telegram.error import TelegramError

from core.commands import COMMANDS
from core.types import Locale

_LOG = logging.getLogger(__name__)

# The menu without a language is what everybody sees whose language has none of its own.
_LANGUAGES = {"": Locale.PT, "en": Locale.EN, "es": Locale.ES}


async def offer_commands(bot: Bot) -> None:
    """Set the menu in each language, where it is not what it should be already."""
    for tag, locale in _LANGUAGES.items():
        wanted = tuple(BotCommand(command.name, command.about[locale]) for command in COMMANDS.values())
        try:
            if await bot.get_my_commands(language_code=tag or None) != wanted:
                await bot.set_my_commands(wanted, language_code=tag or None)
        except TelegramError as error:  # a menu is a convenience
            _LOG.warning("the menu of commands was not set", extra={"error": type(error).__name__})
            return
