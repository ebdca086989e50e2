"""One platform on loopback, Telegram or Discord: what people do there and what they see, by the same names on both.

Laws that hold on every platform are told by it; a test takes the fixture `wire`, and is run once for each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from core.commands.menu import MenuEntry
from core.ports import MessageHandler
from core.types import Incoming, UserKey
from tests.e2e import discord_kit, flowing, telegram_kit
from tests.e2e.flowing import Bot
from tests.fakes.clock import FakeClock
from tests.fakes.commands import menu
from tests.fakes.discord_components import labels
from tests.fakes.discord_limits import Limits as DiscordLimits
from tests.fakes.discord_server import DiscordServer, too_many
from tests.fakes.discord_world import Channel, Note
from tests.fakes.discord_world import Person as Member
from tests.fakes.handler import Script, echo
from tests.fakes.telegram_people import Chat, Json
from tests.fakes.telegram_people import Person as Friend
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_wire import Limits as TelegramLimits

ANA, BIA, ROOM = "Ana", "Bia", "room"
"""Two people, whose names are those of their private chats, too; and a room in which both are."""


@dataclass(frozen=True)
class Seen:
    """A message of the bot's as it stands now, what can be pressed below it, and whether it `rings` when it comes."""

    id: int
    text: str
    reply_to: int | None
    labels: tuple[str, ...]
    rings: bool
    pings: frozenset[int]
    """The ids of who is notified because it names them."""


@dataclass(frozen=True)
class Written:
    """A write that succeeded: in which message, what, when, and whether that was new or an edit."""

    message: int
    text: str
    at_s: float
    is_new: bool


class Wire(ABC):
    """A platform with its real limits, and the server that is it; an async context."""

    server: TelegramServer | DiscordServer
    name: ClassVar[str]
    most_chars: ClassVar[int]
    """What one message holds."""

    def __init__(self, clock: FakeClock, *, language: str = "") -> None:
        """People speak that language, or else Ana Portuguese and Bia English."""
        self.clock = clock
        self.languages = {ANA: language or "pt-BR", BIA: language or "en-US"}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._served())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @abstractmethod
    def _served(self) -> AbstractAsyncContextManager[object]: ...

    @abstractmethod
    def running(
        self, script: Script = echo, owed: Sequence[Incoming] = (), posted: Sequence[str] = ("",)
    ) -> AbstractAsyncContextManager[Bot]:
        """Run the adapter with a handler that answers by script, also what it owes, as a context."""

    @abstractmethod
    def serving(
        self, handler: MessageHandler, entries: Sequence[MenuEntry] = ()
    ) -> AbstractAsyncContextManager[object]:
        """Run the adapter for that handler, as a context; the menu holds those entries, or else every command."""

    @abstractmethod
    def user(self, who: str) -> UserKey:
        """Who that is to the bot."""

    @abstractmethod
    async def says(self, text: str, who: str = ANA, *, to_all: bool = False, where: str = "") -> Any:
        """Somebody writes to the bot, in private or by its name in the room, or there `to_all`; return the message."""

    @abstractmethod
    async def edits(self, said: Any, text: str, *, to_all: bool = False) -> None:
        """Somebody changes what they sent."""

    @abstractmethod
    async def press(self, label: str, message: int, who: str = ANA, where: str = ANA) -> Callable[[], list[str]]:
        """Somebody presses what says that; return what gives the texts that answer it besides that message."""

    @property
    @abstractmethod
    def room(self) -> str:
        """The room by its id on the platform."""

    @abstractmethod
    def ours(self, where: str = ANA) -> Sequence[Seen]:
        """What the bot wrote there, and stands, top to bottom."""

    @abstractmethod
    def written(self, where: str = ANA) -> Sequence[Written]:
        """Every write there that succeeded."""

    @abstractmethod
    def wipe(self, where: str = ANA) -> None:
        """Somebody deletes whatever the bot wrote there."""

    @abstractmethod
    def flood(self, where: str, wait_s: float) -> None:
        """Refuse every edit there until the wait is over."""

    @property
    @abstractmethod
    def floods(self) -> int:
        """How many writes met a limit."""

    def screen(self, where: str = ANA) -> list[str]:
        """The texts of the bot's messages there."""
        return [seen.text for seen in self.ours(where)]

    async def flow(self, condition: Callable[[], object], limit_s: float = 7200) -> None:
        """Let time go by until the condition holds."""
        await flowing.flow(self.server, self.clock, condition, limit_s)

    async def idle(self) -> None:
        """Return when nobody does anything but wait."""
        await flowing.idle(self.server)


