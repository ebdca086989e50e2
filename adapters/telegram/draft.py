"""A private chat whose answers grow in a draft: the preview that Telegram animates, until the message itself comes.

Knows when a draft stands for a message and when it has to become one. A draft lives for 30 s, is nobody's copy of
anything, and has no id; what stays is always a message. Source: core.telegram.org/bots/api#sendmessagedraft.
"""

from __future__ import annotations

from telegramify_markdown.config import RenderConfig

from adapters.telegram.api import Place, TelegramApi
from adapters.telegram.markup import Rendered
from adapters.telegram.pacer import Priority
from adapters.telegram.surface import TelegramSurface, stays
from core.errors import SurfaceGone
from core.ports import Clock
from core.screen import Shown

_REFRESH_S = 20.0
_DRAFT = "draft"


class DraftSurface(TelegramSurface):
    """Shows what may still change as a draft. One that is refused becomes a message with edits, for that message."""

    def __init__(
        self,
        api: TelegramApi,
        place: Place,
        style: RenderConfig,
        clock: Clock,
        *,
        draft_id: int,
        whole: Priority = Priority.FINAL,
    ) -> None:
        super().__init__(api, place, style, whole=whole)
        self._clock = clock
        self._draft_id = draft_id
        self._shown: Rendered | None = None
        self._shown_s = 0.0
        self._count = 0

    async def post(self, shown: Shown) -> str:
        """Show a draft, or write the message if the text is whole."""
        if stays(shown) or not await self._draft(shown):
            self._shown = None
            return await super().post(shown)
        self._count += 1
        return f"{_DRAFT}{self._count}"

    async def edit(self, handle: str, shown: Shown) -> None:
        """Let the draft grow, or write the message that it stood for."""
        if handle in self._ids:
            await super().edit(handle, shown)
        elif stays(shown) or not await self._draft(shown):
            written = await super().post(shown)
            self._ids[handle], self._written[handle] = self._ids.pop(written), self._written.pop(written)
            self._shown = None

    async def refresh(self) -> None:
        """Show the draft again before it fades."""
        if self._shown is None:
            await super().refresh()
        elif self._clock.monotonic() - self._shown_s >= _REFRESH_S:
            await self._send(self._shown, Priority.EDIT)

    async def _draft(self, shown: Shown) -> bool:
        """Show it as a draft; False if this chat or server does not take drafts."""
        rendered = self._draw(shown)
        if rendered == self._shown:
            return True
        try:
            await self._send(rendered, self._rank(shown))
        except SurfaceGone:  # if the chat itself is gone, the message will tell
            return False
        return True

    async def _send(self, rendered: Rendered, rank: Priority) -> None:
        await self._api.draft(self._place, self._draft_id, rendered, rank)
        self._shown, self._shown_s = rendered, self._clock.monotonic()
