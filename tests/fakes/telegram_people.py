"""The people, chats and messages of a Telegram that exists only in a test. Knows what the Bot API says of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from core.ports import Clock

Json: TypeAlias = dict[str, Any]

BOT_ID = 42
BOT = {
    "id": BOT_ID, "is_bot": True, "first_name": "Elefante", "username": "elefante_bot", "can_join_groups": True,
    "can_read_all_group_messages": False, "supports_inline_queries": False,
}  # fmt: skip

_SPECIAL = re.compile(r"(?P<bot_command>(?<!\S)/\w+(?:@\w+)?)|(?P<mention>(?<!\w)@\w{3,})")


def units(text: str) -> int:
    """The length of a text in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass
class Person:
    id: int
    first_name: str = "Ana"
    language_code: str = "pt-br"
    is_bot: bool = False

    def json(self) -> Json:
        return {
            "id": self.id, "is_bot": self.is_bot, "first_name": self.first_name, "language_code": self.language_code,
        }  # fmt: skip


@dataclass
class Post:
    """A message as it stands in a chat now."""

    id: int
    by: int
    text: str
    entities: list[Json]
    reply_to: int | None = None
    thread: int | None = None


@dataclass
class Chat:
    """A chat: who may not write there, where it moved to, how long it is flooded."""

    id: int
    type: str = "private"
    posts: dict[int, Post] = field(default_factory=dict)
    refusal: str = ""
    moved_to: int | None = None
    flooded_until_s: float = 0.0

    def json(self) -> Json:
        if self.type == "private":
            return {"id": self.id, "type": "private", "first_name": "Ana"}
        return {"id": self.id, "type": self.type, "title": "Grupo", "is_forum": self.type == "supergroup"}

    def screen(self) -> list[str]:
        """What the bot wrote and still stands, top to bottom."""
        return [post.text for post in self.posts.values() if post.by == BOT_ID]


class People:
    """Makes updates out of what people do, with the entities that Telegram's clients and server would add."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._next_update = 1000
        self._next_message = 1
        self.chats: dict[int, Chat] = {}
        self.updates: list[Json] = []
        self.said: list[tuple[float, int, str, int, str]] = []  # when, in which chat, who, message, text

    def chat(self, chat_id: int) -> Chat:
        """The chat of that id; a negative one is a supergroup."""
        kind = "private" if chat_id > 0 else "supergroup"
        return self.chats.setdefault(chat_id, Chat(chat_id, kind))

    def says(
        self,
        person: Person,
        text: str | None,
        *,
        chat_id: int | None = None,
        reply_to: int | None = None,
        thread: int | None = None,
        age_s: float = 0.0,
        entities: Sequence[Json] = (),
        **more: Any,
    ) -> Json:
        """A person sends a message: in private, unless a group is named. Returns the message."""
        chat = self.chat(person.id if chat_id is None else chat_id)
        message = self.message(chat, person.json(), text, thread=thread, age_s=age_s, entities=entities)
        if reply_to is not None:
            message["reply_to_message"] = self.shown(chat, chat.posts[reply_to])
        message |= more
        chat.posts[message["message_id"]] = Post(message["message_id"], person.id, text or "", list(entities))
        self.said.append(
            (
                self._clock.monotonic(),
                chat.id,
                person.first_name,
                message["message_id"],
                text or f"[{next(iter(more))}]",
            )
        )
        self.push({"message": message})
        return message

    def edits(self, message: Mapping[str, Any], text: str) -> None:
        """A person changes what was sent."""
        new = dict(message) | {"text": text, "entities": special(text), "edit_date": self._now()}
        who, number = message["from"]["first_name"], message["message_id"]
        self.said.append((self._clock.monotonic(), message["chat"]["id"], who, number, f"(edited) {text}"))
        self.push({"edited_message": new})

    def push(self, update: Mapping[str, Any]) -> Json:
        """Queue an update."""
        numbered = {"update_id": self._next_update, **update}
        self._next_update += 1
        self.updates.append(numbered)
        return numbered

    def message(
        self,
        chat: Chat,
        by: Mapping[str, Any],
        text: str | None,
        *,
        thread: int | None = None,
        age_s: float = 0.0,
        entities: Sequence[Json] = (),
    ) -> Json:
        """A message with the next id, not sent to anybody yet."""
        message: Json = {
            "message_id": self._next_message, "date": self._now() - int(age_s), "chat": chat.json(), "from": dict(by),
        }  # fmt: skip
        self._next_message += 1
        if text is not None:
            message |= {"text": text, "entities": [*special(text), *entities]}
        if thread is not None:
            message |= {"message_thread_id": thread, "is_topic_message": True}
        return message

    def shown(self, chat: Chat, post: Post) -> Json:
        """A message that stands in a chat, as the API gives it."""
        by = BOT if post.by == BOT_ID else Person(post.by).json()
        return {
            "message_id": post.id, "date": self._now(), "chat": chat.json(), "from": by, "text": post.text,
            "entities": post.entities,
        }  # fmt: skip

    def _now(self) -> int:
        return int(self._clock.now().timestamp())


def special(text: str) -> list[Json]:
    """The entities that Telegram finds by itself."""
    return [
        {"type": found.lastgroup, "offset": units(text[: found.start()]), "length": units(found.group())}
        for found in _SPECIAL.finditer(text)
    ]
