"""The simplest durable vector memory there could be: what the engine is measured against.

aiosqlite (WAL, synchronous=FULL), one flat FAISS index for each namespace, rebuilt from SQLite on first use. No full
text, no floor, no limits.
"""

from __future__ import annotations

import json
from pathlib import Path

import aiosqlite
import faiss
import numpy as np

from core.types import Vectors

_SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS memories (id INTEGER PRIMARY KEY, namespace TEXT, document TEXT);
CREATE TABLE IF NOT EXISTS keys (id INTEGER PRIMARY KEY, memory INTEGER, namespace TEXT, vector BLOB);
CREATE INDEX IF NOT EXISTS keys_namespace ON keys (namespace);
"""


class Baseline:
    """Made by `open`."""

    def __init__(self, database: aiosqlite.Connection, dims: int) -> None:
        self._database = database
        self._dims = dims
        self._indexes: dict[str, tuple[faiss.IndexFlatIP, list[int]]] = {}

    @classmethod
    async def open(cls, path: Path, dims: int) -> Baseline:
        """Open or make the file."""
        database = await aiosqlite.connect(path, isolation_level=None)
        await database.executescript(_SCHEMA)
        return cls(database, dims)

    async def close(self) -> None:
        """Close the file."""
        await self._database.close()

    async def add(self, namespace: str, documents: list[str], vectors: list[Vectors]) -> None:
        """Store documents, each with its rows of vectors, in one transaction."""
        index, memories = await self._index(namespace)
        await self._database.execute("BEGIN IMMEDIATE")
        for document, rows in zip(documents, vectors, strict=True):
            cursor = await self._database.execute("INSERT INTO memories VALUES (NULL, ?, ?)", (namespace, document))
            memory = cursor.lastrowid or 0
            await self._database.executemany(
                "INSERT INTO keys VALUES (NULL, ?, ?, ?)", [(memory, namespace, row.tobytes()) for row in rows]
            )
            index.add(rows)
            memories.extend([memory] * len(rows))
        await self._database.execute("COMMIT")

    async def search(self, namespace: str, query: Vectors, limit: int) -> list[tuple[float, str]]:
        """Return the nearest documents, best first."""
        index, memories = await self._index(namespace)
        scores, places = index.search(query, limit * 4)
        best: dict[int, float] = {}
        for score, place in zip(scores[0].tolist(), places[0].tolist(), strict=True):
            best.setdefault(memories[place], score)
        top = list(best.items())[:limit]
        rows = await self._database.execute_fetchall(
            "SELECT id, document FROM memories WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps([memory for memory, _ in top]),),
        )
        documents = {row[0]: str(row[1]) for row in rows}
        return [(score, documents[memory]) for memory, score in top]

    async def _index(self, namespace: str) -> tuple[faiss.IndexFlatIP, list[int]]:
        if namespace not in self._indexes:
            index, memories = faiss.IndexFlatIP(self._dims), []
            rows = await self._database.execute_fetchall(
                "SELECT memory, vector FROM keys WHERE namespace = ? ORDER BY id", (namespace,)
            )
            for memory, vector in rows:
                index.add(np.frombuffer(vector, np.float32).reshape(1, -1))
                memories.append(memory)
            self._indexes[namespace] = (index, memories)
        return self._indexes[namespace]
