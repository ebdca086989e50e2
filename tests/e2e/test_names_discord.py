"""Whom an owner means on Discord, by an @name, a reply, a slash command; and another owner. Over real sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from core.features.access.storage import Person as Known
from core.types import Locale, Role, UserKey
from tests.e2e.discord_kit import ME, ROOM, flow, serving
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import Channel, Note, Person
from tests.fakes.house import House
from tests.fakes.lobby import FINISH

ANA, BIA = Person(10**17 + 7, "Ana", "en-US"), Person(10**17 + 8, "bia_b", "en-US")


@dataclass
class Stage:
    """A closed bot of Ana's, and people who talk to it."""

    house: House
    server: DiscordServer
    clock: FakeClock

    async def role(self, person: Person) -> str:
        known = await self.house.people.find(UserKey("discord", str(person.id)))
        return known.role.value if known else ""

    async def says(self, person: Person, text: str, *, room: int = 0, reply_to: int | None = None) -> str:
        """Say something and return the answer to it."""
        place = self.server.channels[room] if room else self.server.direct(person)
        before = len(place.screen())
        await self.server.says(person, text, room=room, reply_to=reply_to, **({"type": 19} if reply_to else {}))
        return await self.answer(place, before)

    async def answer(self, place: Channel, before: int) -> str:
        await flow(self.server, self.clock, lambda: place.screen()[before:])
        return place.screen()[-1]

    def last(self, person: Person) -> Note:
        return list(self.server.direct(person).notes.values())[-1]


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    clock = FakeClock()
    house = House(FINISH, clock=clock, trusted=(), language=Locale.EN)
    await house.people.put(Known(UserKey("discord", str(ANA.id)), Role.OWNER, "Ana", clock.now()))
    async with DiscordServer(clock) as server, house.chatbot() as bot, serving(server, clock, bot):
        yield Stage(house, server, clock)


async def test_who_wrote_once_is_let_in_by_their_name_or_by_a_slash_command(stage: Stage) -> None:
    assert "I have never seen `@bia_b`" in await stage.says(ANA, "/admin allow @bia_b")
    await stage.says(BIA, "may I?")
    await flow(stage.server, stage.clock, lambda: "@bia_b" in stage.last(ANA).text)  # the card
    assert f"(https://discord.com/users/{BIA.id}) (`bia_b`): stranger → member" in await stage.says(
        ANA, "/admin allow @BIA_B"
    )
    used = await stage.server.interactions.command(ANA, "admin block", person=BIA)
    await flow(stage.server, stage.clock, lambda: used.screen)
    assert f"(https://discord.com/users/{BIA.id}) (`bia_b`): member → blocked" in used.screen[0]


async def test_a_reply_in_a_room_lets_the_person_in(stage: Stage) -> None:
    said = await stage.server.says(BIA, "may I?", room=ROOM)
    told = await stage.says(ANA, f"{ME} /admin allow", room=ROOM, reply_to=said.id)
    assert f"(https://discord.com/users/{BIA.id}): stranger → member" in told
    assert await stage.role(BIA) == "member"
