"""Numbered lists, page by page: people name a memory by its number in the list shown last where they are, or its id."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.commands.command import MOST_OFFERED, CompletionRequest, Request, offered
from core.features.memories.card import entry, mark
from core.memory.memories import Memories
from core.outgoing import Button, Suggestion, memory_line
from core.stores import KeptStore
from core.text.catalogue import text
from core.text.days import noted
from core.types import ConversationKey, MemoryItem, UserKey

PAGE_SIZE: Final = 10
_MAX_LISTS: Final = 20
_MAX_NUMBER_CHARS: Final = 6
_MOST_READ: Final = 500
"""Of the newest memories, in which typed letters are looked for."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a number of a list stands for: its id, its line, and the button that chooses it, both without the number."""

    id: str
    line: str
    button: Button


@dataclass(frozen=True, slots=True)
class Page:
    """The page of that number, of so many, or the nearest that there is; `command`, without "/", shows another."""

    command: str
    number: int
    pages: int

    @classmethod
    def of(cls, command: str, number: int, total: int) -> Page:
        """Return the page of a list of `total` rows."""
        pages = max(-(-total // PAGE_SIZE), 1)
        return cls(command, min(max(number, 1), pages), pages)

    @property
    def before(self) -> int:
        """How many rows come before it."""
        return (self.number - 1) * PAGE_SIZE


class ListedMemories:
    """Show lists, and keep for all workers which memory each number stands for, until the next list there.

    `kept` has the lists of one person under one name, for the conversations in which they saw one last. Lists of a
    further `kind` are of other things than memories.
    """

    def __init__(self, kept: KeptStore, kind: str = "memories") -> None:
        self._kept = kept
        self._kind = kind

    async def show_memories(
        self,
        request: Request,
        title: str,
        items: Sequence[MemoryItem],
        *,
        origin: str,
        page: Page | None = None,
        after: str = "",
        choices: Sequence[Button] = (),
    ) -> None:
        """Show memories; `origin` is the command, without "/", that shows them again."""
        zone, locale = request.person.zone, request.locale
        lines = [f"{mark(item)}{memory_line(noted(item, zone, locale))}" for item in items]
        rows = [Row(item.id, line, entry(item, origin)) for item, line in zip(items, lines, strict=True)]
        await self.show(request, title, rows, page=page, after=after, choices=choices)

    async def show(
        self,
        request: Request,
        title: str,
        rows: Sequence[Row],
        *,
        page: Page | None = None,
        after: str = "",
        choices: Sequence[Button] = (),
    ) -> None:
        """Show the rows of a page, numbered through all pages, with buttons for each row and for the pages beside."""
        locale, page = request.locale, page or Page("", 1, 1)
        numbered = dict(enumerate(rows, page.before + 1))
        await self.put(request.incoming.conversation, {number: row.id for number, row in numbered.items()})
        lines = [title, *(f"{number}. {row.line}" for number, row in numbered.items())]
        if page.pages > 1:
            after = PAGE[locale].format(number=page.number, pages=page.pages, command=page.command)
        turns = [
            Button(label[locale], f"/{page.command} {to}", in_place=True)
            for label, to in ((PREVIOUS, page.number - 1), (NEXT, page.number + 1))
            if 1 <= to <= page.pages
        ]
        menu = [replace(row.button, label=f"{number}. {row.button.label}") for number, row in numbered.items()]
        lines += ["", after] if after else []
        await request.answer.tell("\n".join(lines), choices=[*turns, *choices], menu=menu)

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


@dataclass(frozen=True, slots=True)
class MemoryCompletion:
    """Offers the newest memories with the typed letters in them, then what the typed words find; only in private."""

    memories: Memories

    async def __call__(self, request: CompletionRequest) -> Sequence[Suggestion]:
        """Return the memories by their ids."""
        if not request.incoming.private:
            return ()
        memory = self.memories.of(await self.memories.owner(request.incoming.user))
        found = offered(request.typed, map(_choice, await memory.page(limit=_MOST_READ)))
        if request.typed and len(found) < MOST_OFFERED:
            hits = [_choice(hit.item) for hit in await memory.search([request.typed], {}, limit=MOST_OFFERED)]
            found = list({choice.value: choice for choice in (*found, *offered("", hits))}.values())
        return found[:MOST_OFFERED]


def _choice(item: MemoryItem) -> Suggestion:
    return Suggestion(f"{mark(item)}{item.bindings[0]}: {item.content}", item.id)


PAGE = text("memories.list.page")
PREVIOUS = text("memories.list.previous")
NEXT = text("memories.list.next")
