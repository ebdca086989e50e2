"""Take messages, and give the channels that answers are written into.

What is said to the bot is on disk before the room's bookmark moves past it; what is not said to the bot is never kept.
What was said before a session began is read back (`adapters/discord/read_back.py`).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections import Counter
from collections.abc import Awaitable, Collection, Sequence
from dataclasses import replace
from weakref import WeakValueDictionary

import discord

from adapters.discord.api import DiscordApi
from adapters.discord.bookmark import Bookmarks
from adapters.discord.button import Forms, stop_id
from adapters.discord.channel import Destination, DiscordChannel, InteractionChannel, Renderer, Ticket
from adapters.discord.config import DiscordConfig
from adapters.discord.listener import FROM_INTERACTION, answers, earlier, incoming_of
from adapters.discord.read_back import ReadBack, TellUnread
from adapters.discord.room import PLATFORM, Room, aside_of, channel_id, room_of
from adapters.running import Backoff, Session
from core.enclosures import MAX_HOPS, Quote, Speaker
from core.errors import ChannelError, ChannelGone, StorageDown
from core.outgoing import Mention, Suggestion
from core.ports import Channel, Channels, Clock, MessageHandler
from core.text.unicode import one_line
from core.types import ChatKey, ConversationKey, Incoming, UserKey

_LOG = logging.getLogger(__name__)

_MAX_THREAD_NAME_CHARS = 60
_NONCE_CHARS = 20
"""Of the 25 that a nonce holds; the rest numbers the posts of one message. Source: the page of `DiscordApi.send`."""


class UpdateHandler(Channels):
    """Takes messages one by one, in each room in their order."""

    account_ids = r"[0-9]{17,20}"
    """Snowflakes. Source: discord.com/developers/docs/reference#snowflakes."""

    account_url = "https://discord.com/users/{id}"

    def message_url(self, chat: ChatKey, message_id: str) -> str:
        """Return where a message is shown; "" for an interaction, and in a channel that is not known now."""
        told, channel = message_id.partition(".")[0], channel_id(chat)
        room = self._api.known_room(channel, self._me) or self._bookmarks.room(channel)
        if not told.isdecimal() or room is None or not (room.guild or room.private):
            return ""
        return f"https://discord.com/channels/{room.guild or '@me'}/{channel}/{told}"

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
        tell_unread: TellUnread,
    ) -> None:
        self._session = Session(PLATFORM, handler, clock, config.max_age_s)
        self._api = api
        self._bookmarks = bookmarks
        self._forms = forms
        self._config = config
        self._clock = clock
        self._me = me
        self._lanes: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._answering: Counter[ConversationKey] = Counter()
        self._closed = False
        self.past = ReadBack(
            api, bookmarks, clock, self._take, me=me, rooms=config.rooms, max_age_s=config.max_age_s, tell=tell_unread
        )

    async def take(self, message: discord.Message) -> None:
        """Take one message; if it is for the bot, it is on disk when this returns.

        Discord tells of it once: while it cannot be stored, it is tried again, and what is said after it waits.
        """
        room = room_of(message.channel, self._me)
        if isinstance(message.channel, discord.PartialMessageable):  # not in the library's cache
            room = self._bookmarks.room(room.id) or room
        with self._bookmarks.taking(room, message.id):
            async with self._lane(room):
                await self.past.precede(room, message.id)
                await self._take(message, room)

    async def edited(self, message: discord.Message) -> None:
        """Take a message that its author changed; events come for unfurled links and for our edits, too."""
        if message.edited_at is not None and not message.author.bot:
            await self.take(message)

    async def deleted(self, channel_id: int, message_ids: Collection[int]) -> None:
        """Drop questions that were deleted before they were answered."""
        room = self._api.known_room(channel_id, self._me) or self._bookmarks.room(channel_id)
        if room is not None:
            async with self._lane(room):
                await self._withdraw(room, message_ids)

    async def resume(self) -> None:
        """Connect, and queue what was accepted before the last stop and never answered."""
        await self._session.resume(self)

    async def receive(self, incoming: Incoming, channel: Channel) -> Awaitable[bool]:
        """Pass a message on, and remember that its answer is under way; see `Session.receive`.

        Raises:
            StorageDown: it was not stored.
        """
        answered = await self._session.receive(incoming, channel)
        here = incoming.conversation
        self._answering[here] += 1
        answered.add_done_callback(lambda _: self._answering.subtract({here: 1}))
        return answered

    async def complete(self, incoming: Incoming, option: str) -> Sequence[Suggestion]:
        """Return what a field of a command offers while a person fills it in."""
        return await self._session.complete(incoming, option)

    def is_answering(self, conversation: ConversationKey) -> bool:
        """Whether a message of that conversation is being answered."""
        self._answering = +self._answering  # without those that are done
        return conversation in self._answering

    async def drain(self, limit_s: float) -> None:
        """Take nothing more, wait until everything taken is answered, `limit_s` at most, and disconnect."""
        self._closed = True
        await self.past.close()
        await self._session.drain(limit_s)

    def again(self, incoming: Incoming) -> Channel:
        """Return where to answer a message that was accepted earlier."""
        if incoming.reply_token:
            return self.interaction(incoming, Ticket.read(incoming.reply_token))
        return self.channel(incoming)

    def interaction(self, incoming: Incoming, ticket: Ticket) -> InteractionChannel:
        """Return where to answer an interaction: in its place, and later in a message like any other."""
        renderer = self._renderer(incoming)
        place = Destination(person=int(incoming.user.user)) if ticket.along else self._place(incoming)
        return InteractionChannel(
            self._api,
            ticket,
            place,
            self._clock,
            asked=_asked(incoming),
            renderer=replace(renderer, stop="") if ticket.along else renderer,
            names=Mention(incoming.user.user, incoming.user_name) if ticket.names else None,
            alone=incoming.private,
        )

    def private(self, user: UserKey, once: str = "") -> DiscordChannel:
        """Return the person's direct messages. What is said there by one `once` within five minutes is there once."""
        person = int(user.user) if user.user.isdecimal() else 0
        return self._unasked(Destination(person=person), Renderer(user.user, forms=self._forms), once)

    def room(self, chat: ChatKey, once: str) -> DiscordChannel:
        """Return a channel or thread; of a talk aside, the person's direct messages. `once` is as in `private`.

        Raises:
            ChannelGone: it is no channel, or none of those in which the owner lets the bot write.
        """
        if chat.is_aside:
            return self.private(UserKey(PLATFORM, aside_of(chat)), once)
        if not (chat.thread or chat.chat).isdecimal():
            raise ChannelGone("no channel has that id")
        channel = channel_id(chat)
        known = self._api.known_room(channel, self._me) or self._bookmarks.room(channel)
        if known is not None and not known.allowed(self._config.rooms):
            raise ChannelGone("not one of DISCORD_ROOMS")
        return self._unasked(Destination(channel), Renderer(forms=self._forms), once)

    def channel(self, incoming: Incoming) -> DiscordChannel:
        """Return where to answer that message: in a room, as a reply to it, or in a new thread if that is wanted."""
        return DiscordChannel(
            self._api,
            self._place(incoming),
            asked=_asked(incoming),
            renderer=self._renderer(incoming),
        )

    def _renderer(self, incoming: Incoming) -> Renderer:
        """Return the renderer of the answer to that message, with a Stop button if the owner wants one."""
        stop = stop_id(incoming.conversation) if self._config.stop_button else ""
        return Renderer(incoming.user.user, stop, incoming.chat.is_aside, self._forms)

    def _unasked(self, place: Destination, renderer: Renderer, once: str) -> DiscordChannel:
        """Return where to say what nobody asked for; without `once`, what is said twice is two messages."""
        name = hashlib.sha256(once.encode()).hexdigest() if once else secrets.token_hex()
        return DiscordChannel(self._api, place, asked=name[:_NONCE_CHARS], renderer=renderer)

    def _place(self, incoming: Incoming) -> Destination:
        chat, server = incoming.chat, int(incoming.chat.server or 0)
        if incoming.message_id.startswith(FROM_INTERACTION):
            # Its private answer cannot be given where it was asked any more; any other needs nothing to reply to.
            if incoming.private:
                return Destination(person=int(incoming.user.user), server=server)
            return Destination(channel_id(chat), server=server)
        message_id = int(incoming.original_id)
        if chat.thread == incoming.original_id:
            name = one_line(incoming.text, _MAX_THREAD_NAME_CHARS) or incoming.user_name
            return Destination(int(chat.chat), reply_to=message_id, thread=name, asked=message_id, server=server)
        reply_to = 0 if incoming.private else message_id
        return Destination(channel_id(chat), reply_to=reply_to, asked=message_id, server=server)

    async def _take(self, message: discord.Message, room: Room) -> None:
        """Take one message; those of one room are taken one after another."""
        if self._closed or not room.allowed(self._config.rooms):
            return
        incoming = incoming_of(message, room, self._me)
        if incoming is not None and incoming.edits and not incoming.addressed:
            await self._withdraw(room, [message.id])
        elif (
            incoming is not None
            and incoming.addressed
            and not (incoming.edits and self._session.is_old(message.created_at))
        ):
            await self._addressed(message, incoming, room)
        await self._bookmarks.saw(room, message.id, addressed=incoming is not None and incoming.addressed)

    async def _withdraw(self, room: Room, message_ids: Collection[int]) -> None:
        ids = [str(message_id) for message_id in message_ids]
        await self._session.withdraw(room.chat, ids)
        for each in ids if self._config.auto_thread and not room.parent else ():
            await self._session.withdraw(ChatKey(PLATFORM, str(room.id), each), [each])

    async def _with_chain(self, message: discord.Message, incoming: Incoming, room: Room) -> Incoming:
        """Return a message with the chain of replies that it points at, as far as Discord tells."""
        chain: list[Quote] = []
        said = message
        for _ in range(MAX_HOPS):
            replied = await self._replied(said)
            if replied is None:
                break
            if said is message:  # it may have been unknown until now
                incoming = incoming_of(message, room, self._me) or incoming
            else:
                quote = earlier(replied, message.author.id, self._me)
                is_theirs = quote.speaker is Speaker.SELF and said.author.id == self._me
                if quote.is_unread or is_theirs:  # what they said to the bot is in their conversation
                    break
                chain.append(quote)
            said = replied
        return replace(incoming, quotes=(*incoming.quotes, *chain))

    async def _replied(self, message: discord.Message) -> discord.Message | None:
        """Return the message that one replies to: Discord tells of one hop, and is asked for the next."""
        reference = answers(message)
        if reference is None:
            return None
        if reference.resolved is None and reference.message_id and reference.channel_id == message.channel.id:
            try:
                reference.resolved = await self._api.message(reference.channel_id, reference.message_id)
            except ChannelError as error:
                _LOG.info("reply not followed", extra={"error": type(error).__name__})
        return reference.resolved if isinstance(reference.resolved, discord.Message) else None

    async def _threaded(self, incoming: Incoming, room: Room) -> Incoming:
        """Return the message as the first one of its own thread, where that is wanted and possible."""
        if not self._config.auto_thread or room.private or room.parent or room.id in self._api.threadless:
            return incoming
        # A thread that is opened on a message has the message's id, so it can be named before it is there.
        message_id = int(incoming.original_id)
        await self._bookmarks.saw(replace(room, id=message_id, parent=room.id, ours=True), message_id, addressed=True)
        return replace(incoming, chat=replace(incoming.chat, thread=incoming.original_id, is_thread=True))

    async def _addressed(self, message: discord.Message, incoming: Incoming, room: Room) -> None:
        incoming = self._session.aged(incoming)
        if incoming.text and not incoming.stale:
            incoming = await self._with_chain(message, incoming, room)
            incoming = await self._threaded(incoming, room)
        backoff = Backoff()
        while not self._closed:
            try:
                await self.receive(incoming, self.channel(incoming))
            except StorageDown:
                await self._clock.sleep(backoff.next_s())
            else:
                return

    def _lane(self, room: Room) -> asyncio.Lock:
        """Return the room's own lock, which is fair: first come, first served."""
        return self._lanes.setdefault(room.id, asyncio.Lock())


def _asked(incoming: Incoming) -> str:
    """Return what names the message or interaction that is answered."""
    return incoming.original_id.removeprefix(FROM_INTERACTION)
