"""Ask a running bot one question and return its answer (document 2's agent). `bot.open_chat` runs one for a program.

Everybody whom a program asks for has a member's rights; `open_chat(owners=...)` gives more (docs/history.md).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from core.errors import InputError
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel, Clock, MessageHandler
from core.threads import THREAD_ID_RULE, is_thread_id
from core.types import ChatKey, Incoming, JSONValue, Message, UserKey

PLATFORM: Final = "api"
_UNLIMITED = 1 << 30
_MAX_ID_CHARS = 200
_REQUIRED = ("message", "chat_id", "user_id")


class FieldError(InputError):
    """Fields of a request are missing or wrong. `fields` are their names, `advice` says what is wrong."""

    def __init__(self, advice: str, *fields: str) -> None:
        """Put the advice and the names of the fields into the message."""
        super().__init__(f"{advice}: {', '.join(fields)}")
        self.advice = advice
        self.fields = fields


@dataclass(frozen=True, slots=True)
class Answer:
    """The bot's answer; `session_id` as it was given, or a new one; `timestamp` in ISO 8601, UTC."""

    response: str
    session_id: str
    timestamp: str

    def to_json(self) -> dict[str, JSONValue]:
        """Return the fields by the names of document 2."""
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
    on_message: Callable[[Message], None] = lambda _: None,
) -> Answer:
    """Send one message and return the bot's answer. `chat_id` and `user_id` name the conversation it belongs to.

    With a `thread_id` the message goes to the thread of that id, which is begun if there is none. `on_message` gets
    each message of the turn as it is said: statuses, recalled memories, and the parts of the answer (T1).

    Raises:
        FieldError: one of the first three is missing, or a value is wrong; it says which.
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
    screen = _Screen(on_message)
    await (await handler.receive(asked, screen))
    timestamp = clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Answer(screen.answer(), given["session_id"] or uuid.uuid4().hex, timestamp)


def _checked(**given: object) -> Mapping[str, str]:
    """Return the fields as text, or refuse them.

    Types are checked here because a program passes on what it was sent.
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
    """A channel that collects the messages on it."""

    def __init__(self, on_message: Callable[[Message], None]) -> None:
        self._shown: dict[str, OutgoingMessage] = {}
        self._on_message = on_message

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

    def note(self, message: Message) -> None:
        self._on_message(message)

    def answer(self) -> str:
        """Return the text of the last message that stays; that of memories alone has a line for each."""
        texts = [shown.words for shown in self._shown.values() if shown.stays]
        return texts[-1] if texts else ""
