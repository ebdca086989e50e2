"""Types of the engine, except those of prompts (`core/dialogue.py`) and outgoing messages (`core/outgoing.py`).

An `id` that storage assigns is a plain field, empty or 0 until then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, tzinfo
from enum import StrEnum
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from core.enclosures import Attachment, Quote, attachments_to_json
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
    """A chat, by the platform's ids; `thread` is its topic, or "".

    `server` is that of which it is a channel, as far as that is known where the key was made; "" for any other chat.
    `is_thread` tells in the same way whether the topic is a thread, opened for one talk, and no lasting part of a room.
    """

    platform: str
    chat: str
    thread: str = ""
    server: str = field(default="", compare=False)
    is_thread: bool = field(default=False, compare=False)

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


def server_name(chat: ChatKey) -> str:
    """Return the name of a room's server, PLATFORM:ID; a room that is no channel of one stands for itself."""
    return f"{chat.platform}:{chat.server or chat.chat}"


def places_of(chat: ChatKey) -> frozenset[str]:
    """Return the names under which something is decided for a room: its own, its server's."""
    return frozenset({room_name(chat), server_name(chat)})


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
    """A person's choices."""

    language: str = ""
    """The language of answers as a tag; "": that of their messages."""

    remembers: bool = True
    """Whether anything new is remembered."""

    news: bool = True
    """Whether they want the owners' broadcasts."""

    learn: Learn | None = None
    """What becomes of what they tell in passing; None: what the owner set, which is the most that they can choose."""

    zone: str = ""
    """The name of their time zone in the tz database; "" if they have not told."""

    shows_steps: bool = False
    """Whether the steps of a turn are shown below its answer."""

    incognito_until: datetime | None = None
    """What was sent before then is answered in incognito; None if they never asked for it."""

    incognito_told: bool = True
    """Whether they were told that incognito is over, or are to be told nothing."""

    def is_incognito(self, at: datetime) -> bool:
        """Return whether nothing is kept of a message that was sent at that time."""
        return self.incognito_until is not None and at < self.incognito_until


MessageKey: TypeAlias = tuple[ChatKey, str]
"""A message that a person sent: its chat, and its id there."""


ANSWER_TO: Final = "?"
"""Stands before the id of a question in place of the handle of its answer, where a platform tells only that."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """One message as a platform delivered it."""

    chat: ChatKey
    user: UserKey
    user_name: str
    message_id: str
    """Unique within the chat; of an edit, it names this version."""

    text: str
    at: datetime
    """When it was sent, aware UTC."""

    addressed: bool = True
    """Whether it is meant for the bot; in a private chat, always."""

    private: bool = True
    """Whether nobody else reads along."""

    room_title: str = ""
    """What people call the room; "" in private, or where it is not told."""

    language: str = ""
    """The platform's tag for the person ("pt-br")."""

    pressed: bool = False
    """Whether the text is the command of a pressed button, which does not wait for earlier answers."""

    written: bool = False
    """Whether that command was filled in from a menu."""

    attachments: tuple[Attachment, ...] = ()
    quotes: tuple[Quote, ...] = ()
    """The words that it replies to or forwards."""

    quoted_user: str = ""
    """The account that said them; "" if it is nobody's, or is not told."""

    replies_to: str = ""
    """The handle (`Channel.post`) of the message of ours that it replies to or is about, or ANSWER_TO; "" for none."""

    handle: str = ""
    """The person's @name without the @; "" for none."""

    groups: tuple[str, ...] = ()
    """The ids of the roles that the person has in the chat's server."""

    stale: bool = False
    """Whether it is older than the owner wants answered."""

    thread_id: str = ""
    """The id of its thread; "": the active one."""

    group: str = ""
    """What the messages of one album have in common; "" for one of none."""

    is_cut: bool = False
    """Whether the text is so long that the sender's client may have sent its end as another message."""

    parts: tuple[Incoming, ...] = ()
    """The messages of one act, in their order, once they were collected; this one has their words and attachments."""

    reply_token: str = ""
    """What the platform needs to answer in place, also after a restart."""

    edits: str = ""
    """The id of the message whose text this one replaces; "": none."""

    withdrawn: bool = False
    """Whether its sender took the question back before it was answered."""

    @property
    def is_alone(self) -> bool:
        """Whether it was sent in no room: in private, and not aside in a room."""
        return self.private and not self.chat.is_aside

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


