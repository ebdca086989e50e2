"""Translate failures of the Bot API into those of `core.errors`, by the words of its refusals.

Source of the words: the errors of tdlib/td and tdlib/telegram-bot-api.
"""

from __future__ import annotations

import logging
import re
from datetime import timedelta

from telegram.error import NetworkError, RetryAfter, TelegramError

from core.errors import (
    ChannelBusy,
    ChannelDown,
    ChannelError,
    ChannelForbidden,
    ChannelGone,
    ChannelUnclear,
    ConfigError,
    MessageLost,
)

_LOG = logging.getLogger(__name__)

_GONE = (  # nobody will read there any more
    "chat not found", "user is deactivated", "peer_id_invalid", "topic_closed", "topic_deleted",
    "message thread not found", "group chat was deactivated", "channel_private",
)  # fmt: skip
_FORBIDDEN = (
    "chat_write_forbidden",
    "have no rights to send",
    "not enough rights",
    "chat_restricted",
    "_forbidden",
    "bot_not_admin",
    "message_not_command",
)
_UNREADABLE = ("can't parse entities", "entity_bounds_invalid", "entities_too_long", "entity_")
_LOST = (
    "message to edit not found", "message can't be edited", "message_id_invalid",
    "there is no text in the message to edit", "message to delete not found",
)  # fmt: skip
_VALUE = re.compile(r"[:\"<(]| '")
"""What stands before a value in a description: from there on it may quote what was to be written."""

_NOT_WRITTEN = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})  # of httpx: no byte of it left

MALFORMED = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError, AssertionError)
"""What the library raises over an answer that is not as documented."""


class Unreadable(ChannelError):
    """The formatting, not the text, was refused."""


class Unchanged(ChannelError):
    """The message says that already."""


_KINDS: tuple[tuple[tuple[str, ...], type[ChannelError]], ...] = (
    (_LOST, MessageLost),
    (_GONE, ChannelGone),
    (_FORBIDDEN, ChannelForbidden),
    (_UNREADABLE, Unreadable),
)


def refused(said: str) -> ChannelError:
    """Return the error that a 400 means, from its description in lower case; it has none of the values in that."""
    if "message is not modified" in said:
        return Unchanged("not modified")
    fixed = _VALUE.split(said.removeprefix("bad request: "), maxsplit=1)[0]
    for signs, kind in _KINDS:
        if any(sign in said for sign in signs):
            return kind(fixed)
    _LOG.error("telegram refused a call", extra={"said": fixed})
    return ChannelError(fixed)


def failed(error: Exception, wait_s: float) -> ChannelError:
    """Return the error that any other failure means: of the network, of the server, or to parse the answer."""
    if isinstance(error, NetworkError):
        if type(error.__cause__).__name__ in _NOT_WRITTEN:
            return ChannelBusy(wait_s)
        if error.__cause__ is None or isinstance(error.__cause__, TelegramError):  # the server said so, in its words
            return ChannelDown(wait_s)
    return ChannelUnclear(type(error).__name__, wait_s)


def seconds(error: RetryAfter) -> float:
    """Return the wait that a flood error names, in seconds; the library gives it in one of two forms."""
    wait = error.retry_after
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)


def rejected_token() -> ConfigError:
    """Return the error for a token that Telegram does not know."""
    return ConfigError("TELEGRAM_TOKEN", "Telegram does not know this token; ask @BotFather for the one of your bot")
