"""Role by command by place: what each gets, in full."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from core.commands import COMMANDS
from core.commands.admin import VERBS
from core.dialogue import Task
from core.people import ALLOWED, Decision, Matter, Person, Standing
from core.types import UserKey
from tests.fakes.clock import START
from tests.fakes.house import ANA, House

OWNER, ADMIN, MEMBER, BLOCKED, GUEST = "owner", "admin", "member", "blocked", "guest"
ROLES = (OWNER, ADMIN, MEMBER, BLOCKED, GUEST)
PRIVATE, ROOM, LET_IN = "private", "room", "room that was let in"
PLACES = (PRIVATE, ROOM, LET_IN)
SOMEBODY_ELSE = UserKey("test", "first")

EVERYBODYS = {
    "/help": "I am Elefante",
    "/start": "I am Elefante",
    "/remember": "Write what I should remember",
    "/recall": "Write what to look for",
    "/memories": "You have not asked me to remember anything yet.",
    "/forget": "Say what to delete",
    "/undo": "There is nothing to undo.",
    "/memory": "Memory is on",
    "/export": '```json\n{"kind":"person"',
    "/privacy": "**What I keep of you:**",
    "/language": "Choose: /language pt",
    "/news": "You get what the bot's owners tell everybody.",
    "/threads": "Your conversations:",
    "/usage": "**Today:** 0 messages, 0 tokens, US$ 0.00\n**This month:**",
    "/context": "A model is shown 0 messages of this conversation.",
    "/reset": "A fresh conversation.",
    "/stop": "Nothing is running.",
    "/wonder": "I do not know the command /wonder. See /help.",
    "hello": "Hello",
}
ONES_OWN = {"/recall", "/memories", "/forget", "/export", "/threads", "/usage"}
STAFFS = {
    "/admin": "/admin status",
    "/admin status": "State: answering",
    "/admin users": "Whom I answer:",
    "/admin allow zoe": "Done. `test:zoe`: stranger → member",
    "/admin allow here": "Done. `test:c`: not let in → let in",
    "/admin deny zoe": "That is so already. `test:zoe`: stranger",
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
    "/admin model": "Which model thinks what:",
    "/admin prompt": "There is no persona in the whole bot: I am Elefante.",
    "/admin prompt here Speak like a pirate.": "Done. persona `test:c`: none → Speak like a pirate.",
    "/admin broadcast": "To speak to everybody: /admin broadcast TEXT.",
    "/admin pause": "Done. the bot: answering → paused",
    "/admin resume": "That is so already. the bot: answering",
}
WHERE_IT_WAS_LET_IN = {
    "/admin allow here": "That is so already. `test:c`: let in",
    "/admin deny here": "Done. `test:c`: let in → not let in",
    "/admin changes": "Last changes",
    "/admin undo": "Done. `test:c`: let in → not let in",
}


def expected(role: str, text: str, place: str) -> str:
    """How the answer begins; "" for silence."""
    if role == BLOCKED or (role == GUEST and place == ROOM):
        return ""
    if role == GUEST and place == PRIVATE:
        return "This bot is private and does not know you yet."
    if text in EVERYBODYS:
        return "That I only show in private." if text in ONES_OWN and place != PRIVATE else EVERYBODYS[text]
    if role in {MEMBER, GUEST}:
        return "I do not know the command /admin. See /help."
    if place != PRIVATE and text.split()[2:3] != ["here"]:
        return "Here only: /admin allow here, /admin deny here,"
    open_to = STAFFS | (OWNERS if role == OWNER else {}) | (WHERE_IT_WAS_LET_IN if place == LET_IN else {})
    return open_to.get(text, "/admin status")


def test_the_table_holds_every_command_and_every_verb() -> None:
    assert {text[1:] for text in EVERYBODYS if text.startswith("/")} == {*COMMANDS, "start", "wonder"}
    assert {text.split()[1] for text in (*STAFFS, *OWNERS) if " " in text} == set(VERBS)


@pytest.mark.parametrize(
    ("role", "text", "place"), list(product(ROLES, (*EVERYBODYS, *STAFFS, *OWNERS), PLACES)), ids=str
)
async def test_each_gets_what_their_role_gives_them_there(role: str, text: str, place: str) -> None:
    house = House({Task.DECIDE: ["Finish"], Task.FINISH: ["Hello"]}, trusted=())
    await house.people.put(Person(SOMEBODY_ELSE, Standing.OWNER, "First", START))
    if role != GUEST:
        await house.people.put(Person(ANA, Standing(role), "ana", START))
    if place == LET_IN:
        await house.decisions.apply(Decision(START, SOMEBODY_ELSE, Matter.ROOM, "test:c", "", ALLOWED))
    surface = house.surface()
    incoming = replace(house.incoming(text), private=place == PRIVATE)
    async with house.chatbot() as bot:
        await (await bot.receive(incoming, surface))
    told = "\n".join(surface.texts)
    begins = expected(role, text, place)
    assert told.startswith(begins)
    assert bool(told) is bool(begins)
    asked_a_model = text == "hello" and begins == "Hello"
    assert bool(house.model.prompts) is asked_a_model
    assert await house.inbox.owed("test") == []
