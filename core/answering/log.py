"""What is kept of a turn: the question, the steps, the state, and each message with the memories that it tells of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from core.answering.person import Person
from core.answering.shown import Shown
from core.dialogue import Step, committed
from core.history.conversation import Conversation
from core.history.withholding import tells_of, told_of
from core.text.markdown import plain_times
from core.threads import TurnState
from core.types import ChangeKind, Message, MessageRole


@dataclass(slots=True)
class Log:
    """The log of one turn, stored as it goes (D4)."""

    asked: Message
    """The person's message; it has an id once it is stored."""

    person: Person
    conversation: Conversation
    shown: Shown

    room: str = ""
    """The room in which the turn takes place; "" in private."""

    steps: list[Step] = field(default_factory=list)

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
        # What was answered from the room's talk is found by no search from another place.
        off_record = not self.person.remembers or bool(self.shown.room.said)
        message = replace(message, turn=self.asked.turn, room=self.room, off_record=off_record)
        stored = await self.conversation.add(message)
        if stored.role is MessageRole.ASSISTANT:
            await self._store_told(stored)

    @property
    def written(self) -> frozenset[ChangeKind]:
        """The kinds of change that this turn committed."""
        return frozenset(committed(self.steps))

    @property
    def may_claim(self) -> frozenset[ChangeKind]:
        """The kinds of change that a model may tell of: those committed, and reminders that a question is about."""
        knows = self.shown.notes and self.asked.text.rstrip().endswith("?")
        return self.written | ({ChangeKind.REMINDER} if knows else frozenset())

    @property
    def changed_ids(self) -> frozenset[str]:
        """The ids of the memories that this turn changed."""
        return frozenset(item.id for step in self.steps if step.writes is not None for item in step.items)

    async def _store_told(self, answer: Message) -> None:
        """Store which memories an answer and the person's message tell of, for `core.history.withholding`."""
        done, changed = {item.id: item for step in self.steps for item in step.items}, self.changed_ids
        seen = {item.id: item for item in (*self.shown.past.items, *self.shown.memories)} | done
        by_answer = [item for item in seen.values() if item.id in done or tells_of(answer.text, item)]
        told = {answer.id: [told_of(item) for item in by_answer]}
        if self.asked.id:  # commands are not stored
            by_person = [
                item for item in seen.values() if item.id in changed or tells_of(self.asked.text, item, by_person=True)
            ]
            told[self.asked.id] = [told_of(item) for item in by_person]
        await self.conversation.store.tell(told)
