"""One act in Telegram is one turn: the real library over real sockets, and a whole bot behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from core.answering.parts import TurnLimits
from core.dialogue import Prompt, PromptContext, Task
from core.features.access.storage import Person as Known
from core.models import Cycle
from core.types import Role, UserKey
from tests.e2e.telegram_kit import flow, serving
from tests.fakes.clock import FakeClock
from tests.fakes.house import House
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer

ANA = Person(7, "Ana")
GROUP = -1001


def photo(number: int) -> list[dict[str, object]]:
    return [{"file_id": f"p{number}", "file_unique_id": "u", "width": 1, "height": 1}]


@dataclass
class Wire:
    """A bot behind a socket, and what its model was asked."""

    server: TelegramServer
    clock: FakeClock
    house: House

    async def asked(self, answers: int) -> list[PromptContext]:
        chats = self.server.chats.values
        await flow(self.server, self.clock, lambda: sum(len(chat.screen()) for chat in chats()) >= answers)
        for _ in range(8):  # nothing else is being waited for
            await self.clock.advance(0.5)
        assert sum(len(chat.screen()) for chat in chats()) == answers
        return [prompt.context for prompt in self.house.model.asked(Task.SINGLE)]


@asynccontextmanager
async def wire(answer: Callable[[Prompt], str] = lambda _: "Que bonito!") -> AsyncIterator[Wire]:
    clock = FakeClock()
    house = House({Task.SINGLE: answer}, clock=clock, limits=TurnLimits(cycle=Cycle.SINGLE))
    await house.people.put(Known(UserKey("telegram", "7"), Role.MEMBER, "Ana", clock.now()))
    async with TelegramServer(clock) as server, house.chatbot() as bot, serving(server, clock, bot):
        yield Wire(server, clock, house)


async def test_an_album_of_five_photos_with_captions_is_one_turn_in_private_and_in_a_group() -> None:
    async with wire() as on:
        for number in range(5):
            on.server.says(ANA, None, photo=photo(number), media_group_id="a", caption=f"flor {number}")
        [asked] = await on.asked(1)
        assert asked.message == "flor 0\nflor 1\nflor 2\nflor 3\nflor 4"
        assert [one.handle for one in asked.attachments] == [f"telegram:p{number}" for number in range(5)]
        for number in range(3):
            called = "@elefante_bot olha" if number == 0 else ""
            words: dict[str, Any] = {
                "caption": called,
                "caption_entities": [{"type": "mention", "offset": 0, "length": 13}],
            }
            on.server.says(
                ANA, None, chat_id=GROUP, photo=photo(number), media_group_id="b", **(words if called else {})
            )
        _, asked = await on.asked(2)
        assert (asked.message, len(asked.attachments)) == ("olha", 3)


async def test_forwards_and_the_sentence_beside_them_are_one_turn_and_the_next_text_another() -> None:
    async with wire() as on:
        for number, name in enumerate(("Bia", "Caio", "Eva")):
            origin = {"type": "hidden_user", "date": 1_700_000_000, "sender_user_name": name}
            on.server.says(ANA, f"recado {number}", forward_origin=origin)
        on.server.says(ANA, "resume isto")
        [asked] = await on.asked(1)
        assert (asked.message, [each.name for each in asked.quotes]) == ("resume isto", ["Bia", "Caio", "Eva"])
        on.server.says(ANA, "obrigada")
        assert [each.message for each in await on.asked(2)] == ["resume isto", "obrigada"]


async def test_a_long_text_that_the_client_cut_is_one_turn() -> None:
    async with wire() as on:
        pieces = ["começo " * 500, "meio " * 600, "fim"]
        for piece in pieces:
            on.server.says(ANA, piece.strip())
        [asked] = await on.asked(1)
        assert asked.message == "\n".join(piece.strip() for piece in pieces)
