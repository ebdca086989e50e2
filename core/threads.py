"""What belongs to a thread beside its messages, what waits in a conversation, and the ports of their stores."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeAlias, TypeVar

from core.types import ConversationKey, JSONValue, Message, Thread, ThreadStatus, UserKey

THREAD_ID_RULE = "write 3 to 64 of a-z, A-Z, 0-9, - and _"
"""What the id of a thread looks like, for people."""

_THREAD_ID = re.compile(r"[a-zA-Z0-9_-]{3,64}")


def is_thread_id(text: str) -> bool:
    """Return whether a thread may have that id: 3 to 64 of a-z, A-Z, 0-9, - and _."""
    return _THREAD_ID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Summary:
    """What was said in a thread up to and with the message of sequence `through`, in few words.

    It was made of the summary before it (that ended at `after`) and of the messages since.
    """

    text: str
    through: int
    after: int = 0
    tokens: int = 0
    at: datetime | None = None
    model: str = ""


class TurnState(StrEnum):
    """How far answering a message has come."""

    PENDING = "pending"
    VALIDATED = "validated"
    INVOKED = "invoked"
    RESPONDED = "responded"
    COMPLETED = "completed"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Transition:
    """A turn's entering a state; `error` names the failure, for ERROR."""

    turn: str
    state: TurnState
    at: datetime
    error: str = ""


@dataclass(frozen=True, slots=True)
class ThreadRecord:
    """A thread with all that belongs to it, as it is exported and imported."""

    thread: Thread
    messages: tuple[Message, ...]
    summaries: tuple[Summary, ...] = ()
    transitions: tuple[Transition, ...] = ()


class Threads(Protocol):
    """Threads as a whole. Part of what every `core.ports.HistoryStore` promises."""

    async def open_thread(
        self, conversation: ConversationKey, at: datetime, metadata: Mapping[str, JSONValue] | None = None
    ) -> Thread:
        """Return the conversation's one active thread, made now, with that metadata, if there is none."""
        ...

    async def mark(self, thread_id: str, status: ThreadStatus, at: datetime) -> Thread | None:
        """Give a thread another status and return it; None for an unknown one.

        One that becomes active takes the place of the active one of its conversation, which is archived. One that is no
        longer active is not opened again by `open_thread`.
        """
        ...

    async def thread(self, thread_id: str) -> Thread | None:
        """Return the thread, whatever its status, or None."""
        ...

    async def threads(self, user: UserKey) -> Sequence[Thread]:
        """Return all of that person's threads, the one used last first."""
        ...

    async def update(self, thread_id: str, messages: Sequence[Message]) -> Sequence[Message]:
        """Make these all the messages of the thread, numbered anew in that order, and return them as they are stored.

        A message of this thread's keeps its id. Summaries go: they tell of places that are no longer there.
        """
        ...

    async def delete(self, thread_id: str) -> None:
        """Remove every message and summary of the thread, and the states of its turns; the thread itself stays."""
        ...

    async def describe(self, thread: Thread) -> None:
        """Give the stored thread of that id the title, policy and metadata of this one."""
        ...

    async def totals(self, thread_id: str, after: int = 0) -> tuple[int, int]:
        """Return how many messages there are with a sequence greater than `after`, and how many tokens they cost.

        This takes the same time for a short thread and a long one.
        """
        ...

    async def summary(self, thread_id: str) -> Summary | None:
        """Return the newest summary."""
        ...

    async def summaries(self, thread_id: str) -> Sequence[Summary]:
        """Return every summary, oldest first: together they tell which messages each rests on."""
        ...

    async def fold(self, thread_id: str, summary: Summary) -> bool:
        """Store the summary if the newest one ends at its `after` (0: if there is none); False, and nothing, if not."""
        ...

    async def drop_summaries(self, thread_id: str, after: int) -> None:
        """Remove the summaries that tell of a message with a sequence greater than `after`."""
        ...

    async def enter(self, thread_id: str, transition: Transition) -> None:
        """Store that a turn entered a state."""
        ...

    async def transitions(self, thread_id: str, turn: str = "") -> Sequence[Transition]:
        """Return the states that the turn entered (every turn, for ""), oldest first."""
        ...

    async def restore(self, record: ThreadRecord) -> Thread:
        """Store a thread whole, as it is; its messages get new ids.

        It gets a new id where its own is taken, and is archived where another thread of its conversation is active.
        """
        ...


@dataclass(frozen=True, slots=True)
class Told:
    """A memory as it was when a message told of it: `version` is a digest of its content ("": whatever it was).

    `redacted` says that it was deleted or replaced, for good.
    """

    memory_id: str
    version: str
    redacted: bool = False


class ToldMemories(Protocol):
    """Which messages tell of which memories. Part of what every `core.stores.HistoryStore` promises.

    By it what was deleted or replaced is kept from models, and in the end removed.
    """

    async def tell(self, told: Mapping[int, Collection[Told]]) -> None:
        """Store what each of those messages tells of; what is stored already is fine."""
        ...

    async def told(self, message_ids: Sequence[int]) -> Mapping[int, Sequence[Told]]:
        """Map those of the messages that tell of memories to what they tell of."""
        ...

    async def first_told(self, thread_id: str) -> Mapping[Told, int]:
        """Map what the thread tells of, and was not redacted, to the sequence of the first message that does."""
        ...

    async def told_by(self, user: UserKey) -> frozenset[Told]:
        """Return all that the person's threads tell of."""
        ...

    async def tellers(self) -> Sequence[UserKey]:
        """Return everybody whose threads tell of what was not redacted."""
        ...

    async def redact(self, user: UserKey, told: Collection[Told], *, own: bool = False) -> int:
        """Remove the words of the bot's messages in that person's threads that tell of those; return how many.

        Summaries of any message that tells of them are removed; the person's own messages keep their words, and what
        they tell of is marked. With `own`, these lose their words, too, nothing is marked, and the number is theirs.
        No byte of what was removed is left on the disk when this returns.
        """
        ...


@dataclass(frozen=True, slots=True)
class PendingInput:
    """A command that waits for the text of the next message, and since when."""

    command: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What a person was asked to agree to: the code that says yes to it, the kind of thing it is, and it, as JSON."""

    code: str
    kind: str
    data: str
    at: datetime


Waiting = TypeVar("Waiting", PendingInput, Confirmation)


class WaitingStore(Protocol[Waiting]):
    """What waits in conversations for the person's next word: at most one in each, the last that was stored."""

    async def put(self, conversation: ConversationKey, waiting: Waiting) -> None:
        """Store it, in place of what waited there."""
        ...

    async def find(self, conversation: ConversationKey) -> Waiting | None:
        """Return what waits there, or None."""
        ...

    async def take(self, conversation: ConversationKey) -> Waiting | None:
        """Remove what waits there and return it, or None: of two that take it at once, one has it."""
        ...

    async def expire(self, before: datetime) -> None:
        """Remove what was stored before then."""
        ...

    async def forget(self, user: UserKey) -> None:
        """Remove what waits for that person, in any conversation."""
        ...


PendingInputs: TypeAlias = WaitingStore[PendingInput]
ConfirmationStore: TypeAlias = WaitingStore[Confirmation]
