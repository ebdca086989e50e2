"""Types of the engine, except those of prompts (`core/dialogue.py`) and of the screen (`core/outgoing.py`).

An identity that storage gives (`id`) is a plain field, empty until something was stored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from core.enclosures import Attachment, Quote
from core.locales import TAGS

JSONValue: TypeAlias = "Mapping[str, JSONValue] | list[JSONValue] | str | int | float | bool | None"
"""Anything `json.dumps` takes."""

Vector: TypeAlias = npt.NDArray[np.float32]
"""Shape (dims,), float32, L2 norm 1. Embedders normalise; nobody else does."""

Vectors: TypeAlias = npt.NDArray[np.float32]
"""Shape (n, dims), float32, every row of norm 1."""


class Locale(StrEnum):
    """The languages that people read: one member for each file in `core/locales`, by the file's name.

    Portuguese is the default when nothing tells the person's own; what a file lacks is read in English.
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
    """What a person is to the bot.

    Guests are answered within the guests' quotas: made so by name, or because the room or the whole bot is open.
    """

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    GUEST = "guest"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class ChatKey:
    """A place where people talk: `chat` and `thread` (topic, or "" where there is none) as the platform names them."""

    platform: str
    chat: str
    thread: str = ""


def room_name(chat: ChatKey) -> str:
    """Return the name by which a room is let in: PLATFORM:ID. Its threads are let in with it."""
    return f"{chat.platform}:{chat.chat}"


@dataclass(frozen=True, slots=True)
class UserKey:
    """One account of one platform; the owner of its memories. Both fields are non-empty."""

    platform: str
    user: str

    def __post_init__(self) -> None:
        """Refuse an empty scope: a memory without an owner would belong to everybody."""
        if not self.platform.strip() or not self.user.strip():
            message = "a UserKey needs a platform and a user"
            raise ValueError(message)

    def __str__(self) -> str:
        """Write PLATFORM:ID, the form the command line reads."""
        return f"{self.platform}:{self.user}"


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """One person's conversation in one place: people who share a room do not share a conversation."""

    chat: ChatKey
    user: UserKey


@dataclass(frozen=True, slots=True)
class Preferences:
    """What a person chose: a language (None: that of what they write), and whether anything new is remembered.

    `news` is whether they want what owners tell everybody.
    """

    language: Locale | None = None
    remembers: bool = True
    news: bool = True


@dataclass(frozen=True, slots=True)
class Incoming:
    """One message as a platform delivered it.

    `message_id` is unique within the chat; `at` is aware UTC; `addressed` says whether the bot was meant (always, in a
    private chat); `private` whether nobody else reads along; `language` is the platform's tag for the person ("pt-br").
    `pressed` says that a button was pressed, whose command the text is: it does not wait for the answers before it.
    `file` is the platform's handle of a file that came with it, for `Channel.fetch` ("" for none); `attachments` are
    what came along besides text, `quotes` the words that it refers to; `stale` says that it is older than the owner
    wants answered. `thread_id` names the thread that it belongs to ("": the one that is active there). `reply_token`
    is what the platform needs to answer it in place, also after a restart ("" for nothing).
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
    file: str = ""
    attachments: tuple[Attachment, ...] = ()
    quotes: tuple[Quote, ...] = ()
    stale: bool = False
    thread_id: str = ""
    reply_token: str = ""

    @property
    def conversation(self) -> ConversationKey:
        """The conversation that this message belongs to."""
        return ConversationKey(self.chat, self.user)


# --- what is said ----------------------------------------------------------------------------------------------------


class MessageRole(StrEnum):
    """Who says a message, as a language model is told."""

    USER = "user"
    SYSTEM = "system"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Modal(StrEnum):
    """How a message is shown: to stay, to be replaced by the next one, or as a recalled memory."""

    TEXT = "text"
    TEXT_FOR_REPLACE = "textForReplace"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """What an answer asks the person, as data, so that no wording of it has to be recognised in the next turn.

    `kind` is the asking model's own word for it; `options` is what each numbered option stands for, a memory's id or a
    word of the asking model's; `subject` names what is asked about, in the person's words ("" if that is not needed).
    """

    kind: str
    options: tuple[str, ...] = ()
    subject: str = ""

    def to_json(self) -> dict[str, JSONValue]:
        """Return what `from_json` reads."""
        return {"kind": self.kind, "options": list(self.options), "subject": self.subject}

    @classmethod
    def from_json(cls, value: JSONValue) -> OpenQuestion | None:
        """Read what `to_json` wrote; None for anything else."""
        match value:
            case {"kind": str(kind), "options": list(options), "subject": str(subject)}:
                return cls(kind, tuple(str(option) for option in options), subject)
        return None


@dataclass(frozen=True, slots=True)
class Message:
    """The message of document 1.

    `in_history` is its "chat-history": whether later model calls of this turn read it. `content` is text, or the JSON
    form of a MemoryItem when `modal` is MEMORY. `turn` groups the messages that answer one user message; `memory_id`
    names the memory shown. `source_id` is the platform's message id ("" if ours); `id` is 0 until stored.

    `sequence` is its place in the thread, from 1 (0 until stored), and `tokens` what it costs a model, counted once.
    Of an answer, `duration_s` is how long it took and `error` names the failure that it ended in. Messages of one
    non-empty `pair` are a tool request (the ASSISTANT's) and its results (the TOOL's), which make no sense without it.

    `attachments` and `quotes` are what came along with the person's message (`Incoming`). `question` is what an answer
    asks, where the model that wrote it told.
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
        """The content as text: as it is, or as compact JSON."""
        if isinstance(self.content, str):
            return self.content
        return json.dumps(self.content, ensure_ascii=False, separators=(",", ":"))


