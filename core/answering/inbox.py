"""Incoming messages: clean them before they are stored, check them before they are answered, purge them later."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta
from typing import Final

from core.enclosures import QuoteKind, cleaned_attachments, cleaned_quotes
from core.errors import EmptyInput, InputTooLong, StorageError
from core.ports import Clock
from core.stores import Inbox
from core.text.unicode import clean
from core.types import Incoming, Message, MessageRole, room_name

KEPT_FOR: Final = timedelta(days=7)
"""Telegram delivers an update for 24 hours (core.telegram.org/bots/api#getting-updates), webhooks included; Discord is
read back from bookmarks that are seconds old."""

FIRST_S: Final = 600.0
"""Wait after a start: by then missed messages were read back, however old they are."""

EVERY_S: Final = 86_400.0
_BATCH: Final = 500  # rows of one transaction: other writes wait for no more than these
_PAUSE_S: Final = 0.1
_log = logging.getLogger(__name__)


def cleaned(incoming: Incoming, max_chars: int) -> Incoming:
    """Return the message with clean text; a text longer than `max_chars` is cut to one character more."""
    return replace(
        incoming,
        text=clean(incoming.text, max_chars + 1),
        attachments=cleaned_attachments(incoming.attachments),
        quotes=cleaned_quotes(incoming.quotes),
    )


def message_of(incoming: Incoming, turn: str) -> Message:
    """Return the person's message of that turn."""
    return Message(
        MessageRole.USER,
        incoming.text,
        at=incoming.at,
        turn=turn,
        source_id=incoming.message_id,
        attachments=incoming.attachments,
        quotes=incoming.quotes,
        room="" if incoming.private else room_name(incoming.chat),
    )


def check(asked: Message, *, min_chars: int, max_chars: int) -> None:
    """Check the length of a message; one that forwards something needs no text of its own.

    Raises:
        EmptyInput: it has fewer than `min_chars` characters.
        InputTooLong: it has more than `max_chars`.
    """
    forwarded = any(quote.kind is QuoteKind.FORWARD for quote in asked.quotes)
    if len(asked.text) < max(min_chars, 1) and not forwarded:
        raise EmptyInput("nothing to read")
    if len(asked.text) > max_chars:
        raise InputTooLong(max_chars)


async def purge_answered(inbox: Inbox, clock: Clock) -> None:
    """Remove answered messages that no platform delivers again: soon after the start, then daily, until cancelled."""
    wait_s = FIRST_S
    while True:
        await clock.sleep(wait_s)
        wait_s = EVERY_S
        try:
            while await inbox.purge(clock.now() - KEPT_FOR, _BATCH) == _BATCH:
                await clock.sleep(_PAUSE_S)
        except StorageError as error:
            _log.warning("inbox not purged", extra={"error": type(error).__name__})
