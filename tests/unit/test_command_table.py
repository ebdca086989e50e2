"""Role by command by place: what each gets, in full."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from core.access import Mode
from core.commands import COMMANDS
from core.commands.admin import VERBS
from core.dialogue import Task
from core.people import ALLOWED, Decision, Matter, Person, Standing
from core.types import ChatKey, UserKey
from tests.fakes.clock import START
from tests.fakes.house import ANA, House

OWNER, ADMIN, MEMBER, GUEST, BLOCKED = "owner", "admin", "member", "guest", "blocked"
DENIED, STRANGER = "denied", "stranger"
ROLES = (OWNER, ADMIN, MEMBER, GUEST, BLOCKED, DENIED, STRANGER)
PRIVATE = "private"
GROUP, GROUP_LET_IN = "group", "group that was let in"
SERVER, SERVER_LET_IN = "thread of a server", "thread of a server that was let in"
PLACES = {
    PRIVATE: ChatKey("test", "c"),
    GROUP: ChatKey("test", "c"),
    GROUP_LET_IN: ChatKey("test", "c"),
    SERVER: ChatKey("test", "c", "7"),
    SERVER_LET_IN: ChatKey("test", "c", "7"),
}
LET_IN = {GROUP_LET_IN, SERVER_LET_IN}
SOMEBODY_ELSE = UserKey("test", "first")
TOLD_OFF = "This bot is private and does not know you yet."

EVERYBODYS = {
    "/help": "I am Elefante",
    "/start": "I am Elefante",
    "/remember": "Write what I should remember",
    "/recall": "Write what to look for",
    "/memories": "You have not asked me to remember anything yet.",
    "/forget": "Say what to delete",
    "/undo": "There is nothing to undo.",
    "/memory": "Memory is on",
    "/export": "All I keep of test:ana.",
    "/import": "Send a file of at most 5 MB with the caption /import",
    "/link": "For your other account and this one to have one memory",
    "/unlink": "This account is not linked to another.",
    "/privacy": "**What I keep of you:**",
    "/language": "Choose: /language pt",
    "/news": "You get what the bot's owners tell everybody.",
    "/threads": "Your conversations:",
    "/usage": "**Today:** 0 messages, 0 tokens, US$ 0.00\n**This month:**",
    "/context": "A model is shown 0 messages of this conversation.",
    "/reset": "A fresh conversation.",
    "/retry": "There is no question of yours in this conversation to answer again.",
    "/stop": "Nothing is running.",
    "/wonder": "I do not know the command /wonder. See /help.",
    "hello": "Hello",
}
ONES_OWN = {"/recall", "/memories", "/forget", "/export", "/import", "/link", "/unlink", "/threads", "/usage"}
STAFFS = {
    "/admin": "/admin status",
    "/admin status": "State: answering",
    "/admin users": "Whom I answer:",
    "/admin users zoe": "stranger · `test:zoe`",
    "/admin allow zoe": "Done. `test:zoe`: stranger → member",
    "/admin allow here": "Done. `test:c`: not let in → let in",
    "/admin deny zoe": "Done. `test:zoe`: stranger → denied",
    "/admin deny here": "That is so already. `test:c`: not let in",
    "/admin block zoe": "Done. `test:zoe`: stranger → blocked",
    "/admin actions": "Actions:\n✅ on: MemorySearch",
    "/admin actions disable MemorySave": "Done. `MemorySave`: as the settings say → off",
    "/admin policy": "What a model is shown of a conversation, in the whole bot: last-messages.",
    "/admin policy here summary": "Done. history policy `test:c`: as the settings say → summary",
    "/admin drafts": "drafts: as the settings say",
    "/admin drafts here off": "Done. drafts `test:c`: as the settings say → off",
    "/admin usage": "No model was asked in the last 30 days.",
    "/admin quota": "Limits (days and months of UTC):",
    "/admin logs": "No error, no warning.",
    "/admin changes": "Nothing was changed yet.",
    "/admin undo": "There is nothing to undo.",
}
OWNERS = {
    "/admin role zoe admin": "Done. `test:zoe`: stranger → admin",
    "/admin role zoe guest": "Done. `test:zoe`: stranger → guest",
    "/admin access members": "Done. access: as the settings say → members only",
    "/admin access open": "Open means: anybody who finds this bot is answered",
    "/admin access": "Whom I answer, besides those who were let in",
    "/admin model": "Which model thinks what:",
    "/admin prompt": "There is no persona in the whole bot: I am Elefante.",
    "/admin prompt here Speak like a pirate.": "Done. persona `test:c`: none → Speak like a pirate.",
    "/admin broadcast": "To speak to everybody: /admin broadcast TEXT.",
    "/admin backup": "No backup was made.",
    "/admin export zoe": "All I keep of test:zoe.",
    "/admin forget zoe": "This deletes all that is kept of test:zoe for good",
    "/admin pause": "Done. the bot: answering → paused",
    "/admin resume": "That is so already. the bot: answering",
}
WHERE_IT_WAS_LET_IN = {
    "/admin allow here": "That is so already. `test:c`: let in",
    "/admin deny here": "Done. `test:c`: let in → not let in",
    "/admin changes": "Last changes",
    "/admin undo": "Done. `test:c`: let in → not let in",
}

WHERE_IT_IS_OPEN = {"/admin access open": "Done. access: as the settings say → open to everybody"}

# Whom nobody let in: what they get instead of an answer, "" for silence; None: they are guests.
NOT_LET_IN: dict[Mode, dict[str, dict[str, str | None]]] = {
    Mode.PRIVATE: {
        STRANGER: {PRIVATE: TOLD_OFF, GROUP: "", GROUP_LET_IN: None, SERVER: "", SERVER_LET_IN: None},
        DENIED: {PRIVATE: "", GROUP: "", GROUP_LET_IN: None, SERVER: "", SERVER_LET_IN: None},
    },
    Mode.MEMBERS: {
        STRANGER: {PRIVATE: TOLD_OFF, GROUP: "", GROUP_LET_IN: "", SERVER: "", SERVER_LET_IN: ""},
        DENIED: {PRIVATE: "", GROUP: "", GROUP_LET_IN: "", SERVER: "", SERVER_LET_IN: ""},
    },
    Mode.OPEN: {
        STRANGER: dict.fromkeys(PLACES),
        DENIED: dict.fromkeys(PLACES),
    },
}


def expected(role: str, text: str, place: str, mode: Mode) -> str:
    """How the answer begins; "" for silence."""
    instead = "" if role == BLOCKED else NOT_LET_IN[mode].get(role, {}).get(place)
    if instead is not None:
        return instead
    if text in EVERYBODYS:
        return "That I only show in private." if text in ONES_OWN and place != PRIVATE else EVERYBODYS[text]
    if role not in {OWNER, ADMIN}:
        return "I do not know the command /admin. See /help."
    if place != PRIVATE and text.split()[2:3] != ["here"]:
        return "Here only: /admin allow here, /admin deny here,"
    open_to = STAFFS | (WHERE_IT_WAS_LET_IN if place in LET_IN else {})
    if role == OWNER:
        open_to |= OWNERS | (WHERE_IT_IS_OPEN if mode is Mode.OPEN else {})
    return open_to.get(text, "/admin status")


def test_the_table_holds_every_command_and_every_verb() -> None:
    assert {text[1:] for text in EVERYBODYS if text.startswith("/")} == {*COMMANDS, "start", "wonder"}
    assert {text.split()[1] for text in (*STAFFS, *OWNERS) if " " in text} == set(VERBS)


async def told(role: str, text: str, place: str, mode: Mode) -> tuple[str, bool]:
    """Return what somebody is told, and whether a model was asked."""
    house = House({Task.DECIDE: ["Finish"], Task.FINISH: ["Hello"]}, trusted=(), mode=mode)
    await house.people.put(Person(SOMEBODY_ELSE, Standing.OWNER, "First", START))
    if role == DENIED:
        await house.people.deny(ANA, START)
    elif role != STRANGER:
        await house.people.put(Person(ANA, Standing(role), "ana", START))
    if place in LET_IN:
        await house.decisions.apply(Decision(START, SOMEBODY_ELSE, Matter.ROOM, "test:c", "", ALLOWED))
    surface = house.surface()
    incoming = replace(house.incoming(text), chat=PLACES[place], private=place == PRIVATE)
    async with house.chatbot() as bot:
        await (await bot.receive(incoming, surface))
    assert await house.inbox.owed("test") == []
    return "\n".join(shown.text for shown in surface.screen), bool(house.model.prompts)


@pytest.mark.parametrize(("mode", "role", "place"), list(product(Mode, ROLES, PLACES)), ids=str)
async def test_each_gets_what_their_role_gives_them_there(mode: Mode, role: str, place: str) -> None:
    wrong = {}
    for text in (*EVERYBODYS, *STAFFS, *OWNERS):
        begins = expected(role, text, place, mode)
        said, asked_a_model = await told(role, text, place, mode)
        if not said.startswith(begins) or bool(said) is not bool(begins):
            wrong[text] = (begins, said[:200])
        assert asked_a_model is (text == "hello" and begins == "Hello"), text
    assert wrong == {}
