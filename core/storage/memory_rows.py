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
from typing import Any

from core.enclosures import Attachment, attachments_from_json, attachments_to_json
from core.sealing.port import Sealing
from core.storage.database import Query, Row
from core.storage.lexicon import index_terms
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

ACCOUNTS = f"""
    SELECT id, platform, "user" FROM owners WHERE id = {OWNER} OR linked = {OWNER} ORDER BY linked IS NOT NULL, id
"""
"""The accounts of an owner, their own first."""

EVERYWHERE = "*"
"""The room of what is shared. Rooms of a platform are PLATFORM:ID."""

ALL = """
    SELECT m.id, m.owner, m.account, m.key, m.kind, m.content, m.created_at, m.updated_at, m.pinned, m.until, m.meant,
        m.current, m.may_replace, m.enclosed, (SELECT json_list(text) FROM
            (SELECT text FROM phrases WHERE memory = m.id AND position IS NOT NULL ORDER BY position) AS bindings),
        (SELECT json_list(message) FROM (SELECT message FROM sources WHERE memory = m.id ORDER BY message) AS messages),
        (SELECT json_list(room) FROM (SELECT room FROM rooms WHERE memory = m.id ORDER BY room) AS heard)
    FROM memories AS m
"""
# The plus keeps SQLite from reading all of the owner's rows: each key leads to its own.
THOSE = f"{ALL} WHERE +m.owner = {OWNER} AND m.key IN (SELECT value FROM texts(?))"
EARLIER = f"""
    {ALL} WHERE +m.owner = {OWNER} AND m.current != '' AND m.current IN (SELECT value FROM texts(?))
        AND m.part_of IS NULL
    ORDER BY m.until DESC, m.id DESC
"""
_ALIKE = f"{ALL} WHERE m.owner = ? AND m.digest IN ({{}}) AND m.kind = ? AND m.current = ''"


@dataclass(frozen=True, slots=True)
class Accounts:
    """The accounts of an owner by their numbers, the owner's own first; none if nothing is known of them.

    An account's number is never given again. What a memory's rows hold is sealed for the account that said its words.
    """

    by_number: Mapping[int, UserKey]

    @property
    def owner(self) -> int:
        """The owner's number, 0 for nobody."""
        return next(iter(self.by_number), 0)

    @property
    def users(self) -> list[UserKey]:
        """Every account."""
        return list(self.by_number.values())

    def linked(self, user: UserKey) -> int | None:
        """Return the number of an account that is linked to the owner's; None for any other."""
        return next((n for n, each in self.by_number.items() if each == user and n != self.owner), None)

    def user(self, query: Query, account: int | None) -> UserKey:
        """Return the account of that number, None for the owner's own.

        One that was just parted may be no account of the owner's any more, and its rows may still be there.
        """
        number = account or self.owner
        if (known := self.by_number.get(number)) is not None:
            return known
        [row] = query.run('SELECT platform, "user" FROM owners WHERE id = ?', (number,))
        return UserKey(*row)


def accounts_in(rows: Sequence[Row]) -> Accounts:
    """Read rows of ACCOUNTS."""
    return Accounts({number: UserKey(platform, user) for number, platform, user in rows})


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


VECTORS = "vectors.vector"
UNEMBEDDED = Embedded("", {})

_WHOLE = "FROM memories WHERE id = ? OR part_of = ?"
PASSAGES = "SELECT p.id, p.key, coalesce(p.account, p.owner), p.content, p.page FROM memories AS p"
"""Passages, as `passage` reads them."""


def memory_row(account: int, key: str) -> str:
    """Name the row of a memory for its sealing: by the number of the account that said its words, and its id."""
    return f"{account}|{key}"


def vector_row(phrase: int, space: int) -> str:
    """Name the row of a vector for its sealing."""
    return f"{phrase}|{space}"


