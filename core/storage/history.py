"""Every message ever said, in the database, by thread."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from core.errors import StorageError
from core.storage import history_rows as rows_of
from core.storage import history_terms
from core.storage.database import Database, Query, Row, Statement, in_batches, statement
from core.storage.history_rows import MESSAGE, OF_MESSAGE, SUMMARY, THREAD, SqlToldMemories
from core.storage.lexicon import keyword_terms, query_terms
from core.storage.record import NO_LIMIT, OF_USER, listed, microseconds, random_id, to_json, user_key
from core.stores import Exchange, HistoryStore, Quoted, SaidMessage
from core.threads import Summary, ThreadRecord, Transition
from core.types import (
    ChatKey,
    ConversationKey,
    JSONValue,
    MemoryDraft,
    Message,
    Span,
    Thread,
    ThreadStatus,
    UserKey,
    is_findable,
)

_PLACE = f"{OF_USER} AND chat = ? AND topic = ?"
_IS_ACTIVE = f"{_PLACE} AND status = 'active'"
_NEWEST = "SELECT {} FROM messages WHERE thread = threads.id ORDER BY sequence DESC LIMIT 1"
_ACTIVE = f"""
    SELECT {THREAD}, coalesce(({_NEWEST.format("sequence")}), 0), coalesce(({_NEWEST.format("upto")}), 0)
    FROM threads WHERE {_IS_ACTIVE}
"""
_OPEN = f"""
    INSERT INTO threads (platform, "user", chat, topic, id, created_at, updated_at, metadata, status, policy)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'active', coalesce((
        SELECT policy FROM threads WHERE {_PLACE} ORDER BY updated_at DESC LIMIT 1
    ), '')) ON CONFLICT DO NOTHING
"""
_ASKED = f"thread IN (SELECT id FROM threads WHERE {_PLACE}) AND source_id IN (SELECT value FROM texts(?))"
_TURNS = f"""
    SELECT m.id FROM messages AS m JOIN (SELECT thread, turn FROM messages WHERE {_ASKED} AND turn != '') AS begun
    ON m.thread = begun.thread AND m.turn = begun.turn
"""
_RETRACT = f"""
    UPDATE messages SET modal = 'textForReplace', content = '""', memory_id = '', enclosed = '', question = '',
        offered = '', basis = ''
    WHERE id IN ({_TURNS}) RETURNING id, thread, sequence
"""
_MESSAGES_OF_ONE = 8
"""Of an exchange, a question and its answers, on average; of a person's thread so many for each are looked at."""

_LATELY = f"""
    m.sequence > others.newest - ?
    AND m.at > coalesce((SELECT max(updated_at) FROM threads WHERE {_PLACE} AND status = 'reset'), 0)
"""
_BESIDE = """
    WITH others AS (
        SELECT id, (SELECT max(sequence) FROM messages WHERE thread = threads.id) AS newest FROM threads
        WHERE platform = ? AND chat = ? AND topic = ? AND "user" != ? ORDER BY updated_at DESC LIMIT ?
    ), asked AS (
        SELECT m.thread, m.turn, m.sequence, m.id FROM others JOIN messages AS m ON m.thread = others.id AND {which}
        WHERE m.role = 'user' AND m.modal = 'text' AND m.pair = '' AND m.turn != '' AND m.speaker != ''
        AND m.off_record = 0 AND m.content != '""' ORDER BY m.id DESC LIMIT ?
    )
    SELECT {thread}, {message} FROM asked JOIN threads AS t ON t.id = asked.thread JOIN messages AS m
    ON m.thread = asked.thread AND m.turn = asked.turn AND m.sequence BETWEEN asked.sequence AND asked.sequence + ?
    WHERE m.modal = 'text' AND m.pair = '' AND m.error = '' AND m.content != '""' AND m.role IN ('user', 'assistant')
    ORDER BY asked.id, m.sequence
"""
_OF_THREAD = ", ".join(f"t.{column}" for column in THREAD.split(", "))
_THREAD_COLUMNS = len(THREAD.split(", "))
_USED = "UPDATE threads SET updated_at = ? WHERE id = ? AND updated_at < ?"
_FORGOTTEN = "platform = ''"
_UNNAME = f"""
    UPDATE threads SET platform = '', "user" = id, chat = '', topic = '', title = '', metadata = '{{}}',
        status = 'reset' WHERE {OF_USER}
"""

