"""Models and embedders that answer what a test tells them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from core.dialogue import Delta, Finish, Prompt, Stop, StreamEvent, Task, ToolCall, Usage
from core.errors import ProviderDown, ProviderError
from core.ports import ChatModel, Clock, Embedder
from core.types import Vectors


@dataclass(frozen=True)
class Calls:
    """An answer with tool calls: names with their arguments, as data or as the model wrote them; texts around them."""

    calls: Sequence[tuple[str, object]]
    text: str = ""
    after: str = ""


def call(name: str, then: str = "stop", text: str = "", **arguments: object) -> Calls:
    """An answer with one tool call."""
    return Calls([(name, {**arguments, "then": then})], text)


Answer = str | ProviderError | Finish | tuple[str, ProviderError | Finish] | Calls


class ScriptedModel(ChatModel):
    """Answers by task: the next of a list, or what a function makes of the prompt. Keeps every prompt it saw.

    An answer is a text (streamed word by word), an error to raise, or a Finish to end with after an empty text; or a
    text and how it ends. A task without a script answers "ok"; a list that ran out repeats its last answer.
    """

    def __init__(
        self, script: Mapping[Task, Sequence[Answer] | Callable[[Prompt], Answer]], name: str = "scripted:1"
    ) -> None:
        self._script = dict(script)
        self._name = name
        self._asked: dict[Task, int] = {}
        self._calls = 0
        self.prompts: list[Prompt] = []

    @property
    def name(self) -> str:
        return self._name

    def asked(self, task: Task) -> list[Prompt]:
        """Every prompt of that task so far."""
        return [prompt for prompt in self.prompts if prompt.context.task is task]

    def answer(self, task: Task, rule: Sequence[Answer] | Callable[[Prompt], Answer]) -> None:
        """Change the script of a task."""
        self._script[task] = rule

    def _answer(self, prompt: Prompt) -> Answer:
        task = prompt.context.task
        rule = self._script.get(task, ["ok"])
        if callable(rule):
            return rule(prompt)
        index = self._asked.get(task, 0)
        self._asked[task] = index + 1
        return rule[min(index, len(rule) - 1)]

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        self.prompts.append(prompt)
        yield self._events(self._answer(prompt))

    async def _events(self, answer: Answer) -> AsyncIterator[StreamEvent]:
        end: ProviderError | Finish
        match answer:
            case str():
                text, end = answer, Finish(Stop.END, Usage(10, 5))
            case Calls(text=text):
                end = Finish(Stop.END, Usage(10, 5))
            case (text, end):
                pass
            case _:
                text, end = "", answer
        for at, piece in enumerate(text.split(" ") if text else ()):
            yield Delta(piece if at == 0 else f" {piece}")
        for name, arguments in answer.calls if isinstance(answer, Calls) else ():
            written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            self._calls += 1
            yield ToolCall(f"c{self._calls}", name, written)
        if isinstance(answer, Calls) and answer.after:
            yield Delta(answer.after)
        if isinstance(end, ProviderError):
            raise end
        yield end


class SlowModel(ScriptedModel):
    """Says each word after `word_s` seconds."""

    def __init__(
        self, clock: Clock, script: Mapping[Task, Sequence[Answer] | Callable[[Prompt], Answer]], word_s: float
    ) -> None:
        super().__init__(script)
        self._clock = clock
        self._word_s = word_s

    async def _events(self, answer: Answer) -> AsyncIterator[StreamEvent]:
        async for event in super()._events(answer):
            await self._clock.sleep(self._word_s)
            yield event


class HashEmbedder(Embedder):
    """A vector that depends on the words of a text: texts that share words are near. `down` makes it fail."""

    def __init__(self, dims: int = 64, space: str = "hash") -> None:
        self._dims = dims
        self._space = space
        self.down = False
        self.calls: list[list[str]] = []

    @property
    def space(self) -> str:
        return f"{self._space}@{self._dims}"

    @property
    def dims(self) -> int:
        return self._dims

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        if self.down:
            raise ProviderDown("the embedder is down")
        return np.stack([self._vector(text) for text in texts]) if texts else np.empty((0, self._dims), np.float32)

    def _vector(self, text: str) -> Vectors:
        total = np.full(self._dims, 1e-3, np.float64)
        for word in text.casefold().split():
            total += _word_vector(word, self._dims)
        return (total / np.linalg.norm(total)).astype(np.float32)

    async def close(self) -> None:
        """Nothing to let go of."""


@lru_cache(10_000)
def _word_vector(word: str, dims: int) -> npt.NDArray[np.float64]:
    seed = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng(int.from_bytes(seed[:8], "little")).standard_normal(dims)
