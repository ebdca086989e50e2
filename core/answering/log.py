"""What is kept of one turn: its messages, its states and steps, and what its answer rests on; stored as it goes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Final

from core.answering.asker import Asker
from core.answering.shown import Shown
from core.dialogue import Effect, Outcome, Step, Written, committed
from core.history.conversation import Conversation
from core.history.withholding import tells, told_of
from core.text.markdown import plain_times
from core.threads import TurnState
from core.types import Basis, MemoryItem, Message, MessageRole, StepTaken

OWN_WORDS: Final = ""
"""Stands in place of an action's name for the search for the message's own words."""


@dataclass(slots=True)
class Log:
    """The log of one turn, stored as it goes (D4)."""

    asked: Message
    """The person's message; it has an id once it is stored."""

    person: Asker
    conversation: Conversation
    shown: Shown

    room: str = ""
    """The room in which the turn takes place; "" in private."""

    note: Callable[[Message], None] = lambda _: None
    """Gets each message of the turn as it is said."""

    steps: list[Step] = field(default_factory=list)

    cited: list[MemoryItem] = field(default_factory=list)
    """The memories that the answer was told to rest on."""

    _began_s: float = field(init=False)
    """When the turn began, then when the last part of its answer was complete."""

    def __post_init__(self) -> None:
        """Begin to count the time that the answer takes."""
        self._began_s = self.conversation.conversations.clock.monotonic()

    def add(self, step: Step) -> Step:
        """Add a step. One that was added before, since its report was stored with it, is there once."""
        if not any(each is step for each in self.steps):
            self.steps.append(step)
        return step

    async def enter(self, state: TurnState, error: str = "") -> None:
        """Store the state of the turn."""
        await self.conversation.enter(self.asked.turn, state, error)

    async def complete(self, error: str, last_words: str) -> None:
        """Store that the turn is over, with the name of the error that ended it and the apology, if any."""
        if last_words:
            await self.store(Message(MessageRole.ASSISTANT, last_words, in_history=False, error=error))
        await self.enter(TurnState.ERROR if error else TurnState.COMPLETED, error)

    async def store(self, message: Message) -> None:
        """Store a message of this turn; of ours, also which memories it and the question tell of."""
        if isinstance(message.content, str):
            message = replace(message, content=plain_times(message.content))
        if message.role is MessageRole.ASSISTANT:  # since the question, or the part of the answer before it (D2)
            began_s, self._began_s = self._began_s, self.conversation.conversations.clock.monotonic()
            basis = self.basis(message.text) if self.person.remembers and not message.error else None
            message = replace(message, duration_s=self._began_s - began_s, basis=basis)
        # What was answered from the room's talk is found by no search from another place.
        off_record = not self.person.remembers or bool(self.shown.room.said)
        message = replace(message, turn=self.asked.turn, room=self.room, off_record=off_record)
        stored = await self.conversation.add(message)
        self.note(stored)
        if stored.role is MessageRole.ASSISTANT:
            await self._store_told(stored)

    @property
    def written(self) -> frozenset[Written]:
        """The kinds of change that this turn committed."""
        return frozenset(committed(self.steps))

    def may_assert(self, effects: Collection[Effect]) -> frozenset[Written]:
        """Return what a model may tell of: what was committed; to a question, also what features know of."""
        knows = self.shown.notes and self.asked.text.rstrip().endswith("?")
        return self.written | frozenset(effects if knows else ())

    @property
    def steps_taken(self) -> tuple[StepTaken, ...]:
        """The steps in figures, after the search for the message's own words, if that found anything."""
        found = len(self.shown.hits)
        at_once = (StepTaken(OWN_WORDS, Outcome.DONE, found, 0.0),) if found else ()
        return (*at_once, *map(_taken, self.steps))

    @property
    def changed_ids(self) -> frozenset[str]:
        """The ids of the memories that this turn changed."""
        return frozenset(item.id for step in self.steps if step.writes is not None for item in step.items)

    def basis(self, answer: str) -> Basis:
        """Return what an answer of this turn rests on: what it cites or else tells of, and what the turn changed."""
        hits = (*self.shown.hits, *(hit for step in self.steps for hit in step.hits))
        chances = {hit.item.id: round(hit.chance, 3) for hit in sorted(hits, key=lambda hit: hit.chance)}  # the best
        told = self.cited or [item for item in self.shown.memories if tells(answer, item.content)]
        changed = [item for step in self.steps if step.writes is not None for item in step.items]
        past = [quote.message for quote in self.shown.past.quotes if tells(answer, quote.message.text)]
        return Basis(
            {item.id: chances.get(item.id) for item in (*told, *changed)},
            tuple(dict.fromkeys(message.id for message in past)),
            knows=any(tells(answer, note) for note in self.shown.notes),
            steps=self.steps_taken,
        )

    async def _store_told(self, answer: Message) -> None:
        """Store which memories an answer and the person's message tell of, for `core.history.withholding`."""
        done, changed = {item.id: item for step in self.steps for item in step.items}, self.changed_ids
        seen = {item.id: item for item in (*self.shown.past.items, *self.shown.memories)} | done
        by_answer = [item for item in seen.values() if item.id in done or tells(answer.text, item.content)]
        told = {answer.id: [told_of(item) for item in by_answer]}
        if self.asked.id:  # commands are not stored
            by_person = [
                item
                for item in seen.values()
                if item.id in changed or tells(self.asked.text, item.content, by_person=True)
            ]
            told[self.asked.id] = [told_of(item) for item in by_person]
        await self.conversation.store.tell(told)


def _taken(step: Step) -> StepTaken:
    count = step.count if step.writes is not None else len(step.items) + len(step.quotes) + len(step.notes)
    return StepTaken(step.action, step.outcome, count, round(step.decide_s + step.run_s, 2))
