"""The Bot API as we use it: each call within its budget, each failure one of `core.errors`.

Only a chat that moved is tried again here: the caller holds the newest text and decides about the rest.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from telegram import Bot, ChatMember, InlineQueryResult, LinkPreviewOptions, Message, ReplyParameters
from telegram.constants import ChatAction
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
)

from adapters.running import REFUSED_S, Backoff, Lately, download, named_on
from adapters.telegram.attachments import PLATFORM, Form, Item, first_form, has_next, prepared, send
from adapters.telegram.failure import MALFORMED, Unchanged, Unreadable, failed, refused, seconds
from adapters.telegram.markup import Rendered
from adapters.telegram.pacer import Pacer, Priority
from adapters.telegram.state import Hearing, Place, State
from core.errors import (
    ChannelBusy,
    ChannelDown,
    ChannelError,
    ChannelForbidden,
    ChannelGone,
    ChannelUnclear,
    FileTooLarge,
    MessageLost,
    StorageError,
)
from core.outgoing import File
from core.text.unicode import one_line

_LOG = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")

_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
_WHOLE = {Priority.FINAL, Priority.ANSWER}
_MOST_HANDED_OUT = 20_000_000
"""Source: core.telegram.org/bots/api#getfile."""
_FETCHED_WITHIN_S = 60.0
TYPING_S = 4.0
"""After this time it is shown again that the bot is typing, before it fades. Source: bots/api#sendchataction, 5 s."""
_MAX_NOTICE_CHARS = 200
"""Source: core.telegram.org/bots/api#answercallbackquery."""
_MOST_PRESSES = 1024


