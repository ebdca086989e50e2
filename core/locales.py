"""In which language somebody is answered or told something. Knows what they chose, wrote, and what a platform says."""

from __future__ import annotations

from contextlib import suppress

from core.errors import StorageError
from core.history.conversation import Conversation
from core.language import choose, detect, from_tag
from core.people import PreferenceStore
from core.stores import HistoryStore
from core.types import Incoming, Locale, Message, Role, UserKey

_MESSAGES_LOOKED_AT = 20


class Locales:
    """What a person chose comes first, then what the owner `fixed` for everybody, then what they write."""

    def __init__(self, preferences: PreferenceStore, history: HistoryStore, fixed: Locale | None = None) -> None:
        self._preferences = preferences
        self._history = history
        self._fixed = fixed

    async def of(self, incoming: Incoming, conversation: Conversation | None = None) -> Locale:
        """Return the language to answer a message in; a conversation tells it where the message alone does not."""
        if chosen := await self._chosen(incoming.user):
            return chosen
        text = "" if incoming.text.startswith("/") else incoming.text
        told = detect(text) or from_tag(incoming.language)
        if told is not None or conversation is None:
            return told or Locale.PT
        return choose("", "", _said((await conversation.context("")).messages))

    async def known(self, user: UserKey, tag: str = "") -> Locale:
        """Return the language of somebody who has not just written; `tag` is what else is known of it."""
        if chosen := await self._chosen(user):
            return chosen
        earlier: list[str] = []
        with suppress(StorageError):  # what is to be told may be just that
            for thread in (await self._history.threads(user))[:1]:
                earlier = _said(tuple(await self._history.tail(thread.id, _MESSAGES_LOOKED_AT)))
        return choose("", tag, earlier)

    async def _chosen(self, user: UserKey) -> Locale | None:
        try:
            return (await self._preferences.of(user)).language or self._fixed
        except StorageError:  # what is to be told may be just that
            return self._fixed


def _said(messages: tuple[Message, ...]) -> list[str]:
    """Return what the person said, the newest first."""
    return [message.text for message in reversed(messages) if message.role is Role.USER]
