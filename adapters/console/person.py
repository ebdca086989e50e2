"""Who sits at the terminal, and what they write as an `Incoming`. Knows no key and no screen."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from adapters.console.files import sent
from core.ports import Clock
from core.types import ChatKey, ConversationKey, Incoming, UserKey

PLATFORM = "console"
QUIT, STOP = "/quit", "/stop"


def conversation(user: UserKey) -> ConversationKey:
    """Return the conversation that somebody has in the terminal."""
    return ConversationKey(ChatKey(PLATFORM, "terminal"), user)


@dataclass(frozen=True, slots=True)
class Person:
    """The one who writes. `language` is the system's tag for them ("pt_BR.UTF-8"), "" if it has none."""

    user: UserKey
    language: str
    clock: Clock

    def says(self, text: str) -> Incoming:
        """Return that text as a message of theirs, with an id that no message of any process has."""
        return Incoming(
            chat=conversation(self.user).chat,
            user=self.user,
            user_name=self.user.user,
            message_id=uuid.uuid4().hex,
            text=text,
            at=self.clock.now(),
            language=self.language,
            file=sent(text),
        )
