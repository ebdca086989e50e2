"""The model without a language model: the same port, answered by frames, examples and people's own words."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Final

from core.dialogue import NOTHING_TO_ADD, Delta, Finish, Prompt, PromptContext, Stop, StreamEvent, Task
from core.errors import StepwiseOnly
from core.limited import reading, removal
from core.limited import sentences as say
from core.limited.frames import listed, stands_for
from core.limited.likeness import Intent, Likeness
from core.limited.moves import Move, next_move, switched_off, to_change, to_keep
from core.limited.reading import MessagePart
from core.limited.scene import FINISH, Scene
from core.limited.scene import read as read_scene
from core.limited.searches import search_queries
from core.limited.summary import summary
from core.ports import ChatModel, Embedder
from core.tasks import aside
from core.text.senses import bindings
from core.types import JSONValue, MemoryKind, MessageRole, Modal

_SPOKEN: Final = re.compile(r"(?:\s*\S{1,60}){1,4}\s*")
"""One to four words: a piece of a streamed answer."""

_LOOKED_THROUGH: Final = 50
"""How many characters that are only looked through take as long as one that is read."""

_KEPT_READINGS: Final = 16
"""A message is asked about several times in its turn, and so many turns may run at once."""

Parts = Sequence[MessagePart]


class LimitedMind(ChatModel):
    """Answers by frames, examples and rules. Without its embedder it still answers, by frames alone.

    `last_reading` are the parts of the message that was read last, for `elefante think`.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._likeness = Likeness(embedder)
        self.last_reading: Parts = ()
        self._readings: dict[object, Parts] = {}

    @property
    def name(self) -> str:
        """`provider:model`, for logs and the ledger."""
        return "limited:mind"

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Answer the prompt, a few words at a time."""
        if prompt.context.task is Task.SINGLE:
            raise StepwiseOnly(f"{self.name} answers step by step")
        yield self._events(prompt.context)

    async def _events(self, context: PromptContext) -> AsyncIterator[StreamEvent]:
        reply = await self._reply(context)
        for piece in _SPOKEN.finditer(reply.text):
            yield Delta(piece[0])
        yield Finish(Stop.END, question=reply.question, says_off=reply.is_off)

    async def answer(self, context: PromptContext) -> str:
        """Return the text of the answer to a prompt."""
        return (await self._reply(context)).text

    async def _reply(self, context: PromptContext) -> Move:
        """Return the answer, and what it asks the person, as a move that is made."""
        said = sum([len(each.content) for each in context.history if isinstance(each.content, str)])
        if context.task is Task.SUMMARY:
            return Move(FINISH, await aside(said, partial(summary, context)))
        scene = await aside(said // _LOOKED_THROUGH, partial(read_scene, context))
        chars = len(context.message) + sum([len(item.content) for step in context.steps for item in step.items])
        parts = await self._read(scene)
        self.last_reading = parts = await aside(chars, partial(removal.settled, scene, parts))
        if context.task in {Task.QUESTION, Task.FINISH}:
            return await aside(chars, partial(_spoken, scene, parts))
        return Move(FINISH, json.dumps(await aside(chars, partial(_data, scene, parts)), ensure_ascii=False))

    async def _read(self, scene: Scene) -> Parts:
        """Return the parts of the message, read once for all prompts of its turn, whatever is changed in it."""
        context = scene.context
        own = (each for each in reversed(context.history) if each.role is MessageRole.USER)
        turn = next((each.id for each in own if each.modal is not Modal.MEMORY), 0) or (scene.before, scene.quoted)
        told = (context.message, context.locale, context.quotes, context.files, context.question, turn)
        key = (*told, context.actions, context.now.replace(second=0, microsecond=0))
        if key not in self._readings:
            self._readings[key] = await reading.read(scene, self._likeness)
            while len(self._readings) > _KEPT_READINGS:
                del self._readings[next(iter(self._readings))]
        return self._readings[key]


def _spoken(scene: Scene, parts: Parts) -> Move:
    """Return the move that ends the turn, with all that is said then.

    The first answer that a person gets says that this is the limited mode: after what was done, if anything was.
    """
    move = next_move(scene, parts)
    if not move.text and scene.is_ending:  # it ends a turn although something was left to do
        move = switched_off(scene)
    said = [move.text] if move.text.strip(NOTHING_TO_ADD) else []
    if scene.first and scene.is_ending:
        said.append(say.INTRO[scene.locale])
    return replace(move, text="\n\n".join(said) or NOTHING_TO_ADD)


def _data(scene: Scene, parts: Parts) -> Mapping[str, object]:
    """Return the answer to a task that asks for JSON."""
    match scene.context.task:
        case Task.DECIDE:
            return {"action": scene.choice(next_move(scene, parts).action)}
        case Task.SEARCH_QUERIES:
            return {"items": search_queries(scene, parts)}
        case Task.SAVE_DRAFTS:
            return save_drafts(scene, parts)
        case Task.UPDATE_DRAFTS:
            return update_drafts(scene, parts)
        case Task.ARGUMENTS:
            return arguments(scene, parts)
        case _:
            wanted = [removal.proposed(scene, part) for part in parts if part.intent is Intent.REMOVE]
            ids = dict.fromkeys(item.id for each in wanted for item in each.items)
            return {"ids": list(ids), "which": any(each.which for each in wanted)}


def save_drafts(scene: Scene, parts: Parts) -> Mapping[str, object]:
    """Return what to save, in the shape of the action's Drafts: the person's words, unchanged.

    What is surely to be kept is; of the rest, the person is asked, unless it takes the place of something known.
    """
    wanted = to_keep(scene, parts)
    sure = [part for part in wanted if part.is_sure and part.intent is not Intent.REMOVE]
    items = [_draft(part.text) for part in sure or wanted]
    return {"items": items, "asked": True, "ask": not sure}


def _draft(content: str, named: str = "") -> dict[str, JSONValue]:
    """Return a draft that is found by the words of `named`, or else by its own."""
    kind = MemoryKind.JSON if _is_json(content) else MemoryKind.TEXT
    return {"type": kind.value, "content": content, "bindings": list(bindings(named or content))}


def _is_json(content: str) -> bool:
    """Return whether a text is a JSON object or list."""
    try:
        return content[:1] in {"{", "["} and bool(json.loads(content))
    except (ValueError, RecursionError):
        return False


def update_drafts(scene: Scene, parts: Parts) -> Mapping[str, object]:
    """Return the memories that the message may change, each with its new text, and the message's own words.

    A wish, as one to put something on a list, has no words that could be kept beside them.
    """
    part = next(part for part in parts if part.intent in {Intent.CHANGE, Intent.REMOVE})
    is_wish = part.intent is Intent.REMOVE or listed(part.text) is not None
    found = to_change(scene, part)
    items = [
        {"id": each.item.id, "type": None, "content": each.text, "bindings": list(bindings(each.text))}
        for each in found
    ]
    # "He sits in front now" is found by who that is.
    named = found[0].text if found and stands_for(part.text)[0] else part.text
    statement = None if is_wish else _draft(part.text, named)
    return {
        "items": items,
        "statement": statement,
        "is_sure": part.about != "maybe" and not any(each.is_put_in for each in found),
    }


def arguments(scene: Scene, parts: Parts) -> dict[str, JSONValue]:
    """Return the arguments of the action that is asked for, as it reads them off what calls for it next."""
    context = scene.context
    reads = next((info.reads for info in context.actions if info.name == context.action), None)
    done = sum(step.action == context.action for step in context.steps)
    said = next((part.text for part in parts if part.action == context.action and part.earlier == done), scene.message)
    return dict(reads(said, context.now, context.locale) or {}) if reads else {}
