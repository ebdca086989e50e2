"""Memories as they are searched: by words, in one job over one person's rows, and by the vectors of their phrases.

A word weighs its IDF over the memories of this person, in a room over those that are audible there. The rarest words
are read whole; a common one scores what the others bring.
"""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Final

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
import numpy as np

from core.sealing.port import Sealing
from core.storage import memory_rows
from core.storage.database import Database, Query, Row
from core.storage.lexicon import Terms, idf, query_terms
from core.storage.memory_rows import ALL, EVERYWHERE, OWNER, PASSAGES, items, open_vector, passage, stored
from core.storage.record import from_blob, listed, microseconds, storable, to_blob, user_key
from core.stores import NO_NEIGHBOURS, Candidate, Fresh, Neighbours, PhraseStore, SearchRequest
from core.types import MemoryItem, Passage, UserKey, Vector, Vectors

_DEEP: Final = 16
"""The depth of a search from which on the following hold; one that is less deep reads as many times less."""

_NEWEST: Final = 512
"""How many of the newest memories with a term are read at once: all of them, mostly."""

_ROWS: Final = 8192
"""How many rows of terms are read in all, and how many memories with one are counted."""

_BROUGHT: Final = 512
"""How many memories are looked up in a common word."""

_WINDOW: Final = 600_000_000
"""Microseconds. What was told no longer before may say what a memory is about: "this is Ana", "she lives in Leeds"."""

_COUNTED: Final = 1024
"""Of so many memories one more or less changes no weight: they are counted again after as many changes as this goes
into their number."""


@dataclass(frozen=True, slots=True)
class OwnerState:
    """An owner's number, 0 for nobody, and what tells an index of changes (`Fresh`).

    Both hold the owner's number, which is never given again: who was forgotten, or linked, never has the same.
    """

    owner: int
    version: int
    removed: int
    users: tuple[UserKey, ...] = ()
    """The owner's accounts."""


_NOW: Final = "{of}.current = '' AND ({of}.until IS NULL OR {of}.until > ?)"

STATE: Final = f"""
    SELECT id, version, removed, platform, "user" FROM owners
    WHERE id = {OWNER} OR linked = {OWNER} ORDER BY linked IS NOT NULL, id
"""


def state_of(query: Query, owner: UserKey) -> OwnerState:
    """Return the state of an owner's memories."""
    return state_in(query.run(STATE, user_key(owner) * 2))


def state_in(rows: Sequence[Row]) -> OwnerState:
    """Return the state that STATE has found."""
    if not rows:
        return OwnerState(0, 0, 0)
    number, version, removed, *_ = rows[0]
    users = tuple(UserKey(platform, user) for *_, platform, user in rows)
    return OwnerState(number, number << 32 | version, number << 32 | removed, users)


def found_memories(
    query: Query,
    state: OwnerState,
    search: SearchRequest,
    neighbours: Neighbours,
    *,
    counts: dict[tuple[int, str], tuple[int, int]],
) -> list[MemoryItem]:
    """Do what `PhraseStore.search` promises.

    `counts` keeps how many memories there are by owner and room, and the version in which they were counted.
    """
    if not state.owner:
        return []
    asked = _OwnerSearch(query, state.owner, search)
    place = (state.owner, search.room)
    version, count = counts.get(place, (-1, 0))
    if not 0 <= state.version - version <= count // _COUNTED:
        count = asked.count()
        counts[place] = (state.version, count)
    near = asked.near(neighbours.nearest)
    hashed = partial(query.sealing.hashed_of, state.users)
    words = _WeighedWords(asked, [list(map(hashed, query_terms(text))) for text in search.queries], count)
    order = search.order(asked.candidates(near, words), count, neighbours)
    return asked.items(order)


