"""How a person names a memory: by its id, or by its number in the last list there. Knows nobody else's memories."""

from __future__ import annotations

from typing import Final

from core.commands.command import Request
from core.features.memories.card import back
from core.text.catalogue import text
from core.types import MemoryItem

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


NO_SUCH_MEMORY = text("memories.named.no_such_memory")
TO_THE_LIST = text("memories.named.to_the_list")
