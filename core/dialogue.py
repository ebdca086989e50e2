"""Prompts to a model, and the events of its answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from core.enclosures import Attachment, Quote
from core.stores import Quoted
from core.types import ChangeKind, JSONValue, Locale, MemoryHit, MemoryItem, Message, MessageRole, OpenQuestion

NOTHING_TO_ADD: Final = "-"
"""The answer of a model that has nothing to add to our own text: an empty answer counts as a failure."""

Cues: TypeAlias = Mapping[Locale, Sequence[str]]
"""Phrases in each language that ask for an action."""


ArgumentsReader: TypeAlias = Callable[[str, datetime, Locale], "Mapping[str, JSONValue] | None"]
"""Read an action's arguments off a message, at that time in the person's zone; None if it does not ask for it."""


class Task(StrEnum):
    """What a prompt asks for."""

    DECIDE = "decide"
    SEARCH_QUERIES = "search-queries"
    SAVE_DRAFTS = "save-drafts"
    UPDATE_DRAFTS = "update-drafts"
    DELETE_IDS = "delete-ids"
    ARGUMENTS = "arguments"
    QUESTION = "question"
    FINISH = "finish"
    SINGLE = "single"
    SUMMARY = "summary"


class Outcome(StrEnum):
    """How a step ended. NOTHING: it changed or found nothing. REPEATED: its result was that of the step before."""

    DONE = "done"
    NOTHING = "nothing"
    FAILED = "failed"
    REPEATED = "repeated"


OF_MEMORY: Final = frozenset({ChangeKind.SAVED, ChangeKind.UPDATED, ChangeKind.DELETED})
"""The kinds of change to a memory; all others are of a feature."""


@dataclass(frozen=True, slots=True)
class Step:
    """One action of the turn, after it ran. `items` are the memories found or changed for the `queries`.

    `hits` are the items of a search with their scores. `refused_ids` are ids that the model named but that were not
    shown in this conversation or are not this person's. `decide_s` and `run_s` are seconds.
    A step that `asks` has asked the person, which ends the turn.

    For an action that writes, `writes` is the kind of change, `items` are the committed rows, and `missing` are the
    words of what was asked for and not done ("" where unknown). `notes` are lines on what features know of the queries,
    in the person's language; `quotes` are past messages that say something about them.
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
    notes: tuple[str, ...] = ()
    quotes: tuple[Quoted, ...] = ()
    asks: bool = False
    decide_s: float = 0.0
    run_s: float = 0.0

    @property
    def result(self) -> tuple[object, ...]:
        """What makes two steps the same, so that a repetition is noticed."""
        return self.action, self.queries, self.items, self.refused_ids, self.missing, self.detail

    @property
    def count(self) -> int:
        """How many things it wrote: memories, or the one thing of a feature."""
        if self.writes in OF_MEMORY:
            return len(self.items)
        return int(self.writes is not None and self.outcome is Outcome.DONE)


def committed(steps: Iterable[Step]) -> Mapping[ChangeKind, int]:
    """Map each kind of change that the steps made to the number of things that it changed."""
    counts: Counter[ChangeKind] = Counter()
    for step in steps:
        if step.writes is not None and step.count:
            counts[step.writes] += step.count
    return counts


@dataclass(frozen=True, slots=True)
class ActionInfo:
    """An action as data, for limited mode.

    `task` is what the action asks a model for (None: nothing of its own); `cues` are phrases that ask for it; `reads`
    reads its arguments off a message that asks for it.
    """

    name: str
    task: Task | None = None
    cues: Cues = field(default_factory=dict, hash=False)
    reads: ArgumentsReader | None = None


