"""/memory incognito: an hour in which nothing of what a person says is kept, and nothing of what is kept is used."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from core.answering.turn import Additions, Heard, Turn
from core.commands.command import Request, word_buttons
from core.features.preferences.storage import PreferenceStore
from core.text.catalogue import counted, forms, text
from core.text.replies import names_incognito

LASTS: Final = timedelta(hours=1)
WORD: Final = "incognito"
OFF: Final = f"{WORD} off"
"""What the button says to end it, so that one of an hour ago turns nothing else on."""

ENDS: Final = frozenset({"on", OFF})
"""What /memory is told to end it."""


async def begin(request: Request, preferences: PreferenceStore) -> None:
    """Begin an hour of incognito, or begin it anew, and say what that is."""
    user, until = request.incoming.user, request.turn.services.clock.now() + LASTS
    chosen = replace(await preferences.of(user), incognito_until=until, incognito_told=False)
    await preferences.put(user, chosen)
    await tell(request, until)


async def end(request: Request, preferences: PreferenceStore) -> None:
    """End it, and say so. What was sent until now and waits for its answer is still answered in incognito."""
    user, now = request.incoming.user, request.incoming.at
    chosen = replace(await preferences.of(user), incognito_until=now, incognito_told=True)
    await preferences.put(user, chosen)
    await request.tell(OVER)


async def tell(request: Request, until: datetime) -> None:
    """Say that it holds, for how long, and what that is."""
    readers = "" if request.turn.services.models.is_limited else READERS[request.locale]
    left = math.ceil((until - request.turn.services.clock.now()) / timedelta(minutes=1))
    told = f"{counted(HOLDS, request.locale, left)}\n\n{STAYS[request.locale].format(readers=readers)}"
    await request.answer.tell(told, choices=word_buttons("/memory", {OFF: END}, request.locale))


class IncognitoAdditions(Additions):
    """Says below an answer that the hour is over, once; and that it is not on, to who names it in other words."""

    def __init__(self, preferences: PreferenceStore) -> None:
        self._preferences = preferences

    async def below_answer(self, turn: Turn) -> Heard | None:
        """Return that it is over, if the person was not told yet, or that it is not on.

        Else a model may say that it were, to who asks for it in words that are not read.
        """
        user, locale = turn.conversation.thread.conversation.user, turn.person.locale
        if turn.person.was_incognito:
            await self._preferences.put(user, replace(await self._preferences.of(user), incognito_told=True))
            return Heard(ENDED[locale], word_buttons("/memory", {WORD: AGAIN}, locale))
        if names_incognito(turn.asked.text):
            return Heard(NOT_ON[locale], word_buttons("/memory", {WORD: BEGIN}, locale))
        return None


HOLDS = forms("preferences.incognito.holds")
READERS = text("preferences.incognito.readers")
STAYS = text("preferences.incognito.stays")
NOT_ON = text("preferences.incognito.not_on")
OVER = text("preferences.incognito.over")
ENDED = text("preferences.incognito.ended")
BEGIN = text("preferences.incognito.begin")
AGAIN = text("preferences.incognito.again")
END = text("preferences.incognito.end")