class ThreadStatus(StrEnum):
    """Whether a thread is being talked in, was cleared by /reset, or was put away."""

    ACTIVE = "active"
    RESET = "reset"
    ARCHIVED = "archived"


def is_said_by_person(message: Message) -> bool:
    """Return whether the person wrote the message: such a message begins a cycle."""
    return message.role is MessageRole.USER and message.modal is Modal.TEXT and not message.pair


@dataclass(frozen=True, slots=True)
class Thread:
    """One conversation from its first message to its reset. `id` is what `core.threads.is_thread_id` accepts.

    `title` is what the person calls it, `policy` the name of what chooses its context ("": as set for all). `metadata`
    tells which platform it was begun on (`origin`) and which version of the program began it (`version`).
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
    """What a memory's content is: plain text, or JSON in text form."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """A memory about to be saved. `bindings` are the short phrases it is found by: at least one, none empty."""

    kind: MemoryKind
    content: str
    bindings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """A stored memory. `id` is random text; `source_ids` are the stored user messages that it rests on.

    `rooms` are the rooms in which the person said it (PLATFORM:ID; none: in private only), `shared` whether they want
    it known in every room; `pinned` ones stand first in lists.
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

    @property
    def draft(self) -> MemoryDraft:
        """What of it is text: the draft that would store it."""
        return MemoryDraft(self.kind, self.content, self.bindings)

    def in_zone(self, zone: tzinfo) -> MemoryItem:
        """Return it with its times in that zone."""
        return replace(self, created_at=self.created_at.astimezone(zone), updated_at=self.updated_at.astimezone(zone))

    def to_json(self) -> dict[str, JSONValue]:
        """Return what a model and an export show of it; times in ISO 8601."""
        return {
            "id": self.id,
            "type": self.kind.value,
            "content": self.content,
            "bindings": list(self.bindings),
            "created_at": self.created_at.isoformat(timespec="seconds"),
            "updated_at": self.updated_at.isoformat(timespec="seconds"),
        }


class ChangeKind(StrEnum):
    """What was done to a memory."""

    SAVED = "saved"
    UPDATED = "updated"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Change:
    """What one act did to one memory: how it was before (None: not there) and after (None: deleted).

    `act` is one for all that was changed together, and is undone together; `undone` says that it was.
    """

    act: str
    kind: ChangeKind
    at: datetime
    before: MemoryItem | None
    after: MemoryItem | None
    undone: bool = False

    @property
    def memory_id(self) -> str:
        """Which memory that was."""
        item = self.after or self.before
        return "" if item is None else item.id


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """A memory that a search found: the phrase that matched best, and scores in 0..1 (higher is nearer)."""

    item: MemoryItem
    matched: str
    score: float
    dense: float = 0.0
    lexical: float = 0.0
