"""Prompts to a model, and the events of its answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from core.enclosures import Attachment, Quote
from core.files.passages import FoundPassage
from core.files.port import Abilities, ReadFile
from core.stores import Quoted
from core.text.catalogue import Counted
from core.types import (
    ChangeKind,
    JSONValue,
    Locale,
    Localized,
    MemoryHit,
    MemoryItem,
    Message,
    MessageRole,
    OpenQuestion,
)

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


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """A kind of change that an action of a feature makes, and the words by which it is asked for and asserted.

    Each is the same only as itself, so that effects can stand in sets beside kinds of change to a memory.
    """

    value: str
    """Names it to models and in documents."""

    asked: re.Pattern[str]
    """Matches a message, folded, that asks for it from its beginning."""

    asserted: re.Pattern[str]
    """Finds an assertion that it was done, or a promise of it, in a clause in lower case."""

    things: re.Pattern[str]
    """Matches what follows a verb of change where one of its own things is meant, and no memory."""

    nothing: Localized
    """Said where it was not done."""

    hint: Localized
    """How to ask for it."""

    not_done: Counted
    """Said where it was done less often than asked for."""


Written: TypeAlias = ChangeKind | Effect
"""What a step writes."""


@dataclass(frozen=True, slots=True)
class Step:
    """One action of the turn, after it ran."""

    action: str
    outcome: Outcome
    queries: tuple[str, ...] = ()
    items: tuple[MemoryItem, ...] = ()
    """The memories found or changed; of an action that writes, the committed rows."""

    refused_ids: tuple[str, ...] = ()
    """Ids that the model named, and that were not shown in this conversation or are not this person's."""

    detail: str = ""
    hits: tuple[MemoryHit, ...] = ()
    """The items of a search, with their scores."""

    writes: Written | None = None
    """The kind of change, of an action that writes."""

    missing: tuple[str, ...] = ()
    """The words of what was asked for and not done; "" where they are unknown."""

    notes: tuple[str, ...] = ()
    """Lines on what features know of the queries, in the person's language."""

    quotes: tuple[Quoted, ...] = ()
    """Past messages that say something about the queries."""

    asks: bool = False
    """Whether it asked the person, which ends the turn."""

    suffices: bool = False
    """Whether nothing is left but to answer from what it found, as the model that asked for it said."""

    decide_s: float = 0.0
    run_s: float = 0.0

    @property
    def result(self) -> tuple[object, ...]:
        """What makes two steps the same, so that a repetition is noticed."""
        return self.action, self.queries, self.items, self.refused_ids, self.missing, self.detail

    @property
    def count(self) -> int:
        """How many things it wrote: memories, or the one thing of a feature."""
        if isinstance(self.writes, ChangeKind):
            return len(self.items)
        return int(self.writes is not None and self.outcome is Outcome.DONE)


def committed(steps: Iterable[Step]) -> Mapping[Written, int]:
    """Map each kind of change that the steps made to the number of things that it changed."""
    counts: Counter[Written] = Counter()
    for step in steps:
        if step.writes is not None and step.count:
            counts[step.writes] += step.count
    return counts


@dataclass(frozen=True, slots=True)
class ActionInfo:
    """What prompts, limited mode and the steps of a turn know of an action."""

    name: str
    """What a model answers to choose it."""

    task: Task | None = field(default=None, kw_only=True)
    """What it asks a model for, by which limited mode chooses it; None: nothing of its own."""

    cues: Cues = field(default_factory=dict, hash=False, kw_only=True)
    """Phrases in the person's message by which limited mode chooses it otherwise."""

    reads: ArgumentsReader | None = field(default=None, kw_only=True)
    """Reads its arguments off a message that asks for it, for limited mode."""

    writes: Written | None = field(default=None, kw_only=True)
    """The kind of change that it makes, or its effect besides."""

    status: Localized | None = field(default=None, hash=False, kw_only=True)
    """What people are shown while it runs."""

    off: Localized | None = field(default=None, hash=False, kw_only=True)
    """Says why it may not run, to who asks for it; None: it may."""

    @property
    def is_on(self) -> bool:
        """Whether it may run."""
        return self.off is None


def switched_off(actions: Iterable[ActionInfo]) -> Mapping[Written, Localized]:
    """Map the kinds of change that no action may make now to the sentence that says why."""
    writing = [(action.writes, action.off) for action in actions if action.writes is not None]
    on = {kind for kind, off in writing if off is None}
    return {kind: off for kind, off in writing if off is not None and kind not in on}


