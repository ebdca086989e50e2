"""What a prompt's data shows, read once: the message, what was said before it, what was found and quoted.

Actions are known by the task that they set a model, and by their name where they set none: no name stands in this
package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from core.clock import zone_name
from core.dialogue import Outcome, PromptContext, Step, Task
from core.limited import sentences as say
from core.text.days import dated, short_day
from core.text.markdown import quoted
from core.types import Locale, Localized, MemoryHit, MemoryItem, Message, MessageRole, Modal, Passage

SEARCH, SAVE, UPDATE, DELETE = Task.SEARCH_QUERIES, Task.SAVE_DRAFTS, Task.UPDATE_DRAFTS, Task.DELETE_IDS
QUESTION, FINISH = Task.QUESTION, Task.FINISH

_RECENT: Final = 12
"""How many of the last messages of a talk "she" and "it" may be about."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A prompt's data, with the history cut at this turn's message.

    `first` says that the person was answered nothing before, here or in another thread; `quoted` are the
    memories that the answers of the turn before quote, in that order, `recent` those that any answer quotes;
    `before` is the message they answered ("" if none).
    """

    context: PromptContext
    first: bool
    quoted: tuple[MemoryItem, ...]
    recent: tuple[MemoryItem, ...]
    before: str

    @property
    def message(self) -> str:
        """What the person said in this turn."""
        return self.context.message

    @property
    def locale(self) -> Locale:
        """The language to answer in."""
        return self.context.locale

    @property
    def told_last(self) -> MemoryItem | None:
        """The memory that was told of last, by the answer before or else in this talk: the newest of several."""
        return max(self.quoted, key=lambda item: item.updated_at, default=self.recent[-1] if self.recent else None)

    @property
    def found(self) -> tuple[MemoryItem, ...]:
        """What this turn's searches found, each memory once, best first."""
        items = (item for step in self.context.steps if self._is(step, SEARCH) for item in step.items)
        return tuple({item.id: _local(item, self.context) for item in items}.values())

    @property
    def searches(self) -> tuple[tuple[str, ...], ...]:
        """What each search of this turn looked for."""
        return tuple(step.queries for step in self.context.steps if self._is(step, SEARCH))

    def without_searches(self, is_left_out: Callable[[tuple[str, ...]], bool]) -> Scene:
        """Return the scene without the searches whose phrases are left out."""
        steps = [each for each in self.context.steps if not self._is(each, SEARCH) or not is_left_out(each.queries)]
        return replace(self, context=replace(self.context, steps=tuple(steps)))

    @property
    def hits(self) -> tuple[MemoryHit, ...]:
        """What this turn's search by words and vectors found, best first."""
        hits = (hit for step in self.context.steps if self._is(step, SEARCH) for hit in step.hits)
        return tuple(replace(hit, item=_local(hit.item, self.context)) for hit in hits)

    @property
    def passages(self) -> Mapping[str, Sequence[Passage]]:
        """The passages of documents that this turn's search found, by the memories that keep them."""
        return {hit.item.id: hit.passages for hit in self.hits if hit.passages}

    @property
    def notes(self) -> tuple[str, ...]:
        """What features knew of what this turn searched for, a line each."""
        notes = (note for step in self.context.steps if self._is(step, SEARCH) for note in step.notes)
        return tuple(dict.fromkeys(notes))

    @property
    def said_before(self) -> tuple[Message, float] | None:
        """What the person said earlier that fits what this turn searched for best, and how well it does."""
        quotes = (each for step in self.context.steps if self._is(step, SEARCH) for each in step.quotes)
        own = [each for each in quotes if each.message.role is MessageRole.USER and each.message.at is not None]
        best = max(own, key=lambda each: each.score, default=None)
        return (best.message, best.score) if best is not None else None

    @property
    def can_search(self) -> bool:
        """Return whether a search may still be asked for in this turn."""
        return self.can_run(SEARCH) and not self.ran(SEARCH)

    def can_run(self, action: str) -> bool:
        """Return whether the action may still be asked for: it is offered, and the turn is not ending."""
        return not self.is_ending and self.offers(action)

    @property
    def is_ending(self) -> bool:
        """Whether no action comes after what is said now."""
        return self.context.task in {Task.QUESTION, Task.FINISH} and not self.context.choices

    def ran(self, action: str) -> bool:
        """Return whether the action was tried in this turn, however it ended."""
        return any(self._is(step, action) for step in self.context.steps)

    def last(self, action: str) -> Step | None:
        """Return the action's last step of this turn that was not refused as a repeat."""
        steps = [step for step in self.context.steps if self._is(step, action) and step.outcome is not Outcome.REPEATED]
        return steps[-1] if steps else None

    def offers(self, action: str) -> bool:
        """Return whether a decision may name the action; True for a prompt that asks for no decision."""
        return not self.context.choices or self._name_of(action) in self.context.choices

    def is_on(self, action: str) -> bool:
        """Return whether the action is not turned off."""
        return self.why_off(action) is None

    def why_off(self, action: str = "") -> Localized | None:
        """Return the sentence that says why the action, or any without one, is turned off; None if it is on."""
        named = [info.off for info in self.context.actions if action in {"", info.task or info.name}]
        return next((off for off in named if off is not None), None)

    def choice(self, action: str) -> str:
        """Return the name to decide for; the last choice, which ends the turn, if the action is not offered."""
        name = self._name_of(action)
        return name if name in self.context.choices else self.context.choices[-1]

    def _name_of(self, action: str) -> str | None:
        return next((info.name for info in self.context.actions if action == (info.task or info.name)), None)

    def _is(self, step: Step, *actions: str) -> bool:
        return key_of(self.context, step) in actions


