"""Entries of an exported file, each written and read here; docs/export.md tells their form.

Values are as `json.dumps(default=plain)` takes them: times and people become texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from core.actions.memory_drafts import MAX_BINDING_CHARS, MAX_CONTENT_CHARS, to_bindings, to_kind
from core.enclosures import (
    MAX_ATTACHMENTS,
    Attachment,
    AttachmentKind,
    attachments_from_json,
    attachments_to_json,
    cleaned_attachments,
    enclosures_to_json,
    identities,
)
from core.features.ledger.calls import Sum
from core.text.unicode import clean, fold, one_line
from core.threads import Summary
from core.types import MAX_PASSAGES, Change, MemoryDraft, MemoryItem, Message, Passage, Thread

Entry: TypeAlias = Mapping[str, object]

MAX_ROOMS: Final = 50
CONTENTS: Final = ("content", "memory", "text")
"""The names under which an entry holds what is to be remembered: ours, mem0's, and others'."""

_GONE: Final = ("deleted", "archived")
"""The `state` of memories that their program no longer uses."""


def plain(value: object) -> str:
    """Return the text that stands for a time or a person: ISO 8601, in UTC unless it is wall time; PLATFORM:ID."""
    if not isinstance(value, datetime):
        return str(value)
    return value.isoformat() if value.tzinfo is None else value.astimezone(UTC).isoformat(timespec="microseconds")


def _of(record: object, names: str) -> dict[str, object]:
    return {name: getattr(record, name) for name in names.split()}


# --- memories ---


@dataclass(frozen=True, slots=True)
class Taken:
    """A memory of a file; `shared` and `rooms` are what the file says only in a person's own export."""

    draft: MemoryDraft
    pinned: bool = False
    shared: bool = False
    rooms: tuple[str, ...] = ()

    def since(self, at: datetime | None) -> Taken:
        """Return it as said then, unless it says itself when."""
        return replace(self, draft=replace(self.draft, said_at=self.draft.said_at or at))


def from_memory(item: MemoryItem, passages: Sequence[Passage] = ()) -> Entry:
    """Return the entry of a memory, without its versions."""
    return {
        **item.to_json(),
        **_of(item, "created_at updated_at pinned shared rooms"),
        **({"until": item.until} if item.until else {}),
        "sources": item.source_ids,
        **({"attachments": attachments_to_json(_unhandled(item.attachments))} if item.attachments else {}),
        **({"passages": [_of(each, "text page") for each in passages]} if passages else {}),
    }


def _unhandled(attachments: Sequence[Attachment]) -> Sequence[Attachment]:
    """Return things without what their platform hands them out for: that is nobody else's to give or to take."""
    return [replace(each, handle="") for each in attachments]


def from_change(change: Change) -> Entry:
    """Return the entry of what one act did to one memory."""
    states = {name: item and from_memory(item) for name, item in (("before", change.before), ("after", change.after))}
    return _of(change, "act kind at undone") | states


def to_memory(entry: Any, *, own: bool) -> Taken | None:
    """Return the memory of an entry of any program, or None if it cannot be saved; `own`: of the person's own export.

    In somebody else's export the rooms are another person's, and that it is shared another person's choice.
    """
    if isinstance(entry, str):
        entry = {"content": entry}
    if not isinstance(entry, Mapping) or entry.get("state") in _GONE:
        return None
    said = next((entry[name] for name in CONTENTS if entry.get(name)), "")
    structured = isinstance(said, dict | list)
    content = clean(json.dumps(said, ensure_ascii=False) if structured else str(said))
    kind = to_kind("json" if structured else str(entry.get("type")), content)
    draft = MemoryDraft(kind, content, to_bindings(_texts(entry.get("bindings"))))
    draft = replace(draft, said_at=moment(entry.get("created_at")))
    if own:
        draft = replace(draft, until=moment(entry.get("until")), meant=_meant(entry.get("meant")))
    draft = replace(draft, attachments=_things(entry.get("attachments")), passages=_passages(entry.get("passages")))
    rooms = _texts(entry.get("rooms"))[:MAX_ROOMS] if own else ()
    return savable(Taken(draft, entry.get("pinned") is True, own and entry.get("shared") is True, rooms))


def savable(taken: Taken) -> Taken | None:
    """Return a memory found by its own beginning at least; None if it says nothing, or too much."""
    draft = taken.draft
    bindings = draft.bindings or to_bindings([one_line(draft.content, MAX_BINDING_CHARS)])
    if not draft.content or not bindings or len(draft.content) > MAX_CONTENT_CHARS:
        return None
    return replace(taken, draft=replace(draft, bindings=bindings))


