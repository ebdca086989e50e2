"""Whom an owner means on Telegram, by an @name, a reply, a forwarded message; and another owner. Over real sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from core.features.access.storage import Person as Known
from core.types import Role, UserKey
from tests.e2e.telegram_kit import flow, serving
from tests.fakes.clock import START, FakeClock
from tests.fakes.house import House
from tests.fakes.lobby import FINISH
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer

ANA, BIA, CARO = Person(7, "Ana", "en"), Person(8, "Bia", "en", username="Bia_B"), Person(9, "Caro", "pt-br")
GROUP = -100
AT = int(START.timestamp())


class Stage:
    """A closed bot of Ana's, and people who talk to it."""

    def __init__(self, house: House, server: TelegramServer, clock: FakeClock) -> None:
        self.house = house
        self.server = server
        self.clock = clock

    async def role(self, person: Person) -> str:
        known = await self.house.people.find(UserKey("telegram", str(person.id)))
        return known.role.value if known else ""

    async def until(self, condition: Callable[[], object]) -> None:
        await flow(self.server, self.clock, condition)

    async def says(self, person: Person, text: str | None, chat_id: int | None = None, **more: Any) -> str:
        """Say something and return the answer to it."""
        chat = self.server.chat(person.id if chat_id is None else chat_id)
        before = chat.screen()
        self.server.says(person, text, chat_id=chat_id, **more)
        await self.until(lambda: chat.screen()[len(before) :])
        return chat.screen()[-1]

    def last(self, person: Person) -> str:
        return "".join(self.server.chat(person.id).screen()[-1:])


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    clock = FakeClock()
    house = House(FINISH, clock=clock, trusted=())
    await house.people.put(Known(UserKey("telegram", "7"), Role.OWNER, "Ana", clock.now()))
    async with TelegramServer(clock) as server, house.chatbot() as bot, serving(server, clock, bot):
        server.chat(7)
        yield Stage(house, server, clock)


async def test_a_reply_in_a_group_lets_the_person_in_and_a_channels_message_nobody(stage: Stage) -> None:
    said = stage.server.says(BIA, "may I?", chat_id=GROUP)
    assert "Bia: stranger → member" in await stage.says(ANA, "/admin allow", GROUP, reply_to=said["message_id"])
    channel = {"id": -1007, "type": "channel", "title": "N"}
    anonymous = stage.server.says(CARO, "news", chat_id=GROUP, sender_chat=channel)
    told = await stage.says(ANA, "/admin allow", GROUP, reply_to_message=anonymous)
    assert told.startswith("I cannot see whose message that is")
    assert await stage.role(CARO) == ""


async def test_a_forwarded_message_says_who_before_or_after_the_command(stage: Stage) -> None:
    forwarded = stage.server.says(ANA, "may I?", forward_origin={"type": "user", "date": AT, "sender_user": BIA.json()})
    await stage.until(lambda: stage.last(ANA))
    assert "Bia: stranger → member" in await stage.says(ANA, "/admin allow", reply_to_message=forwarded)
    assert (await stage.says(ANA, "/admin block")).startswith("Say who.")
    told = await stage.says(ANA, "hi", forward_origin={"type": "user", "date": AT, "sender_user": CARO.json()})
    assert "Caro: stranger → blocked" in told


@pytest.mark.parametrize(
    "origin",
    [
        {"type": "hidden_user", "date": AT, "sender_user_name": "Bia"},
        {"type": "channel", "date": AT, "chat": {"id": -1007, "type": "channel", "title": "N"}, "message_id": 5},
        {"type": "user", "date": AT, "sender_user": Person(99, "Other", is_bot=True).json()},
    ],
)
async def test_a_forwarded_message_of_nobody_who_is_told_names_nobody(stage: Stage, origin: dict[str, Any]) -> None:
    forwarded = stage.server.says(ANA, "may I?", forward_origin=origin)
    await stage.until(lambda: stage.last(ANA))
    told = await stage.says(ANA, "/admin allow", reply_to_message=forwarded)
    assert told.startswith("I cannot see whose message that is: on Telegram people can hide it")
    assert len(await stage.house.people.all()) == 1


async def test_another_becomes_an_owner_by_a_button_and_the_first_one_leaves(stage: Stage) -> None:
    await stage.says(BIA, "may I?")
    await stage.says(ANA, "/admin allow @bia_b")
    await stage.says(ANA, "/admin owner @bia_b")
    assert await stage.role(BIA) == "member"
    stage.server.presses(ANA, "Make them an owner")
    await stage.until(lambda: "made you an owner of this bot" in stage.last(BIA))
    await stage.says(ANA, "/admin owner leave")
    stage.server.presses(ANA, "Step down")
    await stage.until(lambda: stage.last(ANA).startswith("Done: you are a member now"))
    assert (await stage.role(ANA), await stage.role(BIA)) == ("member", "owner")
    assert "Ana · @Bia_B (Bia): member → owner" in await stage.says(BIA, "/admin changes")


async def test_the_first_card_is_in_the_language_of_the_claim(clock: FakeClock) -> None:
    house = House(FINISH, clock=clock, trusted=())
    access = house.access()
    code = await access.claim_code("telegram")
    es = Person(10, "Eva", "es")
    async with TelegramServer(clock) as server, house.chatbot(access) as bot, serving(server, clock, bot):
        stage = Stage(house, server, clock)
        assert (await stage.says(es, f"/start {code}")).startswith("Listo")
        await stage.says(BIA, "may I?")
        await stage.until(lambda: "Alguien a quien no conozco" in stage.last(es))
