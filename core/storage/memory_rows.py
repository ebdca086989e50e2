"""How a memory is written to and read from its tables: its row, phrases, vectors, terms, rooms and sources.

Whoever writes has begun the transaction. Every change of a person's memories ends in `bump`.
"""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from dataclasses import replace as dataclass_replace
from datetime import datetime

from core.enclosures import Attachment, attachments_from_json, attachments_to_json
from core.storage.database import Query, Row
from core.storage.lexicon import Lexicon
from core.storage.record import (
    OF_USER,
    digest,
    enclosed,
    listed,
    microseconds,
    moment,
    phrases_of,
    random_id,
    storable,
    to_blob,
    to_json,
    user_key,
)
from core.types import MemoryDraft, MemoryItem, MemoryKind, Passage, UserKey, Vector

OWNER = f"(SELECT coalesce(linked, id) FROM owners WHERE {OF_USER})"
"""Whose memories an account's are: those of the one that it is linked to, or its own."""

EVERYWHERE = "*"
"""The room of what is shared. Rooms of a platform are PLATFORM:ID."""

ALL = """
    SELECT m.id, m.account, m.key, m.kind, m.content, m.created_at, m.updated_at, m.pinned, m.until, m.meant, m.current,
        m.may_replace, m.enclosed, (SELECT json_list(text) FROM
            (SELECT text FROM phrases WHERE memory = m.id AND position IS NOT NULL ORDER BY position) AS bindings),
        (SELECT json_list(message) FROM (SELECT message FROM sources WHERE memory = m.id ORDER BY message) AS messages),
        (SELECT json_list(room) FROM (SELECT room FROM rooms WHERE memory = m.id ORDER BY room) AS heard)
    FROM memories AS m
"""
ITEMS = f"{ALL} WHERE m.owner = {OWNER}"
# The plus keeps SQLite from reading all of the owner's rows: each key leads to its own.
THOSE = f"{ALL} WHERE +m.owner = {OWNER} AND m.key IN (SELECT value FROM texts(?))"
EARLIER = f"""
    {ALL} WHERE +m.owner = {OWNER} AND m.current != '' AND m.current IN (SELECT value FROM texts(?))
        AND m.part_of IS NULL
    ORDER BY m.until DESC, m.id DESC
"""
FIND = f"""
    {ITEMS} AND m.digest = ? AND m.kind = ? AND m.current = ''
    AND (? = '' OR m.content = ? OR EXISTS (SELECT 1 FROM rooms WHERE memory = m.id AND room = ?))
    ORDER BY m.content != ?, m.id LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory with the number of its row, which says how old it is among others, and that of who said its words.

    The number of one that is not stored yet is 0. The account is None for the owner's own. Passages are given only
    where they are written, or go.
    """

    number: int
    account: int | None
    item: MemoryItem
    passages: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of a space, ready to be stored, by the texts of their phrases."""

    space: str
    blobs: Mapping[str, bytes]

    @classmethod
    def of(cls, vectors: Mapping[str, Vector] | None, space: str) -> Embedded:
        """Return the vectors as they are stored.

        Raises:
            ValueError: there are some, and their space has no name.
        """
        if vectors and not space:
            raise ValueError("vectors need the name of their space")
        return cls(space, {storable(text): to_blob(vector) for text, vector in (vectors or {}).items()})


UNEMBEDDED = Embedded("", {})

_WHOLE = "FROM memories WHERE id = ? OR part_of = ?"
_TERM = "INSERT INTO terms (account, term, memory) VALUES (?, ?, ?)"


def stored(row: Row) -> Stored:
    """Read a row of ALL."""
    number, account, key, kind, content, created_at, updated_at, pinned, until, meant, current, may_replace, *rest = row
    attachments, bindings, sources, heard = (json.loads(each or "[]") for each in rest)
    item = MemoryItem(
        id=key,
        kind=MemoryKind(kind),
        content=content,
        bindings=tuple(bindings),
        created_at=moment(created_at),
        updated_at=moment(updated_at),
        source_ids=tuple(sources),
        rooms=tuple(room for room in heard if room != EVERYWHERE),
        shared=EVERYWHERE in heard,
        pinned=bool(pinned),
        until=None if until is None else moment(until),
        meant=meant,
        current=current,
        may_replace=may_replace,
        attachments=attachments_from_json(attachments),
    )
    return Stored(number, account, item)


def items(rows: Sequence[Row]) -> list[MemoryItem]:
    """Read rows of ALL, in their order."""
    return [stored(row).item for row in rows]


def in_order(rows: Sequence[Row], memory_ids: Sequence[str]) -> list[MemoryItem]:
    """Read rows of THOSE, in the order of the ids."""
    found = {item.id: item for item in items(rows)}
    return [found[key] for key in dict.fromkeys(memory_ids) if key in found]


def those(query: Query, owner: UserKey, keys: Sequence[str]) -> list[Stored]:
    """Return those of the memories that the owner has, oldest first."""
    return [stored(row) for row in sorted(query.run(THOSE, (*user_key(owner), listed(keys))))]


def found_values(
    owner: UserKey, kind: MemoryKind, content: str, room: str, attachments: Sequence[Attachment]
) -> Sequence[object]:
    """Return the values of FIND."""
    text, room = storable(content), storable(room)
    return (*user_key(owner), digest(kind, text, attachments), kind, room, text, room, text)


_TIMES = ("created_at", "updated_at", "until")
_NOT_WRITTEN = ("id", "source_ids", "attachments", "over", "found_in")


def written(memory: Stored) -> str:
    """Return a memory as a change keeps it: whole, but for its id and account, which are columns there."""
    item = memory.item
    kept = {name: value for name, value in asdict(item).items() if name not in _NOT_WRITTEN}
    kept |= {name: _time(kept[name]) for name in _TIMES}
    kept |= {"number": memory.number, "sources": item.source_ids}
    if item.attachments:
        kept["attachments"] = attachments_to_json(item.attachments)
    if memory.passages:
        kept["passages"] = [[each.page, each.text] for each in memory.passages]
    return to_json(kept)


def read(key: str, account: int | None, text: str) -> Stored:
    """Undo `written`."""
    kept = json.loads(text)
    kept |= {name: None if kept.get(name) is None else moment(kept[name]) for name in _TIMES}
    kept |= {"id": key, "kind": MemoryKind(kept["kind"]), "source_ids": kept.pop("sources")}
    kept |= {name: tuple(kept[name]) for name in ("bindings", "source_ids", "rooms")}
    kept["attachments"] = attachments_from_json(kept.get("attachments", ()))
    passages = tuple(Passage(text, page) for page, text in kept.pop("passages", ()))
    return Stored(kept.pop("number"), account, MemoryItem(**kept), passages)


def _time(at: datetime | None) -> int | None:
    return None if at is None else microseconds(at)


def positions_of(draft: MemoryDraft) -> Mapping[str, int | None]:
    """Map every phrase to its place among the bindings, None for a content that is no binding."""
    places: dict[str, int | None] = {binding: place for place, binding in enumerate(draft.bindings)}
    return {phrase: places.get(phrase) for phrase in phrases_of(draft)}


def owner_number(query: Query, user: UserKey) -> int:
    """Return the number of the account's owner, 0 if nothing is known of them."""
    [(number,)] = query.run(f"SELECT coalesce({OWNER}, 0)", user_key(user))
    return int(number)


