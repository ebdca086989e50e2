"""Owners are asked about strangers. Knows how often they may be. Does not know what they decide.

Counts in RAM, by the hour; that a stranger is asked about once a day is what storage knows.
"""

from __future__ import annotations

import logging
import math
from typing import Final

from core.delivery.notifier import Notifier
from core.errors import StorageError
from core.features.access.card import card
from core.features.access.people import Stranger
from core.features.access.rules import Access
from core.language_choice import Locales
from core.outgoing import Button, OutgoingMessage
from core.ports import Clock
from core.text.catalogue import forms, text
from core.text.plural import counted
from core.types import Locale, Role, UserKey

MAX_AN_HOUR: Final = 10
_HOUR_S: Final = 3600.0
_log = logging.getLogger(__name__)


class Cards:
    """A card for each stranger, in the private chat of every owner; of a flood one line, and a number afterwards."""

    def __init__(self, access: Access, notifier: Notifier, locales: Locales, clock: Clock) -> None:
        self._access = access
        self._notices = notifier
        self._locales = locales
        self._clock = clock
        self._since_s = -math.inf
        self._asked = 0

    async def ask(self, user: UserKey) -> None:
        """Ask the owners about a stranger who has just been noted. Whom they do not reach stands in /admin users."""
        try:
            stranger = await self._access.stranger(user)
            if stranger is not None and not stranger.denied:
                await self._ask(stranger)
        except StorageError as error:
            _log.warning("owners not asked", extra={"error": type(error).__name__})

    async def _ask(self, stranger: Stranger) -> None:
        held_back = 0
        if self._clock.monotonic() - self._since_s >= _HOUR_S:
            held_back = max(self._asked - MAX_AN_HOUR, 0)
            self._since_s, self._asked = self._clock.monotonic(), 0
        self._asked += 1
        if self._asked > MAX_AN_HOUR + 1:  # the line was said
            return
        for person in await self._access.people():
            if person.role is Role.OWNER:
                locale = await self._locales.known(person.user)
                await self._notices.tell(person.user, self._shown(stranger, held_back, locale))

    def _shown(self, stranger: Stranger, held_back: int, locale: Locale) -> OutgoingMessage:
        users = (Button(WHO[locale], "/admin users"),)
        if self._asked > MAX_AN_HOUR:
            return OutgoingMessage(counted(FLOOD, locale, MAX_AN_HOUR), choices=users)
        shown = card(stranger, locale)
        if not held_back:
            return shown
        return OutgoingMessage(f"{shown.text}\n\n{counted(MORE, locale, held_back)}", choices=(*shown.choices, *users))


WHO = text("access.cards.who")
FLOOD = forms("access.cards.flood")
MORE = forms("access.cards.more")
