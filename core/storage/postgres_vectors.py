"""Vectors in PostgreSQL: half floats that pgvector searches inside the server, so that no worker holds any.

A person's vectors are compared one by one, found by the index on the owner. Above `LARGE` of them an HNSW index of that
person alone finds them (`maintain`); there is none over everybody's: it finds the nearest of all, and next to none of
one's own among them.

Vectors are stored as they were embedded. The cosine without the mean m, which memory compares by, is made of two inner
products: for unit vectors v, and q without the mean, it is (v*q - m*q) / |v - m|, and |v - m|^2 = 1 + m*m - 2 v*m. So
nothing is rewritten when a mean changes, and an HNSW index over v*q serves: |v - m| differs by some per cent only
among texts, and what is found that way is ordered by the cosine.

Where vectors are sealed the column holds bytes, which nothing here can search: an index in RAM does (`fit`).
"""

# ruff: noqa: S608 - SQL is put together from constants and numbers of ours; what people write is always a parameter
from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

import numpy as np
import psycopg
from pgvector import HalfVector
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo

from core.errors import StorageError
from core.storage.database import Query
from core.storage.memory_search import OwnerState, SqlPhrases, state_of
from core.storage.record import VectorBytes, to_blob
from core.stores import AskedVectors, Neighbours, PhraseStore, SearchRequest, SearchResult, VectorSearch
from core.types import UserKey, Vectors

LARGE: Final = 20_000
"""From so many vectors in one space on, a person has an HNSW index of their own."""

_SMALL: Final = 15_000
"""Below so many it is dropped."""

_MOST_INDEXES: Final = 200
"""How many people have one, those with the most vectors: each costs every insertion a look at its condition."""

_NAME: Final = "vectors_near_"
_OVERSAMPLED: Final = 8
"""How many times as many as are asked for an HNSW index finds, for the cosine to choose from.

It looks at twice as many (`hnsw.ef_search`). Of the nearest 32 of 100,000 vectors with little between them it finds
90 % in 51 ms so, and 70 % in 14 ms with half of the one and a quarter of the other; every one is compared in 96 ms.
"""

_MOST_FOUND: Final = 1000  # hnsw.ef_search of pgvector
_MIN_SQUARE: Final = 1e-6  # of |v - m|: nothing else is left of a vector that is the mean
_KEPT_OWNERS: Final = 10_000
_INVERSE: Final = f"1 / sqrt(greatest(? + 2 * (vector <#> ?), {_MIN_SQUARE}))"
"""1 / |v - m|, of 1 + m*m and m; `<#>` is the negative inner product."""

_log = logging.getLogger(__name__)


class PostgresVectors(VectorSearch):
    """Search of a store in PostgreSQL: vectors and words in one transaction, and nothing of it is kept but numbers."""

    def __init__(self, phrases: SqlPhrases) -> None:
        self._phrases = phrases
        self._embedded: dict[tuple[int, int], tuple[int, int]] = {}
        """By owner and space: the version in which all phrases had vectors, and the greatest id of these."""

    @property
    def phrases(self) -> PhraseStore:
        """The store that is searched."""
        return self._phrases

    async def search(self, owner: UserKey, search: SearchRequest, asked: AskedVectors) -> SearchResult:
        """Return what words find together with the nearest phrases and their cosines."""

        def job(query: Query) -> SearchResult:
            state = state_of(query, owner)
            near = _Near(query, state.owner, asked)
            nearest, whole = near.nearest()
            items = self._phrases.found(query, state, search, Neighbours(nearest, near.cosines))
            return SearchResult(items, self._is_partial(query, state, near.space), whole)

        return await self._phrases.database.read(job)

    def drop(self, owner: UserKey) -> None:
        """Do nothing: nothing is held."""

    def _is_partial(self, query: Query, state: OwnerState, space: int) -> bool:
        """Return whether a phrase of the owner has no vector in the space; those that are known to have are passed."""
        version, newest = self._embedded.get((state.owner, space), (-1, 0))
        if version == state.version:
            return False
        [(missing, last)] = query.run(
            """
            SELECT coalesce(bool_or(v.phrase IS NULL), false), coalesce(max(p.id), 0)
            FROM phrases AS p LEFT JOIN vectors AS v ON v.phrase = p.id AND v.space = ? AND v.owner = p.owner
            WHERE p.owner = ? AND p.id > ?
            """,
            (space, state.owner, newest),
        )
        if not missing:
            if len(self._embedded) > _KEPT_OWNERS:
                self._embedded.clear()
            self._embedded[state.owner, space] = (state.version, max(newest, last))
        return bool(missing)


