"""Role by command by place: everything for owners and in two places, of each kind one for all else."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from core.dialogue import Task
from core.features.access.rules import Mode
from core.types import ChatKey
from tests.fakes.commands import COMMANDS, VERBS
from tests.fakes.house import House
from tests.table import (
    ADMIN,
    ASIDE,
    ASIDE_LET_IN,
    EVERYBODYS,
    GROUP,
    GROUP_LET_IN,
    MEMBER,
    OWNER,
    OWNERS,
    PLACES,
    PRIVATE,
    ROLES,
    SEEN_BY_ONE,
    SERVER,
    SERVER_LET_IN,
    STAFFS,
    TEXTS,
    Names,
    expected,
    settle,
)

NAMES = Names("test", "ana", "zoe", "c")
SAID_TO_EACH = ("hello", "/memories", "/admin", "/admin access open")
"""What is everybody's, what is one's own, what is the staff's, and what is the owners' and depends on the mode."""
THREADS = {PRIVATE: "", GROUP: "", GROUP_LET_IN: "", SERVER: "7", SERVER_LET_IN: "7", ASIDE: "@a", ASIDE_LET_IN: "@a"}


async def told(role: str, text: str, place: str, mode: Mode) -> tuple[str, bool]:
    """Return what somebody is told, and whether a model was asked."""
    house = House({Task.DECIDE: ["Finish"], Task.FINISH: ["Hello"]}, trusted=(), mode=mode)
    await settle(house, role, place, NAMES)
    channel = house.channel()
    incoming = house.incoming(NAMES.put_into(text))
    incoming = replace(incoming, chat=ChatKey("test", "c", THREADS[place]), private=place in SEEN_BY_ONE)
    async with house.chatbot() as bot:
        await (await bot.receive(incoming, channel))
    assert not await house.inbox.owed("test")
    return "\n".join(shown.text for shown in channel.screen), bool(house.model.prompts)


def test_what_is_expected_is_of_the_table() -> None:
    assert {text[1:] for text in EVERYBODYS if text.startswith("/")} - {"start", "wonder"} <= COMMANDS.keys()
    assert {text.split()[1] for text in (*STAFFS, *OWNERS) if " " in text} <= VERBS.keys()


@pytest.mark.parametrize("name", COMMANDS)
async def test_each_command_is_answered_and_what_is_for_ones_own_eyes_in_private_alone(name: str) -> None:
    said, _ = await told(MEMBER, f"/{name}", PRIVATE, Mode.PRIVATE)
    assert said
    assert not said.startswith("I do not know the command")
    aloud, _ = await told(MEMBER, f"/{name}", GROUP_LET_IN, Mode.PRIVATE)
    assert aloud.startswith("I only show that in private.") is COMMANDS[name].in_private


@pytest.mark.parametrize("name", VERBS)
async def test_each_verb_is_answered_who_may_say_it_and_others_read_whose_it_is(name: str) -> None:
    said, _ = await told(OWNER, f"/admin {name}", PRIVATE, Mode.PRIVATE)
    assert said
    for_admins, _ = await told(ADMIN, f"/admin {name}", PRIVATE, Mode.PRIVATE)
    assert (for_admins == "Only this bot's owner can do that.") is VERBS[name].for_owners
    assert not said.startswith("There is no /admin")


@pytest.mark.parametrize(("mode", "role", "place"), list(product(Mode, ROLES, PLACES)), ids=str)
async def test_each_gets_what_their_role_gives_them_there(mode: Mode, role: str, place: str) -> None:
    wrong = {}
    is_whole = mode is Mode.PRIVATE and (role == OWNER or place in {PRIVATE, GROUP_LET_IN})
    for text in TEXTS if is_whole else SAID_TO_EACH:
        begins = NAMES.put_into(expected(role, text, place, mode))
        said, asked_a_model = await told(role, text, place, mode)
        if not said.startswith(begins) or bool(said) is not bool(begins):
            wrong[text] = (begins, said[:200])
        assert asked_a_model is (text == "hello" and begins == "Hello"), text
    assert wrong == {}
