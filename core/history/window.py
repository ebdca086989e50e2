"""Reading the newest part of a thread, as far as a policy looks back.

Knows how to page from the newest message backwards. Does not know why the bound is where it is. What is read depends on
what is shown, never on how long the thread is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from core.history.budget import is_said_by_person
from core.history.policy import Bound
from core.history.withheld import NOTHING, Withheld
from core.stores import HistoryStore
from core.types import Message, MessageRole, Modal

_PAGE, _MAX_PAGE = 64, 512


async def newest(
    store: HistoryStore, thread_id: str, bound: Bound, *, turn: str, max_tokens: int, withheld: Withheld = NOTHING
) -> tuple[Message, ...]:
    """Return what a turn is shown within the bound, oldest first; `max_tokens` only says when to stop reading.

    What this turn has said is not cut by the bound, nor is the person's last message: a turn that lost what it just
    found would look for it again.
    """
    taken: list[Message] = []
    tokens = 0
    said = False
    async for message in backwards(store, thread_id):
        if not is_shown(message, turn) or withheld.hides(message):
            continue
        own = bool(turn) and message.turn == turn
        full = tokens > max_tokens or (not own and _is_beyond(bound, message, len(taken), tokens))
        if full and said:
            break
        if full and not is_said_by_person(message):
            continue
        said = said or is_said_by_person(message)
        tokens += message.tokens
        taken.append(message)
    return tuple(reversed(taken))


async def backwards(store: HistoryStore, thread_id: str) -> AsyncIterator[Message]:
    """Yield a thread's messages, newest first, in pages that grow."""
    before, size = 0, _PAGE
    while page := await store.tail(thread_id, size, before=before):
        for message in reversed(page):
            yield message
        before, size = page[0].sequence, min(size * 2, _MAX_PAGE)
        if before <= 1:
            return


def is_shown(message: Message, turn: str) -> bool:
    """Tell whether a model is shown the message in that turn.

    Of earlier turns all that was said and remembered, final answers included: a bot that forgets its own answers cannot
    be talked to. Of the turn itself only what is marked to be read by later calls.
    """
    if turn and message.turn == turn:
        return message.in_history
    return message.role is not MessageRole.SYSTEM or message.modal is Modal.MEMORY


def _is_beyond(bound: Bound, message: Message, taken: int, tokens: int) -> bool:
    return (
        message.sequence <= bound.after
        or (bound.max_messages is not None and taken >= bound.max_messages)
        or (bound.max_tokens is not None and tokens + message.tokens > bound.max_tokens)
    )
