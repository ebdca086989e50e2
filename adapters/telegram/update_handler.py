"""What becomes of each update. Knows messages, presses and moves. Does not know how they come, nor any answer.

Every message goes through the door, and is on disk when `take` returns.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TypeAlias, TypeVar

from telegram import CallbackQuery, InlineKeyboardMarkup, Message, Update, User

from adapters.telegram.api import Place, TelegramApi
from adapters.telegram.channel import TelegramChannel
from adapters.telegram.config import TelegramConfig
from adapters.telegram.draft import DraftChannel
from adapters.telegram.keyboard import pressed, stop_keyboard
from adapters.telegram.listener import (
    PLATFORM,
    asked_in,
    command_of,
    incoming_of,
    is_rehoused,
    press_of,
    rehoused,
    replaced_by,
    stop_of,
)
from adapters.telegram.markup import style
from adapters.telegram.pacer import Priority
from adapters.telegram.presence import accompany
from adapters.telegram.state import State
from adapters.telegram.texts import NOT_YOURS, STOP
from adapters.telegram.welcome import welcome
from core.enclosures import QuoteKind
from core.errors import BotError
from core.ports import Channels, Clock, MessageHandler
from core.text.language import choose
from core.types import Incoming, UserKey

Streams: TypeAlias = Callable[[Incoming], Awaitable[bool | None]]
"""Whether the answer to a message is to grow in a draft; None: as the settings say."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

_REMEMBERED = 1024  # recent messages whose text tells a real edit from one that changed nothing a person wrote


