"""A room that the bot is brought into reads who may ask there, and the owners hear of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from core.errors import StorageError
from core.features.access.gate import MAX_AN_HOUR
from core.features.access.rules import Mode
from core.features.admin.storage import ALLOWED, Decision, DecisionKind
from core.outgoing import OutgoingMessage
from core.types import ChatKey, Invitation, Locale, Role, UserKey
from tests.fakes.house import ANA, BIA, House
from tests.fakes.lobby import FINISH, Lobby

CARO, ZOE = UserKey("test", "caro"), UserKey("test", "zoe")
ROOM = ChatKey("test", "room")
HOW = {locale: f"How, in {locale}." for locale in Locale}
INVITED = Invitation(ROOM, "Book `club`", ZOE, "Zoe", HOW, "zo", "en")


@pytest.fixture
async def lobby() -> AsyncIterator[Lobby]:
    async with Lobby() as there:
        await there.give(ANA, Role.OWNER)
        yield there


async def said(lobby: Lobby, invitation: Invitation = INVITED) -> list[OutgoingMessage]:
    """What is said in the room."""
    channel = lobby.house.channel()
    await lobby.bot.invited(invitation, channel)
    return list(channel.screen)


async def test_a_room_reads_who_may_ask_and_the_owner_lets_everybody_ask_from_their_own_chat(lobby: Lobby) -> None:
    [greeting] = await said(lobby)
    assert greeting.text == "How, in en.\n\nOnly people my owner knows may ask here yet."
    assert [choice.command for choice in greeting.choices] == ["/admin allow here"]
    [card] = lobby.seen(ANA)
    assert card.text == (
        "🔔 I was added to a group:\n`Book club` · `test:room`\nBy: `test:zoe` · `Zoe` · `@zo`\n"
        "In this room I answer only people who were let in."
    )
    assert await lobby.say("hi", CARO, room="room") == []
    told = await lobby.press(card.choices[0], ANA)
    assert "Done. “`` Book `club` ``”: not let in → let in" in told
    assert await lobby.say("hi", CARO, room="room") == ["Hello"]
    assert "let in → not let in" in await lobby.press(replace(card.choices[0], command="/admin undo"), ANA)
    assert await lobby.say("hi", CARO, room="room") == []


async def test_the_button_in_the_room_is_for_whoever_may_decide_and_of_no_use_to_others(lobby: Lobby) -> None:
    [greeting] = await said(lobby)
    button = greeting.choices[0]
    assert await lobby.say(button.command, CARO, room="room", pressed=True) == []
    assert await lobby.say("hi", CARO, room="room") == []
    [told] = await lobby.say(button.command, ANA, room="room", pressed=True)
    assert "Done. “`` Book `club` ``”: not let in → let in" in told
    assert await lobby.say("hi", CARO, room="room") == ["Hello"]


async def test_an_owner_who_brings_it_there_is_told_there_and_the_other_owners_by_a_card(lobby: Lobby) -> None:
    await lobby.give(BIA, Role.OWNER)
    [greeting] = await said(lobby, replace(INVITED, user=ANA))
    assert greeting.choices
    assert (len(lobby.seen(ANA)), len(lobby.seen(BIA))) == (0, 1)


async def test_who_is_blocked_is_not_spoken_to_and_owners_hear_of_it(lobby: Lobby) -> None:
    await lobby.give(ZOE, Role.BLOCKED)
    assert await said(lobby) == []
    assert len(lobby.seen(ANA)) == 1


@pytest.mark.parametrize(
    ("mode", "let_in", "here"),
    [
        (Mode.PRIVATE, True, "Everybody here may ask me."),
        (Mode.OPEN, False, "Everybody here may ask me."),
        (Mode.MEMBERS, True, "Only people my owner knows may ask me here."),
    ],
)
async def test_where_nothing_is_to_be_decided_there_is_no_button(mode: Mode, here: str, *, let_in: bool) -> None:
    house = House(FINISH, trusted=(), mode=mode)
    if let_in:
        name = "test:room"
        await house.decisions.apply(Decision(house.clock.now(), ANA, DecisionKind.ROOM, name, "", ALLOWED))
    async with Lobby(house) as lobby:
        await lobby.give(ANA, Role.OWNER)
        [greeting] = await said(lobby)
        assert (greeting.text.partition("\n\n")[2], greeting.choices) == (here, ())
        assert [card.choices for card in lobby.seen(ANA)] == [()]


async def test_who_brings_it_into_many_rooms_does_not_flood_the_owner(lobby: Lobby) -> None:
    for number in range(MAX_AN_HOUR + 5):
        assert await said(lobby, replace(INVITED, room=ChatKey("test", f"room{number}")))
    assert len(lobby.seen(ANA)) == MAX_AN_HOUR + 1


async def test_where_it_is_not_known_who_may_ask_nothing_is_said(lobby: Lobby) -> None:
    async def unreadable(_: object) -> str:
        raise StorageError("disk gone")

    lobby.house.decisions.is_let_in = unreadable  # type: ignore[method-assign,assignment]
    assert await said(lobby) == []
