"""What is sealed in a database, cell by cell: with whose key, and with whose it should be."""

# ruff: noqa: S608 - SQL is put together from constants of ours
from __future__ import annotations

from base64 import urlsafe_b64decode

from core.errors import Unreadable
from core.sealing.port import BLANKS
from core.sealing.sealed import KEY_ID_BYTES, Sealed
from core.storage.database import Database
from core.storage.sealed_columns import MEMORIES, SealedColumn
from core.types import UserKey


def key_of(cell: str | bytes) -> bytes:
    """Return the id of the key that a cell is sealed with."""
    raw = bytes(cell) if not isinstance(cell, str) else urlsafe_b64decode(cell + "=" * (-len(cell) % 4))
    return raw[1 : 1 + KEY_ID_BYTES]


async def strange_cells(database: Database) -> list[str]:
    """Return the columns of memories with a cell that is not sealed for whom, and for which row, the registry says."""
    sealing = database.sealing
    assert isinstance(sealing, Sealed)
    found = []
    for column in (each for each in MEMORIES if each.row):
        names = ", ".join((*column.owned.split(", "), *column.row, f"t.{column.column}"))
        rows = await database.rows(f"SELECT {names} FROM {column.table} AS t {column.joined}")
        for platform, user, *parts, cell in rows:
            if cell is not None and cell not in BLANKS:
                key = sealing.file.of(UserKey(platform, user))
                if key is None or key_of(cell) != key.id or not _opens(sealing, column, parts, cell):
                    found.append(column.name)
    return found


def _opens(sealing: Sealed, column: SealedColumn, parts: list[object], cell: str | bytes) -> bool:
    row = "|".join(map(str, parts))
    try:
        if isinstance(cell, str):
            sealing.open(column.name, row, cell)
        else:
            sealing.open_bytes(column.name, row, bytes(cell))
    except Unreadable:
        return False
    return True
