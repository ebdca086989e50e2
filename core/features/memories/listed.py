"""Lists of memories: people name a memory by its number in the list shown last in their conversation, or by its id."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from core.commands.command import Request
from core.features.memories.card import entry, mark
from core.outgoing import Button, memory_line
from core.stores import KeptStore
from core.text.days import noted
from core.types import ConversationKey, MemoryHit, MemoryItem, UserKey

PAGE_SIZE: Final = 10
_MAX_LISTS: Final = 20
_MAX_NUMBER_CHARS: Final = 6


class ListedMemories:
    """Show lists, and keep for all workers which memory each number stands for, until the next list there.

    `kept` has the lists of one person under one name, for the conversations in which they saw one last. Lists of a
    further `kind` are of other things than memories.
    """

    def __init__(self, kept: KeptStore, kind: str = "memories") -> None:
        self._kept = kept
        self._kind = kind

    async def show(
        self,
        request: Request,
        title: str,
        items: Sequence[MemoryItem],
        *,
        origin: str = "",
        before: int = 0,
        after: str = "",
        choices: Sequence[Button] = (),
    ) -> None:
        """Show the items, numbered from `before` + 1; `origin` is the command, without "/", that shows them again."""
        numbered = dict(enumerate(items, before + 1))
        await self.put(request.incoming.conversation, {number: item.id for number, item in numbered.items()})
        zone = request.person.zone
        lines = [
            f"{number}. {mark(item)}{memory_line(noted(item, zone, request.locale))}"
            for number, item in numbered.items()
        ]
        menu = [entry(number, item, origin) for number, item in numbered.items()]
        await request.answer.tell(
            "\n".join([title, *lines, *(["", after] if after else [])]), choices=choices, menu=menu
        )

    async def named(self, request: Request, name: str) -> MemoryItem | None:
        """Return the person's memory of that number or id; None if they have none, also for an id of others (T15)."""
        here = request.incoming.conversation
        memory_id = await self.memory_id(here, int(name)) if is_number(name) else name.casefold()
        return next(iter(await request.turn.memory.get([memory_id])), None) if memory_id else None

    async def put(self, conversation: ConversationKey, memory_ids: Mapping[int, str]) -> None:
        """Keep a list that was just shown; the person's oldest lists go first."""
        here = _place(conversation)

        def change(kept: str | None) -> str:
            lists = json.loads(kept or "{}")
            lists.pop(here, None)
            lists[here] = memory_ids
            return json.dumps(dict([*lists.items()][-_MAX_LISTS:]))

        await self._kept.change(self._name(conversation.user), change)

    async def memory_id(self, conversation: ConversationKey, number: int) -> str:
        """Return the id of the memory that has the number in the last list there, or ""."""
        lists = json.loads(await self._kept.get(self._name(conversation.user)) or "{}")
        return str(lists.get(_place(conversation), {}).get(str(number), ""))

    async def forget(self, user: UserKey) -> None:
        """Drop the lists shown to that account."""
        await self._kept.delete(self._name(user))

    def _name(self, user: UserKey) -> str:
        return f"listed:{self._kind}:{user}"


def _place(conversation: ConversationKey) -> str:
    return json.dumps([conversation.chat.chat, conversation.chat.thread])


def is_number(name: str) -> bool:
    """Whether the text can be a number in a list."""
    return name.isascii() and name.isdecimal() and len(name) <= _MAX_NUMBER_CHARS


async def found(request: Request, query: str) -> Sequence[MemoryHit]:
    """Return what a search finds, the best first, at most a page."""
    memory = request.turn.memory
    return await memory.search([query], await memory.embed_queries([query]), limit=PAGE_SIZE)
