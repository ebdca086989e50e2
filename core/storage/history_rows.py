"""How threads, messages, summaries, states and what messages tell of are written to and read from their tables.

Words are sealed by the key of the person whose thread it is.
"""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from core.enclosures import attachments_from_json, enclosures_from_json, enclosures_to_json
from core.sealing.port import Sealing
from core.storage.database import Database, Query, Row, Statement
from core.storage.record import OF_USER, listed, microseconds, moment, random_id, storable, to_json, user_key
from core.threads import Summary, ToldMemories, ToldMemory, Transition, TurnState
from core.types import (
    Basis,
    ChatKey,
    ConversationKey,
    JSONValue,
    MemoryDraft,
    MemoryKind,
    Message,
    MessageRole,
    Modal,
    OpenQuestion,
    Thread,
    ThreadStatus,
    UserKey,
)

THREAD = 'id, platform, "user", chat, topic, created_at, updated_at, status, title, policy, metadata'
MESSAGE = (
    "thread, id, sequence, role, modal, in_history, content, at, turn, source_id, memory_id, tokens, duration_s, error,"
    " pair, enclosed, question, offered, room, speaker, off_record, basis"
)
OF_MESSAGE = ", ".join(f"m.{column.strip()}" for column in MESSAGE.split(","))
"""The same of a table `m`."""

SUMMARY = "text, through, after, tokens, at, model"

_TITLE, _METADATA, _SUMMARY = "threads.title", "threads.metadata", "summaries.text"
# A basis holds ids and figures, none of the words.
_SEALED = tuple(f"messages.{column}" for column in ("content", "enclosed", "question", "offered"))

INSERT_THREAD = f"INSERT INTO threads ({THREAD}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_VALUES = """
    sequence, upto,
    thread, role, modal, in_history, content, at, turn, source_id, memory_id, tokens, duration_s, error, pair, enclosed,
    question, offered, room, speaker, off_record, basis
"""
_APPENDED = """
    coalesce((SELECT max(sequence) FROM messages WHERE thread = ?), 0) + 1,
    coalesce((SELECT upto FROM messages WHERE thread = ? ORDER BY sequence DESC LIMIT 1), 0) + ?,
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
"""
APPEND = f"""
    INSERT INTO messages ({_VALUES}) VALUES ({_APPENDED}) ON CONFLICT DO NOTHING RETURNING {MESSAGE}
"""
APPEND_AGAIN = f"INSERT INTO messages (id, {_VALUES}) VALUES (?, {_APPENDED}) ON CONFLICT DO NOTHING"
"""Of a message that has an id, which comes first among the parameters."""

FOLD = f"INSERT INTO summaries (thread, {SUMMARY}) VALUES (?, ?, ?, ?, ?, ?, ?)"
_ENTER = """
    INSERT INTO transitions (thread, turn, state, at, error)
    SELECT ?, value ->> 0, value ->> 1, CAST(value ->> 2 AS BIGINT), value ->> 3 FROM tuples(?)
"""
_ENTER_ONCE = f"""{_ENTER} WHERE NOT EXISTS (
        SELECT 1 FROM transitions AS t WHERE t.thread = ? AND t.turn = value ->> 0 AND t.state = value ->> 1
        AND t.at = CAST(value ->> 2 AS BIGINT)
    )
