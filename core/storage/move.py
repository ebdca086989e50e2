"""Move all that is stored to another engine: copy table by table, compare every row, and leave the source as it was.

The target keeps how far each table was copied in its table `moving`, committed together with the rows, so that a move
that was broken off anywhere goes on there. Once all is equal it is noted in the same table; without that no bot starts
on the target.
"""

# ruff: noqa: S608 - SQL is put together from constants and the names of our tables and columns
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, Protocol, TypeAlias

import numpy as np

from core.errors import StorageError
from core.storage.database import Row

MOVING: Final = "moving"
"""The table of the target that keeps how far a move is."""

CREATE_MOVING: Final = (
    f"CREATE TABLE IF NOT EXISTS {MOVING} (step TEXT PRIMARY KEY, after TEXT NOT NULL, rows BIGINT NOT NULL)"
)
NOTE: Final = (
    f"INSERT INTO {MOVING} (step, after, rows) VALUES (?, ?, ?) "
    "ON CONFLICT (step) DO UPDATE SET after = excluded.after, rows = excluded.rows"
)
SOURCE_STEP: Final = "source"
"""The row that has the state of the source as `after`, and VERIFIED as `rows` once the copy is whole."""

VERIFIED: Final = 1

_BATCH_ROWS: Final = 5_000
_BATCH_BYTES: Final = 4 << 20
_ROW_BYTES: Final = 100  # what a row takes beside its texts
_PARTS: Final = 1 << 16
_ONE_ROW: Final = 1 << 192  # the sum of fewer than 2**64 digests of 128 bits stands below it
_NAMED: Final = 5

Columns: TypeAlias = Mapping[str, Sequence[str]]
Person: TypeAlias = tuple[str, str]
"""Platform and user; empty for nobody."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is copied.

    `key` names its rows. `owned` is the SQL of whose a row `t` is, platform and user, and `joined` what that needs.
    What is in `later` refers to rows of the same table, and is filled in when all are there. `made` are columns that
    only one engine has, each with the SQL of its value; `halved` are vectors, of which an engine may keep half floats.
    """

    name: str
    key: tuple[str, ...]
    owned: str = 't.platform, t."user"'
    joined: str = ""
    later: tuple[str, ...] = ()
    made: Mapping[str, str] = field(default_factory=dict)
    halved: tuple[str, ...] = ()


def _table(name: str, *key: str) -> Table:
    return Table(name, key)


def _nobodys(name: str, *key: str) -> Table:
    return Table(name, key, "'', ''")


def _of(joined: str, name: str, *key: str) -> Table:
    return Table(name, key, 'o.platform, o."user"', joined)


def _of_thread(name: str, *key: str) -> Table:
    return _of("LEFT JOIN threads AS o ON o.id = t.thread", name, *key)


def _of_owner(name: str, *key: str, column: str = "owner") -> Table:
    return _of(f"LEFT JOIN owners AS o ON o.id = t.{column}", name, *key)


_PHRASE: Final = "LEFT JOIN phrases AS p ON p.id = t.phrase LEFT JOIN owners AS o ON o.id = p.owner"
_MEMORY: Final = "LEFT JOIN memories AS m ON m.id = t.memory LEFT JOIN owners AS o ON o.id = m.owner"

