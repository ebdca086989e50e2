"""What goes over the wire of the Bot API: a request as it is kept, a refusal, a text as it is taken; its rate limits.

Limits are sliding windows. Source: core.telegram.org/bots/faq and `FloodLimit`.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from tests.fakes.telegram_people import Json, special, units


class Refused(Exception):
    """The server says no."""

    def __init__(self, code: int, description: str, **parameters: Any) -> None:
        super().__init__(description)
        self.code = code
        self.body = {"ok": False, "error_code": code, "description": description}
        if parameters:
            self.body["parameters"] = parameters


@dataclass(frozen=True)
class Call:
    """One request: when (on the test's clock), what, and how it ended."""

    at_s: float
    method: str
    params: Json
    code: int
    message_id: int | None = None
    refusal: str = ""

    @property
    def chat_id(self) -> int:
        return int(self.params.get("chat_id", 0))

    @property
    def text(self) -> str:
        return str(self.params.get("text", ""))


def menu(params: Json) -> tuple[str, str]:
    scope = params.get("scope", {"type": "default"})
    name = f"{scope['type']}:{scope['chat_id']}" if "chat_id" in scope else scope["type"]
    return name, params.get("language_code", "")


def checked_keyboard(params: Json) -> list[list[Json]]:
    """The rows of buttons below a message; none where the request names none."""
    rows: list[list[Json]] = params.get("reply_markup", {}).get("inline_keyboard", [])
    for button in (button for row in rows for button in row):
        if not button["text"].strip():
            raise Refused(400, "Bad Request: inline keyboard button text can't be empty")
        if not 1 <= len(button["callback_data"].encode()) <= 64:
            raise Refused(400, "Bad Request: BUTTON_DATA_INVALID")
    if any(not 1 <= len(row) <= 8 for row in rows) or sum(map(len, rows)) > 100:
        raise Refused(400, "Bad Request: REPLY_MARKUP_TOO_LONG")
    return rows


def checked(params: Json, *, most: int = 4096, empty: bool = False) -> tuple[str, list[Json]]:
    """The text and entities that a message ends up with, as the real server makes them of what it is sent.

    A caption holds less than a message, and may be `empty`.
    """
    text, entities = str(params.get("text", "")), params.get("entities", [])
    if "parse_mode" in params:
        raise Refused(400, "Bad Request: unsupported parse_mode")
    if not text.strip() and not empty:
        raise Refused(400, "Bad Request: message text is empty")
    if units(text) > most:
        raise Refused(400, f"Bad Request: message {'caption ' if empty else ''}is too long")
    ends = {0, *accumulate(units(char) for char in text)}  # an entity may not begin or end inside a surrogate pair
    for entity in entities:
        if entity["length"] <= 0 or not {entity["offset"], entity["offset"] + entity["length"]} <= ends:
            raise Refused(400, "Bad Request: ENTITY_BOUNDS_INVALID")
        if entity["type"] == "text_mention" and not isinstance(entity["user"]["id"], int):
            raise Refused(400, "Bad Request: can't parse MessageEntity")
        if entity["type"] == "date_time" and not 0 < entity["unix_time"] < 2**31:
            raise Refused(400, "Bad Request: can't parse MessageEntity")
    return text.strip(), entities[:100]


def notified(text: str, entities: list[Json]) -> set[int | str]:
    """Whom a message notifies: people by id, and the names that the server finds in it outside code and mentions."""
    covered = [
        range(one["offset"], one["offset"] + one["length"])
        for one in entities
        if one["type"] in {"code", "pre", "text_mention"}
    ]
    people: set[int | str] = {one["user"]["id"] for one in entities if one["type"] == "text_mention"}
    people |= {
        int(found[1])
        for one in entities
        if one["type"] == "text_link" and (found := re.fullmatch(r"tg:(?://)?user\?id=(\d+)", one["url"]))
    }
    return people | {
        text.encode("utf-16-le")[2 * one["offset"] : 2 * (one["offset"] + one["length"])].decode("utf-16-le")
        for one in special(text)
        if one["type"] == "mention" and not any(one["offset"] in part for part in covered)
    }


class Limits:
    """20 writes a minute in a group, about one a second in a private chat (5 in 3 s pass), 30 a second in all."""

    def __init__(self) -> None:
        self._writes: defaultdict[int, deque[float]] = defaultdict(deque)
        self._all: deque[float] = deque()

    def wait_s(self, chat_id: int, now_s: float) -> float:
        """Count a write and return 0, or return how long that chat has to be quiet."""
        chat = self._writes[chat_id]
        windows = [(self._all, 30, 1.0), (chat, 20, 60.0)] if chat_id < 0 else [(self._all, 30, 1.0), (chat, 5, 3.0)]
        waits = [_wait_s(writes, most, period_s, now_s) for writes, most, period_s in windows]
        if max(waits) > 0:
            return max(waits)
        for writes, _, _ in windows:
            writes.append(now_s)
        return 0.0


def _wait_s(writes: deque[float], most: int, period_s: float, now_s: float) -> float:
    while writes and writes[0] <= now_s - period_s:
        writes.popleft()
    return writes[0] + period_s - now_s if len(writes) >= most else 0.0
