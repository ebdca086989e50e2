"""Inline mode: the bot's name and some words, in any chat, offer people their own memories, of which they post one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from telegram import InlineQuery, InlineQueryResultArticle, InputTextMessageContent, LinkPreviewOptions

from adapters.running import display_name
from adapters.telegram.listener import PLATFORM
from core.text.unicode import one_line
from core.types import ChatKey, Incoming, MemoryItem, UserKey

MAX_RESULTS: Final = 10

_MAX_TITLE_CHARS, _MAX_ABOUT_CHARS = 60, 160
_MAX_TEXT_CHARS: Final = 2000
"""The most that is posted: at worst 4,000 of the 4,096 UTF-16 units of a message."""


def search_of(query: InlineQuery, at: datetime) -> Incoming:
    """Return what a person looks for, as if they said it to the bot in private: whoever reads on is their choice."""
    person = query.from_user
    return Incoming(
        chat=ChatKey(PLATFORM, str(person.id)),
        user=UserKey(PLATFORM, str(person.id)),
        user_name=display_name(person.full_name),
        message_id=f"inline.{query.id}",
        text=query.query,
        at=at,
        language=person.language_code or "",
        handle=person.username or "",
    )


def results_of(items: Iterable[MemoryItem]) -> list[InlineQueryResultArticle]:
    """Return memories as results: by what each is found on top, its content below; both are posted."""
    results = []
    for item in items:
        title, text = one_line(item.bindings[0], _MAX_TITLE_CHARS), item.content[:_MAX_TEXT_CHARS]
        said = InputTextMessageContent(f"{title}: {text}", link_preview_options=LinkPreviewOptions(is_disabled=True))
        about = one_line(item.content, _MAX_ABOUT_CHARS)
        results.append(InlineQueryResultArticle(item.id, title, said, description=about))
    return results
