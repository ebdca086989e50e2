"""Where a memory comes from: the messages that it rests on. Knows the person's words, and says if they are gone."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, tzinfo
from typing import Final

from core.clock import zone_name
from core.commands.command import Request
from core.features.memories.card import SHOW, after, back, fenced, heading, place
from core.outgoing import Button
from core.stores import Said
from core.text.catalogue import forms, text
from core.text.markdown import verbatim
from core.text.plural import counted
from core.types import ChatKey, Locale, MemoryItem, room_name

_MAX_MESSAGES: Final = 10
_MAX_CHARS: Final = 1500
"""Of one message: what is longer is shown from its beginning."""


async def source(request: Request, item: MemoryItem, origin: str) -> None:
    """Show the messages that the memory rests on, with date, account and room."""
    said = await _said(request, item)
    versions = [
        each for change in await request.turn.memory.versions(item.id) for each in (change.before, change.after)
    ]
    rooms = {room for each in (item, *versions) if each for room in each.rooms}
    lines = [SOURCE_OF[request.locale].format(memory=heading(item))]
    for each in said[-_MAX_MESSAGES:]:
        message, where = each.message, _where(each.chat, rooms, request.locale)
        date = _date(message.at, request.turn.zone) if message.at else ""
        text = message.text if len(message.text) <= _MAX_CHARS else message.text[:_MAX_CHARS] + "…"
        lines += ["", f"{date}{where}", fenced(text)]
    if len(said) > _MAX_MESSAGES:
        lines += ["", counted(OLDER, request.locale, len(said) - _MAX_MESSAGES)]
    if gone := len(item.source_ids) - len(said):
        lines += ["", counted(GONE, request.locale, gone)]
    if not item.source_ids:
        lines += ["", NO_SOURCE[request.locale]]
    lines += ["", *place(request, item)]
    to_card = Button(SHOW[request.locale], after(f"/memories show {item.id}", origin), in_place=True)
    await request.turn.tell("\n".join(lines), choices=[to_card, back(request.locale, origin)])


async def _said(request: Request, item: MemoryItem) -> list[Said]:
    """Return the messages that are still kept, of every account of the person's, the oldest first."""
    kept = request.context.stores
    said = [
        each
        for account in await kept.memories.accounts(request.incoming.user)
        for each in await kept.history.said(account, item.source_ids)
        if each.message.text  # not removed at the person's wish
    ]
    return sorted(said, key=lambda each: each.message.id)


def _date(at: datetime, zone: tzinfo) -> str:
    local = at.astimezone(zone)
    return f"{local:%Y-%m-%d %H:%M} {zone_name(local)} · "


def _where(chat: ChatKey, rooms: Collection[str], locale: Locale) -> str:
    """Return the platform, and which room that was: what is none of those that the memory was heard in was private."""
    room = room_name(chat)
    place = IN_ROOM[locale].format(room=verbatim(room)) if room in rooms else IN_PRIVATE[locale]
    return f"{chat.platform} · {place}"


SOURCE_OF = text("memories.source.source_of")
IN_PRIVATE = text("memories.source.in_private")
IN_ROOM = text("memories.source.in_room")
OLDER = forms("memories.source.older")
GONE = forms("memories.source.gone")
NO_SOURCE = text("memories.source.no_source")