TABLES: Final = (
    Table("owners", ("id",), later=("linked",)),
    _table("people", "platform", "user"),
    _table("accounts", "platform", "user"),
    _table("strangers", "platform", "user"),
    _table("preferences", "platform", "user"),
    _table("threads", "id"),
    _of_thread("messages", "id"),
    _of_thread("summaries", "thread", "through"),
    _of_thread("transitions", "id"),
    _of_thread("told_memories", "message", "memory", "version"),
    _of_thread("unindexed", "message"),
    _table("places", "id"),
    _of("LEFT JOIN places AS o ON o.id = t.place", "message_terms", "place", "term", "message"),
    _table("inbox", "id"),
    _of_owner("memories", "id"),
    _of_owner("phrases", "id"),
    _nobodys("spaces", "id"),
    Table(
        "vectors",
        ("phrase", "space"),
        'o.platform, o."user"',
        _PHRASE,
        made={"owner": "(SELECT owner FROM phrases WHERE id = t.phrase)"},
        halved=("vector",),
    ),
    _of_owner("terms", "account", "term", "memory", column="account"),
    _of(_MEMORY, "sources", "memory", "message"),
    _of_owner("rooms", "owner", "room", "memory"),
    _of_owner("changes", "id"),
    _table("reminders", "id"),
    _table("link_codes", "platform", "user"),
    _table("awaited", "platform", "chat", "topic", "user"),
    _table("confirmations", "platform", "chat", "topic", "user"),
    _table("calls", "id"),
    _table("asked", "id"),
    _table("call_payers", "slot", "platform", "user", "room"),
    _nobodys("call_quarters", "slot", "model"),
    _nobodys("told", "scope", "period", "share"),
    _table("broadcasts", "id"),
    _table("recipients", "broadcast", "platform", "user"),
    _nobodys("decided", "matter", "name"),
    _table("decisions", "id"),
    _nobodys("kept", "name"),
)
"""What is copied, each after the tables that it refers to."""

LEFT_BEHIND: Final = frozenset({"schema_history", "workers", "claims", MOVING})
"""Tables of one engine, or of the workers that run, of which nothing goes along."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a step is: the key of the last row that was copied, as JSON, and how many rows were."""

    after: str
    rows: int


class End(Protocol):
    """One of the two databases. Its SQL is what both engines take; nobody else uses it meanwhile."""

    name: str
    """What people call it, without a password."""

    def columns(self) -> Columns:
        """Map each table to its columns."""
        ...

    def stream(self, sql: str, values: Sequence[object] = ()) -> Iterator[Row]:
        """Yield the rows of a query, of which only some are in RAM. A vector is float32, little-endian."""
        ...

    def last_ids(self) -> Mapping[str, int]:
        """Map tables that number their rows to the last number that was given."""
        ...

    def state(self) -> str:
        """Return a text that is another one when something was written, such as by a bot that was started."""
        ...


class Source(End, Protocol):
    """The database that is copied. It is only read."""

    replaced: int
    """How many texts were given with a replacement character for what is no text, such as NUL."""


class Target(End, Protocol):
    """The database that is written to, empty at first, with our schema."""

    def begin(self, state: str) -> Mapping[str, Position]:
        """Return how far a move from a source in that state is; without one, or from another state, begin anew.

        Raises:
            StorageError: it holds data that is not from a move.
        """
        ...

    def put(self, table: str, columns: Sequence[str], rows: Sequence[Row], step: str, position: Position) -> None:
        """Add rows, and note the position of the step, in one transaction."""
        ...

    def change(self, sql: str, rows: Sequence[Row], step: str, position: Position) -> None:
        """Run a statement for each row, and note the position of the step, in one transaction."""
        ...

    def set_last_ids(self, numbers: Mapping[str, int]) -> None:
        """Let the next numbers be above these."""
        ...

    def is_verified(self) -> bool:
        """Return whether the move was compared and is whole."""
        ...

    def note(self, state: str, *, verified: bool) -> None:
        """Note from which state of the source this is, and whether it was compared and is whole."""
        ...


class Progress(Protocol):
    """Tells how far it is."""

    def begin(self, what: str, rows: int, done: int) -> None:
        """Begin something that takes so many rows, of which some were done before."""
        ...

    def advance(self, rows: int, table: str) -> None:
        """So many more are done, in that table."""
        ...


@dataclass(frozen=True, slots=True)
class Moved:
    """What was moved: people, rows by table, how many had been copied by an earlier run, texts that were replaced."""

    people: int
    rows: Mapping[str, int]
    before: int
    replaced: int


class Unequal(StorageError):
    """The copy is not what the source is. The message names tables and people, and nothing of what they wrote."""


