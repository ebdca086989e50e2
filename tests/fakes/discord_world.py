"""The people, channels and messages of the Discord test server, and how it says no."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from core.ports import Clock

Json: TypeAlias = dict[str, Any]

_ID = 10**17  # real ids have 17 digits and more; the library finds no shorter ones in a text
BOT_ID = _ID + 42
APP_ID = _ID + 4200
OWNER_ID = _ID + 1
GUILD_ID = _ID + 9000
BOT_ROLE_ID = _ID + 9042
MANAGER_ROLE_ID = _ID + 9043
EPOCH_MS = 1420070400000
TEXT, DM, THREAD = 0, 1, 11
VIEW, SEND, READ_HISTORY, MANAGE_GUILD = 1 << 10, 1 << 11, 1 << 16, 1 << 5
EPHEMERAL, LOADING, SUPPRESS_EMBEDS = 1 << 6, 1 << 7, 1 << 2


@dataclass
class Person:
    id: int
    name: str = "Ana"
    locale: str = "pt-BR"
    bot: bool = False

    def json(self) -> Json:
        return {
            "id": str(self.id), "username": self.name, "global_name": self.name, "discriminator": "0", "avatar": None,
            "bot": self.bot,
        }  # fmt: skip


ROOM = 10**17 + 100
"""The channel that every server has."""

BOT = Person(BOT_ID, "Elefante", bot=True)


@dataclass
class Note:
    """A message as it stands in a channel now."""

    id: int
    channel: int
    by: Person
    content: str = ""
    embeds: list[Json] = field(default_factory=list)
    components: list[Json] = field(default_factory=list)
    flags: int = 0
    reply_to: int | None = None
    nonce: str = ""
    type: int = 0
    more: Json = field(default_factory=dict)
    files: list[Json] = field(default_factory=list)
    reactions: list[str] = field(default_factory=list)
    pinged: set[int] = field(default_factory=set)
    edited_at: str | None = None
    rings: bool = True  # when it comes

    @property
    def text(self) -> str:
        """What is read: the content, the embed's text below it, and the names of files."""
        embeds = (str(embed.get("description", "")) for embed in self.embeds)
        return "\n".join(filter(None, [self.content, *embeds, *(f"📎 {file['filename']}" for file in self.files)]))

    @property
    def buttons(self) -> list[str]:
        """The ids of the buttons below it."""
        return [item["custom_id"] for row in self.components for item in row["components"]]


@dataclass
class Channel:
    """A channel, a thread or a direct message; `refusal` is the (status, code) of everything tried there.

    With `no_history` the bot may read what is said now, and nothing of before; with `no_embeds` it lacks the right
    "embed links". An `archived` thread is opened again by whoever writes into it, unless it is `locked`.
    """

    id: int
    type: int = TEXT
    guild: int = 0
    parent: int = 0
    owner: int = 0
    name: str = "geral"
    recipient: Person | None = None
    notes: dict[int, Note] = field(default_factory=dict)
    refusal: tuple[int, int] | None = None
    no_reactions: bool = False
    no_embeds: bool = False
    no_history: bool = False
    archived: bool = False
    locked: bool = False

    def json(self) -> Json:
        last = str(max(self.notes)) if self.notes else None
        kind: Json = {"id": str(self.id), "type": self.type, "name": self.name, "last_message_id": last}
        if self.recipient is not None:
            return kind | {"recipients": [self.recipient.json()]}
        denied = {"id": str(GUILD_ID), "type": 0, "allow": "0", "deny": str(READ_HISTORY if self.no_history else 0)}
        kind |= {"guild_id": str(self.guild), "position": 0, "permission_overwrites": [denied], "parent_id": None}
        if self.type == THREAD:
            kind |= {
                "parent_id": str(self.parent), "owner_id": str(self.owner), "member_count": 1, "message_count": 1,
                "thread_metadata": {
                    "archived": self.archived, "auto_archive_duration": 1440, "locked": self.locked,
                    "archive_timestamp": "2026-01-01T00:00:00+00:00",
                },
            }  # fmt: skip
        return kind

    def screen(self) -> list[str]:
        """What the bot wrote there and everybody can read, top to bottom."""
        ours = [note for note in self.notes.values() if note.by is BOT]
        return [note.text for note in ours if not note.flags & (EPHEMERAL | LOADING)]


