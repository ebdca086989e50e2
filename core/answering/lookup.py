"""What a person looks up outside of a turn, storing nothing: memories while they type, and while the disk is full."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from core.answering.hooks import Verdict
from core.answering.parts import ChatBotParts
from core.answering.sentences import STILL_KNOWN
from core.outgoing import memory_line
from core.stores import ChangeContext
from core.text.days import noted
from core.types import Incoming, Locale, MemoryItem, Role, room_name

_MAX_SHOWN: Final = 10

_log = logging.getLogger(__name__)


async def role_of(parts: ChatBotParts, incoming: Incoming) -> Role | None:
    """Return the role of a person who may be answered there, or None."""
    gate = parts.hooks.gate
    return await gate.role_here(incoming) if await gate.recheck(incoming) is Verdict.ANSWER else None


async def find(parts: ChatBotParts, incoming: Incoming, limit: int) -> Sequence[MemoryItem]:
    """Return the memories of the sender that the text finds, or the newest; none if that fails or is not allowed."""
    try:
        if await role_of(parts, incoming) is None:
            return ()
        owner = await parts.memories.owner(incoming.user)
        context = ChangeContext("", "" if incoming.private else room_name(incoming.chat), incoming.user)
        memory = parts.memories.of(owner, context)
        if not (query := incoming.text.strip()):
            return await memory.page(limit=limit)
        return [hit.item for hit in await memory.find(query, limit=limit)]
    except Exception:  # noqa: BLE001  (what was not found can be asked for)
        _log.exception("nothing found")
        return ()


async def still_known(parts: ChatBotParts, incoming: Incoming, locale: Locale) -> str:
    """Return the memories that a message looks for while nothing can be stored; "" if it looks for none.

    A question finds by its own words: no model is asked, as its call could not be counted.
    """
    words = parts.commands.searched(incoming.text)
    if "?" in incoming.text and not incoming.text.startswith("/"):
        words = incoming.text
    if words is None or not incoming.private:
        return ""
    found = await find(parts, replace(incoming, text=words), _MAX_SHOWN)
    lines = [f"• {memory_line(noted(item, parts.conversations.zone, locale))}" for item in found]
    return "\n".join([STILL_KNOWN[locale], *lines]) if lines else ""
