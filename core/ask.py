"""One question, one answer: the bot inside a program of your own (document 2's agent).

Whoever is asked for has a member's rights; `bot.wiring.build` grants others by name (docs/history.md).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from core.errors import InputError
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel, Clock, MessageHandler
from core.threads import THREAD_ID_RULE, is_thread_id
from core.types import ChatKey, Incoming, JSONValue, Modal, UserKey

PLATFORM: Final = "api"
_UNLIMITED = 1 << 30
_MAX_ID_CHARS = 200
_REQUIRED = ("message", "chat_id", "user_id")


class FieldError(InputError):
    """Fields of a request are missing or wrong. `fields` are their names, `advice` what is wrong with them."""

    def __init__(self, advice: str, *fields: str) -> None:
        """Name the fields: they are what the caller looks for."""
        super().__init__(f"{advice}: {', '.join(fields)}")
        self.advice = advice
        self.fields = fields


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
    handler: MessageHandler,
    clock: Clock,
    *,
    message: str = "",
    chat_id: str = "",
    user_id: str = "",
    session_id: str = "",
    thread_id: str = "",
    platform: str = PLATFORM,
    language: str = "",
) -> Answer:
    """Return the bot's answer to one message; the chat's memory is that of `chat_id` and `user_id`.

    With a `thread_id`, it is said in the thread of that id, which is begun now if there is none.

    Raises:
        FieldError: one of the first three is missing, or a value is not what it is given for; it says which.
    """
    given = _checked(
        message=message,
        chat_id=chat_id,
        user_id=user_id,
        session_id=session_id,
        thread_id=thread_id,
        language=language,
    )
    asked = Incoming(
        ChatKey(platform, given["chat_id"]),
        UserKey(platform, given["user_id"]),
        given["user_id"],
        uuid.uuid4().hex,
        given["message"],
        clock.now(),
        language=given["language"],
        thread_id=given["thread_id"],
    )
    screen = _Screen()
    await (await handler.receive(asked, screen))
    timestamp = clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Answer(screen.answer(), given["session_id"] or uuid.uuid4().hex, timestamp)


def _checked(**given: object) -> Mapping[str, str]:
    """Return what was given as text; what nothing could be looked up by is refused.

    A program hands on what it was sent, so that the types of `ask` hold nothing off.
    """
    if wrong := [name for name, value in given.items() if not isinstance(value, str | None)]:
        raise FieldError("not text", *wrong)
    texts = {name: str(value or "") for name, value in given.items()}
    if missing := [name for name in _REQUIRED if not texts[name].strip()]:
        raise FieldError("missing", *missing)
    short = {name: text for name, text in texts.items() if name != "message"}
    if unfit := [name for name, text in short.items() if len(text) > _MAX_ID_CHARS or not text.isprintable()]:
        raise FieldError(f"more than {_MAX_ID_CHARS} characters, or some that cannot be shown", *unfit)
    if texts["thread_id"] and not is_thread_id(texts["thread_id"]):
        raise FieldError(THREAD_ID_RULE, "thread_id")
    return texts


class _Screen(Channel):
    """A channel that nobody looks at: it keeps what stands on it."""

    def __init__(self) -> None:
        self._shown: dict[str, OutgoingMessage] = {}

    @property
    def limits(self) -> ChannelLimits:
        return ChannelLimits(max_chars=_UNLIMITED, edit_interval_s=0.0)

    def measure(self, text: str) -> int:
        return len(text)

    async def post(self, shown: OutgoingMessage) -> str:
        handle = str(len(self._shown))
        self._shown[handle] = shown
        return handle

    async def edit(self, handle: str, shown: OutgoingMessage) -> None:
        self._shown[handle] = shown

    def answer(self) -> str:
        """Return the last text that was meant to stay."""
        texts = [shown.text for shown in self._shown.values() if shown.modal is Modal.TEXT]
        return texts[-1] if texts else ""
