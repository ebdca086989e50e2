"""Messages in a group that only one person sees (ephemeral messages, Bot API 10.2), where the server allows them.

A command that was given unseen is answered unseen or not there at all. Anything else that is of no use to others is
whispered where the bot is an administrator, and said aloud elsewhere.
Source: core.telegram.org/bots/api#ephemeral-messages-and-commands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from telegram import InlineKeyboardMarkup
from telegramify_markdown.config import RenderConfig

from adapters.telegram.api import Place, TelegramApi
from adapters.telegram.channel import TelegramChannel
from adapters.telegram.markup import Rendered
from adapters.telegram.pacer import Priority
from core.errors import ChannelBusy, ChannelError, ChannelGone, ChannelUnclear
from core.outgoing import ChannelLimits, OutgoingMessage
from core.types import Modal

_UNSEEN = "e"
"""Begins the handle of an ephemeral message, whose ids are none of the chat's."""

_MAX_EDIT_UNITS = 1024
"""What an edit of one holds: it is measured like a caption. Source: github.com/tdlib/telegram-bot-api/issues/881."""


class WhisperChannel(TelegramChannel):
    """A chat in which some messages are for the person `to` alone: what is marked as unseen or, with `always`, all.

    `command` is the ephemeral message that is answered, if there is one: then nothing is ever said aloud.
    """

    def __init__(
        self,
        api: TelegramApi,
        place: Place,
        style: RenderConfig,
        *,
        to: int,
        command: int | None = None,
        replaces_unseen: int | None = None,
        always: bool = False,
        reply_to: int | None = None,
        asked: int | None = None,
        whole: Priority = Priority.FINAL,
        stop: Callable[[], InlineKeyboardMarkup | None] | None = None,
        moved: bool = False,
        press: str = "",
        stopped: int | None = None,
    ) -> None:
        super().__init__(
            api,
            place,
            style,
            reply_to=reply_to,
            asked=asked,
            asker=str(to),
            whole=whole,
            stop=stop,
            moved=moved,
            press=press,
            stopped=stopped,
        )
        self._to = to
        self._command = command
        self._replaces_unseen = replaces_unseen
        self._always = always or command is not None
        self._unseen: dict[str, Rendered] = {}

    @property
    def limits(self) -> ChannelLimits:
        """What one post holds; nobody else is shown that the bot works on what only the person sees."""
        limits = super().limits
        return replace(limits, typing_s=0.0, notifies=False) if self._always else limits

    async def post(self, shown: OutgoingMessage) -> str:
        """Write a new message, whispered if it is for the person alone and the chat allows it.

        Raises:
            ChannelError: also where nothing may be said aloud and the whisper was refused.
        """
        if await self._noticed(shown):
            return ""
        return await (self._whisper(shown) if self._always or shown.unseen else super().post(shown))

    async def _whisper(self, shown: OutgoingMessage) -> str:
        if self._command is None and (shown.files or not await self._api.can_whisper(self._place)):
            return await super().post(shown)
        if shown.files:
            raise ChannelError("a file is not handed over unseen")
        rendered = await self._drawn(shown)
        if self._replaces_unseen is not None and rendered.size <= _MAX_EDIT_UNITS:
            handle = f"{_UNSEEN}{self._replaces_unseen}"
            await self._api.edit_whisper(self._place, self._to, self._replaces_unseen, rendered, self._rank(shown))
            return self._keep_unseen(handle, rendered)
        try:
            what = rendered.again if self._doubtful or shown.again else rendered
            whispering = partial(self._api.whisper, to=self._to, answers=self._command)
            written, unseen = await self._once(
                lambda: whispering(self._place, what, self._rank(shown)),
                passing=shown.modal is Modal.TEXT_FOR_REPLACE,
            )
            self._doubtful = False
        except (ChannelBusy, ChannelGone, ChannelUnclear):
            raise
        except ChannelError:
            if self._command is not None:
                raise
            self._api.whisper_no_more(self._place)
            return await super().post(shown)
        if not unseen:  # an older server knows of no whispers: the message is one like any other
            return self._adopted(written, what)
        return self._keep_unseen(f"{_UNSEEN}{written}", what)

    async def edit(self, handle: str, shown: OutgoingMessage) -> str | None:
        """Replace a message in place; a whisper that grew too long by a new one, whose handle is returned."""
        if not handle.startswith(_UNSEEN):
            return await super().edit(handle, shown)
        rendered = await self._drawn(shown)
        if rendered == self._unseen.get(handle):
            return None
        if rendered.size > _MAX_EDIT_UNITS:
            self._replaces_unseen = None
            new = await self.post(shown)
            await self.remove(handle)
            return new
        await self._api.edit_whisper(self._place, self._to, _id(handle), rendered, self._rank(shown))
        self._keep_unseen(handle, rendered)
        return None

    async def remove(self, handle: str) -> None:
        """Delete a message."""
        if not handle.startswith(_UNSEEN):
            await super().remove(handle)
            return
        self._unseen.pop(handle, None)
        await self._api.remove_whisper(self._place, self._to, _id(handle))

    def adopt(self, handles: Sequence[str]) -> Sequence[str]:
        """Go on with what an earlier process posted."""
        known = {*super().adopt([handle for handle in handles if not handle.startswith(_UNSEEN)])}
        return [handle for handle in handles if handle in known or handle.startswith(_UNSEEN)]

    def _keep_unseen(self, handle: str, rendered: Rendered) -> str:
        self._replaces_unseen = None
        self._unseen[handle] = rendered
        return handle


def _id(handle: str) -> int:
    return int(handle.removeprefix(_UNSEEN))
