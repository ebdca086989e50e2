"""How a memory is written to and read from its tables: its row, phrases, vectors, terms, rooms and sources.

Whoever writes has begun the transaction.
"""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from core.storage.database import Row, Transaction
from core.storage.lexicon import Lexicon
from core.storage.record import (
    OF_USER,
    digest,
    microseconds,
    moment,
    phrases_of,
    storable,
    to_blob,
    to_json,
    user_key,
)
from core.stores import ChangeContext
from core.types import MemoryDraft, MemoryItem, MemoryKind, UserKey, Vector

OWNER = f"(SELECT coalesce(linked, id) FROM owners WHERE {OF_USER})"
"""Whose memories an account's are: those of the one that it is linked to, or its own."""

EVERYWHERE = "*"
"""The room of what is shared. Rooms of a platform are PLATFORM:ID."""

ALL = """
    SELECT m.id, m.account, m.key, m.kind, m.content, m.created_at, m.updated_at, m.pinned,
        (SELECT json_list(text) FROM
            (SELECT text FROM phrases WHERE memory = m.id AND position IS NOT NULL ORDER BY position) AS bindings),
        (SELECT json_list(message) FROM (SELECT message FROM sources WHERE memory = m.id ORDER BY message) AS messages),
        (SELECT json_list(room) FROM (SELECT room FROM rooms WHERE memory = m.id ORDER BY room) AS heard)
    FROM memories AS m
"""
ITEMS = f"{ALL} WHERE m.owner = {OWNER}"
# The plus keeps SQLite from reading all of the owner's rows: each key leads to its own.
THOSE = f"{ALL} WHERE +m.owner = {OWNER} AND m.key IN (SELECT value FROM texts(?))"
_ACCOUNT = f"(SELECT id FROM owners WHERE {OF_USER} AND linked = {OWNER})"
_PUT_VECTOR = "ON CONFLICT (phrase, space) DO UPDATE SET vector = excluded.vector"


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory with the number of its row, which says how old it is among others, and that of its account's owner."""

    number: int
    account: int | None
    item: MemoryItem


def stored(row: Row) -> Stored:
    """Read a row of ITEMS or THOSE."""
    number, account, key, kind, content, created_at, updated_at, pinned, bindings, sources, rooms = row
    heard = json.loads(rooms)
    item = MemoryItem(
        id=key,
        kind=MemoryKind(kind),
        content=content,
        bindings=tuple(json.loads(bindings)),
        created_at=moment(created_at),
        updated_at=moment(updated_at),
        source_ids=tuple(json.loads(sources)),
        rooms=tuple(room for room in heard if room != EVERYWHERE),
        shared=EVERYWHERE in heard,
        pinned=bool(pinned),
    )
    return Stored(number, account, item)


def items(rows: Sequence[Row]) -> list[MemoryItem]:
    """Read rows of ITEMS or THOSE, in their order."""
    return [stored(row).item for row in rows]


def in_order(rows: Sequence[Row], memory_ids: Sequence[str]) -> list[MemoryItem]:
    """Read rows of THOSE, in the order of the ids."""
    found = {item.id: item for item in items(rows)}
    return [found[key] for key in dict.fromkeys(memory_ids) if key in found]


def written(memory: Stored) -> str:
    """Return a memory as a change keeps it: whole, but for its id and account, which are columns there."""
    item = memory.item
    return to_json(
        {
            "number": memory.number,
            "kind": item.kind,
            "content": item.content,
            "bindings": list(item.bindings),
            "created_at": microseconds(item.created_at),
            "updated_at": microseconds(item.updated_at),
            "sources": list(item.source_ids),
            "rooms": list(item.rooms),
            "shared": item.shared,
            "pinned": item.pinned,
        }
    )


def read(key: str, account: int | None, text: str) -> Stored:
    """Undo `written`."""
    kept = json.loads(text)
    item = MemoryItem(
        id=key,
        kind=MemoryKind(kept["kind"]),
        content=kept["content"],
        bindings=tuple(kept["bindings"]),
        created_at=moment(kept["created_at"]),
        updated_at=moment(kept["updated_at"]),
        source_ids=tuple(kept["sources"]),
        rooms=tuple(kept["rooms"]),
        shared=kept["shared"],
        pinned=kept["pinned"],
    )
    return Stored(kept["number"], account, item)


