"""Clean and check an incoming message, and make it a message of the conversation."""

from __future__ import annotations

from dataclasses import replace

from core.enclosures import QuoteKind, cleaned_attachments, cleaned_quotes
from core.errors import EmptyInput, InputTooLong
from core.text.unicode import clean
from core.types import Incoming, Message, MessageRole


def cleaned(incoming: Incoming, max_chars: int) -> Incoming:
    """Return the message without what is no text; one longer than `max_chars` stays longer by a character."""
    return replace(
        incoming,
        text=clean(incoming.text, max_chars + 1),
        attachments=cleaned_attachments(incoming.attachments),
        quotes=cleaned_quotes(incoming.quotes),
    )


def message_of(incoming: Incoming, turn: str) -> Message:
    """Return what the person says in that turn."""
    return Message(
        MessageRole.USER,
        incoming.text,
        turn=turn,
        source_id=incoming.message_id,
        attachments=incoming.attachments,
        quotes=incoming.quotes,
    )


def check(asked: Message, *, min_chars: int, max_chars: int) -> None:
    """Refuse what cannot be answered. What was forwarded says something without a word of the person's own.

    Raises:
        EmptyInput: there is nothing to read.
        InputTooLong: it has more than `max_chars`.
    """
    forwarded = any(quote.kind is QuoteKind.FORWARD for quote in asked.quotes)
    if len(asked.text) < max(min_chars, 1) and not forwarded:
        raise EmptyInput("nothing to read")
    if len(asked.text) > max_chars:
        raise InputTooLong(max_chars)
