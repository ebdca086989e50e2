"""What a person says of a memory besides its content: that it stands first, that it may be spoken of in rooms."""

from __future__ import annotations

from core.commands.command import Request
from core.features.memories.card import show_card
from core.features.memories.names import named, tell_unknown
from core.types import Locale, Localized, MemoryItem

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES


async def pin(request: Request, item: MemoryItem, origin: str) -> None:
    """Let it stand first in lists."""
    await _flag(request, item, origin, PINNED, pinned=True)


async def unpin(request: Request, item: MemoryItem, origin: str) -> None:
    """Let it stand where its age puts it."""
    await _flag(request, item, origin, UNPINNED, pinned=False)


async def share(request: Request, argument: str, *, shared: bool) -> None:
    """Let the memory that the argument names be spoken of in every room where its owner talks to the bot, or not."""
    name, _, origin = argument.partition(" ")
    item = await named(request, name)
    if not name:
        await request.tell(HOW_TO_SHARE)
    elif item is None:
        await tell_unknown(request)
    else:
        await _flag(request, item, origin.strip(), NOW_SHARED if shared else NOT_SHARED, shared=shared)


async def _flag(
    request: Request,
    item: MemoryItem,
    origin: str,
    told: Localized,
    *,
    pinned: bool | None = None,
    shared: bool | None = None,
) -> None:
    flagged = await request.turn.memory.flag(item.id, pinned=pinned, shared=shared)
    if flagged is None:
        await tell_unknown(request)
    else:
        await show_card(request, flagged, origin, told=told[request.locale])


PINNED: Localized = {
    PT: "Fixei: vem primeiro nas listas.",
    EN: "Pinned: it comes first in lists.",
    ES: "La fijé: va primero en las listas.",
}
UNPINNED: Localized = {PT: "Já não está fixada.", EN: "No longer pinned.", ES: "Ya no está fijada."}
NOW_SHARED: Localized = {
    PT: "Compartilhada: posso falar dela nas salas em que você fala comigo, e quem estiver lá lê.",
    EN: "Shared: I may speak of it in rooms where you talk to me, and whoever is there reads it.",
    ES: "Compartida: puedo hablar de ella en las salas donde hablas conmigo, y quien esté allí la lee.",
}
NOT_SHARED: Localized = {
    PT: "Já não está compartilhada.",
    EN: "No longer shared.",
    ES: "Ya no está compartida.",
}
HOW_TO_SHARE: Localized = {
    PT: "Diga qual memória: /memory share NÚMERO (da última lista de /memories ou /recall), ou /memory share ID.",
    EN: "Say which memory: /memory share NUMBER (of the last list of /memories or /recall), or /memory share ID.",
    ES: "Di qué memoria: /memory share NÚMERO (de la última lista de /memories o /recall), o /memory share ID.",
}
