"""The words that past messages are found by, and the search for them: by stems, each weighed by its rarity."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Final, TypeAlias

from core.storage import history_rows as rows_of
from core.storage.database import Query, Statement
from core.storage.history_rows import MESSAGE, OF_MESSAGE, THREAD
from core.storage.lexicon import Terms, idf
from core.storage.record import microseconds, storable, to_json
from core.stores import BEFORE_WEIGHT, Quoted
from core.types import Message, Span, UserKey

_MAX_READ: Final = 2000
"""How many occurrences of words are read; of a word that is more common, only those in the candidates."""

_CANDIDATES: Final = 32
_FILLED: Final = 128
"""How many older messages a search indexes first."""

_FINDABLE: Final = """
    role IN ('user', 'assistant') AND modal = 'text' AND pair = '' AND error = '' AND off_record = 0 AND content != '""'
"""
_OF_THOSE: Final = '(platform, "user") IN (SELECT value ->> 0, value ->> 1 FROM tuples(?))'
_NEIGHBOUR: Final = """
    SELECT n.id FROM messages AS n WHERE n.thread = m.thread AND n.sequence {side} m.sequence
    AND n.role IN ('user', 'assistant') AND n.modal = 'text' AND n.pair = '' ORDER BY n.sequence {order} LIMIT 1
"""
_BEFORE: Final = _NEIGHBOUR.format(side="<", order="DESC")
_AFTER: Final = _NEIGHBOUR.format(side=">", order="ASC")

_PUT_PLACE: Final = """
    INSERT INTO places (platform, "user", room)
    SELECT platform, "user", ? FROM threads AS t WHERE id = ? AND platform != '' AND NOT EXISTS (
        SELECT 1 FROM places AS p WHERE p.platform = t.platform AND p."user" = t."user" AND p.room = ?
    ) ON CONFLICT DO NOTHING
"""
_PUT: Final = """
    INSERT INTO message_terms (place, term, message) SELECT p.id, asked.value, ?
    FROM threads AS t JOIN places AS p ON p.platform = t.platform AND p."user" = t."user" AND p.room = ?
    CROSS JOIN texts(?) AS asked WHERE t.id = ?
"""

# --- what messages are found by --------------------------------------------------------------------------------------

LIST: Final = f"""
    INSERT INTO unindexed (message, thread) SELECT id, thread FROM messages WHERE thread = ? AND {_FINDABLE}
"""
"""Leaves the messages of a thread to be indexed by the searches that come."""


def place(thread_id: str, room: str) -> Statement:
    """Return what makes the place in which a person's messages are found: a room, or in private (""). It goes first."""
    return _PUT_PLACE, (storable(room), thread_id, storable(room))


def put(thread_id: str, message: Message, terms: Collection[str]) -> Statement:
    """Return what stores by which terms, hashed, a message is found."""
    return _PUT, (message.id, storable(message.room), to_json(list(terms)), thread_id)


def unindexed(query: Query, users: Sequence[UserKey]) -> Sequence[tuple[UserKey, str, Message]]:
    """Return the newest of these people's messages that are not indexed yet, each with whose thread's it is."""
    rows = query.run(
        f"""
        SELECT t.platform, t."user", {OF_MESSAGE} FROM messages AS m JOIN threads AS t ON t.id = m.thread
        WHERE m.id IN (
            SELECT message FROM unindexed WHERE thread IN (SELECT id FROM threads WHERE {_OF_THOSE})
            ORDER BY message DESC LIMIT ?
        ) ORDER BY m.id
        """,
        (_named(users), _FILLED),
    )
    return [
        (UserKey(platform, user), row[0], rows_of.message(query.sealing, tuple(row))) for platform, user, *row in rows
    ]


def fill(query: Query, found: Iterable[tuple[UserKey, str, Message, Collection[str]]]) -> None:
    """Index what `unindexed` returned, each message by its terms, but for what lost its words meanwhile."""
    for user, thread_id, message, terms in found:
        if query.run("DELETE FROM unindexed WHERE message = ? RETURNING message", (message.id,)):
            query.run(*place(thread_id, message.room))
            query.run(*put(thread_id, message, query.sealing.hashed(user, terms)))


# --- the search ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TermSearch:
    """What `search` looks for: messages of whom, by which keywords, and the bounds of `HistoryStore.search`."""

    users: Sequence[UserKey]
    keywords: Sequence[Terms]
    limit: int
    room: str
    said: Span | None
    skip: Collection[int]


_Stored: TypeAlias = tuple[tuple[str, ...], ...]
"""A keyword: of each of its terms, what it is stored as, by the key of each person."""


def search(query: Query, wanted: TermSearch) -> Sequence[Quoted]:
    """Return the messages that hold most of the keywords; of equals, the newest first."""
    places = _places(query, wanted)
    keywords = [tuple(query.sealing.hashed_of(wanted.users, [term]) for term in keyword) for keyword in wanted.keywords]
    counts = _counts(query, places, keywords)
    total = _total(query, wanted)
    weights = {each: idf(max(counts[each], 1), total) for each in keywords}
    holding: dict[_Stored, set[int]] = {}
    common: list[_Stored] = []
    left = _MAX_READ
    for each in sorted((each for each in weights if counts[each]), key=counts.__getitem__):
        if counts[each] > left and holding:
            common.append(each)
        else:
            holding[each] = _newest(query, places, each, wanted.said, left)
            left -= len(holding[each])
    own: dict[int, float] = defaultdict(float)
    for each, ids in holding.items():
        for i in ids.difference(wanted.skip):
            own[i] += weights[each]
    before = _with_next(query, nlargest(_CANDIDATES, own, key=lambda i: (own[i], i)), wanted)
    among = json.dumps([i for pair in before.items() for i in pair])
    holding |= {each: _among(query, places, each, among) for each in common}
    whole = sum(weights.values())
    scores: dict[int, float] = {}
    for i, previous in before.items():
        alone, both = (_held(i, holding, weights, also) for also in (0, previous))
        scores[i] = (alone + BEFORE_WEIGHT * (both - alone)) / whole
        if both == alone:
            before[i] = 0
    best = sorted((i for i in scores if i not in wanted.skip), key=lambda i: (-scores[i], -i))[: wanted.limit]
    return _loaded(query, {i: (before[i], scores[i]) for i in best if scores[i]}, wanted.said)


