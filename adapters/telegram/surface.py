"""One Telegram chat to write into, for one answer.

Knows what rank a write has, which message answers which, and what stands there already. Does not know when to write,
nor where to cut: that is `core/delivery`'s.
"""

from __future__ import annotations

from telegramify_markdown.config import RenderConfig

from adapters.telegram.api import MessageLost, Place, TelegramApi
from adapters.telegram.markup import MAX_UNITS, Rendered, draw, render
from adapters.telegram.pacer import Priority
from core.ports import Surface
from core.screen import Shown, SurfaceLimits
from core.types import Modal


class TelegramSurface(Surface):
    """Posts and edits in one chat.

    `reply_to` is the message that the first post hangs on, if any; `whole` is the rank of text that will not change:
    that of an answer, or of a command's.
    """

    def __init__(
        self,
        api: TelegramApi,
        place: Place,
        style: RenderConfig,
        *,
        reply_to: int | None = None,
        whole: Priority = Priority.FINAL,
    ) -> None:
        self._api = api
        self._place = place
        self._style = style
        self._reply_to = reply_to
        self._whole = whole
        self._measured: tuple[str, Rendered] = ("", Rendered(""))
        self._ids: dict[str, int] = {}
        self._written: dict[str, Rendered] = {}
        self._thinking = True

    @property
    def limits(self) -> SurfaceLimits:
        """What one post holds in UTF-16 units, and how often the chat bears an edit."""
        return SurfaceLimits(MAX_UNITS, self._api.pacer.pace(self._place.chat_id).edit_interval_s)

    def measure(self, text: str) -> int:
        """Return the UTF-16 units of the text after formatting; more than `max_chars` if it has too many entities."""
        return self._render(text).size

    async def post(self, shown: Shown) -> str:
        """Write a new message; the first one replies to what it answers."""
        rendered = self._draw(shown)
        rank = self._whole if stays(shown) else Priority.STATUS
        message_id = await self._api.send(self._place, rendered, rank, self._reply_to)
        self._reply_to = None
        self._saw(shown)
        handle = str(message_id)
        self._ids[handle], self._written[handle] = message_id, rendered
        return handle

    async def edit(self, handle: str, shown: Shown) -> None:
        """Replace a message in place. One that was deleted meanwhile is written anew once its text is whole."""
        rendered = self._draw(shown)
        if rendered == self._written[handle]:
            return
        try:
            await self._api.edit(self._place, self._ids[handle], rendered, self._rank(shown))
        except MessageLost:
            if not stays(shown):
                return
            self._ids[handle] = await self._api.send(self._place, rendered, self._whole)
        self._written[handle] = rendered
        self._saw(shown)

    async def refresh(self) -> None:
        """Show that the bot is at work, as long as nothing but a status says so."""
        if self._thinking:
            await self._api.typing(self._place)

    def _saw(self, shown: Shown) -> None:
        self._thinking = shown.modal is Modal.TEXT_FOR_REPLACE

    def _rank(self, shown: Shown) -> Priority:
        if stays(shown):
            return self._whole
        return Priority.STATUS if shown.modal is Modal.TEXT_FOR_REPLACE else Priority.EDIT

    def _render(self, text: str) -> Rendered:
        if self._measured[0] != text:  # a text is measured right before it is written
            self._measured = (text, render(text, self._style))
        return self._measured[1]

    def _draw(self, shown: Shown) -> Rendered:
        return draw(shown, self._render(shown.text))


def stays(shown: Shown) -> bool:
    """Whether the text is whole, and not to be replaced by the next message."""
    return shown.final and shown.modal is not Modal.TEXT_FOR_REPLACE
