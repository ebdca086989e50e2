"""Destroyed keys: on record in the database and in the key file, so that a copy of neither brings one back.

The record in the database is written before a key is destroyed, and says whether the rows are gone, too. A start
compares both: what only one knows of was undone by an older copy of the other, and is done again (`Forgotten.settle`).
"""

# ruff: noqa: S608 - SQL is put together from constants and the names of our tables and columns
from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from core.ports import Clock
from core.sealing.port import Sealing
from core.sealing.sealed import KEY_ID_BYTES, Sealed, beginning, text_beginning
from core.storage.database import Database, Query, Row
from core.storage.sealed_columns import SEALED_COLUMNS, SealedColumn
from core.stores import PeoplesKeys
from core.types import UserKey

_NAME: Final = "forgotten:"
_PUT: Final = "INSERT INTO kept (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
_ALL: Final = f"SELECT name, value FROM kept WHERE substr(name, 1, {len(_NAME)}) = ?"

Stream: TypeAlias = Callable[[str, Sequence[object]], Iterable[Row]]


@dataclass(frozen=True, slots=True)
class Revived:
    """What was found sealed with destroyed keys, and removed: whose it was, and how many rows."""

    owners: tuple[UserKey, ...] = ()
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Gone:
    """What is left of a key: whether it is there, whether its end is noted, and how many values are sealed with it."""

    is_there: bool
    is_noted: bool
    values: int


class Forgotten(PeoplesKeys):
    """The keys of people who are forgotten."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def destroy(self, owners: Sequence[UserKey]) -> Sequence[str]:
        """Destroy the keys of these accounts for good, and return their ids; whoever has none has no id."""
        ids = [key_id for owner in owners if (key_id := self._sealing.key_id(owner)) is not None]
        if ids:
            await self._note(ids, are_gone=False)
            await asyncio.to_thread(self._destroy, ids)
        return [key_id.hex() for key_id in ids]

    async def purged(self, keys: Sequence[str]) -> None:
        """Note that the rows which were sealed with these keys are gone."""
        await self._note([bytes.fromhex(key) for key in keys], are_gone=True)

    async def settle(self) -> Revived:
        """Destroy again what is on record as destroyed, and remove rows that it had sealed; return whose they were.

        Rows are looked for only where this database may have some: a forgetting was broken off, or the database is
        older than the key file.
        """
        if not self._sealing.is_on:
            return Revived()
        noted = {
            bytes.fromhex(name.removeprefix(_NAME)): json.loads(value)["gone"]
            for name, value in await self._database.rows(_ALL, (_NAME,))
        }
        destroyed = await asyncio.to_thread(self._sealing.destroyed)
        if undone := noted.keys() - destroyed:
            await asyncio.to_thread(self._destroy, undone)
        suspect = (destroyed - noted.keys()) | undone | {key_id for key_id, are_gone in noted.items() if not are_gone}
        if not suspect:
            return Revived()
        found = await self._database.write(lambda query: _removed(query, suspect))
        await self._note(sorted(suspect), are_gone=True)
        if found.rows:
            await self._database.scrub()
        return found

    @property
    def _sealing(self) -> Sealing:
        return self._database.sealing

    def _destroy(self, ids: Iterable[bytes]) -> None:
        for key_id in ids:
            self._sealing.destroy(key_id)

    async def _note(self, ids: Iterable[bytes], *, are_gone: bool) -> None:
        at = self._clock.now().isoformat(timespec="seconds")
        rows = [(f"{_NAME}{key_id.hex()}", json.dumps({"at": at, "gone": are_gone})) for key_id in ids]
        await self._database.write(lambda query: query.run_many(_PUT, rows))


def gone_of(stream: Stream, sealing: Sealed, key: str) -> Gone:
    """Return what is left of the key of that id, of which `stream` yields the rows of queries with their values."""
    key_id = bytes.fromhex(key)
    values = 0
    for each in _sealed(sealing):
        begins, start = _beginning(each, key_id)
        counted = f'SELECT count(*) FROM "{each.table}" AS t WHERE {begins}'
        values += sum(count for (count,) in stream(counted, (start,)))
    return Gone(key_id in sealing.file.ids(), key_id in sealing.destroyed(), values)


def lost_keys(stream: Stream, sealing: Sealed) -> frozenset[bytes]:
    """Return the ids of keys that values are sealed with, and that are neither in the key file nor were destroyed."""
    used: set[bytes] = set()
    for each in _sealed(sealing):
        chars = len(_start(each, bytes(KEY_ID_BYTES)))
        for (start,) in stream(f'SELECT DISTINCT substr(t."{each.column}", 1, {chars}) FROM "{each.table}" AS t', ()):
            if start is not None and len(start) == chars:
                used.add((urlsafe_b64decode(start) if each.kind == "text" else bytes(start))[-KEY_ID_BYTES:])
    return frozenset(used - sealing.file.ids() - sealing.destroyed())


def _removed(query: Query, ids: Iterable[bytes]) -> Revived:
    """Remove all rows that were sealed with these keys; what refers to them goes with them."""
    owners: dict[UserKey, None] = {}
    rows = 0
    for key_id in ids:
        for each in _sealed(query.sealing):
            begins, start = _beginning(each, key_id)
            named = f'SELECT DISTINCT {each.owned} FROM "{each.table}" AS t {each.joined} WHERE {begins}'
            if whose := query.run(named, (start,)):
                owners |= {UserKey(*row): None for row in whose if all(row)}
                gone = f'DELETE FROM "{each.table}" AS t WHERE {begins} RETURNING "{each.key[0]}"'
                rows += len(query.run(gone, (start,)))
    return Revived(tuple(owners), rows)


def _beginning(column: SealedColumn, key_id: bytes) -> tuple[str, str | bytes]:
    """Return the condition on a row `t` that the column is sealed with that key, and the value for it."""
    start = _start(column, key_id)
    return f'substr(t."{column.column}", 1, {len(start)}) = ?', start


def _start(column: SealedColumn, key_id: bytes) -> str | bytes:
    """Return how a value of the column begins that is sealed with that key."""
    return text_beginning(key_id) if column.kind == "text" else beginning(key_id)


def _sealed(sealing: Sealing) -> list[SealedColumn]:
    """Return the columns whose values tell by which key they are sealed."""
    return [each for each in SEALED_COLUMNS if each.kind in {"text", "bytes"} and sealing.seals(each.name)]
