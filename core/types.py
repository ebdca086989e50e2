"""Types of the engine, except those of prompts (`core/dialogue.py`) and outgoing messages (`core/outgoing.py`).

An `id` that storage assigns is a plain field, empty or 0 until then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, tzinfo
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from core.enclosures import Attachment, Quote
from core.locales import TAGS

JSONValue: TypeAlias = "Mapping[str, JSONValue] | list[JSONValue] | str | int | float | bool | None"
"""Anything `json.dumps` takes."""

Vector: TypeAlias = npt.NDArray[np.float32]
"""Shape (dims,), float32, L2 norm 1. Only embedders normalise."""

Vectors: TypeAlias = npt.NDArray[np.float32]
"""Shape (n, dims), float32, every row of norm 1."""


class Locale(StrEnum):
    """The bot's languages: one member for each file in `core/locales`, by the file's name.

    Portuguese is the default; English stands in for what a file lacks.
    """

    PT = "pt-BR"
    EN = "en"
    ES = "es"
    vars().update({tag.replace("-", "_").upper(): tag for tag in TAGS if tag not in {"pt-BR", "en", "es"}})

    @property
    def code(self) -> str:
        """The language without its region: `pt`."""
        return self.value.partition("-")[0]


Localized: TypeAlias = Mapping[Locale, str]
"""One sentence in every language of `Locale`."""


# --- who and where ---------------------------------------------------------------------------------------------------


class Role(StrEnum):
    """A person's role. Guests, by name or because the room or the bot is open, are answered within guests' quotas."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    GUEST = "guest"
    BLOCKED = "blocked"


ASIDE: Final = "@"


@dataclass(frozen=True, slots=True)
class ChatKey:
    """A chat, by the platform's ids; `thread` is its topic, or ""."""

    platform: str
    chat: str
    thread: str = ""

    @property
    def is_aside(self) -> bool:
        """Whether it is what one person says in a room unseen by the others: ASIDE and their id stand in the topic."""
        return ASIDE in self.thread

    @property
    def without_aside(self) -> ChatKey:
        """The place in the room that all see."""
        return replace(self, thread=self.thread.partition(ASIDE)[0])


def room_name(chat: ChatKey) -> str:
    """Return the name of a room, PLATFORM:ID, the same for all its threads."""
    return f"{chat.platform}:{chat.chat}"


@dataclass(frozen=True, slots=True)
class UserKey:
    """One account of one platform, which owns its memories. Neither field is empty: that would be everybody's."""

    platform: str
    user: str

    def __post_init__(self) -> None:
        if not self.platform.strip() or not self.user.strip():
            message = "a UserKey needs a platform and a user"
            raise ValueError(message)

    def __str__(self) -> str:
        """Return PLATFORM:ID, the form the command line reads."""
        return f"{self.platform}:{self.user}"


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """One person's conversation in one chat: people who share a room do not share a conversation."""

    chat: ChatKey
    user: UserKey


class Learn(StrEnum):
    """What becomes of facts that people tell about themselves in passing, without asking for it; from least to most.

    ASKED: nothing. OFFERED: a button below the answer saves them. AUTO: they are saved.
    """

    ASKED = "asked"
    OFFERED = "offered"
    AUTO = "auto"

    def within(self, most: Learn) -> Learn:
        """Return the lesser of this and `most`."""
        return min(self, most, key=list(Learn).index)


@dataclass(frozen=True, slots=True)
class Preferences:
    """A person's choices: the `language` of answers, as a tag ("": that of their messages), whether to remember
    anything new, whether they want the owners' broadcasts (`news`), and what becomes of what they tell in passing
    (None: what the owner set, which is the most that a person can choose). `zone` is the name of their time zone in the
    tz database, or "" if they have not told.
    """

    language: str = ""
    remembers: bool = True
    news: bool = True
    learn: Learn | None = None
    zone: str = ""