class _Near:
    """One person's vectors of one space, in one transaction."""

    def __init__(self, query: Query, owner: int, asked: AskedVectors) -> None:
        self._query = query
        self._owner = owner
        self._asked = asked
        self._mean = (float(1 + asked.mean @ asked.mean), to_blob(asked.mean))
        known = query.run(
            f"""
            SELECT s.id, coalesce(i.indisvalid, false) FROM spaces AS s
            LEFT JOIN pg_index AS i ON i.indexrelid = to_regclass('{_NAME}' || ? || '_' || s.id) WHERE s.name = ?
            """,
            (str(owner), asked.space),
        )
        self.space, self._has_index = known[0] if known else (0, False)

    def nearest(self) -> tuple[frozenset[int], bool]:
        """Return the phrases nearest to each row that is asked for, and whether there are no more."""
        most = self._asked.nearest
        rows = self._by_index() if self._has_index and _OVERSAMPLED * most <= _MOST_FOUND else self._by_owner()
        return frozenset(phrase for _, phrase in rows), len(rows) < most * len(self._asked.rows)

    def cosines(self, ids: Sequence[int], rows: Vectors) -> Vectors:
        """Return the cosines of phrases with rows, shape (len(ids), len(rows)); NaN for a phrase without a vector."""
        found: Vectors = np.full((len(ids), len(rows)), np.nan, np.float32)
        columns, values = self._distances(rows)
        held = self._query.run(
            f"""
            SELECT phrase, {columns} FROM (
                SELECT phrase, vector, {_INVERSE} AS inverse FROM vectors
                WHERE phrase = ANY(?) AND space = ? AND owner = ? OFFSET 0
            ) AS held
            """,
            (*values, *self._mean, list(ids), self.space, self._owner),
        )
        if held:
            places = {phrase: place for place, phrase in enumerate(ids)}
            table = np.array(held, np.float64)
            found[[places[phrase] for phrase, *_ in held]] = -table[:, 1:]
        return found

    def _by_owner(self) -> list[tuple[int, int]]:
        """Compare each vector of the owner's, read once for all rows."""
        columns, values = self._distances(self._asked.rows)
        newest = f"ORDER BY phrase DESC LIMIT {self._asked.most}" if self._asked.most else ""
        ordered = self._union("SELECT {row}, phrase FROM near ORDER BY d{row} LIMIT ?")
        return self._query.run(
            f"""
            WITH near AS (
                SELECT phrase, {columns} FROM (
                    SELECT phrase, vector, {_INVERSE} AS inverse FROM vectors WHERE owner = ? AND space = ?
                    {newest} OFFSET 0
                ) AS held
            ) {ordered}
            """,
            (*values, *self._mean, self._owner, self.space, *[self._asked.nearest] * len(self._asked.rows)),
        )

    def _by_index(self) -> list[tuple[int, int]]:
        """Ask the owner's HNSW index for more than are wanted, and choose the nearest of these."""
        most = _OVERSAMPLED * self._asked.nearest
        self._query.run("SELECT set_config('hnsw.ef_search', ?, true)", (str(min(2 * most, _MOST_FOUND)),))
        near = f"""
            SELECT {{row}}, phrase FROM (
                SELECT phrase, vector FROM vectors WHERE {_of_index(self._owner, self.space)}
                ORDER BY vector::halfvec({self._asked.mean.size}) <#> ? LIMIT {most}
            ) AS found ORDER BY ((vector <#> ?) + ?) * {_INVERSE} LIMIT ?
        """
        values: list[object] = []
        for row in self._asked.rows:
            blob = to_blob(row)
            values += [blob, blob, float(row @ self._asked.mean), *self._mean, self._asked.nearest]
        return self._query.run(self._union(near), values)

    def _union(self, select: str) -> str:
        """Return one query for each row that is asked for, as one."""
        return " UNION ALL ".join(f"({select.format(row=row)})" for row in range(len(self._asked.rows)))

    def _distances(self, rows: Vectors) -> tuple[str, list[object]]:
        """Return columns d0, d1, ... with the negative cosine to each row, and their values."""
        columns = ", ".join(f"((vector <#> ?) + ?) * inverse AS d{row}" for row in range(len(rows)))
        return columns, [value for row in rows for value in (to_blob(row), float(row @ self._asked.mean))]


