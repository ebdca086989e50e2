"""/reset and /stop. Knows the conversation that a command was sent in. Does not know what was said in it."""

from __future__ import annotations

from core.commands.command import Command, Request
from core.features.pending_input.pending import let_go
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES


async def reset(request: Request, _: str) -> None:
    """Close the thread (D6): the next message starts another. Memories stay."""
    await request.turn.conversation.reset()
    await request.tell(AFRESH)


async def stop(request: Request, _: str) -> None:
    """Say that nothing is waited for any more, or was: a running answer is stopped before a command gets here."""
    waited = await let_go(request.context, request.incoming)
    await request.tell(NOTHING_WAITS if waited else NOTHING_TO_STOP)


AFRESH: Localized = {
    PT: "Conversa nova. O que está na sua memória continua guardado.",
    EN: "A fresh conversation. What is in your memory stays.",
    ES: "Conversación nueva. Lo que está en tu memoria se queda.",
}
NOTHING_WAITS: Localized = {
    PT: "Deixei para lá: a sua próxima mensagem é só uma mensagem.",
    EN: "Left alone: your next message is just a message.",
    ES: "Lo dejé: tu próximo mensaje es solo un mensaje.",
}
NOTHING_TO_STOP: Localized = {
    PT: "Não há nada em andamento.",
    EN: "Nothing is running.",
    ES: "No hay nada en curso.",
}

RESET = Command(
    "reset",
    {PT: "começa outra conversa", EN: "start a fresh conversation", ES: "empieza otra conversación"},
    reset,
)
STOP = Command("stop", {PT: "interrompe a resposta", EN: "stop the running answer", ES: "detiene la respuesta"}, stop)
