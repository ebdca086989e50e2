"""Store memories as tests want them, as they are given, and search them by words alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from core.stores import (
    Candidate,
    HistoryStore,
    MemoryStore,
    Neighbours,
    PhraseStore,
    Quoted,
    SearchableMemoryStore,
    SearchRequest,
)
from core.types import MemoryDraft, MemoryItem, Span, UserKey
from tests.fakes.clock import START


def unchanged(item: MemoryItem, _: MemoryDraft) -> tuple[MemoryDraft, tuple[str, ...]]:
    """Return what is known as it is (a `Merge`)."""
    return item.draft, item.rooms


async def add(store: MemoryStore, owner: UserKey, drafts: Sequence[MemoryDraft], **given: Any) -> Sequence[MemoryItem]:
    """Save the drafts, and return the memories that hold them; `given` are further arguments of `MemoryStore.save`."""
    return (await store.save(owner, drafts, merge=unchanged, **given)).items


def by_words(candidates: Sequence[Candidate], *_: object) -> Sequence[int]:
    """Order candidates by how much of the first query they cover, and leave out those that hold none of it."""
    held = [each for each in candidates if each.words[0]]
    return [each.number for each in sorted(held, key=lambda each: (each.words[0], each.number), reverse=True)]


async def search(
    store: SearchableMemoryStore, owner: UserKey, *queries: str, nearest: frozenset[int] = frozenset(), **asked: Any
) -> Sequence[MemoryItem]:
    """Return what a store finds; `asked` are fields of `SearchRequest`."""
    defaults = {"order": by_words, "at": START, "depth": 99}
    items = await store.search(owner, SearchRequest(queries, **{**defaults, **asked}), Neighbours(nearest))
    assert items is not None
    return items


async def ids_found(store: SearchableMemoryStore, owner: UserKey, query: str, **asked: Any) -> list[str]:
    """Return the ids of the memories that hold words of a query, the best first."""
    return [item.id for item in await search(store, owner, query, **asked)]


async def quotes(
    history: HistoryStore,
    users: Sequence[UserKey],
    query: str,
    *,
    limit: int,
    room: str = "",
    said: Span | None = None,
    skip: Collection[int] = (),
) -> Sequence[Quoted]:
    """Return the past messages that one query finds."""
    [found] = await history.search(users, [query], limit=limit, room=room, said=said, skip=skip)
    return found


async def embedded(store: PhraseStore, owner: UserKey, space: str) -> frozenset[int]:
    """Return the ids of every phrase that is embedded in that space."""
    return frozenset((await store.vectors(owner, space))[0])
