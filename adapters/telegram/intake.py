"""What becomes of each update. Knows what is owed to whom by courtesy. Does not know how updates come, nor any answer.

Every message goes through the door, and is on disk when `take` returns. Where no answer is owed but silence would be
rude, one line is said: to what is too old, and to an invitation into a group.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from datetime import timedelta
from typing import TypeVar

from telegram import ChatMember, ChatMemberUpdated, Message, Update, User

from adapters.telegram.api import Place, TelegramApi
from adapters.telegram.draft import DraftSurface
from adapters.telegram.listener import PLATFORM, asked_in, command_of, incoming_of, stop_of
from adapters.telegram.markup import style
from adapters.telegram.pacer import Priority
from adapters.telegram.presence import accompany
from adapters.telegram.surface import TelegramSurface
from adapters.telegram.texts import AWAY, JOINED, PRIVACY_MODE
from core.delivery.view import View
from core.errors import SurfaceError
from core.language import choose
from core.ports import Clock, Door, Surfaces
from core.screen import Shown
from core.types import ChatKey, Incoming, UserKey

_LOG = logging.getLogger(__name__)

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

_REMEMBERED = 1024  # recent messages whose text tells a real edit from one that changed nothing a person wrote
_IN_CHAT = {ChatMember.MEMBER, ChatMember.ADMINISTRATOR, ChatMember.RESTRICTED, ChatMember.OWNER}


class Intake(Surfaces):
    """Takes updates one by one. `max_age_s` is when a message is too old to be answered."""

    def __init__(self, door: Door, api: TelegramApi, me: User, clock: Clock, *, max_age_s: float, drafts: bool) -> None:
        self._drafts = drafts
        self._door = door
        self._api = api
        self._me = me
        self._clock = clock
        self._max_age = timedelta(seconds=max_age_s)
        self._style = style()
        self._texts: OrderedDict[tuple[str, int], int] = OrderedDict()
        self._albums: OrderedDict[str, None] = OrderedDict()
        self._told: set[ChatKey] = set()
        self._open: set[asyncio.Future[None]] = set()

    async def take(self, update: Update) -> None:
        """See to it that nothing of this update is lost when the server forgets it."""
        if update.message is not None:
            await self._message(update.message)
        elif update.edited_message is not None:
            await self._edited(update.edited_message, update.update_id)
        elif update.my_chat_member is not None:
            await self._membership(update.my_chat_member)
        elif (stop := stop_of(update, self._clock.now())) is not None:
            await self._receive(stop)

    async def resume(self) -> None:
        """Go on with what was accepted before the last stop and never answered."""
        await self._door.resume(PLATFORM, self)

    async def drain(self, limit_s: float) -> None:
        """Return when everything that was taken is answered, or after that time: the inbox keeps the rest."""
        timer = asyncio.create_task(self._clock.sleep(limit_s))
        try:
            while self._open and not timer.done():
                await asyncio.wait({timer, *self._open}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in {timer, *self._open}:
                task.cancel()

    def again(self, incoming: Incoming) -> TelegramSurface:
        """Return where to answer a message that was accepted earlier."""
        return self.surface(incoming)

    def private(self, user: UserKey) -> TelegramSurface:
        """Return the person's private chat, which has their id."""
        return TelegramSurface(self._api, Place(int(user.user)), self._style, whole=Priority.ANSWER)

    def surface(self, incoming: Incoming) -> TelegramSurface:
        """Return where to answer that message: in a group, as a reply to it."""
        reply_to = None if incoming.private else asked_in(incoming)
        return TelegramSurface(self._api, _place(incoming), self._style, reply_to=reply_to, whole=_rank(incoming))

    def _streaming(self, incoming: Incoming) -> DraftSurface:
        return DraftSurface(
            self._api,
            _place(incoming),
            self._style,
            self._clock,
            draft_id=asked_in(incoming) or 1,
            whole=_rank(incoming),
        )

    async def _message(self, message: Message) -> None:
        incoming = incoming_of(message, self._me)
        if incoming is None:
            return
        self._is_news(message, incoming)
        more = self._is_more_of_an_album(message)
        if incoming.text or (incoming.addressed and _has_content(message) and not more):
            await self._said(incoming)  # without a word in it too: the core tells that it only reads text

    async def _edited(self, message: Message, update_id: int) -> None:
        incoming = incoming_of(message, self._me, edit=update_id)
        if incoming is not None and incoming.text and self._is_news(message, incoming):
            await self._said(incoming)

    async def _said(self, incoming: Incoming) -> None:
        if self._clock.now() - incoming.at <= self._max_age:
            self._told.discard(incoming.chat)
            await self._receive(incoming)
        elif incoming.addressed and incoming.chat not in self._told:
            self._told.add(incoming.chat)
            await self._tell(self.surface(incoming), AWAY[choose(incoming.text, incoming.language)])

    async def _receive(self, incoming: Incoming) -> None:
        surface = self._streaming(incoming) if self._drafts and incoming.private else self.surface(incoming)
        answered = asyncio.ensure_future(await self._door.receive(incoming, surface))
        if not answered.done():  # a repeat, or what is nobody's business, is
            self._keep(answered)
            self._keep(asyncio.ensure_future(accompany(surface, answered, self._clock)))

    async def _membership(self, change: ChatMemberUpdated) -> None:
        was, now = change.old_chat_member.status in _IN_CHAT, change.new_chat_member.status in _IN_CHAT
        _LOG.info("membership", extra={"chat": change.chat.id, "member": now})
        if was or not now or change.chat.type == change.chat.PRIVATE:
            return
        locale = choose("", change.from_user.language_code or "")
        lines = [JOINED[locale].format(name=self._me.username)]
        if not self._me.can_read_all_group_messages and change.new_chat_member.status != ChatMember.ADMINISTRATOR:
            lines.append(PRIVACY_MODE[locale])
        surface = TelegramSurface(self._api, Place(change.chat.id), self._style, whole=Priority.ANSWER)
        await self._tell(surface, "\n\n".join(lines))

    async def _tell(self, surface: TelegramSurface, text: str) -> None:
        """Say one line, and do not wait longer for it than the chat bears right now."""
        view = View(surface, self._clock)
        try:
            await view.show(Shown(text))
        except SurfaceError as error:
            _LOG.info("courtesy not delivered", extra={"error": type(error).__name__})
        self._keep(asyncio.ensure_future(_closed(view)))

    def _keep(self, task: asyncio.Future[None]) -> None:
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    def _is_news(self, message: Message, incoming: Incoming) -> bool:
        """Whether the message says something else than when it was last seen (Telegram re-sends it for less)."""
        key, said = (incoming.chat.chat, message.message_id), hash(incoming.text)
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


def _place(incoming: Incoming) -> Place:
    return Place(int(incoming.chat.chat), int(incoming.chat.thread) if incoming.chat.thread else None)


def _rank(incoming: Incoming) -> Priority:
    return Priority.ANSWER if command_of(incoming.text) else Priority.FINAL


def _has_content(message: Message) -> bool:
    """Whether a person sent something, be it of a kind that this library does not know yet."""
    return message.effective_attachment is not None or bool(message.api_kwargs)


def _remember(seen: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    """Put the newest last, and forget the oldest."""
    seen[key] = value
    seen.move_to_end(key)
    if len(seen) > _REMEMBERED:
        seen.popitem(last=False)


async def _closed(view: View) -> None:
    try:
        await view.close()
    except SurfaceError as error:
        _LOG.info("courtesy not delivered", extra={"error": type(error).__name__})