"""


def place(conversation: ConversationKey) -> tuple[str, str, str, str]:
    """Return platform, user, chat and topic."""
    chat, user = conversation.chat, conversation.user
    return (user.platform, user.user, chat.chat, chat.thread)


def thread(sealing: Sealing, row: Row) -> Thread:
    """Read a row of THREAD."""
    thread_id, platform, user, chat, topic, created_at, updated_at, status, title, policy, metadata = row
    return Thread(
        id=thread_id,
        conversation=ConversationKey(ChatKey(platform, chat, topic), UserKey(platform, user)),
        created_at=moment(created_at),
        updated_at=moment(updated_at),
        status=ThreadStatus(status),
        title=sealing.open(_TITLE, thread_id, title),
        policy=policy,
        metadata=json.loads(sealing.open(_METADATA, thread_id, metadata)),
    )


def thread_values(sealing: Sealing, thread: Thread) -> tuple[object, ...]:
    """Write a row of THREAD."""
    times = (microseconds(thread.created_at), microseconds(thread.updated_at))
    return (thread.id, *place(thread.conversation), *times, thread.status, *told_of_thread(sealing, thread))


def told_of_thread(sealing: Sealing, thread: Thread) -> tuple[str, str, str]:
    """Write title, policy and metadata."""
    user = thread.conversation.user
    return (
        sealing.seal(user, _TITLE, thread.id, storable(thread.title)),
        thread.policy,
        sealing.seal(user, _METADATA, thread.id, to_json(thread.metadata)),
    )


def adopted(thread: Thread, *, taken: bool, rivalled: bool) -> Thread:
    """Return the thread as it can be stored: with an id that is free, and not active beside another one."""
    status = ThreadStatus.ARCHIVED if rivalled and thread.status is ThreadStatus.ACTIVE else thread.status
    return replace(thread, id=random_id() if taken else thread.id, status=status)


def message_row(thread_id: str, turn: str, role: str, at_us: int | None) -> str:
    """Return what names a message to the sealing."""
    return f"{thread_id}|{turn}|{role}|{'' if at_us is None else at_us}"


def message(sealing: Sealing, row: Row) -> Message:
    """Read a row of MESSAGE."""
    (
        thread_id, message_id, sequence, role, modal, in_history, content, at_us, turn, source_id, memory_id,
        tokens, duration_s, error, pair, enclosed, question, offers, room, speaker, off_record, basis,
    ) = row  # fmt: skip
    named = message_row(thread_id, turn, role, at_us)
    content, enclosed, question, offers = [
        sealing.open(column, named, cell)
        for column, cell in zip(_SEALED, (content, enclosed, question, offers), strict=True)
    ]
    attachments, quotes = enclosures_from_json(json.loads(enclosed)) if enclosed else ((), ())
    return Message(
        role=MessageRole(role),
        content=json.loads(content),
        modal=Modal(modal),
        in_history=bool(in_history),
        at=_moment(at_us),
        turn=turn,
        source_id=source_id,
        memory_id=memory_id,
        id=message_id,
        sequence=sequence,
        tokens=tokens,
        duration_s=duration_s,
        error=error,
        pair=pair,
        attachments=attachments,
        quotes=quotes,
        question=OpenQuestion.from_json(json.loads(question)) if question else None,
        offered=tuple(
            MemoryDraft(
                MemoryKind(each["type"]),
                each["content"],
                tuple(each["bindings"]),
                attachments=attachments_from_json(each.get("attachments", ())),
            )
            for each in (json.loads(offers) if offers else ())
        ),
        room=room,
        speaker=speaker,
        off_record=bool(off_record),
        basis=Basis.from_json(json.loads(basis)) if basis else None,
    )


def message_values(sealing: Sealing, user: UserKey, thread_id: str, message: Message) -> tuple[object, ...]:
    """Return the parameters of APPEND, for a message of that person's thread."""
    at_us = _microseconds(message.at)
    named = message_row(thread_id, message.turn, message.role, at_us)
    words = (
        to_json(message.content), _enclosed(message),
        to_json(message.question.to_json()) if message.question else "", _offered(message.offered),
    )  # fmt: skip
    content, enclosed, question, offers = [
        sealing.seal(user, column, named, text) for column, text in zip(_SEALED, words, strict=True)
    ]
    return (
        thread_id, thread_id, message.tokens,
        thread_id, message.role, message.modal, int(message.in_history), content, at_us, message.turn,
        message.source_id, message.memory_id, message.tokens, message.duration_s, message.error, message.pair,
        enclosed, question, offers, storable(message.room), storable(message.speaker), int(message.off_record),
        to_json(message.basis.to_json()) if message.basis else "",
    )  # fmt: skip


def offer(query: Query, message_id: int, drafts: Sequence[MemoryDraft]) -> None:
    """Set what may be saved from a message."""
    found = """
        SELECT t.platform, t."user", m.thread, m.turn, m.role, m.at
        FROM messages AS m JOIN threads AS t ON t.id = m.thread WHERE m.id = ?
    """
    for platform, user, *parts in query.run(found, (message_id,)):
        sealed = query.sealing.seal(UserKey(platform, user), "messages.offered", message_row(*parts), _offered(drafts))
        query.run("UPDATE messages SET offered = ? WHERE id = ?", (sealed, message_id))


def _offered(drafts: Sequence[MemoryDraft]) -> str:
    return to_json([draft.to_json() for draft in drafts]) if drafts else ""


