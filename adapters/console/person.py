"""The person at the terminal, what they write as `Incoming`, and the one screen to answer on."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from adapters.console.files import PLATFORM, sent
from core.locales import TAGS, head
from core.ports import Channel, Channels, Clock
from core.types import ChatKey, ConversationKey, Incoming, UserKey

QUIT, STOP = "/quit", "/stop"


def leaves(text: str) -> bool:
    """Return whether the text is /quit, or a word for it in any language, and nothing else."""
    words = {word for tag in TAGS for word in head(tag).get("leave", ())}
    return text.strip().casefold().removeprefix("/") in words


def conversation(user: UserKey) -> ConversationKey:
    """Return a person's conversation in the terminal."""
    return ConversationKey(ChatKey(PLATFORM, "terminal"), user)


@dataclass(frozen=True, slots=True)
class TerminalUser:
    """The person who writes. `language` is the system's tag ("pt_BR.UTF-8"), "" if it has none."""

    user: UserKey
    language: str
    clock: Clock

    def says(self, text: str) -> Incoming:
        """Return what they typed as a message of theirs, with an id that no other process uses."""
        text, attachments = sent(text)
        return Incoming(
            chat=conversation(self.user).chat,
            user=self.user,
            user_name=self.user.user,
            message_id=uuid.uuid4().hex,
            text=text,
            at=self.clock.now(),
            language=self.language,
            attachments=attachments,
        )


class OneScreen(Channels):
    """The one channel of a terminal, for every person and message; `notices` is for what answers nothing."""

    def __init__(self, channel: Channel, notices: Channel | None = None) -> None:
        self._channel = channel
        self._notices = notices or channel

    def again(self, incoming: Incoming) -> Channel:
        """Return the screen."""
        del incoming
        return self._channel

    def private(self, user: UserKey, once: str = "") -> Channel:
        """Return the screen."""
        del user, once
        return self._notices
