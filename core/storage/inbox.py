"""Messages that are owed an answer, and what waits in a conversation for the person's next word, in the database.

One row an accepted message, sealed by its sender's key; one a conversation in which a command wants a text, or a
question wants a yes.
"""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Generic, TypeAlias, cast

from core.enclosures import enclosures_from_json, enclosures_to_json
from core.errors import Unreadable
from core.sealing.port import Sealing
from core.storage.database import Database, Query, Row, Statement, in_batches, statement
from core.storage.record import OF_USER, microseconds, moment, to_json, user_key
from core.stores import LATEST, Accepted, Backlog, Inbox, Replaced
from core.threads import Confirmation, PendingInput, Waiting, WaitingStore
from core.types import ANSWER_TO, ChatKey, ConversationKey, Incoming, JSONValue, MessageKey, UserKey

ClaimChat: TypeAlias = Callable[[Query, ChatKey, Statement], Accepted | None]
"""Stores a message of a chat, and claims the chat if it is free; returns who answers it, None if it was known."""


def held_by_all(query: Query, chat: ChatKey, message: Statement) -> Accepted | None:
    """Store the message, and claim nothing: there is one process."""
    del chat
    return Accepted() if query.run(*message) else None


def done(query: Query, message: MessageKey | None) -> dict[str, JSONValue]:
    """Return what was done for a message that is owed an answer, by the names of the steps."""
    found = None if message is None else _done(query, message)
    return found[1] if found else {}


def note(query: Query, message: MessageKey | None, step: str, value: JSONValue) -> None:
    """Record, in the transaction that does it, what was done for a message until it is closed; for None, nothing."""
    if message is not None and (found := _done(query, message)) is not None:
        user, steps = found
        sealed = query.sealing.seal(user, _DONE, _named(_row(message)), to_json({**steps, step: value}))
        query.run(f"UPDATE inbox SET done = ? WHERE {_THIS} AND payload IS NOT NULL", (sealed, *_row(message)))


def _done(query: Query, message: MessageKey) -> tuple[UserKey, dict[str, JSONValue]] | None:
    """Return whose message it is that is owed an answer, and what was done for it; None if it is not owed one."""
    row = _row(message)
    for user, sealed in query.run(f'SELECT "user", done FROM inbox WHERE {_THIS} AND payload IS NOT NULL', row):
        return UserKey(row[0], user), json.loads(query.sealing.open(_DONE, _named(row), sealed or "{}"))
    return None


def once(query: Query, message: MessageKey | None, step: str, work: Callable[[], JSONValue]) -> JSONValue:
    """Do a step for a message, in this transaction, and return its result: done again for it, that of the first time.

    For None, and for a message that is not owed an answer, it is done each time.
    """
    before = done(query, message)
    if step not in before:
        before[step] = work()
        note(query, message, step, before[step])
    return before[step]


