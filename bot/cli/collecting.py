"""What is said for a person from the shell: the message in their conversation, and what is shown of the answer."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.wiring import App
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel
from core.types import ChatKey, Incoming, JSONValue, Modal, ThreadStatus, UserKey


@dataclass(slots=True)
class CollectingChannel(Channel):
    """A channel without a screen, which collects what is shown, and the status lines."""

    limits: ChannelLimits = field(default_factory=lambda: ChannelLimits(max_chars=1_000_000, edit_interval_s=0.0))
    statuses: list[str] = field(default_factory=list)
    shown: dict[str, OutgoingMessage] = field(default_factory=dict)

    def measure(self, text: str) -> int:
        """Return the number of code points."""
        return len(text)

    async def post(self, shown: OutgoingMessage) -> str:
        """Collect a message."""
        handle = str(len(self.shown))
        await self.edit(handle, shown)
        return handle

    async def edit(self, handle: str, shown: OutgoingMessage) -> None:
        """Collect a message that replaced another."""
        self.shown[handle] = shown
        if shown.modal is Modal.TEXT_FOR_REPLACE and shown.text not in self.statuses[-1:]:
            self.statuses.append(shown.text)

    @property
    def stays(self) -> Sequence[OutgoingMessage]:
        """What the person sees in the end."""
        return [each for each in self.shown.values() if each.stays]


async def said_by(app: App, text: str, user: UserKey) -> Incoming:
    """Return the text as a message in the conversation that the person used last, or in a first one."""
    from adapters import console  # this loads prompt_toolkit

    settings, store = app.settings, app.conversations.store
    said = Incoming(ChatKey(user.platform, user.user), user, "", uuid.uuid4().hex, text, app.clock.now())
    if user.platform == console.PLATFORM:
        language = settings.locale.value if settings.locale else console.system_language()
        chat = console.conversation(user).chat
        return replace(said, chat=chat, language=language, user_name=user.user, thread_id=settings.default_thread)
    threads = [each for each in await store.threads(user) if each.status is ThreadStatus.ACTIVE]
    if not threads:
        return said
    newest = await store.tail(threads[0].id, 1)
    return replace(said, chat=threads[0].conversation.chat, private=not any(each.room for each in newest))


def buttons(shown: OutgoingMessage) -> list[JSONValue]:
    """Return the buttons of a message, each with the command that it says."""
    return [{"label": each.label, "command": each.command} for each in (*shown.menu, *shown.choices)]
