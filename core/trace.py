"""The turn at hand, wherever it is worked on: its id, which every line of the log has, and where its time went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum

from core.types import Incoming


class Phase(StrEnum):
    """What a turn spends its time on."""

    WAITING = "waiting"  # for earlier answers of the conversation, or for a free place in the room
    MODEL = "model"  # for language models
    DELIVERY = "delivery"  # for writes into the chat
    OWN = "own"  # all else: storage, search, limited mode


@dataclass(slots=True)
class Trace:
    """One turn, from the arrival of its message (`began_s`) to the last edit of its answer.

    The id is the same in every process that goes on with the message. What models are asked is on the account of who
    sent it: `asked`.
    """

    id: str
    began_s: float
    asked: Incoming | None = None
    _spent_s: dict[Phase, float] = field(default_factory=dict)

    def spend(self, phase: Phase, seconds: float) -> None:
        """Add to the time of a phase."""
        self._spent_s[phase] = self._spent_s.get(phase, 0.0) + seconds

    def end(self, now_s: float) -> Mapping[Phase, float]:
        """Return the seconds of every phase until now, and begin anew: an edit is answered under the same id."""
        spent_s = {phase: self._spent_s.get(phase, 0.0) for phase in Phase}
        spent_s[Phase.OWN] = max(now_s - self.began_s - sum(spent_s.values()), 0.0)
        self.began_s, self._spent_s = now_s, {}
        return spent_s


_current: ContextVar[Trace | None] = ContextVar("trace", default=None)


def current() -> Trace | None:
    """Return the turn that the task at hand works for, or None."""
    return _current.get()


def spend(phase: Phase, seconds: float) -> None:
    """Add to the time of a phase of the turn at hand, if there is one."""
    if (trace := _current.get()) is not None:
        trace.spend(phase, seconds)


@contextmanager
def traced(trace: Trace) -> Iterator[None]:
    """Work for that turn inside, as do the tasks that are started there."""
    token = _current.set(trace)
    try:
        yield
    finally:
        _current.reset(token)