class SqlInbox(Inbox):
    """What was said in a row is removed when it is closed; the row stays until `purge`, so that a repeat is known."""

    def __init__(self, database: Database, claim_chat: ClaimChat = held_by_all) -> None:
        self._database = database
        self._claim_chat = claim_chat

    async def accept(self, incoming: Incoming) -> Accepted | None:
        """Store it; it is on disk when this returns. None, and nothing stored, for a known (chat, message_id)."""

        def job(query: Query) -> Accepted | None:
            _lock(query, incoming)
            if incoming.edits and not _is_wanted(query, incoming):
                return None
            payload = _sealed(query, incoming)
            row = (*_key(incoming), incoming.user.user, microseconds(incoming.at), payload, incoming.edits)
            message = (_ACCEPT, (*row, *_versions(incoming), incoming.edits))
            return self._claim_chat(query, incoming.chat, message)

        return await self._database.write(job)

    async def collect(self, whole: Incoming) -> None:
        """Let the row of one message hold all that was collected, and close the rows of the others."""
        close = f"""
            UPDATE inbox SET payload = NULL, done = NULL, posted = '[]', sealed = 1
            WHERE {_VERSIONS} AND id <= (SELECT id FROM inbox WHERE {_THIS})
        """

        def job(query: Query) -> None:
            _lock(query, whole)
            query.run(
                f"UPDATE inbox SET payload = ? WHERE {_THIS} AND payload IS NOT NULL",
                (_sealed(query, whole), *_key(whole)),
            )
            for part in whole.parts:
                if part.original_id != whole.original_id:
                    query.run(close, (*_versions(part), *_key(part)))

        await self._database.write(job)

    async def take_over(self, edit: Incoming) -> Replaced:
        """Close the earlier versions of a message, and record what is posted for them for this one; return both."""
        versions = f"""
            SELECT message_id, posted, payload IS NULL AND posted IS NOT NULL FROM inbox
            WHERE {_VERSIONS} ORDER BY id
        """

        def job(query: Query) -> Replaced:
            _lock(query, edit)
            rows = query.run(versions, _versions(edit))
            at = [message_id for message_id, _, _ in rows].index(edit.message_id)
            posted = [handle for _, handles, _ in rows[: at + 1] for handle in json.loads(handles or "[]")]
            query.run(_CLOSE_EARLIER, (*_versions(edit), *_key(edit)))
            query.run(f"UPDATE inbox SET posted = ? WHERE {_THIS}", (to_json(posted), *_key(edit)))
            earlier = tuple(message_id for message_id, _, _ in rows[:at])
            return Replaced(earlier, tuple(posted), answered=bool(at and rows[at - 1][2]))

        return await self._database.write(job)

    async def close(self, incoming: Incoming) -> None:
        """Mark it answered and remove its words; do the same with its earlier versions."""
        close = f"{_CLOSE} WHERE {_THIS} AND payload IS NOT NULL"

        def job(query: Query) -> None:
            _lock(query, incoming)
            query.run(_CLOSE_EARLIER, (*_versions(incoming), *_key(incoming)))
            query.run(close, _key(incoming))

        if incoming.edits:
            await self._database.write(job)
        else:
            await self._database.change(close, _key(incoming))

    async def erase(self, incoming: Incoming) -> None:
        """Close it for good."""

        def job(query: Query) -> None:
            _lock(query, incoming)
            query.run(_CLOSE_EARLIER, (*_versions(incoming), *_key(incoming)))
            query.run(f"{_CLOSE}, sealed = {_TO_SCRUB} WHERE {_THIS} AND payload IS NOT NULL", _key(incoming))

        await self._database.write(job)

    async def finish_erasing(self) -> None:
        """Zero what is left of the words of messages that were erased."""
        rows = await self._database.rows(f"SELECT id FROM inbox WHERE sealed = {_TO_SCRUB} AND payload IS NULL")
        if rows:
            await self._database.scrub()
            ids = to_json([row[0] for row in rows])
            await self._database.change(
                "UPDATE inbox SET sealed = 1 WHERE id IN (SELECT value FROM numbers(?))", (ids,)
            )

    async def seal(self, incoming: Incoming) -> None:
        """Accept no edit of an answered message from now on."""

        def job(query: Query) -> None:
            _lock(query, incoming)
            query.run(f"UPDATE inbox SET sealed = 1 WHERE {_THIS} AND payload IS NULL", _key(incoming))

        await self._database.write(job)

    async def put_posted(self, incoming: Incoming, handles: Sequence[str]) -> None:
        """Record what stands on the screen for it; on disk when this returns."""
        sql = f"UPDATE inbox SET posted = ? WHERE {_THIS} AND payload IS NOT NULL"
        values = (to_json(list(handles)), *_key(incoming))
        await self._database.change(sql, values)

    async def question(self, platform: str, chat: str, handle: str) -> tuple[ConversationKey, str] | None:
        """Return in whose conversation that message of the chat answers what, by its id; None if it answers nothing."""
        asked = handle[len(ANSWER_TO) :] if handle.startswith(ANSWER_TO) else ""
        rows = await self._database.rows(
            'SELECT topic, "user", message_id, posted FROM inbox WHERE platform = ? AND chat = ?'
            " AND (posted LIKE ? OR message_id = ? AND posted IS NOT NULL) ORDER BY id DESC",
            (platform, chat, f"%{handle}%", asked),
        )
        for topic, user, message_id, posted in rows if handle else ():
            if message_id == asked or handle in json.loads(posted):
                return ConversationKey(ChatKey(platform, chat, topic), UserKey(platform, user)), message_id
        return None

    async def purge(self, before: datetime, limit: int) -> int:
        """Remove up to `limit` answered messages that were sent before then, and return how many."""
        answered = "SELECT id FROM inbox WHERE payload IS NULL AND at < ? ORDER BY at LIMIT ?"
        purge = statement(f"DELETE FROM inbox WHERE id IN ({answered}) RETURNING id", microseconds(before))
        return await self._database.write(lambda query: purge(query, limit))

    async def owed(self, platform: str, chats: Collection[str] | None = None) -> Mapping[Incoming, Sequence[str]]:
        """Map what was accepted on that platform and not closed, oldest first, to the handles recorded for it."""
        in_chats = "" if chats is None else "AND chat IN (SELECT value FROM texts(?))"
        rows = await self._database.rows(
            f"""
            SELECT chat, topic, message_id, "user", payload, edits, posted FROM inbox
            WHERE platform = ? AND {_OWED} {in_chats} ORDER BY id
            """,
            (platform,) if chats is None else (platform, to_json(list(chats))),
        )
        sealing = self._database.sealing
        return {_incoming(sealing, platform, row): tuple(json.loads(posted or "[]")) for *row, posted in rows}

    async def backlog(self) -> Mapping[str, Backlog]:
        """Map each platform to what is owed on it; those on which nothing is are left out."""
        rows = await self._database.rows(
            f"SELECT platform, count(*), min(at) FROM inbox WHERE {_OWED} GROUP BY platform"
        )
        return {platform: Backlog(messages, moment(oldest)) for platform, messages, oldest in rows}

    async def forget(self, user: UserKey) -> None:
        """Remove every row of that person's, and their id from what is being done for others about them."""
        await self._database.write(lambda query: _unname(query, user))
        rows = f"SELECT id FROM inbox WHERE {OF_USER} LIMIT ?"
        forget = statement(f"DELETE FROM inbox WHERE id IN ({rows}) RETURNING id", *user_key(user))
        await in_batches(self._database, forget)
        await self._database.scrub()


