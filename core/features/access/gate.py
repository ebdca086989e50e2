"""Access gate: reject messages before they are stored, and tell the sender why. The rule stands in `rules`."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence

from core.delivery.view import View
from core.features.access.cards import Cards
from core.features.access.rules import Access, Mode
from core.hooks import Gate, Verdict
from core.language_choice import Locales
from core.outgoing import OutgoingMessage
from core.ports import Channel, Clock
from core.texts import AWAY, CLAIMED, CLAIMED_OPEN, DEAD_BUTTON, PAUSED, PRIVATE
from core.types import ChatKey, Incoming, Localized, Role

_WORDS = {Verdict.CLAIMED: CLAIMED, Verdict.TELL_OFF: PRIVATE, Verdict.TELL_PAUSED: PAUSED}


class AccessGate(Gate):
    """Judge every message; what is turned away here is not stored."""

    def __init__(self, access: Access, cards: Cards, locales: Locales, clock: Clock) -> None:
        self._access = access
        self._cards = cards
        self._locales = locales
        self._clock = clock
        self._away: set[ChatKey] = set()  # chats told that the bot was away, until the next message that is on time

    async def turned_away(self, incoming: Incoming, channel: Channel) -> Sequence[Coroutine[None, None, None]] | None:
        """Return None if the message goes on to the inbox; else what tells its sender why not, and asks the owners."""
        verdict = await self._access.judge(incoming)
        view = View(channel, self._clock)
        if verdict is not Verdict.ANSWER:
            told = self.turn_away(verdict, incoming, view)
            return (told, self._cards.ask(incoming.user)) if verdict is Verdict.TELL_OFF else (told,)
        if incoming.pressed and not incoming.text.startswith("/"):  # no button of ours sends that
            return (self._say(DEAD_BUTTON, incoming, view),)
        if not incoming.stale:
            self._away.discard(incoming.chat)
            return None
        if incoming.chat in self._away:
            return ()
        self._away.add(incoming.chat)
        return (self._say(AWAY, incoming, view),)

    async def recheck(self, incoming: Incoming) -> Verdict:
        """Judge a stored message again, by the rights that hold now."""
        return await self._access.recheck(incoming)

    async def role_here(self, incoming: Incoming) -> Role | None:
        """Return the sender's role where they wrote, or None for a stranger."""
        return await self._access.role_here(incoming)

    async def turn_away(self, verdict: Verdict, incoming: Incoming, view: View) -> None:
        """Tell the sender what the verdict is, if it is one to be told."""
        if verdict is Verdict.CLAIMED and await self._access.mode() is Mode.OPEN:
            await self._say(CLAIMED_OPEN, incoming, view)
        elif verdict in _WORDS:
            await self._say(_WORDS[verdict], incoming, view)

    async def _say(self, words: Localized, incoming: Incoming, view: View) -> None:
        await view.show_last(OutgoingMessage(words[await self._locales.of(incoming)]))
