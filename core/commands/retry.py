"""/retry: answer the same question once more.

The chatbot replaces the command by the question: the same words in a new turn. What the first answer did to memory
stays.
"""

from __future__ import annotations

from typing import Final

from core.commands.command import Command, Request
from core.history.conversation import Conversation
from core.text.catalogue import text
from core.types import Message, MessageRole

NAME: Final = "retry"
_MESSAGES_LOOKED_AT: Final = 200


def is_retry(text: str) -> bool:
    """Whether the text is that command."""
    return text.casefold().split(maxsplit=1)[:1] == [f"/{NAME}"]


async def asked_before(conversation: Conversation, text: str) -> Message | None:
    """Return the question that `/retry` or `/retry TURN` asks for again: the last one, or that turn's.

    None if there is none in the conversation as it goes on now, or its words were removed.
    """
    turn = text.partition(" ")[2].strip()
    said = await conversation.conversations.store.tail(conversation.thread.id, _MESSAGES_LOOKED_AT)
    asked = [message for message in said if message.role is MessageRole.USER and turn in {"", message.turn}]
    return asked[-1] if asked and (asked[-1].text or asked[-1].quotes) else None


def again(turn: str) -> str:
    """Return the command that asks again what was asked in that turn."""
    return f"/{NAME} {turn}"


async def retry(request: Request, _: str) -> None:
    """Say that there is nothing to ask again: where there is, a command is not what is run."""
    await request.tell(NOTHING_ASKED)


NOTHING_ASKED = text("conversations.retry.nothing_asked")

RETRY = Command(NAME, text("commands.retry"), retry, in_conversation=True, for_all=True, in_order=True)