def lock_owner(query: Query, user: UserKey, *, make: bool = False) -> int:
    """Keep others from changing the memories of the account's owner; return the owner's number, as `owner_number`.

    With `make`, the account's row is made now if there is none.
    """
    locked, number = 0, owner_number(query, user)
    while number != locked:  # meanwhile the account may have been linked, parted or forgotten
        query.lock("owner", number)
        locked, number = number, owner_number(query, user)
    if make and not number:
        query.run('INSERT INTO owners (platform, "user") VALUES (?, ?) ON CONFLICT DO NOTHING', user_key(user))
        return lock_owner(query, user)
    return number


def account_number(query: Query, owner: int, account: UserKey | None) -> int | None:
    """Return the number of an account that is linked to the owner's; None for any other."""
    rows = (
        query.run(f"SELECT id FROM owners WHERE {OF_USER} AND linked = ?", (*user_key(account), owner))
        if account
        else []
    )
    return rows[0][0] if rows else None


def bump(query: Query, owner: int, removed: int = 0) -> None:
    """Tell that an owner's memories changed; `removed`: that phrases are gone, or embedded after they were stored."""
    query.run("UPDATE owners SET version = version + 1, removed = removed + ? WHERE id = ?", (removed, owner))


def insert(query: Query, lexicon: Lexicon, owner: int, memory: Stored, embedded: Embedded = UNEMBEDDED) -> Stored:
    """Write a memory with all its rows; return it with the number of its row, which it keeps if it has one."""
    item, account = memory.item, memory.account
    columns = (
        "key, owner, account, kind, content, digest, created_at, updated_at, pinned, until, meant, current, "
        "may_replace, enclosed"
    )
    values: tuple[object, ...] = (
        *(item.id, owner, account, item.kind, item.content, digest(item.kind, item.content, item.attachments)),
        *(microseconds(item.created_at), microseconds(item.updated_at), int(item.pinned)),
        *(_time(item.until), item.meant, item.current, item.may_replace, enclosed(item.attachments)),
    )
    if memory.number:
        columns, values = f"{columns}, id", (*values, memory.number)
    marks = ", ".join("?" * len(values))
    [(number,)] = query.run(f"INSERT INTO memories ({columns}) VALUES ({marks}) RETURNING id", values)
    _insert_phrases(query, owner, number, positions_of(item.draft), embedded)
    _insert_terms(query, lexicon, account or owner, number, item.draft)
    insert_sources(query, number, item.source_ids)
    insert_rooms(query, owner, number, [*item.rooms, EVERYWHERE if item.shared else ""])
    new = dataclass_replace(memory, number=number)
    insert_passages(query, lexicon, owner, new)
    return new


