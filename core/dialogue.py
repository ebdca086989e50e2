"""Prompts to a model, and the events of its answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from core.enclosures import Attachment, Quote
from core.types import ChangeKind, JSONValue, Locale, MemoryHit, MemoryItem, Message, MessageRole, OpenQuestion

NOTHING_TO_ADD: Final = "-"
"""What a model answers that was asked to add to words of ours and has nothing to add: an empty answer is a failure."""

Cues: TypeAlias = Mapping[Locale, Sequence[str]]
"""Phrases in each language that call for an action."""


class Task(StrEnum):
    """What a prompt asks for, in a word."""

    DECIDE = "decide"
    SEARCH_QUERIES = "search-queries"
    SAVE_DRAFTS = "save-drafts"
    UPDATE_DRAFTS = "update-drafts"
    DELETE_IDS = "delete-ids"
    REPORT = "report"
    QUESTION = "question"
    FINISH = "finish"
    SUMMARY = "summary"


class Outcome(StrEnum):
    """How a step ended. NOTHING: it ran and changed or found nothing. REPEATED: it would have done the same again."""

    DONE = "done"
    NOTHING = "nothing"
    FAILED = "failed"
    REPEATED = "repeated"


@dataclass(frozen=True, slots=True)
class Step:
    """One action of the turn, after it ran. `queries` are what was looked for; `items` what was found or changed.

    `hits` are the items with their scores, where they were searched for; `refused_ids` are ids that the model named and
    that do not count (not shown in this conversation, or not this person's). `decide_s` and `run_s` are seconds.

    Of an action that writes, `writes` is the kind of change; then `items` are the committed rows, and `missing` what
    was asked for and not done: the words of each, "" where they are not known.
    """

    action: str
    outcome: Outcome
    queries: tuple[str, ...] = ()
    items: tuple[MemoryItem, ...] = ()
    refused_ids: tuple[str, ...] = ()
    detail: str = ""
    hits: tuple[MemoryHit, ...] = ()
    writes: ChangeKind | None = None
    missing: tuple[str, ...] = ()
    decide_s: float = 0.0
    run_s: float = 0.0

    @property
    def result(self) -> tuple[object, ...]:
        """What it came to, for telling a repetition: everything but the outcome's name and the time it took."""
        return self.action, self.queries, self.items, self.refused_ids, self.missing, self.detail


def committed(steps: Iterable[Step]) -> Mapping[ChangeKind, int]:
    """Map each kind of change that the steps made to how many memories it was made to."""
    counts: Counter[ChangeKind] = Counter()
    for step in steps:
        if step.writes is not None and step.items:
            counts[step.writes] += len(step.items)
    return counts


@dataclass(frozen=True, slots=True)
class ActionInfo:
    """An action as a model without language knows it.

    `task` is what the action asks a model for (None: nothing of its own); `cues` are phrases that call for it.
    """

    name: str
    task: Task | None = None
    cues: Cues = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class PromptContext:
    """A prompt as data, for models that do not read prose, and for traces.

    `message` is what the person said in this turn, `attachments` and `quotes` what came along with it; `now` is in the
    person's time zone; `history` every message shown to the model, oldest first, this turn's included; `steps` what was
    done in this turn; `choices` the action names a decision may answer. `locale` is the language of our own sentences;
    `language` the one that the person, or the owner for all, chose for answers. `actions` are those that are on;
    `memories` those that the history shows or tells of, as they are now; `question` is what the last answer before this
    turn asked.
    """

    task: Task
    locale: Locale
    message: str
    now: datetime
    history: tuple[Message, ...] = ()
    steps: tuple[Step, ...] = ()
    choices: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    quotes: tuple[Quote, ...] = ()
    language: Locale | None = None
    actions: tuple[ActionInfo, ...] = ()
    memories: tuple[MemoryItem, ...] = ()
    question: OpenQuestion | None = None


@dataclass(frozen=True, slots=True)
class PromptTurn:
    """One entry of the dialogue a language model is sent; `role` is USER or ASSISTANT."""

    role: MessageRole
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question to a model, twice over: as prose (`system`, `turns`) and as data (`brief`).

    `system` is byte-identical for every call of one task, so that providers can cache it; whatever changes stands in
    the last turn. `turns` starts and ends with USER and alternates. `schema` is a JSON schema with an object at its
    root, or None for free text. Of an answer that is `whole` nobody sees a part: one that breaks off can be asked for
    again.
    """

    system: str
    turns: tuple[PromptTurn, ...]
    brief: PromptContext
    schema: Mapping[str, JSONValue] | None = None
    max_tokens: int = 1024
    whole: bool = False


class Stop(StrEnum):
    """Why a model stopped: it was done, it hit `max_tokens`, or it declined."""

    END = "end"
    LENGTH = "length"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call.

    `input_tokens` is all of the input; `cached_tokens` the part of it read from a cache, `cache_write_tokens` the part
    written into one; `reasoning_tokens` the part of `output_tokens` that was thought and not said.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the answer's text, as it comes."""

    text: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of an answer: exactly one, and last. `question` is what it asks the person, if the model tells."""

    stop: Stop
    usage: Usage = field(default_factory=Usage)
    question: OpenQuestion | None = None


StreamEvent: TypeAlias = Delta | Finish


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer."""

    text: str
    stop: Stop
    usage: Usage

    @property
    def is_cut(self) -> bool:
        """Whether a typed answer lacks its end: it hit its limit, and not in the blanks behind its last bracket."""
        return self.stop is Stop.LENGTH and not self.text.rstrip().endswith(("}", "]", "```"))