class UpdateHandler(Channels):
    """Takes updates one by one. `claimed` is called when somebody may have become the owner."""

    def __init__(
        self,
        handler: MessageHandler,
        api: TelegramApi,
        me: User,
        clock: Clock,
        config: TelegramConfig,
        *,
        state: State | None = None,
        streams: Streams | None = None,
        claimed: Callable[[], None] = lambda: None,
    ) -> None:
        self._door = handler
        self._api = api
        self._me = me
        self._clock = clock
        self._config = config
        self._max_age = timedelta(seconds=config.max_age_s)
        self._state = state or State()
        self._streams = streams
        self._claimed = claimed
        self._style = style()
        self._texts: OrderedDict[tuple[int, int], int] = OrderedDict()
        self._albums: OrderedDict[str, None] = OrderedDict()
        self._presses: set[tuple[str, str, str]] = set()
        self._open: set[asyncio.Future[None]] = set()

    async def take(self, update: Update) -> None:
        """See to it that nothing of this update is lost when the server forgets it."""
        if update.message is not None:
            await self._message(update.message)
        elif update.edited_message is not None:
            await self._edited(update.edited_message, update.update_id)
        elif update.callback_query is not None:
            await self._press(update.callback_query)
        elif (change := update.my_chat_member) is not None:
            if self._state.home(change.chat.id) == change.chat.id:  # a supergroup that was a group was greeted as that
                channel = TelegramChannel(self._api, Place(change.chat.id), self._style, whole=Priority.ANSWER)
                self._keep(asyncio.ensure_future(welcome(change, self._me, channel, self._clock)))
        elif (stop := stop_of(update, self._clock.now())) is not None:
            await self._receive(stop)

    async def resume(self) -> None:
        """Go on with what was accepted before the last stop and never answered."""
        await self._door.resume(PLATFORM, self)

    async def drain(self, limit_s: float) -> None:
        """Return when everything that was taken is answered; after that time, the rest is broken off and kept."""
        timer = asyncio.create_task(self._clock.sleep(limit_s))
        try:
            while self._open and not timer.done():
                await asyncio.wait({timer, *self._open}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in {timer, *self._open}:
                task.cancel()
        await self._door.leave(PLATFORM)

    def again(self, incoming: Incoming) -> TelegramChannel:
        """Return where to answer a message that was accepted earlier, and may have been answered."""
        return self._channel(incoming)

    def private(self, user: UserKey) -> TelegramChannel:
        """Return the person's private chat, which has their id; nobody's, for an id that is no person's."""
        place = Place(int(user.user) if user.user.isdecimal() else 0)
        return TelegramChannel(self._api, place, self._style, whole=Priority.ANSWER)

    # --- where answers go ---

    def _channel(self, incoming: Incoming) -> TelegramChannel:
        """Return where to answer that message: in a group, as a reply to it."""
        rank = Priority.ANSWER if command_of(incoming.text) else Priority.FINAL
        place = Place(int(incoming.chat.chat), int(incoming.chat.thread) if incoming.chat.thread else None)
        stop = partial(self._stop_button, incoming)
        # Ids of before the move name other messages now.
        there = self._state.address(place.chat_id) == place.chat_id or is_rehoused(incoming)
        asked = asked_in(incoming) if there and not incoming.pressed else None
        if incoming.private and replaced_by(incoming) is None:
            return DraftChannel(
                self._api,
                place,
                self._style,
                self._clock,
                draft_id=asked_in(incoming) or 1,
                asked=asked,
                wanted=lambda: self._wants_draft(incoming),
                whole=rank,
                stop=stop,
            )
        return TelegramChannel(
            self._api,
            place,
            self._style,
            reply_to=asked_in(incoming) if there and not incoming.private else None,
            asked=asked,
            whole=rank,
            replaces=replaced_by(incoming) if there else None,
            stop=stop,
            moved=not there,
        )

    def _stop_button(self, incoming: Incoming) -> InlineKeyboardMarkup | None:
        user = incoming.user.user
        if not self._config.stop_button or not user.isdecimal():  # who speaks for a group presses as somebody else
            return None
        return stop_keyboard(STOP[choose("", incoming.language)], user)

    async def _wants_draft(self, incoming: Incoming) -> bool:
        try:
            chosen = await self._streams(incoming) if self._streams is not None else None
        except BotError:  # what cannot be read now is as it usually is
            chosen = None
        return self._config.drafts if chosen is None else chosen

    # --- what comes ---

    async def _message(self, message: Message) -> None:
        if message.migrate_to_chat_id is not None:
            self._state.moved(message.chat.id, message.migrate_to_chat_id)
        if message.migrate_from_chat_id is not None:
            self._state.moved(message.migrate_from_chat_id, message.chat.id)
        incoming = incoming_of(message, self._me)
        if incoming is None:
            return
        self._is_news(message, incoming)
        more = self._is_more_of_an_album(message)
        if _says_something(incoming) or (incoming.addressed and incoming.attachments and not more):
            await self._receive(incoming)

    async def _edited(self, message: Message, update_id: int) -> None:
        incoming = incoming_of(message, self._me, edit=update_id)
        if incoming is not None and incoming.text and self._is_news(message, incoming):
            await self._receive(incoming)

    async def _press(self, query: CallbackQuery) -> None:
        """Tell the client that it was heard, and send the command; a double press is one while it is answered."""
        button = pressed(query.data or "")
        mine = button is None or button.stops in {"", str(query.from_user.id)}
        notice = "" if mine else NOT_YOURS[choose("", query.from_user.language_code or "")]
        self._keep(asyncio.ensure_future(self._api.acknowledge(query.id, notice)))
        incoming = press_of(query, button, self._clock.now()) if button is not None and mine else None
        if incoming is None or query.message is None:
            return
        press = (f"{query.message.chat.id}:{query.message.message_id}", incoming.user.user, incoming.text)
        if press not in self._presses:
            self._presses.add(press)
            answered = await self._receive(incoming)
            answered.add_done_callback(lambda _: self._presses.discard(press))

    async def _receive(self, incoming: Incoming) -> asyncio.Future[None]:
        chat_id = int(incoming.chat.chat)
        if (home := self._state.home(chat_id)) != chat_id:
            incoming = rehoused(incoming, home)
        age = self._clock.now() - incoming.at
        if age > self._max_age:
            incoming = replace(incoming, stale=True)
        channel = self._channel(incoming)
        answered = asyncio.ensure_future(await self._door.receive(incoming, channel))
        if incoming.text.startswith("/start "):
            self._claimed()
        if not answered.done():  # a repeat, or what is nobody's business, is
            self._keep(answered)
            self._keep(asyncio.ensure_future(accompany(channel, answered, self._clock)))
        return answered

    def _keep(self, task: asyncio.Future[None]) -> None:
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    def _is_news(self, message: Message, incoming: Incoming) -> bool:
        """Whether the message says something else than when it was last seen (Telegram re-sends it for less)."""
        key, said = (message.chat.id, message.message_id), hash(incoming.text)
        news = self._texts.get(key) != said
        _remember(self._texts, key, said)
        return news

    def _is_more_of_an_album(self, message: Message) -> bool:
        album = message.media_group_id
        if album is None:
            return False
        more = album in self._albums
        _remember(self._albums, album, None)
        return more


def _says_something(incoming: Incoming) -> bool:
    """Whether there are words in it, be they passed on."""
    return bool(incoming.text) or any(quote.kind is QuoteKind.FORWARD for quote in incoming.quotes)


def _remember(seen: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    """Put the newest last, and forget the oldest."""
    seen[key] = value
    seen.move_to_end(key)
    if len(seen) > _REMEMBERED:
        seen.popitem(last=False)