def insert_passages(
    query: Query,
    lexicon: Lexicon,
    owner: int,
    memory: Stored,
    embedded: Embedded = UNEMBEDDED,
) -> None:
    """Write the passages of what a memory keeps: each is a memory that only searches see, and goes with its own."""
    item, whose = memory.item, (owner, memory.account)
    for passage in memory.passages:
        times = (microseconds(item.created_at), microseconds(item.updated_at))
        told = (MemoryKind.TEXT, passage.text, digest(MemoryKind.TEXT, passage.text), *times)
        [(number,)] = query.run(
            """
            INSERT INTO memories
                (key, owner, account, kind, content, digest, created_at, updated_at, current, part_of, page)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
            """,
            (random_id(), *whose, *told, item.id, memory.number, passage.page),
        )
        _insert_phrases(query, owner, number, {passage.text: None}, embedded)
        terms = lexicon.index_terms([passage.text])
        query.run_many(_TERM, ((memory.account or owner, term, number) for term in terms))
        insert_rooms(query, owner, number, [*item.rooms, EVERYWHERE if item.shared else ""])


def with_passages(query: Query, memory: Stored) -> Stored:
    """Return a memory with its passages."""
    if not memory.item.attachments:
        return memory
    rows = query.run("SELECT content, page FROM memories WHERE part_of = ? ORDER BY id", (memory.number,))
    return dataclass_replace(memory, passages=tuple(Passage(*row) for row in rows))


def remove_passages(query: Query, number: int) -> int:
    """Remove the passages of a memory, and return how many."""
    return len(query.run("DELETE FROM memories WHERE part_of = ? RETURNING id", (number,)))


def move_passages(query: Query, number: int, to: Stored) -> None:
    """Give the passages of a memory to another one of the same account."""
    query.run("UPDATE memories SET part_of = ?, current = ? WHERE part_of = ?", (to.number, to.item.id, number))


def replace(query: Query, lexicon: Lexicon, owner: int, new: Stored, embedded: Embedded = UNEMBEDDED) -> int:
    """Write anew what a memory says and where it is heard; return how many phrases went, or got a vector only now.

    Phrases whose text stays keep their rows, and so their ids and vectors.
    """
    number, item = new.number, new.item
    [(account,)] = query.run("SELECT account FROM memories WHERE id = ?", (number,))
    query.run(
        """
        UPDATE memories SET account = ?, kind = ?, content = ?, digest = ?, updated_at = ?, until = ?, meant = ?,
            enclosed = ?
        WHERE id = ?
        """,
        (
            *(new.account, item.kind, item.content, digest(item.kind, item.content, item.attachments)),
            *(microseconds(item.updated_at), _time(item.until), item.meant, enclosed(item.attachments), number),
        ),
    )
    if new.account != account:
        query.run("UPDATE memories SET account = ? WHERE part_of = ?", (new.account, number))
        passages = "SELECT id FROM memories WHERE part_of = ?"
        query.run(f"UPDATE terms SET account = ? WHERE memory IN ({passages})", (new.account or owner, number))
    old: dict[str, int] = dict(query.run("SELECT text, id FROM phrases WHERE memory = ?", (number,)))
    positions = positions_of(item.draft)
    gone = [phrase_id for text, phrase_id in old.items() if text not in positions]
    query.run_many("DELETE FROM phrases WHERE id = ?", ((phrase_id,) for phrase_id in gone))
    stay = {text: phrase_id for text, phrase_id in old.items() if text in positions}
    query.run_many("UPDATE phrases SET position = ? WHERE id = ?", ((positions[text], i) for text, i in stay.items()))
    _put_vectors(query, embedded, stay)
    _insert_phrases(query, owner, number, {t: place for t, place in positions.items() if t not in old}, embedded)
    if old.keys() != positions.keys() or new.account != account:
        query.run("DELETE FROM terms WHERE memory = ?", (number,))
        _insert_terms(query, lexicon, new.account or owner, number, item.draft)
    query.run(f"DELETE FROM rooms WHERE memory IN (SELECT id {_WHOLE})", (number, number))
    insert_rooms(query, owner, number, [*item.rooms, EVERYWHERE if item.shared else ""])
    return len(gone) + len(stay.keys() & embedded.blobs.keys())


