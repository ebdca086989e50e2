"""Whatever happens to workers, each message is answered once, or marked, and those of a conversation in their order.

Wherever it comes: edits, deletions, presses and /stop reach another worker than the one that answers.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from core.stores import LATEST
from core.types import ChatKey, UserKey
from tests import postgres
from tests.fakes.workers import LEASE_S, Member, Team, a_team
from tests.profile import examples

PEOPLE = [UserKey("test", name) for name in ("ana", "bia", "caio")]


@dataclass(frozen=True)
class Say:
    """A person writes to a worker: a question of their own, or a press or /stop, which overtakes."""

    worker: int
    person: int
    chat: int
    what: str = "asks"


@dataclass(frozen=True)
class Change:
    """The sender of an earlier question, counted back from the last one, edits or deletes it at a worker."""

    worker: int
    back: int
    deletes: bool


@dataclass(frozen=True)
class Happens:
    """What happens to a worker; late: its lease passes, as the database sees it."""

    what: str
    worker: int


@dataclass
class Question:
    """What somebody asked: its versions, and how many messages of theirs had come to the chat by the last one."""

    chat: str
    person: UserKey
    message_id: str
    texts: list[str]
    came: int
    is_deleted: bool = False
    is_late: bool = False  # its edit came too late to be answered, perhaps

    @property
    def answers(self) -> list[str]:
        return [f"re {text}" for text in self.texts]


SAYS = st.builds(Say, st.integers(0, 2), st.integers(0, 2), st.integers(0, 1))
OVERTAKES = st.builds(
    Say, st.integers(0, 2), st.integers(0, 2), st.integers(0, 1), st.sampled_from(["presses", "stops"])
)
CHANGES = st.builds(Change, st.integers(0, 2), st.integers(1, 4), st.booleans())
EVENTS = st.builds(
    Happens, st.sampled_from(["kill", "freeze", "thaw", "late", "stop", "shut", "open", "wait"]), st.integers(0, 2)
)
Step: TypeAlias = Say | Change | Happens


@settings(max_examples=examples(12), phases=[Phase.generate], suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(st.one_of(SAYS, SAYS, SAYS, OVERTAKES, CHANGES, CHANGES, EVENTS, EVENTS), min_size=4, max_size=24))
def test_each_message_is_answered_once_or_marked_and_in_order(steps: list[Step]) -> None:
    asyncio.run(_play(steps))
    postgres.empty_databases()


async def _play(steps: list[Step]) -> None:
    async with a_team() as team:
        people = People()
        workers = [await team.join() for _ in range(3)]
        frozen: set[int] = set()
        for number, step in enumerate(steps):
            if isinstance(step, Happens):
                await _happen(team, workers, frozen, step)
            elif step.worker not in frozen:
                await people.do(workers[step.worker], str(number), step)
            await asyncio.sleep(0.003 * (number % 3))
        for index in frozen:
            await team.age(workers[index])
            await workers[index].clock.advance(LEASE_S)
        await team.settle()
        is_calm = all(step.what in {"shut", "open", "wait"} for step in steps if isinstance(step, Happens))
        people.judge(team, is_calm=is_calm)


class People:
    """Who write, and what they have to see in the end."""

    def __init__(self) -> None:
        self.asked: list[Question] = []
        self.pressed: list[tuple[str, str]] = []
        self.stops: Counter[tuple[str, UserKey]] = Counter()
        self.came: Counter[tuple[str, UserKey]] = Counter()

    async def do(self, worker: Member, number: str, step: Say | Change) -> None:
        if isinstance(step, Change):
            await self._change(worker, number, step)
            return
        chat, person = f"c{step.chat}", PEOPLE[step.person]
        self.came[chat, person] += 1
        text = {"presses": f"/zz{number}z", "stops": "/stop"}.get(step.what, f"q{number}.")
        await worker.say(text, number, chat=chat, user=person, pressed=step.what == "presses")
        if step.what == "asks":
            self.asked.append(Question(chat, person, number, [text], self.came[chat, person]))
        elif step.what == "presses":
            self.pressed.append((chat, text))
        else:
            self.stops[chat, person] += 1

    async def _change(self, worker: Member, number: str, change: Change) -> None:
        if change.back > len(self.asked) or (question := self.asked[-change.back]).is_deleted:
            return
        place = question.chat, question.person
        if change.deletes:
            question.is_deleted = True
            await worker.chatbot.withdraw(ChatKey("test", question.chat), [question.message_id])
            return
        self.came[place] += 1
        question.is_late = question.is_late or self.came[place] - question.came > LATEST
        question.texts.append(f"q{question.message_id}v{number}.")
        question.came = self.came[place]
        await worker.say(
            question.texts[-1],
            f"{question.message_id}.{number}",
            chat=place[0],
            user=place[1],
            edits=question.message_id,
        )

    def judge(self, team: Team, *, is_calm: bool) -> None:
        for chat, command in self.pressed:
            assert [command in text for text in team.texts(chat)].count(True) == 1 or not is_calm, (command, "pressed")
            assert any(command in text for text in team.texts(chat)), (command, team.texts(chat))
        for place in {(question.chat, question.person) for question in self.asked}:
            asked = [question for question in self.asked if (question.chat, question.person) == place]
            self._judge(team.texts(place[0]), asked, self.stops[place], is_calm=is_calm)

    @staticmethod
    def _judge(told: list[str], asked: list[Question], stops: int, *, is_calm: bool) -> None:
        """Judge what one person sees in one chat."""
        unanswered = 0
        for question in asked:
            standing = [answer for answer in question.answers if any(answer in text for text in told)]
            for answer in standing:  # "continuing" and what may be there twice have a mark before the answer
                assert told.count(answer) <= 1, ("twice", answer, told)
            assert len(standing) <= 1 or not is_calm, ("two versions", standing, told)
            is_answered = bool(standing) if question.is_late else question.answers[-1] in standing
            unanswered += not (is_answered or question.is_deleted)
        assert unanswered <= stops, ("not answered", asked, told)
        unchanged = [question.answers[0] for question in asked if len(question.texts) == 1]
        firsts = [at for answer in unchanged for at in [i for i, text in enumerate(told) if answer in text][:1]]
        assert firsts == sorted(firsts), ("out of order", unchanged, told)


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
