"""Closed by default, and kind: who is answered, who is told, who is ignored; and how the owner comes about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.access import Access
from core.dialogue import Task
from core.people import Person, Standing
from core.types import UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, BIA, House

FINISH = {Task.DECIDE: ["Finish"], Task.FINISH: ["Hello"]}
PRIVATE_LINE = "This bot is private and does not know you yet. Ask its owner to let you in."


def closed() -> House:
    return House(FINISH, trusted=())


async def say(house: House, text: str, *, user: UserKey = ANA, message_id: str = "1", **changes: bool) -> list[str]:
    surface = house.surface()
    async with house.chatbot() as bot:
        incoming = replace(house.incoming(text, user=user, message_id=message_id), **changes)  # type: ignore[arg-type]
        await (await bot.receive(incoming, surface))
    return surface.texts


async def test_a_stranger_gets_one_polite_line_a_day_and_nothing_of_theirs_is_kept() -> None:
    house = closed()
    assert await say(house, "hi") == [PRIVATE_LINE]
    assert await say(house, "hello?", message_id="2") == []
    assert isinstance(house.clock, FakeClock)
    await house.clock.advance(24 * 3600)
    assert await say(house, "hello?", message_id="3") == [PRIVATE_LINE]
    assert not house.model.prompts
    assert await house.inbox.owed("test") == []


async def test_a_stranger_in_a_room_is_ignored_whatever_they_say() -> None:
    assert await say(closed(), "/start", private=False) == []


@pytest.mark.parametrize("standing", [Standing.OWNER, Standing.ADMIN, Standing.MEMBER])
async def test_who_was_let_in_is_answered(standing: Standing) -> None:
    house = closed()
    await house.people.put(Person(ANA, standing, "Ana", house.clock.now()))
    assert await say(house, "hi") == ["Hello"]
    assert await say(house, "hi", message_id="2", private=False) == ["Hello"]


async def test_what_was_not_meant_for_the_bot_is_ignored() -> None:
    house = closed()
    await house.people.put(Person(ANA, Standing.OWNER, "Ana", house.clock.now()))
    assert await say(house, "hi all", private=False, addressed=False) == []


async def test_who_is_blocked_gets_silence() -> None:
    house = closed()
    await house.people.put(Person(ANA, Standing.BLOCKED, "Ana", house.clock.now()))
    assert await say(house, "hi") == []


async def test_whoever_sends_the_code_first_owns_the_bot() -> None:
    house = closed()
    access = Access(house.people, house.clock)
    code = await access.claim_code("test")
    assert code is not None
    assert await access.claim_code("test") == code
    surface = house.surface()
    bot = house.chatbot(access)
    async with bot:
        await (await bot.receive(house.incoming(f"/start {code}", user=BIA), surface))
        await (await bot.receive(house.incoming(f"/start {code}", message_id="2"), house.surface()))
    assert surface.texts == [
        "Done: this bot is yours now. Only you are answered, until you let others in. Say hi, or see /help."
    ]
    owner = await house.people.find(BIA)
    assert owner is not None
    assert owner.standing is Standing.OWNER
    assert await house.people.find(ANA) is None
    assert await access.claim_code("test") is None


@pytest.mark.parametrize("text", ["/start", "/start wrong", "/start ", "{code}", "/startx {code}", "/start {code} x"])
async def test_anything_else_claims_nothing(text: str) -> None:
    house = closed()
    access = Access(house.people, house.clock)
    code = await access.claim_code("test")
    async with house.chatbot(access) as bot:
        await (await bot.receive(house.incoming(text.format(code=code)), house.surface()))
    assert list(await house.people.all()) == []


async def test_a_code_is_of_no_use_in_a_room() -> None:
    house = closed()
    access = Access(house.people, house.clock)
    code = await access.claim_code("test")
    async with house.chatbot(access) as bot:
        await (await bot.receive(replace(house.incoming(f"/start {code}"), private=False), house.surface()))
    assert list(await house.people.all()) == []


async def test_a_platform_may_name_the_owner() -> None:
    house = closed()
    await Access(house.people, house.clock).own(ANA, "Ana\nAdmin")
    owner = await house.people.find(ANA)
    assert owner is not None
    assert (owner.standing, owner.name) == (Standing.OWNER, "Ana Admin")