def stored(sealing: Sealing, row: Row) -> Stored:
    """Read a row of ALL.

    Raises:
        Unreadable: it cannot be opened.
    """
    number, owner, account, key, kind, content, created_at, updated_at, pinned, until, meant, current, *rest = row
    may_replace, enclosed, texts, sources, heard = rest
    sealed_for = memory_row(account or owner, key)
    rooms = json.loads(heard)
    item = MemoryItem(
        id=key,
        kind=MemoryKind(kind),
        content=sealing.open("memories.content", sealed_for, content),
        bindings=tuple([sealing.open("phrases.text", number, text) for text in json.loads(texts)]),
        created_at=moment(created_at),
        updated_at=moment(updated_at),
        source_ids=tuple(json.loads(sources)),
        rooms=tuple(room for room in rooms if room != EVERYWHERE),
        shared=EVERYWHERE in rooms,
        pinned=bool(pinned),
        until=None if until is None else moment(until),
        meant=sealing.open("memories.meant", sealed_for, meant),
        current=current,
        may_replace=may_replace,
        attachments=attachments_from_json(
            json.loads(sealing.open("memories.enclosed", sealed_for, enclosed) if enclosed else "[]")
        ),
    )
    return Stored(number, account, item)


def items(sealing: Sealing, rows: Sequence[Row]) -> list[MemoryItem]:
    """Read rows of ALL, in their order."""
    return [stored(sealing, row).item for row in rows]


def in_order(sealing: Sealing, rows: Sequence[Row], memory_ids: Sequence[str]) -> list[MemoryItem]:
    """Read rows of THOSE, in the order of the ids."""
    found = {item.id: item for item in items(sealing, rows)}
    return [found[key] for key in dict.fromkeys(memory_ids) if key in found]


def those(query: Query, owner: UserKey, keys: Sequence[str]) -> list[Stored]:
    """Return those of the memories that the owner has, oldest first."""
    rows = sorted(query.run(THOSE, (*user_key(owner), listed(keys))))
    return [stored(query.sealing, row) for row in rows]


def told(query: Query, whose: Accounts, memory: Stored) -> bytes:
    """Return the digest of a memory, as it is stored."""
    item = memory.item
    return query.sealing.digest(whose.user(query, memory.account), digest(item.kind, item.content, item.attachments))


def find(
    query: Query,
    accounts: Accounts,
    kind: MemoryKind,
    content: str,
    *,
    room: str,
    attachments: Sequence[Attachment],
) -> Stored | None:
    """Return what `MemoryStore.find` promises."""
    text, room, told = storable(content), storable(room), digest(kind, content, attachments)
    digests = list(dict.fromkeys(query.sealing.digest(user, told) for user in accounts.users))
    if not digests:
        return None
    alike = _ALIKE.format(", ".join("?" * len(digests)))
    found = [stored(query.sealing, row) for row in query.run(alike, (accounts.owner, *digests, kind))]
    heard = [each for each in found if not room or each.item.content == text or room in each.item.rooms]
    return min(heard, key=lambda each: (each.item.content != text, each.number), default=None)


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


def change_row(account: int, key: str, act: str) -> str:
    """Name the row of a change for its sealing: by the account of the memory, its id, and the act."""
    return f"{account}|{key}|{act}"


STATES = "owner, account, key, act, before, after"
"""Of a change, what `states` reads."""


def states(sealing: Sealing, row: Sequence[Any]) -> tuple[Stored | None, Stored | None]:
    """Read how a memory was before a change, and after it.

    Raises:
        Unreadable: it cannot be opened.
    """
    owner, account, key, act, before, after = row
    sealed_for = change_row(account or owner, key, act)
    old, new = (
        None if text is None else _read(key, account, sealing.open(column, sealed_for, text))
        for column, text in (("changes.before", before), ("changes.after", after))
    )
    return old, new


def _read(key: str, account: int | None, text: str) -> Stored:
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


def accounts_of(query: Query, user: UserKey) -> Accounts:
    """Return all accounts of the account's owner."""
    return accounts_in(query.run(ACCOUNTS, user_key(user) * 2))


def lock_owner(query: Query, user: UserKey, *, make: bool = False) -> Accounts:
    """Keep others from changing the memories of the account's owner; return the owner's accounts.

    With `make`, the account's row is made now if there is none.
    """
    locked, found = 0, accounts_of(query, user)
    while found.owner != locked:  # meanwhile the account may have been linked, parted or forgotten
        query.lock("owner", found.owner)
        locked, found = found.owner, accounts_of(query, user)
    if make and not found.owner:
        query.run('INSERT INTO owners (platform, "user") VALUES (?, ?) ON CONFLICT DO NOTHING', user_key(user))
        return lock_owner(query, user)
    return found