def summary(sealing: Sealing, thread_id: str, row: Row) -> Summary:
    """Read a row of SUMMARY."""
    text, through, after, tokens, at_us, model = row
    text = sealing.open(_SUMMARY, _summary_row(thread_id, through), text)
    return Summary(text, through, after, tokens, _moment(at_us), model)


def summary_values(sealing: Sealing, user: UserKey, thread_id: str, summary: Summary) -> tuple[object, ...]:
    """Return the parameters of FOLD, for a summary of that person's thread."""
    text = sealing.seal(user, _SUMMARY, _summary_row(thread_id, summary.through), storable(summary.text))
    covered = (summary.through, summary.after, summary.tokens)
    return (thread_id, text, *covered, _microseconds(summary.at), summary.model)


def _summary_row(thread_id: str, through: int) -> str:
    return f"{thread_id}|{through}"


def transition(row: Row) -> Transition:
    """Read turn, state, time and error."""
    turn, state, at_us, error = row
    return Transition(turn, TurnState(state), moment(at_us), error)


def enter(thread_id: str, entered: Sequence[Transition]) -> Statement:
    """Return what stores those states of turns."""
    values: JSONValue = [
        [storable(each.turn), each.state, microseconds(each.at), storable(each.error)] for each in entered
    ]
    return _ENTER, (thread_id, to_json(values))


def enter_once(thread_id: str, entered: Sequence[Transition]) -> Statement:
    """Return what stores those states of turns that are not stored yet."""
    _, values = enter(thread_id, entered)
    return _ENTER_ONCE, (*values, thread_id)


def _enclosed(message: Message) -> str:
    if not message.attachments and not message.quotes:
        return ""
    return to_json(enclosures_to_json(message.attachments, message.quotes))


def _microseconds(at: datetime | None) -> int | None:
    return None if at is None else microseconds(at)


def _moment(at_us: int | None) -> datetime | None:
    return None if at_us is None else moment(at_us)


_THREADS = f"SELECT id FROM threads WHERE {OF_USER}"
_VERSION = "told_memories.version"
_MARK_GONE = """
    INSERT INTO told_memories (message, thread, sequence, memory, version, gone) VALUES (?, ?, ?, ?, '', 1)
    ON CONFLICT (message, memory, version) DO UPDATE SET gone = 1
"""


