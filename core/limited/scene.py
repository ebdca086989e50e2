"""What a brief shows, read once: the person's message, what was said before it, what was found, what was asked.

Knows the shape of a conversation. Does not know what any of it means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from core import outcomes
from core.clock import zone_name
from core.dialogue import Outcome, PromptContext, Step, Task
from core.limited import sentences as say
from core.text.markdown import QUOTED_CHARS, quoted
from core.types import ChangeKind, JSONValue, Locale, MemoryItem, MemoryKind, Message, MessageRole, Modal

SEARCH, SAVE, UPDATE, DELETE = "MemorySearch", "MemorySave", "MemoryUpdate", "MemoryDelete"
QUESTION, FINISH = "Question", "Finish"


@dataclass(frozen=True, slots=True)
class Scene:
    """A brief, with its history cut at this turn's message.

    `question` is our last word, `told` what we said in the turn before (but for what we deleted), `before` what the
    person had said to that; each is "" where there is none.
    """

    brief: PromptContext
    first: bool
    question: str
    told: str
    before: str
    shown: tuple[MemoryItem, ...]
    withheld: bool = False
    """Whether our last word is kept from us: it told of what was changed since, be it in this very turn."""

    @property
    def message(self) -> str:
        """What the person said in this turn."""
        return self.brief.message

    @property
    def locale(self) -> Locale:
        """The language to answer in."""
        return self.brief.locale

    @property
    def found(self) -> tuple[MemoryItem, ...]:
        """What this turn's searches found, each memory once, best first."""
        items = (item for step in self.brief.steps if step.action == SEARCH for item in step.items)
        return tuple({item.id: _local(item, self.brief) for item in items}.values())

    @property
    def can_search(self) -> bool:
        """Return whether a search may still be asked for in this turn."""
        return self.may_act(SEARCH) and not self.ran(SEARCH)

    def may_act(self, action: str) -> bool:
        """Return whether the action may still be asked for in this turn: it is offered, and the turn is not ending."""
        return self.brief.task not in {Task.QUESTION, Task.FINISH} and self.offers(action)

    def ran(self, action: str) -> bool:
        """Return whether the action was tried in this turn, however it ended."""
        return any(step.action == action for step in self.brief.steps)

    @property
    def acted(self) -> bool:
        """Return whether anything was done in this turn before it ends."""
        return any(step.action not in {QUESTION, FINISH} for step in self.brief.steps)

    def last(self, action: str) -> Step | None:
        """Return the action's last step of this turn that was not refused as a repeat."""
        steps = [step for step in self.brief.steps if step.action == action and step.outcome is not Outcome.REPEATED]
        return steps[-1] if steps else None

    def offers(self, action: str) -> bool:
        """Return whether a decision may name the action; what is not asked for a decision assumes so."""
        return not self.brief.choices or action in self.brief.choices


def read(brief: PromptContext) -> Scene:
    """Return the scene of a brief."""
    earlier = _earlier(brief)
    spoken = [message for message in earlier if message.modal is Modal.TEXT]
    asked_at = max((at for at, message in enumerate(spoken) if message.role is MessageRole.USER), default=-1)
    told = [message.text for message in spoken[asked_at + 1 :] if message.role is MessageRole.ASSISTANT]
    there = [text for text in told if not text.startswith(tuple(outcomes.DONE[ChangeKind.DELETED].values()))]
    return Scene(
        brief=brief,
        first=not any(message.role is MessageRole.ASSISTANT and message.modal is Modal.TEXT for message in earlier),
        question=told[-1] if told else "",
        told="\n".join(there),
        before=spoken[asked_at].text if asked_at >= 0 and told else "",
        shown=_shown(brief),
        withheld=bool(told) and not told[-1],
    )


def _earlier(brief: PromptContext) -> Sequence[Message]:
    """Return what was said before this turn's message."""
    for index in range(len(brief.history) - 1, -1, -1):
        message = brief.history[index]
        if message.role is MessageRole.USER and message.modal is not Modal.MEMORY:
            return brief.history[:index] if message.text == brief.message else brief.history
    return brief.history


def _shown(brief: PromptContext) -> tuple[MemoryItem, ...]:
    """Return the memories on the screen, each in its newest form."""
    told = (_memory(message.content) for message in brief.history if message.modal is Modal.MEMORY)
    items = {item.id: item for item in told if item is not None}
    items.update({item.id: item for step in brief.steps for item in step.items if step.action != DELETE})
    return tuple(_local(item, brief) for item in items.values())


def _local(item: MemoryItem, brief: PromptContext) -> MemoryItem:
    """Return the memory with its times in the person's zone."""
    return item.in_zone(brief.now.tzinfo or UTC)


def _memory(content: JSONValue) -> MemoryItem | None:
    """Return the memory behind a message's content; None if it is none."""
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except ValueError:
            return None
    if not isinstance(content, Mapping) or not content.get("id") or "content" not in content:
        return None
    phrases = content.get("bindings")
    kind = MemoryKind.JSON if content.get("type") == MemoryKind.JSON.value else MemoryKind.TEXT
    return MemoryItem(
        id=str(content["id"]),
        kind=kind,
        content=str(content["content"]),
        bindings=tuple(str(phrase) for phrase in phrases) if isinstance(phrases, list) else (),
        created_at=_moment(content.get("created_at")),
        updated_at=_moment(content.get("updated_at")),
    )


def _moment(value: JSONValue) -> datetime:
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        return datetime.fromtimestamp(0, UTC)


def quotes(text: str) -> list[str]:
    """Return what a text of ours quotes."""
    return re.findall(r"“(.+?)”(?= \(|\s*$)", text, re.MULTILINE)


def day(moment: datetime, locale: Locale) -> str:
    """Return the date as people of that language write it."""
    if moment.year <= 1970:  # noqa: PLR2004 - told by no store of ours
        return ""
    return f"{moment.day} {moment:%b %Y}" if locale is Locale.EN else f"{moment:%d/%m/%Y}"


def moment(now: datetime, locale: Locale) -> str:
    """Return day, date, time of day and zone, as people of that language write them."""
    return f"{say.WEEKDAYS[locale].split()[now.weekday()]}, {day(now, locale)}, {now:%H:%M} {zone_name(now)}"


def line(item: MemoryItem, locale: Locale, *, whole: bool = False) -> str:
    """Return a memory as it is quoted: its words, then its date."""
    date = day(item.updated_at, locale)
    return quoted(item.content, None if whole else QUOTED_CHARS) + (f" ({date})" if date else "")


def numbered(options: Iterable[str]) -> str:
    """Return the options as a numbered list."""
    return "\n".join(f"{number}. {option}" for number, option in enumerate(options, 1))