MessageKey: TypeAlias = tuple[ChatKey, str]
"""A message that a person sent: its chat, and its id there."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """One message as a platform delivered it.

    `message_id` is unique within the chat; `at` is aware UTC. `addressed`: it is meant for the bot (in a private chat,
    always). `private`: nobody else reads along. `language` is the platform's tag for the person ("pt-br"). `pressed`:
    the text is the command of a pressed button, or one that was filled in from a menu (`written`); it does not wait for
    earlier answers. `file` is the platform's handle of a file, for `Channel.fetch` ("" for none); `attachments` are all
    attachments, `quotes` the words it replies to or forwards, `quoted_user` the account that said them ("" if it is
    nobody's, or is not told). `handle` is the person's @name, without the @ ("" for none). `stale`: it is older than
    the owner wants answered. `thread_id` names its thread ("": the active one). `reply_token` is what the platform
    needs to answer in place, also after a restart. `edits` is the id of the message whose text this one replaces ("":
    none); `message_id` names this version of it. `withdrawn`: its sender took the question back before it was answered.
    """

    chat: ChatKey
    user: UserKey
    user_name: str
    message_id: str
    text: str
    at: datetime
    addressed: bool = True
    private: bool = True
    language: str = ""
    pressed: bool = False
    written: bool = False
    file: str = ""
    attachments: tuple[Attachment, ...] = ()
    quotes: tuple[Quote, ...] = ()
    quoted_user: str = ""
    handle: str = ""
    stale: bool = False
    thread_id: str = ""
    reply_token: str = ""
    edits: str = ""
    withdrawn: bool = False

    @property
    def conversation(self) -> ConversationKey:
        """The message's conversation."""
        return ConversationKey(self.chat, self.user)

    @property
    def key(self) -> MessageKey:
        """What names this version of the message."""
        return self.chat, self.message_id

    @property
    def original_id(self) -> str:
        """The platform's id of the message, the same for all its versions."""
        return self.edits or self.message_id


# --- what is said ----------------------------------------------------------------------------------------------------


class MessageRole(StrEnum):
    """Who says a message, in a language model's terms."""

    USER = "user"
    SYSTEM = "system"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Modal(StrEnum):
    """How a message is shown: as text that stays, as text that the next one replaces, or as a recalled memory.

    Of what is stored, text that was replaced is what belonged to a question that was edited or deleted.
    """

    TEXT = "text"
    TEXT_FOR_REPLACE = "textForReplace"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question to the person as data, so that the next turn need not recognise its wording.

    `kind` is a word of the model that asked; `options` are the meanings of the numbered options, each a memory's id or
    another of its words; `subject` is what the question is about, in the person's words, or "".
    """

    kind: str
    options: tuple[str, ...] = ()
    subject: str = ""

    def to_json(self) -> dict[str, JSONValue]:
        """Return what `from_json` reads."""
        return {"kind": self.kind, "options": list(self.options), "subject": self.subject}

    @classmethod
    def from_json(cls, value: JSONValue) -> OpenQuestion | None:
        """Read what `to_json` returned; None for anything else."""
        match value:
            case {"kind": str(kind), "options": list(options), "subject": str(subject)}:
                return cls(kind, tuple(str(option) for option in options), subject)
        return None


@dataclass(frozen=True, slots=True)
class Message:
    """The message of document 1.

    `in_history` is its "chat-history": whether later model calls of this turn read it. `content` is text, or the JSON
    form of a MemoryItem when `modal` is MEMORY. `turn` groups a message of the person and all that answers it;
    `memory_id` names the memory shown. `source_id` is the platform's message id ("" if ours); `id` is 0 until stored.

    `sequence` is its place in the thread, from 1 (0 until stored); `tokens` is its size, counted once. For an answer,
    `duration_s` is the time it took and `error` the name of the failure that ended it. Messages of one non-empty `pair`
    are a tool request (by ASSISTANT) and its results (by TOOL), which are never shown without it.

    `attachments` and `quotes` are those of the person's message (`Incoming`), and `offered` are the memories that they
    may have saved from it. `question` is what an answer asks, if its model told.

    `room` is the room in which it was said (PLATFORM:ID), "" in private. `off_record`: no search finds it, as
    remembering was off or others' talk in the room was answered from.
    """

    role: MessageRole
    content: JSONValue
    modal: Modal = Modal.TEXT
    in_history: bool = True
    at: datetime | None = None
    turn: str = ""
    source_id: str = ""
    memory_id: str = ""
    id: int = 0
    sequence: int = 0
    tokens: int = 0
    duration_s: float | None = None
    error: str = ""
    pair: str = ""
    attachments: tuple[Attachment, ...] = ()
    quotes: tuple[Quote, ...] = ()
    question: OpenQuestion | None = None
    offered: tuple[MemoryDraft, ...] = ()
    room: str = ""
    off_record: bool = False

    def to_wire(self) -> dict[str, JSONValue]:
        """Return exactly the four keys of document 1."""
        return {
            "chat-history": self.in_history,
            "modal": self.modal.value,
            "role": self.role.value,
            "content": self.content,
        }

    @property
    def text(self) -> str:
        """The content as text; JSON in compact form."""
        if isinstance(self.content, str):
            return self.content
        return json.dumps(self.content, ensure_ascii=False, separators=(",", ":"))


class ThreadStatus(StrEnum):
    """Whether a thread is in use, was ended by /reset, or was archived."""

    ACTIVE = "active"
    RESET = "reset"
    ARCHIVED = "archived"


def is_said_by_person(message: Message) -> bool:
    """Return whether the person wrote the message, which begins a cycle."""
    return message.role is MessageRole.USER and message.modal is Modal.TEXT and not message.pair


def is_findable(message: Message) -> bool:
    """Return whether searches may find the message: what the person or the bot said, and not off the record."""
    is_said = message.role in {MessageRole.USER, MessageRole.ASSISTANT} and message.modal is Modal.TEXT
    return is_said and not (message.pair or message.error or message.off_record) and message.content != ""


@dataclass(frozen=True, slots=True)
class Thread:
    """One conversation from its first message to its reset. `id` satisfies `core.threads.is_thread_id`.

    `title` is the person's name for it, `policy` the name of its context policy ("": the one set for all). `metadata`
    holds the platform (`origin`) and the version of the program (`version`) that began it.
    """

    id: str
    conversation: ConversationKey
    created_at: datetime
    updated_at: datetime
    status: ThreadStatus = ThreadStatus.ACTIVE
    title: str = ""
    policy: str = ""
    metadata: Mapping[str, JSONValue] = field(default_factory=dict, hash=False)


# --- what is remembered ----------------------------------------------------------------------------------------------


class MemoryKind(StrEnum):
    """The form of a memory's content: plain text, or JSON as text."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Span:
    """The time from `start` up to, and without, `end`; both are aware."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class AskedTime:
    """The time that a question names: when it was `said` what is asked for, or else the days that it is about.

    `first` and `last` are its days in the person's zone, `locale` is the person's language. `rest` is the question
    without its words for the time; `alone`: nothing else is asked for ("what do I have today?").
    """

    span: Span
    said: bool
    first: date
    last: date
    locale: Locale
    rest: str
    alone: bool


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """A memory to be saved. `bindings` are the short phrases it is found by: at least one, none empty.

    `until` is when it stops being true, None if nobody knows of an end. `meant` is the day or the minute that its words
    mean, ISO 8601 without a zone ("2026-11-23", "2026-11-23T15:00"), or "".
    `said_at` is when it was said, if that was before it is saved; None: when it is saved.
    """

    kind: MemoryKind
    content: str
    bindings: tuple[str, ...]
    until: datetime | None = None
    meant: str = ""
    said_at: datetime | None = None

    def to_json(self) -> dict[str, JSONValue]:
        """Return the JSON form for the store and exports."""
        return {"type": self.kind.value, "content": self.content, "bindings": list(self.bindings)}


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """A stored memory. `id` is random text; `source_ids` are the stored messages of the person that it comes from.

    `rooms` are the rooms in which the person said it (PLATFORM:ID; none: in private only). A `shared` one may be spoken
    of in every room; a `pinned` one comes first in lists. `current` is "", or the id of the memory that tells what is
    true since `until`: then this one is an earlier version of it, which lists and searches leave out unless asked.
    """

    id: str
    kind: MemoryKind
    content: str
    bindings: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    source_ids: tuple[int, ...] = ()
    rooms: tuple[str, ...] = ()
    shared: bool = False
    pinned: bool = False
    until: datetime | None = None
    meant: str = ""
    current: str = ""

    @property
    def draft(self) -> MemoryDraft:
        """The draft that would store it."""
        return MemoryDraft(self.kind, self.content, self.bindings, self.until, self.meant)

    def is_past(self, now: datetime) -> bool:
        """Return whether it is no longer true: something else is, or its time is over."""
        return bool(self.current) or (self.until is not None and self.until <= now)

    def in_zone(self, zone: tzinfo) -> MemoryItem:
        """Return the memory with its times in that zone."""
        until = None if self.until is None else self.until.astimezone(zone)
        created_at, updated_at = self.created_at.astimezone(zone), self.updated_at.astimezone(zone)
        return replace(self, created_at=created_at, updated_at=updated_at, until=until)

    def to_json(self) -> dict[str, JSONValue]:
        """Return the JSON form for models and exports; times in ISO 8601."""
        return {
            "id": self.id,
            "type": self.kind.value,
            "content": self.content,
            "bindings": list(self.bindings),
            "created_at": self.created_at.isoformat(timespec="seconds"),
            "updated_at": self.updated_at.isoformat(timespec="seconds"),
            **({"until": self.until.isoformat(timespec="seconds")} if self.until else {}),
            **({"meant": self.meant} if self.meant else {}),
        }


class ChangeKind(StrEnum):
    """Kinds of changes to a memory; and REMINDER, which changes none, for a reminder that was set."""

    SAVED = "saved"
    UPDATED = "updated"
    DELETED = "deleted"
    REMINDER = "set as reminder"


@dataclass(frozen=True, slots=True)
class Change:
    """A change to one memory: its state before (None: it did not exist) and after (None: deleted).

    Changes with one `act` were made together and are undone together; `undone` ones were.
    """

    act: str
    kind: ChangeKind
    at: datetime
    before: MemoryItem | None
    after: MemoryItem | None
    undone: bool = False

    @property
    def memory_id(self) -> str:
        """The memory's id."""
        item = self.after or self.before
        return "" if item is None else item.id


SURE: Final = 0.65
"""The `MemoryHit.chance` over which a memory may be told as the answer. Chosen on tests/data/recall_tune.json."""

NEAR: Final = 0.15
"""The chance over which the best memory may be told as the nearest that is known."""


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """A memory found by a search, and the phrase that matched best.

    `score` orders the hits of one search. `chance` is the calibrated probability, 0..1, that the memory answers the
    question: it means the same whoever asks, and however many memories they have. `dense` is the cosine of the nearest
    phrase, `lexical` how much of the question's words it covers, each weighed by its IDF.
    """

    item: MemoryItem
    matched: str
    score: float
    dense: float = 0.0
    lexical: float = 0.0
    chance: float = 0.0
