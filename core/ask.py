"""One question, one answer: the bot inside a program of your own (document 2's agent).

Whoever is asked for has a member's rights; `bot.wiring.build` grants others by name (docs/history.md).
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Final

from core.errors import InputError
from core.ports import Clock, Door, Surface
from core.screen import Shown, SurfaceLimits
from core.types import ChatKey, Incoming, JSONValue, Modal, UserKey

PLATFORM: Final = "api"
_UNLIMITED = 1 << 30


@dataclass(frozen=True, slots=True)
class Answer:
    """What the bot said last; `session_id` as it was given, or a new one; `timestamp` in ISO 8601, UTC."""

    response: str
    session_id: str
    timestamp: str

    def to_json(self) -> dict[str, JSONValue]:
        """Return the three fields as document 2 names them."""
        return {"response": self.response, "sessionId": self.session_id, "timestamp": self.timestamp}


async def ask(
    door: Door,
    clock: Clock,
    *,
    message: str,
    chat_id: str,
    user_id: str,
    session_id: str = "",
    platform: str = PLATFORM,
    language: str = "",
) -> Answer:
    """Return the bot's answer to one message; the chat's memory is that of `chat_id` and `user_id`.

    Raises:
        InputError: a required field is missing; it says which.
    """
    required = {"message": message, "chat_id": chat_id, "user_id": user_id}
    if missing := [name for name, value in required.items() if not value.strip()]:
        raise InputError(f"missing: {', '.join(missing)}")
    user = UserKey(platform, user_id)
    asked = Incoming(
        ChatKey(platform, chat_id), user, user_id, uuid.uuid4().hex, message, clock.now(), language=language
    )
    screen = _Screen()
    await (await door.receive(asked, screen))
    timestamp = clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Answer(screen.answer(), session_id or uuid.uuid4().hex, timestamp)


class _Screen(Surface):
    """A surface that nobody looks at: it keeps what stands on it."""

    def __init__(self) -> None:
        self._shown: dict[str, Shown] = {}

    @property
    def limits(self) -> SurfaceLimits:
        return SurfaceLimits(max_chars=_UNLIMITED, edit_interval_s=0.0)

    def measure(self, text: str) -> int:
        return len(text)

    async def post(self, shown: Shown) -> str:
        handle = str(len(self._shown))
        self._shown[handle] = shown
        return handle

    async def edit(self, handle: str, shown: Shown) -> None:
        self._shown[handle] = shown

    def answer(self) -> str:
        """Return the last text that was meant to stay."""
        texts = [shown.text for shown in self._shown.values() if shown.modal is Modal.TEXT]
        return texts[-1] if texts else ""