def _named(users: Iterable[UserKey]) -> str:
    return to_json([[user.platform, user.user] for user in users])


def _places(query: Query, wanted: TermSearch) -> str:
    """Return where these people said something that may be spoken of, as JSON: in the room, or for none everywhere."""
    rows = query.run(
        f"SELECT id FROM places WHERE {_OF_THOSE} AND ? IN ('', room)", (_named(wanted.users), storable(wanted.room))
    )
    return json.dumps([place for (place,) in rows])


def _total(query: Query, wanted: TermSearch) -> int:
    """Return how many messages these people's threads have; in a room, those of its threads."""
    [(total,)] = query.run(
        f"""
        SELECT coalesce(sum(last), 0) FROM (
            SELECT (SELECT max(sequence) FROM messages WHERE thread = threads.id) AS last
            FROM threads WHERE {_OF_THOSE} AND ? IN ('', platform || ':' || chat)
        ) AS counted
        """,
        (_named(wanted.users), storable(wanted.room)),
    )
    return int(total)


def _counts(query: Query, places: str, keywords: Sequence[_Stored]) -> Mapping[_Stored, int]:
    """Map each keyword to how many messages have the most common one of its terms."""
    known: dict[str, int] = dict(
        query.run(
            """
            SELECT asked.value, (
                SELECT count(*) FROM message_terms
                WHERE place IN (SELECT value FROM numbers(?)) AND term = asked.value
            ) FROM texts(?) AS asked
            """,
            (places, json.dumps(sorted({stored for each in keywords for term in each for stored in term}))),
        )
    )
    return {each: max(sum(known[stored] for stored in term) for term in each) for each in keywords}


def _newest(query: Query, places: str, terms: _Stored, said: Span | None, limit: int) -> set[int]:
    """Return the newest messages that have one of the terms, and were said then."""
    then, times = "", [] if said is None else [microseconds(said.start), microseconds(said.end)]
    if times:
        then = "AND EXISTS (SELECT 1 FROM messages WHERE id = message AND at >= ? AND at < ?)"
    [(ids,)] = query.run(
        f"""
        SELECT json_list(message) FROM (
            SELECT DISTINCT message FROM message_terms
            WHERE place IN (SELECT value FROM numbers(?)) AND term IN (SELECT value FROM texts(?)) {then}
            ORDER BY message DESC LIMIT ?
        ) AS newest
        """,
        (places, _any_of(terms), *times, limit),
    )
    return set(json.loads(ids))


def _among(query: Query, places: str, terms: _Stored, among: str) -> set[int]:
    """Return those of the messages that have one of the terms."""
    rows = query.run(
        """
        SELECT message FROM numbers(?) AS asked CROSS JOIN message_terms
        WHERE place IN (SELECT value FROM numbers(?)) AND term IN (SELECT value FROM texts(?))
        AND message = asked.value
        """,
        (among, places, _any_of(terms)),
    )
    return {i for (i,) in rows}


def _any_of(terms: _Stored) -> str:
    """Return a list for `texts(?)`."""
    return json.dumps([stored for term in terms for stored in term])


def _held(i: int, holding: Mapping[_Stored, set[int]], weights: Mapping[_Stored, float], also: int = 0) -> float:
    """Return what the keywords weigh that a message, or another one, has."""
    return sum(weights[each] for each, ids in holding.items() if i in ids or also in ids)


def _with_next(query: Query, ids: Sequence[int], wanted: TermSearch) -> dict[int, int]:
    """Map these messages, and those that follow them, to what was said just before each; 0 for none."""
    those = json.dumps(ids)
    rows = query.run(
        f"""
        SELECT m.id, coalesce(({_BEFORE}), 0) FROM messages AS m WHERE {_FINDABLE} AND ? IN ('', m.room) AND (
            m.id IN (SELECT value FROM numbers(?))
            OR m.id IN (SELECT ({_AFTER}) FROM messages AS m WHERE m.id IN (SELECT value FROM numbers(?)))
        )
        """,
        (storable(wanted.room), those, those),
    )
    return dict(rows)


def _loaded(query: Query, found: Mapping[int, tuple[int, float]], said: Span | None) -> Sequence[Quoted]:
    """Read messages, what was said before them, and their threads."""
    ids = {i for i, (before, _) in found.items() for i in (i, before)}
    rows = query.run(
        f"SELECT {MESSAGE} FROM messages WHERE id IN (SELECT value FROM numbers(?))", (json.dumps(sorted(ids)),)
    )
    of = {row[1]: row[0] for row in rows}
    messages = {row[1]: rows_of.message(query.sealing, row) for row in rows}
    threads = query.run(
        f"SELECT {THREAD} FROM threads WHERE id IN (SELECT value FROM texts(?))", (to_json(sorted(set(of.values()))),)
    )
    known = {row[0]: rows_of.thread(query.sealing, row) for row in threads}
    return [
        Quoted(messages[i], known[of[i]], messages.get(before), score)
        for i, (before, score) in found.items()
        if said is None or ((at := messages[i].at) is not None and said.start <= at < said.end)
    ]
