"""/memories and /recall: a person looks through what is remembered of them. Knows pages and the numbers on them."""

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
        await recall(request, argument)
        return
    memory = request.turn.memory
    total = await memory.count()
    if not total:
        await request.tell(NO_MEMORIES)
        return
    pages = -(-total // PAGE_SIZE)
    number = min(max(int(argument or "1"), 1), pages)
    text = _listed(request, TITLE, await _page(request, number), (number - 1) * PAGE_SIZE, total=total)
    if number < pages:
        text += "\n\n" + NEXT_PAGE[request.locale].format(number=number, pages=pages, following=number + 1)
    await request.turn.tell(text)


async def recall(request: Request, query: str) -> None:
    """Search as the bot does, and show what was found."""
    if not query:
        await request.tell(HOW_TO_RECALL)
        return
    memory = request.turn.memory
    hits = await memory.search([query], await memory.embed([query]), limit=PAGE_SIZE)
    items = [hit.item for hit in hits]
    await request.turn.tell(_listed(request, FOUND if items else NONE_FOUND, items, 0))


async def _page(request: Request, number: int) -> list[MemoryItem]:
    items: list[MemoryItem] = []
    for _ in range(number):
        items = list(await request.turn.memory.page(limit=PAGE_SIZE, before=items[-1].id if items else ""))
    return items


def _listed(request: Request, title: Localized, items: Sequence[MemoryItem], before: int, **values: object) -> str:
    """Return the items numbered from `before` + 1, and note which number stands for which."""
    numbered = dict(enumerate(items, before + 1))
    request.desk.note_list(request.incoming.conversation, {number: item.id for number, item in numbered.items()})
    lines = [f"{number}. {memory_line(item)}" for number, item in numbered.items()]
    return "\n".join([title[request.locale].format(**values), *lines])


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
HOW_TO_RECALL: Localized = {
    PT: "Escreva o que procurar: /recall senha do wi-fi",
    EN: "Write what to look for: /recall wifi password",
    ES: "Escribe qué buscar: /recall contraseña del wifi",
}

MEMORIES = Command(
    "memories",
    {PT: "lista ou procura suas memórias", EN: "list or search your memories", ES: "lista o busca tus memorias"},
    memories,
    usage=" [N | …]",
    in_private=True,
)
RECALL = Command(
    "recall",
    {PT: "procura nas suas memórias", EN: "search your memories", ES: "busca en tus memorias"},
    recall,
    usage=" …",
    in_private=True,
)