def insert_past(query: Query, lexicon: Lexicon, owner: int, before: Stored, past: MemoryItem) -> Stored:
    """Write a copy of a memory, its vectors included, as an earlier version of it."""
    copy = insert(query, lexicon, owner, Stored(0, before.account, past))
    query.run(
        """
        INSERT INTO vectors (phrase, space, vector)
        SELECT new.id, v.space, v.vector FROM phrases AS new JOIN phrases AS old ON old.text = new.text
        JOIN vectors AS v ON v.phrase = old.id WHERE new.memory = ? AND old.memory = ?
        """,
        (copy.number, before.number),
    )
    return copy


def insert_sources(query: Query, number: int, source_ids: Iterable[int]) -> None:
    """Write which messages a memory rests on."""
    query.run_many(
        "INSERT INTO sources (memory, message) VALUES (?, ?) ON CONFLICT DO NOTHING",
        ((number, source_id) for source_id in source_ids),
    )


def insert_rooms(query: Query, owner: int, number: int, rooms: Iterable[str]) -> None:
    """Write in which rooms a memory, with its passages, may be spoken of; "" is none."""
    query.run_many(
        f"INSERT INTO rooms (owner, room, memory) SELECT ?, ?, id {_WHOLE} ON CONFLICT DO NOTHING",
        ((owner, room, number, number) for room in rooms if room),
    )


def remove_room(query: Query, number: int, room: str) -> None:
    """Let a memory, with its passages, not be spoken of in a room any more."""
    query.run(f"DELETE FROM rooms WHERE room = ? AND memory IN (SELECT id {_WHOLE})", (room, number, number))


def put_vectors(query: Query, owner: int, vectors: Mapping[int, bytes], space: str) -> None:
    """Write vectors by phrase id; ids that the owner does not have are left out."""
    held = query.run(
        "SELECT id FROM phrases WHERE owner = ? AND id IN (SELECT value FROM numbers(?))",
        (owner, to_json(list(vectors))),
    )
    _put(query, space, [(phrase_id, vectors[phrase_id]) for (phrase_id,) in held])


def remove(query: Query, numbers: Sequence[int]) -> None:
    """Remove memories, with every row and every word of theirs."""
    query.run("DELETE FROM memories WHERE id IN (SELECT value FROM numbers(?))", (to_json(list(numbers)),))


def _insert_phrases(
    query: Query, owner: int, number: int, positions: Mapping[str, int | None], embedded: Embedded
) -> None:
    ids = {}
    for text, place in positions.items():
        [(ids[text],)] = query.run(
            "INSERT INTO phrases (memory, owner, text, position) VALUES (?, ?, ?, ?) RETURNING id",
            (number, owner, text, place),
        )
    _put_vectors(query, embedded, ids)


def _insert_terms(query: Query, lexicon: Lexicon, account: int, number: int, draft: MemoryDraft) -> None:
    query.run_many(_TERM, ((account, term, number) for term in lexicon.index_terms(phrases_of(draft))))


def _put_vectors(query: Query, embedded: Embedded, phrase_ids: Mapping[str, int]) -> None:
    """Write the vectors of those of the phrases that have one."""
    known = [(phrase_id, embedded.blobs[text]) for text, phrase_id in phrase_ids.items() if text in embedded.blobs]
    _put(query, embedded.space, known)


def _put(query: Query, space: str, vectors: Sequence[tuple[int, bytes]]) -> None:
    if not vectors:
        return
    query.run("INSERT INTO spaces (name) VALUES (?) ON CONFLICT DO NOTHING", (space,))
    [(number,)] = query.run("SELECT id FROM spaces WHERE name = ?", (space,))
    query.run_many(
        """
        INSERT INTO vectors (phrase, space, vector) VALUES (?, ?, ?)
        ON CONFLICT (phrase, space) DO UPDATE SET vector = excluded.vector
        """,
        ((phrase_id, number, vector) for phrase_id, vector in vectors),
    )
