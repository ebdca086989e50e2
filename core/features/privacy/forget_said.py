"""/forget said: removes the person's own messages that told of memories which are deleted or replaced."""

from __future__ import annotations

from core.commands.command import Request
from core.history.withholding import Redaction
from core.text.catalogue import forms, text
from core.text.plural import counted


async def forget_said(request: Request, memory_id: str) -> None:
    """Remove the messages that told of that memory, or of any, on every account of the person's."""
    history, store = request.context.stores.history, request.turn.memory.store
    redaction, removed = Redaction(history, store), 0
    for account in await request.context.stores.memories.accounts(request.incoming.user):
        past = [told for told in await redaction.past(account) if memory_id in {"", told.memory_id}]
        removed += await history.erase(account, past) if past else 0
    if removed:
        await request.turn.tell(counted(REMOVED, request.locale, removed))
    else:
        await request.tell(NOTHING_LEFT)


REMOVED = forms("privacy.forget_said.removed")
NOTHING_LEFT = text("privacy.forget_said.nothing_left")