class _OwnerSearch:
    """What one search asks of one owner's rows."""

    def __init__(self, query: Query, owner: int, search: SearchRequest) -> None:
        self._query = query
        self._owner = owner
        self._search = search
        heard = "AND EXISTS (SELECT 1 FROM rooms WHERE owner = ? AND room IN (?, ?) AND memory = {number})"
        self._heard = heard if search.room else ""
        self._hearing = (owner, EVERYWHERE, storable(search.room)) if search.room else ()
        self._phrases: dict[int, list[int]] = {}
        self._documents: dict[int, int] = {}
        share = min(search.depth, _DEEP) / _DEEP
        limits = (most if share == 1 else max(int(most * share), search.depth) for most in (_NEWEST, _ROWS, _BROUGHT))
        self.most_newest, self.most_rows, self.most_brought = limits

    def count(self) -> int:
        """Return how many memories the owner has, or how many are audible in the room; no earlier versions.

        A passage counts as one.
        """
        audible = self._heard.format(number="m.id")
        sql = f"SELECT count(*) FROM memories AS m WHERE m.owner = ? AND {{which}} {audible}"
        counted = [sql.format(which=each) for each in ("m.current = ''", "m.part_of IS NOT NULL")]
        return sum(count for each in counted for (count,) in self._query.run(each, (self._owner, *self._hearing)))

    def near(self, nearest: Collection[int]) -> set[int]:
        """Return the memories of the nearest phrases."""
        if not nearest:
            return set()
        rows = self._query.run(
            "SELECT p.memory FROM numbers(?) AS asked CROSS JOIN phrases AS p WHERE p.id = asked.value AND p.owner = ?",
            (_numbers(nearest), self._owner),
        )
        return {number for (number,) in rows}

    def newest(self, words: Collection[Terms]) -> dict[Terms, tuple[int, set[int]]]:
        """Map words to how many memories have each, about how many of a common one, and to the newest of these."""
        selected = f"""
            (SELECT count(*) FROM (SELECT 1 {{held}} LIMIT {self.most_rows}) AS counted),
            (SELECT json_list(memory) FROM
                (SELECT t.memory {{held}} ORDER BY t.memory DESC LIMIT {self.most_newest}) AS newest)
        """
        found = self._postings(words, selected, (*self._hearing, *self._hearing))
        return {
            word: (max([count for count, _ in postings], default=0), _union(newest for _, newest in postings))
            for word, postings in found.items()
        }

    def holders(self, words: Collection[Terms], among: Collection[int] | None = None) -> dict[Terms, set[int]]:
        """Map words to the memories with each: all, or those among some."""
        selected, values = "(SELECT json_list(t.memory) {held})", self._hearing
        if among is not None:
            # One by one, as OFFSET has it: PostgreSQL takes every word for a rare one, and would read all that have it.
            found = "EXISTS (SELECT 1 {held} AND t.memory = few.value LIMIT 1 OFFSET 0)"
            selected = f"(SELECT json_list(few.value) FROM numbers(?) AS few WHERE {found})"
            values = (_numbers(among), *values)
        postings = self._postings(words, selected, values)
        return {word: _union(numbers for (numbers,) in each) for word, each in postings.items()}

    def candidates(self, near: Collection[int], words: _WeighedWords) -> list[Candidate]:
        """Return the memories that count: those near, and the best by each query's words, the newest first.

        What was told right after the best by words counts, too. What was told before a passage is its document.
        """
        depth, scores = self._search.depth, words.scores(near)
        ranked = [_best_first(each) for each in scores]
        worded = {number for numbers in ranked for number in numbers[:depth]}
        before, after = self._beside({*near, *worded}) if depth >= _DEEP else ({}, {})
        near = {*near, *(after[number] for number in worded if number in after)}
        before |= {later: number for number, later in after.items()}
        self._look({*near, *worded})
        before |= {number: document for number, document in self._documents.items() if document}
        chosen = {number for number in near if number in self._phrases}
        for ordered in ranked:
            best = [number for number in ordered[:depth] if number in self._phrases]
            start = depth
            while len(best) < depth and start < len(ordered):
                self._look(ordered[start : start + depth])
                best += [number for number in ordered[start : start + depth] if number in self._phrases]
                start += depth
            chosen.update(best[:depth])
        numbers = sorted(chosen, reverse=True)
        phrases = (tuple(self._phrases[number]) for number in numbers)
        own = zip(*([each.get(number, 0.0) for number in numbers] for each in scores), strict=True)
        context = zip(*words.together(numbers, before), strict=True)
        blank, documents = repeat(()), map(self._documents.__getitem__, numbers)
        return list(map(Candidate, numbers, phrases, own if scores else blank, context if scores else blank, documents))

    def _beside(self, numbers: Collection[int]) -> tuple[dict[int, int], dict[int, int]]:
        """Map memories to the one that was told just before each, and to the one just after, where there is one.

        Those that are pinned, or earlier versions, are passed over; what was told at one moment is a list, and no talk.
        """
        audible = self._heard.format(number="b.id")
        some = f"SELECT b.id FROM memories AS b WHERE b.owner = m.owner AND b.pinned = 0 AND b.current = '' {audible}"
        rows = self._query.run(
            f"""
            SELECT asked.value,
                ({some} AND b.created_at < m.created_at AND b.created_at >= m.created_at - {_WINDOW}
                    ORDER BY b.created_at DESC, b.id DESC LIMIT 1),
                ({some} AND b.created_at > m.created_at AND b.created_at <= m.created_at + {_WINDOW}
                    ORDER BY b.created_at, b.id LIMIT 1)
            FROM numbers(?) AS asked CROSS JOIN memories AS m
            WHERE m.id = asked.value AND m.owner = ? AND m.part_of IS NULL
            """,
            (*2 * self._hearing, _numbers(numbers), self._owner),
        )
        before = {number: earlier for number, earlier, _ in rows if earlier is not None}
        return before, {number: later for number, _, later in rows if later is not None}

    def items(self, order: Sequence[int]) -> list[MemoryItem]:
        """Read those memories that count, in this order; in place of a passage, the memory that it is part of."""
        wanted = [number for number in order if number in self._phrases]
        if not wanted:
            return []
        whole = {number: self._documents[number] or number for number in wanted}
        rows = self._query.run(f"{ALL} WHERE m.id IN (SELECT value FROM numbers(?))", (_numbers(set(whole.values())),))
        found = {row[0]: stored(self._query.sealing, row).item for row in rows}
        passages = self._passages([number for number in wanted if self._documents[number]])
        items = [replace(found[whole[number]], found_in=passages.get(number)) for number in wanted]
        return items + self._beside_those(list(found.values()))

    def _passages(self, numbers: Sequence[int]) -> Mapping[int, Passage]:
        if not numbers:
            return {}
        rows = self._query.run(f"{PASSAGES} WHERE p.id IN (SELECT value FROM numbers(?))", (_numbers(numbers),))
        return {row[0]: passage(self._query.sealing, row) for row in rows}

    def _beside_those(self, known: Sequence[MemoryItem]) -> list[MemoryItem]:
        """Return the memories that may take the place of those, and are not among them."""
        audible = self._heard.format(number="m.id")
        rows = self._query.run(
            f"""
            {ALL} WHERE +m.owner = ? AND m.may_replace != '' AND m.may_replace IN (SELECT value FROM texts(?))
                AND m.current = '' {audible}
            """,
            (self._owner, listed([item.id for item in known]), *self._hearing),
        )
        keys = {item.id for item in known}
        return [item for item in items(self._query.sealing, rows) if item.id not in keys]

    def _look(self, numbers: Iterable[int]) -> None:
        """Note the phrases of those of the memories that count."""
        search = self._search
        also, values = self._heard.format(number="m.id"), [*self._hearing]
        if not search.past:
            # OFFSET, as in `holders`: else PostgreSQL reads all memories to know the documents among them.
            also += f" AND ({_NOW.format(of='m')} OR EXISTS (SELECT 1 FROM memories AS d WHERE d.id = m.part_of AND"
            also += f" {_NOW.format(of='d')} LIMIT 1 OFFSET 0))"
            values += [microseconds(search.at)] * 2
        if search.said is not None:
            also += " AND m.created_at >= ? AND m.created_at < ?"
            values += [microseconds(search.said.start), microseconds(search.said.end)]
        rows = self._query.run(
            f"""
            SELECT m.id, coalesce(m.part_of, 0), p.id
            FROM numbers(?) AS asked CROSS JOIN memories AS m CROSS JOIN phrases AS p
            WHERE m.id = asked.value AND p.memory = m.id AND m.owner = ? {also}
            """,
            (_numbers(numbers), self._owner, *values),
        )
        found = defaultdict(list)
        for number, document, phrase in rows:
            found[number].append(phrase)
            self._documents[number] = document
        self._phrases.update(found)

    def _postings(self, words: Collection[Terms], selected: str, values: Sequence[object]) -> dict[Terms, list[Row]]:
        """Return what subqueries select of the rows that are `{held}`, for each word by term and account."""
        terms = list(dict.fromkeys(term for word in words for term in word))
        if not terms:  # none of the accounts has said anything yet, and so none has a key
            return {word: [] for word in words}
        audible = self._heard.format(number="t.memory")
        held = f"FROM terms AS t WHERE t.account = o.id AND t.term = asked.value {audible}"
        rows = self._query.run(
            f"""
            SELECT asked.value, {selected.format(held=held)}
            FROM owners AS o CROSS JOIN texts(?) AS asked WHERE o.id = ? OR o.linked = ?
            """,
            (*values, listed(terms), self._owner, self._owner),
        )
        found: dict[str, list[Row]] = defaultdict(list)
        for term, *posting in rows:
            found[term].append(tuple(posting))
        return {word: [posting for term in word for posting in found[term]] for word in words}


