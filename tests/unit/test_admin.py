"""/admin, as an owner, an admin and everybody else meets it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.dialogue import Task
from core.enclosures import Quote, QuoteKind, Speaker
from core.features.access.rules import Mode
from core.features.access.storage import DENIED
from core.features.admin.decide import MATTERS, may
from core.features.admin.storage import ALLOWED, OFF, ON, Decision, DecisionKind
from core.outgoing import OutgoingMessage
from core.stores import Backlog
from core.types import Role, UserKey
from core.workers.port import Colleague
from tests.fakes.clock import START, FakeClock
from tests.fakes.commands import VERBS
from tests.fakes.house import ANA, BIA, House
from tests.fakes.office import CARO, Office

ONLY_OWNER = "Only this bot's owner can do that."
ONLY_OWNERS = "Only an owner can change that. Nothing was done."


@pytest.fixture
async def office() -> Office:
    return await Office().open()


@pytest.mark.parametrize("text", ["/admin", "/admin status", "/admin allow test:bia", "/ADMIN users"])
async def test_to_whom_it_is_not_for_reads_whose_it_is(office: Office, text: str) -> None:
    await office.give(CARO, Role.MEMBER)
    assert await office.say(text, CARO) == ONLY_OWNER
    assert await office.say("/wonder", CARO) == "I do not know the command /wonder. See /help."
    assert "/admin" not in await office.say("/help all", CARO)


async def test_the_verbs_that_a_person_may_use_are_listed(office: Office) -> None:
    admins = [name for name, verb in VERBS.items() if not verb.for_owners]
    for user, verbs in ((ANA, list(VERBS)), (BIA, admins)):
        assert [line.split()[1] for line in (await office.say("/admin", user)).splitlines()] == verbs
        told = await office.say("/admin foo", user)
        assert told == f"There is no /admin foo. There are: {', '.join(verbs)}."


@pytest.mark.parametrize("verb", [name for name, verb in VERBS.items() if verb.for_owners])
async def test_an_admin_reads_which_verbs_are_for_owners(office: Office, verb: str) -> None:
    assert await office.say(f"/admin {verb} caro admin", BIA) == ONLY_OWNER
    assert await office.say(f"/admin {verb}", BIA, chat="room", private=False) == ONLY_OWNER
    assert list(await office.house.decisions.newest(9)) == []


async def test_who_was_let_in_is_answered_from_then_on_and_who_was_denied_no_more(office: Office) -> None:
    assert "private" in await office.say("hi", CARO)
    assert await office.say("/admin allow test:caro") == (
        "Done. `test:caro`: stranger → member\nTo undo it: /admin undo"
    )
    assert await office.say("hi", CARO) == "Hello"
    assert await office.say("/admin allow caro", BIA) == (
        "That is already so. `test:caro`: member\nDecided by: `test:ana`, 14 Mar 2026, 15:09 (UTC)"
    )
    assert "member → denied" in await office.say("/admin deny caro", BIA)
    assert await office.say("hi", CARO) == ""
    assert "denied → blocked" in await office.say("/admin block caro", BIA)
    assert await office.say("hi", CARO) == ""


async def test_who_is_more_than_a_member_stays_so_when_let_in(office: Office) -> None:
    assert await office.say("/admin allow bia") == "That is already so. `test:bia`: admin"
    assert await office.say("/admin allow ana", BIA) == "That is already so. `test:ana`: owner"


async def test_owners_give_roles(office: Office) -> None:
    await office.say("/admin role caro admin")
    assert await office.role(CARO) is Role.ADMIN
    assert (await office.say("/admin role caro owner")).splitlines() == [
        "There is no role “owner”. There are: admin, member, guest. To make somebody an owner: /admin owner",
        "Write: `/admin role PERSON admin|member|guest`. For example: `/admin role telegram:123456 admin`",
    ]
    assert "admin → member" in await office.say("/admin role caro member")
    assert "member → guest" in await office.say("/admin role caro guest")
    assert await office.say("hi", CARO) == "Hello"
    assert await office.say("/admin users", CARO) == ONLY_OWNER


async def test_a_room_is_let_in_from_inside_and_gives_nobody_a_private_answer(office: Office) -> None:
    assert await office.say("hi", CARO, chat="room", private=False) == ""
    assert await office.say("/admin allow here", CARO, chat="room", private=False) == ""
    assert "`test:room`: not let in → let in" in await office.say("/admin allow here", BIA, chat="room", private=False)
    assert await office.say("hi", CARO, chat="room", private=False) == "Hello"
    assert await office.say("/admin deny here", CARO, chat="room", private=False) == ONLY_OWNER
    assert "private" in await office.say("hi", CARO)
    assert "`test:room`" in await office.say("/admin users")
    await office.say("/admin deny here", BIA, chat="room", private=False)
    assert await office.say("hi", CARO, chat="room", private=False) == ""


async def test_a_room_is_let_in_by_the_bare_verb_and_a_person_by_a_reply_to_them(office: Office) -> None:
    room: dict[str, Any] = {"chat": "room", "private": False}
    assert "`test:room`: not let in → let in" in await office.say("/admin allow", BIA, **room)
    assert "`test:room`: let in → not let in" in await office.say("/admin deny", BIA, **room)
    greeting = (Quote(QuoteKind.REPLY, "Only people my owner knows may ask here yet.", Speaker.BOT),)
    assert "`test:room`: not let in → let in" in await office.say("/admin allow", BIA, quotes=greeting, **room)
    hers = (Quote(QuoteKind.REPLY, "may I?", Speaker.OTHER, "Caro"),)
    told = await office.say("/admin allow", BIA, quotes=hers, quoted_user="caro", **room)
    assert "`Caro`: stranger → member" in told
    assert "· `Caro`" in await office.say("/admin users", BIA)
    assert "I cannot see whose message that is" in await office.say("/admin allow", BIA, quotes=hers, **room)
    assert "here" in await office.say("/admin allow", BIA)
    assert await office.house.decisions.is_let_in("test:room")


async def test_who_may_ask_in_a_room_is_shown_and_decided_from_anywhere(office: Office) -> None:
    assert (await office.say("/admin room test:room", BIA)).startswith("In this room I answer only people who were let")
    assert "`test:room`: not let in → let in" in await office.say("/admin room test:room allow", BIA)
    assert (await office.say("/admin room", BIA, chat="room", private=False)).startswith(
        "I answer everybody in this room"
    )
    assert await office.say("hi", CARO, chat="room", private=False) == "Hello"
    assert "`test:room`: let in → not let in" in await office.say("/admin room test:room deny", BIA)
    assert await office.say("hi", CARO, chat="room", private=False) == ""


async def test_in_a_room_nothing_is_shown_that_is_not_about_it(office: Office) -> None:
    for text in ("/admin", "/admin users", "/admin allow caro", "/admin pause"):
        told = await office.say(text, chat="room", private=False)
        assert told == (
            "Here only: /admin allow, /admin deny, /admin prompt here, /admin policy here, "
            "/admin quota here, /admin room. Everything else in private."
        )
    assert list(await office.house.decisions.newest(9)) == []


@pytest.mark.spec("T6")
async def test_an_action_is_turned_off_and_on_at_once_and_stays_so_after_a_restart(office: Office) -> None:
    house = office.house
    assert "`MemorySave`: as the settings say → off" in await office.say("/admin actions disable memorysave", BIA)
    assert "⛔ off: MemorySave" in await office.say("/admin actions list", BIA)
    await office.say("remember that the code is 7")
    assert "MemorySave" not in house.model.asked(Task.DECIDE)[-1].context.choices
    again = House(trusted=(), people=house.people)
    again.decisions = house.decisions
    await again.features().open()
    assert "MemorySave" in [action.name for action in again.registry.disabled]
    assert "off → on" in await office.say("/admin actions enable MemorySave", BIA)
    assert "on → off" in await office.say("/admin undo", BIA)
    assert "MemorySave" in [action.name for action in house.registry.disabled]


async def test_undone_an_action_is_as_the_settings_say() -> None:
    office = await Office(House(trusted=(), off=("MemorySave",))).open()
    await office.say("/admin actions enable MemorySave")
    assert [action.name for action in office.house.registry.disabled] == []
    assert "on → as the settings say" in await office.say("/admin undo")
    assert [action.name for action in office.house.registry.disabled] == ["MemorySave"]


async def test_an_action_that_there_is_not_and_one_that_must_be_are_told(office: Office) -> None:
    assert (await office.say("/admin actions disable Wonder")).startswith("There is no action “Wonder”. There are: ")
    told = await office.say("/admin actions disable finish")
    assert told == "Finish ends every answer and cannot be turned off."


async def test_what_was_decided_on_an_action_of_another_version_does_no_harm() -> None:
    house = House()
    await house.decisions.apply(Decision(START, ANA, DecisionKind.ACTION, "Gone", "", OFF))
    await house.features().open()
    assert not house.registry.disabled


async def test_the_state_is_told(office: Office) -> None:
    assert isinstance(office.house.clock, FakeClock)
    await office.house.clock.advance(26 * 3600 + 61)
    told = await office.say("/admin status")
    assert told.splitlines() == [
        "State: answering",
        "Access: private",
        "Up for: 1 d 2 h 1 min",
        "Platforms: test",
        "Models: scripted:1",
        "Embeddings: hash@64",
        "Memories: 0 (people who have some: 0)",
        "Answers under way: 0; waiting: 0",
        "0 errors in the last 24 h (/admin logs)",
        "Today: messages 0, tokens 0, US$ 0.0000",
        "Database: SQLite 3.50, 5.0 MB",
        "Version: 1.2.3",
    ]


async def test_several_workers_are_told_with_what_each_does(office: Office) -> None:
    async def workers() -> Sequence[Colleague]:
        return [
            Colleague(now - timedelta(hours=2), "1.2.3", "one:7", 3, ("duty:telegram:1:poll",)),
            Colleague(
                now - timedelta(seconds=59),
                "1.2.4",
                "two:7",
                1,
                ("duty:housekeeping", "duty:broadcasts", "duty:discord:9:gateway"),
            ),
        ]

    async def owed() -> Mapping[str, Backlog]:
        return {"test": Backlog(3, now - timedelta(seconds=61))}  # one is this question

    house, now = office.house, office.house.clock.now()
    survey = replace(house.machine.survey, workers=workers, owed=owed)
    house.machine = replace(house.machine, survey=survey)
    assert (await office.say("/admin status")).splitlines()[7:11] == [
        "Workers that share the work: 2",
        "• `one:7` · up for 2 h 0 min · version 1.2.3 · fetches what is new on Telegram · answering in 3 chats",
        (
            "• `two:7` · up for 59 s · version 1.2.4 · fetches what is new on Discord · sends broadcasts"
            " · tidies up the database · answering in 1 chat"
        ),
        "2 messages wait for their answers, the oldest for 1 min",
    ]


async def test_the_owner_sees_who_is_who_and_who_asked(office: Office) -> None:
    stranger = replace(office.house.incoming("hi", user=CARO), user_name="[x](http://evil) `y`\n/admin")
    async with office.house.chatbot() as bot:
        await (await bot.receive(stranger, office.house.channel()))
    assert (await office.say("/admin users", BIA)).splitlines() == [
        "Who I answer:",
        "owner · `test:ana` · `ana`",
        "admin · `test:bia` · `bia`",
        "",
        "People I do not know who wrote (the newest first, times in UTC; /admin allow ID lets one in):",
        "1. 14 Mar 2026, 15:09 · `test:caro` · `[x](http://evil) y /admin` · `en`",
    ]


async def test_every_change_is_on_record_and_taken_back_the_newest_first(office: Office) -> None:
    await office.say("/admin allow caro", BIA)
    await office.say("/admin actions disable question")
    assert await office.say("/admin undo", BIA) == (
        "Done. `Question`: off → as the settings say\nTo undo it: /admin undo"
    )
    assert "`test:caro`: member → stranger" in await office.say("/admin undo", BIA)
    assert await office.say("/admin undo", BIA) == "There is nothing to undo."
    assert (await office.say("/admin changes", BIA)).splitlines() == [
        "Last changes (the newest first, times in UTC):",
        "14 Mar 2026, 15:09 · `test:bia` · `test:caro`: member → stranger (undone)",
        "14 Mar 2026, 15:09 · `test:bia` · `Question`: off → as the settings say (undone)",
        "14 Mar 2026, 15:09 · `test:ana` · `Question`: as the settings say → off",
        "14 Mar 2026, 15:09 · `test:bia` · `test:caro`: stranger → member",
    ]
    assert await office.role(CARO) is None


async def test_what_changed_otherwise_meanwhile_is_not_taken_back(office: Office) -> None:
    await office.say("/admin allow caro")
    await office.house.people.remove(CARO)
    assert (await office.say("/admin undo")).startswith("That has changed in the meantime")


async def test_before_anything_was_changed_there_is_nothing_to_show(office: Office) -> None:
    assert await office.say("/admin changes") == "Nothing was changed yet."


ROLES: Sequence[str] = ["", DENIED, *(each.value for each in Role)]
VALUES: dict[str, Sequence[str]] = {
    DecisionKind.ROLE: ROLES,
    DecisionKind.ROOM: ["", ALLOWED],
    DecisionKind.ACTION: ["", ON, OFF],
    DecisionKind.PAUSE: ["", ON],
}
OTHER_VALUES = ("", "a", "b")


@given(st.data())
def test_whoever_may_decide_may_take_it_back_and_only_staff_decides(data: st.DataObject) -> None:
    matter = data.draw(st.sampled_from(MATTERS))
    before, after = (data.draw(st.sampled_from(VALUES.get(matter.kind, OTHER_VALUES))) for _ in range(2))
    decision = Decision(START, ANA, matter.kind, "x", before, after)
    back = replace(decision, before=after, after=before)
    for role in Role:
        assert may(role, decision, matter) == may(role, back, matter)
        if role not in {Role.OWNER, Role.ADMIN}:
            assert not may(role, decision, matter)
    assert may(Role.OWNER, decision, matter)


# --- modes of access -------------------------------------------------------------------------------------------------


async def test_the_modes_are_shown_with_what_each_means(office: Office) -> None:
    told = await office.say("/admin access")
    assert told.splitlines() == [
        "Who I answer, besides the people who were let in (to change it: /admin access MODE):",
        "● private — people who write in a room that was let in: only there, as guests",
        "○ members — nobody else, not even in rooms that were let in",
        "○ open — everybody, everywhere, as guests, except people who are blocked",
    ]
    assert (await office.say("/admin access wonder")).startswith("There is no mode “wonder”. Nothing was changed.")
    assert "as the settings say → members only" in await office.say("/admin access MEMBERS")
    assert "○ private" in await office.say("/admin access")


async def test_opening_to_everybody_is_asked_once_more_and_then_holds_at_once_and_is_taken_back(office: Office) -> None:
    house = office.house
    async with house.chatbot() as bot:

        async def say(text: str, number: str, *, user: UserKey = ANA, pressed: bool = False) -> OutgoingMessage:
            channel = house.channel()
            incoming = replace(house.incoming(text, user=user, message_id=number), pressed=pressed)
            await (await bot.receive(incoming, channel))
            return channel.screen[0]

        asked = await say("/admin access open", "1")
        assert asked.text.startswith("Open means: I answer anybody who finds this bot, in private and in every room")
        (button,) = asked.choices
        assert button.label == "Open it to everybody"
        assert asked.text.endswith(f"To confirm: {button.command}")
        assert await house.access().mode() is Mode.PRIVATE
        wrong = await say("/admin access open AAAAA", "2")
        assert wrong.text.startswith("Open means")
        assert (await say(button.command, "3", pressed=True)).text.startswith("Open means")  # used up
        (button,) = (await say("/admin access open", "4")).choices
        done = await say(button.command, "5", pressed=True)
        assert done.text.startswith("Done. access: as the settings say → open to everybody\nDecided by: `test:ana`")
        assert (await say("hi", "6", user=CARO)).text == "Hello"
        assert "That is already so. access: open to everybody" in (await say("/admin access open", "7")).text
        assert "open to everybody → as the settings say" in (await say("/admin undo", "8")).text
        assert "private" in (await say("hi", "9", user=CARO)).text
    assert [each.after for each in await house.decisions.newest(9)] == ["", "open"]
