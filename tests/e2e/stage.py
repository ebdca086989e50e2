"""One bot on Telegram or Discord that four people talk to, with everything that anybody was ever shown.

Nothing here waits without an end: the stores are in memory, so that nothing works in a thread; what a person did is
over when it was taken and answered; and fake time goes by until then, and while the bot stops.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from bot.models.metering import Meter
from core.answering.chatbot import ChatBot
from core.features.access.storage import Person
from core.features.admin.storage import ALLOWED, Decision, DecisionKind
from core.features.quotas.quotas import Quotas
from core.history.conversation import Conversations
from core.limited import LimitedMind
from core.models import MODES, HotModel, Models
from core.outgoing import Suggestion
from core.ports import Channel, Channels, ChatModel, MessageHandler
from core.types import ChatKey, Incoming, Invitation, Locale, Role, UserKey
from tests.e2e import discord_kit, telegram_kit
from tests.fakes.clock import FakeClock
from tests.fakes.discord_interactions import Interaction
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import BOT, EPHEMERAL, OWNER_ID, Note
from tests.fakes.discord_world import Person as Member
from tests.fakes.house import House, machine
from tests.fakes.metered import NO_PRICES
from tests.fakes.model import HashEmbedder
from tests.fakes.telegram_people import BOT_ID, Post
from tests.fakes.telegram_people import Person as Friend
from tests.fakes.telegram_server import TelegramServer

PRIVATE, ROOM, OTHER = "private", "room", "other"
ANA, BIA, EVA, ADA = "Ana", "Bia", "Eva", "Ada"
ROLES = {ANA: Role.OWNER, BIA: Role.MEMBER, ADA: Role.MEMBER}
"""Eva is a stranger."""

FORM = "form "
"""How the id of a form begins, which a press opens before anything is answered."""


@dataclass(frozen=True)
class Shown:
    """Something that was written: to whom (a person, or a room), in which message, what, and all that went along."""

    to: str
    message: str
    text: str
    wire: str


@dataclass(frozen=True)
class Pressable:
    """A button: whom it is shown to, below which message, what it says and what it sends."""

    to: str
    message: str
    label: str
    data: str


class Noting(MessageHandler):
    """Hands on, and notes the ids of what was taken."""

    def __init__(self, handler: MessageHandler) -> None:
        self._handler = handler
        self.taken: set[str] = set()

    async def receive(self, incoming: Incoming, channel: Channel) -> Awaitable[None]:
        answered = await self._handler.receive(incoming, channel)
        self.taken.add(incoming.message_id)
        return answered

    async def resume(self, platform: str, channels: Channels) -> None:
        await self._handler.resume(platform, channels)

    async def drain(self, platform: str) -> None:
        await self._handler.drain(platform)

    async def leave(self, platform: str) -> None:
        await self._handler.leave(platform)

    async def withdraw(self, chat: ChatKey, message_ids: Collection[str]) -> None:
        await self._handler.withdraw(chat, message_ids)

    async def invited(self, invitation: Invitation, channel: Channel) -> None:
        await self._handler.invited(invitation, channel)

    async def complete(self, incoming: Incoming, option: str) -> Sequence[Suggestion]:
        return await self._handler.complete(incoming, option)


def limited_mind(kind: type[LimitedMind] = LimitedMind) -> LimitedMind:
    """What answers where no model is set, by its cues alone."""
    embedder = HashEmbedder()
    embedder.down = True
    return kind(embedder)


@dataclass
class Stage(ABC):
    """One platform, and a bot on it that can be stopped and started again."""

    clock: FakeClock
    house: House
    mind: ChatModel
    bot: ChatBot = field(init=False)
    handler: Noting = field(init=False)
    platform: ClassVar[str]

    @abstractmethod
    def user(self, who: str) -> UserKey:
        """Who that is to the bot."""

    @abstractmethod
    def room(self, where: str) -> str:
        """What a room is called by the bot, as PLATFORM:ID."""

    @abstractmethod
    async def says(self, who: str, text: str, where: str, reply_to: str = "") -> None:
        """Somebody writes to the bot, perhaps in reply to a message."""

    @abstractmethod
    async def touches(self, who: str, button: Pressable) -> None:
        """Somebody presses a button; one who does not see it sends what it would send."""

    @abstractmethod
    def shown(self) -> Sequence[Shown]:
        """Everything that was ever written, in order."""

    @abstractmethod
    def buttons(self, who: str) -> list[Pressable]:
        """What can be pressed in a person's private chat, or in a room."""

    @abstractmethod
    def taken(self) -> bool:
        """Whether the bot has taken everything that anybody did."""

    @abstractmethod
    async def flow(self, condition: Callable[[], object]) -> None:
        """Let time go by until the condition holds."""

    @abstractmethod
    def serving(self, handler: MessageHandler) -> AbstractAsyncContextManager[object]:
        """Run the adapter, as a context."""

    async def say(self, who: str, text: str, where: str = PRIVATE) -> str:
        """Let somebody write, and return what they were answered there."""
        return await self.after(self.says(who, text, where), who if where == PRIVATE else where)

    async def press(self, who: str, button: Pressable) -> str:
        """Let somebody press, and return what they were shown by that, where they see it."""
        return await self.after(self.touches(who, button), who, *{button.to} & {ROOM, OTHER})

    async def after(self, deed: Awaitable[object], *readers: str) -> str:
        """Return what was shown to these readers by the deed, when everything that came of it is done."""
        before = self.shown()
        await deed
        await self.rest()
        new = [shown for shown in self.since(before) if shown.to in readers and not shown.message.startswith(FORM)]
        last = {shown.message: shown.text for shown in new}
        return "\n".join(last.values())

    def since(self, before: Sequence[Shown]) -> list[Shown]:
        """Return what was shown since `shown` gave that."""
        left = Counter(self.shown())
        left.subtract(before)
        return [shown for shown in self.shown() if left[shown] > 0]

    async def rest(self) -> None:
        """Return when everything that was done is taken, and everything that was taken is answered."""
        await self.flow(lambda: self.taken() and not self.bot.tasks)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Start a bot that knows what the stores hold, and nothing else; leaving stops it."""
        self.house = self._anew()
        features = self.house.features()
        await features.open()
        async with ChatBot(self.house.parts(features)) as self.bot:
            self.handler = Noting(self.bot)
            try:
                async with self.serving(self.handler):
                    yield
            finally:  # what is still being answered has its last words, for which time has to go by
                self.bot.abandon()
                while len(self.bot.tasks):
                    await self.clock.advance(1.0)
                await self.bot.parts.incognito.close()

    def _anew(self) -> House:
        house = replace(self.house)
        house.decisions = self.house.decisions
        house.quotas = Quotas(house.ledger, house.decisions, self.clock, house.defaults, house.zone)
        place_settings = house.decisions.place_settings
        house.conversations = Conversations(house.history, self.clock, place_settings=place_settings, zone=house.zone)
        meter = Meter(house.quotas.record, NO_PRICES, self.clock)
        heavy, reasoning, chat, summary = (HotModel(meter.of(self.mind, mode)) for mode in MODES)
        house.models = Models(heavy, reasoning, chat, summary, house.embedder)
        house.machine = machine(house.models)
        return house


class TelegramStage(Stage):
    """Everybody has a private chat; there are two groups."""

    platform = "telegram"
    server: TelegramServer

    PEOPLE: ClassVar = {name: Friend(number, name, "en") for number, name in enumerate((ANA, BIA, EVA, ADA), 7)}
    ROOMS: ClassVar = {ROOM: -1001, OTHER: -1002}
    _READERS: ClassVar = {person.id: name for name, person in PEOPLE.items()} | {-1001: ROOM, -1002: OTHER}
    _WRITES: ClassVar = {"sendmessage", "editmessagetext", "senddocument", "sendphoto", "sendmessagedraft"}

    def user(self, who: str) -> UserKey:
        return UserKey("telegram", str(self.PEOPLE[who].id))

    def room(self, where: str) -> str:
        return f"telegram:{self.ROOMS[where]}"

    async def says(self, who: str, text: str, where: str, reply_to: str = "") -> None:
        replied = int(reply_to) if reply_to else None
        if where == PRIVATE:
            self.server.says(self.PEOPLE[who], text, reply_to=replied)
            return
        command, space, rest = text.partition(" ")
        said = f"{command}@elefante_bot{space}{rest}" if text.startswith("/") else f"@elefante_bot {text}"
        self.server.says(self.PEOPLE[who], said, chat_id=self.ROOMS[where], reply_to=replied)

    async def touches(self, who: str, button: Pressable) -> None:
        own = self.server.chat(self.PEOPLE[who].id)
        if button.to in {who, *self.ROOMS}:
            chat = own if button.to == who else self.server.chat(self.ROOMS[button.to])
            post = chat.posts[int(button.message)]
        else:  # it is in a chat that they do not see
            chat, post = own, own.ours()[-1] if own.ours() else Post(1, BOT_ID, "?", [])
        self.server.forges(self.PEOPLE[who], button.data, chat, post)

    def shown(self) -> Sequence[Shown]:
        return [
            Shown(
                self._READERS.get(call.chat_id, str(call.chat_id)),
                str(call.message_id or call.params.get("message_id", "")),
                call.text or str(call.params.get("caption", "")),
                str(call.params),
            )
            for call in self.server.calls
            if call.method in self._WRITES and (call.code == 200 or "is not modified" in call.refusal)
        ]

    def buttons(self, who: str) -> list[Pressable]:
        chat = self.server.chat(self.ROOMS.get(who) or self.PEOPLE[who].id)
        return [
            Pressable(who, str(post.id), one["text"], one["callback_data"])
            for post in chat.ours()
            for row in post.buttons
            for one in row
        ]

    def taken(self) -> bool:
        updates = self.server.updates
        return not self.server.queries and (not updates or self.server.offset > updates[-1]["update_id"])

    async def flow(self, condition: Callable[[], object]) -> None:
        await telegram_kit.flow(self.server, self.clock, condition)

    def serving(self, handler: MessageHandler) -> AbstractAsyncContextManager[object]:
        return telegram_kit.serving(self.server, self.clock, handler)


class DiscordStage(Stage):
    """Everybody has direct messages; there are two channels, in which each also sees what is hidden from the others."""

    platform = "discord"
    server: DiscordServer

    PEOPLE: ClassVar = {name: Member(OWNER_ID + at, name, "en-US") for at, name in enumerate((ANA, BIA, EVA, ADA))}
    ROOMS: ClassVar = {ROOM: 10**17 + 100, OTHER: 10**17 + 101}
    _ASKS: ClassVar = re.compile(r"elefante:do:p?f")  # opens a form first

    def user(self, who: str) -> UserKey:
        return UserKey("discord", str(self.PEOPLE[who].id))

    def room(self, where: str) -> str:
        return f"discord:{self.ROOMS[where]}"

    async def says(self, who: str, text: str, where: str, reply_to: str = "") -> None:
        room, text = (0, text) if where == PRIVATE else (self.ROOMS[where], f"{discord_kit.ME} {text}")
        replied = int(reply_to) if reply_to else None
        note = await self.server.says(self.PEOPLE[who], text, room=room, reply_to=replied)
        await self.flow(lambda: str(note.id) in self.handler.taken)

    async def slash(self, who: str, name: str, where: str, **options: Any) -> str:
        """Let somebody use a slash command, and return what they were answered."""
        room = 0 if where == PRIVATE else self.ROOMS[where]
        return await self.after(
            self.server.interactions.command(self.PEOPLE[who], name, room=room, **options), who, where
        )

    async def touches(self, who: str, button: Pressable) -> None:
        person, note = self.PEOPLE[who], self._notes()[int(button.message)]
        if button.to not in {who, *self.ROOMS}:  # they do not see it: they send it from a message of theirs
            own = self.server.direct(person)
            note = Note(self.server.snowflake(), own.id, BOT, "?")
            own.notes[note.id] = note
        pressed = await self.server.interactions.press(person, note, button.data, forged=True)
        if self._ASKS.match(button.data):
            await self.rest()
            if pressed.form:
                await self.server.interactions.submit(person, pressed, "rewritten by hand")

    def shown(self) -> Sequence[Shown]:
        hidden = self._hidden()
        written = [
            Shown(hidden.get(write.message) or self._reader(write.channel), str(write.message), write.text, str(write))
            for write in self.server.writes
        ]
        forms = [
            Shown(used.person.name, f"{FORM}{used.id}", str(used.form.get("title")), str(used.form))
            for used in self._used()
            if used.form
        ]
        return [*forms, *written]

    def buttons(self, who: str) -> list[Pressable]:
        hidden = self._hidden()
        return [
            Pressable(who, str(note.id), str(one.get("label")), one.get("value") or one["custom_id"])
            for note in self._notes().values()
            if note.by is BOT and (hidden.get(note.id) or self._reader(note.channel)) == who
            for row in note.components
            for item in row["components"]
            for one in item.get("options") or [item]
        ]

    def taken(self) -> bool:
        return all(used.kind and not used.thinking for used in self._used())

    async def flow(self, condition: Callable[[], object]) -> None:
        await discord_kit.flow(self.server, self.clock, condition)

    def serving(self, handler: MessageHandler) -> AbstractAsyncContextManager[object]:
        return discord_kit.serving(self.server, self.clock, handler)

    def _used(self) -> list[Interaction]:
        return list(self.server.interactions.all.values())

    def _notes(self) -> dict[int, Note]:
        notes = {note.id: note for channel in self.server.channels.values() for note in channel.notes.values()}
        return notes | {note.id: note for used in self._used() for note in used.notes}

    def _hidden(self) -> dict[int, str]:
        """Who sees a message that nobody else does."""
        return {note.id: used.person.name for used in self._used() for note in used.notes if note.flags & EPHEMERAL}

    def _reader(self, channel_id: int) -> str:
        channel = self.server.channels[channel_id]
        if channel.recipient is not None:
            return channel.recipient.name
        return next(name for name, number in self.ROOMS.items() if number == channel_id)


@asynccontextmanager
async def opened(platform: str, mind: ChatModel | None = None, **given: Any) -> AsyncIterator[Stage]:
    """Open that platform with its people and rooms, and with nobody listening yet."""
    clock = FakeClock()
    house = House(clock=clock, trusted=(), language=Locale.EN, **given)
    kind = TelegramStage if platform == "telegram" else DiscordStage
    stage = kind(clock, house, mind or limited_mind())
    for name, role in ROLES.items():
        await house.people.put(Person(stage.user(name), role, name, clock.now()))
    for where in (ROOM, OTHER):
        let_in = Decision(clock.now(), stage.user(ANA), DecisionKind.ROOM, stage.room(where), "", ALLOWED)
        await house.decisions.apply(let_in)
    if isinstance(stage, TelegramStage):
        async with TelegramServer(clock) as stage.server:
            for friend in stage.PEOPLE.values():
                stage.server.chat(friend.id)
            yield stage
    else:
        async with DiscordServer(clock) as stage.server:
            for number in stage.ROOMS.values():
                stage.server.room(number)
            for person in stage.PEOPLE.values():
                stage.server.direct(person)
            yield stage