class _WeighedWords:
    """The words of some queries: who has each, and what it weighs."""

    def __init__(self, asked: _OwnerSearch, queries: Sequence[Sequence[Terms]], count: int) -> None:
        self._asked = asked
        self._queries = queries
        found = asked.newest({terms for query in queries for terms in query})
        frequencies = {terms: frequency for terms, (frequency, _) in found.items()}
        self._holders = {terms: holders for terms, (_, holders) in found.items()}
        self._common: list[Terms] = []
        read: list[Terms] = []
        rows = sum(map(len, self._holders.values()))
        for frequency, terms in sorted(
            (each, terms) for terms, each in frequencies.items() if each > asked.most_newest
        ):
            rows += frequency
            (read if rows <= asked.most_rows else self._common).append(terms)
        self._holders.update(asked.holders(read))
        frequencies |= {terms: len(self._holders[terms]) for terms in found if terms not in self._common}
        self._weights = {terms: idf(frequency, count) for terms, frequency in frequencies.items()}

    def scores(self, near: Iterable[int]) -> list[Mapping[int, float]]:
        """Map, for each query, memories to how much of it they cover; `near` are scored in any case."""
        if not self._common:
            return [self._covered(query) for query in self._queries]
        brought = set(near)
        for query in self._queries:
            rare = self._covered([terms for terms in query if terms not in self._common])
            brought.update(_best_first(rare)[: self._asked.most_brought])
            if not rare:
                brought.update(number for terms in query for number in self._holders[terms])
        self._holders.update(self._asked.holders(self._common, brought))
        covered = [self._covered(query) for query in self._queries]
        return [{number: score for number, score in each.items() if number in brought} for each in covered]

    def together(self, numbers: Sequence[int], before: Mapping[int, int]) -> list[list[float]]:
        """Return, for each query, how much of it each memory and the one told before it cover."""
        pairs = [(number, before.get(number)) for number in numbers]
        found = []
        for query in self._queries:
            whole = sum(self._weights[terms] for terms in query) or 1
            held = [(self._holders[terms], self._weights[terms] / whole) for terms in query]
            found.append([sum([weight for own, weight in held if one in own or other in own]) for one, other in pairs])
        return found

    def _covered(self, query: Sequence[Terms]) -> dict[int, float]:
        whole = sum(self._weights[terms] for terms in query)
        scores: dict[int, float] = {}
        for terms in query:
            holders, weight = self._holders[terms], self._weights[terms] / whole
            both = {number: scores[number] + weight for number in scores.keys() & holders}
            scores.update(dict.fromkeys(holders, weight))
            scores.update(both)
        return scores


