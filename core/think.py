"""Think a message through: by the single-call cycle, or step by step."""

from __future__ import annotations

import logging

from core import cycle, room_talk, single
from core.actions.registry import Registry
from core.enclosures import QuoteKind
from core.errors import StepwiseOnly
from core.models import Cycle
from core.text.catalogue import text
from core.text.pointing import points_only
from core.turn import Turn

_log = logging.getLogger(__name__)


async def think(turn: Turn, registry: Registry, chosen: Cycle, *, max_steps: int) -> None:
    """Run the chosen cycle for one message, as its models and their windows allow.

    What a single call began goes on step by step if a model takes over that has no answer to one. A message that is
    only about another one, which the platform does not show the bot, is answered with that.

    Raises:
        ProviderError: a model failed, and no other action can help.
    """
    if _points_at_nothing(turn):
        await turn.say(UNREAD[turn.locale], in_history=True)
        return
    await _read_room(turn)
    if chosen.is_single(turn.models) and await single.fits(turn, registry):
        try:
            await single.think(turn, registry, max_steps=max_steps)
        except StepwiseOnly as error:
            _log.info("%s", error)
        else:
            return
    if turn.prefetch is not None:
        await turn.prefetch.close()
    await cycle.think(turn, registry, max_steps=max_steps)


def _points_at_nothing(turn: Turn) -> bool:
    """Return whether the message is about the one that it replies to, and of that only is known that it is there."""
    pointed = turn.asked.quotes[:1]
    is_unread = any(quote.is_unread and quote.kind is QuoteKind.REPLY for quote in pointed)
    return is_unread and points_only(turn.asked.text)


async def _read_room(turn: Turn) -> None:
    """Read what was said in the room just before, where that is on; limited mode has no use for it."""
    if turn.is_private or turn.models.is_limited:
        return
    conversation = turn.conversation
    # An eighth of the window, at four characters a token.
    max_chars = conversation.conversations.window_tokens("chat", turn.asks_instead) // 2
    turn.room = await room_talk.read(turn.view.channel, conversation.room_messages, max_chars)


UNREAD = text("pointing.unread")
