"""What people saw of a Discord scenario, line by line."""

from __future__ import annotations

from collections.abc import Mapping

from tests.e2e.discord_kit import ME, OTHER_ROOM, ROOM
from tests.fakes.discord_server import DiscordServer, Write
from tests.fakes.discord_world import DM, THREAD
from tests.transcripts.phone import discord_html
from tests.transcripts.transcript import Line

STOP = "⏹️"
ROOMS: Mapping[int, str] = {ROOM: "sala", OTHER_ROOM: "outra"}
"""What rooms are called, by their number."""


def seen(server: DiscordServer, rooms: Mapping[int, str] = ROOMS) -> list[Line]:
    """What people saw; what only one of them saw is marked, and what the bot alone saw stands in brackets."""
    numbers: dict[int, int] = {}
    for write in server.story:
        if write.message:
            numbers.setdefault(write.message, len(numbers) + 1)
    lines = []
    for write in server.story:
        chat = _chat(server, write.channel, rooms)
        below, told = [label for label in write.below if label != STOP], write.text.replace(ME, "@Elefante")
        rich = discord_html(write.content.replace(ME, "@Elefante"), write.embeds) if write.message else ""
        lines.append(Line(write.at_s, chat, write.by, _mark(write, numbers), told, rich, [below] if below else ()))
        if below:
            lines.append(Line(write.at_s, chat, "", "", " ".join(f"[{label}]" for label in below)))
    return lines


def _mark(write: Write, numbers: dict[int, int]) -> str:
    if write.verb == "typing":
        return write.verb
    number = f"#{numbers[write.message]}" if write.message else ""
    edited = {"edit": "" if write.hidden else " ✎", "delete": " ✗"}.get(write.verb, "")
    reply = f" ↩{numbers[write.reply_to]}" if write.reply_to and write.verb not in {"edit", "delete"} else ""
    return number + edited + reply + (" 🔒" if write.hidden else "")


def _chat(server: DiscordServer, channel_id: int, rooms: Mapping[int, str]) -> str:
    channel = server.channels.get(channel_id)
    if channel is None:
        return ""
    if channel.type == DM and channel.recipient is not None:
        return channel.recipient.name
    return "tópico" if channel.type == THREAD else rooms[channel_id]
