"""What a person says of a memory besides its content: that it stands first, that it may be spoken of in rooms."""

from __future__ import annotations

from core.commands.command import Request
from core.features.memories.card import show_card
from core.features.memories.names import named, tell_unknown
from core.text.catalogue import text
from core.types import Localized, MemoryItem


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


PINNED = text("memories.flags.pinned")
UNPINNED = text("memories.flags.unpinned")
NOW_SHARED = text("memories.flags.now_shared")
NOT_SHARED = text("memories.flags.not_shared")
HOW_TO_SHARE = text("memories.flags.how_to_share")
