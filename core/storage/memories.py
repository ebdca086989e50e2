"""The truth about memories, in SQLite. Knows how they are asked for. Does not know what a search makes of it."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np

from core.storage import memory_rows
from core.storage.lexicon import Lexicon
from core.storage.memory_rows import OWNER, Named
from core.storage.record import checked, digest, microseconds, moment, random_id, storable, to_json
from core.storage.sqlite import Database, Row
from core.stores import MemoryStore
from core.types import MemoryDraft, MemoryItem, MemoryKind, UserKey, Vector, Vectors

_ALL = """
    SELECT m.key, m.kind, m.content, m.created_at, m.updated_at,
        (SELECT json_group_array(text) FROM
            (SELECT text FROM phrases WHERE memory = m.id AND position IS NOT NULL ORDER BY position)),
        (SELECT json_group_array(message) FROM (SELECT message FROM sources WHERE memory = m.id ORDER BY message))
    FROM memories AS m
"""
_ITEMS = f"{_ALL} WHERE m.owner = {OWNER}"
# The plus keeps SQLite from reading all of the owner's rows: each key leads to its own.
_THOSE = f"{_ALL} WHERE +m.owner = {OWNER} AND m.key IN (SELECT value FROM json_each(?))"
_COUNT = f"SELECT count(*) FROM memories WHERE owner = {OWNER}"
_CHUNK_ROWS = 2000
_NEWEST_ROWS = 64
"""How many memories are looked at for one keyword."""


class SqliteMemories(MemoryStore):
    """Memories as rows of `Database`; every query names the owner."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lexicon = Lexicon()

    async def add(
        self,
        owner: UserKey,
        drafts: Sequence[MemoryDraft],
        *,
        at: datetime,
        source_ids: Sequence[int] = (),
        vectors: Mapping[str, Vector] | None = None,
        space: str = "",
    ) -> Sequence[MemoryItem]:
        """Store all drafts, in order, in one transaction.

        Raises:
            ValueError: a draft without a binding, or with an empty one; nothing is stored.
        """
        memories = [Named(random_id(), checked(draft)) for draft in drafts]
        if not memories:
            return []
        async with self._database.transaction() as transaction:
            await memory_rows.insert(transaction, owner, memories, at)
            await memory_rows.insert_words(transaction, self._lexicon, memories)
            await memory_rows.insert_sources(transaction, memories, source_ids)
            await memory_rows.put_phrase_vectors(transaction, memories, vectors or {}, space)
        sources = tuple(sorted(set(source_ids)))
        now = moment(microseconds(at))
        return [MemoryItem(m.key, m.draft.kind, m.draft.content, m.draft.bindings, now, now, sources) for m in memories]

    async def update(
        self,
        owner: UserKey,
        memory_id: str,
        draft: MemoryDraft,
        *,
        at: datetime,
        vectors: Mapping[str, Vector] | None = None,
        space: str = "",
    ) -> MemoryItem | None:
        """Replace kind, content and bindings; None, and nothing changed, if the owner has no such memory.

        Raises:
            ValueError: no binding, or an empty one; nothing is changed.
        """
        memory = Named(storable(memory_id), checked(draft))
        those = (owner.platform, owner.user, to_json([memory.key]))
        async with self._database.transaction() as transaction:
            if not await transaction.run(_THOSE, those):
                return None
            await memory_rows.replace(transaction, self._lexicon, memory, at)
            await memory_rows.put_phrase_vectors(transaction, [memory], vectors or {}, space)
            [row] = await transaction.run(_THOSE, those)
        return _item(row)

    async def delete(self, owner: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Delete those of the ids that the owner has, with all their rows; return what was deleted."""
        keys = to_json(list(memory_ids))
        async with self._database.transaction() as transaction:
            rows = await transaction.run(_THOSE, (owner.platform, owner.user, keys))
            if rows:
                await memory_rows.remove(transaction, owner, keys)
        if rows:
            await self._database.scrub()
        return _in_order(rows, memory_ids)

    async def get(self, owner: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return those of the ids that the owner has, in the order asked."""
        rows = await self._database.rows(_THOSE, (owner.platform, owner.user, to_json(list(memory_ids))))
        return _in_order(rows, memory_ids)

    async def find(self, owner: UserKey, kind: MemoryKind, content: str) -> MemoryItem | None:
        """Return the owner's memory of that kind and content (compared by `core.unicode.fold`), or None."""
        rows = await self._database.rows(
            _ITEMS + " AND m.digest = ? AND m.kind = ? ORDER BY m.id LIMIT 1",
            (owner.platform, owner.user, digest(storable(content)), kind),
        )
        return _item(rows[0]) if rows else None

    async def page(self, owner: UserKey, *, limit: int, before: str = "") -> Sequence[MemoryItem]:
        """Return the newest memories first, those older than the memory `before` if it is given."""
        person = (owner.platform, owner.user)
        older, parameters = "", list(person)
        if before:
            older = f"""
                AND (m.created_at, m.id) < (SELECT created_at, id FROM memories WHERE owner = {OWNER} AND key = ?)
            """
            parameters += [*person, storable(before)]
        rows = await self._database.rows(
            f"{_ITEMS} {older} ORDER BY m.created_at DESC, m.id DESC LIMIT ?", (*parameters, max(limit, 0))
        )
        return [_item(row) for row in rows]

    async def count(self, owner: UserKey) -> int:
        """Return how many memories the owner has."""
        [(count,)] = await self._database.rows(_COUNT, (owner.platform, owner.user))
        return int(count)

    async def phrase_vectors(self, owner: UserKey, space: str) -> tuple[Sequence[int], Vectors]:
        """Return ids, shape (n,), and vectors, shape (n, dims), of every phrase embedded in that space, by id.

        Read in pieces into one array, so that the peak is hardly more than the array.
        """
        [(total, last)] = await self._database.rows(
            f"""
            SELECT count(*), max(p.id) FROM phrases AS p JOIN vectors AS v ON v.phrase = p.id
            WHERE p.owner = {OWNER} AND v.space = (SELECT id FROM spaces WHERE name = ?)
            """,
            (owner.platform, owner.user, space),
        )
        ids: list[int] = []
        vectors: Vectors = np.empty((0, 0), np.float32)
        while len(ids) < total:
            rows = await self._database.rows(
                f"""
                SELECT p.id, v.vector FROM phrases AS p JOIN vectors AS v ON v.phrase = p.id
                WHERE p.owner = {OWNER} AND v.space = (SELECT id FROM spaces WHERE name = ?)
                AND p.id > ? AND p.id <= ? ORDER BY p.id LIMIT ?
                """,
                (owner.platform, owner.user, space, ids[-1] if ids else 0, last, min(_CHUNK_ROWS, total - len(ids))),
            )
            if not rows:  # deleted meanwhile
                break
            chunk = np.frombuffer(b"".join(vector for _, vector in rows), "<f4").reshape(len(rows), -1)
            if not ids:
                vectors = np.empty((total, chunk.shape[1]), np.float32)
            vectors[len(ids) : len(ids) + len(rows)] = chunk
            ids.extend(phrase_id for phrase_id, _ in rows)
        return ids, vectors if len(ids) == total else vectors[: len(ids)]

    async def phrases(self, owner: UserKey, phrase_ids: Sequence[int]) -> Mapping[int, tuple[str, str]]:
        """Map those of the phrase ids that the owner has to (memory id, text)."""
        rows = await self._database.rows(
            f"""
            SELECT p.id, m.key, p.text FROM json_each(?) AS asked
            CROSS JOIN phrases AS p ON p.id = asked.value JOIN memories AS m ON m.id = p.memory
            WHERE p.owner = {OWNER}
            """,
            (json.dumps([int(i) for i in phrase_ids]), owner.platform, owner.user),
        )
        return {phrase_id: (key, text) for phrase_id, key, text in rows}

    async def memory_phrases(self, owner: UserKey, memory_ids: Sequence[str]) -> Mapping[int, str]:
        """Map the phrase ids of those memories to their texts."""
        rows = await self._database.rows(
            f"""
            SELECT p.id, p.text FROM memories AS m JOIN phrases AS p ON p.memory = m.id
            WHERE +m.owner = {OWNER} AND m.key IN (SELECT value FROM json_each(?)) ORDER BY p.id
            """,
            (owner.platform, owner.user, to_json(list(memory_ids))),
        )
        return dict(rows)

    async def lexical(self, owner: UserKey, query: str, limit: int) -> Sequence[tuple[str, float]]:
        """Return (memory id, score > 0, higher is better) of the best full-text matches, best first.

        A keyword counts by how few of the owner's memories hold it, looked for among the newest that do: no other
        person's words weigh anything, and a common word costs no more than a rare one, as it would with bm25.
        """
        terms = self._lexicon.terms(query)
        if not terms or limit <= 0:
            return []
        held = await self._holding(owner, terms)
        common = [term for term, rows in zip(terms, held, strict=True) if len(rows) == _NEWEST_ROWS]
        if len(common) > 1:  # the newest of each need not be those that hold them all
            both = (await self._holding(owner, [" AND ".join(f"({term})" for term in common)]))[0]
            held = [rows | both if term in common else rows for term, rows in zip(terms, held, strict=True)]
        scores: dict[int, float] = defaultdict(float)
        for rows in held:
            for row in rows:
                scores[row] += math.log1p(_NEWEST_ROWS / len(rows))
        best = sorted(scores.items(), key=lambda hit: (-hit[1], -hit[0]))[:limit]
        keys: dict[int, str] = dict(
            await self._database.rows(
                "SELECT id, key FROM memories WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps([row for row, _ in best]),),
            )
        )
        return [(keys[row], score) for row, score in best if row in keys]

    async def _holding(self, owner: UserKey, terms: Sequence[str]) -> list[set[int]]:
        """Return, for each full-text expression, the owner's newest memories that match it."""
        each = f"""
            SELECT ? + 0, rowid FROM (
                SELECT rowid FROM memory_text
                WHERE memory_text MATCH 'owner : o' || coalesce({OWNER}, 0) || ' AND ' || ?
                ORDER BY rowid DESC LIMIT {_NEWEST_ROWS}
            )
        """
        parameters = [
            value for place, term in enumerate(terms) for value in (place, owner.platform, owner.user, f"({term})")
        ]
        held: list[set[int]] = [set() for _ in terms]
        for place, row in await self._database.rows(" UNION ALL ".join([each] * len(terms)), parameters):
            held[place].add(row)
        return held

    async def unembedded(self, owner: UserKey, space: str, limit: int) -> Mapping[int, str]:
        """Map up to `limit` phrase ids that have no vector in that space to their texts, oldest first."""
        rows = await self._database.rows(
            f"""
            SELECT p.id, p.text FROM phrases AS p WHERE p.owner = {OWNER} AND NOT EXISTS (
                SELECT 1 FROM vectors AS v JOIN spaces AS s ON s.id = v.space WHERE v.phrase = p.id AND s.name = ?
            ) ORDER BY p.id LIMIT ?
            """,
            (owner.platform, owner.user, space, max(limit, 0)),
        )
        return dict(rows)

    async def put_vectors(self, owner: UserKey, space: str, vectors: Mapping[int, Vector]) -> None:
        """Store vectors of phrases of the owner's; ids that are gone or another's are left out."""
        async with self._database.transaction() as transaction:
            await memory_rows.put_vectors(transaction, owner, vectors, space)

    async def accounts(self, user: UserKey) -> Sequence[UserKey]:
        """Return every account of that person's, the owner first."""
        return [user]

    async def owners(self) -> Sequence[UserKey]:
        """Return everybody who has a memory."""
        rows = await self._database.rows(
            "SELECT platform, user FROM owners WHERE id IN (SELECT owner FROM memories) ORDER BY id"
        )
        return [UserKey(platform, user) for platform, user in rows]

    async def forget(self, owner: UserKey) -> int:
        """Delete everything of the owner's, down to the last byte, and return how many memories that were."""
        person = (owner.platform, owner.user)
        async with self._database.transaction() as transaction:
            [(count,)] = await transaction.run(_COUNT, person)
            await memory_rows.remove(transaction, owner)
            await transaction.run("DELETE FROM owners WHERE platform = ? AND user = ?", person)
        await self._database.scrub(rebuild=True)
        return int(count)


def _item(row: Row) -> MemoryItem:
    key, kind, content, created_at, updated_at, bindings, sources = row
    return MemoryItem(
        id=key,
        kind=MemoryKind(kind),
        content=content,
        bindings=tuple(json.loads(bindings)),
        created_at=moment(created_at),
        updated_at=moment(updated_at),
        source_ids=tuple(json.loads(sources)),
    )


def _in_order(rows: Sequence[Row], memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
    found = {row[0]: row for row in rows}
    return [_item(found[key]) for key in dict.fromkeys(memory_ids) if key in found]