class TelegramApi:
    """Writes through one bot. Raises ChannelError only."""

    def __init__(self, bot: Bot, pacer: Pacer, state: State, *, waiting_reaction: str = "") -> None:
        self._bot = bot
        self._state = state
        self._backoff = Backoff()
        self._in_doubt = False  # a write was not answered as documented: ask who we are before the next one
        self._is_known = False  # that was asked, and the token was good
        self.rejected = asyncio.Event()
        """Set when Telegram no longer knows the token."""
        self._refused: tuple[tuple[File, ...], Form] | None = None  # the files that were last, and the form to try now
        self.hearing = Hearing()
        now_s = pacer.clock.monotonic
        self._markless = Lately[int](now_s, REFUSED_S)  # chats where no message can be marked
        self._aloud = Lately[int](now_s, REFUSED_S)  # chats where nothing can be said to one person alone
        self._whispering = Lately[int](now_s, REFUSED_S)  # chats where it can be
        self._can_whisper = True  # the server knows of such messages, as far as we know
        self._waiting_reaction = waiting_reaction
        self._typed = Lately[Place](now_s, TYPING_S)  # where it was shown that the bot is typing
        self._acknowledged: OrderedDict[str, str] = OrderedDict()  # presses of late, and what was shown
        self.takes_drafts = True
        """Whether the server has a method for drafts, as far as is known."""
        self.pacer = pacer

    async def send(
        self,
        place: Place,
        rendered: Rendered,
        priority: Priority,
        reply_to: int | None = None,
        *,
        silent: bool = False,
    ) -> int:
        """Write a new message and return its id; of a `silent` one nobody is notified.

        If the message to reply to is gone, it is sent without a reply.
        """

        async def call(chat_id: int, what: Rendered) -> int:
            sent = await self._bot.send_message(
                chat_id,
                **_written(what),
                message_thread_id=place.thread_id,
                reply_parameters=_reply(reply_to),
                disable_notification=silent or None,
            )
            self._typed.forget(place)  # a new message ends that sign
            return sent.message_id

        message_id = await self._formatted(place, rendered, priority, call)
        self._wrote(place, message_id, rendered.text if priority in _WHOLE else "", reply_to)
        return message_id

    async def send_files(
        self, place: Place, files: tuple[File, ...], caption: Rendered, priority: Priority, reply_to: int | None = None
    ) -> int:
        """Write a new message that is a file, a place or a contact, or an album of several; return the first one's id.

        What Telegram has is sent by its id; where that, or the kind, is refused, as bytes, and as documents at last.

        Raises:
            ChannelError: it cannot be read, or Telegram takes none of that size.
        """
        form = self._refused[1] if self._refused is not None and self._refused[0] == files else first_form(files)
        while True:
            items = await prepared(files, form)

            async def call(chat_id: int, what: Rendered, items: Sequence[Item] = items) -> int:
                options = {"message_thread_id": place.thread_id, "reply_parameters": _reply(reply_to)}
                return (await send(self._bot, chat_id, items, what, options)).message_id

            try:
                return await self._formatted(place, caption, priority, call)
            except (ChannelBusy, ChannelGone, ChannelForbidden, ChannelUnclear):
                raise
            except ChannelError:
                if not has_next(files, form):
                    raise
                form = Form(form + 1)
                self._refused = files, form  # also if there is no room for another write now

    async def edit(
        self, place: Place, message_id: int, rendered: Rendered, priority: Priority, *, stands: bool = False
    ) -> None:
        """Replace a message and its buttons, or only them where its text `stands`; succeed if it is so already."""

        async def call(chat_id: int, what: Rendered) -> None:
            if stands:
                await self._bot.edit_message_reply_markup(chat_id, message_id, reply_markup=what.keyboard)
                return
            await self._bot.edit_message_text(**_written(what), chat_id=chat_id, message_id=message_id)

        with suppress(Unchanged):  # an edit that arrived, though we did not hear of it
            await self._formatted(place, rendered, priority, call)
        if priority in _WHOLE:
            self._wrote(place, message_id, rendered.text)

    async def can_whisper(self, place: Place) -> bool:
        """Return whether messages that one person alone sees can be written there: where the bot is an administrator.

        What is known of a chat is asked again after ten minutes, and when the bot's rights there change.
        """
        address = self._state.address(place.chat_id)
        if not self._can_whisper or address in self._aloud:
            return False
        if address not in self._whispering:
            if not await self._is_administrator(place):
                return self.whisper_no_more(place)
            self._whispering.note(address)
        return True

    async def _is_administrator(self, place: Place) -> bool:
        """Return whether the bot is an administrator of a chat; False if that is not known."""
        try:
            me = await self._bot.get_chat_member(self._state.address(place.chat_id), self._bot.id)
        except (TelegramError, *MALFORMED) as error:
            _LOG.info("the bot's rights in a chat are not known", extra={"error": type(error).__name__})
            return False
        return me.status == ChatMember.ADMINISTRATOR

    def whisper_no_more(self, place: Place) -> bool:
        """Say everything aloud in that chat for ten minutes; return False."""
        self._aloud.note(self._state.address(place.chat_id))
        return False

    def rights_changed(self, chat_id: int) -> None:
        """Forget what is known of the bot's rights in that chat."""
        for known in (self._aloud, self._whispering):
            known.forget(self._state.address(chat_id))

    async def whisper(
        self, place: Place, rendered: Rendered, priority: Priority, *, to: int, answers: int | None
    ) -> tuple[int, bool]:
        """Write a message that only that person sees; return its id, and whether it is seen by nobody else.

        The ids of such messages are ephemeral ids. `answers` is the ephemeral message that it replies to, which the
        server allows for 15 s; without one, the bot has to be an administrator. A server older than Bot API 10.3 does
        not know the parameter, and writes for all: it is not asked again, so `answers` keeps what has to stay unseen
        from such a server, as it comes with an ephemeral id only from one that knows them.
        """
        extra: dict[str, object] = {"ephemeral_message_parameters": {"receiver_user_id": to}}
        if answers is not None:
            extra["reply_parameters"] = {"ephemeral_message_id": answers}

        async def call(chat_id: int, what: Rendered) -> tuple[int, bool]:
            sent = await self._bot.send_message(
                chat_id, **_written(what), message_thread_id=place.thread_id, api_kwargs=extra
            )
            unseen = ephemeral_id(sent)
            self._can_whisper = self._can_whisper and unseen is not None
            return (sent.message_id, False) if unseen is None else (unseen, True)

        return await self._formatted(place, rendered, priority, call)

    async def edit_whisper(self, place: Place, to: int, ephemeral: int, rendered: Rendered, priority: Priority) -> None:
        """Replace a message that only that person sees, and its buttons."""

        async def call(chat_id: int, what: Rendered) -> None:
            asked = _whispered(chat_id, to, ephemeral) | _written(what)
            given = {name: value for name, value in asked.items() if value is not None}
            await self._bot.do_api_request("editEphemeralMessageText", api_kwargs=given)

        with suppress(Unchanged):
            await self._formatted(place, rendered, priority, call)

    async def remove_whisper(self, place: Place, to: int, ephemeral: int) -> None:
        """Delete a message that only that person sees; do nothing if it is gone."""
        with suppress(MessageLost):
            await self._call(
                place.chat_id,
                Priority.ANSWER,
                lambda chat_id: self._bot.do_api_request(
                    "deleteEphemeralMessage", api_kwargs=_whispered(chat_id, to, ephemeral)
                ),
            )

    async def remove(self, place: Place, message_id: int) -> None:
        """Delete a message; do nothing if it is gone."""
        with suppress(MessageLost):
            await self._call(
                place.chat_id, Priority.ANSWER, lambda chat_id: self._bot.delete_message(chat_id, message_id)
            )
        self.hearing.removed(place, message_id)

    async def may_manage(self, place: Place, person: str) -> bool:
        """Return whether that person is an administrator of a group; who speaks as the group itself is one.

        Raises:
            ChannelError: Telegram does not tell now.
        """
        if person == str(place.chat_id):
            return True
        try:
            member = await self._bot.get_chat_member(self._state.address(place.chat_id), int(person))
        except (TelegramError, *MALFORMED) as error:
            raise self._ours(error) from None
        return member.status in {ChatMember.OWNER, ChatMember.ADMINISTRATOR}

    async def reads_group(self, place: Place) -> bool:
        """Return whether Telegram hands the bot what people say to each other in a group; False if it does not tell.

        Source: core.telegram.org/bots/features#privacy-mode.
        """
        return self._bot.can_read_all_group_messages or await self._is_administrator(place)

    async def draft(self, place: Place, draft_id: int, rendered: Rendered, priority: Priority) -> None:
        """Show a preview in a private chat, with the server's stop button where it has one (Bot API 10.3)."""

        async def call(chat_id: int, what: Rendered) -> None:
            try:
                await self._bot.send_message_draft(
                    chat_id,
                    draft_id,
                    what.text,
                    message_thread_id=place.thread_id,
                    entities=what.entities or None,
                    api_kwargs={"can_stop": True},
                )
            except InvalidToken as error:  # the library's error for 401 and 404; a token that is no more gets 401
                if "not found" not in error.message.casefold():
                    raise
                _LOG.warning("this Bot API server has no drafts: answers grow by edits")
                self.takes_drafts = False
                raise ChannelError("not a method of that server") from None

        await self._formatted(place, rendered, priority, call)

    async def typing(self, place: Place) -> None:
        """Show that the bot is at work, for 5 s; for several answers in one place only once."""
        if place in self._typed:
            return
        self._typed.note(place)
        try:
            await self._call(
                place.chat_id,
                Priority.TYPING,
                lambda chat_id: self._bot.send_chat_action(
                    chat_id, ChatAction.TYPING, message_thread_id=place.thread_id
                ),
            )
        except ChannelError:
            self._typed.forget(place)
            raise

    async def knock(self, place: Place) -> None:
        """Find out whether a chat can be written to, by a sign that fades. It takes no budget.

        Raises:
            ChannelBusy: its server does not answer.
        """
        address = self._state.address(place.chat_id)
        try:
            await self._bot.send_chat_action(address, ChatAction.TYPING, message_thread_id=place.thread_id)
        except RetryAfter as error:
            raise ChannelBusy(seconds(error)) from None
        except NetworkError as error:
            if not isinstance(error, BadRequest):  # else the message itself is refused, too
                raise ChannelDown(self._backoff.next_s()) from None
        except (TelegramError, *MALFORMED) as error:
            _LOG.info("a chat gave no sign", extra={"error": type(error).__name__})

    async def mark_seen(self, place: Place, message_id: int, *, waits: bool = True) -> None:
        """React to a message that `waits`, or take that back, which takes nothing from the chat's budget.

        A chat that refuses the reaction (its admins choose which are allowed) is left alone for ten minutes.
        """
        address = self._state.address(place.chat_id)
        if not self._waiting_reaction or address in self._markless:
            return
        await self.pacer.admit_aside()
        try:
            await self._bot.set_message_reaction(address, message_id, self._waiting_reaction if waits else None)
        except TelegramError as error:
            _LOG.info("a message was not marked as seen", extra={"error": type(error).__name__})
            if waits or isinstance(error, RetryAfter):
                self._markless.note(address, seconds(error) if isinstance(error, RetryAfter) else None)

    async def acknowledge(self, query_id: str, notice: str = "") -> bool:
        """Tell the client that a press was received, with a notice to show for a moment; return whether that was shown.

        It takes no budget, and is done once for each press. Failures are logged only: the press counts in any case.
        """
        if query_id in self._acknowledged:
            return self._acknowledged[query_id] == notice
        try:
            await self._bot.answer_callback_query(query_id, text=one_line(notice, _MAX_NOTICE_CHARS) or None)
        except (TelegramError, *MALFORMED) as error:
            _LOG.info("a press was not acknowledged", extra={"error": type(error).__name__})
            return False
        self._acknowledged[query_id] = notice
        if len(self._acknowledged) > _MOST_PRESSES:
            self._acknowledged.popitem(last=False)
        return True

    async def offer(self, query_id: str, results: Sequence[InlineQueryResult]) -> None:
        """Answer an inline query, for that person alone and not to be kept by the server. It takes no budget.

        Failures are logged only: the next letter asks again.
        """
        try:
            await self._bot.answer_inline_query(query_id, results, cache_time=0, is_personal=True)
        except (TelegramError, *MALFORMED) as error:
            _LOG.info("an inline query was not answered", extra={"error": type(error).__name__})

    async def fetch(self, handle: str, max_bytes: int, into: BinaryIO) -> None:
        """Write what came with a message into a file; the server itself hands out 20 MB at most.

        Raises:
            FileTooLarge: it is larger than that.
            ChannelError: it cannot be fetched.
        """
        if not (file_id := named_on(PLATFORM, handle)):
            raise ChannelError("a file of another platform")
        try:
            async with asyncio.timeout(_FETCHED_WITHIN_S):
                file = await self._bot.get_file(file_id)
                if (file.file_size or 0) > max_bytes:
                    raise FileTooLarge(f"more than {max_bytes} bytes", max_bytes)
                if not file.file_path:
                    raise ChannelError("the file is not there any more")
                if file.file_path.startswith("/"):  # a server of one's own, with --local, tells where it lies
                    await asyncio.to_thread(_copy, Path(file.file_path), into)
                else:
                    await download(file.file_path, max_bytes, into)
        except (TelegramError, OSError, TimeoutError, *MALFORMED) as error:
            if "file is too big" in str(error).casefold():
                raise FileTooLarge("more than the server hands out", _MOST_HANDED_OUT, of_platform=True) from None
            raise ChannelError(f"the file cannot be fetched ({type(error).__name__})") from None

    def _wrote(self, place: Place, message_id: int, text: str, reply_to: int | None = None) -> None:
        if place.is_group:
            self.hearing.wrote(place, message_id, text, reply_to)

    async def _formatted(
        self, place: Place, rendered: Rendered, priority: Priority, call: Callable[[int, Rendered], Awaitable[_Answer]]
    ) -> _Answer:
        """Send with formatting, or without it if the server refuses the formatting."""
        try:
            return await self._call(place.chat_id, priority, lambda chat_id: call(chat_id, rendered))
        except Unreadable:
            _LOG.warning("telegram refused the formatting of a message; sent as plain text")
            return await self._call(place.chat_id, priority, lambda chat_id: call(chat_id, rendered.plain))

    async def _call(self, chat_id: int, priority: Priority, request: Callable[[int], Awaitable[_Answer]]) -> _Answer:
        address = self._state.address(chat_id)
        await self.pacer.admit(address, priority)
        if self._in_doubt:
            await self._ask_who_we_are()
        try:
            answer = await request(address)
        except ChatMigrated as error:  # a group became a supergroup: from now on everything goes there
            try:
                await self._state.moved(chat_id, error.new_chat_id)
            except StorageError as failure:  # the next write there learns it again
                _LOG.warning("a group's move was not recorded", extra={"error": type(failure).__name__})
            return await self._call(chat_id, priority, request)
        except RetryAfter as error:
            wait_s = seconds(error)
            self.pacer.flooded(address, wait_s)
            _LOG.warning("telegram asks to wait", extra={"chat": address, "retry_after_s": wait_s})
            raise ChannelBusy(wait_s) from None
        except (TelegramError, *MALFORMED) as error:
            raise self._ours(error) from None
        if priority is not Priority.TYPING:  # that goes where no message does
            self._backoff.reset()
        return answer

    def _ours(self, error: Exception) -> ChannelError:
        """Return the failure as one of `core.errors`."""
        if isinstance(error, Forbidden):
            return ChannelGone(error.message)
        if isinstance(error, BadRequest | Conflict):
            return refused(error.message.casefold())
        if isinstance(error, InvalidToken):
            # The token was just revoked, or this is no method of that server's: asking who we are tells which.
            self._in_doubt, self._is_known, known = not self._is_known, False, self._is_known
            return ChannelError("not a method of that server") if known else ChannelBusy(self._backoff.next_s())
        ours = failed(error, self._backoff.next_s())
        if isinstance(ours, ChannelUnclear):
            _LOG.warning("telegram gave no clear answer", extra={"error": type(error).__name__})
            self._in_doubt = True
        return ours

    async def _ask_who_we_are(self) -> None:
        """Find out whether Telegram answers before a write is repeated that may have succeeded.

        Raises:
            ChannelBusy: it does not.
        """
        try:
            await self._bot.get_me()
        except (TelegramError, *MALFORMED) as error:
            if isinstance(error, InvalidToken):
                self.rejected.set()
            raise ChannelBusy(self._backoff.next_s()) from None
        self._in_doubt, self._is_known = False, True


def ephemeral_id(message: Message) -> int | None:
    """Return the id of a message that one person alone sees; None for any other message."""
    found = message.api_kwargs.get("ephemeral_message_id")
    return found if isinstance(found, int) else None


def _whispered(chat_id: int, to: int, ephemeral: int) -> dict[str, object]:
    return {"chat_id": chat_id, "receiver_user_id": to, "ephemeral_message_id": ephemeral}


def _written(what: Rendered) -> dict[str, Any]:
    """Return the arguments of a message, as the library takes them: its text, its form, and what stands below."""
    return {
        "text": what.text,
        "entities": what.entities or None,
        "reply_markup": what.keyboard,
        "link_preview_options": _NO_PREVIEW,
    }


def _reply(reply_to: int | None) -> ReplyParameters | None:
    return None if reply_to is None else ReplyParameters(reply_to, allow_sending_without_reply=True)


def _copy(path: Path, into: BinaryIO) -> None:
    with path.open("rb") as file:
        shutil.copyfileobj(file, into)
