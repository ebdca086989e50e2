"""A private chat whose answers grow in a draft: the preview that Telegram animates, until the message itself comes.

Knows when a draft stands for a message and when it has to become one. A draft lives for 30 s, is nobody's copy of
anything, and has no id; what stays is always a message. Source: core.telegram.org/bots/api#sendmessagedraft.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from telegram import InlineKeyboardMarkup
from telegramify_markdown.config import RenderConfig

from adapters.telegram.api import Place, TelegramApi
from adapters.telegram.channel import TelegramChannel
from adapters.telegram.markup import Rendered
from adapters.telegram.pacer import Priority
from core.errors import ChannelBusy, ChannelError
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Clock

_REFRESH_S = 20.0


class DraftChannel(TelegramChannel):
    """Shows what may still change as a draft, where that is `wanted`: asked once, when there is something to show.

    One that is refused becomes a message with edits, for that message only.
    """

    def __init__(
        self,
        api: TelegramApi,
        place: Place,
        style: RenderConfig,
        clock: Clock,
        *,
        draft_id: int,
        asked: int | None = None,
        wanted: Callable[[], Awaitable[bool]] | None = None,
        whole: Priority = Priority.FINAL,
        stop: Callable[[], InlineKeyboardMarkup | None] | None = None,
    ) -> None:
        super().__init__(api, place, style, asked=asked, whole=whole, stop=stop)
        self._clock = clock
        self._draft_id = draft_id
        self._ask = wanted
        self._wanted = wanted is None
        self._shown: Rendered | None = None
        self._shown_s = 0.0

    @property
    def limits(self) -> ChannelLimits:
        """What one post holds, and how often the chat bears an edit; a draft fades by itself."""
        return replace(super().limits, previews=self._wanted or self._ask is not None)

    async def post(self, shown: OutgoingMessage) -> str:
        """Show a draft, or write the message if the text is whole."""
        if not shown.stays and await self._draft(shown):
            return ""
        self._shown = None
        return await super().post(shown)

    async def refresh(self) -> None:
        """Show the draft again before it fades."""
        if self._shown is None:
            await super().refresh()
        elif self._clock.monotonic() - self._shown_s >= _REFRESH_S:
            await self._show(self._shown, Priority.EDIT)

    async def _draft(self, shown: OutgoingMessage) -> bool:
        """Show it as a draft; False if nobody wants that, or this chat or server does not take drafts."""
        if self._ask is not None:
            self._wanted, self._ask = await self._ask(), None
        if not self._wanted:
            return False
        rendered = await self._drawn(shown)
        if rendered == self._shown:
            return True
        try:
            await self._show(rendered, self._rank(shown))
        except ChannelBusy:
            raise
        except ChannelError:  # if the chat itself is gone, the message will tell
            return False
        return True

    async def _show(self, rendered: Rendered, rank: Priority) -> None:
        await self._api.draft(self._place, self._draft_id, rendered, rank)
        self._shown, self._shown_s = rendered, self._clock.monotonic()