class SqlToldMemories(ToldMemories):
    """The table `told_memories` of a `Database`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def tell(self, told: Mapping[int, Collection[ToldMemory]]) -> None:
        """Store what each of those messages tells of; what is stored already is fine."""
        ids = to_json([message for message, those in told.items() if those])
        asked = """
            SELECT m.id, m.thread, m.sequence, t.platform, t."user", d.memory, d.version
            FROM messages AS m JOIN threads AS t ON t.id = m.thread LEFT JOIN told_memories AS d ON d.message = m.id
            WHERE m.id IN (SELECT value FROM numbers(?))
        """

        def job(query: Query) -> None:
            wanted = {i: {(storable(each.memory_id), each.version) for each in those} for i, those in told.items()}
            of_messages: dict[int, tuple[str, int, UserKey]] = {}
            for message, thread_id, sequence, platform, user, memory, version in query.run(asked, (ids,)):
                of_messages[message] = (thread_id, sequence, UserKey(platform, user))
                if version is not None:
                    wanted[message].discard((memory, _version(query.sealing, message, memory, version)))
            rows = [
                (message, *place, memory, query.sealing.seal(user, _VERSION, _told_row(message, memory), version))
                for message, (*place, user) in of_messages.items()
                for memory, version in sorted(wanted[message])
            ]
            query.run_many(
                """
                INSERT INTO told_memories (message, thread, sequence, memory, version) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING
                """,
                rows,
            )

        if any(told.values()):
            await self._database.write(job)

    async def told(self, message_ids: Sequence[int]) -> Mapping[int, Sequence[ToldMemory]]:
        """Map those of the messages that tell of memories to what they tell of."""
        if not message_ids:
            return {}
        rows = await self._database.rows(
            """
            SELECT message, memory, version, gone FROM told_memories
            WHERE message IN (SELECT value FROM numbers(?)) ORDER BY message, memory
            """,
            (to_json([int(i) for i in message_ids]),),
        )
        found: dict[int, list[ToldMemory]] = defaultdict(list)
        for message, memory, version, gone in rows:
            found[message].append(ToldMemory(memory, self._version(message, memory, version), bool(gone)))
        return found

    async def first_told(self, thread_id: str) -> Mapping[ToldMemory, int]:
        """Map what the thread tells of, and was not redacted, to the sequence of the first message that does."""
        rows = await self._database.rows(
            "SELECT sequence, message, memory, version FROM told_memories WHERE thread = ? AND gone = 0", (thread_id,)
        )
        found: dict[ToldMemory, int] = {}
        for sequence, message, memory, version in sorted(rows):
            found.setdefault(ToldMemory(memory, self._version(message, memory, version)), sequence)
        return found

    async def told_by(self, user: UserKey) -> frozenset[ToldMemory]:
        """Return all that the person's threads tell of."""
        rows = await self._database.rows(
            f"SELECT message, memory, version, gone FROM told_memories WHERE thread IN ({_THREADS})", user_key(user)
        )
        return frozenset(ToldMemory(each[1], self._version(*each), bool(gone)) for *each, gone in rows)

    def _version(self, message: int, memory: str, version: str) -> str:
        return _version(self._database.sealing, message, memory, version)

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

    async def redact(self, user: UserKey, told: Collection[ToldMemory], *, own: bool = False) -> int:
        """Remove the words of the bot's messages that tell of those, and summaries; mark what those messages told of.

        With `own`, remove those of the person's own messages, too, mark nothing, and return how many of theirs it was.
        """
        wanted = {(storable(each.memory_id), each.version) for each in told}
        named = listed({memory for memory, _ in wanted})

        def job(query: Query) -> tuple[bool, int]:
            rows = query.run(
                f"""
                SELECT message, thread, sequence, memory, version FROM told_memories
                WHERE thread IN ({_THREADS}) AND memory IN (SELECT value FROM texts(?))
                """,
                (*user_key(user), named),
            )
            of_those = [row for row in rows if (row[3], _version(query.sealing, row[0], *row[3:])) in wanted]
            those = sorted({row[:3] for row in of_those})
            drop_summaries(query, those)
            ids = [message for message, _, _ in those]
            emptied = _empty(query, ids, MessageRole.ASSISTANT)
            if own:
                emptied = _empty(query, ids, MessageRole.USER)
            else:
                # A digest of few words would still tell them to whoever tries: it is removed, too.
                query.run_many(_MARK_GONE, sorted({row[:4] for row in of_those}))
                query.run_many(
                    "DELETE FROM told_memories WHERE message = ? AND memory = ? AND version = ?",
                    [(message, memory, version) for message, _, _, memory, version in of_those if version],
                )
            return bool(those), emptied

        found, emptied = await self._database.write(job)
        if found:
            await self._database.scrub()
        return emptied


def _told_row(message: int, memory: str) -> str:
    return f"{message}|{memory}"


def _version(sealing: Sealing, message: int, memory: str, version: str) -> str:
    return sealing.open(_VERSION, _told_row(message, memory), version)


def drop_summaries(query: Query, those: Sequence[Row]) -> None:
    """Remove every summary that rests on one of the messages (id, thread, sequence): it is made again when needed."""
    for name in sorted({thread for _, thread, _ in those}):
        query.lock("thread", name)  # nobody folds meanwhile what follows on one of them
    query.run_many(
        "DELETE FROM summaries WHERE thread = ? AND through >= ?", [(thread, sequence) for _, thread, sequence in those]
    )


def unindex(query: Query, ids: Sequence[int]) -> None:
    """Remove what messages are found by. Whoever indexes one has removed it from `unindexed` first: that is awaited."""
    for table in ("unindexed", "message_terms"):
        query.run(f"DELETE FROM {table} WHERE message IN (SELECT value FROM numbers(?))", (to_json(list(ids)),))


def _empty(query: Query, ids: Sequence[int], role: MessageRole) -> int:
    """Remove the words of those of the messages that have that role, and return how many had any.

    What they cost stays as it was counted: sums over a thread rest on it.
    """
    rows = query.run(
        """
        UPDATE messages SET content = '""', enclosed = '', question = '', offered = '', basis = ''
        WHERE id IN (SELECT value FROM numbers(?)) AND role = ? AND content != '""' RETURNING id
        """,
        (to_json(list(ids)), role),
    )
    unindex(query, [message for (message,) in rows])
    return len(rows)
