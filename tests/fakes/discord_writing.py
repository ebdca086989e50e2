"""Messages and threads as Discord's REST takes them: limits, nonces, whose message it is.

Source: discord.com/developers/docs/resources/message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tests.fakes.discord_components import check_rows
from tests.fakes.discord_world import BOT, GUILD_ID, THREAD, Channel, Json, Note, Refused, World

if TYPE_CHECKING:
    from tests.fakes.discord_server import DiscordServer

MAX_CHARS = 2000
MAX_EMBED_CHARS = 4096
MAX_FILE_BYTES = 10 * 1024 * 1024
SILENT = 1 << 12  # discord.com/developers/docs/resources/message#message-object-message-flags
NONCE_LIFE_S = 300.0


class Writing:
    """The routes below `/channels`."""

    def __init__(self, server: DiscordServer) -> None:
        self._server = server
        self._nonces: dict[tuple[int, str], tuple[float, int]] = {}

    def _known(self, channel_id: int) -> Channel:
        channel = self._server.channels.get(channel_id)
        if channel is None:
            raise Refused(404, 10003, "Unknown Channel")
        if channel.refusal is not None:
            raise Refused(*channel.refusal, "Missing Access")
        return channel

    def answer(self, method: str, parts: list[str], query: Mapping[str, str], body: Json) -> Any:  # noqa: PLR0911
        """Answer a request to `/channels`."""
        channel = self._known(int(parts[1]))
        match method, parts[2:]:
            case "GET", []:
                return channel.json()
            case "GET", ["messages", *one]:
                return self._read(channel, one, query)
            case "POST", ["messages"]:
                return self._server.note_json(self._create(channel, body))
            case "PATCH", ["messages", message_id]:
                return self._server.note_json(self._edit(channel, int(message_id), body))
            case "DELETE", ["messages", message_id]:
                return self._delete(channel, int(message_id))
            case "POST", ["typing"]:
                self._server.typed(channel.id)
                return None
            case "PUT", ["messages", message_id, "reactions", emoji, "@me"]:
                return self._react(channel, int(message_id), emoji)
            case "DELETE", ["messages", message_id, "reactions", emoji, "@me"]:
                return self._react(channel, int(message_id), emoji, back=True)
            case "POST", ["messages", message_id, "threads"]:
                return self._open_thread(channel, int(message_id), body)
        raise Refused(404, 0, "404: Not Found")

    def _read(self, channel: Channel, one: list[str], query: Mapping[str, str]) -> Any:
        """A message, or a page of them, the newest first."""
        if one:
            if int(one[0]) not in channel.notes:
                raise Refused(404, 10008, "Unknown Message")
            return self._server.told(channel.notes[int(one[0])])
        if channel.no_history:
            return []
        limit, before = int(query.get("limit", 50)), int(query.get("before", 1 << 63))
        found = sorted(note for note in channel.notes if int(query.get("after", 0)) < note < before)
        page = found[:limit] if "after" in query else found[-limit:]
        return [self._server.told(channel.notes[each]) for each in reversed(page)]

    def _create(self, channel: Channel, body: Json) -> Note:
        if channel.locked:
            raise Refused(403, 50083, "Thread is archived")
        channel.archived = False
        key = (channel.id, str(body.get("nonce", "")))
        if body.get("enforce_nonce") and (known := self._nonces.get(key)) is not None:
            made_s, message_id = known
            if self._server.clock.monotonic() - made_s < NONCE_LIFE_S and message_id in channel.notes:
                return channel.notes[message_id]
        reference: Json = body.get("message_reference") or {}
        reply_to = int(reference["message_id"]) if reference else None
        if reply_to is not None and reply_to not in channel.notes:
            if reference.get("fail_if_not_exists", True):
                raise Refused(400, 50035, "Invalid Form Body")
            reply_to = None
        note = Note(self._server.snowflake(), channel.id, BOT, reply_to=reply_to, nonce=key[1], more={"pings": False})
        apply(self._server, note, _as_allowed(channel, body))
        note.rings = not note.flags & SILENT
        if reply_to is not None and body.get("allowed_mentions", {}).get("replied_user"):
            note.pinged.add(channel.notes[reply_to].by.id)
        channel.notes[note.id] = note
        self._nonces[key] = (self._server.clock.monotonic(), note.id)
        self._server.wrote("post", note)
        return note

    def _edit(self, channel: Channel, message_id: int, body: Json) -> Note:
        note = channel.notes.get(message_id)
        if note is None:
            raise Refused(404, 10008, "Unknown Message")
        if note.by is not BOT:
            raise Refused(403, 50005, "Cannot edit a message authored by another user")
        apply(self._server, note, _as_allowed(channel, body))
        self._server.wrote("edit", note)
        return note

    def _delete(self, channel: Channel, message_id: int) -> Json:
        note = channel.notes.get(message_id)
        if note is None:
            raise Refused(404, 10008, "Unknown Message")
        assert note.by is BOT, "the bot deletes nothing of anybody else's"
        self._server.wrote("delete", channel.notes.pop(message_id))
        return {}

    def _react(self, channel: Channel, message_id: int, emoji: str, *, back: bool = False) -> None:
        note = channel.notes.get(message_id)
        if note is None:
            raise Refused(404, 10008, "Unknown Message")
        if channel.no_reactions:
            raise Refused(403, 50013, "Missing Permissions")
        if not back:
            note.reactions.append(emoji)
        elif emoji in note.reactions:
            note.reactions.remove(emoji)
        else:
            raise Refused(404, 10014, "Unknown Emoji")

    def _open_thread(self, channel: Channel, message_id: int, body: Json) -> Json:
        if message_id in self._server.channels:
            raise Refused(400, 160004, "A thread has already been created for this message")
        if not 1 <= len(body["name"]) <= 100:
            raise Refused(400, 50035, "Invalid Form Body")
        opened = Channel(message_id, THREAD, GUILD_ID, channel.id, BOT.id, body["name"])
        self._server.channels[message_id] = opened
        return opened.json()


def _as_allowed(channel: Channel, body: Json) -> Json:
    """What is left of a message without the right to embeds: they are dropped in silence, and refused without a text.

    Source: github.com/discord/discord-api-docs/issues/2601.
    """
    if not channel.no_embeds or not body.get("embeds"):
        return body
    if not body.get("content"):
        raise Refused(403, 50013, "Missing Permissions")
    return body | {"embeds": []}


def pinged_by(content: str, allowed: Json) -> set[int]:
    """Who is notified by a new message.

    Source: discord.com/developers/docs/resources/message#allowed-mentions-object.
    """
    assert allowed["parse"] == [], "this would ping whoever is named"
    assert not allowed.get("roles"), "this would ping a role"
    return {int(found) for found in re.findall(r"<@!?(\d+)>", content)} & set(map(int, allowed.get("users", [])))


def apply(world: World, note: Note, body: Json) -> None:
    """Make the message what the request says. What it does not name stays."""
    content = body.get("content", note.content) or ""
    embeds = body.get("embeds", note.embeds) or []
    if len(content) > MAX_CHARS:
        raise Refused(400, 50035, "Invalid Form Body: content: Must be 2000 or fewer in length.")
    if sum(len(str(embed.get("description", ""))) for embed in embeds) > MAX_EMBED_CHARS:
        raise Refused(400, 50035, "Invalid Form Body: embeds")
    files = (
        [_kept(world, *file) for file in body["files"]]
        if "files" in body
        else []
        if "attachments" in body
        else note.files
    )
    rows = body.get("components", note.components) or []
    check_rows(rows)
    if not content.strip() and not embeds and not files:
        raise Refused(400, 50006, "Cannot send an empty message")
    if "@everyone" in content or "<@" in content:
        pings = pinged_by(content, body["allowed_mentions"])
        note.pinged |= set() if note.content else pings  # nobody is told of a change
    note.content, note.embeds = content.strip(), embeds
    note.components, note.files = rows, files
    note.flags = int(body.get("flags", note.flags))


def _kept(world: World, name: str, content: bytes) -> Json:
    if len(content) > MAX_FILE_BYTES:
        raise Refused(413, 40005, "Request entity too large")
    return world.upload(name, content)
