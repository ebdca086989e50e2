"""Lists of memories: people name a memory by its number in the list shown last in their conversation, or by its id."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from core.commands.command import Request
from core.features.memories.card import entry, mark
from core.outgoing import Button, memory_line
from core.types import ConversationKey, MemoryItem, UserKey

PAGE_SIZE: Final = 10
_MAX_LISTS: Final = 1000
_MAX_NUMBER_CHARS: Final = 6


class ListedMemories:
    """Show lists, and keep in RAM which memory each number stands for, until the next list there or the next start."""

    def __init__(self) -> None:
        self._lists: dict[ConversationKey, Mapping[int, str]] = {}

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
        self.put(request.incoming.conversation, {number: item.id for number, item in numbered.items()})
        zone = request.turn.zone
        lines = [f"{number}. {mark(item)}{memory_line(item.in_zone(zone))}" for number, item in numbered.items()]
        menu = [entry(number, item, origin) for number, item in numbered.items()]
        await request.turn.tell("\n".join([title, *lines, *(["", after] if after else [])]), choices=choices, menu=menu)

    async def named(self, request: Request, name: str) -> MemoryItem | None:
        """Return the person's memory of that number or id; None if they have none, also for an id of others (T15)."""
        memory_id = self.memory_id(request.incoming.conversation, int(name)) if is_number(name) else name.casefold()
        return next(iter(await request.turn.memory.get([memory_id])), None) if memory_id else None

    def put(self, conversation: ConversationKey, memory_ids: Mapping[int, str]) -> None:
        """Keep a list that was just shown; the oldest lists go first."""
        self._lists.pop(conversation, None)
        if len(self._lists) >= _MAX_LISTS:
            self._lists.pop(next(iter(self._lists)))
        self._lists[conversation] = memory_ids

    def memory_id(self, conversation: ConversationKey, number: int) -> str:
        """Return the id of the memory that has the number in the last list there, or ""."""
        return self._lists.get(conversation, {}).get(number, "")

    def forget(self, accounts: Collection[UserKey]) -> None:
        """Drop the lists shown to these accounts."""
        self._lists = {where: ids for where, ids in self._lists.items() if where.user not in accounts}


def is_number(name: str) -> bool:
    """Whether the text can be a number in a list."""
    return name.isascii() and name.isdecimal() and len(name) <= _MAX_NUMBER_CHARS


async def found(request: Request, query: str) -> list[MemoryItem]:
    """Return the memories that a search finds, the best first, at most a page."""
    memory = request.turn.memory
    return [hit.item for hit in await memory.search([query], await memory.embed_queries([query]), limit=PAGE_SIZE)]
