"""A chain of models as one: if the first does not answer, ask the next; one that keeps failing rests for a while."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from core.dialogue import Delta, Finish, Prompt, Reply, Stop, StreamEvent, ToolCall
from core.errors import (
    BadReply,
    ContextTooLong,
    EmptyReply,
    KeyRejected,
    ModelUnknown,
    ProviderBusy,
    ProviderDown,
    ProviderError,
    StreamCut,
)
from core.ports import ChatModel, Clock
from core.providers.failure import Rejected
from core.tasks import current

FAILURES_TO_REST = 3
FIRST_REST_S = 10.0
LONGEST_REST_S = 300.0
BUSY_S = 60.0
"""How long a model may be over its rate limit before it counts as down."""

UNUSABLE: Final = (EmptyReply, BadReply)
"""Failures that the question may have caused."""

Observe: TypeAlias = Callable[[ProviderError | None], None]
"""Called with each failure of a model that is not about the prompt, and with None after each answer."""

_DOUBLINGS = 16  # more than enough to reach the longest rest

_log = logging.getLogger(__name__)


class Circuit:
    """Circuit breaker of a model: opens after several failures in a row, or for the wait that the model names.

    An empty or unusable answer may be due to the question: such count only once two people got one. It closes when the
    rest is over. If the next prompt fails, too, the rest doubles. Whatever is counted is passed to `observe`.
    """

    def __init__(self, clock: Clock, observe: Observe | None = None) -> None:
        self._clock = clock
        self._observe = observe
        self._outages = 0
        self._unusable: list[str] = []  # whose questions were answered with nothing that can be used
        self._since_s = 0.0
        self._until_s = 0.0
        self._last: ProviderError | None = None

    @property
    def rest_s(self) -> float:
        """The rest of the model's pause in seconds; 0.0 if it may be asked."""
        return max(self._until_s - self._clock.monotonic(), 0.0)

    @property
    def is_down(self) -> bool:
        """Whether the model failed several times in a row, and was more than busy for a minute."""
        is_busy = isinstance(self._last, ProviderBusy) and self._clock.monotonic() - self._since_s < BUSY_S
        return self._failures >= FAILURES_TO_REST and not is_busy

    @property
    def _failures(self) -> int:
        return self._outages + (len(self._unusable) if len(set(self._unusable)) > 1 else 0)

    def resting(self, name: str) -> ProviderError | None:
        """Return an error of the last kind while the model rests; None if it may be asked."""
        rest_s = self.rest_s
        if not rest_s:
            return None
        whose = f"{len(set(self._unusable))} people" if isinstance(self._last, UNUSABLE) else "its server"
        message = f"{name} is left alone for another {rest_s:.0f} s, after failures of {whose}: {self._last}"
        match self._last:
            case ProviderBusy():
                return ProviderBusy(message, rest_s)
            case KeyRejected() | ModelUnknown() | EmptyReply() | BadReply() as last:
                return type(last)(message)
        return ProviderDown(message)

    def failed(self, error: ProviderError, whose: str = "") -> None:
        """Count a failure that a person saw, unless it was about the prompt."""
        if isinstance(error, Rejected):
            return
        if not self._failures:
            self._since_s = self._clock.monotonic()
        if isinstance(error, UNUSABLE):
            self._unusable.append(whose)
        else:
            self._outages += 1
        if not self._failures:
            return
        self._last = error
        rest_s = error.retry_after_s if isinstance(error, ProviderBusy) else 0.0
        if self._failures >= FAILURES_TO_REST:
            doublings = min(self._failures - FAILURES_TO_REST, _DOUBLINGS)
            rest_s = max(rest_s, FIRST_REST_S * 2.0**doublings)
        until_s = self._clock.monotonic() + min(rest_s, LONGEST_REST_S)
        self._until_s = max(self._until_s, until_s)  # a call that began earlier does not shorten a rest
        if self._observe is not None:
            self._observe(error)

    def rest(self) -> None:
        """Leave the model alone for a short while."""
        self._until_s = max(self._until_s, self._clock.monotonic() + FIRST_REST_S)

    def succeeded(self) -> None:
        """Reset the failures."""
        self._outages = 0
        self._unusable.clear()
        self._until_s = 0.0
        if self._observe is not None:
            self._observe(None)


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A model of the chain. Its circuit is shared by all its chains."""

    model: ChatModel
    circuit: Circuit


class FallbackModel(ChatModel):
    """A chain of at least one model, the preferred one first. The first that begins to answer gives the whole answer.

    The next is asked if one is busy, down, unknown, or rejects the key, but not if it declines or the prompt is too
    long: those concern the prompt. If it is too long for a model asked in the place of another, the other rests, so
    that the shortened prompt comes to the same model. A model that answers nothing, or breaks off before anything was
    shown, is asked twice. So is one whose typed answer was cut off by its limit; the last model's is accepted as it is.
    """

    def __init__(self, links: Sequence[ChainLink]) -> None:
        self._links = tuple(links)

    @property
    def name(self) -> str:
        """The name of the preferred model."""
        return self._links[0].model.name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all, in the order in which they are asked."""
        return tuple(link.model.name for link in self._links)

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask one after the other until one begins to answer.

        Raises:
            ProviderError: the last one's failure.
        """
        async with AsyncExitStack() as stack:
            try:
                begun = await self._begin(prompt, stack)
            except ContextTooLong as error:
                self._rest_before(error.model)
                raise
            yield await stack.enter_async_context(aclosing(begun))

    def _rest_before(self, name: str) -> None:
        """Let the models rest that are asked before the one of that name, if there is one."""
        if name in self.names:
            for link in self._links[: self.names.index(name)]:
                link.circuit.rest()

    async def _begin(self, prompt: Prompt, stack: AsyncExitStack) -> AsyncGenerator[StreamEvent, None]:
        failure: ProviderError | None = None
        last = self._links[-1]
        for link in self._links:
            if failure is not None:
                _log.warning("%s; asking %s", failure, link.model.name)
            if resting := link.circuit.resting(link.model.name):
                failure = resting
                continue
            for last_try in (False, True):
                try:
                    async with AsyncExitStack() as attempt:
                        events = await attempt.enter_async_context(link.model.stream(prompt))
                        opening = await _opening(events, link.model.name, whole=prompt.whole)
                        if prompt.schema is not None and link is not last and _is_cut(opening):
                            failure = BadReply(f"{link.model.name} was cut off by its limit")
                            continue
                        stack.push_async_exit(attempt.pop_all())
                        return _rest(opening, events, link.circuit)
                except (ProviderBusy, ProviderDown, KeyRejected, ModelUnknown, BadReply, StreamCut) as error:
                    failure = error
                    is_asked_again = isinstance(error, EmptyReply | StreamCut) and not last_try
                    if not (is_asked_again and isinstance(error, UNUSABLE)):  # one for each question, not each try
                        link.circuit.failed(error, _asker())
                    if not is_asked_again:
                        break
        failure = failure or ProviderDown("there is no model to ask")
        _log.warning("no model answered: %s", failure)
        raise failure


def _asker() -> str:
    """Return whose message is being answered; "" if nobody's."""
    trace = current()
    return str(trace.asked.user) if trace is not None and trace.asked is not None else ""