def bump(query: Query, owner: int, removed: int = 0) -> None:
    """Tell that an owner's memories changed; `removed`: that phrases are gone, or embedded after they were stored."""
    query.run("UPDATE owners SET version = version + 1, removed = removed + ? WHERE id = ?", (removed, owner))


def insert(query: Query, whose: Accounts, memory: Stored, embedded: Embedded = UNEMBEDDED) -> Stored:
    """Write a memory with all its rows; return it with the number of its row, which it keeps if it has one."""
    item, said = memory.item, _speaker(query, whose, memory.account)
    columns = (
        "key, owner, account, kind, content, digest, meant, enclosed, created_at, updated_at, pinned, until, current, "
        "may_replace"
    )
    values: tuple[object, ...] = (
        *(item.id, whose.owner, memory.account, item.kind, *_sealed(query.sealing, said, item)),
        *(microseconds(item.created_at), microseconds(item.updated_at), int(item.pinned)),
        *(_time(item.until), item.current, item.may_replace),
    )
    if memory.number:
        columns, values = f"{columns}, id", (*values, memory.number)
    marks = ", ".join("?" * len(values))
    [(number,)] = query.run(f"INSERT INTO memories ({columns}) VALUES ({marks}) RETURNING id", values)
    _insert_phrases(query, said, number, positions_of(item.draft), embedded)
    _insert_terms(query, said, number, phrases_of(item.draft))
    insert_sources(query, number, item.source_ids)
    insert_rooms(query, whose.owner, number, [*item.rooms, EVERYWHERE if item.shared else ""])
    new = dataclass_replace(memory, number=number)
    insert_passages(query, whose, new)
    return new


def insert_passages(
    query: Query,
    whose: Accounts,
    memory: Stored,
    embedded: Embedded = UNEMBEDDED,
) -> None:
    """Write the passages of what a memory keeps: each is a memory that only searches see, and goes with its own."""
    item = memory.item
    for passage in memory.passages:
        said, key = _speaker(query, whose, memory.account), random_id()
        times = (microseconds(item.created_at), microseconds(item.updated_at))
        [(number,)] = query.run(
            """
            INSERT INTO memories
                (key, owner, account, kind, content, digest, created_at, updated_at, current, part_of, page)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
            """,
            (
                *(
                    key,
                    whose.owner,
                    memory.account,
                    MemoryKind.TEXT,
                    *_sealed_passage(query.sealing, said, key, passage),
                ),
                *(*times, item.id, memory.number, passage.page),
            ),
        )
        _insert_phrases(query, said, number, {passage.text: None}, embedded)
        _insert_terms(query, said, number, [passage.text])
        insert_rooms(query, whose.owner, number, [*item.rooms, EVERYWHERE if item.shared else ""])


def with_passages(query: Query, memory: Stored) -> Stored:
    """Return a memory with its passages."""
    if not memory.item.attachments:
        return memory
    return dataclass_replace(memory, passages=tuple([passage for _, _, passage in _passages(query, memory.number)]))


def _passages(query: Query, number: int) -> list[tuple[int, str, Passage]]:
    """Return number, key and words of each passage of a memory, in order."""
    rows = query.run(f"{PASSAGES} WHERE p.part_of = ? ORDER BY p.id", (number,))
    return [(row[0], row[1], passage(query.sealing, row)) for row in rows]


def passage(sealing: Sealing, row: Row) -> Passage:
    """Read a row of PASSAGES."""
    _, key, account, content, page = row
    return Passage(sealing.open("memories.content", memory_row(account, key), content), page)


def remove_passages(query: Query, number: int) -> int:
    """Remove the passages of a memory, and return how many."""
    return len(query.run("DELETE FROM memories WHERE part_of = ? RETURNING id", (number,)))


def move_passages(query: Query, number: int, to: Stored) -> None:
    """Give the passages of a memory to another one of the same account."""
    query.run("UPDATE memories SET part_of = ?, current = ? WHERE part_of = ?", (to.number, to.item.id, number))


