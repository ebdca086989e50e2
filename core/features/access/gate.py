"""In front of the inbox: who gets no further is told so, once and kindly. Knows the verdicts and their words.

Does not know the rule: that is `core/features/access/rules.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine

from core.delivery.view import View
from core.errors import ChannelError
from core.features.access.cards import Cards
from core.features.access.rules import Access, Mode, Verdict
from core.language_choice import Locales
from core.outgoing import OutgoingMessage
from core.ports import Channel, Clock
from core.texts import AWAY, CLAIMED, CLAIMED_OPEN, DEAD_BUTTON, PAUSED, PRIVATE
from core.types import ChatKey, Incoming, Localized

_log = logging.getLogger(__name__)
_WORDS = {Verdict.CLAIMED: CLAIMED, Verdict.TELL_OFF: PRIVATE, Verdict.TELL_PAUSED: PAUSED}


class AccessGate:
    """Nothing that is turned away here is stored.

    `later` begins what nobody waits for: a chat that bears no words for now holds up no other.
    """

    def __init__(
        self,
        access: Access,
        cards: Cards,
        locales: Locales,
        clock: Clock,
        later: Callable[[Coroutine[None, None, None]], asyncio.Task[None]],
    ) -> None:
        self._access = access
        self._cards = cards
        self._locales = locales
        self._clock = clock
        self._later = later
        self._away: set[ChatKey] = set()  # chats that were told, since what was last said there in time

    async def turned_away(self, incoming: Incoming, channel: Channel) -> Awaitable[None] | None:
        """Return None for what goes on to the inbox; else what ends when its sender was told what is owed to them."""
        verdict = await self._access.judge(incoming)
        view = View(channel, self._clock)
        if verdict is not Verdict.ANSWER:
            told = self._soon(self.turn_away(verdict, incoming, view))
            if verdict is Verdict.TELL_OFF:
                self._later(self._cards.ask(incoming.user))
            return told
        if incoming.pressed and not incoming.text.startswith("/"):  # no button of ours sends that
            return self._soon(self._say(DEAD_BUTTON, incoming, view))
        if not incoming.stale:
            self._away.discard(incoming.chat)
            return None
        if incoming.chat in self._away:
            return nothing()
        self._away.add(incoming.chat)
        return self._soon(self._say(AWAY, incoming, view))

    async def turn_away(self, verdict: Verdict, incoming: Incoming, view: View) -> None:
        """Tell the sender what the verdict is, if it is one to be told."""
        if verdict is Verdict.CLAIMED and await self._access.mode() is Mode.OPEN:
            await self._say(CLAIMED_OPEN, incoming, view)
        elif verdict in _WORDS:
            await self._say(_WORDS[verdict], incoming, view)

    def _soon(self, work: Coroutine[None, None, None]) -> Awaitable[None]:
        """Begin it. Whoever waits for it and gives up does not end it."""
        return asyncio.shield(self._later(work))

    async def _say(self, words: Localized, incoming: Incoming, view: View) -> None:
        await say(OutgoingMessage(words[await self._locales.of(incoming)]), view)


async def say(shown: OutgoingMessage, view: View) -> ChannelError | None:
    """Say the last thing on a view, and return why that cannot be; the log knows."""
    try:
        await view.show(shown)
        await view.close()
    except ChannelError as error:
        _log.warning("not delivered", extra={"error": type(error).__name__})
        return error
    return None


async def contained(work: Coroutine[None, None, None]) -> None:
    """Do it. Whatever fails ends it, and none of the tasks beside it."""
    try:
        await work
    except Exception:  # noqa: BLE001  (the tasks beside it go on)
        _log.exception("a task of the bot failed")


def nothing() -> Awaitable[None]:
    """Return what has ended already."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done