def key_of(context: PromptContext, step: Step) -> str:
    """Return what the step's action is known by: its task, or its name."""
    return next((info.task for info in context.actions if info.name == step.action and info.task), step.action)


def read(context: PromptContext) -> Scene:
    """Return the scene of a prompt."""
    earlier = _earlier(context)
    spoken = [message for message in earlier if message.modal is Modal.TEXT]
    asked_at = max((at for at, message in enumerate(spoken) if message.role is MessageRole.USER), default=-1)
    told = [message.text for message in spoken[asked_at + 1 :] if message.role is MessageRole.ASSISTANT]
    return Scene(
        context=context,
        first=context.threads == 1
        and not any(message.role is MessageRole.ASSISTANT and message.modal is Modal.TEXT for message in earlier),
        quoted=_quoted("\n".join(told), context.memories),
        recent=_quoted("\n".join(each.text for each in spoken[-_RECENT:]), context.memories),
        before=spoken[asked_at].text if asked_at >= 0 and told else "",
    )


def _quoted(text: str, items: Iterable[MemoryItem]) -> tuple[MemoryItem, ...]:
    """Return the memories that the text quotes, in its order."""
    places = [(max(text.rfind(quoted(item.content)), text.rfind(quoted(item.content, None))), item) for item in items]
    return tuple(item for place, item in sorted(places, key=lambda found: found[0]) if place >= 0)


def _earlier(context: PromptContext) -> Sequence[Message]:
    """Return what was said before this turn's message."""
    for index in range(len(context.history) - 1, -1, -1):
        message = context.history[index]
        if message.role is MessageRole.USER and message.modal is not Modal.MEMORY:
            return context.history[:index] if context.message in message.text else context.history
    return context.history


def _local(item: MemoryItem, context: PromptContext) -> MemoryItem:
    """Return the memory with its times in the person's zone."""
    return item.in_zone(context.now.tzinfo or UTC)


def day(moment: datetime, locale: Locale) -> str:
    """Return the date as people of that language write it."""
    if moment.year <= 1970:  # noqa: PLR2004 - told by no store of ours
        return ""
    return short_day(moment, locale)


def moment(now: datetime, locale: Locale) -> str:
    """Return day, date, time of day and zone, as people of that language write them."""
    return f"{say.WEEKDAYS[locale].split()[now.weekday()]}, {day(now, locale)}, {now:%H:%M} {zone_name(now)}"


def when(item: MemoryItem, locale: Locale) -> str:
    """Return the day that a memory means, or else when it was said last: " (3 May 2026)"."""
    date = day(item.updated_at, locale)
    return dated(item, item.updated_at.tzinfo or UTC, locale) or (f" ({date})" if date else "")
