"""How threads, messages, summaries and states are written to and read from their tables."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime

from core.enclosures import enclosures_from_json, enclosures_to_json
from core.storage.database import Row
from core.storage.record import microseconds, moment, random_id, storable, to_json
from core.threads import Summary, Transition, TurnState
from core.types import (
    ChatKey,
    ConversationKey,
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
    "id, sequence, role, modal, in_history, content, at, turn, source_id, memory_id, tokens, duration_s, error, pair,"
    " enclosed, question"
)
SUMMARY = "text, through, after, tokens, at, model"

INSERT_THREAD = f"INSERT INTO threads ({THREAD}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_VALUES = """
    sequence, upto,
    thread, role, modal, in_history, content, at, turn, source_id, memory_id, tokens, duration_s, error, pair, enclosed,
    question
"""
_APPENDED = """
    coalesce((SELECT max(sequence) FROM messages WHERE thread = ?), 0) + 1,
    coalesce((SELECT upto FROM messages WHERE thread = ? ORDER BY sequence DESC LIMIT 1), 0) + ?,
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
"""
APPEND = f"""
    INSERT INTO messages ({_VALUES}) VALUES ({_APPENDED}) ON CONFLICT DO NOTHING RETURNING {MESSAGE}
"""
APPEND_AGAIN = f"INSERT INTO messages (id, {_VALUES}) VALUES (?, {_APPENDED}) ON CONFLICT DO NOTHING"
"""Of a message that has an id, which comes first among the parameters."""

FOLD = f"INSERT INTO summaries (thread, {SUMMARY}) VALUES (?, ?, ?, ?, ?, ?, ?)"
ENTER = "INSERT INTO transitions (thread, turn, state, at, error) VALUES (?, ?, ?, ?, ?)"


def place(conversation: ConversationKey) -> tuple[str, str, str, str]:
    """Return platform, user, chat and topic."""
    chat, user = conversation.chat, conversation.user
    return (user.platform, user.user, chat.chat, chat.thread)


def thread(row: Row) -> Thread:
    """Read a row of THREAD."""
    thread_id, platform, user, chat, topic, created_at, updated_at, status, title, policy, metadata = row
    return Thread(
        id=thread_id,
        conversation=ConversationKey(ChatKey(platform, chat, topic), UserKey(platform, user)),
        created_at=moment(created_at),
        updated_at=moment(updated_at),
        status=ThreadStatus(status),
        title=title,
        policy=policy,
        metadata=json.loads(metadata),
    )


def thread_values(thread: Thread) -> tuple[object, ...]:
    """Write a row of THREAD."""
    times = (microseconds(thread.created_at), microseconds(thread.updated_at))
    told = (thread.status, storable(thread.title), thread.policy, to_json(thread.metadata))
    return (thread.id, *place(thread.conversation), *times, *told)


def adopted(thread: Thread, *, taken: bool, rivalled: bool) -> Thread:
    """Return the thread as it can be stored: with an id that is free, and not active beside another one."""
    status = ThreadStatus.ARCHIVED if rivalled and thread.status is ThreadStatus.ACTIVE else thread.status
    return replace(thread, id=random_id() if taken else thread.id, status=status)


def message(row: Row) -> Message:
    """Read a row of MESSAGE."""
    (
        message_id, sequence, role, modal, in_history, content, at_us, turn, source_id, memory_id,
        tokens, duration_s, error, pair, enclosed, question,
    ) = row  # fmt: skip
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
    )


def message_values(thread_id: str, message: Message) -> tuple[object, ...]:
    """Return the parameters of APPEND."""
    return (
        thread_id, thread_id, message.tokens,
        thread_id, message.role, message.modal, int(message.in_history), to_json(message.content),
        _microseconds(message.at), message.turn, message.source_id, message.memory_id, message.tokens,
        message.duration_s, message.error, message.pair, _enclosed(message),
        to_json(message.question.to_json()) if message.question else "",
    )  # fmt: skip


def summary(row: Row) -> Summary:
    """Read a row of SUMMARY."""
    text, through, after, tokens, at_us, model = row
    return Summary(text, through, after, tokens, _moment(at_us), model)


def summary_values(thread_id: str, summary: Summary) -> tuple[object, ...]:
    """Return the parameters of FOLD."""
    covered = (summary.through, summary.after, summary.tokens)
    return (thread_id, storable(summary.text), *covered, _microseconds(summary.at), summary.model)


def transition(row: Row) -> Transition:
    """Read turn, state, time and error."""
    turn, state, at_us, error = row
    return Transition(turn, TurnState(state), moment(at_us), error)


def transition_values(thread_id: str, transition: Transition) -> tuple[object, ...]:
    """Return the parameters of ENTER."""
    return (thread_id, transition.turn, transition.state, microseconds(transition.at), transition.error)


def _enclosed(message: Message) -> str:
    if not message.attachments and not message.quotes:
        return ""
    return to_json(enclosures_to_json(message.attachments, message.quotes))


def _microseconds(at: datetime | None) -> int | None:
    return None if at is None else microseconds(at)


def _moment(at_us: int | None) -> datetime | None:
    return None if at_us is None else moment(at_us)
