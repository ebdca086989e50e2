"""Which messages tell of which memories, in dicts: the reference."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from core.threads import Summary, Told, ToldMemories
from core.types import Message, MessageRole, Thread, UserKey


class InMemoryTold(ToldMemories):
    """The part of `InMemoryHistory` that knows what its messages tell of."""

    def __init__(self) -> None:
        self._threads: dict[str, Thread] = {}
        self._messages: dict[str, list[Message]] = {}
        self._summaries: dict[str, list[Summary]] = {}
        self._told: dict[int, set[Told]] = {}

    async def tell(self, told: Mapping[int, Collection[Told]]) -> None:
        """Keep what each of those messages tells of; what is kept already is fine."""
        for message_id, those in told.items():
            self._told.setdefault(message_id, set()).update(those)

    async def told(self, message_ids: Sequence[int]) -> Mapping[int, Sequence[Told]]:
        """Map those of the messages that tell of memories to what they tell of."""
        key = {
            i: sorted(self._told[i], key=lambda each: (each.memory_id, each.version))
            for i in message_ids
            if i in self._told
        }
        return {i: told for i, told in key.items() if told}

    async def first_told(self, thread_id: str) -> Mapping[Told, int]:
        """Map what the thread tells of, and was not redacted, to the sequence of the first message that does."""
        first: dict[Told, int] = {}
        for message in self._messages.get(thread_id, []):
            for each in self._told.get(message.id, ()):
                if not each.redacted:
                    first.setdefault(each, message.sequence)
        return first

    async def told_by(self, user: UserKey) -> frozenset[Told]:
        """Return all that the person's threads tell of."""
        return frozenset(each for message, _ in self._of(user) for each in self._told.get(message.id, ()))

    async def tellers(self) -> Sequence[UserKey]:
        """Return everybody whose threads tell of what was not redacted."""
        users = {thread.conversation.user for thread in self._threads.values()}
        open_ = [user for user in users if any(not each.redacted for each in await self.told_by(user))]
        return sorted(open_, key=str)

    async def redact(self, user: UserKey, told: Collection[Told], *, own: bool = False) -> int:
        """Remove the words of the bot's messages that tell of those, and summaries; mark the person's own."""
        emptied = self._empty(user, told, {MessageRole.ASSISTANT})
        if own:
            return self._empty(user, told, {MessageRole.USER})
        wanted = {(each.memory_id, each.version) for each in told}
        for message, _ in self._of(user):
            kept = self._told.get(message.id, set())
            gone = {each for each in kept if (each.memory_id, each.version) in wanted}
            self._told[message.id] = (kept - gone) | {Told(each.memory_id, "", redacted=True) for each in gone}
        return emptied

    def _of(self, user: UserKey) -> list[tuple[Message, str]]:
        mine = [thread.id for thread in self._threads.values() if thread.conversation.user == user]
        return [(message, thread_id) for thread_id in mine for message in self._messages[thread_id]]

    def _empty(self, user: UserKey, told: Collection[Told], roles: Collection[MessageRole]) -> int:
        """Drop the summaries that rest on what tells of those, and the words of what of it has such a role."""
        wanted = {(each.memory_id, each.version) for each in told}
        emptied = 0
        for message, thread_id in self._of(user):
            if wanted.isdisjoint((each.memory_id, each.version) for each in self._told.get(message.id, ())):
                continue
            kept = self._summaries[thread_id]
            self._summaries[thread_id] = [summary for summary in kept if summary.through < message.sequence]
            if message.role in roles and message.content != "":
                blank = replace(message, content="", attachments=(), quotes=(), question=None, offered=())
                self._messages[thread_id][message.sequence - 1] = blank
                emptied += 1
        return emptied
