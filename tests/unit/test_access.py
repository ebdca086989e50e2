"""Closed by default, and kind: who is answered, who is told, who is ignored; and how the owner comes about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.dialogue import Task
from core.features.access.rules import Mode
from core.features.access.storage import Person
from core.features.admin.storage import ALLOWED, ON, Decision, DecisionKind
from core.types import ChatKey, Role, UserKey
from tests.fakes.channel import OneChannel
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, BIA, House

FINISH = {Task.DECIDE: ["Finish"], Task.FINISH: ["Hello"]}
CARO = UserKey("test", "caro")
PRIVATE_LINE = "This bot is private and does not know you yet. Ask its owner to let you in."


def closed() -> House:
    return House(FINISH, trusted=())


async def say(
    house: House, text: str, *, user: UserKey = ANA, message_id: str = "1", chat: str = "c", **changes: bool
) -> list[str]:
    channel = house.channel()
    async with house.chatbot() as bot:
        incoming = replace(house.incoming(text, user=user, message_id=message_id, chat=chat), **changes)  # type: ignore[arg-type]
        await (await bot.receive(incoming, channel))
    return channel.texts


async def test_a_stranger_gets_one_polite_line_a_day_and_no_word_of_theirs_is_kept() -> None:
    house = closed()
    assert await say(house, "hi") == [PRIVATE_LINE]
    assert await say(house, "hello?", message_id="2") == []
    assert isinstance(house.clock, FakeClock)
    await house.clock.advance(24 * 3600)
    assert await say(house, "hello?", message_id="3") == [PRIVATE_LINE]
    assert not house.model.prompts
    assert not await house.inbox.owed("test")


async def test_whoever_sends_the_code_first_owns_the_bot() -> None:
    house = closed()
    access = house.access()
    code = await access.claim_code("test")
    assert code is not None
    assert await access.claim_code("test") == code
    channel = house.channel()
    bot = house.chatbot(access)
    async with bot:
        await (await bot.receive(house.incoming(f"/start {code}", user=BIA), channel))
        await (await bot.receive(house.incoming(f"/start {code}", message_id="2"), house.channel()))
    assert channel.texts == [
        "Done: this bot is yours now. I answer only you until you let others in. Say hi, or see /help."
    ]
    owner = await house.people.find(BIA)
    assert owner is not None
    assert owner.role is Role.OWNER
    assert await house.people.find(ANA) is None
    assert await access.claim_code("test") is None


@pytest.mark.parametrize("given", [None, Role.GUEST, Role.MEMBER, Role.ADMIN])
@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize("mode", Mode)
async def test_the_code_holds_in_every_mode_for_whoever_sends_it(
    mode: Mode, given: Role | None, *, paused: bool
) -> None:
    house = House(FINISH, trusted=(), mode=mode)
    if given is not None:
        await house.people.put(Person(BIA, given, "Bia", house.clock.now()))
    if paused:
        await house.decisions.apply(Decision(house.clock.now(), ANA, DecisionKind.PAUSE, "", "", ON))
    access = house.access()
    code = await access.claim_code("test")
    async with house.chatbot(access) as bot:
        for n, (user, private) in enumerate([(ANA, False), (BIA, True), (ANA, True)]):
            channel = house.channel()
            asked = house.incoming(f"/start {code}", user=user, message_id=str(n), chat=f"c{n}")
            await (await bot.receive(replace(asked, private=private), channel))
            if user is BIA:
                [told] = channel.texts
                assert told.startswith("Done: this bot is yours now.")
                assert ("I answer everybody" in told) is (mode is Mode.OPEN)
    assert {p.user: p.role for p in await house.people.all()} == {BIA: Role.OWNER}


async def test_who_is_blocked_cannot_claim_the_bot_and_leaves_the_code_to_others() -> None:
    house = House(FINISH, trusted=(), mode=Mode.OPEN)
    await house.people.put(Person(BIA, Role.BLOCKED, "", house.clock.now()))
    access = house.access()
    code = await access.claim_code("test")
    async with house.chatbot(access) as bot:
        await (await bot.receive(house.incoming(f"/start {code}", user=BIA), house.channel()))
        await (await bot.receive(house.incoming(f"/start {code}", message_id="2"), house.channel()))
    assert {p.user: p.role for p in await house.people.all()} == {BIA: Role.BLOCKED, ANA: Role.OWNER}


@pytest.mark.parametrize("text", ["/start", "/start wrong", "/start ", "{code}", "/startx {code}", "/start {code} x"])
async def test_anything_else_claims_nothing(text: str) -> None:
    house = closed()
    access = house.access()
    code = await access.claim_code("test")
    async with house.chatbot(access) as bot:
        await (await bot.receive(house.incoming(text.format(code=code)), house.channel()))
    assert list(await house.people.all()) == []


async def test_a_platform_may_name_the_owner() -> None:
    house = closed()
    await house.access().own(ANA, "Ana\nAdmin")
    owner = await house.people.find(ANA)
    assert owner is not None
    assert (owner.role, owner.name) == (Role.OWNER, "Ana Admin")


async def let_in(house: House, room: str) -> None:
    await house.decisions.apply(Decision(house.clock.now(), ANA, DecisionKind.ROOM, room, "", ALLOWED))


@pytest.mark.parametrize("role", [*Role, None])
async def test_a_paused_bot_answers_its_owner_and_tells_the_others_whom_it_would_answer(
    role: Role | None,
) -> None:
    house = closed()
    await let_in(house, "test:c")
    await house.decisions.apply(Decision(house.clock.now(), ANA, DecisionKind.PAUSE, "", "", ON))
    if role is not None:
        await house.people.put(Person(ANA, role, "Ana", house.clock.now()))
    paused = [
        "The bot is paused and is not answering anyone for now. This message was not saved; please send it again later."
    ]
    assert (
        await say(house, "hi", private=False)
        == {
            Role.OWNER: ["Hello"],
            Role.ADMIN: paused,
            Role.MEMBER: paused,
            Role.GUEST: paused,
            Role.BLOCKED: [],
            None: paused,
        }[role]
    )


async def test_who_lost_the_right_to_an_answer_meanwhile_is_owed_none() -> None:
    house = closed()
    for user in (ANA, BIA):
        await house.people.put(Person(user, Role.MEMBER, "", house.clock.now()))
        await house.inbox.accept(house.incoming("hi", user=user, message_id=user.user))
    await house.people.put(Person(BIA, Role.BLOCKED, "", house.clock.now()))
    await house.decisions.apply(Decision(house.clock.now(), ANA, DecisionKind.PAUSE, "", "", ON))
    channel = house.channel()
    async with house.chatbot() as bot:
        await bot.resume("test", OneChannel(channel))
    assert [incoming.user for incoming in await house.inbox.owed("test")] == [ANA]
    await house.decisions.apply(Decision(house.clock.now(), ANA, DecisionKind.PAUSE, "", ON, ""))
    async with house.chatbot() as bot:
        await bot.resume("test", OneChannel(channel))
    assert channel.texts == ["Hello"]
    assert not await house.inbox.owed("test")


async def test_the_owner_sees_who_asked_by_the_name_they_go_by_for_thirty_days() -> None:
    house = closed()
    assert isinstance(house.clock, FakeClock)
    await say(house, "hi")
    await house.clock.advance(24 * 3600)
    await say(house, "hi", user=BIA, message_id="2")
    access = house.access()
    assert [stranger.user for stranger in await access.strangers(9)] == [BIA, ANA]
    await house.clock.advance(29.5 * 24 * 3600)
    assert [(stranger.user, stranger.name) for stranger in await access.strangers(9)] == [(BIA, "bia")]
    await house.clock.advance(24 * 3600)
    await say(house, "hi", user=CARO, message_id="3")
    assert [stranger.user for stranger in await house.people.strangers(9)] == [CARO]


async def test_a_person_is_known_by_the_name_they_go_by_now() -> None:
    house = closed()
    await house.people.put(Person(ANA, Role.MEMBER, "", house.clock.now()))
    await say(house, "hi")
    person = await house.people.find(ANA)
    assert person is not None
    assert person.name == "ana"


# --- modes -----------------------------------------------------------------------------------------------------------


async def test_what_somebody_is_where_they_wrote() -> None:
    house = closed()
    await let_in(house, "test:c")
    access, here = house.access(), replace(house.incoming("hi"), private=False)
    assert await access.role_here(here) is Role.GUEST
    assert await access.role_here(replace(here, private=True)) is Role.GUEST  # seen by its asker alone
    assert await access.role_here(replace(here, chat=ChatKey("test", "with ana"), private=True)) is None
    assert await access.role(ANA) is None
    await house.people.put(Person(ANA, Role.MEMBER, "Ana", house.clock.now()))
    assert await access.role_here(here) is Role.MEMBER
