"""Open the view of each answer, record its posts, and handle chats that refuse it.

A refused answer goes to the person's private chat. The owners are told once of a room that does not let the bot write,
and once of all chats of a platform that fail together; that somebody blocked the bot is a line of the log.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from itertools import count
from typing import Final
from weakref import WeakValueDictionary

from core.answering.parts import Reach, TurnLimits
from core.delivery.fallback import Aside
from core.delivery.plan import Pace
from core.delivery.view import Line, PlaceInLine, View
from core.errors import ChannelError, ChannelForbidden, ChannelGone, ChannelUnclear, StorageError, Undelivered
from core.ports import Channel, Clock
from core.stores import Inbox
from core.text.catalogue import filled, text
from core.types import Incoming, Localized, room_name

_log = logging.getLogger(__name__)

_SETTLE_S: Final = 60.0
"""How long the chats of an outage are gathered before the owners are told of them."""


class Views:
    """Views of answers. Their posts are recorded in the inbox, so that a restarted bot continues them in place.

    A status is shown after `status_after_s` seconds without anything better; an answer that is there `notify_after_s`
    seconds after its question, or later, notifies whoever asked (0: none does).
    """

    def __init__(self, inbox: Inbox, reach: Reach, clock: Clock, limits: TurnLimits) -> None:
        self._inbox = inbox
        self._reach = reach
        self._clock = clock
        self._pace = Pace(status_after_s=limits.status_after_s)
        self._notify_after_s = limits.notify_after_s or math.inf
        self._lines: WeakValueDictionary[tuple[str, str], Line] = WeakValueDictionary()
        self._numbers = count()

    def open(
        self,
        incoming: Incoming,
        channel: Channel,
        posted: Sequence[str] | None = None,
        *,
        recorded: bool = True,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> View:
        """Return the view of one turn; `posted` are the posts of an earlier process that began it."""
        return View(
            channel,
            self._clock,
            pace=self._pace,
            find_aside=None if incoming.private else partial(self._find_aside, incoming),
            posted=posted,
            record=partial(self._record, incoming) if recorded else None,
            is_busy=is_busy,
            notify_from_s=self._notify_from_s(incoming),
            place=None if incoming.private else self._place(incoming),
        )

    def _place(self, incoming: Incoming) -> PlaceInLine:
        """Return the place in the line of a room behind those who asked before."""
        room = incoming.chat.platform, incoming.chat.chat
        line = self._lines.get(room) or Line()
        self._lines[room] = line
        return PlaceInLine(line, next(self._numbers))

    def _notify_from_s(self, incoming: Incoming) -> float:
        """Return the time, on the clock, from which an answer notifies whoever asked."""
        asked_s = self._clock.monotonic() - (self._clock.now() - incoming.at).total_seconds()
        return asked_s + self._notify_after_s

    def replace(self, view: View, incoming: Incoming, posted: Sequence[str]) -> None:
        """Let a view that was left answer another version of its message, in the place of what is `posted` for it."""
        view.restart(posted, partial(self._record, incoming), notify_from_s=self._notify_from_s(incoming))

    async def clear(self, incoming: Incoming, channel: Channel, posted: Sequence[str]) -> None:
        """Remove the posts of an earlier process."""
        try:
            await self.open(incoming, channel, posted).close()
        except ChannelError as error:
            _log.info("not cleared", extra={"error": type(error).__name__})

    async def report(self, incoming: Incoming, error: ChannelError) -> None:
        """Alert the owners: an answer to this message did not arrive, or may not have."""
        refusal = error.refusal if isinstance(error, Undelivered) else error
        kind = next((kind for kind in _WHY if isinstance(refusal, kind)), ChannelError)
        facts = {"platform": incoming.chat.platform, "error": kind.__name__, "private": incoming.private}
        _log.warning("an answer was not delivered", extra=facts)
        if incoming.private and kind is ChannelGone:  # they blocked the bot, which nobody can mend
            return
        sentence = filled(_WHY[kind], platform=incoming.chat.platform.title(), places="{places}")
        settle_s = 0.0 if kind in _OF_ONE_PLACE else _SETTLE_S
        self._reach.alerts.tell(_key(incoming, kind), sentence, place=_place(incoming), settle_s=settle_s)

    async def settle(self, incoming: Incoming, view: View) -> None:
        """Alert the owners if the chat refused the answer or did not confirm it; else close the alerts of that chat."""
        if trouble := view.channel.doubt or view.channel.refusal:
            await self.report(incoming, trouble)
        elif not view.channel.said_aside:
            for kind in _WHY:
                self._reach.alerts.over_in(_key(incoming, kind), _place(incoming)[0])

    async def _find_aside(self, incoming: Incoming, refusal: ChannelError) -> Aside | None:
        """Return the person's private chat and the reason to show there; None if the platform is not connected."""
        channels = self._reach.notifier.platforms.get(incoming.chat.platform)
        if channels is None:
            return None
        kind = next((kind for kind in _REASONS if isinstance(refusal, kind)), ChannelError)
        reason = _REASONS[kind][await self._reach.locales.of(incoming)]
        return Aside(channels.private(incoming.user), reason)

    async def _record(self, incoming: Incoming, handles: Sequence[str]) -> None:
        try:
            await self._inbox.put_posted(incoming, handles)
        except StorageError as error:  # a restarted bot would post again
            _log.warning("posts not recorded", extra={"error": type(error).__name__})


def _key(incoming: Incoming, kind: type[ChannelError]) -> str:
    """Return the key of an alarm: of one room that the owner can mend, or else of a platform."""
    place = _place(incoming)[0] if kind in _OF_ONE_PLACE and not incoming.private else "all"
    return f"undelivered:{incoming.chat.platform}:{place}:{kind.__name__}"


def _place(incoming: Incoming) -> tuple[str, str]:
    """Return the id of the chat, which is logged and names nobody, and what people call it; "" for a private one."""
    place = blake2b(incoming.chat.chat.encode(), digest_size=4).hexdigest()
    return place, "" if incoming.private else incoming.room_title or room_name(incoming.chat)


_REASONS: Final[dict[type[ChannelError], Localized]] = {
    ChannelForbidden: text("undelivered.reasons.channel_forbidden"),
    ChannelGone: text("undelivered.reasons.channel_gone"),
    ChannelError: text("undelivered.reasons.channel_error"),
}
_OF_ONE_PLACE: Final = frozenset({ChannelForbidden, ChannelGone})
_WHY: Final[dict[type[ChannelError], Localized]] = {
    ChannelForbidden: text("undelivered.why.channel_forbidden"),
    ChannelGone: text("undelivered.why.channel_gone"),
    ChannelUnclear: text("undelivered.why.channel_unclear"),
    ChannelError: text("undelivered.why.channel_error"),
}
