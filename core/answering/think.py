"""Think a message through, in the way that its models and their windows allow."""

from __future__ import annotations

from core.actions.registry import Registry
from core.answering import room_talk
from core.answering.loop import Loop
from core.answering.single_call import SingleCall, tools_of
from core.answering.turn import Turn
from core.enclosures import QuoteKind
from core.models import Cycle
from core.text.catalogue import text
from core.text.pointing import points_only


async def think(turn: Turn, registry: Registry, chosen: Cycle, *, max_steps: int) -> None:
    """Answer one message in at most `max_steps` steps.

    What a single call began goes on step by step if a model takes over that has no answer to one. A message that is
    only about another one, which the platform does not show the bot, is answered with that.

    Raises:
        ProviderError: a model failed, and no other action can help.
    """
    if _points_at_nothing(turn):
        await turn.answer.say(UNREAD[turn.person.locale], in_history=True)
        return
    await _read_room(turn)
    single = SingleCall(turn, registry, tools_of(registry))
    turn.is_single = chosen.is_single(turn.services.models) and await single.fits()
    try:
        await Loop(turn, registry, max_steps).run(single if turn.is_single else None)
    finally:
        await turn.search.close()


def _points_at_nothing(turn: Turn) -> bool:
    """Return whether the message is about the one that it replies to, and of that only is known that it is there."""
    pointed = turn.asked.quotes[:1]
    is_unread = any(quote.is_unread and quote.kind is QuoteKind.REPLY for quote in pointed)
    return is_unread and points_only(turn.asked.text)


async def _read_room(turn: Turn) -> None:
    """Read what was said in the room just before, where that is on; limited mode has no use for it."""
    if not turn.person.is_private and not turn.services.models.is_limited:
        most, max_chars = turn.conversation.room_messages, turn.budget.eighth_chars
        turn.shown.room = await room_talk.read(turn.answer.view.channel, most, max_chars)


UNREAD = text("pointing.unread")
