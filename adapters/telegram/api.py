"""The Bot API as we use it: a few ways to write into a chat, each within its budget, each failure one of ours.

Knows python-telegram-bot's calls. Does not know what is said, nor when it is worth saying. Nothing is tried again here
but what moved elsewhere: whoever holds the newest text decides about that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from telegram import Bot, LinkPreviewOptions, ReplyParameters
from telegram.constants import ChatAction
from telegram.error import BadRequest, ChatMigrated, Forbidden, InvalidToken, NetworkError, RetryAfter, TelegramError

from adapters.telegram.failure import (
    NoPicture,
    Unchanged,
    Unconfirmed,
    Unreadable,
    may_have_arrived,
    refused,
    seconds,
)
from adapters.telegram.markup import Rendered
from adapters.telegram.pacer import Pacer, Priority
from adapters.telegram.state import State
from core.errors import FileTooLarge, SurfaceBusy, SurfaceError, SurfaceGone
from core.screen import File

_LOG = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")

_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
_LONGEST_OUTAGE_S = 30.0
_MAX_FILE_BYTES = 50_000_000
_MAX_PICTURE_BYTES = 10_000_000
"""What a bot may send. Source: core.telegram.org/bots/faq#how-do-i-upload-a-large-file, bots/api#sendphoto."""
_PICTURES = frozenset({"image/png", "image/jpeg", "image/webp"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where to write: a chat, and the topic in it if it has topics."""

    chat_id: int
    thread_id: int | None = None


class TelegramApi:
    """Writes through one bot. Raises SurfaceError only."""

    def __init__(self, bot: Bot, pacer: Pacer, state: State | None = None) -> None:
        self._bot = bot
        self._state = state or State()
        self._outages = 0
        self.pacer = pacer

    async def send(self, place: Place, rendered: Rendered, priority: Priority, reply_to: int | None = None) -> int:
        """Write a new message and return its id. A message to reply to that is gone is no hindrance."""

        async def call(chat_id: int, what: Rendered) -> int:
            sent = await self._bot.send_message(
                chat_id,
                what.text,
                entities=what.entities,
                message_thread_id=place.thread_id,
                reply_parameters=_reply(reply_to),
                reply_markup=what.keyboard,
                link_preview_options=_NO_PREVIEW,
            )
            return sent.message_id

        return await self._formatted(place, rendered, priority, call)

    async def send_file(
        self, place: Place, file: File, caption: Rendered, priority: Priority, reply_to: int | None = None
    ) -> int:
        """Write a new message that is a file, a picture where it can be shown as one, and return its id.

        Raises:
            SurfaceError: it cannot be read, or Telegram takes none of that size.
        """
        content = await _content(file)
        pictured = file.media_type in _PICTURES and len(content) <= _MAX_PICTURE_BYTES

        async def call(chat_id: int, what: Rendered) -> int:
            send = self._bot.send_photo if pictured else self._bot.send_document
            sent = await send(
                chat_id,
                content,
                filename=file.name,
                caption=what.text or None,
                caption_entities=what.entities,
                message_thread_id=place.thread_id,
                reply_parameters=_reply(reply_to),
                reply_markup=what.keyboard,
            )
            return sent.message_id

        try:
            return await self._formatted(place, caption, priority, call)
        except NoPicture:
            pictured = False
            return await self._formatted(place, caption, priority, call)

    async def edit(self, place: Place, message_id: int, rendered: Rendered, priority: Priority) -> None:
        """Replace a message, buttons included. One that says the same already is a success."""

        async def call(chat_id: int, what: Rendered) -> None:
            await self._bot.edit_message_text(
                what.text,
                chat_id=chat_id,
                message_id=message_id,
                entities=what.entities,
                reply_markup=what.keyboard,
                link_preview_options=_NO_PREVIEW,
            )

        with suppress(Unchanged):  # an edit that arrived, though we did not hear of it
            await self._formatted(place, rendered, priority, call)

    async def delete(self, place: Place, message_id: int, priority: Priority) -> None:
        """Take a message away.

        Raises:
            MessageLost: it is gone, or too old for that.
        """
        await self._call(place.chat_id, priority, lambda chat_id: self._bot.delete_message(chat_id, message_id))

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

    async def acknowledge(self, query_id: str, notice: str = "") -> None:
        """Tell the client of whoever pressed a button that it was heard, with a notice to show for a moment.

        That costs no budget. A press that is too old to be told about is a press all the same.
        """
        try:
            await self._bot.answer_callback_query(query_id, text=notice or None)
        except TelegramError as error:
            _LOG.info("a press was not acknowledged", extra={"error": type(error).__name__})

    async def fetch(self, file_id: str, max_bytes: int) -> bytes:
        """Return what is in a file that came with a message; the server itself hands out 20 MB at most.

        Raises:
            FileTooLarge: it is larger than that.
            SurfaceError: it cannot be had.
        """
        try:
            file = await self._bot.get_file(file_id)
            if (file.file_size or 0) > max_bytes:
                raise FileTooLarge(f"more than {max_bytes} bytes")
            content = bytes(await file.download_as_bytearray()) if file.file_path else None
        except TelegramError as error:
            if "file is too big" in error.message.casefold():
                raise FileTooLarge("more than the server hands out") from None
            raise SurfaceError(f"the file cannot be had ({type(error).__name__})") from None
        if content is None:
            raise SurfaceError("the file is not there any more")
        if len(content) > max_bytes:
            raise FileTooLarge(f"more than {max_bytes} bytes")
        return content

    async def _formatted(
        self, place: Place, rendered: Rendered, priority: Priority, call: Callable[[int, Rendered], Awaitable[_Answer]]
    ) -> _Answer:
        """Send with formatting, and without it where the server cannot read it."""
        try:
            return await self._call(place.chat_id, priority, lambda chat_id: call(chat_id, rendered))
        except Unreadable:
            _LOG.warning("telegram refused the formatting of a message; sent as plain text")
            return await self._call(place.chat_id, priority, lambda chat_id: call(chat_id, rendered.plain))

    async def _call(self, chat_id: int, priority: Priority, request: Callable[[int], Awaitable[_Answer]]) -> _Answer:
        address = self._state.address(chat_id)
        self.pacer.admit(address, priority)
        try:
            answer = await request(address)
        except ChatMigrated as error:  # a group became a supergroup: from now on everything goes there
            self._state.moved(chat_id, error.new_chat_id)
            return await self._call(chat_id, priority, request)
        except RetryAfter as error:
            wait_s = seconds(error)
            self.pacer.flooded(address, wait_s)
            _LOG.warning("telegram asks to wait", extra={"chat": address, "retry_after_s": wait_s})
            raise SurfaceBusy(wait_s) from None
        except TelegramError as error:
            raise self._ours(error) from None
        self._outages = 0
        return answer

    def _ours(self, error: TelegramError) -> SurfaceError:
        """Return what the failure means to whoever writes."""
        if isinstance(error, Forbidden):
            return SurfaceGone(error.message)
        if isinstance(error, BadRequest):
            return refused(error.message.casefold())
        # The network, the server, or a token that was just revoked: the update loop finds out which.
        if isinstance(error, NetworkError | InvalidToken):
            self._outages += 1
            wait_s = min(2.0 ** (self._outages - 1), _LONGEST_OUTAGE_S)
            in_doubt = isinstance(error, NetworkError) and may_have_arrived(error)
            return Unconfirmed(wait_s) if in_doubt else SurfaceBusy(wait_s)
        _LOG.error("telegram refused a call", extra={"error": type(error).__name__})
        return SurfaceGone(type(error).__name__)


def _reply(reply_to: int | None) -> ReplyParameters | None:
    return None if reply_to is None else ReplyParameters(reply_to, allow_sending_without_reply=True)


async def _content(file: File) -> bytes:
    """Read a file that is to be handed over, if Telegram takes one of that size."""
    try:
        size = (await asyncio.to_thread(file.path.stat)).st_size
        if size > _MAX_FILE_BYTES:
            limit = f"{_MAX_FILE_BYTES // 1_000_000} MB"
            raise SurfaceError(f"a file of {size / 1e6:.0f} MB is more than Telegram takes from a bot ({limit})")
        return await asyncio.to_thread(file.path.read_bytes)
    except OSError as error:
        raise SurfaceError(f"the file to hand over cannot be read ({error.strerror})") from None
