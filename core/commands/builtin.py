"""Commands of the engine itself: /reset, /stop, /retry and /continue. /help belongs to the table.

/retry is not run where there is a question to repeat: the chatbot answers that question again, in a new turn. What the
first answer did to memory stays. Nor is /continue, which stands for a message that asks for the rest of an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from core.answering.parts import ReplyReader
from core.commands.command import ON_ANSWERS, Command, Request
from core.commands.menu import DISLIKED, WHY
from core.history.conversation import Conversation
from core.text.catalogue import text
from core.types import Message, is_said_by_person

_MESSAGES_LOOKED_AT: Final = 200


def is_stop(text: str) -> bool:
    """Return whether the text is /stop."""
    return text.split(maxsplit=1)[:1] == ["/stop"]


def is_retry(text: str) -> bool:
    """Return whether the text is /retry."""
    return text.casefold().split(maxsplit=1)[:1] == ["/retry"]


def is_continue(text: str) -> bool:
    """Return whether the text is /continue."""
    return text.casefold().split(maxsplit=1)[:1] == ["/continue"]


def is_about_answer(text: str) -> bool:
    """Return whether the text is a command about an answer: /why, or /disliked, which stands for a thumbs-down."""
    return text.casefold().split(maxsplit=1)[:1] in ([f"/{DISLIKED}"], [f"/{WHY}"])


def again(turn: str) -> str:
    """Return the command that repeats the question of that turn."""
    return f"/retry {turn}"


async def questions(conversation: Conversation) -> Sequence[Message]:
    """Return what the person said lately in the thread, in order."""
    said = await conversation.store.tail(conversation.thread.id, _MESSAGES_LOOKED_AT)
    return [message for message in said if is_said_by_person(message)]


async def asked_before(conversation: Conversation, text: str) -> Message | None:
    """Return the question that `/retry` or `/retry TURN` repeats: the last one, or that turn's.

    None if the thread has no such question, or its words were removed.
    """
    turn = text.partition(" ")[2].strip()
    asked = [message for message in await questions(conversation) if turn in {"", message.turn}]
    return asked[-1] if asked and (asked[-1].text or asked[-1].quotes) else None


async def reset(request: Request, _: str) -> None:
    """Close the thread (D6): the next message starts another. Memories stay."""
    await request.turn.conversation.reset()
    await request.tell(AFRESH)


async def stop(replies: ReplyReader, request: Request, _: str) -> None:
    """Forget what the bot asked there; a running answer was stopped by the chatbot before this."""
    waited = await replies.drop(request.incoming)
    if waited:
        await request.tell(NOTHING_WAITS)
    else:
        await request.refuse(NOTHING_TO_STOP)


async def retry(request: Request, _: str) -> None:
    """Say that there is no question to repeat."""
    await request.tell(NOTHING_ASKED)


AFRESH = text("conversations.afresh")
NOTHING_WAITS = text("conversations.nothing_waits")
NOTHING_TO_STOP = text("conversations.nothing_to_stop")
NOTHING_ASKED = text("conversations.retry.nothing_asked")
CONTINUE_PLEASE = text("conversations.continue.message")
"""What the person says by /continue."""

RESET = Command(
    "reset", text("commands.reset"), reset, in_conversation=True, in_order=True, is_listed=True, topics=(ON_ANSWERS,)
)
CONTINUE_COMMAND = Command(
    "continue", text("commands.continue"), retry, in_menus=False, in_conversation=True, for_all=True, in_order=True
)
RETRY = Command(
    "retry", text("commands.retry"), retry, in_conversation=True, for_all=True, in_order=True, topics=(ON_ANSWERS,)
)


def stop_command(replies: ReplyReader) -> Command:
    """Return /stop, which drops what the bot asked in the conversation."""
    return Command(
        "stop",
        text("commands.stop"),
        partial(stop, replies),
        in_conversation=True,
        is_listed=True,
        topics=(ON_ANSWERS,),
    )