def replace(query: Query, whose: Accounts, new: Stored, embedded: Embedded = UNEMBEDDED) -> int:
    """Write anew what a memory says and where it is heard; return how many phrases went, or got a vector only now.

    Phrases whose text stays keep their rows, and so their ids and vectors.
    """
    number, item, said = new.number, new.item, _speaker(query, whose, new.account)
    [(account,)] = query.run("SELECT account FROM memories WHERE id = ?", (number,))
    if new.account != account:
        _give(query, number, new.account, said)
    query.run(
        """
        UPDATE memories SET account = ?, kind = ?, content = ?, digest = ?, meant = ?, enclosed = ?, updated_at = ?,
            until = ?
        WHERE id = ?
        """,
        (
            *(new.account, item.kind, *_sealed(query.sealing, said, item)),
            *(microseconds(item.updated_at), _time(item.until), number),
        ),
    )
    rows = query.run("SELECT text, id FROM phrases WHERE memory = ?", (number,))
    old = {query.sealing.open("phrases.text", number, text): phrase_id for text, phrase_id in rows}
    positions = positions_of(item.draft)
    gone = [phrase_id for text, phrase_id in old.items() if text not in positions]
    query.run_many("DELETE FROM phrases WHERE id = ?", ((phrase_id,) for phrase_id in gone))
    stay = {text: phrase_id for text, phrase_id in old.items() if text in positions}
    query.run_many("UPDATE phrases SET position = ? WHERE id = ?", ((positions[text], i) for text, i in stay.items()))
    _put_vectors(query, said.user, embedded, stay)
    added = {text: place for text, place in positions.items() if text not in old}
    _insert_phrases(query, said, number, added, embedded)
    if old.keys() != positions.keys() or new.account != account:
        query.run("DELETE FROM terms WHERE memory = ?", (number,))
        _insert_terms(query, said, number, phrases_of(item.draft))
    query.run(f"DELETE FROM rooms WHERE memory IN (SELECT id {_WHOLE})", (number, number))
    insert_rooms(query, whose.owner, number, [*item.rooms, EVERYWHERE if item.shared else ""])
    return len(gone) + len(stay.keys() & embedded.blobs.keys())


def _give(query: Query, number: int, account: int | None, to: _Speaker) -> None:
    """Seal for another account what stays of a memory whose words are that one's now: phrases, vectors, passages."""
    seal, reopen = query.sealing.seal, query.sealing.open
    for part, key, each in _passages(query, number):
        query.run(
            "UPDATE memories SET account = ?, content = ?, digest = ? WHERE id = ?",
            (account, *_sealed_passage(query.sealing, to, key, each), part),
        )
        query.run("DELETE FROM terms WHERE memory = ?", (part,))
        _insert_terms(query, to, part, [each.text])
    rows = query.run(f"SELECT id, memory, text FROM phrases WHERE memory IN (SELECT id {_WHOLE})", (number, number))
    texts = ((i, memory, reopen("phrases.text", memory, text)) for i, memory, text in rows)
    query.run_many(
        "UPDATE phrases SET text = ? WHERE id = ?",
        [(seal(to.user, "phrases.text", memory, text), i) for i, memory, text in texts],
    )
    phrases = f"SELECT id FROM phrases WHERE memory IN (SELECT id {_WHOLE})"
    vectors = query.run(f"SELECT phrase, space, vector FROM vectors WHERE phrase IN ({phrases})", (number, number))
    opened = ((i, space, open_vector(query.sealing, i, space, vector)) for i, space, vector in vectors)
    _put(query, [(to.user, *each) for each in opened])


def insert_past(query: Query, whose: Accounts, before: Stored, past: MemoryItem) -> Stored:
    """Write a copy of a memory, its vectors included, as an earlier version of it."""
    copy = insert(query, whose, Stored(0, before.account, past))
    rows = query.run(
        """
        SELECT new.id, old.id, v.space, v.vector
        FROM phrases AS new JOIN phrases AS old ON coalesce(old.position, -1) = coalesce(new.position, -1)
        JOIN vectors AS v ON v.phrase = old.id WHERE new.memory = ? AND old.memory = ?
        """,
        (copy.number, before.number),
    )
    user, sealing = whose.user(query, before.account), query.sealing
    _put(query, [(user, new, space, open_vector(sealing, old, space, vector)) for new, old, space, vector in rows])
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


