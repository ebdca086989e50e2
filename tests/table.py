"""The expected answers: role by command by place. Core, Telegram and Discord are held to this one table."""

from __future__ import annotations

from dataclasses import dataclass

from core.features.access.rules import Mode
from core.features.access.storage import Person
from core.features.admin.storage import ALLOWED, Decision, DecisionKind
from core.types import Role, UserKey
from tests.fakes.clock import START
from tests.fakes.house import House

OWNER, ADMIN, MEMBER, GUEST, BLOCKED = "owner", "admin", "member", "guest", "blocked"
DENIED, STRANGER = "denied", "stranger"
ROLES = (OWNER, ADMIN, MEMBER, GUEST, BLOCKED, DENIED, STRANGER)
PRIVATE = "private"
GROUP, GROUP_LET_IN = "group", "group that was let in"
SERVER, SERVER_LET_IN = "thread of a server", "thread of a server that was let in"
ASIDE, ASIDE_LET_IN = "group, unseen by it", "group that was let in, unseen by it"
PLACES = (PRIVATE, GROUP, GROUP_LET_IN, SERVER, SERVER_LET_IN, ASIDE, ASIDE_LET_IN)
LET_IN = {GROUP_LET_IN, SERVER_LET_IN, ASIDE_LET_IN}
SEEN_BY_ONE = {PRIVATE, ASIDE, ASIDE_LET_IN}
TOLD_OFF = "This bot is private and does not know you yet."

EVERYBODYS = {
    "/help": "I am Elefante",
    "/start": "Hi! I am Elefante",
    "/remember": "Write what I should remember",
    "/recall": "Write what to look for",
    "/memories": "You have not asked me to remember anything yet.",
    "/forget": "Say what to delete",
    "/undo": "There is nothing to undo.",
    "/remind": "Write when and what",
    "/reminders": "You have no reminders",
    "/memory": "Memory is on",
    "/export": "Everything I keep about you.",
    "/import": "Send a file of at most 5 MB (an archive: 20 MB) with the caption /import",
    "/link": "To share one memory between your other account and this one",
    "/unlink": "This account is not linked to another.",
    "/privacy": "**What I keep about you:**",
    "/language": "I answer in the language you write in.",
    "/timezone": "I do not know your time zone yet.",
    "/news": "You get the news that the bot's owners send to everybody.",
    "/threads": "Your conversations:",
    "/usage": "**Today:** 0 messages, 0 tokens, US$ 0.00\n**This month:**",
    "/context": "A model is shown 0 messages of this conversation.",
    "/reset": "This is a new conversation.",
    "/retry": "There is no question in this conversation that I could answer again.",
    "/stop": "Nothing is running.",
    "/wonder": "I do not know the command /wonder. See /help.",
    "hello": "Hello",
}
ONES_OWN = {"/recall", "/memories", "/forget", "/export", "/import", "/link", "/unlink", "/threads", "/usage"}
STAFFS = {
    "/admin": "/admin status",
    "/admin status": "State: answering",
    "/admin users": "Who I answer:",
    "/admin users {zoe}": "stranger · `{platform}:{zoe}`",
    "/admin allow {zoe}": "Done. `{platform}:{zoe}`: stranger → member",
    "/admin allow here": "Done. `{platform}:{here}`: not let in → let in",
    "/admin deny {zoe}": "Done. `{platform}:{zoe}`: stranger → denied",
    "/admin deny here": "That is already so. `{platform}:{here}`: not let in",
    "/admin block {zoe}": "Done. `{platform}:{zoe}`: stranger → blocked",
    "/admin actions": "Actions:\n✅ on: ",
    "/admin actions disable MemorySave": "Done. `MemorySave`: as the settings say → off",
    "/admin policy": "What a model is shown of a conversation, in the whole bot: last-messages.",
    "/admin policy here summary": "Done. history policy `{platform}:{here}`: as the settings say → summary",
    "/admin room": "In this room I answer only people who were let in.",
    "/admin room here reminders off": "Done. reminders in `{platform}:{here}`: on → off",
    "/admin usage": "No model was asked in the last 30 days.",
    "/admin quota": "Limits (days and months of UTC):",
    "/admin logs": "No error, no warning.",
    "/admin changes": "Nothing was changed yet.",
    "/admin undo": "There is nothing to undo.",
}
OWNERS = {
    "/admin owner": "Owners:",
    "/admin owner {zoe}": "`{platform}:{zoe}` is not let in here (now: stranger). First let them in",
    "/admin role {zoe} admin": "Done. `{platform}:{zoe}`: stranger → admin",
    "/admin role {zoe} guest": "Done. `{platform}:{zoe}`: stranger → guest",
    "/admin access members": "Done. access: as the settings say → members only",
    "/admin access open": "Open means: I answer anybody who finds this bot",
    "/admin access": "Who I answer, besides the people who were let in",
    "/admin model": "Which model does what:",
    "/admin prompt": "There is no persona in the whole bot: I am Elefante.",
    "/admin prompt here Speak like a pirate.": "Done. persona `{platform}:{here}`: none → Speak like a pirate.",
    "/admin broadcast": "To speak to everybody: /admin broadcast TEXT.",
    "/admin backup": "No backup was made.",
    "/admin export {zoe}": "Everything I keep about ",
    "/admin forget {zoe}": "This deletes everything about ",
    "/admin pause": "Done. the bot: answering → paused",
    "/admin resume": "That is already so. the bot: answering",
}
WHERE_IT_WAS_LET_IN = {
    "/admin room": "I answer everybody in this room.",
    "/admin allow here": "That is already so. `{platform}:{here}`: let in",
    "/admin deny here": "Done. `{platform}:{here}`: let in → not let in",
    "/admin changes": "Last changes",
    "/admin undo": "Done. `{platform}:{here}`: let in → not let in",
}