@dataclass(frozen=True, slots=True)
class Named:
    """A draft, made storable, with the id that it gets or has."""

    key: str
    draft: MemoryDraft


def positions_of(draft: MemoryDraft) -> Mapping[str, int | None]:
    """Map every phrase to its place among the bindings, None for a content that is no binding."""
    places: dict[str, int | None] = {binding: place for place, binding in enumerate(draft.bindings)}
    return {phrase: places.get(phrase) for phrase in phrases_of(draft)}


async def name_owner(transaction: Transaction, user: UserKey) -> None:
    """Write the account's row, if there is none."""
    await transaction.run('INSERT INTO owners (platform, "user") VALUES (?, ?) ON CONFLICT DO NOTHING', user_key(user))


async def insert(
    transaction: Transaction, owner: UserKey, memories: Sequence[Named], at: datetime, context: ChangeContext
) -> None:
    """Write the rows of new memories, of their phrases and of the room they were said in."""
    await name_owner(transaction, owner)
    [(whose, said_by)] = await transaction.run(
        f"SELECT {OWNER}, {_ACCOUNT}", (*user_key(owner), *user_key(context.account or owner), *user_key(owner))
    )
    await transaction.run_many(
        """
        INSERT INTO memories (key, owner, account, kind, content, digest, created_at, updated_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            (m.key, whose, said_by, m.draft.kind, m.draft.content, digest(m.draft.content), said, said)
            for m in memories
            for said in [microseconds(min(m.draft.said_at or at, at))]
        ),
    )
    await insert_phrases(
        transaction, ((m.key, text, place) for m in memories for text, place in positions_of(m.draft).items())
    )
    await insert_rooms(transaction, [m.key for m in memories], context.room)


async def insert_phrases(transaction: Transaction, rows: Iterable[tuple[str, str, int | None]]) -> None:
    """Write phrases, given as (memory id, text, position)."""
    await transaction.run_many(
        "INSERT INTO phrases (memory, owner, text, position) SELECT id, owner, ?, ? FROM memories WHERE key = ?",
        ((text, place, key) for key, text, place in rows),
    )


async def insert_terms(transaction: Transaction, lexicon: Lexicon, memories: Sequence[Named]) -> None:
    """Write what the memories are found by, word by word, under who said each."""
    await transaction.run_many(
        """
        INSERT INTO terms (account, term, memory)
        SELECT coalesce(m.account, m.owner), term.value, m.id
        FROM memories AS m CROSS JOIN texts(?) AS term WHERE m.key = ?
        """,
        ((to_json([*lexicon.index_terms(phrases_of(m.draft))]), m.key) for m in memories),
    )


async def insert_sources(transaction: Transaction, memories: Sequence[Named], source_ids: Sequence[int]) -> None:
    """Write which messages the memories rest on."""
    await transaction.run_many(
        "INSERT INTO sources (memory, message) SELECT id, ? FROM memories WHERE key = ?",
        ((source_id, m.key) for m in memories for source_id in sorted(set(source_ids))),
    )


async def insert_rooms(transaction: Transaction, keys: Iterable[str], *rooms: str) -> None:
    """Write in which rooms memories may be spoken of; "" is none."""
    await transaction.run_many(
        """
        INSERT INTO rooms (owner, room, memory) SELECT owner, ?, id FROM memories WHERE key = ? ON CONFLICT DO NOTHING
        """,
        ((storable(room), key) for key in keys for room in rooms if room),
    )


async def drop_rooms(transaction: Transaction, keys: Iterable[str], room: str) -> None:
    """Remove a room from those in which memories may be spoken of."""
    await transaction.run_many(
        "DELETE FROM rooms WHERE room = ? AND memory = (SELECT id FROM memories WHERE key = ?)",
        ((room, key) for key in keys),
    )


async def replace_rooms(transaction: Transaction, key: str, rooms: Iterable[str]) -> None:
    """Write in which rooms a memory may be spoken of, in place of those where it could be before."""
    await transaction.run("DELETE FROM rooms WHERE memory = (SELECT id FROM memories WHERE key = ?)", (key,))
    await insert_rooms(transaction, [key], *rooms)


async def restore(transaction: Transaction, lexicon: Lexicon, owner: UserKey, stored: Stored) -> None:
    """Write a memory that was deleted as it was, with the number of its row; its phrases are new, without vectors."""
    item = stored.item
    memory = Named(item.id, item.draft)
    times = (microseconds(item.created_at), microseconds(item.updated_at))
    await transaction.run(
        f"""
        INSERT INTO memories (id, account, key, kind, content, digest, created_at, updated_at, pinned, owner)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, {OWNER})
        """,
        (
            *(
                stored.number,
                stored.account,
                item.id,
                item.kind,
                item.content,
                digest(item.content),
                *times,
                int(item.pinned),
            ),
            *user_key(owner),
        ),
    )
    await insert_phrases(transaction, ((item.id, text, place) for text, place in positions_of(memory.draft).items()))
    await insert_terms(transaction, lexicon, [memory])
    await insert_sources(transaction, [memory], item.source_ids)
    await insert_rooms(transaction, [item.id], *item.rooms, EVERYWHERE if item.shared else "")


async def put_phrase_vectors(
    transaction: Transaction, memories: Sequence[Named], vectors: Mapping[str, Vector], space: str
) -> None:
    """Write the vectors of those phrases of the memories that `vectors` names by their text."""
    known = {storable(text): to_blob(vector) for text, vector in vectors.items()}
    rows = [(known[text], m.key, text, space) for m in memories for text in phrases_of(m.draft) if text in known]
    if rows:
        await _name_space(transaction, space)
    await transaction.run_many(
        f"""
        INSERT INTO vectors (phrase, space, vector)
        SELECT p.id, s.id, ? FROM memories AS m JOIN phrases AS p ON p.memory = m.id CROSS JOIN spaces AS s
        WHERE m.key = ? AND p.text = ? AND s.name = ? {_PUT_VECTOR}
        """,
        rows,
    )


async def put_vectors(transaction: Transaction, owner: UserKey, vectors: Mapping[int, Vector], space: str) -> None:
    """Write vectors by phrase id; ids that the owner does not have are left out."""
    await _name_space(transaction, space)
    await transaction.run_many(
        f"""
        INSERT INTO vectors (phrase, space, vector)
        SELECT p.id, s.id, ? FROM phrases AS p CROSS JOIN spaces AS s
        WHERE p.id = ? AND p.owner = {OWNER} AND s.name = ? {_PUT_VECTOR}
        """,
        ((to_blob(vector), int(i), *user_key(owner), space) for i, vector in vectors.items()),
    )


async def replace(transaction: Transaction, lexicon: Lexicon, memory: Named, at: datetime) -> None:
    """Write a memory anew; phrases whose text stays keep their rows, and so their ids and vectors."""
    draft = memory.draft
    await transaction.run(
        "UPDATE memories SET kind = ?, content = ?, digest = ?, updated_at = ? WHERE key = ?",
        (draft.kind, draft.content, digest(draft.content), microseconds(at), memory.key),
    )
    old: dict[str, int] = dict(
        await transaction.run(
            "SELECT p.text, p.id FROM phrases AS p JOIN memories AS m ON m.id = p.memory WHERE m.key = ?", (memory.key,)
        )
    )
    new = positions_of(draft)
    await transaction.run_many("DELETE FROM phrases WHERE id = ?", ((i,) for text, i in old.items() if text not in new))
    await transaction.run_many(
        "UPDATE phrases SET position = ? WHERE id = ?",
        ((place, old[text]) for text, place in new.items() if text in old),
    )
    await insert_phrases(transaction, ((memory.key, text, place) for text, place in new.items() if text not in old))
    await transaction.run("DELETE FROM terms WHERE memory = (SELECT id FROM memories WHERE key = ?)", (memory.key,))
    await insert_terms(transaction, lexicon, [memory])


async def remove(transaction: Transaction, owner: UserKey, keys: str) -> None:
    """Remove the owner's memories of a JSON list of ids, with every row and every word of theirs."""
    await transaction.run(
        f"DELETE FROM memories WHERE owner = {OWNER} AND key IN (SELECT value FROM texts(?))", (*user_key(owner), keys)
    )


async def _name_space(transaction: Transaction, space: str) -> None:
    if not space:
        raise ValueError("vectors need the name of their space")
    await transaction.run("INSERT INTO spaces (name) VALUES (?) ON CONFLICT DO NOTHING", (space,))
