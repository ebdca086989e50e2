"""The people, chats and messages of the Telegram test server."""

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

_RIGHTS = (
    "can_be_edited is_anonymous can_manage_chat can_delete_messages can_manage_video_chats can_restrict_members "
    "can_promote_members can_change_info can_invite_users can_post_stories can_edit_stories can_delete_stories"
)
_INACCESSIBLE_AFTER_S = 48 * 3600.0
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
    username: str = ""

    def json(self) -> Json:
        named = {"username": self.username} if self.username else {}
        return named | {
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
    at_s: float = 0.0
    buttons: list[list[Json]] = field(default_factory=list)
    file: Any = None
    reaction: str = ""  # the bot's
    reactions: dict[int, str] = field(default_factory=dict)  # people's
    to: int | None = None  # the only person who sees it, whose ids are counted apart

    @property
    def labels(self) -> list[list[str]]:
        """What the buttons below it say, row by row."""
        return [[button["text"] for button in row] for row in self.buttons]


@dataclass
class Chat:
    """A chat: who may not write there, where it moved to, how long it is flooded."""

    id: int
    type: str = "private"
    posts: dict[int, Post] = field(default_factory=dict)
    refusal: str = ""
    moved_to: int | None = None
    flooded_until_s: float = 0.0
    reactions: str = "👀👍❤"
    administered: bool = False  # the bot is an administrator
    admins: set[int] = field(default_factory=set)  # and which people are
    whispers: dict[int, Post] = field(default_factory=dict)  # ephemeral messages, by their own ids

    def heard(self, person: int) -> list[str]:
        """What the bot said to that person alone, top to bottom."""
        return [post.text for post in self.whispers.values() if post.to == person]

    def json(self) -> Json:
        if self.type == "private":
            return {"id": self.id, "type": "private", "first_name": "Ana"}
        return {"id": self.id, "type": self.type, "title": "Grupo", "is_forum": self.type == "supergroup"}

    def screen(self) -> list[str]:
        """What the bot wrote and still stands, top to bottom."""
        return [post.text for post in self.ours()]

    def ours(self) -> list[Post]:
        """The messages of the bot's, top to bottom."""
        return [post for post in self.posts.values() if post.by == BOT_ID]


class People:
    """Makes updates out of what people do, with the entities that Telegram's clients and server would add."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._next_update = 1000
        self._next_message = 1
        self._next_query = 1
        self.friends: dict[int, Person] = {}  # who said something, by id
        self.seen: set[int] = set()  # people whom the bot has met, be it in a group
        self.queries: dict[str, tuple[float, str]] = {}  # presses that were not answered: when, by whom
        self.chats: dict[int, Chat] = {}
        self.updates: list[Json] = []
        self.said: list[tuple[float, int, str, int, str]] = []  # when, in which chat, who, message, text
        self.inline: dict[str, int] = {}  # inline queries that were not answered: by whom
        self._next_ephemeral = 7_000_001

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
        self.seen.add(person.id)
        self.friends[person.id] = person
        message = self.message(chat, person.json(), text, thread=thread, age_s=age_s, entities=entities)
        if reply_to is not None:
            message["reply_to_message"] = self.shown(chat, chat.posts[reply_to])
        message |= more
        chat.posts[message["message_id"]] = Post(
            message["message_id"], person.id, text or "", list(entities), at_s=self._clock.monotonic()
        )
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

    def edits(self, message: Mapping[str, Any], text: str) -> Json:
        """A person changes what was sent. Returns the update."""
        new = dict(message) | {"text": text, "entities": special(text), "edit_date": self._now()}
        who, number = message["from"]["first_name"], message["message_id"]
        self.said.append((self._clock.monotonic(), message["chat"]["id"], who, number, f"(edited) {text}"))
        return self.push({"edited_message": new})

    def presses(self, person: Person, button: str, *, chat_id: int | None = None, post: Post | None = None) -> Json:
        """A person presses a button of that label, below the bot's last message, unless another is named."""
        chat = self.chat(person.id if chat_id is None else chat_id)
        post = post or chat.ours()[-1]
        data = {one["text"]: one["callback_data"] for row in post.buttons for one in row}[button]
        self.said.append((self._clock.monotonic(), chat.id, person.first_name, post.id, f"[{button}]"))
        return self.forges(person, data, chat, post)

    def forges(self, person: Person, data: str, chat: Chat, post: Post) -> Json:
        """A client sends a press with data of its own making. Returns the update."""
        query = str(4_000_000_000 + self._next_query)
        self._next_query += 1
        now_s = self._clock.monotonic()
        self.queries[query] = (now_s, person.first_name)
        if post.to is not None:
            message = self.whispered(chat, post, BOT, person.json())
        elif now_s - post.at_s > _INACCESSIBLE_AFTER_S:
            message = {"chat": chat.json(), "message_id": post.id, "date": 0}
        else:
            message = self.shown(chat, post)
        return self.push({
            "callback_query": {
                "id": query, "from": person.json(), "chat_instance": "1", "message": message, "data": data,
            }
        })  # fmt: skip

    def whispers(self, person: Person, text: str, chat_id: int) -> int:
        """A person gives a command that the bot declared as ephemeral, which nobody else in the group sees."""
        chat, number = self.chat(chat_id), self.next_ephemeral()
        self.seen.add(person.id)
        chat.whispers[number] = Post(number, person.id, text, [], at_s=self._clock.monotonic(), to=BOT_ID)
        self.said.append((self._clock.monotonic(), chat.id, person.first_name, number, text))
        self.push({"message": self.whispered(chat, chat.whispers[number], person.json(), BOT)})
        return number

    def whispered(self, chat: Chat, post: Post, by: Json, to: Json) -> Json:
        """An ephemeral message, as the API gives it."""
        message: Json = {
            "message_id": 0, "ephemeral_message_id": post.id, "receiver_user": to, "date": self._now(),
            "chat": chat.json(), "from": by, "text": post.text, "entities": [*special(post.text), *post.entities],
        }  # fmt: skip
        return message | ({"reply_markup": {"inline_keyboard": post.buttons}} if post.buttons else {})

    def next_ephemeral(self) -> int:
        """The id of the next ephemeral message."""
        self._next_ephemeral += 1
        return self._next_ephemeral - 1

    def searches(self, person: Person, words: str) -> str:
        """A person writes the bot's name and some words, in whatever chat. Returns the id of the query."""
        query = str(5_000_000_000 + self._next_query)
        self._next_query += 1
        self.inline[query] = person.id
        self.push({
            "inline_query": {
                "id": query, "from": person.json(), "query": words, "offset": "", "chat_type": "private"
            }
        })  # fmt: skip
        return query

    def reacts(self, person: Person, emoji: str, *, chat_id: int | None = None, post: Post | None = None) -> None:
        """A person puts a reaction on a message, the bot's last unless another is named; "" takes it off.

        In a group the bot is told only if it is an administrator.
        """
        chat = self.chat(person.id if chat_id is None else chat_id)
        post = post or chat.ours()[-1]
        old, new = (
            [{"type": "emoji", "emoji": one}] if one else [] for one in (post.reactions.get(person.id, ""), emoji)
        )
        post.reactions[person.id] = emoji
        self.said.append((self._clock.monotonic(), chat.id, person.first_name, post.id, f"[{emoji or 'no reaction'}]"))
        if chat.type == "private" or chat.administered:
            change = {"old_reaction": old, "new_reaction": new, "date": self._now()}
            told = {"chat": chat.json(), "message_id": post.id, "user": person.json()} | change
            self.push({"message_reaction": told})

    def invites(self, person: Person, chat_id: int, status: str = "member", *, before: str = "left") -> None:
        """A person adds the bot to a group, or takes it out again."""
        change = {
            "chat": self.chat(chat_id).json(), "from": person.json(), "date": self._now(),
            "old_chat_member": member(before), "new_chat_member": member(status),
        }  # fmt: skip
        self.push({"my_chat_member": change})

    def grows_up(self, chat: Chat, new_id: int) -> Chat:
        """A group becomes a supergroup: another chat, whose messages are counted anew; the service says so in both."""
        new = self.chat(new_id)
        chat.moved_to, count = new_id, self._next_message
        by = Person(1087968824, "Group", is_bot=True).json()
        sender = {"sender_chat": chat.json()}
        self.push({"message": self.message(chat, by, None) | sender | {"migrate_to_chat_id": new_id}})
        self._next_message = 1
        self.push({"message": self.message(new, by, None) | sender | {"migrate_from_chat_id": chat.id}})
        assert self._next_message < count, "the group should have been talked in for longer"
        return new

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
        by = BOT if post.by == BOT_ID else self.friends.get(post.by, Person(post.by)).json()
        message: Json = {"message_id": post.id, "date": self._now(), "chat": chat.json(), "from": by}
        if post.file is None:
            message |= {"text": post.text, "entities": post.entities}
        else:
            message |= {
                "caption": post.text, "document": {"file_id": "f", "file_unique_id": "u", "file_name": post.file.name},
            }  # fmt: skip
        if post.buttons:
            message["reply_markup"] = {"inline_keyboard": post.buttons}
        if post.thread:
            message |= {"message_thread_id": int(post.thread), "is_topic_message": True}
        if post.reply_to in chat.posts:
            message["reply_to_message"] = self.shown(chat, chat.posts[post.reply_to])
            message["reply_to_message"].pop("reply_to_message", None)  # the API goes one message back, no further
        return message

    def _now(self) -> int:
        return int(self._clock.now().timestamp())


def member(status: str) -> Json:
    """The bot as a member of a chat."""
    rights = dict.fromkeys(_RIGHTS.split(), False) if status == "administrator" else {}
    return {"user": BOT, "status": status, **rights}


def special(text: str) -> list[Json]:
    """The entities that Telegram finds by itself."""
    return [
        {"type": found.lastgroup, "offset": units(text[: found.start()]), "length": units(found.group())}
        for found in _SPECIAL.finditer(text)
    ]