WHERE_NO_ROOM_IS = dict.fromkeys(
    ("/admin room", "/admin room here reminders off"), "Say that in the room itself, or name it:"
)
WHERE_IT_IS_OPEN = {"/admin access open": "Done. access: as the settings say → open to everybody"}

# Whom nobody let in: what they get instead of an answer, "" for silence; None: they are guests.
NOT_LET_IN: dict[Mode, dict[str, dict[str, str | None]]] = {
    Mode.PRIVATE: {
        STRANGER: {PRIVATE: TOLD_OFF, GROUP: "", SERVER: "", ASIDE: TOLD_OFF, **dict.fromkeys(LET_IN)},
        DENIED: {PRIVATE: "", GROUP: "", SERVER: "", ASIDE: "", **dict.fromkeys(LET_IN)},
    },
    Mode.MEMBERS: {
        STRANGER: {place: TOLD_OFF if place in SEEN_BY_ONE else "" for place in PLACES},
        DENIED: dict.fromkeys(PLACES, ""),
    },
    Mode.OPEN: {
        STRANGER: dict.fromkeys(PLACES),
        DENIED: dict.fromkeys(PLACES),
    },
}

TEXTS = (*EVERYBODYS, *STAFFS, *OWNERS)
"""Everything that is said."""


@dataclass(frozen=True)
class Names:
    """What is called how where it is said: the platform, who speaks, whom they speak of, the place."""

    platform: str
    me: str
    zoe: str
    here: str

    def put_into(self, text: str) -> str:
        """Return the text with these names in it."""
        return text.format(platform=self.platform, me=self.me, zoe=self.zoe, here=self.here)


def expected(role: str, text: str, place: str, mode: Mode) -> str:
    """How the answer begins, before names are put into it; "" for silence."""
    instead = "" if role == BLOCKED else NOT_LET_IN[mode].get(role, {}).get(place)
    if instead is not None:
        return instead
    if text in EVERYBODYS:
        return "I only show that in private." if text in ONES_OWN and place not in SEEN_BY_ONE else EVERYBODYS[text]
    if role not in {OWNER, ADMIN} or (role == ADMIN and text in OWNERS):
        return "Only this bot's owner can do that."
    if place not in SEEN_BY_ONE and text != "/admin room" and text.split()[2:3] != ["here"]:
        return "Here only: /admin allow, /admin deny,"
    open_to = STAFFS | (WHERE_IT_WAS_LET_IN if place in LET_IN else {}) | (WHERE_NO_ROOM_IS if place == PRIVATE else {})
    if role == OWNER:
        open_to |= OWNERS | (WHERE_IT_IS_OPEN if mode is Mode.OPEN else {})
    return open_to[text]


async def settle(house: House, role: str, place: str, names: Names) -> None:
    """Make the one who speaks what that role says, and let their room in if the place says so."""
    user, first = UserKey(names.platform, names.me), UserKey(names.platform, "1")
    await house.people.put(Person(first, Role.OWNER, "First", START))
    if role == DENIED:
        await house.decisions.apply(Decision(START, first, DecisionKind.ROLE, str(user), "", DENIED))
    elif role != STRANGER:
        await house.people.put(Person(user, Role(role), "ana", START))
    if place in LET_IN:
        room = f"{names.platform}:{names.here}"
        await house.decisions.apply(Decision(START, first, DecisionKind.ROOM, room, "", ALLOWED))
