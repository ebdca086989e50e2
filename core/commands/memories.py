"""/memories: a person looks through what is remembered of them. Knows pages. Does not know how a search is scored."""

from __future__ import annotations

from collections.abc import Sequence

from core.commands.command import Command, Request
from core.turn import memory_line
from core.types import Locale, Localized, MemoryItem

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
PAGE_SIZE = 10


async def memories(request: Request, argument: str) -> None:
    """Show a page of the person's memories, or those that match some words."""
    if argument and not argument.isdecimal():
        await show_found(request, argument)
        return
    memory = request.turn.memory
    total = await memory.count()
    if not total:
        await request.tell(NO_MEMORIES)
        return
    pages = -(-total // PAGE_SIZE)
    number = min(max(int(argument or "1"), 1), pages)
    text = _listed(TITLE[request.locale].format(total=total), await _page(request, number), (number - 1) * PAGE_SIZE)
    if number < pages:
        text += "\n\n" + NEXT_PAGE[request.locale].format(number=number, pages=pages, following=number + 1)
    await request.turn.tell(text)


async def show_found(request: Request, query: str) -> None:
    """Search, and show what was found, numbered."""
    memory = request.turn.memory
    hits = await memory.search([query], await memory.embed([query]), limit=PAGE_SIZE)
    title = (FOUND if hits else NONE_FOUND)[request.locale]
    await request.turn.tell(_listed(title, [hit.item for hit in hits], 0))


async def _page(request: Request, number: int) -> list[MemoryItem]:
    items: list[MemoryItem] = []
    for _ in range(number):
        items = list(await request.turn.memory.page(limit=PAGE_SIZE, before=items[-1].id if items else ""))
    return items


def _listed(title: str, items: Sequence[MemoryItem], before: int) -> str:
    return "\n".join([title, *(f"{number}. {memory_line(item)}" for number, item in enumerate(items, before + 1))])


TITLE: Localized = {PT: "Suas memórias ({total}):", EN: "Your memories ({total}):", ES: "Tus memorias ({total}):"}
FOUND: Localized = {PT: "Encontrei:", EN: "Found:", ES: "Encontré:"}
NONE_FOUND: Localized = {
    PT: "Não encontrei nada com isso.",
    EN: "Nothing matches that.",
    ES: "No encontré nada con eso.",
}
NO_MEMORIES: Localized = {
    PT: "Você ainda não me pediu para lembrar de nada.",
    EN: "You have not asked me to remember anything yet.",
    ES: "Todavía no me pediste que recordara nada.",
}
NEXT_PAGE: Localized = {
    PT: "Página {number} de {pages}. Próxima: /memories {following}",
    EN: "Page {number} of {pages}. Next: /memories {following}",
    ES: "Página {number} de {pages}. Siguiente: /memories {following}",
}

MEMORIES = Command(
    "memories",
    {PT: "lista ou procura suas memórias", EN: "list or search your memories", ES: "lista o busca tus memorias"},
    memories,
    usage=" [N | …]",
    in_private=True,
)