def distinct(taken: Iterable[Taken]) -> tuple[Taken, ...]:
    """Return each memory once; of two that are equal, the phrases of both, and only the rooms that both have."""
    found: dict[tuple[str, ...], Taken] = {}
    for each in taken:
        key = (each.draft.kind, fold(each.draft.content), *identities(each.draft.attachments))  # as memories compare
        found[key] = _both(found[key], each) if key in found else each
    return tuple(found.values())


def _both(one: Taken, other: Taken) -> Taken:
    bindings = to_bindings((*one.draft.bindings, *other.draft.bindings))
    said_at = min((each.draft.said_at for each in (one, other) if each.draft.said_at), default=None)
    rooms = tuple(room for room in one.rooms if room in other.rooms)
    draft = replace(one.draft, bindings=bindings, said_at=said_at)
    return Taken(draft, one.pinned or other.pinned, one.shared and other.shared, rooms)


def moment(value: Any) -> datetime | None:
    """Return the instant that an ISO 8601 text (UTC if it names no zone) or seconds since 1970 stand for; else None."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found = datetime.fromtimestamp(value, UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return found if found.timestamp() > 0 else None


def _meant(given: Any) -> str:
    """Return the day or the minute that an export names; "" for anything else."""
    try:
        at = datetime.fromisoformat(given) if isinstance(given, str) else None
    except ValueError:
        at = None
    return given if at is not None and given in {f"{at:%Y-%m-%d}", f"{at:%Y-%m-%dT%H:%M}"} else ""


def _things(given: Any) -> tuple[Attachment, ...]:
    """Return the things that an entry of ours names by what they say or by their digest, which a store has or has not.

    A handle could be anybody's file, or a place that is nobody's.
    """
    found: list[Attachment] = []
    for each in given[:MAX_ATTACHMENTS] if isinstance(given, list) else ():
        with suppress(ValueError, KeyError, TypeError):
            [thing] = _unhandled(attachments_from_json([each]))
            found += [thing] if all(isinstance(value, _FIELDS[name]) for name, value in asdict(thing).items()) else []
    return cleaned_attachments([each for each in found if each.sha256 or each.detail])


_FIELDS: Final = {
    name: (int, float) if isinstance(value, float) else type(value)
    for name, value in asdict(Attachment(AttachmentKind.OTHER)).items()
}
"""Of what types the fields of an attachment are."""


def _passages(given: Any) -> tuple[Passage, ...]:
    return tuple(
        Passage(clean(each["text"]), each["page"])
        for each in (given[:MAX_PASSAGES] if isinstance(given, list) else ())
        if isinstance(each, dict) and isinstance(each.get("text"), str) and type(each.get("page")) is int
    )


def _texts(given: Any) -> tuple[str, ...]:
    return tuple(each for each in given if isinstance(each, str)) if isinstance(given, list) else ()


# --- what is only written: conversations, usage ---


def from_thread(thread: Thread, summaries: Iterable[Summary]) -> Entry:
    """Return the entry of a conversation, without its messages."""
    chat, user = thread.conversation.chat, thread.conversation.user
    return {
        **_of(thread, "id status title policy metadata created_at updated_at"),
        "user": user,
        "chat": chat.chat,
        "topic": chat.thread,
        "summaries": [_of(each, "text after through at model") for each in summaries],
    }


def from_message(message: Message) -> Entry:
    """Return the entry of a message."""
    return {
        **_of(message, "id at turn source_id memory_id tokens duration_s error"),
        **message.to_wire(),
        **({"room": message.room} if message.room else {}),
        **({"speaker": message.speaker} if message.speaker else {}),
        **({"off_record": True} if message.off_record else {}),
        **({"basis": message.basis.to_json()} if message.basis else {}),
        **({"question": message.question.to_json()} if message.question else {}),
        **enclosures_to_json(message.attachments, message.quotes),
        **({"offered": [draft.to_json() for draft in message.offered]} if message.offered else {}),
    }


def from_usage(entry: Sum) -> Entry:
    """Return the entry of what one model was asked on one day; its `keys` are the account, the day and the model."""
    return {
        **dict(zip(("user", "day", "model"), entry.keys, strict=True)),
        **_of(entry, "calls failed"),
        **_of(entry.tokens, "input_tokens output_tokens"),
        "cost_usd": None if entry.unpriced == entry.calls else round(entry.cost_usd, 6),
    }
