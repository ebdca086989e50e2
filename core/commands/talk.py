"""/reset and /stop. Knows the conversation that a command was sent in. Does not know what was said in it."""

from __future__ import annotations

from core.commands.command import Command, Request
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES


async def reset(request: Request, _: str) -> None:
    """Close the thread (D6): the next message starts another. Memories stay."""
    await request.turn.conversation.reset()
    await request.tell(AFRESH)


async def stop(request: Request, _: str) -> None:
    """Say that there was nothing to stop: an answer that was running is stopped before a command gets here."""
    await request.tell(NOTHING_TO_STOP)


AFRESH: Localized = {
    PT: "Conversa nova. O que está na sua memória continua guardado.",
    EN: "A fresh conversation. What is in your memory stays.",
    ES: "Conversación nueva. Lo que está en tu memoria se queda.",
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
