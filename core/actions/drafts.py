"""What a model's memory is made into before it may be stored. Knows limits and shapes. Does not know where it goes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.types import MemoryDraft, MemoryKind
from core.unicode import clean

MAX_DRAFTS = 20
MAX_CONTENT_CHARS = 10_000
MAX_BINDINGS = 12
MAX_BINDING_CHARS = 200


@dataclass(frozen=True)
class DraftAnswer:
    """One memory as the reasoning model answers it (T10). JSON content is answered as JSON text."""

    type: Literal["text", "json"]
    content: str
    bindings: list[str]


def to_kind(kind: str, content: str) -> MemoryKind:
    """Return the kind that the content really has: JSON that does not parse is text."""
    if kind != MemoryKind.JSON.value:
        return MemoryKind.TEXT
    try:
        json.loads(content)
    except ValueError:
        return MemoryKind.TEXT
    return MemoryKind.JSON


def to_bindings(phrases: Sequence[str]) -> tuple[str, ...]:
    """Return the phrases cleaned, without the empty ones and repetitions, capped in number and length."""
    cleaned = (" ".join(clean(phrase, MAX_BINDING_CHARS).split()) for phrase in phrases)
    return tuple(dict.fromkeys(phrase for phrase in cleaned if phrase))[:MAX_BINDINGS]


def to_draft(answer: DraftAnswer) -> MemoryDraft | None:
    """Return the memory to store; None for one without content, or phrases to find it by, and for one too long."""
    content = clean(answer.content, MAX_CONTENT_CHARS + 1)
    bindings = to_bindings(answer.bindings)
    if not content or not bindings or len(content) > MAX_CONTENT_CHARS:
        return None
    return MemoryDraft(to_kind(answer.type, content), content, bindings)
