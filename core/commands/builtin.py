"""Commands of the engine itself: /reset and /stop. /help belongs to the table, /retry stands in `retry`."""

from __future__ import annotations

from functools import partial

from core.commands.command import Command, Request
from core.hooks import ReplyReader
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES


def is_stop(text: str) -> bool:
    """Whether the person says /stop."""
    return text.split(maxsplit=1)[:1] == ["/stop"]


async def reset(request: Request, _: str) -> None:
    """Close the thread (D6): the next message starts another. Memories stay."""
    await request.turn.conversation.reset()
    await request.tell(AFRESH)


async def stop(replies: ReplyReader, request: Request, _: str) -> None:
    """Forget what was asked there, and say whether anything was: the engine stops a running answer before this."""
    waited = await replies.drop(request.incoming)
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
STOP_ABOUT: Localized = {PT: "interrompe a resposta", EN: "stop the running answer", ES: "detiene la respuesta"}


def stop_command(replies: ReplyReader) -> Command:
    """Return /stop, which drops what the bot asked in the conversation."""
    return Command("stop", STOP_ABOUT, partial(stop, replies))
