"""The Bot API as we use it: four ways to write into a chat, each within its budget, each failure one of ours.

Knows python-telegram-bot's calls and errors. Does not know what is said, nor when it is worth saying. Nothing is tried
again here but what moved elsewhere: whoever holds the newest text decides about that.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from telegram import Bot, LinkPreviewOptions, ReplyParameters
from telegram.constants import ChatAction
from telegram.error import BadRequest, ChatMigrated, Forbidden, InvalidToken, NetworkError, RetryAfter, TelegramError

from adapters.telegram.markup import Rendered
from adapters.telegram.pacer import Pacer, Priority
from core.errors import ConfigError, SurfaceBusy, SurfaceError, SurfaceGone

_LOG = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")

_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
_LONGEST_OUTAGE_S = 30.0

# What a refusal says when nobody will read there any more. Source: the errors of td and telegram-bot-api.
_GONE = (
    "chat not found", "chat_write_forbidden", "have no rights to send", "not enough rights", "user is deactivated",
    "peer_id_invalid", "topic_closed", "topic_deleted", "message thread not found", "group chat was deactivated",
    "chat_restricted", "channel_private",
)  # fmt: skip
_UNREADABLE = ("can't parse entities", "entity_bounds_invalid", "entities_too_long", "entity_")
_LOST = ("message to edit not found", "message can't be edited", "message_id_invalid")


class MessageLost(SurfaceError):
    """The message to edit is not there any more: somebody deleted it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where to write: a chat, and the topic in it if it has topics."""

    chat_id: int
    thread_id: int | None = None


class TelegramApi:
    """Writes through one bot. Raises SurfaceError only."""

    def __init__(self, bot: Bot, pacer: Pacer) -> None:
        self._bot = bot
        self._moved: dict[int, int] = {}
        self._outages = 0
        self.pacer = pacer

    async def send(self, place: Place, rendered: Rendered, priority: Priority, reply_to: int | None = None) -> int:
        """Write a new message and return its id. A message to reply to that is gone is no hindrance."""

        async def call(chat_id: int, what: Rendered) -> int:
            reply = None if reply_to is None else ReplyParameters(reply_to, allow_sending_without_reply=True)
            sent = await self._bot.send_message(
                chat_id,
                what.text,
                entities=what.entities,
                message_thread_id=place.thread_id,
                reply_parameters=reply,
                link_preview_options=_NO_PREVIEW,
            )
            return sent.message_id

        return await self._formatted(place, rendered, priority, call)

    async def edit(self, place: Place, message_id: int, rendered: Rendered, priority: Priority) -> None:
        """Replace a message. One that says the same already is a success."""

        async def call(chat_id: int, what: Rendered) -> None:
            await self._bot.edit_message_text(
                what.text,
                chat_id=chat_id,
                message_id=message_id,
                entities=what.entities,
                link_preview_options=_NO_PREVIEW,
            )

        with suppress(_Unchanged):  # an edit that arrived, though we did not hear of it
            await self._formatted(place, rendered, priority, call)

    async def draft(self, place: Place, draft_id: int, rendered: Rendered, priority: Priority) -> None:
        """Show a preview in a private chat, with the server's stop button where it has one (Bot API 10.3)."""

        async def call(chat_id: int, what: Rendered) -> None:
            await self._bot.send_message_draft(
                chat_id,
                draft_id,
                what.text,
                message_thread_id=place.thread_id,
                entities=what.entities,
                api_kwargs={"can_stop": True},
            )

        await self._formatted(place, rendered, priority, call)

    async def typing(self, place: Place) -> None:
        """Show that the bot is at work, for 5 s."""
        await self._call(
            place.chat_id,
            Priority.TYPING,
            lambda chat_id: self._bot.send_chat_action(chat_id, ChatAction.TYPING, message_thread_id=place.thread_id),
        )

    async def _formatted(
        self, place: Place, rendered: Rendered, priority: Priority, call: Callable[[int, Rendered], Awaitable[_Answer]]
    ) -> _Answer:
        """Send with formatting, and without it where the server cannot read it."""
        try:
            return await self._call(place.chat_id, priority, lambda chat_id: call(chat_id, rendered))
        except _Unreadable:
            _LOG.warning("telegram refused the formatting of a message; sent as plain text")
            return await self._call(place.chat_id, priority, lambda chat_id: call(chat_id, rendered.plain))

    async def _call(self, chat_id: int, priority: Priority, request: Callable[[int], Awaitable[_Answer]]) -> _Answer:
        chat_id = self._moved.get(chat_id, chat_id)
        self.pacer.admit(chat_id, priority)
        try:
            answer = await request(chat_id)
        except ChatMigrated as error:  # a group became a supergroup: from now on everything goes there
            self._moved[chat_id] = error.new_chat_id
            return await self._call(chat_id, priority, request)
        except RetryAfter as error:
            wait_s = seconds(error)
            self.pacer.flooded(chat_id, wait_s)
            _LOG.warning("telegram asks to wait", extra={"chat": chat_id, "retry_after_s": wait_s})
            raise SurfaceBusy(wait_s) from None
        except TelegramError as error:
            raise self._ours(error) from None
        self._outages = 0
        return answer

    def _ours(self, error: TelegramError) -> SurfaceError:
        """Return what the failure means to whoever writes."""
        said = error.message.casefold()
        if isinstance(error, Forbidden):
            return SurfaceGone(error.message)
        if isinstance(error, BadRequest):
            return _refused(said)
        # The network, the server, or a token that was just revoked: the update loop finds out which. The text may
        # have arrived; one that may be there twice is better than one that is nowhere.
        if isinstance(error, NetworkError | InvalidToken):
            self._outages += 1
            return SurfaceBusy(min(2.0 ** (self._outages - 1), _LONGEST_OUTAGE_S))
        _LOG.error("telegram refused a call", extra={"error": type(error).__name__})
        return SurfaceGone(type(error).__name__)


def seconds(error: RetryAfter) -> float:
    """Return the wait that a flood error names; the library gives it in one of two forms."""
    wait = error.retry_after
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)


def rejected_token() -> ConfigError:
    """Return what the owner has to mend when Telegram does not know the token."""
    return ConfigError("TELEGRAM_TOKEN", "Telegram does not know this token; ask @BotFather for the one of your bot")


class _Unreadable(SurfaceError):
    """The formatting, not the text, was refused."""


class _Unchanged(SurfaceError):
    """The message says that already."""


def _refused(said: str) -> SurfaceError:
    """Return what a 400 means, from its description in lower case."""
    if "message is not modified" in said:
        return _Unchanged("not modified")
    if any(sign in said for sign in _LOST):
        return MessageLost("the message to edit is gone")
    if any(sign in said for sign in _GONE):
        return SurfaceGone(said)
    if any(sign in said for sign in _UNREADABLE):
        return _Unreadable(said)
    _LOG.error("telegram refused a message", extra={"said": said})  # nothing would be better for trying again
    return SurfaceGone(said)
