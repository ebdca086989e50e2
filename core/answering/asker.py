"""Who asks: what they chose, and in which language they read the bot's own sentences."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import TypeAlias
from zoneinfo import ZoneInfo

from core.answering.outcomes import INCOGNITO, NOT_REMEMBERING
from core.errors import StorageError
from core.stores import HistoryStore
from core.text.language import choose, clearly_spoken, from_tag, spoken
from core.text.replies import means_why
from core.types import ChatKey, ConversationKey, Incoming, Learn, Locale, Localized, MessageRole, Preferences, UserKey

PreferencesOf: TypeAlias = Callable[[UserKey], Awaitable[Preferences]]

_MESSAGES_LOOKED_AT = 20
_THREADS_LOOKED_AT = 2  # the one that was just begun says nothing yet


@dataclass(slots=True)
class Asker:
    """Who is answered. A turn in which they choose another language goes on in it, so that all who hold this see it."""

    locale: Locale
    """The language of our own sentences."""

    language: str = ""
    """The tag of the language chosen for answers, or ""."""

    tag: str = ""
    """The platform's tag of their language ("pt-br"), or ""."""

    own_zone: ZoneInfo | None = None
    """The time zone that they told; None if they have not."""

    usual_zone: tzinfo = UTC
    """The zone of those who told none."""

    accounts: tuple[UserKey, ...] = ()
    """All of theirs that have one memory, the owner first, as they were when the turn was opened; none if unasked."""

    name: str = ""
    """Their name on the platform."""

    remembers: bool = True
    """False while they want nothing new to be remembered."""

    is_incognito: bool = False
    """Whether nothing of this turn is kept, and nothing that is kept is used; then `remembers` is False."""

    was_incognito: bool = False
    """Whether they are to be told that it is over."""

    shows_steps: bool = False
    """Whether they want to see the steps of each turn below its answer."""

    learn: Learn = Learn.OFFERED
    """What becomes of facts that they tell in passing."""

    is_private: bool = True
    """Whether nobody else reads along."""

    @property
    def zone(self) -> tzinfo:
        """The time zone of times that they read."""
        return self.own_zone or self.usual_zone

    @property
    def why_not_remembering(self) -> Localized | None:
        """The sentence that says why nothing is remembered of them now; None if it is."""
        if self.is_incognito:
            return INCOGNITO
        return None if self.remembers else NOT_REMEMBERING

    @property
    def speaker(self) -> str:
        """Their name where others read along, else ""."""
        return "" if self.is_private else self.name


class Locales:
    """Choose a language: the person's choice, else the owner's `fixed` one (a tag), else that of their message.

    That of a server (`in_place` returns its tag) comes before that of the message, where others read along.
    One ambiguous word does not change the language of a conversation. Next come their earlier messages, the platform's
    tag, and Portuguese. A choice that is none of ours is passed over: then it is that of answers only. `tag_of` returns
    the tag that the platform told of a person when they last wrote.
    """

    def __init__(
        self,
        preferences: PreferencesOf,
        history: HistoryStore,
        fixed: str = "",
        tag_of: Callable[[UserKey], Awaitable[str]] | None = None,
        in_place: Callable[[ChatKey], Awaitable[str]] | None = None,
    ) -> None:
        self._preferences = preferences
        self._history = history
        self._fixed = from_tag(fixed)
        self._tag_of = tag_of
        self._in_place = in_place
        self._found: dict[UserKey, Locale] = {}

    async def of(self, incoming: Incoming, tag: str | None = None) -> Locale:
        """Return the language to answer a message in; `tag` is the person's choice, if it has been read."""
        found = self._found[incoming.user] = await self._of(incoming, tag)
        return found

    async def _of(self, incoming: Incoming, tag: str | None) -> Locale:
        chosen = await self._chosen(incoming.user) if tag is None else from_tag(tag) or self._fixed
        if chosen := chosen or from_tag(await self.of_place(incoming)):
            return chosen
        text = "" if incoming.text.startswith("/") else incoming.text
        hear = spoken if means_why(text) else clearly_spoken  # whose words are of one language each
        if (told := hear(text)) is not None:
            return told
        said: list[str] = []
        with suppress(StorageError):  # this failure may be the very thing to report
            said = await self._said(incoming.user, incoming.conversation)
        return choose(text, incoming.language, said)

    async def of_place(self, incoming: Incoming) -> str:
        """Return the tag of the language that was decided for where others read along, "" if none was."""
        if self._in_place is None or incoming.private:
            return ""
        with suppress(StorageError):  # this failure may be the very thing to report
            return await self._in_place(incoming.chat)
        return ""

    async def known(self, user: UserKey, tag: str = "") -> Locale:
        """Return the language of a person who has not just written; `tag` is the platform's, if it gives one.

        English if nothing at all is known of them, such as an owner by name who never wrote. Where the database cannot
        be read, which may be the very thing to report, it is the language that was found before.
        """
        try:
            found = from_tag((await self._preferences(user)).language) or self._fixed
            if found is None:
                tag = tag or (await self._tag_of(user) if self._tag_of is not None else "")
                found = choose("", tag or Locale.EN, await self._said(user))
        except StorageError:
            return self._found.get(user) or self._fixed or choose("", tag or Locale.EN, ())
        self._found[user] = found
        return found

    async def _chosen(self, user: UserKey) -> Locale | None:
        try:
            return from_tag((await self._preferences(user)).language) or self._fixed
        except StorageError:  # this failure may be the very thing to report
            return self._fixed

    async def _said(self, user: UserKey, here: ConversationKey | None = None) -> list[str]:
        """Return the person's latest messages, the newest first: of that conversation, then of the one used last."""
        said: list[str] = []
        threads = sorted(await self._history.threads(user), key=lambda thread: thread.conversation != here)
        for thread in threads[:_THREADS_LOOKED_AT]:
            messages = await self._history.tail(thread.id, _MESSAGES_LOOKED_AT)
            said += [message.text for message in reversed(messages) if message.role is MessageRole.USER]
        return said