_TO_SCRUB = 2
"""Stands in `sealed` of what is erased until its words are zeroed."""

_CLOSE = "UPDATE inbox SET payload = NULL, done = NULL, posted = coalesce(posted, '[]')"
_THIS = "platform = ? AND chat = ? AND topic = ? AND message_id = ?"
_OWED = """
    payload IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM inbox AS later WHERE later.platform = inbox.platform AND later.chat = inbox.chat
        AND later.topic = inbox.topic AND later.edits IN (inbox.message_id, inbox.edits)
        AND later.edits != '' AND later.id > inbox.id
    )
"""
_VERSIONS = "platform = ? AND chat = ? AND topic = ? AND (message_id = ? OR edits = ?)"
_CLOSE_EARLIER = f"""
    UPDATE inbox SET payload = NULL, done = NULL, posted = NULL
    WHERE {_VERSIONS} AND id < (SELECT id FROM inbox WHERE {_THIS})
"""


_ACCEPT = f"""
    INSERT INTO inbox (platform, chat, topic, message_id, "user", at, payload, edits)
    SELECT ?, ?, ?, ?, ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE {_VERSIONS}) OR ? != ''
    ON CONFLICT DO NOTHING RETURNING id
"""


_PAYLOAD, _DONE = "inbox.payload", "inbox.done"


def _named(row: Sequence[str]) -> str:
    """Return what names a message to the sealing, of the values of _THIS."""
    return "|".join(row)


def opened_message(sealing: Sealing, row: Sequence[str], payload: str, done: str | None) -> str:
    """Return what is stored of a message, and of what was done for it, of the values of platform to message id."""
    return sealing.open(_PAYLOAD, _named(row), payload) + sealing.open(_DONE, _named(row), done or "")


def _sealed(query: Query, incoming: Incoming) -> str:
    return query.sealing.seal(incoming.user, _PAYLOAD, _named(_key(incoming)), to_json(_payload(incoming)))


def _unname(query: Query, user: UserKey) -> None:
    """Remove a person's id from what is being done for others."""
    named, nobody = json.dumps(json.dumps(user.user, ensure_ascii=False))[1:-1], json.dumps('""')[1:-1]
    # What an UPDATE returns, nobody changes before this transaction ends.
    held = """
        UPDATE inbox SET done = done WHERE done IS NOT NULL
        RETURNING id, "user", done, platform, chat, topic, message_id
    """
    for number, whose, done, *row in query.run(held):
        with suppress(Unreadable):  # of who is being forgotten, too, and has no key any more
            steps = query.sealing.open(_DONE, _named(row), done)
            if named in steps:
                sealed = query.sealing.seal(UserKey(row[0], whose), _DONE, _named(row), steps.replace(named, nobody))
                query.run("UPDATE inbox SET done = ? WHERE id = ?", (sealed, number))


