"""/export: all that is kept of a person, as a file. Knows when it is sent. Does not know what is in it."""

from __future__ import annotations

from core.commands.command import Command, Request
from core.errors import ChannelError, ChannelGone
from core.features.transfer import takeout
from core.outgoing import File, OutgoingMessage
from core.text.catalogue import text
from core.types import UserKey

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


HERE = text("transfer.export.here")
NOT_TAKEN = text("transfer.export.not_taken")

EXPORT = Command(
    "export",
    text("commands.export"),
    export,
    in_private=True,
)
