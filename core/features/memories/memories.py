"""/memories and /recall: a person looks through what is remembered of them. Knows pages and the numbers on them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from core.commands.command import Command, Request
from core.features.memories.card import entry, mark, show_card
from core.features.memories.edit import edit
from core.features.memories.flags import pin, unpin
from core.features.memories.names import is_number, named, tell_unknown
from core.features.memories.source import source
from core.outgoing import Button
from core.text.catalogue import text
from core.turn import memory_line
from core.types import MemoryItem, MemoryKind

PAGE_SIZE: Final = 10


async def memories(request: Request, argument: str) -> None:
    """Show a page of the person's memories or of one kind, one of them, or those that match some words."""
    first, *rest = argument.split(maxsplit=2)[:3] or [""]
    kind = next((kind for kind in MemoryKind if kind.value == first.casefold()), None)
    number = rest[0] if kind and rest else "1" if kind else first or "1"
    if verb := VERBS.get(first.casefold()) if rest else None:
        await _one(request, verb, *rest)
    elif is_number(number) and len(rest) <= (kind is not None):
        await _page(request, kind, int(number))
    elif not rest and (item := await named(request, first)) is not None:
        await show_card(request, item)
    else:
        await recall(request, argument)


async def recall(request: Request, query: str) -> None:
    """Search as the bot does, and show what was found."""
    if not query:
        await request.tell(HOW_TO_RECALL)
        return
    items = await found(request, query)
    title = (FOUND if items else NONE_FOUND)[request.locale]
    await show_list(request, title, items, origin=f"recall {query}")


async def found(request: Request, query: str) -> list[MemoryItem]:
    """Return what a search finds of it, the best first."""
    memory = request.turn.memory
    return [hit.item for hit in await memory.search([query], await memory.embed([query]), limit=PAGE_SIZE)]


async def show_list(
    request: Request,
    title: str,
    items: Sequence[MemoryItem],
    *,
    origin: str = "",
    before: int = 0,
    after: str = "",
    choices: Sequence[Button] = (),
) -> None:
    """Show the items numbered from `before` + 1, and note which number stands for which."""
    numbered = dict(enumerate(items, before + 1))
    request.context.listed.put(request.incoming.conversation, {number: item.id for number, item in numbered.items()})
    lines = [f"{number}. {mark(item)}{memory_line(item, request.turn.zone)}" for number, item in numbered.items()]
    menu = [entry(number, item, origin) for number, item in numbered.items()]
    await request.turn.tell("\n".join([title, *lines, *(["", after] if after else [])]), choices=choices, menu=menu)


async def _one(
    request: Request, verb: Callable[[Request, MemoryItem, str], Awaitable[None]], name: str, rest: str = ""
) -> None:
    item = await named(request, name)
    if item is None:
        await request.context.stores.pending_inputs.drop(request.incoming.conversation)
        await tell_unknown(request)
    else:
        await verb(request, item, rest)


async def _page(request: Request, kind: MemoryKind | None, number: int) -> None:
    locale, total = request.locale, await request.turn.memory.count(kind)
    if not total:
        await request.tell(NO_MEMORIES if kind is None else NONE_OF_KIND)
        return
    pages = -(-total // PAGE_SIZE)
    number = min(max(number, 1), pages)
    before = (number - 1) * PAGE_SIZE
    items = await request.turn.memory.page(limit=PAGE_SIZE, skip=before, kind=kind)
    origin = f"memories {kind.value} " if kind else "memories "
    turns = [(PREVIOUS, number - 1), (NEXT, number + 1)]
    choices = [Button(label[locale], f"/{origin}{to}", in_place=True) for label, to in turns if 1 <= to <= pages]
    await show_list(
        request,
        TITLE[locale].format(total=total),
        items,
        origin=f"{origin}{number}",
        before=before,
        after=PAGE[locale].format(number=number, pages=pages) if pages > 1 else "",
        choices=choices,
    )


VERBS: Final = {"show": show_card, "source": source, "edit": edit, "pin": pin, "unpin": unpin}
"""What can be done with one memory, named by its id or number."""

TITLE = text("memories.list.title")
FOUND = text("memories.list.found")
NONE_FOUND = text("memories.list.none_found")
NO_MEMORIES = text("memories.list.no_memories")
NONE_OF_KIND = text("memories.list.none_of_kind")
PAGE = text("memories.list.page")
PREVIOUS = text("memories.list.previous")
NEXT = text("memories.list.next")
HOW_TO_RECALL = text("memories.list.how_to_recall")

MEMORIES = Command(
    "memories",
    text("commands.memories"),
    memories,
    usage=" [N | text | json | …]",
    in_private=True,
)
RECALL = Command(
    "recall",
    text("commands.recall"),
    recall,
    usage=" …",
    in_private=True,
)