def _payload(incoming: Incoming) -> dict[str, JSONValue]:
    """Return what a row holds of a message beside its key; with each of its parts, its ids."""
    parts = [_payload(part) | {"message_id": part.message_id, "edits": part.edits} for part in incoming.parts]
    return {
        "user_name": incoming.user_name,
        "text": incoming.text,
        "at": incoming.at.isoformat(),
        "addressed": incoming.addressed,
        "private": incoming.private,
        "language": incoming.language,
        "pressed": incoming.pressed,
        "written": incoming.written,
        "group": incoming.group,
        "is_cut": incoming.is_cut,
        "thread_id": incoming.thread_id,
        "enclosed": enclosures_to_json(incoming.attachments, incoming.quotes),
        "reply_token": incoming.reply_token,
        "quoted_user": incoming.quoted_user,
        "replies_to": incoming.replies_to,
        "handle": incoming.handle,
        "room_title": incoming.room_title,
        "withdrawn": incoming.withdrawn,
        "server": incoming.chat.server,
        "is_thread": incoming.chat.is_thread,
        "groups": list(incoming.groups),
        "parts": cast("JSONValue", parts),
    }


def _lock(query: Query, incoming: Incoming) -> None:
    """Keep others from changing which messages of the chat are owed."""
    query.lock("chat", incoming.chat.platform, incoming.chat.chat)


def _is_wanted(query: Query, incoming: Incoming) -> bool:
    """Return whether an edit may still take the place of the versions that are known."""
    known = query.run(
        f"SELECT id, payload IS NOT NULL, sealed != 0 FROM inbox WHERE {_VERSIONS} ORDER BY id DESC LIMIT 1",
        _versions(incoming),
    )
    if not known:
        return True
    [(newest, owed, sealed)] = known
    if not incoming.edits or owed or sealed:
        return bool(incoming.edits and owed)
    later = query.run(
        'SELECT id FROM inbox WHERE platform = ? AND chat = ? AND topic = ? AND "user" = ? AND id > ? LIMIT ?',
        (*_key(incoming)[:3], incoming.user.user, newest, LATEST),
    )
    return len(later) < LATEST


def _versions(incoming: Incoming) -> tuple[str, ...]:
    return (*_key(incoming)[:3], incoming.original_id, incoming.original_id)


def _key(incoming: Incoming) -> tuple[str, str, str, str]:
    return _row((incoming.chat, incoming.message_id))


def _row(message: MessageKey) -> tuple[str, str, str, str]:
    chat, message_id = message
    return (chat.platform, chat.chat, chat.thread, message_id)


def _incoming(sealing: Sealing, platform: str, row: Sequence[str]) -> Incoming:
    chat, topic, message_id, user, payload, edits = row
    fields = json.loads(sealing.open(_PAYLOAD, _named((platform, chat, topic, message_id)), payload))
    return _read(fields, ChatKey(platform, chat, topic), UserKey(platform, user), message_id, edits)


def _read(fields: Mapping[str, Any], chat: ChatKey, user: UserKey, message_id: str, edits: str) -> Incoming:
    attachments, quotes = enclosures_from_json(fields.get("enclosed", {}))
    return Incoming(
        chat=replace(chat, server=fields.get("server", ""), is_thread=fields.get("is_thread", False)),
        user=user,
        message_id=message_id,
        user_name=fields["user_name"],
        text=fields["text"],
        at=datetime.fromisoformat(fields["at"]),
        addressed=fields["addressed"],
        private=fields["private"],
        language=fields["language"],
        pressed=fields.get("pressed", False),  # not in what an older version of this program accepted
        written=fields.get("written", False),
        group=fields.get("group", ""),
        is_cut=fields.get("is_cut", False),
        thread_id=fields.get("thread_id", ""),
        attachments=attachments,
        quotes=quotes,
        reply_token=fields.get("reply_token", ""),
        quoted_user=fields.get("quoted_user", ""),
        replies_to=fields.get("replies_to", ""),
        handle=fields.get("handle", ""),
        room_title=fields.get("room_title", ""),
        groups=tuple(fields.get("groups", ())),
        edits=edits,
        withdrawn=fields.get("withdrawn", False),
        parts=tuple(_read(each, chat, user, each["message_id"], each["edits"]) for each in fields.get("parts", ())),
    )


# --- what waits for the person's next word ----------------------------------------------------------------------------

_HERE = f"{OF_USER} AND chat = ? AND topic = ?"


@dataclass(frozen=True, slots=True)
class _Words:
    """The column that is sealed, and its place in a row."""

    column: str
    at: int

    def sealed(self, sealing: Sealing, conversation: ConversationKey, row: Sequence[str | int]) -> Sequence[str | int]:
        said = sealing.seal(
            conversation.user, self.column, _row_name(_conversation_row(conversation)), str(row[self.at])
        )
        return [*row[: self.at], said, *row[self.at + 1 :]]

    def opened(self, sealing: Sealing, conversation: ConversationKey, rows: Sequence[Row]) -> list[JSONValue]:
        named = _row_name(_conversation_row(conversation))
        return [[*row[: self.at], sealing.open(self.column, named, row[self.at]), *row[self.at + 1 :]] for row in rows]


