"""Whatever happens to workers, each message is answered once, or marked, and those of a conversation in their order."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from core.types import UserKey
from tests import postgres
from tests.fakes.workers import LEASE_S, Member, Team, a_team

PEOPLE = [UserKey("test", name) for name in ("ana", "bia", "caio")]


@dataclass(frozen=True)
class Say:
    worker: int
    person: int
    chat: int


@dataclass(frozen=True)
class Happens:
    """What happens to a worker; late: its lease passes, as the database sees it."""

    what: str
    worker: int


SAYS = st.builds(Say, st.integers(0, 2), st.integers(0, 2), st.integers(0, 1))
EVENTS = st.builds(
    Happens, st.sampled_from(["kill", "freeze", "thaw", "late", "stop", "shut", "open", "wait"]), st.integers(0, 2)
)


@settings(max_examples=25, phases=[Phase.generate], suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(st.one_of(SAYS, SAYS, EVENTS), min_size=4, max_size=24))
def test_each_message_is_answered_once_or_marked_and_in_order(steps: list[Say | Happens]) -> None:
    asyncio.run(_play(steps))
    postgres.empty_databases()


async def _play(steps: list[Say | Happens]) -> None:
    async with a_team() as team:
        workers = [await team.join() for _ in range(3)]
        asked: list[tuple[str, UserKey, str]] = []
        frozen: set[int] = set()
        for number, step in enumerate(steps):
            if isinstance(step, Say):
                if step.worker in frozen:
                    continue
                text, chat = f"q{number}.", f"c{step.chat}"
                await workers[step.worker].say(text, str(number), chat=chat, user=PEOPLE[step.person])
                asked.append((chat, PEOPLE[step.person], f"re {text}"))
            else:
                await _happen(team, workers, frozen, step)
            await asyncio.sleep(0.003 * (number % 3))
        for index in frozen:
            await team.age(workers[index])
            await workers[index].clock.advance(LEASE_S)
        await team.settle()
        _judge(team, asked)


async def _happen(team: Team, workers: list[Member], frozen: set[int], event: Happens) -> None:
    member = workers[event.worker]
    if event.what in {"kill", "stop"}:
        if event.what == "kill":
            member.kill()
            member.is_gone = True
            await team.age(member)
        elif event.worker not in frozen:
            await member.stop()
        else:
            return
        frozen.discard(event.worker)
        workers[event.worker] = await team.join()
    elif event.what == "freeze":
        member.kill()
        frozen.add(event.worker)
    elif event.what == "thaw":
        member.thaw()
        frozen.discard(event.worker)
    elif event.what == "late":
        await team.age(member)
    elif event.what == "shut":
        member.gate.clear()
    elif event.what == "open":
        member.gate.set()
    else:
        for each in workers:
            await each.clock.advance(1.0)
        await asyncio.sleep(0.02)


def _judge(team: Team, asked: list[tuple[str, UserKey, str]]) -> None:
    for chat in {chat for chat, _, _ in asked}:
        told = team.texts(chat)
        for person in PEOPLE:
            wanted = [answer for place, user, answer in asked if (place, user) == (chat, person)]
            firsts = [next((at for at, text in enumerate(told) if answer in text), -1) for answer in wanted]
            assert -1 not in firsts, ("not answered", wanted, told)
            assert firsts == sorted(firsts), ("out of order", wanted, told)
            for answer in wanted:  # "continuing" and what may be there twice have a mark before the answer
                assert told.count(answer) <= 1, ("twice", answer, told)
