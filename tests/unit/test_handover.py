"""/admin owner: another owner by two steps, and how an owner steps down."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from core.errors import ChannelGone
from core.features.access.people import DENIED
from core.features.admin.decisions import Decision, DecisionKind
from core.features.admin.handover import OFFERED_FOR
from core.types import Locale, Role, UserKey
from tests.fakes.clock import FakeClock
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


async def answered(lobby: Lobby, user: UserKey, label: str) -> str:
    offer = lobby.seen(user)[-1]
    [button] = [choice for choice in offer.choices if choice.label == label]
    return await lobby.press(button, user)


@pytest.mark.parametrize("user", [BIA, CARO])
async def test_another_becomes_an_owner_once_both_sides_agreed(lobby: Lobby, user: UserKey) -> None:
    before = await role(lobby, user)
    asked = await told(lobby, f"/admin owner {user.user}")
    assert asked.startswith("Make this person an owner?")
    assert "Owners can do everything" in asked
    assert not lobby.seen(user)
    assert "who can accept until 2026-03-15 15:09 (UTC)" in await confirmed(lobby, f"/admin owner {user.user}")
    assert f"`{user}` was asked to become one; open until 2026-03-15 15:09" in await told(lobby, "/admin owner")
    assert "asks you to become an owner of this bot, too." in lobby.seen(user)[0].text
    assert await role(lobby, user) is before
    assert await answered(lobby, user, "Become an owner") == "Done: you are an owner of this bot now. See /admin."
    assert (await role(lobby, ANA), await role(lobby, user)) == (Role.OWNER, Role.OWNER)
    assert lobby.seen(ANA)[-1].text.startswith(f"`{user.user}` `{user}` is an owner now, too.")
    assert "was asked to become one" not in await told(lobby, "/admin owner")
    changes = await told(lobby, "/admin changes")
    assert f"`test:ana` · ownership offered to `{user}`: no → 2026-03-14" in changes
    assert f"`{user}` · `{user}`: {before} → owner" in changes
    assert f"`{user}`: owner → {before}" in await told(lobby, "/admin undo")
    assert await told(lobby, "/admin undo") == "There is nothing to undo."
    assert "There is nothing to accept" in await answered(lobby, user, "Become an owner")
    assert await role(lobby, user) is before


async def test_who_declines_changes_nothing_and_the_owner_is_told(lobby: Lobby) -> None:
    await confirmed(lobby, "/admin owner caro")
    assert await answered(lobby, CARO, "No, thanks") == "All right. Nothing changes."
    assert lobby.seen(ANA)[-1].text == "`caro` `test:caro` does not want to become an owner. Nothing changes."
    assert "There is nothing to accept" in await answered(lobby, CARO, "Become an owner")
    assert await role(lobby, CARO) is Role.MEMBER


async def test_an_offer_ends_after_a_day(lobby: Lobby) -> None:
    await confirmed(lobby, "/admin owner caro")
    assert isinstance(lobby.house.clock, FakeClock)
    await lobby.house.clock.advance(OFFERED_FOR / timedelta(seconds=1))
    assert "has expired" in await answered(lobby, CARO, "Become an owner")
    assert await role(lobby, CARO) is Role.MEMBER
    await confirmed(lobby, "/admin owner caro")
    assert (await answered(lobby, CARO, "Become an owner")).startswith("Done")


async def test_an_offer_is_taken_back_by_undo(lobby: Lobby) -> None:
    await confirmed(lobby, "/admin owner caro")
    assert "ownership offered to `test:caro`: 2026-03-14T15:09:26+00:00 → no" in await told(lobby, "/admin undo")
    assert "it was taken back" in await answered(lobby, CARO, "Become an owner")
    assert await role(lobby, CARO) is Role.MEMBER


async def test_an_offer_of_who_is_no_owner_any_more_is_void(lobby: Lobby) -> None:
    await lobby.give(DAN, Role.OWNER)
    await confirmed(lobby, "/admin owner caro", DAN)
    await told(lobby, "/admin role dan member")
    assert "There is nothing to accept" in await answered(lobby, CARO, "Become an owner")
    assert await role(lobby, CARO) is Role.MEMBER


@pytest.mark.parametrize("after", [DENIED, Role.BLOCKED.value])
async def test_who_lost_access_meanwhile_accepts_nothing(lobby: Lobby, after: str) -> None:
    await confirmed(lobby, "/admin owner caro")
    now = lobby.house.clock.now()
    await lobby.house.decisions.apply(Decision(now, ANA, DecisionKind.ROLE, str(CARO), "member", after))
    await answered(lobby, CARO, "Become an owner")
    assert await role(lobby, CARO) is not Role.OWNER


async def test_what_was_offered_to_one_is_accepted_by_no_other(lobby: Lobby) -> None:
    await confirmed(lobby, "/admin owner caro")
    for user in (BIA, DAN):
        assert "Done" not in await told(lobby, "/owner accept", user, pressed=True)
        assert await role(lobby, user) is not Role.OWNER


async def test_only_whom_the_bot_knows_and_reaches_is_asked(lobby: Lobby) -> None:
    assert "`test:dan` is not let in here (now: stranger)" in await told(lobby, "/admin owner dan")
    assert (await told(lobby, "/admin owner ana")).startswith("That is an owner already: owner · `test:ana`")
    lobby.private[CARO].faults = [ChannelGone("never wrote")] * 9
    assert "I cannot write to `caro` `test:caro`, so nothing was done." in await confirmed(lobby, "/admin owner caro")
    assert "was asked to become one" not in await told(lobby, "/admin owner")
    assert "There is nothing to accept" in await told(lobby, "/owner accept", CARO, pressed=True)


async def test_without_the_code_nothing_is_offered(lobby: Lobby) -> None:
    await told(lobby, "/admin owner caro")
    assert (await told(lobby, "/admin owner confirm AAAA")).startswith("Nothing was done: that code is wrong")
    assert not lobby.seen(CARO)


async def test_an_admin_hands_over_nothing(lobby: Lobby) -> None:
    assert (await told(lobby, "/admin owner caro", BIA)).startswith("There is no /admin owner.")


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
