"""Memories as they are searched: phrases, their vectors, terms, and what may be spoken of where, in the database."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from core.sealing.port import Sealing
from core.storage import memory_rows
from core.storage.database import Database, Query, Row
from core.storage.lexicon import Lexicon
from core.storage.memory_rows import EVERYWHERE, OWNER, open_vector
from core.storage.memory_search import STATE, OwnerState, found_memories, state_in, state_of
from core.storage.record import from_blob, listed, storable, to_blob, user_key
from core.stores import NO_NEIGHBOURS, Fresh, Neighbours, PhraseStore, SearchRequest
from core.types import MemoryItem, UserKey, Vector, Vectors

_CHUNK_ROWS = 2000

_KEPT_COUNTS = 1000
_OF_SPACE = """
    FROM phrases AS p JOIN vectors AS v ON v.phrase = p.id
    WHERE p.owner = ? AND v.space = (SELECT id FROM spaces WHERE name = ?) AND p.id > ?
"""
_EMBEDDED = f"SELECT count(*), coalesce(max(p.id), 0) {_OF_SPACE}"
_VECTORS = f"SELECT p.id, v.space, v.vector {_OF_SPACE} AND p.id <= ? ORDER BY p.id LIMIT ?"
_AUDIBLE = f"owner = {OWNER} AND room IN ('{EVERYWHERE}', ?)"
"""Which rows of `rooms` let a memory be spoken of in a room."""


def audible(owner: UserKey, room: str) -> tuple[str, list[str]]:
    """Return the condition that a memory `m` may be spoken of in a room, none for "", and its values."""
    if not room:
        return "", []
    return f" AND m.id IN (SELECT memory FROM rooms WHERE {_AUDIBLE})", [*user_key(owner), storable(room)]


class SqlPhrases(PhraseStore):
    """Rows of `phrases`, `vectors`, `terms` and `rooms`; every query names the owner."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lexicon = Lexicon()
        self._counts: dict[tuple[int, str], tuple[int, int]] = {}

    @property
    def _sealing(self) -> Sealing:
        return self._database.sealing

    @property
    def database(self) -> Database:
        """Where the rows are."""
        return self._database

    async def search(
        self,
        owner: UserKey,
        search: SearchRequest,
        neighbours: Neighbours = NO_NEIGHBOURS,
        *,
        version: int | None = None,
    ) -> Sequence[MemoryItem] | None:
        """Return the memories that `search.order` names, in its order; None if the owner's version is not `version`."""

        def job(query: Query) -> list[MemoryItem] | None:
            state = state_of(query, owner)
            return self.found(query, state, search, neighbours) if version in {None, state.version} else None

        return await self._database.read(job)

    def found(self, query: Query, state: OwnerState, search: SearchRequest, neighbours: Neighbours) -> list[MemoryItem]:
        """Return what `search` does, as a part of a job."""
        if len(self._counts) > _KEPT_COUNTS:
            self._counts.clear()
        return found_memories(query, state, search, neighbours, lexicon=self._lexicon, counts=self._counts)

    async def version(self, owner: UserKey) -> int:
        """Return a number that changes with every change of the owner's memories, by whatever process."""
        return state_in(await self._database.rows(STATE, user_key(owner) * 2)).version

    async def fresh(self, owner: UserKey, space: str, after: int) -> Fresh:
        """Return the phrases with an id greater than `after` that are embedded in that space, and their vectors.

        What changes while they are read belongs to a later version.
        """

        def job(query: Query) -> tuple[OwnerState, int, int, int, list[Row]]:
            state = state_of(query, owner)
            [(new,)] = query.run("SELECT count(*) FROM phrases WHERE owner = ? AND id > ?", (state.owner, after))
            [(count, last)] = query.run(_EMBEDDED, (state.owner, space, after))
            return state, new, count, last, query.run(_VECTORS, (state.owner, space, after, last, _CHUNK_ROWS))

        state, new, count, last, rows = await self._database.read(job)
        ids: list[int] = []
        vectors: Vectors = np.empty((0, 0), np.float32)
        while rows:
            chunk = self._stacked(rows)
            if not ids:
                vectors = np.empty((count, chunk.shape[1]), np.float32)
            vectors[len(ids) : len(ids) + len(rows)] = chunk
            ids.extend(phrase_id for phrase_id, *_ in rows)
            most = min(_CHUNK_ROWS, count - len(ids))
            rows = await self._database.rows(_VECTORS, (state.owner, space, ids[-1], last, most)) if most else []
        read = vectors if len(ids) == count else vectors[: len(ids)]  # some were deleted meanwhile
        return Fresh(state.version, ids, read, state.removed, partial=count < new)

    async def embedded(self, owner: UserKey, space: str) -> frozenset[int]:
        """Return the ids of every phrase embedded in that space."""
        rows = await self._database.rows(
            f"""
            SELECT p.id FROM phrases AS p JOIN vectors AS v ON v.phrase = p.id
            WHERE p.owner = {OWNER} AND v.space = (SELECT id FROM spaces WHERE name = ?)
            """,
            (*user_key(owner), space),
        )
        return frozenset(phrase_id for (phrase_id,) in rows)

    async def vectors(
        self, owner: UserKey, space: str, phrase_ids: Collection[int] | None = None
    ) -> tuple[Sequence[int], Vectors]:
        """Return ids and vectors, shape (n, dims), of the owner's phrases embedded in that space, by id."""
        if phrase_ids is None:
            every = await self.fresh(owner, space, 0)
            return every.ids, every.vectors
        rows = await self._database.rows(
            f"""
            SELECT p.id, v.space, v.vector
            FROM numbers(?) AS asked CROSS JOIN phrases AS p JOIN vectors AS v ON v.phrase = p.id
            WHERE p.id = asked.value AND p.owner = {OWNER} AND v.space = (SELECT id FROM spaces WHERE name = ?)
            ORDER BY p.id
            """,
            (_numbers(phrase_ids), *user_key(owner), space),
        )
        return [phrase_id for phrase_id, *_ in rows], self._stacked(rows)

    async def phrases(
        self, owner: UserKey, phrase_ids: Collection[int] = (), *, memory_ids: Sequence[str] = ()
    ) -> Mapping[int, tuple[str, str]]:
        """Map those of the phrase ids that the owner has, or all of those memories', to (memory id, text)."""
        if memory_ids:
            rows = await self._database.rows(
                f"""
                SELECT p.id, m.key, m.id, p.text FROM memories AS m JOIN phrases AS p ON p.memory = m.id
                WHERE +m.owner = {OWNER} AND m.key IN (SELECT value FROM texts(?)) ORDER BY p.id
                """,
                (*user_key(owner), listed(memory_ids)),
            )
        else:
            rows = await self._database.rows(
                f"""
                SELECT p.id, m.key, m.id, p.text
                FROM numbers(?) AS asked CROSS JOIN phrases AS p JOIN memories AS m ON m.id = p.memory
                WHERE p.id = asked.value AND p.owner = {OWNER}
                """,
                (_numbers(phrase_ids), *user_key(owner)),
            )
        return {phrase_id: (key, self._text(number, text)) for phrase_id, key, number, text in rows}

    async def unembedded(self, owner: UserKey, space: str, limit: int) -> Mapping[int, str]:
        """Map up to `limit` phrase ids that have no vector in that space to their texts, oldest first."""
        rows = await self._database.rows(
            f"""
            SELECT p.id, p.memory, p.text FROM phrases AS p WHERE p.owner = {OWNER} AND NOT EXISTS (
                SELECT 1 FROM vectors AS v JOIN spaces AS s ON s.id = v.space WHERE v.phrase = p.id AND s.name = ?
            ) ORDER BY p.id LIMIT ?
            """,
            (*user_key(owner), space, max(limit, 0)),
        )
        return {phrase_id: self._text(number, text) for phrase_id, number, text in rows}

    async def put_vectors(self, owner: UserKey, space: str, vectors: Mapping[int, Vector]) -> None:
        """Store vectors of phrases of the owner's; ids that are gone or another's are left out."""
        if not space:
            raise ValueError("vectors need the name of their space")
        blobs = {int(phrase_id): to_blob(vector) for phrase_id, vector in vectors.items()}

        def job(query: Query) -> None:
            whose = memory_rows.lock_owner(query, owner)
            memory_rows.put_vectors(query, whose, blobs, space)
            memory_rows.bump(query, whose.owner, len(blobs))

        await self._database.write(job)

    async def keep_space(self, owner: UserKey, space: str) -> None:
        """Delete the owner's vectors of every other space."""
        sql = f"""
            DELETE FROM vectors WHERE phrase IN (SELECT id FROM phrases WHERE owner = {OWNER})
            AND space NOT IN (SELECT id FROM spaces WHERE name = ?)
            """
        await self._database.write(lambda query: query.run(sql, (*user_key(owner), space)))

    def _text(self, memory: int, text: str) -> str:
        return self._sealing.open("phrases.text", memory, text)

    def _stacked(self, rows: Sequence[Row]) -> Vectors:
        """Return the vectors of (phrase id, space, bytes) as an array, shape (n, dims)."""
        if not rows:
            return np.empty((0, 0), np.float32)
        return from_blob(b"".join([open_vector(self._sealing, *row) for row in rows])).reshape(len(rows), -1)


def _numbers(ids: Iterable[int]) -> str:
    return json.dumps([int(i) for i in ids])
