"""How a person names a memory: by its id, or by its number in the last list there. Knows nobody else's memories."""

from __future__ import annotations

from typing import Final

from core.commands.command import Request
from core.features.memories.card import back
from core.types import Locale, Localized, MemoryItem

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
_MAX_NUMBER_CHARS: Final = 6


def is_number(name: str) -> bool:
    """Whether that may be the number of something in a list."""
    return name.isascii() and name.isdecimal() and len(name) <= _MAX_NUMBER_CHARS


async def named(request: Request, name: str) -> MemoryItem | None:
    """Return the memory of this person's that is named so, or None: an id of another's names nothing (T15)."""
    memory_id = (
        request.context.listed.memory_id(request.incoming.conversation, int(name))
        if is_number(name)
        else name.casefold()
    )
    return next(iter(await request.turn.memory.get([memory_id])), None) if memory_id else None


async def tell_unknown(request: Request) -> None:
    """Say that there is no such memory."""
    await request.turn.tell(NO_SUCH_MEMORY[request.locale], choices=[back(request.locale, "", TO_THE_LIST)])


NO_SUCH_MEMORY: Localized = {
    PT: "Não sei qual memória é essa: pode já ter sido apagada, ou o número é de outra lista. Veja /memories; para "
    "procurar por palavras, /recall.",
    EN: "I do not know which memory that is: it may be deleted already, or the number is from another list. See "
    "/memories; to search by words, /recall.",
    ES: "No sé qué memoria es esa: puede estar ya borrada, o el número es de otra lista. Mira /memories; para buscar "
    "con palabras, /recall.",
}
TO_THE_LIST: Localized = {PT: "📋 Minhas memórias", EN: "📋 My memories", ES: "📋 Mis memorias"}
