"""What the ids of buttons, menus and forms mean, and what a press of one says.

Knows the form of ids. They come from outside: they tell what somebody wants, never who they are or what they may.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from adapters.discord.room import PLATFORM
from core.outgoing import Button
from core.types import ChatKey, ConversationKey, UserKey

MAX_ID_CHARS = 100
"""Of an id. Source: discord.com/developers/docs/components/reference#anatomy-of-a-component-custom-id."""

FORM_FIELD = "text"
"""The id of a form's only field."""

_IN_PLACE, _ASKS, _ASIDE = "p", "f", "a"
_PRESS = re.compile(r"elefante:do:(?P<flags>p?f?a?)\d{1,3}:(?P<command>.{1,80})", re.DOTALL)
_STOP = re.compile(r"elefante:stop:(?P<user>\d{1,20}):(?P<chat>\d{1,20}):(?P<thread>(?:\d{0,20}@)?\d{0,20})")


@dataclass(frozen=True, slots=True)
class Press:
    """What was pressed: the command that the presser sends by it, with what they wrote in its form.

    `asks` says that a form has to be opened first; `in_place` that the answer takes the message's place; `aside` that
    the button stands in a conversation that somebody has with the bot unseen by the room. `id` tells buttons apart.
    """

    command: str
    id: str
    asks: bool = False
    in_place: bool = False
    aside: bool = False


def press_id(choice: Button, number: int, *, aside: bool) -> str:
    """Return the id of that button; `number` is its place in the message."""
    flags = _IN_PLACE * choice.in_place + _ASKS * bool(choice.asks) + _ASIDE * aside
    return f"elefante:do:{flags}{number}:{choice.command}"


def press_of(data: Mapping[str, Any]) -> Press:
    """Return what the data of an interaction says was pressed or submitted; no command, where it is nothing of ours."""
    custom_id = str(data.get("custom_id", ""))
    chosen = data.get("values") or []
    found = _PRESS.fullmatch(str(chosen[0]) if chosen else custom_id)
    if found is None:
        return Press("", custom_id)
    flags = found["flags"]
    pressed = Press(found["command"], found[0], _ASKS in flags, _IN_PLACE in flags, _ASIDE in flags)
    if "components" not in data:
        return pressed
    written = next(_written(data["components"]), "")
    return replace(pressed, command=f"{pressed.command} {written}".rstrip(), asks=False)


def stop_id(conversation: ConversationKey) -> str:
    """Return the id of the button that stops an answer there."""
    chat = conversation.chat
    return f"elefante:stop:{conversation.user.user}:{chat.chat}:{chat.thread}"


def stopped_by(data: Mapping[str, Any]) -> ConversationKey | None:
    """Return the conversation whose Stop button was pressed, or None where it was another one."""
    found = _STOP.fullmatch(str(data.get("custom_id", "")))
    if found is None:
        return None
    return ConversationKey(ChatKey(PLATFORM, found["chat"], found["thread"]), UserKey(PLATFORM, found["user"]))


def _written(components: Any) -> Iterator[str]:
    """Find what was written in a submitted form: its field stands in a label, or (older clients) in a row."""
    for component in components:
        if component.get("custom_id") == FORM_FIELD:
            yield str(component.get("value", ""))
        else:
            inner = component.get("component")
            yield from _written([inner] if inner else component.get("components", []))
