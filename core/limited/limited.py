"""A chat model without a language model: it saves, finds, changes and deletes what it is told, and says so.

It answers each task of a prompt from the prompt's data alone, and remembers nothing between two prompts: a question
that it left open comes back as `PromptContext.question`.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from core.aside import aside
from core.dialogue import Delta, Finish, Prompt, PromptContext, Stop, StreamEvent, Task
from core.limited import sentences as say
from core.limited import tasks
from core.limited.cues import Cues
from core.limited.likeness import Examples, Likeness
from core.limited.moves import next_move
from core.limited.scene import Scene, read
from core.limited.understanding import Wish, understand
from core.ports import ChatModel, Embedder
from core.types import OpenQuestion

_SPOKEN = re.compile(r"(?:\s*\S{1,60}){1,4}\s*")
"""One to four words: a piece of a streamed answer."""


class LimitedMind(ChatModel):
    """Answers by cues, examples and rules. Without its embedder it still answers, by cues alone."""

    def __init__(self, embedder: Embedder) -> None:
        self._likeness = Likeness(embedder, Examples.load())
        self._cues = Cues.load()

    @property
    def name(self) -> str:
        """`provider:model`, for logs and the ledger."""
        return "limited:mind"

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Answer the prompt, a few words at a time."""
        yield self._events(prompt.context)

    async def _events(self, context: PromptContext) -> AsyncIterator[StreamEvent]:
        text, question = await self._reply(context)
        for piece in _SPOKEN.finditer(text):
            yield Delta(piece[0])
        yield Finish(Stop.END, question=question)

    async def answer(self, context: PromptContext) -> str:
        """Return the text of the answer to a prompt."""
        return (await self._reply(context))[0]

    async def _reply(self, context: PromptContext) -> tuple[str, OpenQuestion | None]:
        """Return the answer, and what it asks the person."""
        chars = len(context.message) + sum(len(message.text) for message in context.history)
        if context.task is Task.SUMMARY:
            return await aside(chars, partial(tasks.summary, context)), None
        if context.task is Task.REPORT:
            return await aside(chars, partial(tasks.report, context)), None
        scene = await aside(chars, partial(read, context))
        wishes = await understand(scene, self._cues, self._likeness)
        if context.task in {Task.QUESTION, Task.FINISH}:
            return await aside(chars, partial(self._spoken, scene, wishes))
        return json.dumps(await aside(chars, partial(self._data, scene, wishes)), ensure_ascii=False), None

    def _data(self, scene: Scene, wishes: tuple[Wish, ...]) -> dict[str, object]:
        """Return the answer to a task that asks for JSON."""
        match scene.context.task:
            case Task.DECIDE:
                return {"action": scene.choice(next_move(scene, self._cues, wishes).action)}
            case Task.SEARCH_QUERIES:
                return {"items": tasks.search_queries(scene, self._cues, wishes)}
            case Task.SAVE_DRAFTS:
                return {"items": tasks.save_drafts(scene, self._cues, wishes)}
            case Task.UPDATE_DRAFTS:
                return {"items": tasks.update_drafts(scene, self._cues, wishes)}
            case _:
                return {"ids": tasks.delete_ids(scene, self._cues, wishes)}

    def _spoken(self, scene: Scene, wishes: tuple[Wish, ...]) -> tuple[str, OpenQuestion | None]:
        """Return the text that ends the turn, and what it asks.

        The first answer of a conversation says that this is the limited mode: after what was done, if anything was.
        """
        move = next_move(scene, self._cues, wishes)
        text = move.text or say.SWITCHED_OFF[scene.locale]  # ended although something was left to do
        if scene.context.attachments and say.UNSEEN[scene.locale] not in text:
            text = f"{text}\n\n{say.UNSEEN[scene.locale]}"
        if not scene.first:
            return text, move.question
        intro = say.INTRO[scene.locale]
        return (f"{text}\n\n{intro}" if scene.acted else f"{intro}\n\n{text}"), move.question
