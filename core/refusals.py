"""What becomes of an answer that a platform refuses: the asker's private chat first, then a word to the owners."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Final

from core.delivery.alerts import OwnerAlerts
from core.delivery.fallback import Aside
from core.delivery.notifier import Notifier
from core.delivery.view import Note, View
from core.errors import (
    ChannelError,
    ChannelForbidden,
    ChannelGone,
    ChannelUnclear,
    StorageError,
    Undelivered,
)
from core.language_choice import Locales
from core.ports import Channel, Clock
from core.text.catalogue import text
from core.types import Incoming, Localized, room_name

_log = logging.getLogger(__name__)


class Refusals:
    """Knows the other ways to whoever asked, and tells owners once of each chat and kind of refusal."""

    def __init__(self, notifier: Notifier, alerts: OwnerAlerts, locales: Locales, clock: Clock) -> None:
        self._notices = notifier
        self._alerts = alerts
        self._locales = locales
        self._clock = clock

    def view(
        self, incoming: Incoming, channel: Channel, *, posted: Sequence[str] | None = None, note: Note | None = None
    ) -> View:
        """Return the view of an answer; what its chat refuses is said to the asker in private."""
        find_aside = None if incoming.private else partial(self._find_aside, incoming)
        return View(channel, self._clock, find_aside=find_aside, posted=posted, note=note)

    async def report(self, incoming: Incoming, error: ChannelError) -> None:
        """Tell the owners that an answer to this message did not arrive, or may not have."""
        refusal = error.refusal if isinstance(error, Undelivered) else error
        kind = next((kind for kind in _WHY if isinstance(refusal, kind)), ChannelError)
        facts = {"platform": incoming.chat.platform, "error": kind.__name__, "private": incoming.private}
        _log.warning("an answer was not delivered", extra=facts)
        text = _LEFT if incoming.private and kind is ChannelGone else _WHY[kind]
        places = _IN_PRIVATE if incoming.private else _IN_ROOM
        filled = {
            locale: sentence.format(
                place=places[locale].format(room=room_name(incoming.chat)), platform=incoming.chat.platform.title()
            )
            for locale, sentence in text.items()
        }
        try:
            await self._alerts.tell(_key(incoming, kind), filled)
        except StorageError as failure:
            _log.warning("owners not told", extra={"error": type(failure).__name__})

    async def settle(self, incoming: Incoming, view: View) -> None:
        """Tell the owners how the chat took an answer: unclearly, not at all (it went to private), or as it should."""
        if trouble := view.doubt or view.refusal:
            await self.report(incoming, trouble)
        elif not view.said_aside:
            for kind in _WHY:
                await self._alerts.over(_key(incoming, kind))

    async def _find_aside(self, incoming: Incoming, refusal: ChannelError) -> Aside | None:
        channels = self._notices.platforms.get(incoming.chat.platform)
        if channels is None:
            return None
        kind = next((kind for kind in _REASONS if isinstance(refusal, kind)), ChannelError)
        reason = _REASONS[kind][await self._locales.of(incoming)]
        return Aside(channels.private(incoming.user), reason)


def _key(incoming: Incoming, kind: type[ChannelError]) -> str:
    # That people block a bot is no trouble of one chat each: owners hear of it once.
    chat = "private" if incoming.private and kind is ChannelGone else incoming.chat.chat
    return f"undelivered:{incoming.chat.platform}:{chat}:{kind.__name__}"


_REASONS: Final[dict[type[ChannelError], Localized]] = {
    ChannelForbidden: text("undelivered.reasons.channel_forbidden"),
    ChannelGone: text("undelivered.reasons.channel_gone"),
    ChannelError: text("undelivered.reasons.channel_error"),
}

_IN_ROOM = text("undelivered.in_room")
_IN_PRIVATE = text("undelivered.in_private")
_LEFT = text("undelivered.left")

_WHY: Final[dict[type[ChannelError], Localized]] = {
    ChannelForbidden: text("undelivered.why.channel_forbidden"),
    ChannelGone: text("undelivered.why.channel_gone"),
    ChannelUnclear: text("undelivered.why.channel_unclear"),
    ChannelError: text("undelivered.why.channel_error"),
}
