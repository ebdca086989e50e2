"""/forget said: removes the person's own messages that told of memories which are deleted or replaced."""

from __future__ import annotations

from core.commands.command import Request
from core.history.forgetting import Redaction
from core.text.plural import Counted, counted
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES


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


REMOVED: Counted = {
    PT: {
        "one": "Apaguei da conversa {count} mensagem sua sobre o que já não está na memória.",
        "other": "Apaguei da conversa {count} mensagens suas sobre o que já não está na memória.",
    },
    EN: {
        "one": "Removed {count} message of yours about what is no longer in memory.",
        "other": "Removed {count} messages of yours about what is no longer in memory.",
    },
    ES: {
        "one": "Borré de la conversación {count} mensaje tuyo sobre lo que ya no está en la memoria.",
        "other": "Borré de la conversación {count} mensajes tuyos sobre lo que ya no está en la memoria.",
    },
}
NOTHING_LEFT: Localized = {
    PT: "Não guardo nenhuma mensagem sua sobre algo que já apagou da memória.",
    EN: "I keep no message of yours about anything that you deleted from memory.",
    ES: "No guardo ningún mensaje tuyo sobre algo que ya borraste de la memoria.",
}
