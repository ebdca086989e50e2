"""How a memory is read: from its rows, and from the JSON in which a change keeps it.

Knows columns and keys. Does not know who asks.
"""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from core.storage.record import microseconds, moment, to_json
from core.storage.sqlite import Row
from core.types import MemoryItem, MemoryKind

OWNER = "(SELECT coalesce(linked, id) FROM owners WHERE platform = ? AND user = ?)"
"""Whose memories an account's are: those of the one that it is linked to, or its own."""

EVERYWHERE = "*"
"""The room of what is shared. Rooms of a platform are PLATFORM:ID."""

ALL = """
    SELECT m.id, m.account, m.key, m.kind, m.content, m.created_at, m.updated_at, m.pinned,
        (SELECT json_group_array(text) FROM
            (SELECT text FROM phrases WHERE memory = m.id AND position IS NOT NULL ORDER BY position)),
        (SELECT json_group_array(message) FROM (SELECT message FROM sources WHERE memory = m.id ORDER BY message)),
        (SELECT json_group_array(room) FROM (SELECT room FROM rooms WHERE memory = m.id ORDER BY room))
    FROM memories AS m
"""
ITEMS = f"{ALL} WHERE m.owner = {OWNER}"
# The plus keeps SQLite from reading all of the owner's rows: each key leads to its own.
THOSE = f"{ALL} WHERE +m.owner = {OWNER} AND m.key IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory with the number of its row, which says how old it is among others, and that of its account's owner."""

    number: int
    account: int | None
    item: MemoryItem


def stored(row: Row) -> Stored:
    """Read a row of ITEMS or THOSE."""
    number, account, key, kind, content, created_at, updated_at, pinned, bindings, sources, rooms = row
    heard = json.loads(rooms)
    item = MemoryItem(
        id=key,
        kind=MemoryKind(kind),
        content=content,
        bindings=tuple(json.loads(bindings)),
        created_at=moment(created_at),
        updated_at=moment(updated_at),
        source_ids=tuple(json.loads(sources)),
        rooms=tuple(room for room in heard if room != EVERYWHERE),
        shared=EVERYWHERE in heard,
        pinned=bool(pinned),
    )
    return Stored(number, account, item)


def items(rows: Sequence[Row]) -> list[MemoryItem]:
    """Read rows of ITEMS or THOSE, in their order."""
    return [stored(row).item for row in rows]


def in_order(rows: Sequence[Row], memory_ids: Sequence[str]) -> list[MemoryItem]:
    """Read rows of THOSE, in the order of the ids."""
    found = {item.id: item for item in items(rows)}
    return [found[key] for key in dict.fromkeys(memory_ids) if key in found]


def written(memory: Stored) -> str:
    """Return a memory as a change keeps it: whole, but for its id and account, which are columns there."""
    item = memory.item
    return to_json(
        {
            "number": memory.number,
            "kind": item.kind,
            "content": item.content,
            "bindings": list(item.bindings),
            "created_at": microseconds(item.created_at),
            "updated_at": microseconds(item.updated_at),
            "sources": list(item.source_ids),
            "rooms": list(item.rooms),
            "shared": item.shared,
            "pinned": item.pinned,
        }
    )


def read(key: str, account: int | None, text: str) -> Stored:
    """Undo `written`."""
    kept = json.loads(text)
    item = MemoryItem(
        id=key,
        kind=MemoryKind(kept["kind"]),
        content=kept["content"],
        bindings=tuple(kept["bindings"]),
        created_at=moment(kept["created_at"]),
        updated_at=moment(kept["updated_at"]),
        source_ids=tuple(kept["sources"]),
        rooms=tuple(kept["rooms"]),
        shared=kept["shared"],
        pinned=kept["pinned"],
    )
    return Stored(kept["number"], account, item)
