"""Write a thread as JSON lines and read it back, equal.

The thread comes first, then every message, summary and state in the order in which they are stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from core.enclosures import enclosures_from_json, enclosures_to_json
from core.errors import InputError
from core.stores import HistoryStore
from core.threads import THREAD_ID_RULE, Summary, ThreadRecord, Transition, TurnState, is_thread_id
from core.types import (
    ChatKey,
    ConversationKey,
    JSONValue,
    Message,
    MessageRole,
    Modal,
    OpenQuestion,
    Thread,
    ThreadStatus,
    UserKey,
)

_PAGE = 500


async def record_of(store: HistoryStore, thread: Thread) -> ThreadRecord:
    """Return a stored thread with its messages, summaries and states. Message ids, a database's own, are 0."""
    messages: list[Message] = []
    while page := await store.since(thread.id, len(messages), _PAGE):
        messages += (replace(message, id=0) for message in page)
    return ThreadRecord(
        thread, tuple(messages), tuple(await store.summaries(thread.id)), tuple(await store.transitions(thread.id))
    )


def to_lines(record: ThreadRecord) -> Iterator[str]:
    """Yield the JSON lines of the record."""
    thread = record.thread
    chat, user = thread.conversation.chat, thread.conversation.user
    head: dict[str, JSONValue] = {
        "id": thread.id,
        "user": {"platform": user.platform, "user": user.user},
        "chat": {"platform": chat.platform, "chat": chat.chat, "thread": chat.thread},
        "created_at": thread.created_at.isoformat(),
        "updated_at": thread.updated_at.isoformat(),
        "status": thread.status.value,
        "title": thread.title,
        "policy": thread.policy,
        "metadata": thread.metadata,
    }
    yield _line("thread", head)
    for message in record.messages:
        yield _line("message", _message_fields(message))
    for made in record.summaries:
        covered: dict[str, JSONValue] = {"text": made.text, "after": made.after, "through": made.through}
        yield _line("summary", covered | {"tokens": made.tokens, "at": _written(made.at), "model": made.model})
    for entered in record.transitions:
        step: dict[str, JSONValue] = {"turn": entered.turn, "state": entered.state.value}
        yield _line("state", step | {"at": _written(entered.at), "error": entered.error})


def from_lines(lines: Iterable[str], *, owner: UserKey | None = None) -> ThreadRecord:
    """Return the record of those lines; with `owner`, as a thread of that person.

    Raises:
        InputError: a line is not of that form; it says which.
    """
    thread: Thread | None = None
    messages: list[Message] = []
    summaries: list[Summary] = []
    transitions: list[Transition] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            [(kind, fields)] = json.loads(line).items()
            if (kind == "thread") != (thread is None):
                raise ValueError(kind)  # noqa: TRY301 - one refusal for every bad line
            match kind:
                case "thread":
                    thread = _thread(fields, owner)
                case "message":
                    messages.append(replace(_message(fields), sequence=len(messages) + 1))
                case "summary":
                    summaries.append(_summary(fields))
                case _:
                    transitions.append(_transition(fields))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"line {number} is not a line of an exported thread") from error
    if thread is None:
        raise InputError("there is no thread in this file")
    return ThreadRecord(thread, tuple(messages), tuple(summaries), tuple(transitions))


def _line(kind: str, fields: dict[str, JSONValue]) -> str:
    text = json.dumps({kind: fields}, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace").decode()  # a lone surrogate is written as JSON escapes it


def _message_fields(message: Message) -> dict[str, JSONValue]:
    return message.to_wire() | {
        "at": _written(message.at),
        "turn": message.turn,
        "source_id": message.source_id,
        "memory_id": message.memory_id,
        "tokens": message.tokens,
        "duration_s": message.duration_s,
        "error": message.error,
        "pair": message.pair,
        **({"room": message.room} if message.room else {}),
        **({"off_record": True} if message.off_record else {}),
        **({"question": message.question.to_json()} if message.question else {}),
        **enclosures_to_json(message.attachments, message.quotes),
    }


def _message(fields: dict[str, Any]) -> Message:
    attachments, quotes = enclosures_from_json(fields)
    return Message(
        role=MessageRole(fields["role"]),
        content=fields["content"],
        modal=Modal(fields["modal"]),
        in_history=bool(fields["chat-history"]),
        at=_read(fields["at"]),
        turn=fields["turn"],
        source_id=fields["source_id"],
        memory_id=fields["memory_id"],
        tokens=int(fields["tokens"]),
        duration_s=fields["duration_s"],
        error=fields["error"],
        pair=fields["pair"],
        attachments=attachments,
        quotes=quotes,
        question=OpenQuestion.from_json(fields.get("question")),
        room=fields.get("room", ""),
        off_record=fields.get("off_record") is True,
    )


def _thread(fields: dict[str, Any], owner: UserKey | None) -> Thread:
    chat, user = ChatKey(**fields["chat"]), owner or UserKey(**fields["user"])
    if not is_thread_id(fields["id"]):
        raise ValueError(THREAD_ID_RULE)
    return Thread(
        id=fields["id"],
        conversation=ConversationKey(replace(chat, platform=user.platform), user),
        created_at=datetime.fromisoformat(fields["created_at"]),
        updated_at=datetime.fromisoformat(fields["updated_at"]),
        status=ThreadStatus(fields["status"]),
        title=fields["title"],
        policy=fields["policy"],
        metadata=dict(fields["metadata"]),
    )


def _summary(fields: dict[str, Any]) -> Summary:
    covered = (int(fields["through"]), int(fields["after"]), int(fields["tokens"]))
    return Summary(fields["text"], *covered, _read(fields["at"]), fields["model"])


def _transition(fields: dict[str, Any]) -> Transition:
    at = datetime.fromisoformat(fields["at"])
    return Transition(fields["turn"], TurnState(fields["state"]), at, fields["error"])


def _written(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _read(at: str | None) -> datetime | None:
    return None if at is None else datetime.fromisoformat(at)
