"""Learning from what models report: a model that tells a Calibration what each of its prompts really cost.

Knows our count of a prompt and the provider's. Does not know what is done with the ratio.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from core.dialogue import Finish, Prompt, StreamEvent
from core.errors import ContextTooLong
from core.history.tokens import ByCharacters, Calibration
from core.ports import ChatModel

_LEAST_WINDOW_TOKENS = 2_000  # what MAX_CONTEXT_TOKENS is at least: a smaller guess would leave no room to talk


class ReportingModel(ChatModel):
    """A model as it is, overheard: its window, and, if it `learns_ratio`, how many tokens it counts for ours."""

    def __init__(self, model: ChatModel, calibration: Calibration, *, learns_ratio: bool = True) -> None:
        self._model = model
        self._calibration = calibration
        self._learns_ratio = learns_ratio

    @property
    def name(self) -> str:
        """`provider:model`."""
        return self._model.name

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask, and learn from the Finish, or from a refusal for length: the window that it names, or one below ours."""
        try:
            async with self._model.stream(prompt) as events:
                yield self._overheard(prompt, events)
        except ContextTooLong as error:
            self._calibration.observe_window(self._model.name, error.window_tokens or self._at_most(prompt))
            raise

    def _at_most(self, prompt: Prompt) -> int:
        """Return what the window holds at most if it did not hold this prompt: so contexts shrink until they fit."""
        tokens = int(max(counted(prompt), _LEAST_WINDOW_TOKENS) * self._calibration.ratio(self.name))
        return min(tokens, self._calibration.window(self.name) or tokens)

    async def _overheard(self, prompt: Prompt, events: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
        async for event in events:
            if isinstance(event, Finish) and self._learns_ratio:
                reported = event.usage.input_tokens
                self._calibration.observe(self._model.name, counted=counted(prompt), reported=reported)
            yield event


def counted(prompt: Prompt) -> int:
    """Return our count of a prompt: messages of the history as they were counted once, the rest by characters."""
    history = prompt.brief.history
    rest = sum(len(turn.text) for turn in prompt.turns) - sum(len(message.text) for message in history)
    by_characters = ByCharacters().count("x" * max(rest, 0)) + ByCharacters().count(prompt.system)
    return by_characters + sum(message.tokens for message in history)
