"""The bot as a process against simcord, an independent Discord: people see what they see in our own fake."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import pytest

from core.clock import SystemClock
from tests.fakes.discord_components import labels
from tests.fakes.discord_server import TOKEN, DiscordServer
from tests.fakes.discord_world import BOT, BOT_ID, Person
from tests.peers.bot_process import bot_on, until
from tests.peers.discord_peer import DiscordPeer, discord_peer

pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(find_spec("simcord") is None, reason="needs simcord: make test-peers"),
]


class Chats(Protocol):
    """Ana's direct messages with the bot, and a room where others are, too."""

    async def say(self, text: str, *, room: bool) -> None: ...
    async def press(self, label: str, *, room: bool) -> None: ...
    async def edit(self, text: str) -> None: ...
    async def command(self, name: str) -> None: ...
    def screen(self, *, room: bool) -> list[str]: ...


def _line(text: str, buttons: Sequence[str], *, replies: bool, hidden: bool) -> str:
    return f"{'↩ ' * replies}{'🔒 ' * hidden}{text} {list(buttons)}"


@dataclass
class Peer(Chats):
    """The chats in simcord."""

    peer: DiscordPeer
    ana: Any
    channel: Any

    async def say(self, text: str, *, room: bool) -> None:
        self.peer.be_now()
        await (self.ana.send(self.channel, text) if room else self.ana.send_dm(text))

    async def press(self, label: str, *, room: bool) -> None:
        self.peer.be_now()
        who = self.ana if room else self.ana.user
        await who.click(self._channel(room=room).history(viewer=self.ana.user)[-1], label=label)

    async def edit(self, text: str) -> None:
        self.peer.be_now()
        history = self._channel(room=False).history(viewer=self.ana.user)
        await self.ana.user.edit([note for note in history if note.author.id == self.ana.id][-1], text)

    async def command(self, name: str) -> None:
        self.peer.be_now()
        await self.ana.slash(self.channel, name)

    def _channel(self, *, room: bool) -> Any:
        return self.channel if room else self.ana.user.dm_channel

    def screen(self, *, room: bool) -> list[str]:
        backend = self.peer.env.backend
        notes = backend.messages.get(self._channel(room=room).id, {}).values()
        return [
            _line(
                "\n".join([note.content, *(embed["description"] for embed in note.embeds)]),
                labels(note.components),
                replies=note.reference is not None,
                hidden=note.is_ephemeral,
            )
            for note in notes
            if note.author_id == backend.bot_user.id
        ]


@dataclass
class Own(Chats):
    """The chats in our own fake."""

    server: DiscordServer
    ana: Person
    room: int

    async def say(self, text: str, *, room: bool) -> None:
        await self.server.says(self.ana, text, room=self.room if room else 0)

    async def press(self, label: str, *, room: bool) -> None:
        channel = self.server.room(self.room) if room else self.server.direct(self.ana)
        await self.server.interactions.press(self.ana, list(channel.notes.values())[-1], label)

    async def edit(self, text: str) -> None:
        notes = self.server.direct(self.ana).notes.values()
        await self.server.edits([note for note in notes if note.by is self.ana][-1], text)

    async def command(self, name: str) -> None:
        await self.server.interactions.command(self.ana, name, room=self.room)

    def screen(self, *, room: bool) -> list[str]:
        channel = self.server.room(self.room) if room else self.server.direct(self.ana)
        hidden = [note for used in self.server.interactions.all.values() for note in used.notes]
        notes = {note.id: note for note in (*channel.notes.values(), *hidden) if note.channel == channel.id}
        return [
            _line(note.text, labels(note.components), replies=note.reply_to is not None, hidden=bool(note.flags & 64))
            for note in notes.values()
            if note.by is BOT
        ]


@asynccontextmanager
async def in_peer(folder: Path) -> AsyncIterator[tuple[Peer, str]]:
    async with discord_peer() as (peer, settings):
        env = peer.env
        guild = env.create_guild()
        room, ana = guild.create_text_channel("geral"), guild.add_member(env.create_user("Ana"))
        async with bot_on(folder, **settings):
            await until(lambda: peer.online)
            yield Peer(peer, ana, room), f"<@{env.backend.bot_user.id}>"
            assert peer.refused == []


@asynccontextmanager
async def in_own(folder: Path) -> AsyncIterator[tuple[Own, str]]:
    async with DiscordServer(SystemClock()) as server:
        own = Own(server, Person(10**17 + 7, "Ana", "en-US"), 10**17 + 100)
        server.room(own.room)
        async with bot_on(folder, DISCORD_TOKEN=TOKEN, DISCORD_API_BASE_URL=server.api_url):
            await until(lambda: server.gateway.online)
            yield own, f"<@{BOT_ID}>"
            assert server.invalid == []


async def play(chats: Chats, me: str) -> list[str]:
    """Say and press what follows; return what stands in both chats in the end."""

    async def then(do: Awaitable[None], expected: str, *, room: bool = False) -> None:
        await do
        await until(lambda: expected in "".join(chats.screen(room=room)[-1:]))

    await then(chats.say("Good morning!", room=False), "Tell me what to keep")
    await then(chats.say("Remember that my locker code is 4417", room=False), "Undo")
    await then(chats.say("What is my locker code?", room=False), "4417")
    await then(chats.edit("What is my locker called?"), "locker")
    await then(chats.say("Forget my locker code", room=False), "Keep as it is")
    await then(chats.press("🗑️ Delete", room=False), "Deleted")
    await chats.say("good morning, everybody", room=True)
    await then(chats.say(f"{me} remember that the gate code is 31", room=True), "Undo", room=True)
    await then(chats.command("memories"), "🔒 Your memories", room=True)
    return [*chats.screen(room=False), *chats.screen(room=True)]


async def test_simcord_sees_what_our_own_fake_sees(tmp_path: Path) -> None:
    worlds: dict[str, Callable[[Path], Any]] = {"peer": in_peer, "own": in_own}
    found: dict[str, list[str]] = {}
    for name, world in worlds.items():
        (tmp_path / name).mkdir()
        async with AsyncExitStack() as stack:
            chats, me = await stack.enter_async_context(world(tmp_path / name))
            found[name] = await play(chats, me)
    assert found["peer"] == found["own"]
