"""Whose the rows of each table are, for a copy of what is stored of one person (`core.storage.move_person`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

OF_NOBODY: Final = "'', ''"


@dataclass(frozen=True, slots=True)
class OwnedTable:
    """A table, with the SQL of whose a row `t` is: platform and user. `joined` is what that SQL needs."""

    name: str
    owned: str = 't.platform, t."user"'
    joined: str = ""


def _of(joined: str, *names: str) -> tuple[OwnedTable, ...]:
    return tuple(OwnedTable(name, 'o.platform, o."user"', joined) for name in names)


def _nobodys(*names: str) -> tuple[OwnedTable, ...]:
    return tuple(OwnedTable(name, OF_NOBODY) for name in names)


_OWNER: Final = "LEFT JOIN owners AS o ON o.id = t.{}"
_PHRASE: Final = "LEFT JOIN phrases AS p ON p.id = t.phrase LEFT JOIN owners AS o ON o.id = p.owner"
_MEMORY: Final = "LEFT JOIN memories AS m ON m.id = t.memory LEFT JOIN owners AS o ON o.id = m.owner"
_THREAD: Final = "LEFT JOIN threads AS o ON o.id = t.thread"

TABLES: Final = (
    *map(OwnedTable, ("owners", "people", "accounts", "strangers", "preferences", "threads")),
    *_of(_THREAD, "messages", "summaries", "transitions", "told_memories", "unindexed"),
    *map(OwnedTable, ("places", "inbox")),
    *_of("LEFT JOIN places AS o ON o.id = t.place", "message_terms"),
    *_of(_OWNER.format("owner"), "memories", "phrases", "rooms", "changes"),
    *_nobodys("spaces"),
    *_of(_PHRASE, "vectors"),
    *_of(_OWNER.format("account"), "terms"),
    *_of(_MEMORY, "sources"),
    *map(OwnedTable, ("reminders", "link_codes", "awaited", "confirmations", "calls", "asked", "call_payers")),
    *_nobodys("call_quarters", "told"),
    *map(OwnedTable, ("broadcasts", "recipients")),
    *_nobodys("decided"),
    *map(OwnedTable, ("decisions",)),
    *_nobodys("kept"),
)
"""Every table that both engines have, each after the tables that it refers to."""