class TelegramWire(Wire):
    """Private chats and a supergroup."""

    server: TelegramServer
    name = "telegram"
    most_chars = 4096
    GROUP: Final = -1001

    def _served(self) -> AbstractAsyncContextManager[object]:
        self.people = {who: Friend(number, who, self.languages[who]) for number, who in ((7, ANA), (8, BIA))}
        self.server = TelegramServer(self.clock, TelegramLimits())
        self.server.chat(self.GROUP)
        return self.server

    def running(
        self, script: Script = echo, owed: Sequence[Incoming] = (), posted: Sequence[str] = ("",)
    ) -> AbstractAsyncContextManager[Bot]:
        return telegram_kit.running(self.server, self.clock, script, owed=owed, posted=posted)

    def serving(
        self, handler: MessageHandler, entries: Sequence[MenuEntry] = ()
    ) -> AbstractAsyncContextManager[object]:
        return telegram_kit.serving(self.server, self.clock, handler, menu=entries or menu())

    def user(self, who: str) -> UserKey:
        return UserKey(self.name, str(self.people[who].id))

    async def says(self, text: str, who: str = ANA, *, to_all: bool = False, where: str = "") -> Json:
        said = text if to_all or where != ROOM else f"@elefante_bot {text}"
        return self.server.says(self.people[who], said, chat_id=self.GROUP if where == ROOM else None)

    async def edits(self, said: Json, text: str, *, to_all: bool = False) -> None:
        in_room = said["chat"]["id"] == self.GROUP
        self.server.edits(said, f"@elefante_bot {text}" if in_room and not to_all else text)

    async def press(self, label: str, message: int, who: str = ANA, where: str = ANA) -> Callable[[], list[str]]:
        chat = self._chat(where)
        known = {*chat.posts}
        self.server.presses(self.people[who], label, chat_id=chat.id, post=chat.posts[message])
        return lambda: [post.text for post in chat.ours() if post.id not in known]

    @property
    def room(self) -> str:
        return str(self.GROUP)

    def ours(self, where: str = ANA) -> Sequence[Seen]:
        silent = {call.message_id for call in self.server.calls if call.params.get("disable_notification")}
        return [
            Seen(
                post.id,
                post.text,
                post.reply_to,
                tuple(label for row in post.labels for label in row),
                post.id not in silent,
                frozenset(one["user"]["id"] for one in post.entities if one["type"] == "text_mention"),
            )
            for post in self._chat(where).ours()
        ]

    def written(self, where: str = ANA) -> Sequence[Written]:
        return [
            Written(
                call.message_id or int(call.params["message_id"]), call.text, call.at_s, call.method == "sendmessage"
            )
            for call in self.server.done("sendmessage", "editmessagetext", chat_id=self._chat(where).id)
        ]

    def wipe(self, where: str = ANA) -> None:
        for post in self._chat(where).ours():
            del self._chat(where).posts[post.id]

    def flood(self, where: str, wait_s: float) -> None:
        self.server.flood(self._chat(where).id, wait_s)

    @property
    def floods(self) -> int:
        return sum(call.code == 429 for call in self.server.calls)

    def _chat(self, where: str) -> Chat:
        return self.server.chat(self.GROUP if where == ROOM else self.people[where].id)


class DiscordWire(Wire):
    """Direct messages and a channel."""

    server: DiscordServer
    name = "discord"
    most_chars = 2000

    def _served(self) -> AbstractAsyncContextManager[object]:
        both = (discord_kit.ANA, discord_kit.BIA)
        self.people = {known.name: Member(known.id, known.name, self.languages[known.name]) for known in both}
        self.server = DiscordServer(self.clock, DiscordLimits())
        self.server.room(discord_kit.ROOM)
        return self.server

    def running(
        self, script: Script = echo, owed: Sequence[Incoming] = (), posted: Sequence[str] = ("",)
    ) -> AbstractAsyncContextManager[Bot]:
        return discord_kit.running(self.server, self.clock, script, owed=owed, posted=posted)

    def serving(
        self, handler: MessageHandler, entries: Sequence[MenuEntry] = ()
    ) -> AbstractAsyncContextManager[object]:
        return discord_kit.serving(self.server, self.clock, handler, entries=entries)

    def user(self, who: str) -> UserKey:
        return UserKey(self.name, str(self.people[who].id))

    async def says(self, text: str, who: str = ANA, *, to_all: bool = False, where: str = "") -> Note:
        said = text if to_all or where != ROOM else f"{discord_kit.ME} {text}"
        return await self.server.says(self.people[who], said, room=discord_kit.ROOM if where == ROOM else 0)

    async def edits(self, said: Note, text: str, *, to_all: bool = False) -> None:
        await self.clock.advance(0.1)  # Discord tells the versions apart by their times
        in_room = said.channel == discord_kit.ROOM
        await self.server.edits(said, f"{discord_kit.ME} {text}" if in_room and not to_all else text)

    async def press(self, label: str, message: int, who: str = ANA, where: str = ANA) -> Callable[[], list[str]]:
        note = self._channel(where).notes[message]
        used = await self.server.interactions.press(self.people[who], note, label)
        return lambda: [other.text for other in used.notes if other is not note]

    @property
    def room(self) -> str:
        return str(discord_kit.ROOM)

    def ours(self, where: str = ANA) -> Sequence[Seen]:
        return [
            Seen(note.id, note.text, note.reply_to, tuple(labels(note.components)), note.rings, frozenset(note.pinged))
            for note in self._channel(where).notes.values()
            if note.by.bot
        ]

    def written(self, where: str = ANA) -> Sequence[Written]:
        return [
            Written(write.message, write.text, write.at_s, write.verb == "post")
            for write in self.server.writes
            if write.channel == self._channel(where).id and write.verb in {"post", "edit"}
        ]

    def wipe(self, where: str = ANA) -> None:
        channel = self._channel(where)
        channel.notes = {number: note for number, note in channel.notes.items() if not note.by.bot}

    def flood(self, where: str, wait_s: float) -> None:
        ends_s, path = self.clock.monotonic() + wait_s, f"/channels/{self._channel(where).id}/"

        def fault(method: str, called: str) -> None:
            if method == "PATCH" and called.startswith(path) and self.clock.monotonic() < ends_s:
                raise too_many(ends_s - self.clock.monotonic())

        self.server.faults.append(fault)

    @property
    def floods(self) -> int:
        return sum(call.status == 429 for call in self.server.calls)

    def _channel(self, where: str) -> Channel:
        return self.server.room(discord_kit.ROOM) if where == ROOM else self.server.direct(self.people[where])


WIRES: Final[dict[str, type[Wire]]] = {wire.name: wire for wire in (TelegramWire, DiscordWire)}