@dataclass(frozen=True, slots=True)
class Invitation:
    """What a platform tells of a room that the bot was brought into."""

    room: ChatKey
    title: str
    user: UserKey
    """Who brought it there."""

    user_name: str
    how: Localized
    """How to talk to the bot there."""

    handle: str = ""
    """That person's @name without the @; "" for none."""

    language: str = ""
    """The platform's tag for them."""


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
class StepTaken:
    """One step of a turn in figures: its action and outcome, how much it found or changed, and how long it took."""

    action: str
    outcome: str
    count: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Basis:
    """What an answer rested on, and how it came to be: ids and figures, none of the words."""

    memories: Mapping[str, float | None] = field(default_factory=dict, hash=False)
    """Ids of memories, each with the chance that it answers the question; None where no search looked for it."""

    messages: tuple[int, ...] = ()
    """Ids of past messages."""

    knows: bool = False
    """Whether it told something of what features know."""

    steps: tuple[StepTaken, ...] = ()

    def to_json(self) -> dict[str, JSONValue]:
        """Return what `from_json` reads."""
        return {
            "memories": dict(self.memories),
            "messages": list(self.messages),
            "knows": self.knows,
            "steps": [[each.action, each.outcome, each.count, each.seconds] for each in self.steps],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Basis:
        """Read what `to_json` returned."""
        steps = tuple(StepTaken(*each) for each in value["steps"])
        return cls(value["memories"], tuple(value["messages"]), value["knows"], steps)


@dataclass(frozen=True, slots=True)
class Message:
    """The message of document 1."""

    role: MessageRole
    content: JSONValue
    """Text, or the JSON form of a MemoryItem when `modal` is MEMORY."""

    modal: Modal = Modal.TEXT
    in_history: bool = True
    """The document's "chat-history": whether later model calls of this turn read it."""

    at: datetime | None = None
    turn: str = ""
    """The id of the message of the person and all that answers it."""

    source_id: str = ""
    """The platform's message id; "" if it is ours."""

    memory_id: str = ""
    """The memory that is shown."""

    id: int = 0
    """0 until stored."""

    sequence: int = 0
    """Its place in the thread, from 1; 0 until stored."""

    tokens: int = 0
    """Its size, counted once."""

    duration_s: float | None = None
    """The time that an answer took."""

    error: str = ""
    """The name of the failure that ended an answer."""

    pair: str = ""
    """Messages of one pair are a tool request (ASSISTANT) and its results (TOOL), never shown one without the other."""

    attachments: tuple[Attachment, ...] = ()
    quotes: tuple[Quote, ...] = ()
    question: OpenQuestion | None = None
    """What an answer asks, if its model told."""

    offered: tuple[MemoryDraft, ...] = ()
    """The memories that the person may have saved from their message."""

    room: str = ""
    """The room in which it was said (PLATFORM:ID); "" in private."""

    speaker: str = ""
    """The name of the person who said it in a room, as the platform told it then; "" in private, and of ours."""

    off_record: bool = False
    """Whether no search finds it: remembering was off, or it was answered from others' talk in the room."""

    basis: Basis | None = None
    """What an answer rested on; None where nothing of that was kept."""

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
    """One conversation from its first message to its reset."""

    id: str
    """Satisfies `core.threads.is_thread_id`."""

    conversation: ConversationKey
    created_at: datetime
    updated_at: datetime
    status: ThreadStatus = ThreadStatus.ACTIVE
    title: str = ""
    """The person's name for it."""

    policy: str = ""
    """The name of its context policy; "": the one set for all."""

    metadata: Mapping[str, JSONValue] = field(default_factory=dict, hash=False)
    """The platform (`origin`) and the version of the program (`version`) that began it."""

    messages: int = field(default=0, compare=False)
    tokens: int = field(default=0, compare=False)
    """How many messages it had when it was opened, and their tokens."""


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
    """The time that a question names."""

    span: Span
    said: bool
    """Whether it is when what is asked for was said; else it is the days that the question is about."""

    first: date
    """The first of its days, in the person's zone."""

    last: date
    locale: Locale
    """The person's language."""

    rest: str
    """The question without its words for the time."""

    alone: bool
    """Whether nothing else is asked for ("what do I have today?")."""


MAX_PASSAGES: Final = 400
"""So many passages of the documents of a memory are kept."""

MAX_PASSAGE_CHARS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document that a memory keeps, which searches find by itself."""

    text: str
    page: int = 0
    """From 1; 0: it has no pages."""


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """A memory to be saved."""

    kind: MemoryKind
    content: str
    bindings: tuple[str, ...]
    """The short phrases that it is found by: at least one, none empty."""

    until: datetime | None = None
    """When it stops being true; None if nobody knows of an end."""

    meant: str = ""
    """The day or minute that its words mean, ISO 8601 without a zone ("2026-11-23", "2026-11-23T15:00"), or ""."""

    said_at: datetime | None = None
    """When it was said, if that was before it is saved; None: when it is saved."""

    may_replace: str = ""
    """The known memory that it may take the place of, and is kept beside; "" if there is none."""

    attachments: tuple[Attachment, ...] = ()
    """The things that it keeps, whose bytes are in the file store (`core.files.port.FileStore`)."""

    passages: tuple[Passage, ...] = ()
    """What stands in these, in order; the first MAX_PASSAGES of MAX_PASSAGE_CHARS each are kept."""

    def to_json(self) -> dict[str, JSONValue]:
        """Return the JSON form for the store and exports."""
        return {
            "type": self.kind.value,
            "content": self.content,
            "bindings": list(self.bindings),
            **({"attachments": [*attachments_to_json(self.attachments)]} if self.attachments else {}),
        }


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """A stored memory."""

    id: str
    """Random text."""

    kind: MemoryKind
    content: str
    bindings: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    source_ids: tuple[int, ...] = ()
    """The stored messages of the person that it comes from."""

    rooms: tuple[str, ...] = ()
    """The rooms in which the person said it (PLATFORM:ID); none: in private only."""

    shared: bool = False
    """Whether it may be spoken of in every room."""

    pinned: bool = False
    """Whether it comes first in lists."""

    until: datetime | None = None
    """When it stops, or stopped, being true; None if nobody knows of an end."""

    meant: str = ""
    """As `MemoryDraft.meant`."""

    current: str = ""
    """The memory that tells what is true since `until`; "" if this one does. Lists and searches leave out earlier
    versions unless they are asked for."""

    may_replace: str = ""
    """As `MemoryDraft.may_replace`."""

    attachments: tuple[Attachment, ...] = ()
    """As `MemoryDraft.attachments`."""

    over: str = ""
    """The later memory that may tell what is true in its place, as the search tells that found both; else ""."""

    found_in: Passage | None = None
    """The passage of what it keeps in which a search found it; None: in its own words."""

    @property
    def draft(self) -> MemoryDraft:
        """The draft that would store it."""
        return MemoryDraft(self.kind, self.content, self.bindings, self.until, self.meant, attachments=self.attachments)

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
            **({"attachments": [_shown(each) for each in self.attachments]} if self.attachments else {}),
        }


def _shown(attachment: Attachment) -> dict[str, JSONValue]:
    """Return what a model is told of a thing: nothing by which it is fetched."""
    return {"kind": attachment.kind.value, **({"name": attachment.name} if attachment.name else {})}


@dataclass(frozen=True, slots=True)
class MemoryNote:
    """A memory as people read it in a line."""

    phrase: str
    """What it is found by."""

    content: str
    changed: str
    """The day of its last change, in their zone and language."""

    id: str = ""
    """The memory's."""


class ChangeKind(StrEnum):
    """Kinds of changes to a memory."""

    SAVED = "saved"
    UPDATED = "updated"
    DELETED = "deleted"


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
    """A memory found by a search."""

    item: MemoryItem
    matched: str
    """The phrase, or the passage, that matched best."""

    score: float
    """Orders the hits of one search."""

    dense: float = 0.0
    """The cosine of the nearest phrase."""

    lexical: float = 0.0
    """How much of the question's words it covers, each weighed by its IDF."""

    chance: float = 0.0
    """The calibrated probability, 0..1, that the memory answers the question: it means the same whoever asks, and
    however many memories they have. Under SURE if it is about another subject."""

    other: str = ""
    """The word of the question that tells a subject which the memory is not about."""

    via: str = ""
    """The id of the memory that names whom or what this one tells of, and the question does not."""

    passages: tuple[Passage, ...] = ()
    """In which passages of what it keeps it was found, the best first; none: in its own words alone."""
