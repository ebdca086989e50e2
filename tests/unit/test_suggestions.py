"""What is mistyped is named, with the nearest right word, and by a button where that changes nobody."""

from __future__ import annotations

import pytest

from core.outgoing import Button, OutgoingMessage
from core.text.words import nearest
from core.types import Role
from tests.fakes.commands import VERBS
from tests.fakes.house import ANA, House
from tests.fakes.lobby import FINISH, Lobby


async def shown(text: str, role: Role = Role.OWNER) -> OutgoingMessage:
    house = House(FINISH, trusted=())
    async with Lobby(house) as lobby:
        await lobby.give(ANA, role)
        channel = house.channel()
        await (await lobby.bot.receive(house.incoming(text), channel))
        assert list(await house.decisions.newest(9)) == []
    return channel.screen[-1]


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/admin modle", "/admin model"),
        ("/admin modle chat openai:x", "/admin model chat openai:x"),
        ("/admin STATSU", "/admin status"),
        ("/admin qouta guest", "/admin quota guest"),
    ],
)
async def test_a_verb_that_was_meant_is_offered(text: str, command: str) -> None:
    told = await shown(text)
    assert told.text.endswith(f"Did you mean `{command}`?")
    assert told.choices == (Button(command, command),)


@pytest.mark.parametrize(
    "text", ["alow 123", "blok test:bia", "rle bia admin", "undoo", "puase", "forgt bia", "ownr bia"]
)
async def test_no_button_changes_people_or_anything_at_once(text: str) -> None:
    told = await shown(f"/admin {text}")
    assert "Did you mean `/admin " in told.text
    assert told.choices == ()


async def test_every_verb_about_people_is_decisive() -> None:
    on_people = {name for name, verb in VERBS.items() if "PERSON" in verb.usage}
    assert {name for name in on_people if not VERBS[name].decisive} == {"users"}


async def test_what_is_for_owners_is_suggested_to_no_admin() -> None:
    assert (await shown("/admin modle", Role.ADMIN)).text.startswith(
        "There is no /admin modle. There are: status, users,"
    )


@pytest.mark.parametrize("text", ["/admin pause tomorrow", "/admin undo 2", "/admin changes all"])
async def test_a_verb_that_takes_nothing_does_nothing_with_more(text: str) -> None:
    told = (await shown(text)).text
    assert told == f"Nothing may follow that, so I did nothing.\nWrite: `{text.rsplit(' ', 1)[0]}`."


async def test_actions_that_are_misspelt_show_how_they_are_written() -> None:
    told = (await shown("/admin actions disabel MemorySave")).text
    assert told.splitlines() == [
        "I do not understand what follows it. Nothing was done.",
        "Write: `/admin actions list | enable NAME | disable NAME`. For example: `/admin actions disable MemorySave`",
    ]


@pytest.mark.parametrize(("text", "command"), [("/remindrs", "/reminders"), ("/memoris wifi", "/memories wifi")])
async def test_a_command_that_was_meant_is_offered_to_everybody(text: str, command: str) -> None:
    told = await shown(text, Role.MEMBER)
    name, meant = text.split(maxsplit=1)[0], command.split(maxsplit=1)[0]
    assert told.text == f"I do not know the command {name}. See /help. Did you mean {meant}?"
    assert told.choices == (Button(command, command),)


async def test_a_command_of_the_staff_is_suggested_to_nobody_else() -> None:
    assert (await shown("/admn", Role.MEMBER)).choices == ()
    assert (await shown("/admn")).choices == (Button("/admin", "/admin"),)


async def test_what_no_button_can_hold_is_suggested_without_one() -> None:
    told = await shown(f"/admin modle chat openai:{'x' * 60}")
    assert "Did you mean" in told.text
    assert told.choices == ()


def test_the_nearest_word_is_near() -> None:
    assert nearest("MODLE", ["model", "role"]) == "model"
    assert nearest("foo", ["model", "role"]) == ""


@pytest.mark.parametrize("asked", ["", " help", " ?"])
async def test_who_asks_for_help_gets_the_verbs(asked: str) -> None:
    told = await shown(f"/admin{asked}")
    assert [line.split()[1] for line in told.text.splitlines()] == list(VERBS)