async def _opening(events: AsyncIterator[StreamEvent], name: str, *, whole: bool) -> list[StreamEvent]:
    """Read the first word or call of the answer, or all of it if `whole`.

    Raises:
        EmptyReply: it ended without either.
        ProviderError: it broke off.
    """
    read: list[StreamEvent] = []
    said = False
    async for event in events:
        read.append(event)
        match event:
            case Delta(text):
                said = said or bool(text.strip())
            case ToolCall():
                said = True
            case Finish(stop):
                if not said and stop is not Stop.REFUSED:
                    raise EmptyReply(f"{name} answered nothing")
                return read
        if said and not whole:
            return read
    raise ProviderDown(f"{name} ended its answer without a stop reason")


def _is_cut(opening: Sequence[StreamEvent]) -> bool:
    """Return whether a typed answer that was read whole lacks its end."""
    text = "".join(event.text for event in opening if isinstance(event, Delta))
    return any(Reply(text, event.stop, event.usage).is_cut for event in opening if isinstance(event, Finish))


async def _rest(
    opening: Sequence[StreamEvent], events: AsyncIterator[StreamEvent], circuit: Circuit
) -> AsyncGenerator[StreamEvent, None]:
    """Yield the whole answer, and report its end to the circuit."""

    def seen(event: StreamEvent) -> StreamEvent:
        if isinstance(event, Finish):
            circuit.succeeded()
        return event

    try:
        for event in opening:
            yield seen(event)
        async for event in events:
            yield seen(event)
    except StreamCut as error:
        circuit.failed(error)
        raise
