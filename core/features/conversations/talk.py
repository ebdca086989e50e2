"""/reset and /stop. Knows the conversation that a command was sent in. Does not know what was said in it."""

from __future__ import annotations

from core.commands.command import Command, Request
from core.features.pending_input.pending import let_go
from core.text.catalogue import text


async def reset(request: Request, _: str) -> None:
    """Close the thread (D6): the next message starts another. Memories stay."""
    await request.turn.conversation.reset()
    await request.tell(AFRESH)


async def stop(request: Request, _: str) -> None:
    """Say that nothing is waited for any more, or was: a running answer is stopped before a command gets here."""
    waited = await let_go(request.context, request.incoming)
    await request.tell(NOTHING_WAITS if waited else NOTHING_TO_STOP)


AFRESH = text("conversations.afresh")
NOTHING_WAITS = text("conversations.nothing_waits")
NOTHING_TO_STOP = text("conversations.nothing_to_stop")

RESET = Command(
    "reset",
    text("commands.reset"),
    reset,
)
STOP = Command("stop", text("commands.stop"), stop)