def move(source: Source, target: Target, progress: Progress) -> Moved:
    """Copy what is not copied yet, compare all of it, and note in the target that it is whole.

    Raises:
        Unequal: the copy is not equal; the next call begins anew.
        StorageError: something was written to the source meanwhile, or one of them failed; the next call goes on.
    """
    state = source.state()
    positions = target.begin(state)
    here, there = source.columns(), target.columns()
    plans = [_plan(table, here, there) for table in TABLES]
    counts = {table.name: _number(source, f'SELECT count(*) FROM "{table.name}"') for table in TABLES}
    before = sum(positions[name].rows for name in counts if name in positions)
    if not target.is_verified():
        progress.begin("copying", sum(counts.values()), before)
        for plan in plans:
            _copy(source, target, plan, positions, progress)
        target.set_last_ids(source.last_ids())
        source.replaced = 0
        progress.begin("comparing", 2 * sum(counts.values()), 0)
        try:
            _compare(source, target, plans, progress)
        except Unequal:
            target.note("", verified=False)
            raise
        if source.state() != state:
            raise StorageError(f"{source.name} was written to meanwhile: stop the bot, then run this again")
        target.note(state, verified=True)
    return Moved(_number(source, _PEOPLE), counts, before, source.replaced)


_PEOPLE: Final = """
SELECT count(*) FROM (
    SELECT platform, "user" FROM owners UNION SELECT platform, "user" FROM accounts
    UNION SELECT platform, "user" FROM people UNION SELECT platform, "user" FROM threads
) AS everybody
"""


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a table is copied: the columns of the target, and the SQL that gives each in the source."""

    table: Table
    columns: Sequence[str]
    given: Sequence[str]


def _plan(table: Table, here: Columns, there: Columns) -> _Plan:
    """Return how the table is copied.

    Raises:
        StorageError: the two have other columns.
    """
    one, other = (set(columns.get(table.name, ())) - table.made.keys() for columns in (here, there))
    if one != other or not one:
        raise StorageError(f"the table {table.name} has other columns there: are both of this version of the program?")
    given = [
        "NULL" if name in table.later else f't."{name}"' if name in here[table.name] else table.made[name]
        for name in there[table.name]
    ]
    return _Plan(table, there[table.name], given)


def _number(end: End, sql: str) -> int:
    [(number,)] = end.stream(sql)
    return int(number)


def _names(columns: Iterable[str], of: str = "") -> str:
    return ", ".join(f'{of}"{column}"' for column in columns)


def _marks(columns: Sequence[str]) -> str:
    return ", ".join("?" * len(columns))


def _beyond(key: Sequence[str], after: str) -> tuple[str, list[object]]:
    """Return the condition on rows that come after a key, as JSON, and its values; "" is before all."""
    if not after:
        return "1 = 1", []
    return f"({_names(key, 't.')}) > ({_marks(key)})", json.loads(after)


def _copy(source: Source, target: Target, plan: _Plan, positions: Mapping[str, Position], progress: Progress) -> None:
    table, key = plan.table, _names(plan.table.key, "t.")
    at = positions.get(table.name, Position("", 0))
    beyond, values = _beyond(table.key, at.after)
    sql = f'SELECT {key}, {", ".join(plan.given)} FROM "{table.name}" AS t WHERE {beyond} ORDER BY {key}'
    for batch in _batches(source.stream(sql, values)):
        at = Position(json.dumps(batch[-1][: len(table.key)]), at.rows + len(batch))
        target.put(table.name, plan.columns, [row[len(table.key) :] for row in batch], table.name, at)
        progress.advance(len(batch), table.name)
    for column in table.later:
        step = f"{table.name}.{column}"
        at = positions.get(step, Position("", 0))
        beyond, values = _beyond(table.key, at.after)
        where = f't."{column}" IS NOT NULL AND {beyond}'
        sql = f'SELECT {key}, t."{column}" FROM "{table.name}" AS t WHERE {where} ORDER BY {key}'
        change = f'UPDATE "{table.name}" SET "{column}" = ? WHERE ({_names(table.key)}) = ({_marks(table.key)})'
        for batch in _batches(source.stream(sql, values)):
            at = Position(json.dumps(batch[-1][:-1]), at.rows + len(batch))
            target.change(change, [(row[-1], *row[:-1]) for row in batch], step, at)


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Yield the rows some at a time, few where they are large."""
    batch: list[Row] = []
    size_bytes = 0
    with closing(rows) as stream:  # type: ignore[type-var]  # it is a generator
        for row in stream:
            batch.append(row)
            size_bytes += _ROW_BYTES + sum(len(value) for value in row if isinstance(value, (str, bytes)))
            if len(batch) == _BATCH_ROWS or size_bytes > _BATCH_BYTES:
                yield batch
                batch, size_bytes = [], 0
    if batch:
        yield batch


