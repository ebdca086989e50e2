"""Every message ever said, in dicts: the reference, for tests and for those who keep nothing."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from core.errors import StorageError
from core.storage.record import random_id, storable
from core.stores import HistoryStore, Quoted, Said
from core.threads import Summary, ThreadRecord, Transition
from core.types import ConversationKey, JSONValue, MemoryDraft, Message, Modal, Span, Thread, ThreadStatus, UserKey
from tests.reference.said_before import search
from tests.reference.told_memories import InMemoryTold


class InMemoryHistory(InMemoryTold, HistoryStore):
    """Gone with the process."""

    def __init__(self) -> None:
        super().__init__()
        self._transitions: dict[str, list[Transition]] = {}
        self._ids = itertools.count(1)

    async def open_thread(
        self, conversation: ConversationKey, at: datetime, metadata: Mapping[str, JSONValue] | None = None
    ) -> Thread:
        """Return the conversation's one active thread, made now if there is none, with the policy of the last one."""
        if active := self._active(conversation):
            return active
        earlier = [thread for thread in self._threads.values() if thread.conversation == conversation]
        policy = max(earlier, key=lambda thread: thread.updated_at).policy if earlier else ""
        told = dict(metadata or {})
        thread = Thread(random_id(), conversation, created_at=at, updated_at=at, policy=policy, metadata=told)
        self._keep(thread)
        return thread

    async def mark(self, thread_id: str, status: ThreadStatus, at: datetime) -> Thread | None:
        """Give a thread another status and return it; one that becomes active archives the one that was."""
        if thread_id not in self._threads:
            return None
        active = self._active(self._threads[thread_id].conversation)
        if status is ThreadStatus.ACTIVE and active is not None and active.id != thread_id:
            await self.mark(active.id, ThreadStatus.ARCHIVED, at)
        marked = self._threads[thread_id] = replace(self._threads[thread_id], status=status, updated_at=at)
        return marked

    async def thread(self, thread_id: str) -> Thread | None:
        """Return the thread, whatever its status, or None."""
        return self._threads.get(thread_id)

    async def threads(self, user: UserKey) -> Sequence[Thread]:
        """Return all of that person's threads, the one used last first."""
        mine = sorted((t for t in self._threads.values() if t.conversation.user == user), key=lambda t: t.id)
        return sorted(mine, key=lambda thread: (thread.updated_at, thread.status is ThreadStatus.ACTIVE), reverse=True)

    async def describe(self, thread: Thread) -> None:
        """Give the kept thread of that id the title, policy and metadata of this one."""
        if kept := self._threads.get(thread.id):
            told = replace(kept, title=thread.title, policy=thread.policy, metadata=dict(thread.metadata))
            self._threads[thread.id] = told

    async def append(self, thread_id: str, message: Message, entered: Sequence[Transition] = ()) -> Message:
        """Keep it with the states that its turn had entered; return it with its id and sequence.

        A known non-empty source_id returns the kept one, and keeps the states only.
        """
        await self.enter(thread_id, *entered)
        for known in self._messages[thread_id]:
            if message.source_id and known.source_id == message.source_id:
                return known
        stored = replace(message, id=next(self._ids), sequence=len(self._messages[thread_id]) + 1)
        self._messages[thread_id].append(stored)
        thread = self._threads[thread_id]
        if message.at is not None:
            self._threads[thread_id] = replace(thread, updated_at=max(thread.updated_at, message.at))
        return stored

    async def update(self, thread_id: str, messages: Sequence[Message]) -> Sequence[Message]:
        """Make these all the messages of the thread, numbered anew, and return them as they are kept."""
        self._check(thread_id)
        known = {message.id for message in self._messages[thread_id]}
        self._messages[thread_id] = [
            replace(message, id=message.id if message.id in known else next(self._ids), sequence=sequence)
            for sequence, message in enumerate(messages, 1)
        ]
        self._summaries[thread_id].clear()
        return await self.since(thread_id)

    async def delete(self, thread_id: str) -> None:
        """Remove every message and summary of the thread, and the states of its turns; the thread itself stays."""
        for kept in (self._messages, self._summaries, self._transitions):
            kept.get(thread_id, []).clear()

    async def tail(self, thread_id: str, limit: int, *, before: int = 0) -> Sequence[Message]:
        """Return the newest `limit` messages, oldest first; with `before`, of those with a smaller sequence."""
        messages = self._messages.get(thread_id, [])
        older = messages[: before - 1] if before else messages
        return older[-limit:] if limit > 0 else []

    async def since(self, thread_id: str, after: int = 0, limit: int = 2**62) -> Sequence[Message]:
        """Return the oldest `limit` messages with a sequence greater than `after`, oldest first."""
        return self._messages.get(thread_id, [])[after : after + max(limit, 0)]

    async def totals(self, thread_id: str, after: int = 0) -> tuple[int, int]:
        """Return how many messages there are with a sequence greater than `after`, and how many tokens they cost."""
        messages = self._messages.get(thread_id, [])[after:]
        return len(messages), sum(message.tokens for message in messages)

    async def said(self, user: UserKey, ids: Sequence[int]) -> Sequence[Said]:
        """Return those of the messages that are in threads of that person's, and where each was said, as asked."""
        mine = {
            message.id: Said(message, thread.conversation.chat)
            for thread in await self.threads(user)
            for message in self._messages[thread.id]
        }
        return [mine[i] for i in dict.fromkeys(ids) if i in mine]

    async def search(
        self,
        users: Sequence[UserKey],
        query: str,
        *,
        limit: int,
        room: str = "",
        said: Span | None = None,
        skip: Collection[int] = (),
    ) -> Sequence[Quoted]:
        """Return up to `limit` past messages of these accounts, and answers to them, by their words, the best first."""
        talks = [(thread, self._messages[thread.id]) for user in users for thread in await self.threads(user)]
        return search(talks, query, limit=limit, room=room, said=said, skip=skip)

    async def asked(self, conversation: ConversationKey, source_ids: Collection[str]) -> Sequence[Message]:
        """Return the messages of those source ids in all threads of the conversation, oldest first."""
        wanted = set(source_ids) - {""}
        talks = [self._messages[t.id] for t in self._threads.values() if t.conversation == conversation]
        found = [message for messages in talks for message in messages if message.source_id in wanted]
        return sorted(found, key=lambda message: message.id)

    async def retract(self, conversation: ConversationKey, source_ids: Collection[str]) -> None:
        """Clear the turns that began with those messages."""
        begun = {message.id: message.turn for message in await self.asked(conversation, source_ids)}
        for thread_id, messages in self._messages.items():
            turns = {message.turn for message in messages if message.id in begun and message.turn}
            for at, message in enumerate(messages):
                if message.turn in turns:
                    blank = replace(message, modal=Modal.TEXT_FOR_REPLACE, content="", memory_id="", offered=())
                    messages[at] = replace(blank, attachments=(), quotes=(), question=None)
                    self._told.pop(message.id, None)
                    kept = self._summaries[thread_id]
                    kept[:] = [summary for summary in kept if summary.through < message.sequence]

    async def shown_memories(self, thread_id: str) -> frozenset[str]:
        """Return the ids of all memories ever shown in the thread."""
        return frozenset(message.memory_id for message in self._messages.get(thread_id, []) if message.memory_id)

    async def offer(self, message_id: int, drafts: Sequence[MemoryDraft]) -> None:
        """Set what the person may have saved from a message of theirs; it goes with its words."""
        for said in self._messages.values():
            said[:] = [replace(m, offered=tuple(drafts)) if m.id == message_id else m for m in said]

    async def summary(self, thread_id: str) -> Summary | None:
        """Return the newest summary."""
        kept = self._summaries.get(thread_id, [])
        return kept[-1] if kept else None

    async def drop_summaries(self, thread_id: str, after: int) -> None:
        """Remove the summaries that tell of a message with a sequence greater than `after`."""
        kept = self._summaries.get(thread_id, [])
        kept[:] = [summary for summary in kept if summary.through <= after]

    async def summaries(self, thread_id: str) -> Sequence[Summary]:
        """Return every summary, oldest first: together they tell which messages each rests on."""
        return tuple(self._summaries.get(thread_id, []))

    async def fold(self, thread_id: str, summary: Summary) -> bool:
        """Keep the summary if the newest one ends at its `after` (0: if there is none); False, and nothing, if not."""
        self._check(thread_id)
        kept = self._summaries[thread_id]
        if (kept[-1].through if kept else 0) != summary.after or summary.through <= summary.after:
            return False
        kept.append(replace(summary, text=storable(summary.text)))
        return True

    async def enter(self, thread_id: str, *entered: Transition) -> None:
        """Keep that a turn entered these states."""
        self._check(thread_id)
        self._transitions[thread_id].extend(entered)

    async def transitions(self, thread_id: str, turn: str = "") -> Sequence[Transition]:
        """Return the states that the turn entered (every turn, for ""), oldest first."""
        return [entered for entered in self._transitions.get(thread_id, []) if turn in {"", entered.turn}]

    async def restore(self, record: ThreadRecord) -> Thread:
        """Keep a thread whole, as it is; its messages get new ids."""
        given = record.thread
        active = given.status is ThreadStatus.ACTIVE and self._active(given.conversation) is not None
        thread = replace(
            given,
            id=random_id() if given.id in self._threads else given.id,
            status=ThreadStatus.ARCHIVED if active else given.status,
            title=storable(given.title),
        )
        self._keep(thread)
        for message in record.messages:
            await self.append(thread.id, message)
        self._threads[thread.id] = thread
        self._summaries[thread.id] += record.summaries
        self._transitions[thread.id] += record.transitions
        return thread

    async def purge(self) -> None:
        """Do nothing: a `forget` is never cut short."""

    async def forget(self, user: UserKey) -> None:
        """Remove every thread and message of that person's."""
        for thread in await self.threads(user):
            for message in self._messages[thread.id]:
                self._told.pop(message.id, None)
            for kept in (self._threads, self._messages, self._summaries, self._transitions):
                kept.pop(thread.id)

    def _active(self, conversation: ConversationKey) -> Thread | None:
        active = (t for t in self._threads.values() if t.conversation == conversation)
        return next((thread for thread in active if thread.status is ThreadStatus.ACTIVE), None)

    def _keep(self, thread: Thread) -> None:
        self._threads[thread.id] = thread
        self._messages[thread.id] = []
        self._summaries[thread.id] = []
        self._transitions[thread.id] = []

    def _check(self, thread_id: str) -> None:
        if thread_id not in self._threads:
            raise StorageError("there is no such thread")
