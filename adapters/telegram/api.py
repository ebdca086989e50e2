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
from telegram.constants import ChatAction, ReactionEmoji
from telegram.error import BadRequest, ChatMigrated, Conflict, Forbidden, InvalidToken, RetryAfter, TelegramError

from adapters.telegram.failure import MALFORMED, NoPicture, Unchanged, Unreadable, failed, refused, seconds
from adapters.telegram.markup import Rendered
from adapters.telegram.pacer import Pacer, Priority
from adapters.telegram.state import State
from core.errors import ChannelBusy, ChannelError, ChannelGone, ChannelUnclear, FileTooLarge, MessageLost
from core.outgoing import File

_LOG = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")

_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
_LONGEST_OUTAGE_S = 30.0
_MAX_FILE_BYTES = 50_000_000
_MAX_PICTURE_BYTES = 10_000_000
"""What a bot may send. Source: core.telegram.org/bots/faq#how-do-i-upload-a-large-file, bots/api#sendphoto."""
_MARKLESS_S = 600.0
_MAX_MARKLESS = 1024
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
        self._in_doubt = False  # a write was not answered as it should be: is anybody there?
        self._is_known = False  # our token was good after that
        self.rejected = asyncio.Event()
        """Set when Telegram does not know the token any more."""
        self._markless: dict[int, float] = {}  # chats where no message can be marked, and until when
        self.pacer = pacer

    async def send(self, place: Place, rendered: Rendered, priority: Priority, reply_to: int | None = None) -> int:
        """Write a new message and return its id. A message to reply to that is gone is no hindrance."""

        async def call(chat_id: int, what: Rendered) -> int:
            sent = await self._bot.send_message(
                chat_id,
                what.text,
                entities=what.entities or None,
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
                caption_entities=what.entities or None,
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
                entities=what.entities or None,
                reply_markup=what.keyboard,
                link_preview_options=_NO_PREVIEW,
            )

        with suppress(Unchanged):  # an edit that arrived, though we did not hear of it
            await self._formatted(place, rendered, priority, call)

    async def remove(self, place: Place, message_id: int) -> None:
        """Take a message away. One that is gone already is fine."""
        with suppress(MessageLost):
            await self._call(
                place.chat_id, Priority.ANSWER, lambda chat_id: self._bot.delete_message(chat_id, message_id)
            )

    async def draft(self, place: Place, draft_id: int, rendered: Rendered, priority: Priority) -> None:
        """Show a preview in a private chat, with the server's stop button where it has one (Bot API 10.3)."""

        async def call(chat_id: int, what: Rendered) -> None:
            await self._bot.send_message_draft(
                chat_id,
                draft_id,
                what.text,
                message_thread_id=place.thread_id,
                entities=what.entities or None,
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

    async def mark_seen(self, place: Place, message_id: int) -> None:
        """Put a pair of eyes on a message. It is no message, so it costs nothing of what the chat bears.

        A chat that takes no such mark (its admins choose which), or too many of them, is left alone for a while.
        """
        address, now_s = self._state.address(place.chat_id), self.pacer.now_s
        if self._markless.get(address, 0.0) > now_s:
            return
        await self.pacer.admit_aside()
        try:
            await self._bot.set_message_reaction(address, message_id, ReactionEmoji.EYES)
        except TelegramError as error:
            _LOG.info("a message was not marked as seen", extra={"error": type(error).__name__})
            if len(self._markless) >= _MAX_MARKLESS:
                self._markless.clear()
            wait_s = seconds(error) if isinstance(error, RetryAfter) else _MARKLESS_S
            self._markless[address] = now_s + wait_s

    async def acknowledge(self, query_id: str, notice: str = "") -> None:
        """Tell the client of whoever pressed a button that it was heard, with a notice to show for a moment.

        That costs no budget. A press that is too old to be told about is a press all the same.
        """
        try:
            await self._bot.answer_callback_query(query_id, text=notice or None)
        except (TelegramError, *MALFORMED) as error:
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
        except (TelegramError, *MALFORMED) as error:
            if "file is too big" in str(error).casefold():
                raise FileTooLarge("more than the server hands out") from None
            raise ChannelError(f"the file cannot be had ({type(error).__name__})") from None
        if content is None:
            raise ChannelError("the file is not there any more")
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
        if self._in_doubt:
            await self._ask_who_we_are()
        try:
            answer = await request(address)
        except ChatMigrated as error:  # a group became a supergroup: from now on everything goes there
            self._state.moved(chat_id, error.new_chat_id)
            return await self._call(chat_id, priority, request)
        except RetryAfter as error:
            wait_s = seconds(error)
            self.pacer.flooded(address, wait_s)
            _LOG.warning("telegram asks to wait", extra={"chat": address, "retry_after_s": wait_s})
            raise ChannelBusy(wait_s) from None
        except (TelegramError, *MALFORMED) as error:
            raise self._ours(error) from None
        if priority is not Priority.TYPING:  # that goes where no message does
            self._outages = 0
        return answer

    def _ours(self, error: Exception) -> ChannelError:
        """Return what the failure means to whoever writes."""
        if isinstance(error, Forbidden):
            return ChannelGone(error.message)
        if isinstance(error, BadRequest | Conflict):
            return refused(error.message.casefold())
        if isinstance(error, InvalidToken):
            # The token was just revoked, or this is no method of that server's: asking who we are tells which.
            self._in_doubt, self._is_known, known = not self._is_known, False, self._is_known
            return ChannelError("not a method of that server") if known else ChannelBusy(self._wait_s())
        ours = failed(error, self._wait_s())
        if isinstance(ours, ChannelUnclear):
            _LOG.warning("telegram gave no clear answer", extra={"error": type(error).__name__})
            self._in_doubt = True
        return ours

    async def _ask_who_we_are(self) -> None:
        """Find out whether Telegram answers at all before a write is repeated that it may have done.

        Raises:
            SurfaceBusy: it does not.
        """
        try:
            await self._bot.get_me()
        except (TelegramError, *MALFORMED) as error:
            if isinstance(error, InvalidToken):
                self.rejected.set()
            raise ChannelBusy(self._wait_s()) from None
        self._in_doubt, self._is_known = False, True

    def _wait_s(self) -> float:
        self._outages += 1
        return min(2.0 ** (self._outages - 1), _LONGEST_OUTAGE_S)


def _reply(reply_to: int | None) -> ReplyParameters | None:
    return None if reply_to is None else ReplyParameters(reply_to, allow_sending_without_reply=True)


async def _content(file: File) -> bytes:
    """Read a file that is to be handed over, if Telegram takes one of that size."""
    try:
        size = (await asyncio.to_thread(file.path.stat)).st_size
        if size > _MAX_FILE_BYTES:
            limit = f"{_MAX_FILE_BYTES // 1_000_000} MB"
            raise ChannelError(f"a file of {size / 1e6:.0f} MB is more than Telegram takes from a bot ({limit})")
        return await asyncio.to_thread(file.path.read_bytes)
    except OSError as error:
        raise ChannelError(f"the file to hand over cannot be read ({error.strerror})") from None
