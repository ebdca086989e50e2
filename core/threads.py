"""Types and stores of what belongs to a thread beside its messages, and of what waits in a conversation."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeAlias, TypeVar

from core.types import ConversationKey, JSONValue, Message, Thread, ThreadStatus, UserKey

THREAD_ID_RULE = "write 3 to 64 of a-z, A-Z, 0-9, - and _"
"""The rule for thread ids, for people."""

_THREAD_ID = re.compile(r"[a-zA-Z0-9_-]{3,64}")


def is_thread_id(text: str) -> bool:
    """Return whether a thread may have that id: 3 to 64 of a-z, A-Z, 0-9, - and _."""
    return _THREAD_ID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of a thread up to and with the message of sequence `through`.

    It was made from the summary before it (which ends at `after`, 0 if there was none) and the messages since.
    """

    text: str
    through: int
    after: int = 0
    tokens: int = 0
    at: datetime | None = None
    model: str = ""


class TurnState(StrEnum):
    """The state of an answer."""

    PENDING = "pending"
    VALIDATED = "validated"
    INVOKED = "invoked"
    RESPONDED = "responded"
    COMPLETED = "completed"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Transition:
    """A turn entered a state; `error` names the failure, for ERROR."""

    turn: str
    state: TurnState
    at: datetime
    error: str = ""


@dataclass(frozen=True, slots=True)
class ThreadRecord:
    """A thread with all that belongs to it, for export and import."""

    thread: Thread
    messages: tuple[Message, ...]
    summaries: tuple[Summary, ...] = ()
    transitions: tuple[Transition, ...] = ()


class Threads(Protocol):
    """Storage of threads. Part of `core.stores.HistoryStore`."""

    async def open_thread(
        self, conversation: ConversationKey, at: datetime, metadata: Mapping[str, JSONValue] | None = None
    ) -> Thread:
        """Return the conversation's one active thread, with its totals; created with that metadata if there is none."""

    async def mark(self, thread_id: str, status: ThreadStatus, at: datetime) -> Thread | None:
        """Set a thread's status and return it; None for an unknown id.

        Activating a thread archives the active one of its conversation. `open_thread` returns only the active one.
        """

    async def thread(self, thread_id: str) -> Thread | None:
        """Return the thread of any status, or None."""

    async def threads(self, user: UserKey) -> Sequence[Thread]:
        """Return all of the person's threads, the one used last first."""

    async def update(self, thread_id: str, messages: Sequence[Message]) -> Sequence[Message]:
        """Replace all messages of the thread, numbered anew in that order, and return them as they are stored.

        Messages that were in the thread keep their ids. Summaries are removed, as their sequences no longer hold.
        """

    async def delete(self, thread_id: str) -> None:
        """Remove every message and summary of the thread, and the states of its turns; the thread itself stays."""

    async def describe(self, thread: Thread) -> None:
        """Store the thread's title, policy and metadata."""

    async def totals(self, thread_id: str, after: int = 0) -> tuple[int, int]:
        """Return the number of messages with a sequence greater than `after`, and their tokens, in constant time."""

    async def summary(self, thread_id: str) -> Summary | None:
        """Return the newest summary."""

    async def summaries(self, thread_id: str) -> Sequence[Summary]:
        """Return every summary, oldest first."""

    async def fold(self, thread_id: str, summary: Summary) -> bool:
        """Store the summary if the newest one ends at its `after` (0: there is none), else do nothing; return which."""

    async def drop_summaries(self, thread_id: str, after: int) -> None:
        """Remove the summaries that cover a message with a sequence greater than `after`."""

    async def enter(self, thread_id: str, *entered: Transition) -> None:
        """Store that a turn entered these states."""

    async def transitions(self, thread_id: str, turn: str = "") -> Sequence[Transition]:
        """Return the states that the turn entered (every turn, for ""), oldest first."""

    async def restore(self, record: ThreadRecord) -> Thread:
        """Store a whole thread; its messages get new ids.

        It gets a new id if its own is taken, and is archived if another thread of its conversation is active.
        """


@dataclass(frozen=True, slots=True)
class ToldMemory:
    """A memory as it was when a message told of it: `version` is a digest of its content ("": any content).

    `redacted`: it was deleted or replaced for good.
    """

    memory_id: str
    version: str
    redacted: bool = False


class ToldMemories(Protocol):
    """Record which messages tell of which memories. Part of `core.stores.HistoryStore`.

    By these records, text about a deleted or replaced memory is withheld from models and later removed.
    """

    async def tell(self, told: Mapping[int, Collection[ToldMemory]]) -> None:
        """Add the memories that messages (by id) tell of to those stored."""

    async def told(self, message_ids: Sequence[int]) -> Mapping[int, Sequence[ToldMemory]]:
        """Map the messages that tell of memories to these."""

    async def first_told(self, thread_id: str) -> Mapping[ToldMemory, int]:
        """Map the memories that a thread tells of, unless redacted, to the sequence of the first message that does."""

    async def told_by(self, user: UserKey) -> frozenset[ToldMemory]:
        """Return all memories that the person's threads tell of."""

    async def tellers(self) -> Sequence[UserKey]:
        """Return the people whose threads tell of memories that were not redacted."""

    async def redact(self, user: UserKey, told: Collection[ToldMemory], *, own: bool = False) -> int:
        """Clear the bot's messages in the person's threads that tell of those memories; return how many.

        Summaries that cover a message about them are removed. The person's own messages keep their words, and are
        marked; with `own` they are cleared, too, and it is them that are counted. No byte of what was removed is left
        on the disk when this returns.
        """


@dataclass(frozen=True, slots=True)
class PendingInput:
    """A command that waits for the text of the next message since `at`."""

    command: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Confirmation:
    """An open question: the code that confirms it, and what it is about, as a kind and JSON."""

    code: str
    kind: str
    data: str
    at: datetime


Waiting = TypeVar("Waiting", PendingInput, Confirmation)


class WaitingStore(Protocol[Waiting]):
    """Storage of what waits for a person's reply: at most one in each conversation, the last."""

    async def put(self, conversation: ConversationKey, waiting: Waiting) -> None:
        """Store it in place of any other."""

    async def find(self, conversation: ConversationKey) -> Waiting | None:
        """Return what waits there, or None."""

    async def take(
        self, conversation: ConversationKey, message_id: str = "", since: datetime | None = None
    ) -> Waiting | None:
        """Remove what waits there, and return it unless it is older than `since`; of two who take it, one has it.

        With the id of a message that is owed an answer: taken again by that, it is what it took first.
        """

    async def taken(self, conversation: ConversationKey, message_id: str) -> Waiting | None:
        """Return what that message has taken; None once it was answered."""

    async def expire(self, before: datetime) -> None:
        """Remove what was stored before then."""

    async def forget(self, user: UserKey) -> None:
        """Remove what waits for that person, in any conversation."""


PendingInputs: TypeAlias = WaitingStore[PendingInput]
ConfirmationStore: TypeAlias = WaitingStore[Confirmation]
