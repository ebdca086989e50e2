"""Check quotas before every answer: run it or say why not, and warn once when a limit is nearly used up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from core.answering.language_choice import Locales
from core.answering.parts import Limiter
from core.delivery.notifier import Notifier
from core.delivery.view import View
from core.features.access.rules import Access
from core.features.ledger.calls import BOT, Asker, asker_of
from core.features.quotas import wording
from core.features.quotas.quotas import Quotas, Use
from core.outgoing import OutgoingMessage
from core.ports import Clock
from core.types import Incoming, Locale, Role

CHARS_OF_ONE: Final = 4000
"""A text that is longer counts as several messages of a minute."""

_FREE: Final = frozenset({"/help", "/start", "/stop", "/undo"})
"""What a person needs in order to know what to do, and to take back what they did."""


@dataclass(slots=True)
class Allowance(Limiter):
    """Keep answers within the quotas, and warn the asker and the owners."""

    quotas: Quotas
    access: Access
    notifier: Notifier
    clock: Clock
    locales: Locales
    _news: list[tuple[Use, Asker]] = field(default_factory=list)

    async def answer(
        self, incoming: Incoming, text: str, view: View, locale: Locale, work: Callable[[], Awaitable[None]]
    ) -> bool:
        """Run `work`, which answers the text, if the limits allow it, else say why not; return whether it was run.

        Commands are only held against messages a minute, buttons and those of `_FREE` not even against those. A long
        text counts as several messages. An answer that used most of a limit gets a warning below it.
        """
        thinks = not text.startswith("/")
        is_free = incoming.pressed or not _FREE.isdisjoint(text.casefold().split(maxsplit=1)[:1])
        counts = 0 if is_free else max(1, -(-len(text) // CHARS_OF_ONE))
        asker, role = asker_of(incoming), await self.access.role_here(incoming)
        async with self.quotas.admitted(asker, role, thinks=thinks, counts=counts) as full:
            if full is None:
                await work()
            else:
                await view.show(OutgoingMessage(wording.refusal(full, self.clock.now(), self.quotas.zone, locale)))
        if thinks:
            await self._tell(asker, role, view, locale)
        return full is None

    async def tell_owners(self) -> None:
        """Tell every owner about the limits that were used up or nearly so since the last call."""
        while self._news:
            use, asker = self._news.pop(0)
            for owner in await self.access.people():
                if owner.role is Role.OWNER and owner.user != asker.user:
                    text = wording.notice(use, self.quotas.zone, await self.locales.known(owner.user))
                    await self.notifier.tell(owner.user, OutgoingMessage(text))

    async def _tell(self, asker: Asker, role: Role | None, view: View, locale: Locale) -> None:
        """Show the warnings below the answer, and keep those that owners are told later.

        The bot's own limits are shown to owners only.
        """
        for use in await self.quotas.news(asker, role):
            is_the_bots = use.scope == BOT
            if role is Role.OWNER or not is_the_bots:
                await view.show(OutgoingMessage(wording.note(use, self.quotas.zone, locale)))
            if use.is_used_up or is_the_bots:
                self._news.append((use, asker))
