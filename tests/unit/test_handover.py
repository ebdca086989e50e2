"""/admin owner: another owner by two steps, and how an owner steps down."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from core.features.access.storage import DENIED
from core.features.admin.storage import Decision, DecisionKind
from core.types import Locale, Role, UserKey
from tests.fakes.house import ANA, BIA, House
from tests.fakes.lobby import FINISH, Lobby

CARO, DAN, ABROAD = UserKey("test", "caro"), UserKey("test", "dan"), UserKey("other", "eva")


@pytest.fixture
async def lobby() -> AsyncIterator[Lobby]:
    async with Lobby(House(FINISH, trusted=(), language=Locale.EN), ("test", "other")) as lobby:
        for user, role in ((ANA, Role.OWNER), (BIA, Role.ADMIN), (CARO, Role.MEMBER)):
            await lobby.give(user, role)
        yield lobby


async def told(lobby: Lobby, text: str, user: UserKey = ANA, **changes: Any) -> str:
    return "\n".join(await lobby.say(text, user, **changes))


async def role(lobby: Lobby, user: UserKey) -> Role | None:
    person = await lobby.house.people.find(user)
    return person.role if person else None


async def confirmed(lobby: Lobby, text: str, user: UserKey = ANA) -> str:
    """Say it, and press the button that confirms it."""
    asked = await told(lobby, text, user)
    return await told(lobby, asked.split("To confirm, within 10 minutes: ")[1], user, pressed=True)


@pytest.mark.parametrize("user", [BIA, CARO])
async def test_another_becomes_an_owner_once_that_is_confirmed(lobby: Lobby, user: UserKey) -> None:
    before = await role(lobby, user)
    asked = await told(lobby, f"/admin owner {user.user}")
    assert asked.startswith("Make this person an owner?")
    assert "Owners can do everything" in asked
    assert await role(lobby, user) is before
    done = await confirmed(lobby, f"/admin owner {user.user}")
    assert f"`{user}`: {before} → owner\nDecided by: `test:ana`" in done
    assert lobby.seen(user)[0].text.startswith("`ana` `test:ana` made you an owner of this bot.")
    assert (await role(lobby, ANA), await role(lobby, user)) == (Role.OWNER, Role.OWNER)
    assert f"owner · `{user}`" in await told(lobby, "/admin owner")
    assert f"`{user}`: owner → {before}" in await told(lobby, "/admin undo")
    assert await role(lobby, user) is before


@pytest.mark.parametrize("after", [DENIED, Role.BLOCKED.value])
async def test_who_lost_access_meanwhile_becomes_none(lobby: Lobby, after: str) -> None:
    asked = await told(lobby, "/admin owner caro")
    now = lobby.house.clock.now()
    await lobby.house.decisions.apply(Decision(now, ANA, DecisionKind.ROLE, str(CARO), "member", after))
    done = await told(lobby, asked.split("To confirm, within 10 minutes: ")[1], pressed=True)
    assert done.startswith("That has changed in the meantime")
    assert await role(lobby, CARO) is not Role.OWNER
    assert not lobby.seen(CARO)


async def test_only_whom_the_bot_knows_becomes_one(lobby: Lobby) -> None:
    assert "`test:dan` is not let in here (now: stranger)" in await told(lobby, "/admin owner dan")
    assert (await told(lobby, "/admin owner ana")).startswith("That is an owner already: owner · `test:ana`")


async def test_without_the_code_nobody_becomes_one(lobby: Lobby) -> None:
    await told(lobby, "/admin owner caro")
    assert (await told(lobby, "/admin owner confirm AAAA")).startswith("Nothing was done: that code is wrong")
    assert await role(lobby, CARO) is Role.MEMBER


async def test_an_owner_steps_down_once_there_is_another(lobby: Lobby) -> None:
    assert "would be left without an owner" in await told(lobby, "/admin owner leave")
    await lobby.give(ABROAD, Role.OWNER)
    assert "would be left without an owner" in await told(lobby, "/admin owner leave")
    await lobby.give(DAN, Role.OWNER)
    assert "you are a member now" in await confirmed(lobby, "/admin owner leave")
    assert await role(lobby, ANA) is Role.MEMBER
    said = "`ana` `test:ana` is no owner any more, at their own wish. To take that back: /admin undo"
    assert lobby.seen(DAN)[-1].text == said
    assert lobby.seen(ABROAD)[-1].text == said
    assert "`test:ana`: member → owner" in await told(lobby, "/admin undo", DAN)


async def test_of_two_who_step_down_at_once_one_stays(lobby: Lobby) -> None:
    await lobby.give(DAN, Role.OWNER)
    asked = [await told(lobby, "/admin owner leave", user) for user in (ANA, DAN)]
    done = [
        await told(lobby, each.split("To confirm, within 10 minutes: ")[1], user, pressed=True)
        for each, user in zip(asked, (ANA, DAN), strict=True)
    ]
    assert "you are a member now" in done[0]
    assert "would be left without an owner" in done[1]
    assert [await role(lobby, user) for user in (ANA, DAN)] == [Role.MEMBER, Role.OWNER]


async def test_where_the_platform_names_the_owner_that_is_said() -> None:
    house = House(FINISH, trusted=(), language=Locale.EN)
    access = house.access()
    await access.own(ANA, "Ana")
    lobby = Lobby(house)
    async with house.chatbot(access) as lobby.bot:
        for user, given in ((DAN, Role.OWNER), (CARO, Role.MEMBER)):
            await lobby.give(user, given)
        assert (await told(lobby, "/admin owner caro")).startswith("Here the platform itself names an owner")
        assert (await told(lobby, "/admin owner leave")).startswith("The platform itself names you as the owner")
        assert (await told(lobby, "/admin owner leave", DAN)).startswith("Step down?")
