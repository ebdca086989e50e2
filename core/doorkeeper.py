"""In front of the inbox: who gets no further is told so, once and kindly. Knows the verdicts and their words.

Does not know the rule: that is `core/access.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine

from core.access import Access, Verdict
from core.cards import Cards
from core.delivery.view import View
from core.errors import SurfaceError
from core.locales import Locales
from core.ports import Clock, Surface
from core.screen import Shown
from core.texts import AWAY, CLAIMED, DEAD_BUTTON, PAUSED, PRIVATE
from core.types import ChatKey, Incoming, Localized

_log = logging.getLogger(__name__)
_WORDS = {Verdict.CLAIMED: CLAIMED, Verdict.TELL_OFF: PRIVATE, Verdict.TELL_PAUSED: PAUSED}


class Doorkeeper:
    """Nothing that is turned away here is stored. `later` runs what nobody waits for."""

    def __init__(
        self,
        access: Access,
        cards: Cards,
        locales: Locales,
        clock: Clock,
        later: Callable[[Coroutine[None, None, None]], object],
    ) -> None:
        self._access = access
        self._cards = cards
        self._locales = locales
        self._clock = clock
        self._later = later
        self._away: set[ChatKey] = set()  # chats that were told, since what was last said there in time

    async def admits(self, incoming: Incoming, surface: Surface) -> bool:
        """Whether the message goes on to the inbox; if not, its sender was told why where that is owed to them."""
        verdict = await self._access.judge(incoming)
        if verdict is not Verdict.ANSWER:
            await self.turn_away(verdict, incoming, View(surface, self._clock))
            if verdict is Verdict.TELL_OFF:
                self._later(self._cards.ask(incoming.user))
            return False
        if incoming.pressed and not incoming.text.startswith("/"):  # no button of ours sends that
            await self._say(DEAD_BUTTON, incoming, View(surface, self._clock))
            return False
        return not await self._too_late(incoming, surface)

    async def turn_away(self, verdict: Verdict, incoming: Incoming, view: View) -> None:
        """Tell the sender what the verdict is, if it is one to be told."""
        if verdict in _WORDS:
            await self._say(_WORDS[verdict], incoming, view)

    async def _too_late(self, incoming: Incoming, surface: Surface) -> bool:
        if not incoming.stale:
            self._away.discard(incoming.chat)
        elif incoming.chat not in self._away:
            self._away.add(incoming.chat)
            await self._say(AWAY, incoming, View(surface, self._clock))
        return incoming.stale

    async def _say(self, words: Localized, incoming: Incoming, view: View) -> None:
        await say(Shown(words[await self._locales.of(incoming)]), view)


async def say(shown: Shown, view: View) -> None:
    """Say the last thing on a view. Where it cannot be said, the log knows."""
    try:
        await view.show(shown)
        await view.close()
    except SurfaceError as error:
        _log.warning("not delivered", extra={"error": type(error).__name__})