def maintain(connection: psycopg.Connection, *, large: int = LARGE, small: int = _SMALL) -> None:
    """Make and drop the indexes of people with many vectors, outside of any transaction; one process at a time does.

    One that a crash left half made is made anew.
    """
    many = "SELECT owner, space, count(*) FROM vectors GROUP BY owner, space HAVING count(*) >= $1"
    counts = {(owner, space): count for owner, space, count in connection.execute(many, (small,)).fetchall()}
    known = connection.execute(
        """
        SELECT c.relname, i.indisvalid FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
        WHERE i.indrelid = to_regclass('vectors') AND starts_with(c.relname, $1)
        """,
        (_NAME,),
    )
    held = set()
    for name, is_valid in known.fetchall():
        owner, space = map(int, name.removeprefix(_NAME).split("_"))
        if is_valid and (owner, space) in counts:
            held.add((owner, space))
        else:
            connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}".encode())
            _log.info("index dropped", extra={"index": name})
    wanted = sorted((each for each in counts if counts[each] > large), key=counts.__getitem__, reverse=True)
    for owner, space in [each for each in wanted[:_MOST_INDEXES] if each not in held][: _MOST_INDEXES - len(held)]:
        for (dims,) in connection.execute(
            "SELECT vector_dims(vector) FROM vectors WHERE owner = $1 AND space = $2 LIMIT 1", (owner, space)
        ).fetchall():
            made = f"""
                CREATE INDEX CONCURRENTLY {_NAME}{owner}_{space} ON vectors
                USING hnsw ((vector::halfvec({dims})) halfvec_ip_ops) WHERE {_of_index(owner, space)}
            """
            connection.execute(made.encode())
            _log.info("index made", extra={"index": f"{_NAME}{owner}_{space}", "vectors": counts[owner, space]})


def fit(connection: psycopg.Connection, *, sealed: bool) -> None:
    """Let the column hold vectors, or what they are sealed as, where it holds the other kind and there are none.

    Raises:
        StorageError: there are some; nothing was changed.
    """
    if _holds_bytes(connection) in {None, sealed}:
        return
    with connection.transaction():
        connection.execute("LOCK TABLE vectors IN ACCESS EXCLUSIVE MODE")
        if _holds_bytes(connection) == sealed:  # another process was faster
            return
        if connection.execute("SELECT 1 FROM vectors LIMIT 1").fetchall():
            kind, verb = ("open, and here a key", "seal") if sealed else ("sealed, and here no key", "unseal")
            raise StorageError(f"the vectors in the database are {kind} is set: `elefante key {verb}` converts them")
        near = "SELECT indexname FROM pg_indexes WHERE tablename = 'vectors' AND starts_with(indexname, $1)"
        for (name,) in psycopg.RawCursor(connection).execute(near, (_NAME,)).fetchall():
            connection.execute(f"DROP INDEX {name}".encode())
        held = "BYTEA" if sealed else "HALFVEC"
        connection.execute(f"ALTER TABLE vectors ALTER COLUMN vector TYPE {held} USING NULL".encode())


def _holds_bytes(connection: psycopg.Connection) -> bool | None:
    """Return whether vectors are stored as bytes; None where there is no table of them."""
    held = "SELECT atttypid = 'bytea'::regtype FROM pg_attribute WHERE attrelid = to_regclass($1) AND attname = $2"
    rows = psycopg.RawCursor(connection).execute(held, ("vectors", "vector")).fetchall()
    return bool(rows[0][0]) if rows else None


def _of_index(owner: int, space: int) -> str:
    """Return the condition of an index. The numbers stand in the SQL: a plan with parameters would not use it."""
    return f"owner = {owner:d} AND space = {space:d}"


def register(connection: psycopg.Connection) -> None:
    """Let a connection take and give vectors as the stores have them, bytes of half floats."""
    info = TypeInfo.fetch(connection, "halfvec")
    if info is None:  # `prepare` has seen to it that it is there
        raise psycopg.ProgrammingError("the database has no type halfvec")
    info.register(connection)
    connection.adapters.register_dumper(VectorBytes, type("Dumper", (_HalfvecDumper,), {"oid": info.oid}))
    connection.adapters.register_loader(info.oid, _HalfvecLoader)


class _HalfvecDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: VectorBytes) -> Buffer:
        return HalfVector(np.frombuffer(obj, "<f2")).to_binary()


class _HalfvecLoader(Loader):
    def load(self, data: Buffer) -> VectorBytes:
        return to_blob(HalfVector.from_text(bytes(data).decode()).to_numpy().astype(np.float32))