_MOST_OWNERS = 4096
"""Of so many threads is kept in RAM whose they are."""


class SqlHistory(SqlToldMemories, HistoryStore):
    """Threads and messages as rows of `Database`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._owners: dict[str, UserKey] = {}  # of threads: that never changes

    async def open_thread(
        self, conversation: ConversationKey, at: datetime, metadata: Mapping[str, JSONValue] | None = None
    ) -> Thread:
        """Return the conversation's one active thread, made now if there is none, with the policy of the last one."""
        key = rows_of.place(conversation)
        rows = await self._database.rows(_ACTIVE, key)
        if not rows:
            new = Thread(random_id(), conversation, at, at, metadata=metadata or {})

            def job(query: Query) -> list[Row]:
                query.lock("conversation", *key)
                _, _, told = rows_of.told_of_thread(query.sealing, new)
                query.run(_OPEN, (*key, new.id, microseconds(at), microseconds(at), told, *key))
                return query.run(_ACTIVE, key)

            rows = await self._database.write(job)
        *row, messages, tokens = rows[0]
        return replace(self._thread(tuple(row)), messages=messages, tokens=tokens)

    async def mark(self, thread_id: str, status: ThreadStatus, at: datetime) -> Thread | None:
        """Give a thread another status and return it; None for an unknown one.

        One that becomes active takes the place of the active one of its conversation, which is archived.
        """
        sql = f"UPDATE threads SET status = ?, updated_at = ? WHERE id = ? AND NOT {_FORGOTTEN} RETURNING {THREAD}"

        def job(query: Query) -> list[Row]:
            found = f'SELECT platform, "user", chat, topic FROM threads WHERE id = ? AND NOT {_FORGOTTEN}'
            for key in query.run(found, (thread_id,)) if status is ThreadStatus.ACTIVE else ():
                query.lock("conversation", *key)
                archive = f"UPDATE threads SET status = 'archived', updated_at = ? WHERE {_IS_ACTIVE} AND id != ?"
                query.run(archive, (microseconds(at), *key, thread_id))
            return query.run(sql, (status, microseconds(at), thread_id))

        rows = await self._database.write(job)
        return self._thread(rows[0]) if rows else None

    async def thread(self, thread_id: str) -> Thread | None:
        """Return the thread, whatever its status, or None."""
        rows = await self._database.rows(
            f"SELECT {THREAD} FROM threads WHERE id = ? AND NOT {_FORGOTTEN}", (thread_id,)
        )
        return self._thread(rows[0]) if rows else None

    async def threads(self, user: UserKey) -> Sequence[Thread]:
        """Return all of that person's threads, the one used last first."""
        rows = await self._database.rows(
            # Switching changes two threads at the same moment; the active one comes first.
            f"SELECT {THREAD} FROM threads WHERE {OF_USER} ORDER BY updated_at DESC, status = 'active' DESC, id",
            user_key(user),
        )
        return [self._thread(row) for row in rows]

    async def describe(self, thread: Thread) -> None:
        """Give the stored thread of that id the title, policy and metadata of this one."""
        sql = "UPDATE threads SET title = ?, policy = ?, metadata = ? WHERE id = ?"
        await self._database.write(
            lambda query: query.run(sql, (*rows_of.told_of_thread(query.sealing, thread), thread.id))
        )

    async def append(self, thread_id: str, message: Message, entered: Sequence[Transition] = ()) -> Message:
        """Store it with the states that its turn had entered; return it with its id and sequence.

        A known non-empty source_id returns the stored row, and stores the states only.
        """
        return await self._database.write(partial(self._append, thread_id, message, self._terms(message), entered))

    def _append(
        self, thread_id: str, message: Message, terms: Sequence[str], entered: Sequence[Transition], query: Query
    ) -> Message:
        query.lock("thread", thread_id)
        user = self._owner(query, thread_id)
        at_us = 0 if message.at is None else microseconds(message.at)
        beside: list[Statement] = [(_USED, (at_us, thread_id, at_us))]
        if entered:
            beside.append(rows_of.enter(thread_id, entered))
        if terms:
            beside.append(history_terms.place(thread_id, message.room))
        values = rows_of.message_values(query.sealing, user, thread_id, message)
        rows = query.together(*beside, (rows_of.APPEND, values))
        if not rows:
            known = f"SELECT {MESSAGE} FROM messages WHERE thread = ? AND source_id = ?"
            return rows_of.message(query.sealing, query.run(known, (thread_id, message.source_id))[0])
        stored = rows_of.message(query.sealing, rows[0])
        if terms:
            query.run(*history_terms.put(thread_id, stored, query.sealing.hashed(user, terms)))
        return stored

    async def update(self, thread_id: str, messages: Sequence[Message]) -> Sequence[Message]:
        """Make these all the messages of the thread, numbered anew, and return them as they are stored."""

        def job(query: Query) -> None:
            query.lock("thread", thread_id)
            user = self._owner(query, thread_id)
            known = {each for (each,) in query.run("DELETE FROM messages WHERE thread = ? RETURNING id", (thread_id,))}
            query.run("DELETE FROM summaries WHERE thread = ?", (thread_id,))
            for message in messages:
                values = rows_of.message_values(query.sealing, user, thread_id, message)
                if message.id in known:
                    query.run(rows_of.APPEND_AGAIN, (message.id, *values))
                else:
                    query.run(rows_of.APPEND, values)
            query.run(history_terms.LIST, (thread_id,))

        await self._database.write(job)
        await self._database.scrub()
        return await self.since(thread_id)

    async def delete(self, thread_id: str) -> None:
        """Remove every message and summary of the thread, and the states of its turns; the thread itself stays."""

        def job(query: Query) -> None:
            query.lock("thread", thread_id)
            for table in ("messages", "summaries", "transitions"):
                query.run(f"DELETE FROM {table} WHERE thread = ?", (thread_id,))

        await self._database.write(job)
        await self._database.scrub()

    async def tail(self, thread_id: str, limit: int, *, before: int = 0) -> Sequence[Message]:
        """Return the newest `limit` messages, oldest first; with `before`, of those with a smaller sequence."""
        rows = await self._database.rows(
            f"SELECT {MESSAGE} FROM messages WHERE thread = ? AND sequence < ? ORDER BY sequence DESC LIMIT ?",
            (thread_id, before or NO_LIMIT, max(limit, 0)),
        )
        return self._messages(reversed(rows))

    async def since(self, thread_id: str, after: int = 0, limit: int = NO_LIMIT) -> Sequence[Message]:
        """Return the oldest `limit` messages with a sequence greater than `after`, oldest first."""
        rows = await self._database.rows(
            f"SELECT {MESSAGE} FROM messages WHERE thread = ? AND sequence > ? ORDER BY sequence LIMIT ?",
            (thread_id, after, max(limit, 0)),
        )
        return self._messages(rows)

    async def totals(self, thread_id: str, after: int = 0) -> tuple[int, int]:
        """Return how many messages there are with a sequence greater than `after`, and how many tokens they cost.

        The messages are not read: each knows the sum up to it.
        """
        reached = (
            "SELECT sequence, upto FROM messages WHERE thread = ? AND sequence <= ? ORDER BY sequence DESC LIMIT 1"
        )
        rows = await self._database.rows(
            f"""
            SELECT 1 AS place, sequence, upto FROM ({reached}) AS newest
            UNION ALL SELECT 2, sequence, upto FROM ({reached}) AS past
            """,
            (thread_id, NO_LIMIT, thread_id, after),
        )
        found = {place: (sequence, upto) for place, sequence, upto in rows}
        (last, total), (past, before) = found.get(1, (0, 0)), found.get(2, (0, 0))
        return last - past, total - before

    async def said(self, user: UserKey, ids: Sequence[int]) -> Sequence[SaidMessage]:
        """Return those of the messages that are in threads of that person's, and where each was said, as asked."""
        rows = await self._database.rows(
            f"""
            SELECT {MESSAGE},
                (SELECT chat FROM threads WHERE id = thread), (SELECT topic FROM threads WHERE id = thread)
            FROM messages WHERE id IN (SELECT value FROM numbers(?))
            AND thread IN (SELECT id FROM threads WHERE {OF_USER})
            """,
            (to_json([int(i) for i in ids]), *user_key(user)),
        )
        messages = self._messages(row[:-2] for row in rows)
        said = [SaidMessage(each, ChatKey(user.platform, *row[-2:])) for each, row in zip(messages, rows, strict=True)]
        found = {each.message.id: each for each in said}
        return [found[i] for i in dict.fromkeys(ids) if i in found]

    async def search(
        self,
        users: Sequence[UserKey],
        queries: Sequence[str],
        *,
        limit: int,
        room: str = "",
        said: Span | None = None,
        skip: Collection[int] = (),
    ) -> Sequence[Sequence[Quoted]]:
        """Return, for each query, up to `limit` past messages of these accounts by their words, the best first."""
        asked = [tuple(dict.fromkeys(query_terms(query))) for query in queries]
        bounds = (max(limit, 0), room, said, frozenset(skip))
        wanted = [history_terms.TermSearch(users, keywords, *bounds) for keywords in asked]

        def job(query: Query) -> Sequence[Sequence[Quoted]]:
            return [history_terms.search(query, each) for each in wanted]

        def first(query: Query) -> tuple[Sequence[tuple[UserKey, str, Message]], Sequence[Sequence[Quoted]]]:
            left = history_terms.unindexed(query, users)
            return left, () if left else job(query)

        left, found = await self._database.read(first)
        if not left:
            return found
        filled = [(user, thread_id, message, self._terms(message)) for user, thread_id, message in left]
        await self._database.write(partial(history_terms.fill, found=filled))
        return await self._database.read(job)

    def _terms(self, message: Message) -> Sequence[str]:
        return keyword_terms(message.text) if is_findable(message) else ()

    async def beside(self, conversation: ConversationKey, limit: int, *, source_id: str = "") -> Sequence[Exchange]:
        """Return the newest `limit` exchanges of others in the place, oldest first; with `source_id`, only that."""
        key = platform, user, chat, topic = rows_of.place(conversation)
        of_one = _MESSAGES_OF_ONE * max(limit, 1)
        values: tuple[object, ...]
        which, values = _LATELY, (platform, chat, topic, user, limit, of_one, *key, limit, of_one)
        if source_id:
            which = "m.source_id != '' AND m.source_id = ?"
            values = (platform, chat, topic, user, NO_LIMIT, source_id, limit, of_one)
        sql = _BESIDE.format(which=which, thread=_OF_THREAD, message=OF_MESSAGE)
        found: dict[tuple[str, str], tuple[Thread, list[Message]]] = {}
        for row in await self._database.rows(sql, values):
            thread, [message] = self._thread(row[:_THREAD_COLUMNS]), self._messages([row[_THREAD_COLUMNS:]])
            found.setdefault((thread.id, message.turn), (thread, []))[1].append(message)
        return [Exchange(thread, tuple(messages)) for thread, messages in found.values()]

    async def asked(self, conversation: ConversationKey, source_ids: Collection[str]) -> Sequence[Message]:
        """Return the messages of those source ids in all threads of the conversation, oldest first."""
        rows = await self._database.rows(
            f"SELECT {MESSAGE} FROM messages WHERE {_ASKED} ORDER BY id", _asked(conversation, source_ids)
        )
        return self._messages(rows)

    async def turn(self, conversation: ConversationKey, source_id: str) -> Sequence[Message]:
        """Return the messages of the turn that began with that message, in whichever thread of the conversation."""
        rows = await self._database.rows(
            f"SELECT {MESSAGE} FROM messages WHERE id IN ({_TURNS}) ORDER BY id", _asked(conversation, [source_id])
        )
        return self._messages(rows)

    async def retract(self, conversation: ConversationKey, source_ids: Collection[str]) -> None:
        """Clear the turns that began with those messages, with all that is found by them and tells of them."""

        def job(query: Query) -> None:
            cleared = query.run(_RETRACT, _asked(conversation, source_ids))
            rows_of.unindex(query, [message for message, _, _ in cleared])
            ids = to_json([message for message, _, _ in cleared])
            query.run("DELETE FROM told_memories WHERE message IN (SELECT value FROM numbers(?))", (ids,))
            rows_of.drop_summaries(query, cleared)

        await self._database.write(job)

    async def shown_memories(self, thread_id: str) -> frozenset[str]:
        """Return the ids of all memories ever shown in the thread."""
        rows = await self._database.rows(
            "SELECT DISTINCT memory_id FROM messages WHERE thread = ? AND memory_id != ''", (thread_id,)
        )
        return frozenset(memory_id for (memory_id,) in rows)

    async def offer(self, message_id: int, drafts: Sequence[MemoryDraft]) -> None:
        """Set what the person may have saved from a message of theirs; it goes with its words."""
        await self._database.write(lambda query: rows_of.offer(query, message_id, drafts))

    async def summary(self, thread_id: str) -> Summary | None:
        """Return the newest summary."""
        rows = await self._database.rows(
            f"SELECT {SUMMARY} FROM summaries WHERE thread = ? ORDER BY through DESC LIMIT 1", (thread_id,)
        )
        return rows_of.summary(self._database.sealing, thread_id, rows[0]) if rows else None

    async def summaries(self, thread_id: str) -> Sequence[Summary]:
        """Return every summary, oldest first: together they tell which messages each rests on."""
        rows = await self._database.rows(
            f"SELECT {SUMMARY} FROM summaries WHERE thread = ? ORDER BY through", (thread_id,)
        )
        return [rows_of.summary(self._database.sealing, thread_id, row) for row in rows]

    async def fold(self, thread_id: str, summary: Summary) -> bool:
        """Store the summary if the newest one ends at its `after` (0: if there is none); False, and nothing, if not."""

        def job(query: Query) -> bool:
            query.lock("thread", thread_id)
            newest = "SELECT coalesce(max(through), 0) FROM summaries WHERE thread = ?"
            [(reached,)] = query.run(newest, (thread_id,))
            is_next = bool(reached == summary.after < summary.through)
            if is_next:
                user = self._owner(query, thread_id)
                query.run(rows_of.FOLD, rows_of.summary_values(query.sealing, user, thread_id, summary))
            return is_next

        return await self._database.write(job)

    async def drop_summaries(self, thread_id: str, after: int) -> None:
        """Remove the summaries that tell of a message with a sequence greater than `after`."""

        def job(query: Query) -> None:
            query.lock("thread", thread_id)  # nobody folds meanwhile what follows on one of them
            query.run("DELETE FROM summaries WHERE thread = ? AND through > ?", (thread_id, after))

        await self._database.write(job)

    async def enter(self, thread_id: str, *entered: Transition) -> None:
        """Store that a turn entered these states."""
        await self._database.change(*rows_of.enter_once(thread_id, entered))

    async def transitions(self, thread_id: str, turn: str = "") -> Sequence[Transition]:
        """Return the states that the turn entered (every turn, for ""), oldest first."""
        rows = await self._database.rows(
            "SELECT turn, state, at, error FROM transitions WHERE thread = ? AND ? IN ('', turn) ORDER BY id",
            (thread_id, turn),
        )
        return [rows_of.transition(row) for row in rows]

    async def restore(self, record: ThreadRecord) -> Thread:
        """Store a thread whole, as it is, in one transaction; its messages get new ids."""
        key = rows_of.place(record.thread.conversation)

        def job(query: Query) -> Thread:
            query.lock("thread", record.thread.id)
            query.lock("conversation", *key)
            taken = bool(query.run("SELECT 1 FROM threads WHERE id = ?", (record.thread.id,)))
            thread = rows_of.adopted(record.thread, taken=taken, rivalled=bool(query.run(_ACTIVE, key)))
            of_theirs = (query.sealing, thread.conversation.user, thread.id)
            # The ids that a basis holds are none of the restored messages.
            messages = (rows_of.message_values(*of_theirs, replace(each, basis=None)) for each in record.messages)
            query.run(rows_of.INSERT_THREAD, rows_of.thread_values(query.sealing, thread))
            query.run_many(rows_of.APPEND, messages)
            query.run_many(rows_of.FOLD, (rows_of.summary_values(*of_theirs, each) for each in record.summaries))
            query.run(*rows_of.enter(thread.id, record.transitions))
            query.run(history_terms.LIST, (thread.id,))
            return thread

        return await self._database.write(job)

    async def forget(self, user: UserKey) -> None:
        """Remove every thread and message of that person's: first nobody finds them any more, then they go."""
        places = f"DELETE FROM places WHERE {OF_USER}"

        def job(query: Query) -> None:
            query.run(_UNNAME, user_key(user))
            query.run(places, user_key(user))

        await self._database.write(job)
        self._owners.clear()
        await self._remove_forgotten()
        # Another process may have been indexing a message: that ended before its thread was removed.
        await self._database.write(lambda query: query.run(places, user_key(user)))
        await self._database.scrub()

    async def purge(self) -> None:
        """Remove what a `forget` that was cut short has left, down to the last byte."""
        if await self._database.rows(f"SELECT 1 FROM threads WHERE {_FORGOTTEN} LIMIT 1"):
            await self._remove_forgotten()
            await self._database.scrub()

    def _thread(self, row: Row) -> Thread:
        """Read a row of THREAD, and keep whose it is."""
        thread = rows_of.thread(self._database.sealing, row)
        if len(self._owners) >= _MOST_OWNERS:
            self._owners.clear()
        self._owners[thread.id] = thread.conversation.user
        return thread

    def _messages(self, rows: Iterable[Row]) -> list[Message]:
        return [rows_of.message(self._database.sealing, row) for row in rows]

    def _owner(self, query: Query, thread_id: str) -> UserKey:
        """Return whose thread it is: by their key its words are sealed.

        Raises:
            StorageError: there is no such thread any more.
        """
        if (known := self._owners.get(thread_id)) is not None:
            return known
        rows = query.run(f'SELECT platform, "user" FROM threads WHERE id = ? AND NOT {_FORGOTTEN}', (thread_id,))
        if not rows:
            raise StorageError("there is no such thread")
        return UserKey(*rows[0])

    async def _remove_forgotten(self) -> None:
        for table in ("messages", "transitions"):
            rows = f"SELECT id FROM {table} WHERE thread IN (SELECT id FROM threads WHERE {_FORGOTTEN}) LIMIT ?"
            await in_batches(self._database, statement(f"DELETE FROM {table} WHERE id IN ({rows}) RETURNING id"))
        threads = f"SELECT id FROM threads WHERE {_FORGOTTEN} LIMIT ?"
        await in_batches(self._database, statement(f"DELETE FROM threads WHERE id IN ({threads}) RETURNING id"))


def _asked(conversation: ConversationKey, source_ids: Collection[str]) -> tuple[str, ...]:
    """Return the parameters of _ASKED; the source ids are none of ours, which are empty."""
    return (*rows_of.place(conversation), listed(each for each in source_ids if each))
