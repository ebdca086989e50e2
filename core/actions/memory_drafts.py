"""Turn a memory as a model answers it into a draft to store: accept its forms, apply limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BeforeValidator
from pydantic.json_schema import SkipJsonSchema

from core.memory.timed import end_of
from core.models import NOT_BRIEF
from core.text.unicode import clean, one_line
from core.types import MemoryDraft, MemoryKind

MAX_DRAFTS = 20
MAX_CONTENT_CHARS = 10_000
MAX_BINDINGS = 12
MAX_BINDING_CHARS = 200

_OURS: Final = {"_id": "id", "keyWords": "bindings"}
"""The names of fields in document 1, and the names used here."""


def as_answered(value: Any) -> Any:
    """Return a memory answered in the form of document 1 in that of the JSON schema.

    There the id is `_id`, the bindings may be one string `keyWords`, content is text or any JSON, and fields may be
    missing.
    """
    if not isinstance(value, dict):
        return value
    entry = {"type": None, "content": None, "bindings": None} | {_OURS.get(name, name): value[name] for name in value}
    if isinstance(entry["content"], dict | list):
        entry["type"] = MemoryKind.JSON.value
    if entry["content"] is not None and not isinstance(entry["content"], str):
        entry["content"] = json.dumps(entry["content"], ensure_ascii=False)
    if isinstance(entry["bindings"], str):
        entry["bindings"] = [entry["bindings"]]
    return entry


def as_id(value: Any) -> Any:
    """Return the id of an answer that is an id or an object with one."""
    return as_answered(value).get("id") if isinstance(value, dict) else value


@dataclass(frozen=True)
class MemoryIds:
    """The ids of memories, as a model answers them.

    With `which`, which language models are not shown, the person is asked which of them is meant.
    """

    ids: list[Annotated[str, BeforeValidator(as_id)]]
    which: SkipJsonSchema[bool] = False


def _as_draft(value: Any) -> Any:
    entry = as_answered(value)
    return entry | {"type": entry["type"] or MemoryKind.TEXT.value} if isinstance(entry, dict) else entry


UNSAID: Final = ""
"""In place of a mark: the model did not say which memory its own is about, not even that there is none (None)."""


@dataclass(frozen=True)
class DraftAnswer:
    """One memory in the reasoning model's answer (T10). JSON content is given as text.

    `instead_of` is the mark of the known memory that it repeats or replaces; None if the model knows of none.
    """

    type: Annotated[Literal["text", "json"], NOT_BRIEF]
    content: str
    bindings: list[str]
    instead_of: Annotated[str | None, NOT_BRIEF] = UNSAID
    until: Annotated[str | None, NOT_BRIEF] = None


DraftEntry: TypeAlias = Annotated[DraftAnswer, BeforeValidator(_as_draft)]
"""A memory in any form that models answer."""


def to_kind(kind: str, content: str) -> MemoryKind:
    """Return the kind of the content: JSON that does not parse is text."""
    if kind != MemoryKind.JSON.value:
        return MemoryKind.TEXT
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return MemoryKind.TEXT
    return MemoryKind.JSON


def to_bindings(phrases: Sequence[str]) -> tuple[str, ...]:
    """Return the phrases cleaned, without empty ones and repetitions, limited in number and length."""
    cleaned = (" ".join(clean(phrase, MAX_BINDING_CHARS).split()) for phrase in phrases)
    return tuple(dict.fromkeys(phrase for phrase in cleaned if phrase))[:MAX_BINDINGS]


def to_draft(answer: DraftAnswer, zone: tzinfo) -> MemoryDraft | None:
    """Return the memory to store; None if it has no content or no bindings, or is too long.

    Its `until` is a date in that zone; one that cannot be read does not count.
    """
    content = clean(answer.content, MAX_CONTENT_CHARS + 1)
    bindings = to_bindings(answer.bindings)
    if not content or not bindings or len(content) > MAX_CONTENT_CHARS:
        return None
    return MemoryDraft(to_kind(answer.type, content), content, bindings, end_of(answer.until or "", zone))


def whole(text: str) -> Sequence[MemoryDraft]:
    """Return the text split into as many drafts as it takes, each found by its beginning."""
    parts = [text[at : at + MAX_CONTENT_CHARS].strip() for at in range(0, len(text), MAX_CONTENT_CHARS)]
    return [
        MemoryDraft(MemoryKind.TEXT, part, to_bindings([one_line(part, MAX_BINDING_CHARS)])) for part in parts if part
    ]
