"""The laws of access, against a table written down here as `docs/access.md` says it, over whatever people do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from core.dialogue import Task
from core.features.access.rules import Mode
from core.features.access.storage import Person
from core.features.admin.storage import DecisionKind
from core.types import ChatKey, Incoming, Locale, Role, UserKey
from tests.fakes.clock import START
from tests.fakes.house import House
from tests.profile import examples

PEOPLE = ("ana", "bia", "caro", "dan")
ROOMS = ("r0", "r1")
IN_PRIVATE = ""
LET_IN_BY_NAME = {"owner", "admin", "member", "guest"}
STAFF = {"owner", "admin"}

Step: TypeAlias = tuple[str, str, str, bool]
"""Who, in which room ("" in private), what they say, whether by a button."""

people, rooms = st.sampled_from(PEOPLE), st.sampled_from(ROOMS)
anywhere = st.sampled_from((IN_PRIVATE, IN_PRIVATE, *ROOMS))
roles = st.sampled_from(("admin", "member", "guest"))
said = st.tuples(people, anywhere, st.sampled_from(("hello", "/admin status", "/help all")), st.booleans())
about_people = st.tuples(
    people,
    st.just(IN_PRIVATE),
    st.one_of(
        st.builds("/admin {} test:{}".format, st.sampled_from(("allow", "deny", "block")), people),
        st.builds("/admin role test:{} {}".format, people, roles),
    ),
    st.booleans(),
)
about_rooms = st.tuples(people, rooms, st.sampled_from(("/admin allow here", "/admin deny here")), st.just(False))
about_all = st.tuples(
    people,
    st.just(IN_PRIVATE),
    st.sampled_from(
        (*(f"/admin access {mode}" for mode in Mode), "/admin pause", "/admin resume", *["/admin undo"] * 4)
    ),
    st.booleans(),
)


@dataclass
class Law:
    """What must be so, told by the documents alone: nothing here is asked of the code under test."""

    setting: str
    roles: dict[str, str] = field(default_factory=lambda: {"ana": "owner", "bia": "admin"})
    rooms: set[str] = field(default_factory=set)
    mode: str = ""
    paused: bool = False
    decided: list[tuple[str, str, str, str]] = field(default_factory=list)  # matter, name, before, after: not undone

    def here(self, who: str, room: str) -> str:
        """Return the role of somebody there, or "" for a stranger."""
        given = self.roles.get(who, "")
        if given in {*LET_IN_BY_NAME, "blocked"}:
            return given
        mode = self.mode or self.setting
        if mode == "open" or (mode == "private" and room in self.rooms):
            return "guest"
        return ""

    def answers(self, who: str, room: str) -> bool:
        """Whether somebody is answered there."""
        role = self.here(who, room)
        return role in LET_IN_BY_NAME and (role == "owner" or not self.paused)

    def values(self) -> dict[str, dict[str, str]]:
        """Return all that is decided, as the stores tell it."""
        return {
            "standing": {f"test:{who}": role for who, role in self.roles.items() if role},
            "room": {f"test:{room}": "allowed" for room in self.rooms},
            "access": {"": self.mode} if self.mode else {},
            "pause": {"": "on"} if self.paused else {},
        }

    def hear(self, who: str, room: str, text: str, pressed: bool) -> None:
        """Do what a command does."""
        words = text.split()
        role = self.here(who, room)
        if words[0] != "/admin" or words[1] == "status" or not self.answers(who, room) or role not in STAFF:
            return
        verb = words[1]
        if verb == "undo":
            self._undo(role)
        elif verb in {"role", "access", "pause", "resume"} and role != "owner":
            return
        elif verb in {"pause", "resume"}:
            self._decide(role, "pause", "", "on" if verb == "pause" else "")
        elif verb == "access":
            self._decide(role, "access", "", words[2])
        elif words[2] == "here":
            self._decide(role, "room", room, "allowed" if verb == "allow" else "")
        elif verb in {"allow", "deny", "block", "role"}:
            name = words[2].removeprefix("test:")
            now = self.roles.get(name, "")
            if pressed and now:
                return
            after = {"allow": now if now in STAFF else "member", "deny": "denied", "block": "blocked"}.get(verb)
            self._decide(role, "standing", name, after or words[3])

    def _decide(self, role: str, matter: str, name: str, after: str) -> None:
        before = self._value(matter, name)
        if before != after and self._may(role, matter, name, before, after):
            self._put(matter, name, after)
            self.decided.append((matter, name, before, after))

    def _undo(self, role: str) -> None:
        if self.decided:
            matter, name, before, after = self.decided[-1]
            if self._may(role, matter, name, after, before):
                self._put(matter, name, before)
                self.decided.pop()

    def _may(self, role: str, matter: str, name: str, before: str, after: str) -> bool:
        if role == "admin" and (matter in {"pause", "access"} or {before, after} & STAFF):
            return False
        owners = [who for who, given in self.roles.items() if given == "owner"]
        return not (matter == "standing" and before == "owner" != after and owners == [name])

    def _value(self, matter: str, name: str) -> str:
        return {
            "standing": self.roles.get(name, ""),
            "room": "allowed" if name in self.rooms else "",
            "access": self.mode,
            "pause": "on" if self.paused else "",
        }[matter]

    def _put(self, matter: str, name: str, after: str) -> None:
        if matter == "standing":
            self.roles[name] = after
        elif matter == "room":
            (self.rooms.add if after else self.rooms.discard)(name)
        elif matter == "access":
            self.mode = after
        else:
            self.paused = bool(after)


class Bot:
    """The real core, and what it says to each."""

    def __init__(self, setting: str) -> None:
        self.house = House(
            {Task.DECIDE: lambda _: "Finish", Task.FINISH: lambda _: "Hello"}, trusted=(), language=Locale.EN
        )
        self.house.mode = Mode(setting)
        self.bot = self.house.chatbot()
        self._number = 0

    async def say(self, who: str, room: str, text: str, pressed: bool) -> list[str]:
        """Say something, confirm it where that is asked for, and return what was answered."""
        self._number += 1
        channel, user = self.house.channel(), UserKey("test", who)
        chat = ChatKey("test", room or f"with {who}", f"topic {self._number % 2}" if room else "")
        incoming = Incoming(chat, user, who, f"{self._number}", text, START, private=not room, pressed=pressed)
        await (await self.bot.receive(incoming, channel))
        confirm = [choice.command for shown in channel.screen for choice in shown.choices if text in choice.command]
        if text.startswith("/admin access open") and confirm:
            return await self.say(who, room, confirm[0], pressed=True)
        return channel.texts

    async def values(self) -> Mapping[str, Mapping[str, str]]:
        matters = (DecisionKind.ROLE, DecisionKind.ROOM, DecisionKind.ACCESS, DecisionKind.PAUSE)
        return {matter.value: dict(await self.house.decisions.values(matter)) for matter in matters}


async def live(setting: str, steps: list[Step]) -> None:
    law, real = Law(setting), Bot(setting)
    for who, role in law.roles.items():
        await real.house.people.put(Person(UserKey("test", who), Role(role), who, START))
    async with real.bot:
        for who, room, text, pressed in steps:
            asked, answered = len(real.house.model.prompts), law.answers(who, room)
            staff = law.here(who, room) in STAFF
            law_before, undone = law.values(), bool(law.decided)
            told = "\n".join(await real.say(who, room, text, pressed))
            law.hear(who, room, text, pressed)
            assert await real.values() == law.values()
            if text == "hello":
                assert (told == "Hello") is (answered and not pressed)
                assert (len(real.house.model.prompts) > asked) is (answered and not pressed)
            else:
                assert len(real.house.model.prompts) == asked
            if text == "/help all":
                assert told.startswith("/help" if answered else "")
                assert ("/admin" in told) is (answered and staff)
            if text == "/admin status":
                assert ("State:" in told) is (answered and staff and not room)
            if not staff:
                assert law.values() == law_before
            if law.here(who, room) == "blocked" and law_before == law.values():
                assert told == ""
            if text == "/admin undo" and answered and staff and not undone:
                assert told == "There is nothing to undo."


@settings(max_examples=examples(60), deadline=None)
@given(
    setting=st.sampled_from([mode.value for mode in Mode]),
    steps=st.lists(st.one_of(said, said, about_people, about_people, about_rooms, about_all), min_size=12, max_size=40),
)
def test_whoever_decides_what_each_is_answered_as_the_table_says(setting: str, steps: list[Step]) -> None:
    asyncio.run(live(setting, steps))


@settings(max_examples=examples(20), deadline=None)
@given(
    setting=st.sampled_from([mode.value for mode in Mode]),
    steps=st.lists(st.one_of(about_people, about_rooms, about_all.filter(lambda step: step[2] != "/admin undo"))),
)
def test_what_owners_take_back_is_exactly_as_it_was_before(setting: str, steps: list[Step]) -> None:
    async def there_and_back() -> None:
        real = Bot(setting)
        for who in ("ana", "zoe"):  # two owners: nobody's role is bound to stay
            await real.house.people.put(Person(UserKey("test", who), Role.OWNER, who, START))
        before = await real.values()
        states = [before]
        async with real.bot:
            for _, room, text, _ in steps:
                await real.say("zoe", room, text, False)
                if (now := await real.values()) != states[-1]:
                    states.append(now)
            for state in reversed(states):
                assert await real.values() == state
                await real.say("zoe", IN_PRIVATE, "/admin undo", False)
        assert await real.values() == before

    asyncio.run(there_and_back())
