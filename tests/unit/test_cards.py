"""A stranger asks, the owner decides: cards, what their buttons do, and what a flood of strangers becomes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.errors import ChannelGone, StorageError
from core.features.access.gate import MAX_AN_HOUR, Cards
from core.features.access.storage import Stranger
from core.outgoing import MAX_COMMAND_BYTES, Button
from core.types import Locale, Role, UserKey
from tests.fakes.channel import OneChannel
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, BIA
from tests.fakes.lobby import Lobby

CARO, DAN = UserKey("test", "caro"), UserKey("test", "dan")
ABROAD = UserKey("other", "ana-there")
PRIVATE_LINE = "This bot is private and does not know you yet. Ask its owner to let you in."
MAY_TALK = (
    "Good news: you can talk to me now. I kept nothing of what you wrote before, so please write it again. "
    "/help shows how."
)
DAY_S = 24 * 3600.0


async def owned(lobby: Lobby) -> Lobby:
    """Let Ana own the bot and Bia administer it; both read English."""
    await lobby.give(ANA, Role.OWNER)
    await lobby.give(BIA, Role.ADMIN)
    for user in (ANA, BIA):
        await lobby.say("what is the password of the wifi?", user)
    return lobby


async def wait(lobby: Lobby, delay_s: float) -> None:
    assert isinstance(lobby.house.clock, FakeClock)
    await lobby.house.clock.advance(delay_s)


def button(lobby: Lobby, user: UserKey, label: str, at: int = -1) -> Button:
    return next(choice for choice in lobby.seen(user)[at].choices if choice.label == label)


async def test_the_owner_gets_a_card_with_who_and_when_and_never_what_was_written() -> None:
    async with Lobby() as lobby:
        await owned(lobby)
        name = "**[x](http://evil)** `y`\n/admin"
        assert await lobby.say("the secret words", CARO, user_name=name, language="es-MX") == [PRIVATE_LINE]
        (card,) = lobby.seen(ANA)
        assert card.text == (
            "🔔 Somebody I do not know wrote to me (time in UTC):\n"
            "14 Mar 2026, 15:09 · `test:caro` · `**[x](http://evil)** y /admin` · `es-MX`\n"
            "I kept nothing of what they wrote. May I talk to them?"
        )
        assert [(choice.label, choice.command) for choice in card.choices] == [
            ("Allow", "/admin allow test:caro"),
            ("Deny", "/admin deny test:caro"),
            ("Block", "/admin block test:caro"),
        ]
        assert all(choice.in_place for choice in card.choices)
        assert lobby.seen(BIA) == []
        assert lobby.seen(CARO) == []
        assert not await lobby.house.inbox.owed("test")


async def test_every_owner_gets_one_on_every_platform_they_own() -> None:
    async with Lobby(platforms=("test", "other")) as lobby:
        await owned(lobby)
        await lobby.give(ABROAD, Role.OWNER)
        await lobby.say("hi", CARO)
        assert len(lobby.seen(ANA)) == 1
        assert len(lobby.seen(ABROAD)) == 1
        assert lobby.seen(ABROAD)[0].text.startswith("🔔 Somebody I do not know")  # nothing tells their language


async def test_an_owner_who_cannot_be_reached_keeps_nobody_else_from_being_asked() -> None:
    async with Lobby() as lobby:
        await lobby.give(DAN, Role.OWNER)
        await owned(lobby)
        lobby.private[DAN].faults = [ChannelGone("blocked")] * 9
        assert await lobby.say("hi", CARO) == [PRIVATE_LINE]
        assert len(lobby.seen(ANA)) == 1


async def test_a_card_speaks_the_language_that_its_reader_chose() -> None:
    async with Lobby() as lobby:
        await owned(lobby)
        await lobby.say("/language es", ANA)
        await lobby.say("hi", CARO)
        assert [choice.label for choice in lobby.seen(ANA)[0].choices] == ["Permitir", "Rechazar", "Bloquear"]
        assert (await lobby.house.preferences.of(ANA)).language == Locale.ES


async def test_who_is_allowed_is_told_so_and_answered_and_the_card_tells_who_decided() -> None:
    async with Lobby() as lobby:
        await owned(lobby)
        await lobby.say("hi", CARO)
        told = await lobby.press(button(lobby, ANA, "Allow"), ANA)
        assert told == (
            "Done. `test:caro`: stranger → member\n"
            "Decided by: `test:ana`, 14 Mar 2026, 15:09 (UTC)\n"
            "To undo it: /admin undo"
        )
        assert [shown.text for shown in lobby.seen(CARO)] == [MAY_TALK]
        assert await lobby.say("hi", CARO) == ["Hello"]


async def test_who_is_made_a_guest_is_told_so_too_and_who_never_wrote_is_not_written_to() -> None:
    async with Lobby() as lobby:
        await owned(lobby)
        await lobby.say("hi", CARO)
        await lobby.say("/admin role caro guest", ANA)
        await lobby.say("/admin allow dan", ANA)
        assert [shown.text for shown in lobby.seen(CARO)] == [MAY_TALK]
        assert lobby.seen(DAN) == []


async def test_who_is_denied_is_told_nothing_more_and_asked_about_no_more_for_thirty_days() -> None:
    async with Lobby() as lobby:
        await owned(lobby)
        await lobby.say("hi", CARO)
        assert "stranger → denied" in await lobby.press(button(lobby, ANA, "Deny"), ANA)
        for _ in range(29):
            await wait(lobby, DAY_S)
            assert await lobby.say("hi", CARO) == []
        assert len(lobby.seen(ANA)) == 1
        assert lobby.seen(CARO) == []
        await wait(lobby, DAY_S)
        assert await lobby.say("hi", CARO) == [PRIVATE_LINE]
        assert len(lobby.seen(ANA)) == 2


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ("Allow", "That is already so. `test:caro`: member\nDecided by: `test:ana`, 14 Mar 2026, 15:09 (UTC)"),
        (
            "Block",
            (
                "That has been decided in the meantime; nothing was done. `test:caro`: member\n"
                "Decided by: `test:ana`, 14 Mar 2026, 15:09 (UTC)"
            ),
        ),
    ],
)
async def test_of_two_who_press_one_decides_and_the_other_is_told(second: str, told: str) -> None:
    async with Lobby() as lobby:
        await owned(lobby)
        await lobby.give(DAN, Role.OWNER)
        await lobby.say("please remember that hello is the password", DAN)
        await lobby.say("hi", CARO)
        mine, theirs = button(lobby, ANA, "Allow"), button(lobby, DAN, second)
        await lobby.press(mine, ANA)
        assert await lobby.press(theirs, DAN) == told
        assert len(await lobby.house.decisions.newest(9)) == 1
        assert len(lobby.seen(CARO)) == 1


async def test_a_button_gives_its_presser_no_right_that_they_lack() -> None:
    async with Lobby() as lobby:
        await owned(lobby)
        await lobby.say("hi", CARO)
        await lobby.give(DAN, Role.MEMBER)
        allow = button(lobby, ANA, "Allow")
        assert await lobby.press(allow, DAN) == "Only this bot's owner can do that."
        assert await lobby.press(allow, CARO) == ""
        assert await lobby.house.people.find(CARO) is None


@pytest.mark.parametrize("decided", ["allow", "deny", "block"])
async def test_about_whom_somebody_decided_before_the_card_was_written_nobody_is_asked(decided: str) -> None:
    async with Lobby() as lobby:
        await owned(lobby)
        now = lobby.house.clock.now()
        await lobby.house.people.note_stranger(Stranger(CARO, "Caro", now), timedelta(days=1))
        await lobby.say(f"/admin {decided} caro", ANA)
        features = lobby.house.features()
        features.notifier.connect("test", OneChannel(lobby.house.channel(), lobby.private.__getitem__))
        cards = Cards(
            features.access,
            features.notifier,
            features.locales,
            features.clock,
            kept=features.stores.kept,
            titles=features.titles,
        )
        await cards.ask(CARO)
        assert lobby.seen(ANA) == []
        await cards.ask(DAN)
        assert lobby.seen(ANA) == []


async def test_of_a_flood_the_owner_reads_one_line_and_then_how_many_more_there_were() -> None:
    async with Lobby() as lobby:
        await owned(lobby)
        for number in range(MAX_AN_HOUR + 5):
            await lobby.say("hi", UserKey("test", f"zoe{number}"))
        *cards, line = lobby.seen(ANA)
        assert len(cards) == MAX_AN_HOUR
        assert line.text == (
            "More strangers are writing. I asked you about 10 this hour and will not ask about more for now. "
            "See /admin users."
        )
        assert [choice.command for choice in line.choices] == ["/admin users"]
        await wait(lobby, 3600)
        await lobby.say("hi", CARO)
        *_, card = lobby.seen(ANA)
        assert "`test:caro`" in card.text


async def test_who_asked_is_listed_with_buttons_that_lead_to_a_card() -> None:
    async with Lobby() as lobby:
        await owned(lobby)
        for number in range(23):
            await lobby.say("hi", UserKey("test", f"zoe{number:02}"))
        await lobby.say("/admin users", BIA)
        channel = lobby.house.channel()
        await (await lobby.bot.receive(lobby.house.incoming("/admin users", user=BIA, message_id="u"), channel))
        (listed,) = channel.screen
        assert listed.text.splitlines()[-1] == "and 3 more"
        assert [(each.label, each.command) for each in listed.menu][:2] == [
            ("1. zoe00", "/admin users test:zoe00"),
            ("2. zoe01", "/admin users test:zoe01"),
        ]
        assert len(listed.menu) == 20
        pressed = lobby.house.channel()
        incoming = lobby.house.incoming(listed.menu[1].command, user=BIA, message_id="p")
        await (await lobby.bot.receive(incoming, pressed))
        (card,) = pressed.screen
        assert "`test:zoe01`" in card.text
        assert [choice.label for choice in card.choices] == ["Allow", "Deny", "Block"]
        assert "stranger → denied" in await lobby.press(card.choices[1], BIA)
        told = "\n".join(await lobby.say("/admin users", BIA))
        assert (
            "Denied less than 30 days ago (times in UTC):\n14 Mar 2026, 15:09 · `test:zoe01` · `zoe01` · `en`" in told
        )
        assert "\nand 2 more" in told


async def test_of_one_person_what_they_are_is_shown() -> None:
    async with Lobby() as lobby:
        await owned(lobby)
        assert await lobby.say("/admin users bia", ANA) == ["admin · `test:bia` · `bia`"]
        not_seen = "I have not seen this account yet: check its id."
        assert await lobby.say("/admin users dan", ANA) == [f"stranger · `test:dan`\n{not_seen}"]
        assert (await lobby.say("/admin deny dan", ANA))[1:] == [not_seen]
        assert await lobby.say("/admin users dan", ANA) == [f"denied · `test:dan`\n{not_seen}"]
        assert (await lobby.say("/admin users a b", ANA))[0].startswith("Say who. I need the numeric id")


async def test_an_id_that_no_button_can_hold_gets_none() -> None:
    async with Lobby() as lobby:
        await owned(lobby)
        await lobby.say("hi", UserKey("test", "z" * MAX_COMMAND_BYTES))
        (card,) = lobby.seen(ANA)
        assert card.choices == ()
        assert "z" * MAX_COMMAND_BYTES in card.text


async def test_owners_who_cannot_be_looked_up_are_not_asked_and_the_stranger_is_told_all_the_same() -> None:
    async with Lobby() as lobby:
        await owned(lobby)

        async def unreadable() -> None:
            raise StorageError("disk gone")

        lobby.house.people.all = unreadable  # type: ignore[method-assign,assignment]
        assert await lobby.say("hi", CARO) == [PRIVATE_LINE]
        assert lobby.seen(ANA) == []
