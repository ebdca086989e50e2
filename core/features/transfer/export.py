"""/export: all that is kept of a person, as a file. Knows when it is sent. Does not know what is in it."""

from __future__ import annotations

from core.commands.command import Command, Request
from core.errors import ChannelError, ChannelGone
from core.features.transfer import takeout
from core.outgoing import File, OutgoingMessage
from core.types import Locale, Localized, UserKey

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
_MIB = 1 << 20


async def export(request: Request, _: str) -> None:
    """Hand the person their file."""
    await hand_over(request, request.incoming.user)


async def hand_over(request: Request, user: UserKey) -> None:
    """Hand all that is kept of that person to the one who asks; where their platform does not take it, say so."""
    context = request.context
    name = takeout.file_name(user, context.clock.now())
    async with context.stores.spool.place(name) as path:
        tally = await takeout.write(context, user, path)
        told = HERE[request.locale].format(
            memories=tally.memories, threads=tally.threads, messages=tally.messages, user=user
        )
        try:
            await request.turn.hand_over(File(path, name, takeout.MEDIA_TYPE), told)
        except ChannelGone:
            raise
        except ChannelError:  # nothing more can be said in this turn: it is said beside it
            size = f"{path.stat().st_size / _MIB:.1f}"
            refused = OutgoingMessage(NOT_TAKEN[request.locale].format(size=size, user=user))
            if not await context.notifier.tell(request.incoming.user, refused):
                raise


HERE: Localized = {
    PT: "Tudo o que guardo de {user}. Memórias: {memories}, conversas: {threads}, mensagens: {messages}.",
    EN: "All I keep of {user}. Memories: {memories}, conversations: {threads}, messages: {messages}.",
    ES: "Todo lo que guardo de {user}. Memorias: {memories}, conversaciones: {threads}, mensajes: {messages}.",
}
NOT_TAKEN: Localized = {
    PT: "O arquivo ({size} MB) não pôde ser enviado por aqui. Quem cuida do bot pode gravá-lo: "
    "elefante export --user {user}",
    EN: "The file ({size} MB) could not be sent here. The bot's owner can write it: elefante export --user {user}",
    ES: "El archivo ({size} MB) no se pudo enviar por aquí. El dueño del bot puede guardarlo: "
    "elefante export --user {user}",
}

EXPORT = Command(
    "export",
    {
        PT: "envia um arquivo com tudo o que guardo de você",
        EN: "send a file with all I keep of you",
        ES: "envía un archivo con todo lo que guardo de ti",
    },
    export,
    in_private=True,
)
