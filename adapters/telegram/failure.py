"""What the Bot API's failures mean to whoever writes. Knows the words of its refusals. Does not know what was said.

Source of the words: the errors of tdlib/td and tdlib/telegram-bot-api.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from telegram.error import RetryAfter, TelegramError

from core.errors import ConfigError, SurfaceBusy, SurfaceError, SurfaceGone

_LOG = logging.getLogger(__name__)

_GONE = (  # nobody will read there any more
    "chat not found", "chat_write_forbidden", "have no rights to send", "not enough rights", "user is deactivated",
    "peer_id_invalid", "topic_closed", "topic_deleted", "message thread not found", "group chat was deactivated",
    "chat_restricted", "channel_private",
)  # fmt: skip
_UNREADABLE = ("can't parse entities", "entity_bounds_invalid", "entities_too_long", "entity_")
_LOST = (
    "message to edit not found", "message can't be edited", "message_id_invalid",
    "there is no text in the message to edit", "message to delete not found", "message can't be deleted",
)  # fmt: skip
_NO_PICTURE = ("photo_", "image_process_failed")
_NOT_WRITTEN = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})  # of httpx: no byte of it left


class MessageLost(SurfaceError):
    """There is no such message to edit: somebody deleted it, or it holds no text."""


class Unconfirmed(SurfaceBusy):
    """The request went out, and what became of it is not known: it may have arrived."""


class Unreadable(SurfaceError):
    """The formatting, not the text, was refused."""


class Unchanged(SurfaceError):
    """The message says that already."""


class NoPicture(SurfaceError):
    """The file cannot be shown as a picture."""


def refused(said: str) -> SurfaceError:
    """Return what a 400 means, from its description in lower case."""
    if "message is not modified" in said:
        return Unchanged("not modified")
    for signs, kind in ((_LOST, MessageLost), (_GONE, SurfaceGone), (_NO_PICTURE, NoPicture)):
        if any(sign in said for sign in signs):
            return kind(said)
    if any(sign in said for sign in _UNREADABLE):
        return Unreadable(said)
    _LOG.error("telegram refused a message", extra={"said": said})  # nothing would be better for trying again
    return SurfaceGone(said)


def may_have_arrived(error: TelegramError) -> bool:
    """Whether the server may have done what was asked, though it did not say so: all but what never left us."""
    return type(error.__cause__).__name__ not in _NOT_WRITTEN


def seconds(error: RetryAfter) -> float:
    """Return the wait that a flood error names; the library gives it in one of two forms."""
    wait = error.retry_after
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)


def rejected_token() -> ConfigError:
    """Return what the owner has to mend when Telegram does not know the token."""
    return ConfigError("TELEGRAM_TOKEN", "Telegram does not know this token; ask @BotFather for the one of your bot")
