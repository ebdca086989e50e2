"""Commands of the engine itself: /reset and /stop. /help belongs to the table, /retry stands in `retry`."""

from __future__ import annotations

from functools import partial

from core.commands.command import Command, Request
from core.hooks import ReplyReader
from core.text.catalogue import text


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


AFRESH = text("conversations.afresh")
NOTHING_WAITS = text("conversations.nothing_waits")
NOTHING_TO_STOP = text("conversations.nothing_to_stop")

RESET = Command("reset", text("commands.reset"), reset, in_conversation=True, in_order=True)


def stop_command(replies: ReplyReader) -> Command:
    """Return /stop, which drops what the bot asked in the conversation."""
    return Command("stop", text("commands.stop"), partial(stop, replies), in_conversation=True)