class SqlWaiting(WaitingStore[Waiting], Generic[Waiting]):
    """One row for each conversation, in a table with a column for each field of what waits; `at` is a moment.

    The column `words` is sealed by the person's key.
    """

    def __init__(self, database: Database, table: str, kind: type[Waiting], words: str) -> None:
        self._database = database
        self._table = table
        self._kind: type[Waiting] = kind
        self._names = [field.name for field in fields(kind)]
        self._words = _Words(f"{table}.{words}", self._names.index(words))

    async def put(self, conversation: ConversationKey, waiting: Waiting) -> None:
        """Store it, in place of what waited there."""
        changed = ", ".join(f"{name} = excluded.{name}" for name in self._names)
        sql = f"""
            INSERT INTO {self._table} (platform, "user", chat, topic, {", ".join(self._names)})
            VALUES ({", ".join("?" * (len(self._names) + 4))})
            ON CONFLICT (platform, chat, topic, "user") DO UPDATE SET {changed}
        """
        row: list[str | int] = [_written(getattr(waiting, name)) for name in self._names]
        await self._database.write(
            lambda query: query.run(
                sql, [*_conversation_row(conversation), *self._words.sealed(query.sealing, conversation, row)]
            )
        )

    async def find(self, conversation: ConversationKey) -> Waiting | None:
        """Return what waits there, or None."""
        found = f"SELECT {', '.join(self._names)} FROM {self._table} WHERE {_HERE}"
        rows = await self._database.rows(found, _conversation_row(conversation))
        return self._read(self._words.opened(self._database.sealing, conversation, rows))

    async def take(
        self, conversation: ConversationKey, message_id: str = "", since: datetime | None = None
    ) -> Waiting | None:
        """Remove what waits there and return it, or None: of two that take it at once, one has it."""
        sql = f"DELETE FROM {self._table} WHERE {_HERE} RETURNING {', '.join(self._names)}"
        message = (conversation.chat, message_id) if message_id else None

        def job(query: Query) -> Waiting | None:
            def remove() -> JSONValue:
                rows = self._words.opened(query.sealing, conversation, query.run(sql, _conversation_row(conversation)))
                kept = self._read(rows)
                return [] if kept is None or (since is not None and kept.at < since) else rows

            return self._read(once(query, message, self._table, remove))

        return await self._database.write(job)

    async def taken(self, conversation: ConversationKey, message_id: str) -> Waiting | None:
        """Return what that message has taken; None once it was answered."""
        message = (conversation.chat, message_id)
        return self._read(await self._database.read(lambda query: done(query, message).get(self._table)))

    async def expire(self, before: datetime) -> None:
        """Remove what was stored before then."""
        sql = f"DELETE FROM {self._table} WHERE at < ?"
        await self._database.write(lambda query: query.run(sql, (microseconds(before),)))

    async def forget(self, user: UserKey) -> None:
        """Remove what waits for that person, in any conversation."""
        sql = f"DELETE FROM {self._table} WHERE {OF_USER}"
        await self._database.write(lambda query: query.run(sql, user_key(user)))

    def _read(self, rows: Any) -> Waiting | None:
        for row in rows or ():
            values: dict[str, Any] = dict(zip(self._names, row, strict=True))
            return self._kind(**{**values, "at": moment(values["at"])})
        return None


class SqlPendingInputs(SqlWaiting[PendingInput]):
    """Commands that wait for a text, in the table `awaited`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, "awaited", PendingInput, "command")


class SqlConfirmations(SqlWaiting[Confirmation]):
    """Questions that wait for a yes, in the table `confirmations`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, "confirmations", Confirmation, "data")


def _written(value: str | datetime) -> str | int:
    return microseconds(value) if isinstance(value, datetime) else value


def _conversation_row(conversation: ConversationKey) -> tuple[str, str, str, str]:
    """Return the row's key. A conversation's chat and user are of one platform."""
    return *user_key(conversation.user), conversation.chat.chat, conversation.chat.thread


def _row_name(key: Sequence[str]) -> str:
    """Return what names a row to the sealing, of the values of _conversation_row."""
    platform, user, chat, topic = key
    return f"{platform}|{chat}|{topic}|{user}"


def opened_question(sealing: Sealing, key: Sequence[str], data: str) -> str:
    """Return what a question is about, of platform, user, chat and topic."""
    return sealing.open("confirmations.data", _row_name(key), data)
