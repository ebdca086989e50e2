"""What becomes of each message. Knows rooms, threads and what was read where. Does not know any answer.

What is said to the bot goes through the door, and is on disk before the room's bookmark moves past it; what is not said
to the bot is never kept. After a lost session every room with an open conversation is read back from its bookmark.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import Awaitable
from dataclasses import replace
from datetime import timedelta
from weakref import WeakValueDictionary

import discord

from adapters.discord.api import DiscordApi
from adapters.discord.bookmark import Bookmarks
from adapters.discord.channel import DiscordChannel, Place
from adapters.discord.config import DiscordConfig
from adapters.discord.form import Forms
from adapters.discord.interaction import InteractionChannel, Ticket
from adapters.discord.listener import incoming_of
from adapters.discord.press import stop_id
from adapters.discord.renderer import Renderer
from adapters.discord.room import PLATFORM, Room, channel_id, is_aside, room_of
from core.errors import ChannelError
from core.ports import Channel, Channels, Clock, MessageHandler
from core.text.unicode import one_line
from core.types import ChatKey, ConversationKey, Incoming, UserKey

_LOG = logging.getLogger(__name__)

_MOST_READ_BACK = 500  # messages of one room
_ROOMS_AT_ONCE = 4
_MAX_THREAD_NAME_CHARS = 60
_NONCE_BYTES = 8
FROM_INTERACTION = "i"
"""Begins the id of what is no message: there is nothing to reply to."""


class UpdateHandler(Channels):
    """Takes messages one by one, in each room in their order."""

    def __init__(
        self,
        handler: MessageHandler,
        api: DiscordApi,
        bookmarks: Bookmarks,
        config: DiscordConfig,
        clock: Clock,
        *,
        forms: Forms,
        me: int,
    ) -> None:
        self._door = handler
        self._api = api
        self._bookmarks = bookmarks
        self._forms = forms
        self._config = config
        self._clock = clock
        self._me = me
        self._lanes: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._open: set[asyncio.Future[None]] = set()
        self._answering: Counter[ConversationKey] = Counter()
        self._closed = False

    async def take(self, message: discord.Message) -> None:
        """See to it that nothing said to the bot is lost."""
        room = room_of(message.channel, self._me)
        if isinstance(message.channel, discord.PartialMessageable):  # not in the library's cache
            room = self._bookmarks.room(room.id) or room
        async with self._lane(room):
            await self._take(message, room)

    async def resume(self) -> None:
        """Go on with what was accepted before the last stop and never answered."""
        await self._door.resume(PLATFORM, self)

    async def receive(self, incoming: Incoming, channel: Channel) -> Awaitable[None]:
        """Hand something to the door, and keep in mind that its answer is under way."""
        answered = self._keep(await self._door.receive(incoming, channel))
        here = incoming.conversation
        self._answering[here] += 1
        answered.add_done_callback(lambda _: self._answering.subtract({here: 1}))
        return answered

    def is_answering(self, conversation: ConversationKey) -> bool:
        """Whether something that was said there since the start is being answered."""
        self._answering = +self._answering  # without those that are done
        return conversation in self._answering

    async def read_back(self, shard: int, shards: int) -> None:
        """Take what was said in open conversations of that shard while nobody listened."""
        turns = asyncio.Semaphore(_ROOMS_AT_ONCE)
        rooms = [(room, seen) for room, seen in self._bookmarks.positions() if room.shard(shards) == shard]
        await asyncio.gather(*(self._read_room(room, seen, turns) for room, seen in rooms))

    async def drain(self, limit_s: float) -> None:
        """Take nothing more, and return when what was taken is answered; after that time, the rest is broken off."""
        self._closed = True
        timer = asyncio.create_task(self._clock.sleep(limit_s))
        try:
            while self._open and not timer.done():
                await asyncio.wait({*self._open, timer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
        await self._door.leave(PLATFORM)

    def again(self, incoming: Incoming) -> Channel:
        """Return where to answer a message that was accepted earlier."""
        if incoming.reply_token:
            return self.interaction(incoming, Ticket.read(incoming.reply_token))
        return self.channel(incoming)

    def interaction(self, incoming: Incoming, ticket: Ticket) -> InteractionChannel:
        """Return where to answer an interaction: in its place, and later in a message like any other."""
        later = self.private(incoming.user) if ticket.along else self.channel(incoming)
        return InteractionChannel(self._api, ticket, later, self._clock, pen=self.pen(incoming))

    def private(self, user: UserKey) -> DiscordChannel:
        """Return the person's direct messages."""
        return DiscordChannel(
            self._api,
            Place(person=int(user.user)),
            asked=secrets.token_hex(_NONCE_BYTES),  # nothing was: what is said twice in five minutes is two messages
            edit_interval_s=self._config.edit_interval_s,
            pen=Renderer(user.user, forms=self._forms),
        )

    def channel(self, incoming: Incoming) -> DiscordChannel:
        """Return where to answer that message: in a room, as a reply to it, or in a new thread if that is wanted."""
        return DiscordChannel(
            self._api,
            self._place(incoming),
            asked=incoming.message_id.removeprefix(FROM_INTERACTION),
            edit_interval_s=self._config.edit_interval_s,
            pen=self.pen(incoming),
        )

    def pen(self, incoming: Incoming) -> Renderer:
        """Return what draws the answer to that message: for whom it is, with the Stop button if the owner wants one."""
        stop = stop_id(incoming.conversation) if self._config.stop_button else ""
        return Renderer(incoming.user.user, stop, is_aside(incoming.chat), self._forms)

    def _place(self, incoming: Incoming) -> Place:
        chat = incoming.chat
        if incoming.message_id.startswith(FROM_INTERACTION):
            # Its private answer cannot be given where it was asked any more; any other needs nothing to reply to.
            return Place(person=int(incoming.user.user)) if incoming.private else Place(channel_id(chat))
        message_id = int(incoming.message_id)
        if chat.thread == incoming.message_id:
            name = one_line(incoming.text, _MAX_THREAD_NAME_CHARS) or incoming.user_name
            return Place(int(chat.chat), reply_to=message_id, thread=name, asked=message_id)
        return Place(channel_id(chat), reply_to=0 if incoming.private else message_id, asked=message_id)

    async def _take(self, message: discord.Message, room: Room) -> None:
        """Take one message, with the room's lane held."""
        if self._closed or not room.allowed(self._config.rooms):
            return
        incoming = incoming_of(message, room, self._me)
        if incoming is None:
            return
        if incoming.addressed:
            await self._addressed(incoming, room)
        self._bookmarks.saw(room, message.id, addressed=incoming.addressed)

    def _threaded(self, incoming: Incoming, room: Room) -> Incoming:
        """Return the message as the first one of its own thread, where that is wanted and possible."""
        if not self._config.auto_thread or room.private or room.parent or room.id in self._api.threadless:
            return incoming
        # A thread that is opened on a message has the message's id, so it can be named before it is there.
        message_id = int(incoming.message_id)
        self._bookmarks.saw(replace(room, id=message_id, parent=room.id, ours=True), message_id, addressed=True)
        return replace(incoming, chat=ChatKey(PLATFORM, incoming.chat.chat, incoming.message_id))

    async def _addressed(self, incoming: Incoming, room: Room) -> None:
        age = self._clock.now() - incoming.at
        if age > timedelta(seconds=self._config.max_age_s):
            incoming = replace(incoming, stale=True)
        elif incoming.text:
            incoming = self._threaded(incoming, room)
        await self.receive(incoming, self.channel(incoming))

    async def _read_room(self, room: Room, seen: int, turns: asyncio.Semaphore) -> None:
        async with self._lane(room), turns:
            try:
                messages = await self._api.history(room.id, seen, _MOST_READ_BACK)
            except ChannelError as error:
                _LOG.info("room not read back", extra={"room": room.id, "error": type(error).__name__})
                self._bookmarks.forget(room)
                return
            for message in messages:
                await self._take(message, room)

    def _lane(self, room: Room) -> asyncio.Lock:
        """Return the room's own lock, which is fair: first come, first served."""
        return self._lanes.setdefault(room.id, asyncio.Lock())

    def _keep(self, answered: Awaitable[None]) -> asyncio.Future[None]:
        task = asyncio.ensure_future(answered)
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        return task