class World:
    """One server, its channels, and direct messages. Ids hold the time of the test's clock, as real ones do."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.people: dict[int, Person] = {BOT_ID: BOT}
        self.channels: dict[int, Channel] = {}
        self.features: list[str] = []
        self.preferred_locale = "en-US"
        self.uploaded: dict[str, bytes] = {}  # what the CDN holds, by path
        self.cdn_url = ""
        self.signature = 1  # that addresses in the CDN have now
        self.roles_of: dict[int, list[int]] = {}  # of people in the server
        self._counter = itertools.count(1)
        self.room(ROOM)

    def snowflake(self, age_s: float = 0.0) -> int:
        """A new id of that age."""
        ms = round((self.clock.now().timestamp() - age_s) * 1000) - EPOCH_MS
        return (ms << 22) | (next(self._counter) & 0x3FFFFF)

    def upload(self, name: str, content: bytes) -> Json:
        """Put a file into the CDN; what a message says of it."""
        file_id = self.snowflake()
        path = f"/attachments/{file_id}/{name}"
        url = f"{self.cdn_url}{path}?hm={self.signature}"
        self.uploaded[path] = content
        return {
            "id": str(file_id), "filename": name, "size": len(content), "url": url, "proxy_url": url,
        }  # fmt: skip

    def resign(self) -> None:
        """A day goes by: no address that was told before is good any more."""
        self.signature += 1

    def signed(self, told: Json) -> Json:
        """What is told of a message, with the addresses of its files as they are now."""
        files = [
            {**file, "url": f"{file['url'].partition('?')[0]}?hm={self.signature}"} for file in told["attachments"]
        ]
        passed_on = [{"message": self.signed(each["message"])} for each in told.get("message_snapshots", ())]
        return told | {"attachments": files} | ({"message_snapshots": passed_on} if passed_on else {})

    def room(self, channel_id: int) -> Channel:
        """The text channel of that id."""
        return self.channels.setdefault(channel_id, Channel(channel_id, guild=GUILD_ID, name=f"sala-{channel_id}"))

    def direct(self, person: Person) -> Channel:
        """The direct messages of that person."""
        channel_id = 500_000 + person.id  # nobody's own id
        self.people[person.id] = person
        return self.channels.setdefault(channel_id, Channel(channel_id, type=DM, recipient=person))

    def thread(self, thread_id: int, parent: int, owner: int, name: str = "assunto") -> Channel:
        """A thread of a channel."""
        made = Channel(thread_id, THREAD, GUILD_ID, parent, owner, name)
        return self.channels.setdefault(thread_id, made)

    def note_json(self, note: Note, *, nested: bool = False) -> Json:
        """A message as the API gives it."""
        mentioned = [int(found) for found in re.findall(r"<@!?(\d+)>", note.content)]
        channel = self.channels[note.channel]
        replied = channel.notes.get(note.reply_to) if note.reply_to else None
        if replied is not None and note.more.get("pings", True):
            mentioned.append(replied.by.id)
        given: Json = {
            "id": str(note.id), "channel_id": str(note.channel), "author": note.by.json(), "content": note.content,
            "timestamp": self.clock.now().isoformat(), "edited_timestamp": note.edited_at, "tts": False,
            "mention_everyone": "@everyone" in note.content, "attachments": note.files, "embeds": note.embeds,
            "mentions": [self.people[one].json() for one in dict.fromkeys(mentioned) if one in self.people],
            "mention_roles": re.findall(r"<@&(\d+)>", note.content), "pinned": False,
            "type": 19 if replied is not None else note.type, "components": note.components, "flags": note.flags,
        }  # fmt: skip
        if note.nonce:
            given["nonce"] = note.nonce
        if note.reply_to is not None:
            given["message_reference"] = {"message_id": str(note.reply_to), "channel_id": str(note.channel)}
            if not nested:  # one hop: of the next only the id is told
                given["referenced_message"] = self.note_json(replied, nested=True) if replied else None
        return self.signed(given | {key: value for key, value in note.more.items() if key != "pings"})

    def hidden_from_bot(self, note: Note, given: Json) -> Json:
        """The message, and the one it replies to, each without what the message-content intent protects."""
        channel = self.channels[note.channel]
        if given.get("referenced_message") is not None and note.reply_to is not None:
            replied = self.hidden_from_bot(channel.notes[note.reply_to], given["referenced_message"])
            given = given | {"referenced_message": replied}
        told = any(int(user["id"]) == BOT_ID for user in given["mentions"])
        if channel.type == DM or note.by is BOT or told:
            return given
        return given | {"content": "", "embeds": [], "attachments": [], "components": []}

    def guild_json(self) -> Json:
        """The server as GUILD_CREATE gives it."""
        everyone = role_json(GUILD_ID, "@everyone", VIEW | SEND | READ_HISTORY)
        ours = role_json(BOT_ROLE_ID, "Elefante") | {"managed": True, "tags": {"bot_id": str(BOT_ID)}}
        managers = role_json(MANAGER_ROLE_ID, "Cuidadores", MANAGE_GUILD)
        rooms = [channel for channel in self.channels.values() if channel.guild]
        return {
            "id": str(GUILD_ID), "name": "Comunidade", "owner_id": str(OWNER_ID), "unavailable": False, "icon": None,
            "roles": [everyone, ours, managers], "emojis": [], "stickers": [],
            "features": self.features, "preferred_locale": self.preferred_locale, "member_count": 3, "large": False,
            "members": [member() | {"user": BOT.json()}], "presences": [], "voice_states": [],
            "channels": [room.json() for room in rooms if room.type != THREAD],
            "threads": [room.json() for room in rooms if room.type == THREAD],
            "verification_level": 0, "nsfw_level": 0, "mfa_level": 0, "premium_tier": 0, "afk_timeout": 300,
            "default_message_notifications": 0, "explicit_content_filter": 0, "system_channel_flags": 0,
        }  # fmt: skip


@dataclass(frozen=True)
class Role:
    """A role of the server that somebody picks in a menu."""

    id: int
    name: str


def role_json(role_id: int, name: str, permissions: int = 0) -> Json:
    """A role of the server."""
    return {
        "id": str(role_id), "name": name, "permissions": str(permissions), "managed": False, "mentionable": False,
        "color": 0, "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False, "position": 0, "flags": 0,
    }  # fmt: skip


def member(roles: Sequence[int] = ()) -> Json:
    """What a message says of its author as a member of the server."""
    return {
        "roles": [*map(str, roles)],
        "joined_at": "2026-01-01T00:00:00+00:00",
        "deaf": False,
        "mute": False,
        "flags": 0,
    }


class Refused(Exception):
    """The server says no: an HTTP status, a code of Discord's own, and words."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body: dict[str, Any] = {"code": code, "message": message}
        self.headers: dict[str, str] = {}
