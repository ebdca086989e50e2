"""Two hundred people who ask at once in private, at each platform's limits, on a clock of ours: pacers and views."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from statistics import quantiles

from adapters.telegram.config import TelegramConfig
from adapters.telegram.pacer import Pacer as TelegramPacer
from adapters.telegram.pacer import Priority
from core.delivery.plan import Pace
from core.delivery.view import View
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel
from core.workers.port import Worker
from tests.fakes import telegram_wire
from tests.fakes.clock import FakeClock

PEOPLE, THINKS_S = 200, 1.0
Write = Callable[[str, OutgoingMessage | None], Awaitable[None]]
"""Make a call of that verb within the limits; without a message, that of the typing sign."""


@dataclass(slots=True)
class Chat(Channel):
    """A private chat, which notes when its answer was whole."""

    clock: FakeClock
    write: Write
    limits: ChannelLimits = field(default_factory=lambda: ChannelLimits(4096, 1.5, typing_s=4.0))
    whole_s: float = 0.0
    signs: int = 0

    def measure(self, text: str) -> int:
        return len(text)

    async def post(self, shown: OutgoingMessage) -> str:
        await self.write("POST", shown)
        self._note(shown)
        return "1"

    async def edit(self, _: str, shown: OutgoingMessage) -> str | None:
        await self.write("PATCH", shown)
        self._note(shown)
        return None

    async def show_typing(self) -> None:
        await self.write("TYPING", None)
        self.signs += 1

    def _note(self, shown: OutgoingMessage) -> None:
        if shown.stays:
            self.whole_s = self.clock.monotonic()


async def answer(chat: Chat) -> None:
    """Think for a second, then say a sentence in two pieces."""
    view = View(chat, chat.clock, pace=Pace(status_after_s=1.5))
    async with view.typing():
        await view.status("IA está pensando...")
        await chat.clock.sleep(THINKS_S * 0.7)
        view.write("A senha do wi-fi da casa é ")
        await chat.clock.sleep(THINKS_S * 0.3)
        view.write("abc123.")
        await view.complete()
        await view.close()


async def p90_s(clock: FakeClock, write_into: Callable[[int], Write]) -> float:
    chats = [Chat(clock, write_into(1000 + number)) for number in range(PEOPLE)]
    answers = [asyncio.create_task(answer(chat)) for chat in chats]
    await clock.advance(60.0)
    await asyncio.gather(*answers)
    assert sum(chat.signs > 0 for chat in chats) > PEOPLE / 20
    return quantiles([chat.whole_s for chat in chats], n=10)[-1]


def on_paper_s(per_s: float) -> float:
    return THINKS_S + 0.9 * PEOPLE / per_s


async def test_two_hundred_people_on_telegram_are_answered_nearly_as_fast_as_its_limits_allow() -> None:
    clock, usual, limits = FakeClock(), TelegramConfig("token"), telegram_wire.Limits()
    pacer = TelegramPacer(usual.private, usual.group, usual.overall, clock, Worker())

    def into(chat_id: int) -> Write:
        async def write(_: str, shown: OutgoingMessage | None) -> None:
            rank = Priority.TYPING if shown is None else Priority.FINAL if shown.stays else Priority.STATUS
            await pacer.admit(chat_id, rank)
            assert limits.wait_s(chat_id, clock.monotonic()) == 0.0, "refused"

        return write

    assert await p90_s(clock, into) < 1.5 * on_paper_s(30)
