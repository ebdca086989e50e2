"""Answers to the tasks that are no decision: search queries, drafts, ids, texts, the summary."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial

from core.aside import aside
from core.dialogue import NOTHING_TO_ADD, Delta, Finish, Prompt, PromptContext, Stop, StreamEvent, Task
from core.errors import StepwiseOnly
from core.limited import moves
from core.limited import sentences as say
from core.limited.change import fits, renewed
from core.limited.cues import Cues, Intent
from core.limited.extract import bindings, drafts, queries, sentences
from core.limited.likeness import Examples, Likeness
from core.limited.moves import next_move
from core.limited.reading import Part, Reading
from core.limited.scene import Scene, read
from core.limited.understanding import Wish, understand
from core.limited.words import concepts, stems, subject, words
from core.ports import ChatModel, Embedder
from core.text.unicode import flat, fold, one_line
from core.types import JSONValue, MemoryItem, Message, MessageRole, Modal, OpenQuestion

MAX_QUERIES = 8
MAX_QUERY_CHARS = 300

EVERYTHING = "*"
"""The query that asks for all memories, newest first."""


def search_queries(scene: Scene, cues: Cues, wishes: Sequence[Wish]) -> list[str]:
    """Return the short phrases to search for."""
    found: list[str] = []
    for wish in wishes:
        match wish.intent:
            case Intent.LIST:
                found.append(EVERYTHING)
            case Intent.UPDATE if wish.agreed:
                found += [item.content for item in scene.context.memories if item.id in wish.targets]
            case Intent.DELETE if moves.everything(cues, wish):
                found.append(EVERYTHING)
            case Intent.DELETE:
                found += queries(moves.about_deletion(scene, cues, wish) or wish.text)
            case Intent.UPDATE:
                told = moves.change_of(cues, wish)
                found += queries(told.subject or wish.text)
            case Intent.ASK:
                found += [query for piece in wish.said for query in _asked(cues.opened(piece))]
            case _:
                pass
    return list(dict.fromkeys(found))[:MAX_QUERIES] or [scene.message]


def _asked(question: str) -> list[str]:
    """Return the question; one of a single known word, like "where do I live?", also as that word in every language."""
    about = subject(question, asking=True)
    names = [" ".join(concept.names.values()) for concept in concepts(about) if len(words(about)) == 1]
    return [one_line(question, MAX_QUERY_CHARS), *names]


def save_drafts(cues: Cues, wishes: Sequence[Wish]) -> list[JSONValue]:
    """Return what to save, in the shape of a MemoryDraft."""
    said = [piece for wish in wishes if wish.intent is Intent.SAVE for piece in wish.said]
    changes = [moves.change_of(cues, wish) for wish in wishes if wish.intent is Intent.UPDATE and not wish.agreed]
    said += [change.told or change.statement for change in changes]
    both: dict[str, JSONValue] = {"instead_of": None} if any(wish.agreed for wish in wishes) else {}
    return [
        {"type": draft.kind.value, "content": draft.content, "bindings": list(draft.bindings), **both}
        for draft in drafts(cues, [piece for piece in said if piece])
    ]


def update_drafts(scene: Scene, cues: Cues, wishes: Sequence[Wish]) -> list[JSONValue]:
    """Return the new text of the one memory that each wish changes; phrases change if they held the old value."""
    found: list[JSONValue] = []
    for wish in wishes:
        if wish.intent is not Intent.UPDATE:
            continue
        told = moves.change_of(cues, wish)
        chosen = moves.targets(scene, wish) if wish.agreed else fits(told.aim, scene.found or scene.shown)[0]
        if chosen and told.value:
            text = renewed(chosen[0].content, told)[0]
            found.append({"id": chosen[0].id, "type": None, "content": text, "bindings": _rebound(chosen[0], text)})
    return found


def _rebound(item: MemoryItem, text: str) -> list[JSONValue] | None:
    """Return new bindings for the new text; None if no present one names a word that is gone."""
    gone = {fold(word) for word in words(item.content)} - {fold(word) for word in words(text)}
    stale = [phrase for phrase in item.bindings if gone & {fold(word) for word in words(phrase)}]
    if not stale:
        return None
    kept = [phrase for phrase in item.bindings if phrase not in stale]
    return list(dict.fromkeys((*kept, *bindings(text))))


def delete_ids(scene: Scene, cues: Cues, wishes: Sequence[Wish]) -> list[JSONValue]:
    """Return the ids of the memories whose deletion is to be proposed."""
    wanted = (wish for wish in wishes if wish.intent is Intent.DELETE)
    return list(dict.fromkeys(item.id for wish in wanted for item in moves.proposed(scene, cues, wish)))


def arguments(scene: Scene, wishes: Sequence[Wish]) -> dict[str, JSONValue]:
    """Return the arguments of the action that is asked for, as it reads them off what calls for it next."""
    context = scene.context
    reads = next((info.reads for info in context.actions if info.name == context.action), None)
    done = sum(step.action == context.action for step in context.steps)
    said = next((wish.text for wish in wishes if wish.action == context.action and wish.earlier == done), scene.message)
    return dict(reads(said, context.now, context.locale) or {}) if reads else {}


# --- the summary -----------------------------------------------------------------------------------------------------

MAX_LINES = 24
MAX_LINE_CHARS = 160

_NAME = re.compile(r"(?<=[\w,]\s)[A-ZÀ-Þ][\w'’-]+")
_WEIGHTY = re.compile(
    r"\b(?:prefir|gost|quer|decid|combin|vou|vamos|nao quero|chamo|nasci|moro|prefer|like|want|decid|agree|will|won't|"
    r"name|born|live|quier|acord|voy|vivo|llamo|senha|password|contrasena|meta|goal|saldo|balance)\w*"
)


def summary(context: PromptContext) -> str:
    """Return the previous summary and what the messages add to it, at most MAX_LINES lines, the weightiest kept."""
    old = [(max(_weight(line), 1), line) for line in context.message.splitlines() if line.strip()]
    new = [(_weight(said), f"- {said}") for message in context.history for said in _said(message)]
    lines = list({fold(line): (weight, line) for weight, line in (*old, *new)}.values())
    heavy = sorted(range(len(lines)), key=lambda at: (lines[at][0], at), reverse=True)[:MAX_LINES]
    return "\n".join(lines[at][1] for at in sorted(heavy) if lines[at][0] > 0)


def _said(message: Message) -> list[str]:
    """Return the sentences of a person's message that are no questions."""
    if message.role is not MessageRole.USER or message.modal is not Modal.TEXT:
        return []
    return [one_line(said, MAX_LINE_CHARS) for said in sentences(message.text) if not said.endswith("?")]


