"""The form of an exported file, strictly: nothing is missing and nothing is there besides."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Account = Annotated[str, Field(pattern=r"^[^:]+:.+$")]
Count = Annotated[int, Field(ge=0)]


class Exact(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class AccountEntry(Exact):
    """One account of the person: what it is here, and what was chosen there."""

    user: Account
    """PLATFORM:ID"""
    handle: str
    """The @name on the platform, without the @; "" for none."""
    tag: str
    """The language that the platform tells, as a tag; "" for none."""
    role: Literal["owner", "admin", "member", "guest", "blocked"] | None
    """What the account is to the bot; null: nobody gave it a role."""
    name: str
    since: datetime | None
    language: str | None
    """A tag (BCP 47), chosen by /language; null: that of what is written."""
    remembers: bool
    """Chosen by /memory."""
    learn: Literal["asked", "offered", "auto"] | None
    """What becomes of what is told in passing, chosen by /memory; null: what the owner set."""
    news: bool
    """Chosen by /news."""
    zone: str | None
    """The time zone, by its name in the tz database; null: it was not told."""
    shows_steps: bool
    """The steps of a turn are shown below its answer."""


class ThingEntry(Exact):
    """A photo, recording, document or place that a memory keeps."""

    kind: str
    """photo, file, voice message, audio, video, sticker, location, contact, poll …"""
    name: str = ""
    media_type: str = ""
    size: Count = 0
    """Bytes."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """Of its bytes, which lie in the archive as `files/SHA256/NAME`."""
    width: Count = 0
    height: Count = 0
    """Pixels."""
    duration_s: float = 0
    detail: str = ""
    """Of a location LATITUDE,LONGITUDE, of a contact its vCard, of a poll its options."""


class PassageEntry(Exact):
    """A part of a document that searches find by itself."""

    text: str
    page: Count
    """0: it has no pages."""


class MemoryEntry(Exact):
    """What is remembered, as it is now or was at some time."""

    id: str
    type: Literal["text", "json"]
    content: str
    """Text, or JSON in text form."""
    bindings: Annotated[list[str], Field(min_length=1)]
    """The phrases that it is found by."""
    created_at: datetime
    updated_at: datetime
    pinned: bool
    shared: bool
    """Known in every room."""
    rooms: list[str]
    """Where else than in private it was said, as PLATFORM:ID."""
    sources: list[int]
    """The ids of the messages that it rests on."""
    until: datetime | None = None
    """When it stops being true; left out where no end is known."""
    meant: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2})?$")] = ""
    """The day or the minute that its words mean, in the person's zone; left out where there is none."""
    attachments: list[ThingEntry] = []
    """Left out where there is none."""
    passages: list[PassageEntry] = []
    """What stands in its documents."""


class ChangeEntry(Exact):
    """What one act did to one memory."""

    act: str
    """One for all that was changed together."""
    kind: Literal["saved", "updated", "deleted"]
    at: datetime
    before: MemoryEntry | None
    after: MemoryEntry | None
    undone: bool


class KeptMemory(MemoryEntry):
    """A memory with its versions, the newest first."""

    versions: list[ChangeEntry]


State = Literal["waiting", "sending", "paused", "done", "failed", "removed"]


class ScheduleEntry(Exact):
    """When a reminder is due, as it was agreed on."""

    wall: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{6})?$")]
    """The first time, as the clock on the wall shows it in `zone`."""
    zone: str
    """A name of the tz database."""
    rule: str
    """An RRULE (RFC 5545) without DTSTART, which is `wall`; "": it does not repeat."""
    guessed: bool
    """The zone is our guess, which nobody has confirmed."""


class ReminderBefore(ScheduleEntry):
    """What a reminder was before its last change."""

    text: str
    due: datetime | None
    state: State


class MentionEntry(Exact):
    """What a reminder waits for."""

    subject: str
    each: bool
    """It is said each time, at most once a day; else once."""


class ReminderEntry(ScheduleEntry):
    """A reminder, also one that is over or was deleted, for as long as it is kept."""

    id: str
    user: Account
    """The account that it was set on."""
    chat: str
    topic: str
    """The chat and its topic where it was set."""
    private: bool
    """Nobody else reads along there."""
    name: str
    text: str
    kind: Literal["reminder", "mention", "briefing", "return"]
    language: str
    due: datetime | None
    """The next time; null: there is none."""
    state: State
    tries: Count
    failures: Count
    created_at: datetime
    sent_at: datetime | None
    batch: str
    """One for all that were said in one message, or came in one file."""
    changed_at: datetime | None
    before: ReminderBefore | None
    mention: MentionEntry | None
    """What the person is to mention before it is said; it is over at `due`. Null: it is said when it is due."""


class UsageEntry(Exact):
    """What models were asked for the person on one day."""

    user: Account
    day: Day
    model: str
    calls: Count
    failed: Count
    input_tokens: Count
    output_tokens: Count
    cost_usd: float | None
    """An estimate; null: the price is not known."""


class SummaryEntry(Exact):
    """What was said from after one place of the conversation through another, in few words."""

    text: str
    after: Count
    through: Count
    at: datetime | None
    model: str


class MessageEntry(Exact):
    """A message, in its place."""

    model_config = ConfigDict(populate_by_name=True)

    id: int
    at: datetime | None
    chat_history: Annotated[bool, Field(alias="chat-history")]
    modal: Literal["text", "textForReplace", "memory"]
    role: Literal["user", "system", "assistant"]
    content: JsonValue
    """Text; of a memory that was shown, the memory."""
    turn: str
    """One for all that answers one message."""
    source_id: str
    """The platform's id of it."""
    memory_id: str
    tokens: Count
    duration_s: float | None
    error: str
    room: str = ""
    """The room in which it was said, PLATFORM:ID; "" in private."""
    speaker: str = ""
    """The person's name in that room, as the platform told it then, on what they said; "" elsewhere."""
    off_record: bool = False
    """Whether remembering was off, so that no search finds it."""
    basis: dict[str, JsonValue] | None = None
    """What an answer rested on: ids of memories, each with the chance that it answers, and of messages; the steps."""
    question: dict[str, JsonValue] | None = None
    """What an answer asks the person."""
    attachments: list[dict[str, JsonValue]] = []
    quotes: list[dict[str, JsonValue]] = []
    offered: list[dict[str, JsonValue]] = []
    """What can be saved of it by a button."""


class ThreadEntry(Exact):
    """One conversation from its first message to its reset."""

    id: str
    user: Account
    chat: str
    topic: str
    status: Literal["active", "reset", "archived"]
    title: str
    policy: str
    metadata: dict[str, JsonValue]
    created_at: datetime
    updated_at: datetime
    summaries: list[SummaryEntry]
    messages: list[MessageEntry]


class ExportFile(Exact):
    """All that Elefante keeps of a person."""

    format: Literal["elefante-export"]
    version: Literal[1]
    exported_at: datetime
    user: Account
    """The account that it was made for."""
    accounts: Annotated[list[AccountEntry], Field(min_length=1)]
    """Every account that was linked, the one whose memory it is first."""
    memories: list[KeptMemory]
    deleted: list[ChangeEntry]
    """Changes of memories that are gone, kept for as long as they can be undone."""
    reminders: list[ReminderEntry]
    usage: list[UsageEntry]
    threads: list[ThreadEntry]
