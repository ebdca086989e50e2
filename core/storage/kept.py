"""Small texts by name, in the table `kept`: what all workers of a database agree on.

One of them is the mark by which a database knows its key file, written before anything is sealed: whoever opens a
database asks first whether it may be used with the sealing at hand, and changes nothing if not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

from core.errors import StorageError, WrongKey
from core.storage.database import Database, Query, Row
from core.storage.sealed_columns import SEALED_COLUMNS
from core.stores import KeptStore

_FIND = "SELECT value FROM kept WHERE name = ?"
_PUT = "INSERT INTO kept (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


class SqlKept(KeptStore):
    """One row for each name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, name: str) -> str | None:
        """Return what is kept under that name, or None."""
        return next((value for (value,) in await self._database.rows(_FIND, (name,))), None)

    async def put(self, name: str, value: str) -> None:
        """Keep the text, in place of what was kept under that name."""
        await self.change(name, lambda _: value)

    async def delete(self, name: str) -> None:
        """Keep nothing under that name."""
        await self.change(name, lambda _: None)

    async def change(self, name: str, change: Callable[[str | None], str | None]) -> str | None:
        """Keep what `change` makes of what is kept (None: nothing), and return it: no other worker is in between."""

        def job(query: Query) -> str | None:
            query.lock("kept", name)
            before = next((value for (value,) in query.run(_FIND, (name,))), None)
            after = change(before)
            if after is None and before is not None:
                query.run("DELETE FROM kept WHERE name = ?", (name,))
            elif after is not None and after != before:
                query.run(_PUT, (name, after))
            return after

        return await self._database.write(job)


# --- the mark of a sealed database ------------------------------------------------------------------------------------

State: TypeAlias = Literal["sealed", "sealing", "unsealing"]

KEPT_AS: Final = "sealed"
"""The name in the table `kept`."""

FIND_MARK: Final = f"SELECT value FROM kept WHERE name = '{KEPT_AS}'"  # noqa: S608
PUT_MARK: Final = (
    f"INSERT INTO kept (name, value) VALUES ('{KEPT_AS}', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"  # noqa: S608
)
DROP_MARK: Final = f"DELETE FROM kept WHERE name = '{KEPT_AS}'"  # noqa: S608

_GO_ON: Final = {"sealing": "elefante key seal", "unsealing": "elefante key unseal"}


@dataclass(frozen=True, slots=True)
class SealMark:
    """What a database says of its sealing: the id of its key file, and whether all of it is sealed.

    While it is converted in place, `table` (of `SEALED_COLUMNS`, by number) and `after` (the last key) say how far.
    """

    file: str
    state: State = "sealed"
    table: int = 0
    after: Sequence[Any] = ()

    def to_json(self) -> str:
        """Return what is kept."""
        return json.dumps(asdict(self))


def mark_in(rows: Sequence[Row]) -> SealMark | None:
    """Return the mark that FIND_MARK found; None of a database that is not sealed."""
    return SealMark(**json.loads(rows[0][0])) if rows else None


def needs_mark(run: Callable[[str], Sequence[Row]], tables: frozenset[str], key_file: str) -> bool:
    """Return whether a database is to be marked as sealed now, as nothing is in it yet.

    `run` returns the rows of a query; `tables` are those that there are; `key_file` is our file's id, "" without a key.

    Raises:
        WrongKey: the database is sealed, and not with these keys.
        StorageError: it is not sealed and has to be first, or is being converted.
    """
    mark = mark_in(run(FIND_MARK)) if "kept" in tables else None
    if mark is None:
        sealed = tables & {each.table for each in SEALED_COLUMNS}
        if key_file and any(run(f'SELECT 1 FROM "{table}" LIMIT 1') for table in sealed):  # noqa: S608
            raise StorageError(
                "a key is given, and the database is not sealed yet: stop the bot, then `elefante key seal`"
            )
        return bool(key_file)
    if not key_file:
        raise WrongKey(
            "the database is sealed, and no key is given: let MEMORY_KEY_FILE name the master key (docs/encryption.md)"
        )
    if mark.file != key_file:
        raise WrongKey(
            f"the database is sealed with the keys of another key file ({mark.file}) than PEOPLE_KEYS_FILE names "
            f"({key_file}): put the right one in its place"
        )
    if mark.state != "sealed":
        raise StorageError(f"the conversion of the database was broken off: `{_GO_ON[mark.state]}` goes on with it")
    return False
