"""Which messages tell of which memories, in the database, and how their words are removed."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from core.storage.database import Database, Transaction
from core.storage.record import OF_USER, to_json, user_key
from core.threads import Told, ToldMemories
from core.types import MessageRole, UserKey

_THREADS = f"SELECT id FROM threads WHERE {OF_USER}"
_OF_THOSE = f"""
    thread IN ({_THREADS}) AND (memory, version) IN (SELECT value ->> 0, value ->> 1 FROM tuples(?))
"""

_MARK_GONE = f"""
    INSERT INTO told_memories (message, thread, sequence, memory, version, gone)
    SELECT DISTINCT message, thread, sequence, memory, '', 1 FROM told_memories WHERE {_OF_THOSE}
    ON CONFLICT (message, memory, version) DO UPDATE SET gone = 1
"""


class SqlToldMemories(ToldMemories):
    """The table `told_memories` of a `Database`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def tell(self, told: Mapping[int, Collection[Told]]) -> None:
        """Store what each of those messages tells of; what is stored already is fine."""
        rows = [(each.memory_id, each.version, i) for i, those in told.items() for each in those]
        if not rows:
            return
        async with self._database.transaction() as transaction:
            await transaction.run_many(
                """
                INSERT INTO told_memories (message, thread, sequence, memory, version)
                SELECT id, thread, sequence, ?, ? FROM messages WHERE id = ? ON CONFLICT DO NOTHING
                """,
                rows,
            )

    async def told(self, message_ids: Sequence[int]) -> Mapping[int, Sequence[Told]]:
        """Map those of the messages that tell of memories to what they tell of."""
        rows = await self._database.rows(
            """
            SELECT message, memory, version, gone FROM told_memories
            WHERE message IN (SELECT value FROM numbers(?)) ORDER BY message, memory, version
            """,
            (to_json([int(i) for i in message_ids]),),
        )
        found: dict[int, list[Told]] = defaultdict(list)
        for message, memory, version, gone in rows:
            found[message].append(Told(memory, version, bool(gone)))
        return found

    async def first_told(self, thread_id: str) -> Mapping[Told, int]:
        """Map what the thread tells of, and was not redacted, to the sequence of the first message that does."""
        rows = await self._database.rows(
            """
            SELECT memory, version, min(sequence) FROM told_memories
            WHERE thread = ? AND gone = 0 GROUP BY memory, version
            """,
            (thread_id,),
        )
        return {Told(memory, version): sequence for memory, version, sequence in rows}

    async def told_by(self, user: UserKey) -> frozenset[Told]:
        """Return all that the person's threads tell of."""
        rows = await self._database.rows(
            f"SELECT DISTINCT memory, version, gone FROM told_memories WHERE thread IN ({_THREADS})",
            user_key(user),
        )
        return frozenset(Told(memory, version, bool(gone)) for memory, version, gone in rows)

    async def tellers(self) -> Sequence[UserKey]:
        """Return everybody whose threads tell of what was not redacted."""
        rows = await self._database.rows(
            """
            SELECT DISTINCT platform, "user" FROM threads
            WHERE platform != '' AND EXISTS (SELECT 1 FROM told_memories WHERE thread = threads.id AND gone = 0)
            ORDER BY platform, "user"
            """
        )
        return [UserKey(platform, user) for platform, user in rows]

    async def redact(self, user: UserKey, told: Collection[Told], *, own: bool = False) -> int:
        """Remove the words of the bot's messages that tell of those, and summaries; mark what those messages told of.

        With `own`, remove those of the person's own messages, too, mark nothing, and return how many of theirs it was.
        """
        async with self._database.transaction() as transaction:
            those = await _those(transaction, user, told)
            await _drop_summaries(transaction, those)
            ids = [i for i, _, _ in those]
            emptied = await _empty(transaction, ids, MessageRole.ASSISTANT)
            if own:
                emptied = await _empty(transaction, ids, MessageRole.USER)
            else:
                # A digest of few words would still tell them to whoever tries: it is removed, too.
                await transaction.run(_MARK_GONE, _those_of(user, told))
                await transaction.run(
                    f"DELETE FROM told_memories WHERE {_OF_THOSE} AND version != ''", _those_of(user, told)
                )
        if those:
            await self._database.scrub()
        return emptied


async def _those(transaction: Transaction, user: UserKey, told: Collection[Told]) -> list[tuple[int, str, int]]:
    """Return id, thread and sequence of the person's messages that tell of those."""
    rows = await transaction.run(
        f"SELECT DISTINCT message, thread, sequence FROM told_memories WHERE {_OF_THOSE}", _those_of(user, told)
    )
    return [(message, thread, sequence) for message, thread, sequence in rows]


def _those_of(user: UserKey, told: Collection[Told]) -> tuple[str, str, str]:
    """Return the parameters of _OF_THOSE."""
    return (*user_key(user), to_json([[each.memory_id, each.version] for each in told]))


async def _drop_summaries(transaction: Transaction, those: Sequence[tuple[int, str, int]]) -> None:
    """Remove every summary that rests on one of those messages: the next answer has it made again."""
    await transaction.run_many(
        "DELETE FROM summaries WHERE thread = ? AND through >= ?", [(thread, sequence) for _, thread, sequence in those]
    )


async def _empty(transaction: Transaction, ids: Sequence[int], role: MessageRole) -> int:
    """Remove the words of those of the messages that have that role, and return how many had any.

    What they cost stays as it was counted: sums over a thread rest on it.
    """
    rows = await transaction.run(
        """
        UPDATE messages SET content = '""', enclosed = '', question = ''
        WHERE id IN (SELECT value FROM numbers(?)) AND role = ? AND content != '""' RETURNING id
        """,
        (to_json(list(ids)), role),
    )
    return len(rows)