def put_vectors(query: Query, whose: Accounts, vectors: Mapping[int, bytes], space: str) -> None:
    """Write vectors by phrase id; ids that the owner does not have are left out."""
    held = query.run(
        """
        SELECT p.id, coalesce(m.account, m.owner) FROM phrases AS p JOIN memories AS m ON m.id = p.memory
        WHERE p.owner = ? AND p.id IN (SELECT value FROM numbers(?))
        """,
        (whose.owner, to_json(list(vectors))),
    )
    if held:
        number = _space(query, space)
        _put(query, [(whose.user(query, account), i, number, vectors[i]) for i, account in held])


def open_vector(sealing: Sealing, phrase: int, space: int, vector: bytes) -> bytes:
    """Return the bytes of a vector (`to_blob`) of those that are stored."""
    return sealing.open_bytes(VECTORS, vector_row(phrase, space), vector)


def remove(query: Query, numbers: Sequence[int]) -> None:
    """Remove memories, with every row and every word of theirs."""
    query.run("DELETE FROM memories WHERE id IN (SELECT value FROM numbers(?))", (to_json(list(numbers)),))


@dataclass(frozen=True, slots=True)
class _Speaker:
    """An account that said the words of a memory, for which its rows are sealed."""

    number: int
    user: UserKey
    owner: int
    """The number of the owner that it is, or is linked to."""


def _speaker(query: Query, whose: Accounts, account: int | None) -> _Speaker:
    return _Speaker(account or whose.owner, whose.user(query, account), whose.owner)


def _sealed(sealing: Sealing, said: _Speaker, item: MemoryItem) -> tuple[str, bytes, str, str]:
    """Return content, digest, meant and enclosed as they are stored."""
    row, told = memory_row(said.number, item.id), digest(item.kind, item.content, item.attachments)
    return (
        sealing.seal(said.user, "memories.content", row, item.content),
        sealing.digest(said.user, told),
        sealing.seal(said.user, "memories.meant", row, item.meant),
        sealing.seal(said.user, "memories.enclosed", row, enclosed(item.attachments)),
    )


def _sealed_passage(sealing: Sealing, said: _Speaker, key: str, passage: Passage) -> tuple[str, bytes]:
    """Return content and digest as they are stored."""
    content = sealing.seal(said.user, "memories.content", memory_row(said.number, key), passage.text)
    return content, sealing.digest(said.user, digest(MemoryKind.TEXT, passage.text))


def _insert_phrases(
    query: Query, said: _Speaker, number: int, positions: Mapping[str, int | None], embedded: Embedded
) -> None:
    ids = {}
    for text, place in positions.items():
        [(ids[text],)] = query.run(
            "INSERT INTO phrases (memory, owner, text, position) VALUES (?, ?, ?, ?) RETURNING id",
            (number, said.owner, query.sealing.seal(said.user, "phrases.text", number, text), place),
        )
    _put_vectors(query, said.user, embedded, ids)


def _insert_terms(query: Query, said: _Speaker, number: int, texts: Iterable[str]) -> None:
    terms = query.sealing.hashed(said.user, index_terms(texts))
    query.run_many(
        "INSERT INTO terms (account, term, memory) VALUES (?, ?, ?)", ((said.number, term, number) for term in terms)
    )


def _put_vectors(query: Query, user: UserKey, embedded: Embedded, phrase_ids: Mapping[str, int]) -> None:
    """Write the vectors of those of the phrases that have one."""
    known = [(phrase_id, embedded.blobs[text]) for text, phrase_id in phrase_ids.items() if text in embedded.blobs]
    if known:
        space = _space(query, embedded.space)
        _put(query, [(user, phrase_id, space, vector) for phrase_id, vector in known])


def _space(query: Query, name: str) -> int:
    """Return the number of a space, made now if there is none."""
    query.run("INSERT INTO spaces (name) VALUES (?) ON CONFLICT DO NOTHING", (name,))
    [(number,)] = query.run("SELECT id FROM spaces WHERE name = ?", (name,))
    return int(number)


def _put(query: Query, vectors: Iterable[tuple[UserKey, int, int, bytes]]) -> None:
    """Write vectors, each sealed for its account, by phrase and space."""
    seal = query.sealing.seal_bytes
    query.run_many(
        """
        INSERT INTO vectors (phrase, space, vector) VALUES (?, ?, ?)
        ON CONFLICT (phrase, space) DO UPDATE SET vector = excluded.vector
        """,
        [
            (phrase, space, seal(user, VECTORS, vector_row(phrase, space), vector))
            for user, phrase, space, vector in vectors
        ],
    )
