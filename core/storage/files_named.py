"""What names files: memories and their versions, changes that can be undone, and messages that are owed an answer."""

# ruff: noqa: S608 - SQL is put together from constants of ours only
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from core.sealing.port import PLAIN, Sealing
from core.storage.database import Row
from core.storage.inbox import opened_message, opened_question
from core.storage.memory_rows import change_row, memory_row
from core.types import UserKey

RowsOf: TypeAlias = Callable[[str, Sequence[object]], Awaitable[list[Row]]]
"""Returns the rows of a query, as `Database.rows`."""

_PAGE: Final = 2_000
_DIGEST: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_OWNER: Final = "JOIN owners AS a ON a.id = {table}.owner JOIN owners AS o ON o.id = coalesce(a.linked, a.id)"
_HELD: Final = (
    """
    SELECT {table}.id, o.platform, o."user", {table}.enclosed, coalesce({table}.account, {table}.owner), {row}
    FROM {table} """
    + _OWNER
    + """
    WHERE {table}.enclosed != '' AND {table}.id > ? ORDER BY {table}.id LIMIT ?
"""
)
# What a person is asked to agree to moves, when they do, into the row of the message that says so: one statement.
_WAITING: Final = """
    SELECT coalesce(o.platform, w.platform), coalesce(o."user", w."user"),
        w.platform, w."user", w.chat, w.topic, w.message_id, w.said, w.done
    FROM (
        SELECT platform, "user", chat, topic, message_id, payload AS said, done FROM inbox WHERE payload IS NOT NULL
        UNION ALL SELECT platform, "user", chat, topic, NULL, data, NULL FROM confirmations
    ) AS w
    LEFT JOIN owners AS a ON a.platform = w.platform AND a."user" = w."user"
    LEFT JOIN owners AS o ON o.id = coalesce(a.linked, a.id)
"""


async def files_named(rows_of: RowsOf, sealing: Sealing = PLAIN) -> Mapping[UserKey, frozenset[str]]:
    """Map owners to the digests of the files that anything of theirs names."""
    found: dict[UserKey, set[str]] = defaultdict(set)
    # First: what waits becomes a memory, and never the other way round.
    for platform, user, *row in await rows_of(_WAITING, ()):
        found[UserKey(platform, user)].update(_DIGEST.findall(_waiting(sealing, row)))
    for table, row_of, names in (("memories", memory_row, ("key",)), ("changes", change_row, ("key", "act"))):
        last, held = 0, _HELD.format(table=table, row=", ".join(f"{table}.{name}" for name in names))
        while rows := await rows_of(held, (last, _PAGE)):
            for _, platform, user, enclosed, *row in rows:
                if platform:  # else they were forgotten
                    told = sealing.open(f"{table}.enclosed", row_of(*row), enclosed)
                    found[UserKey(platform, user)].update(_DIGEST.findall(told))
            last = rows[-1][0]
    return {owner: frozenset(digests) for owner, digests in found.items()}


def _waiting(sealing: Sealing, row: Sequence[Any]) -> str:
    """Return what waits: a message, or a question that wants a yes."""
    platform, user, chat, topic, message_id, said, done = row
    if message_id is None:
        return opened_question(sealing, (platform, user, chat, topic), said)
    return opened_message(sealing, (platform, chat, topic, message_id), said, done)