def _best_first(scores: Mapping[int, float]) -> list[int]:
    """Return the memories, those with the best score first, and the newest of equals."""
    return sorted(sorted(scores, reverse=True), key=scores.__getitem__, reverse=True)


def _union(lists: Iterable[str]) -> set[int]:
    """Return the numbers in some JSON lists."""
    return {number for each in lists for number in json.loads(each)}


def _numbers(numbers: Iterable[int]) -> str:
    return f"[{','.join(map(str, map(int, numbers)))}]"


# --- the store of phrases ---------------------------------------------------------------------------------------------

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
        return found_memories(query, state, search, neighbours, counts=self._counts)

    async def version(self, owner: UserKey) -> int:
        """Return a number that changes with every change of the owner's memories, by whatever process."""
        return state_in(await self._database.rows(STATE, user_key(owner) * 2)).version

    async def fresh(self, owner: UserKey, space: str, after: int, removed: int | None = None) -> Fresh:
        """Return the phrases with an id greater than `after` that are embedded in that space, and their vectors.

        What changes while they are read belongs to a later version.
        """

        def job(query: Query) -> tuple[OwnerState, frozenset[int] | None, bool, int, int, list[Row]]:
            state, embedded = state_of(query, owner), None
            [(count, last)] = query.run(_EMBEDDED, (state.owner, space, after))
            with_vector, past = count, after
            if removed not in {None, state.removed}:
                embedded = frozenset(i for (i,) in query.run(f"SELECT p.id {_OF_SPACE}", (state.owner, space, 0)))
                with_vector, past = len(embedded), 0
            [(known,)] = query.run("SELECT count(*) FROM phrases WHERE owner = ? AND id > ?", (state.owner, past))
            first = query.run(_VECTORS, (state.owner, space, after, last, _CHUNK_ROWS))
            return state, embedded, with_vector < known, count, last, first

        state, embedded, is_partial, count, last, rows = await self._database.read(job)
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
        return Fresh(state.version, ids, read, state.removed, is_partial, embedded)

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