def _weight(line: str) -> int:
    """Return how much information a line holds: numbers and names count double."""
    if len(stems(line)) < 2:  # noqa: PLR2004 - a word alone says nothing later
        return 0
    return 2 * len(re.findall(r"\d+", line)) + 2 * len(_NAME.findall(line)) + len(_WEIGHTY.findall(flat(line)))


_SPOKEN = re.compile(r"(?:\s*\S{1,60}){1,4}\s*")
"""One to four words: a piece of a streamed answer."""


class LimitedMind(ChatModel):
    """Answers by cues, examples and rules. Without its embedder it still answers, by cues alone.

    `last_reading` is what it made of the message of its last prompt.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.last_reading: Reading | None = None
        self._likeness = Likeness(embedder, Examples.load())
        self._cues = Cues.load()

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
            return await aside(chars, partial(summary, context)), None
        scene = await aside(chars, partial(read, context))
        wishes = await understand(scene, self._cues, self._likeness)
        self.last_reading = Reading(tuple(map(self._part, wishes)))
        if context.task in {Task.QUESTION, Task.FINISH}:
            return await aside(chars, partial(self._spoken, scene, wishes))
        return json.dumps(await aside(chars, partial(self._data, scene, wishes)), ensure_ascii=False), None

    def _part(self, wish: Wish) -> Part:
        called = any(self._cues.intent(piece) is wish.intent for piece in wish.said)
        because = wish.action or ("its words" if called else "what came before" if wish.agreed else "similar sentences")
        return Part(wish.text, wish.intent.value, because)

    def _data(self, scene: Scene, wishes: tuple[Wish, ...]) -> Mapping[str, object]:
        """Return the answer to a task that asks for JSON."""
        match scene.context.task:
            case Task.DECIDE:
                return {"action": scene.choice(next_move(scene, self._cues, wishes).action)}
            case Task.SEARCH_QUERIES:
                return {"items": search_queries(scene, self._cues, wishes)}
            case Task.SAVE_DRAFTS:
                return {"items": save_drafts(self._cues, wishes), "asked": True}
            case Task.UPDATE_DRAFTS:
                return {"items": update_drafts(scene, self._cues, wishes)}
            case Task.ARGUMENTS:
                return arguments(scene, wishes)
            case _:
                return {"ids": delete_ids(scene, self._cues, wishes)}

    def _spoken(self, scene: Scene, wishes: tuple[Wish, ...]) -> tuple[str, OpenQuestion | None]:
        """Return the text that ends the turn, and what it asks.

        The first answer of a conversation says that this is the limited mode: after what was done, if anything was.
        """
        move = next_move(scene, self._cues, wishes)
        text = move.text or say.SWITCHED_OFF[scene.locale]  # ended although something was left to do
        said = [] if text == NOTHING_TO_ADD else [text]
        if scene.context.attachments and say.UNSEEN[scene.locale] not in text:
            said.append(say.UNSEEN[scene.locale])
        if scene.first:
            said.insert(len(said) if scene.acted else 0, say.INTRO[scene.locale])
        return "\n\n".join(said) or NOTHING_TO_ADD, move.question