@dataclass(frozen=True, slots=True)
class PromptContext:
    """A prompt as data, for limited mode and for traces.

    `message` is the person's text in this turn, with its `attachments` and `quotes`; `now` is in the person's time
    zone; `history` are the messages shown to the model, oldest first, with this turn's; `steps` are those of this turn;
    `choices` the action names that a decision may answer. `locale` is the language of our own sentences, `language` the
    tag of the one that the person, or the owner for all, chose for answers, or "". `speaker` is the person's name in a
    room, else "". `actions` are those that are on; `memories` those that the history shows or tells of, as they are
    now; `question` is the one in the last answer before this turn. `action` is the name of the action whose ARGUMENTS
    are asked for, else "". `profile` is what is known of the person whatever they say, and `room` what was said in the
    room just before: rendered, a line each.
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
    language: str = ""
    speaker: str = ""
    actions: tuple[ActionInfo, ...] = ()
    memories: tuple[MemoryItem, ...] = ()
    question: OpenQuestion | None = None
    action: str = ""
    profile: tuple[str, ...] = ()
    room: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """An action offered to a model: its name, when to use it, and the JSON schema of its arguments (an object).

    `brief` is the schema without what may be left out, for models that are told their tools in words.
    """

    name: str
    description: str
    schema: Mapping[str, JSONValue]
    brief: Mapping[str, JSONValue] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A whole call of a tool. `arguments` is JSON as the model wrote it, so it may be malformed; `id` is unique in
    the turn. `extra` maps the name of the model that made the call to what it wants back with it.
    """

    id: str
    name: str
    arguments: str
    extra: Mapping[str, JSONValue] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a tool call, for the model; `failed`: it was not run."""

    call: ToolCall
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Thoughts:
    """Blocks of thinking that one model wants back unchanged as long as its tool calls go on; no other gets them."""

    model: str
    blocks: tuple[JSONValue, ...] = field(default=(), hash=False)


@dataclass(frozen=True, slots=True)
class PromptTurn:
    """One entry of the dialogue sent to a language model; `role` is USER or ASSISTANT.

    An ASSISTANT entry may have tool `calls`, after its text, which may be empty then; the USER entry after it has a
    result for each, before its text. `volatile` is text after `text` that will not be there in the next turn, and so
    no part of what providers are told to cache.
    """

    role: MessageRole
    text: str
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    thoughts: Thoughts | None = None
    volatile: str = ""

    @property
    def whole_text(self) -> str:
        """The text with its volatile part."""
        return "\n\n".join(part for part in (self.text, self.volatile) if part)


@dataclass(frozen=True, slots=True)
class ToldInWords:
    """What a model is told that gets its tools in words: a system text, all `tools` that it may ever be offered, and
    worked examples as entries before the conversation. It is the same in every prompt, so that a cache serves it.
    """

    system: str
    tools: tuple[Tool, ...]
    examples: tuple[PromptTurn, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request to a model in two forms: as prose (`system`, `turns`) and as data (`context`).

    `system` is byte-identical for every call of one task, so that providers can cache it; all that changes is in the
    last turn. `turns` starts and ends with USER and alternates. `schema` is a JSON schema with an object at its root,
    or None for free text. No part of a `whole` answer is shown before its end: if it breaks off, it can be asked for
    again.

    `tools` are offered to the model, which may answer with text, with ToolCalls, or with both; a prompt with tools has
    no `schema`. `in_words` takes the place of `system` for a model that gets its tools in words. `cache_key` is the
    same for all prompts of one conversation, for caches that are found by a key.
    """

    system: str
    turns: tuple[PromptTurn, ...]
    context: PromptContext
    schema: Mapping[str, JSONValue] | None = None
    max_tokens: int = 1024
    whole: bool = False
    tools: tuple[Tool, ...] = ()
    in_words: ToldInWords | None = None
    cache_key: str = ""


class Stop(StrEnum):
    """Why a model stopped: it was done, reached `max_tokens`, or declined."""

    END = "end"
    LENGTH = "length"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call.

    `input_tokens` is all of the input, `cached_tokens` the part of it read from a cache, `cache_write_tokens` the part
    written into one; `reasoning_tokens` is the part of `output_tokens` that is not in the answer.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of an answer, sent once. `question` is what it asks the person, if the model tells.

    `thoughts` go back to the model with the results of the answer's tool calls.
    """

    stop: Stop
    usage: Usage = field(default_factory=Usage)
    question: OpenQuestion | None = None
    thoughts: Thoughts | None = None


StreamEvent: TypeAlias = Delta | ToolCall | Finish


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer."""

    text: str
    stop: Stop
    usage: Usage

    @property
    def is_cut(self) -> bool:
        """Whether a typed answer lacks its end: it reached its limit before its last bracket."""
        return self.stop is Stop.LENGTH and not self.text.rstrip().endswith(("}", "]", "```"))
