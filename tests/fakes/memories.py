"""Store memories as tests want them: as they are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.stores import MemoryStore
from core.types import MemoryDraft, MemoryItem, UserKey


def unchanged(item: MemoryItem, _: MemoryDraft) -> tuple[MemoryDraft, tuple[str, ...]]:
    """Return what is known as it is (a `Merge`)."""
    return item.draft, item.rooms


async def add(store: MemoryStore, owner: UserKey, drafts: Sequence[MemoryDraft], **given: Any) -> Sequence[MemoryItem]:
    """Save the drafts, and return the memories that hold them; `given` are further arguments of `MemoryStore.save`."""
    return (await store.save(owner, drafts, merge=unchanged, **given)).items