# --- comparing -------------------------------------------------------------------------------------------------------


def _compare(source: End, target: End, plans: Sequence[_Plan], progress: Progress) -> None:
    """Return if the two have the same rows of the same people, and numbers new rows alike.

    People are told apart by a part of a hash at first, so that what is in RAM does not grow with them.

    Raises:
        Unequal: they have not.
    """
    found: list[str] = []
    for plan in plans:
        table, same = plan.table, [column for column in plan.columns if column not in plan.table.made]
        here, there = (_by_part(end, table, same, progress) for end in (source, target))
        if parts := {part for part in here.keys() | there.keys() if here.get(part) != there.get(part)}:
            found += _differences(source, target, table, same, parts)
    given = target.last_ids()
    found += [f"the next number of {name}" for name, last in source.last_ids().items() if given.get(name, 0) < last]
    if found:
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise Unequal(
            f"the copy is not equal, and nothing was switched: {'; '.join(found[:_NAMED])}{more}. "
            "The next run copies all of it anew"
        )


def _differences(source: End, target: End, table: Table, columns: Sequence[str], parts: set[int]) -> Iterator[str]:
    """Yield a sentence for each person whose rows differ, of those in these parts."""
    here, there = (_by_person(end, table, columns, parts) for end in (source, target))
    for person in sorted(here.keys() | there.keys()):
        one, other = here.get(person, 0), there.get(person, 0)
        if one == other:
            continue
        rows, copied = one // _ONE_ROW, other // _ONE_ROW
        told = f"{copied} rows instead of {rows}" if rows != copied else f"{rows} rows, not all of them the same"
        yield f"{table.name} of {':'.join(person) if any(person) else 'nobody'}: {told}"


def _by_part(end: End, table: Table, columns: Sequence[str], progress: Progress) -> Mapping[int, int]:
    """Map parts of a hash of people to the sum of the digests of their rows, and their number above it."""
    sums: dict[int, int] = {}
    done = 0
    for person, digest in _digests(end, table, columns):
        part = hash(person) % _PARTS
        sums[part] = sums.get(part, 0) + digest + _ONE_ROW
        done += 1
        if done % _BATCH_ROWS == 0:
            progress.advance(_BATCH_ROWS, table.name)
    progress.advance(done % _BATCH_ROWS, table.name)
    return sums


def _by_person(end: End, table: Table, columns: Sequence[str], parts: set[int]) -> Mapping[Person, int]:
    """Map the people in those parts to the sum of the digests of their rows, and their number above it."""
    sums: dict[Person, int] = {}
    for person, digest in _digests(end, table, columns):
        if hash(person) % _PARTS in parts:
            sums[person] = sums.get(person, 0) + digest + _ONE_ROW
    return sums


def _digests(end: End, table: Table, columns: Sequence[str]) -> Iterator[tuple[Person, int]]:
    """Yield whose each row is, with the digest of the person and the row."""
    platform, user = table.owned.split(", ")
    sql = f"""
        SELECT coalesce({platform}, ''), coalesce({user}, ''), {_names(columns, "t.")}
        FROM "{table.name}" AS t {table.joined}
    """
    halved = [2 + columns.index(column) for column in table.halved]
    for row in end.stream(sql):
        for place in halved:
            half = np.frombuffer(row[place], "<f4").astype("<f2").tobytes()
            row = (*row[:place], half, *row[place + 1 :])  # noqa: PLW2901 - the row as both engines have it
        yield row[:2], int.from_bytes(blake2b(repr(row).encode(), digest_size=16).digest())
