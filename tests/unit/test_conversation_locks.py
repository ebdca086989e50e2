"""In order inside a conversation, side by side in a room up to a limit, people taking turns, gone when empty."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.answering.questions import ConversationLocks
from core.types import ChatKey, ConversationKey, UserKey

ROOM, OTHER_ROOM = ChatKey("test", "room"), ChatKey("test", "other")


@dataclass
class Visits:
    """Messages that are answered when the test says so."""

    locks: ConversationLocks
    log: list[str] = field(default_factory=list)
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)

    async def come(self, name: str, chat: ChatKey = ROOM) -> None:
        """Say something: the name is who says it, and a number."""
        self.gates[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._answer(name, chat))
        await settle()

    async def answered(self, name: str) -> None:
        self.gates[name].set()
        await settle()

    async def _answer(self, name: str, chat: ChatKey) -> None:
        async with self.locks.lane(ConversationKey(chat, UserKey("test", name[0]))):
            self.log.append(name)
            await self.gates[name].wait()

    def begun(self) -> list[str]:
        """What was begun since this was last asked."""
        begun, self.log = self.log, []
        return begun


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@asynccontextmanager
async def visits(at_once: int) -> AsyncIterator[Visits]:
    visits = Visits(ConversationLocks(at_once))
    yield visits
    for gate in visits.gates.values():
        gate.set()
    await asyncio.gather(*visits.tasks.values(), return_exceptions=True)
    assert len(visits.locks) == 0
    assert not visits.locks._rooms


async def test_a_full_room_holds_up_no_other() -> None:
    async with visits(at_once=1) as said:
        await said.come("a1")
        await said.come("b1", OTHER_ROOM)
        await said.come("a2", OTHER_ROOM)  # one person in another place is another conversation
        assert said.begun() == ["a1", "b1"]
        await said.answered("b1")
        assert said.begun() == ["a2"]


async def test_many_messages_of_one_person_do_not_hold_up_one_of_another() -> None:
    async with visits(at_once=1) as said:
        for name in ("a1", "a2", "a3", "a4", "b1", "c1", "b2"):
            await said.come(name)
        order = said.begun()
        while len(order) < 7:
            await said.answered(order[-1])
            order += said.begun()
        assert order == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]


async def test_who_gives_up_waiting_holds_up_nobody() -> None:
    async with visits(at_once=1) as said:
        for name in ("a1", "b1", "a2", "c1"):
            await said.come(name)
        said.tasks["b1"].cancel()
        await settle()
        await said.answered("a1")
        assert len(said.locks) == 2
        for name in ("a2", "c1"):
            await said.answered(name)
        assert sorted(said.begun()) == ["a1", "a2", "c1"]


async def test_who_gives_up_in_the_moment_of_being_let_in_holds_up_nobody() -> None:
    async with visits(at_once=1) as said:
        for name in ("a1", "b1", "c1"):
            await said.come(name)
        said.gates["a1"].set()
        for _ in range(2):  # the first answer ends, and lets the second in
            await asyncio.sleep(0)
            if UserKey("test", "b") in said.locks._rooms[ROOM].answering:
                said.tasks["b1"].cancel()
        await settle()
        assert said.begun() == ["a1", "c1"]


async def test_who_gives_up_while_the_place_becomes_free_holds_up_nobody() -> None:
    async with visits(at_once=1) as said:
        for name in ("a1", "b1", "b2", "c1"):
            await said.come(name)
        said.gates["a1"].set()
        await asyncio.sleep(0)
        said.tasks["b1"].cancel()
        await settle()
        assert said.begun() in (["a1", "c1"], ["a1", "b2"])


async def test_who_waits_is_told_and_a_room_knows_whether_others_are_there() -> None:
    locks, told = ConversationLocks(at_once=1), list[str]()
    ana, bia = (ConversationKey(ROOM, UserKey("test", name)) for name in "ab")
    async with locks.lane(ana, lambda: told.append("a")):
        assert not locks.has_others(ana)
        assert locks.has_others(bia)
        waiting = asyncio.create_task(locks.lane(bia, lambda: told.append("b")).__aenter__())
        await settle()
        assert told == ["b"]
        assert locks.has_others(ana)
        assert not locks.has_others(ConversationKey(OTHER_ROOM, ana.user))
    await waiting
