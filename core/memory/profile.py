"""A person's profile: the few memories that stand in every prompt of theirs.

It is made of their memories each time these change, without a model: what they pinned, then what a fixed list of
questions finds for sure (`profile.toml`). Each line is a memory, so its source is known, and whoever changes the memory
changes the profile.
"""

from __future__ import annotations

import tomllib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final, TypeAlias

from core.memory.user_memory import MemoryReading
from core.types import SURE, MemoryItem, UserKey

MAX_LINES: Final = 8
MAX_CHARS: Final = 1200
_MAX_KEPT: Final = 1000

_Key: TypeAlias = tuple[UserKey, str]
"""Whose profile, and the room that it is read in ("": in private)."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Something that matters about most people: questions that find it, and how many memories it may bring."""

    ask: tuple[str, ...]
    most: int


@cache
def slots() -> tuple[Slot, ...]:
    """Return the slots in the order of the profile."""
    text = resources.files(__package__).joinpath("profile.toml").read_text("utf-8")
    return tuple(Slot(tuple(each["ask"]), each["most"]) for each in tomllib.loads(text)["slots"])


class Profiles:
    """Profiles by the owner's version, the most recently used in RAM."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, tuple[int, tuple[str, ...]]] = OrderedDict()

    async def of(self, memory: MemoryReading) -> Sequence[MemoryItem]:
        """Return at most MAX_LINES memories of at most MAX_CHARS in all, in a stable order; in a room, audible ones."""
        key = (memory.owner, memory.context.room)
        version = await memory.indexes.phrases.version(memory.owner)
        known = self._kept.pop(key, None)
        if known is None or known[0] != version:
            known = (version, tuple(item.id for item in await _made(memory)))
        self._kept[key] = known
        if len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)
        return await memory.get(known[1]) if known[1] else ()


async def _made(memory: MemoryReading) -> Sequence[MemoryItem]:
    first = await memory.page(limit=MAX_LINES)
    found = {item.id: item for item in first if item.pinned}
    if first and len(found) < MAX_LINES:
        vectors = await memory.embed_queries([question for slot in slots() for question in slot.ask])
        for slot in slots():
            hits = await memory.search(slot.ask, vectors, limit=slot.most, floor=SURE)
            found |= {hit.item.id: hit.item for hit in hits if hit.item.id not in found}
    left = MAX_CHARS
    short = [item for item in found.values() if (left := left - len(item.content)) >= 0]
    return short[:MAX_LINES]
