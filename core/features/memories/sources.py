"""Read the messages that a memory comes from, and tell when and where each was said."""

from __future__ import annotations

from core.clock import zone_name
from core.commands.command import Request
from core.stores import Said
from core.text.catalogue import text
from core.text.markdown import verbatim
from core.types import MemoryItem, room_name


async def messages_of(request: Request, item: MemoryItem) -> list[Said]:
    """Return the messages of a memory that still have words, of all accounts of the person, the oldest first."""
    memory, store = request.turn.memory, request.turn.conversation.store
    said = [
        each
        for account in await memory.store.accounts(request.incoming.user)
        for each in await store.said(account, item.source_ids)
        if each.message.text  # not removed at the person's wish
    ]
    return sorted(said, key=lambda each: each.message.id)


def where_said(request: Request, said: Said, item: MemoryItem) -> str:
    """Return date, platform and room of a message; a chat that is none of the memory's rooms was private."""
    locale, room, at = request.locale, room_name(said.chat), said.message.at
    date = ""
    if at is not None:
        local = at.astimezone(request.person.zone)
        date = f"{local:%Y-%m-%d %H:%M} {zone_name(local)} · "
    said_in = IN_ROOM[locale].format(room=verbatim(room)) if room in item.rooms else IN_PRIVATE[locale]
    return f"{date}{said.chat.platform} · {said_in}"


IN_PRIVATE = text("memories.source.in_private")
IN_ROOM = text("memories.source.in_room")
