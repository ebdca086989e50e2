"""What is sealed in a database, cell by cell: with whose key, and with whose it should be."""

# ruff: noqa: S608 - SQL is put together from constants of ours
from __future__ import annotations

from base64 import urlsafe_b64decode
from typing import Final

from core.sealing.key_file import KEY_ID_BYTES
from core.sealing.port import BLANKS
from core.sealing.sealed import Sealed
from core.storage.database import Database
from core.types import UserKey

_SAID: Final = "JOIN owners AS o ON o.id = coalesce(m.account, m.owner)"
MEMORY_CELLS: Final = {
    **{f"memories.{name}": f"SELECT m.{name} FROM memories AS m {_SAID}" for name in ("content", "enclosed", "meant")},
    **{f"changes.{name}": f"SELECT m.{name} FROM changes AS m {_SAID}" for name in ("before", "after", "enclosed")},
    "phrases.text": f"SELECT p.text FROM phrases AS p JOIN memories AS m ON m.id = p.memory {_SAID}",
    "vectors.vector": f"""
        SELECT v.vector FROM vectors AS v JOIN phrases AS p ON p.id = v.phrase JOIN memories AS m ON m.id = p.memory
        {_SAID}
    """,
}
"""Columns of memories, with the SQL of their cells; `o` is the account that said them."""


def key_of(cell: str | bytes) -> bytes:
    """Return the id of the key that a cell is sealed with."""
    raw = bytes(cell) if not isinstance(cell, str) else urlsafe_b64decode(cell + "=" * (-len(cell) % 4))
    return raw[1 : 1 + KEY_ID_BYTES]


async def strangers_cells(database: Database) -> list[str]:
    """Return the columns that have a cell which is sealed with another key than that of who said it."""
    sealing = database.sealing
    assert isinstance(sealing, Sealed)
    found = []
    for column, sql in MEMORY_CELLS.items():
        rows = await database.rows(sql.replace("SELECT ", 'SELECT o.platform, o."user", ', 1))
        cells = [(UserKey(platform, user), cell) for platform, user, cell in rows if cell is not None]
        keys = {user: sealing.file.of(user) for user, _ in cells}
        for user, cell in cells:
            key = keys[user]
            if cell not in BLANKS and (key is None or key_of(cell) != key.id):
                found.append(column)
    return found