@dataclass(frozen=True, slots=True)
class PromptContext:
    """A prompt as data, for limited mode and for traces."""

    task: Task
    locale: Locale
    """The language of our own sentences."""

    message: str
    """The person's text in this turn."""

    now: datetime
    """The present in the person's time zone."""

    history: tuple[Message, ...] = ()
    """The messages shown to the model, oldest first, with this turn's."""

    steps: tuple[Step, ...] = ()
    """Those of this turn."""

    choices: tuple[str, ...] = ()
    """The names of actions that a decision may answer."""

    attachments: tuple[Attachment, ...] = ()
    quotes: tuple[Quote, ...] = ()
    files: tuple[ReadFile, ...] = ()
    """What came along, the message's own and that of its quotes, as far as it was read."""

    passages: tuple[FoundPassage, ...] = ()
    """The passages of the files that the message is about, the best first."""

    language: str = ""
    """The tag of the language that the person, or the owner for all, chose for answers, or ""."""

    speaker: str = ""
    """The person's name in a room, else ""."""

    actions: tuple[ActionInfo, ...] = ()
    """Those that are on."""

    memories: tuple[MemoryItem, ...] = ()
    """Those that the history shows or tells of, as they are now."""

    question: OpenQuestion | None = None
    """The one in the last answer before this turn."""

    action: str = ""
    """The name of the action whose ARGUMENTS are asked for, else ""."""

    profile: tuple[str, ...] = ()
    """What is known of the person whatever they say, a line each."""

    room: tuple[str, ...] = ()
    """What was said in the room just before, a line each."""

    documents: tuple[str, ...] = ()
    """The text of files that came along, as blocks of a prompt."""

    abilities: Abilities = field(default_factory=Abilities)
    """What can be done with recordings and pictures."""

    threads: int = 1
    """How many threads the person has begun anywhere, with this one.

    1 for a prompt that a model reads, and where an earlier answer is shown: then nobody asks.
    """


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
    """A whole call of a tool."""

    id: str
    """Unique in the turn."""

    name: str
    arguments: str
    """JSON as the model wrote it, so it may be malformed."""

    extra: Mapping[str, JSONValue] = field(default_factory=dict, hash=False)
    """Maps the name of the model that made the call to what it wants back with it."""


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
class Picture:
    """A picture for a model that takes them: upright, small, and without what its camera wrote into it."""

    media_type: str
    """"image/jpeg" or "image/png"."""

    content: bytes = field(repr=False)
    tokens: int
    """About as many as it takes of a window."""


@dataclass(frozen=True, slots=True)
class PromptTurn:
    """One entry of the dialogue sent to a language model."""

    role: MessageRole
    """USER or ASSISTANT."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    """Of an ASSISTANT entry, after its text, which may be empty then."""

    results: tuple[ToolResult, ...] = ()
    """Of the USER entry after it, one for each call, before its text."""

    thoughts: Thoughts | None = None
    volatile: str = ""
    """Text after `text` that will not be there in the next turn, and so no part of what providers are told to cache."""

    pictures: tuple[Picture, ...] = ()
    """What a USER entry shows besides its text, to models that see."""

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
    """One request to a model in two forms: as prose (`system`, `turns`) and as data (`context`)."""

    system: str
    """Byte-identical for every call of one task, so that providers can cache it: what changes is in the last turn."""

    turns: tuple[PromptTurn, ...]
    """Starts and ends with USER, and alternates."""

    context: PromptContext
    schema: Mapping[str, JSONValue] | None = None
    """A JSON schema with an object at its root; None for free text, and always with `tools`."""

    max_tokens: int = 1024
    whole: bool = False
    """Whether no part of the answer is shown before its end: if it breaks off, it can be asked for again."""

    tools: tuple[Tool, ...] = ()
    """What the model may call in its answer, beside or in place of text."""

    in_words: ToldInWords | None = None
    """Takes the place of `system` for a model that gets its tools in words."""

    cache_key: str = ""
    """The same for all prompts of one conversation, for caches that are found by a key."""


class Stop(StrEnum):
    """Why a model stopped: it was done, reached `max_tokens`, or declined."""

    END = "end"
    LENGTH = "length"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call."""

    input_tokens: int = 0
    """All of the input."""

    output_tokens: int = 0
    cached_tokens: int = 0
    """The part of it that was read from a cache."""

    reasoning_tokens: int = 0
    """The part of `output_tokens` that is not in the answer."""

    cache_write_tokens: int = 0
    """The part of the input that was written into a cache."""


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the answer's text."""

    text: str

    usage: Usage | None = field(default=None, compare=False)
    """What the provider told of the tokens before the first piece: all that is known of an answer that breaks off."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of an answer, sent once. `question` is what it asks the person, if the model tells.

    `says_off`: the answer says itself that an action is switched off, as limited mode does.
    `thoughts` go back to the model with the results of the answer's tool calls.
    """

    stop: Stop
    usage: Usage = field(default_factory=Usage)
    question: OpenQuestion | None = None
    thoughts: Thoughts | None = None
    says_off: bool = False


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
