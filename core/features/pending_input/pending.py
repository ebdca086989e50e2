"""A command that waits for the text of the next message. Knows how long, and what lets it go. Knows no command."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from core.actions.proposal import PROPOSALS
from core.commands.command import Request
from core.commands.context import CommandContext
from core.confirmations import Arrival
from core.features.conversations.retry import is_retry
from core.features.memories.confirm import answered
from core.text.replies import means_undo
from core.types import Incoming, UserKey

VALID_FOR: Final = timedelta(minutes=10)
_SKEW: Final = timedelta(seconds=5)
"""How far a platform's clock may be behind ours."""


async def await_text(request: Request, command: str) -> None:
    """Let the command wait for the next message of that person there; it is run with that, unless a command comes."""
    await request.context.confirmations.drop(request.incoming.conversation, *PROPOSALS)
    await request.context.stores.pending_inputs.put(request.incoming.conversation, command, request.context.clock.now())


async def completed(context: CommandContext, incoming: Incoming, arrival: Arrival) -> str:
    """Return what the person sent: the answer to what they were asked, as a command; or after the command that waited.

    A text that was sent before it was asked for is not meant. Whatever runs the command lets it wait no more once it is
    done: what a crash cut short is done again. Any other command lets it go, `/stop` with a word on that.
    """
    store, here, text = context.stores.pending_inputs, incoming.conversation, incoming.text
    waiting = await store.find(here)
    if not incoming.pressed or is_retry(text):
        answer = await answered(context, incoming, arrival)
        if waiting is None and answer:
            return answer
        if waiting is None and means_undo(text) and await _can_undo(context, incoming.user):
            return "/undo"
    if waiting is None or not text or incoming.at < waiting.at - _SKEW or is_stop(text):
        return text
    if text.startswith("/") or incoming.at - waiting.at > VALID_FOR:
        await store.drop(here)
        return text
    return f"{waiting.command} {text}"


async def _can_undo(context: CommandContext, user: UserKey) -> bool:
    """Tell whether a change of the person's memory can be taken back now."""
    memories = context.stores.memories
    since = context.clock.now() - memories.undo_within
    return bool(
        memories.undo_within and await memories.of(user).store.changes(user, since=since, not_undone=True, limit=1)
    )


async def let_go(context: CommandContext, incoming: Incoming) -> bool:
    """Let nothing wait there any more, and return whether anything did that would still have been taken up."""
    waiting = await context.stores.pending_inputs.find(incoming.conversation)
    await context.stores.pending_inputs.drop(incoming.conversation)
    asked = await context.confirmations.drop(incoming.conversation, *PROPOSALS)
    return asked or (waiting is not None and incoming.at - waiting.at <= VALID_FOR)


def is_stop(text: str) -> bool:
    """Whether the person says /stop."""
    return text.split(maxsplit=1)[:1] == ["/stop"]
