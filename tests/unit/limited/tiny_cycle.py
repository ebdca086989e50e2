"""The thought cycle in forty lines, to talk to the limited model: memories are a dict, a search finds by words."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from core import outcomes
from core.actions import ACTIONS
from core.actions.proposal import DELETE
from core.dialogue import NOTHING_TO_ADD, Delta, Finish, Outcome, Prompt, PromptContext, Step, Task
from core.limited import LimitedMind
from core.limited.words import senses
from core.memory.acceptance import Acceptance
from core.memory.search import COSINE_WEIGHT, PARTS_WEIGHT
from core.text.catalogue import counted
from core.text.markdown import quoted
from core.text.replies import means_no, means_yes, numbered
from core.types import ChangeKind, Locale, MemoryHit, MemoryItem, MemoryKind, Message, MessageRole, Modal, OpenQuestion

NOW = datetime(2026, 3, 14, 15, 9, tzinfo=UTC)
ALL = tuple(action.name for action in ACTIONS)
INFOS = tuple(action.info for action in ACTIONS)
MAX_STEPS = 8
WRITES = {action.name: action.writes for action in ACTIONS}


_SCORE = 1 + COSINE_WEIGHT + PARTS_WEIGHT
"""The score of a memory that has all words of a question, where nothing is embedded."""


def _share(queries: list[str], item: MemoryItem) -> float:
    """Return how much of the best of the queries a memory has, 0..1."""
    held = senses(" ".join((item.content, *item.bindings)))
    asked = [senses(query) for query in queries]
    return max((len(words & held) / len(words) for words in asked if words), default=0.0)


@dataclass
class TinyCycle:
    """`history` and `memories` may be set up or changed by a test between turns; `failing` names actions that fail.

    `told` is what a turn wrote, in the bot's own words. A deletion is `proposed`, in the words of the real one; the
    next message answers it, or is a message of its own.
    """

    mind: LimitedMind
    locale: Locale = Locale.PT
    choices: tuple[str, ...] = ALL
    failing: frozenset[str] = frozenset()
    history: list[Message] = field(default_factory=list)
    memories: dict[str, MemoryItem] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    proposed: list[str] = field(default_factory=list)
    question: OpenQuestion | None = None
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    async def say(self, message: str) -> str:
        """Return the answer: what was written, in our own words, then the model's text; the actions are in `steps`."""
        self.question = self.history[-1].question if self.history else None
        self.history.append(Message(MessageRole.USER, message))
        self.steps, self.told = [], []
        if (answer := self._answered(message)) is not None:
            return answer
        for _ in range(MAX_STEPS):
            action = (await self._data(Task.DECIDE, message))["action"]
            assert action in self.choices
            if action in {"Question", "Finish"}:
                self.steps.append(Step(action, Outcome.DONE))
                task = Task.QUESTION if action == "Question" else Task.FINISH
                said = [*self.told, await self._spoken(task, message)]
                return "\n\n".join(filter(None, said))
            step = await self._run(action, message)
            self.steps.append(step)
            if self.proposed:
                return self._told("\n".join(self._proposal()))
            if step.writes is not None and step.outcome is Outcome.DONE:
                self.told.append(self._told(outcomes.written(step.writes, step.items, self.locale, UTC)))
        raise AssertionError(f"no end after {[step.action for step in self.steps]}")

    @property
    def actions(self) -> list[str]:
        return [step.action for step in self.steps]

    @property
    def contents(self) -> list[str]:
        return [item.content for item in self.memories.values()]

    def know(self, content: str, *bindings: str) -> MemoryItem:
        item = MemoryItem(f"m{next(self.numbers)}", MemoryKind.TEXT, content, bindings or (content,), NOW, NOW)
        self.memories[item.id] = item
        return item

    def _answered(self, message: str) -> str | None:
        proposed, self.proposed = self.proposed, []
        chosen = numbered(message, len(proposed)) or (range(len(proposed)) if means_yes(message) else ())
        if not proposed or not (chosen or means_no(message)):
            return None
        gone = [item for at in chosen if (item := self.memories.pop(proposed[at], None))]
        return self._told(outcomes.written(ChangeKind.DELETED, gone, self.locale, UTC) if gone else "left")

    def _proposal(self) -> list[str]:
        lines = [f"{number}. {quoted(self.memories[each].content)}" for number, each in enumerate(self.proposed, 1)]
        return [counted(DELETE, self.locale, len(lines)), *lines]

    def _told(self, text: str, question: OpenQuestion | None = None) -> str:
        self.history.append(Message(MessageRole.ASSISTANT, text, question=question))
        return text

    async def _run(self, action: str, message: str) -> Step:
        if action in self.failing:
            return Step(action, Outcome.FAILED, writes=WRITES[action])
        task = {
            "MemorySearch": Task.SEARCH_QUERIES,
            "MemorySave": Task.SAVE_DRAFTS,
            "MemoryUpdate": Task.UPDATE_DRAFTS,
            "MemoryDelete": Task.DELETE_IDS,
        }[action]
        answer = await self._data(task, message)
        if action == "MemorySearch":
            return self._search(answer["items"])
        if action == "MemoryDelete":
            self.proposed, items = [each for each in answer["ids"] if each in self.memories], []
        elif action == "MemorySave":
            items = [self.know(draft["content"], *draft["bindings"]) for draft in answer["items"]]
        else:
            items = [self._changed(change) for change in answer["items"]]
        return Step(action, Outcome.DONE if items else Outcome.NOTHING, items=tuple(items), writes=WRITES[action])

    def _changed(self, change: dict[str, Any]) -> MemoryItem:
        old = self.memories[change["id"]]
        bindings = tuple(change["bindings"] or old.bindings)
        item = MemoryItem(old.id, old.kind, change["content"] or old.content, bindings, old.created_at, NOW)
        self.memories[item.id] = item
        return item

    def _search(self, queries: list[str]) -> Step:
        assert queries
        assert all(query.strip() for query in queries)
        if "*" in queries:
            return self._recalled(queries, list(self.memories.values())[::-1])
        found = sorted(self.memories.values(), key=lambda item: -_share(queries, item))
        shares = np.array([_share(queries, item) for item in found], np.float32)
        chances = Acceptance.shipped().chances(shares * _SCORE, shares)
        hits = [
            MemoryHit(item, "", float(share) * _SCORE, lexical=float(share), chance=float(chance))
            for item, share, chance in zip(found, shares, chances, strict=True)
            if share
        ][:8]
        return replace(self._recalled(queries, [hit.item for hit in hits]), hits=tuple(hits))

    def _recalled(self, queries: list[str], items: list[MemoryItem]) -> Step:
        found = tuple(items[:25])
        self.history += [Message(MessageRole.SYSTEM, item.to_json(), Modal.MEMORY, memory_id=item.id) for item in found]
        return Step("MemorySearch", Outcome.DONE if found else Outcome.NOTHING, tuple(queries), found)

    async def _data(self, task: Task, message: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(await self.mind.answer(self._context(task, message)))
        return answer

    async def _spoken(self, task: Task, message: str) -> str:
        async with self.mind.stream(Prompt("", (), self._context(task, message))) as stream:
            events = [event async for event in stream]
        text = "".join(event.text for event in events if isinstance(event, Delta))
        assert text.strip()
        [question] = [event.question for event in events if isinstance(event, Finish)]
        return self._told(text, question) if text != NOTHING_TO_ADD else ""

    def _context(self, task: Task, message: str) -> PromptContext:
        choices = self.choices if task is Task.DECIDE else ()
        return PromptContext(
            task,
            self.locale,
            message,
            NOW,
            tuple(self.history),
            tuple(self.steps),
            choices,
            actions=INFOS,
            memories=tuple(self.memories.values()),
            question=self.question,
        )
