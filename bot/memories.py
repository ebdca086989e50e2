"""`elefante memories`: a person's memories from the shell, as JSON documents and as text.

Knows what each verb returns. Does not know SQL or options.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bot.settings.settings import Settings
from bot.wiring import build
from core.actions.memory_drafts import to_bindings, to_kind
from core.errors import ConfigError
from core.memory.user_memory import UserMemory
from core.text.unicode import clean
from core.types import JSONValue, MemoryDraft, MemoryItem, UserKey

PAGE = 500
Document = dict[str, JSONValue]


async def listed(settings: Settings, user: UserKey, limit: int) -> Document:
    """Return the newest `limit` memories and how many there are in all."""
    async with build(settings) as app:
        memory = app.memories.of(user)
        items = await _newest(memory, limit)
        return _document(user, items, total=await memory.count())


async def added(settings: Settings, user: UserKey, content: str, bindings: Sequence[str]) -> Document:
    """Save one memory and return it.

    Raises:
        ConfigError: nothing to save, or nothing to find it by.
    """
    text = clean(content)
    kind = to_kind("json" if text[:1] in {"{", "["} else "text", text)
    draft = MemoryDraft(kind, text, to_bindings(bindings))
    if not draft.content or not draft.bindings:
        raise ConfigError("memories add", "write what to remember, and at least one --binding to find it by")
    async with build(settings) as app:
        memory = app.memories.of(user)
        vectors = await memory.embed(memory.phrases_of(draft))
        return _document(user, await memory.save([draft], vectors))


async def found(settings: Settings, user: UserKey, query: str, limit: int) -> Document:
    """Return what a search finds, best first, with scores."""
    async with build(settings) as app:
        memory = app.memories.of(user)
        hits = await memory.search([query], await memory.embed([query]), limit=limit)
    document = _document(user, [hit.item for hit in hits])
    scores: list[JSONValue] = [
        {"matched": hit.matched, "score": hit.score, "dense": hit.dense, "lexical": hit.lexical} for hit in hits
    ]
    return {**document, "query": query, "scores": scores}


async def shown(settings: Settings, user: UserKey, memory_id: str) -> Document:
    """Return one memory.

    Raises:
        ConfigError: the person has no memory of that id.
    """
    async with build(settings) as app:
        items = await app.memories.of(user).get([memory_id])
    if not items:
        raise ConfigError("memories show", f"{user} has no memory {memory_id!r}; see `elefante memories list`")
    return _document(user, items)


async def deleted(settings: Settings, user: UserKey, memory_ids: Sequence[str]) -> Document:
    """Delete memories and return what they were.

    Raises:
        ConfigError: the person has none of them; nothing was deleted.
    """
    async with build(settings) as app:
        items = await app.memories.of(user).delete(memory_ids)
    if not items:
        raise ConfigError("memories delete", f"{user} has none of these; see `elefante memories list`")
    return _document(user, items)


async def exported(settings: Settings, user: UserKey) -> Document:
    """Return every memory, the newest first."""
    async with build(settings) as app:
        memory = app.memories.of(user)
        total = await memory.count()
        return _document(user, await _newest(memory, total), total=total)


def render(document: Document) -> str:
    """Return the document as a person reads it."""
    items: Any = document["memories"]
    scores: Any = document.get("scores") or [None] * len(items)
    if not items:
        return f"{document['user']} has no {'such ' if 'query' in document else ''}memory."
    lines = []
    for item, score in zip(items, scores, strict=True):
        found_by = f"  {score['score']:.2f} by “{score['matched']}”" if score else ""
        lines.append(f"{item['id']}  {item['updated_at'][:10]}{found_by}\n  {item['content']}")
        lines.append(f"  found by: {', '.join(item['bindings'])}")
    shown_count, total = len(items), document.get("total")
    if total is not None and total != shown_count:
        lines.append(f"({shown_count} of {total})")
    return "\n".join(lines)


def json_lines(document: Document) -> str:
    """Return one JSON object a memory, a line each."""
    items: Any = document["memories"]
    return "\n".join(json.dumps(item, ensure_ascii=False) for item in items)


async def _newest(memory: UserMemory, limit: int) -> list[MemoryItem]:
    items: list[MemoryItem] = []
    while len(items) < limit:
        page = await memory.page(limit=min(PAGE, limit - len(items)), before=items[-1].id if items else "")
        if not page:
            break
        items.extend(page)
    return items


def _document(user: UserKey, items: Sequence[MemoryItem], *, total: int | None = None) -> Document:
    document: Document = {"user": str(user), "memories": [item.to_json() for item in items]}
    return document if total is None else {**document, "total": total}
