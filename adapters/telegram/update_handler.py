"""Take updates: messages, edits, presses, moves of groups, invitations. A message is on disk when `take` returns."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final, TypeVar

from telegram import (
    CallbackQuery,
    InlineKeyboardMarkup,
    InlineQuery,
    InlineQueryResultArticle,
    InputTextMessageContent,
    LinkPreviewOptions,
    Message,
    Update,
    User,
)

from adapters.running import NOT_YOURS, Session, display_name
from adapters.telegram.api import TelegramApi, ephemeral_id
from adapters.telegram.attachments import PLATFORM
from adapters.telegram.channel import Destination, DraftChannel, TelegramChannel, WhisperChannel
from adapters.telegram.config import TelegramConfig
from adapters.telegram.listener import (
    answers,
    asked_in,
    command_of,
    dislike_of,
    heard_of,
    incoming_of,
    invitation_of,
    is_rehoused,
    named_by,
    press_of,
    rehoused,
    replaced_by,
    stop_of,
    stopped_by,
    unseen,
    unseen_in,
    unseen_replaced,
)
from adapters.telegram.markup import pressed, stop_keyboard
from adapters.telegram.pacer import Priority
from adapters.telegram.state import Place, State
from core.commands.menu import DISLIKED
from core.delivery.view import until_done
from core.enclosures import QuoteKind
from core.errors import StorageDown, StorageError
from core.ports import Channels, Clock, MessageHandler
from core.text.catalogue import text
from core.text.language import choose
from core.text.unicode import one_line
from core.types import ChatKey, ConversationKey, Incoming, MemoryItem, UserKey

MAX_RESULTS: Final = 10

_MAX_TITLE_CHARS, _MAX_ABOUT_CHARS = 60, 160
_MAX_TEXT_CHARS: Final = 2000
"""The most that is posted: at worst 4,000 of the 4,096 UTF-16 units of a message."""


def search_of(query: InlineQuery, at: datetime) -> Incoming:
    """Return what a person looks for, as if they said it to the bot in private: whoever reads on is their choice."""
    person = query.from_user
    return Incoming(
        chat=ChatKey(PLATFORM, str(person.id)),
        user=UserKey(PLATFORM, str(person.id)),
        user_name=display_name(person.full_name),
        message_id=f"inline.{query.id}",
        text=query.query,
        at=at,
        language=person.language_code or "",
        handle=person.username or "",
    )


def results_of(items: Iterable[MemoryItem]) -> list[InlineQueryResultArticle]:
    """Return memories as results: by what each is found on top, its content below; both are posted."""
    results = []
    for item in items:
        title, text = one_line(item.bindings[0], _MAX_TITLE_CHARS), item.content[:_MAX_TEXT_CHARS]
        said = InputTextMessageContent(f"{title}: {text}", link_preview_options=LinkPreviewOptions(is_disabled=True))
        about = one_line(item.content, _MAX_ABOUT_CHARS)
        results.append(InlineQueryResultArticle(item.id, title, said, description=about))
    return results


_LOG = logging.getLogger(__name__)


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

_SUPERGROUP = "-100"
"""Begins the ids of supergroups. Source: core.telegram.org/api/bots/ids."""

_IN_CHAT = re.compile(r"(?P<id>\d+)(?:\.\d*(?P<moved>s?))?")
"""The id of a message in our form: as it came, of an edit, or since the group moved (`rehoused`)."""

_SPINS_S = 0.5  # for so long a button may turn that was pressed
_CUT_WITHIN = timedelta(seconds=1)  # a client sends the parts of a long text in one go
_REMEMBERED = 1024  # recent messages whose text tells a real edit from one that changed nothing a person wrote


class UpdateHandler(Channels):
    """Takes updates one by one.

    `commands` are the names that address the bot in a group, `unseen` those whose answer is of no use to others;
    `claimed` is called when somebody may have become the
    owner.
    """

    account_ids = r"[1-9][0-9]{0,15}"
    """Negative ids are chats. Source: core.telegram.org/bots/api#user, at most 52 significant bits."""

    account_url = "https://t.me/{handle}"

    def message_url(self, chat: ChatKey, message_id: str) -> str:
        """Return where a message of a supergroup is shown; other chats have no such links.

        Of a group that became one, only what was said since. Source: core.telegram.org/api/links#message-links.
        """
        home = int(chat.chat) if chat.chat.removeprefix("-").isdecimal() else 0
        address, named = str(self._state.address(home)), _IN_CHAT.fullmatch(message_id)
        has_moved = address != chat.chat
        if named is None or not address.startswith(_SUPERGROUP) or has_moved != bool(named["moved"]):
            return ""
        return f"https://t.me/c/{address.removeprefix(_SUPERGROUP)}/{named['id']}"

    def __init__(
        self,
        handler: MessageHandler,
        api: TelegramApi,
        me: User,
        clock: Clock,
        config: TelegramConfig,
        *,
        state: State,
        commands: Collection[str] = (),
        unseen: Collection[str] = (),
        claimed: Callable[[], None] = lambda: None,
    ) -> None:
        self._session = Session(PLATFORM, handler, clock, config.max_age_s)
        self._api = api
        self._me = me
        self._clock = clock
        self._config = config
        self._state = state
        self._commands = {*commands, "start"}
        self._unseen = {*unseen, "start", DISLIKED}
        self._claimed = claimed
        self._texts: OrderedDict[tuple[int, int], int] = OrderedDict()
        self._begun: OrderedDict[tuple[ConversationKey, str], datetime] = OrderedDict()
        self._presses: set[tuple[str, str, str]] = set()
        self._searches: dict[int, asyncio.Future[None]] = {}  # the last of each person

    async def take(self, update: Update) -> None:
        """Take one update. The server may forget it when this returns.

        Raises:
            StorageDown: it was not stored; bring it again.
        """
        await self._meet(update)
        if update.message is not None:
            await self._message(update.message, update.update_id)
        elif update.edited_message is not None:
            await self._edited(update.edited_message, update.update_id)
        elif update.callback_query is not None:
            await self._press(update.callback_query)
        elif (change := update.my_chat_member) is not None:
            self._api.rights_changed(change.chat.id)
            invitation = invitation_of(change, self._me)
            if invitation is not None and self._state.home(change.chat.id) == change.chat.id:  # else it was greeted
                self._session.keep(self._session.invited(invitation, self._unasked(Place(change.chat.id))))
        elif update.inline_query is not None:
            self._search(update.inline_query)
        elif update.message_reaction is not None:
            if (disliked := dislike_of(update.message_reaction, self._clock.now())) is not None:
                await self._receive(disliked)
        elif (stop := stop_of(update, self._clock.now())) is not None:
            await self._receive(stop)

    async def resume(self) -> None:
        """Connect, and queue what was accepted before the last stop and never answered."""
        await self._session.resume(self)

    async def drain(self, limit_s: float) -> None:
        """Wait until everything taken is answered, `limit_s` at most, and disconnect."""
        await self._session.drain(limit_s)

    def again(self, incoming: Incoming) -> TelegramChannel:
        """Return where to answer a message that was accepted earlier, and may have been answered."""
        return self._channel(incoming)

    def private(self, user: UserKey, once: str = "") -> TelegramChannel:  # noqa: ARG002
        """Return the person's private chat, whose id is theirs; for the id of no person, a chat that nobody reads."""
        return self._unasked(_place(ChatKey(PLATFORM, user.user)) if user.user.isdecimal() else Place(0))

    def room(self, chat: ChatKey, once: str) -> TelegramChannel:  # noqa: ARG002 (Telegram cannot tell a repeat)
        """Return the group, or the topic in it."""
        return self._unasked(_place(chat))

    # --- where answers go ---

    def _unasked(self, place: Place) -> TelegramChannel:
        return TelegramChannel(self._api, Destination(place, whole=Priority.ANSWER))

    def _channel(self, incoming: Incoming) -> TelegramChannel:
        """Return where to answer that message: in a group, as a reply to it."""
        place = _place(incoming.chat)
        # Ids of before the move name other messages now.
        there = self._state.address(place.chat_id) == place.chat_id or is_rehoused(incoming)
        asked = asked_in(incoming) if there else None
        replaces, ephemeral = replaced_by(incoming), unseen_in(incoming)
        to = Destination(
            place,
            reply_to=None if incoming.private else asked,
            asked=None if incoming.pressed else asked,
            asker=incoming.user.user,
            whole=Priority.ANSWER if command_of(incoming.text) else Priority.FINAL,
            replaces=replaces if there else None,
            names=named_by(incoming),
            stop=partial(self._stop_button, incoming),
            press=incoming.reply_token,
            stopped=stopped_by(incoming) if there else None,
            moved=not there,
        )
        is_person = incoming.user.user.isdecimal()
        if is_person and (ephemeral is not None or (not incoming.private and replaces is None)):
            return WhisperChannel(
                self._api,
                to,
                int(incoming.user.user),
                command=ephemeral,
                replaces_unseen=unseen_replaced(incoming),
                always=command_of(incoming.text) in self._unseen,
            )
        if self._config.drafts and incoming.private and replaces is None:
            return DraftChannel(self._api, to, self._clock, draft_id=asked_in(incoming) or 1)
        return TelegramChannel(self._api, to)

    def _stop_button(self, incoming: Incoming) -> InlineKeyboardMarkup | None:
        user = incoming.user.user
        if not self._config.stop_button or not user.isdecimal():  # who speaks for a group presses as somebody else
            return None
        return stop_keyboard(STOP[choose("", incoming.language)], user)

    # --- what comes ---

    async def _meet(self, update: Update) -> None:
        """Learn of a chat that is new to this worker; an invitation may come before what is said there first."""
        if update.my_chat_member is not None:
            await self._known(self._state.load())
        elif (chat := update.effective_chat) is not None:
            await self._known(self._state.meet(chat.id))

    async def _known(self, learning: Awaitable[None]) -> None:
        """Learn or record something of a chat; what only the database's own trouble hinders is done without.

        Raises:
            StorageDown: it cannot be reached.
        """
        try:
            await learning
        except StorageDown:
            raise
        except StorageError as error:
            _LOG.warning("state of chats not read or written", extra={"error": type(error).__name__})

    async def _message(self, message: Message, update_id: int) -> None:
        if message.migrate_to_chat_id is not None:
            await self._known(self._state.moved(message.chat.id, message.migrate_to_chat_id))
            self._api.hearing.moved(self._state.home(message.chat.id))
        if message.migrate_from_chat_id is not None:
            await self._known(self._state.moved(message.migrate_from_chat_id, message.chat.id))
        incoming = incoming_of(message, self._me, self._commands)
        if incoming is None:
            return
        if (ephemeral := ephemeral_id(message)) is not None:
            incoming = unseen(incoming, ephemeral, update_id)
        else:
            incoming = self._heard(message, incoming)
        self._is_news(message, incoming)
        incoming = replace(incoming, addressed=self._goes_on(incoming) or incoming.addressed)
        if _says_something(incoming) or (incoming.addressed and _brings_something(incoming)):
            await self._receive(incoming)

    async def _edited(self, message: Message, update_id: int) -> None:
        incoming = incoming_of(message, self._me, self._commands, edit=update_id)
        if incoming is not None:
            incoming = self._heard(message, incoming)
        if incoming is None or not incoming.text or not self._is_news(message, incoming):
            return
        if not incoming.addressed:
            incoming = self._rehoused(incoming)
            await self._session.withdraw(incoming.chat, [incoming.edits])
        elif not self._session.is_old(message.date):
            await self._receive(incoming)

    async def _press(self, query: CallbackQuery) -> None:
        """Send the command of a press, and acknowledge it; a second one is ignored until the first was answered."""
        button = pressed(query.data or "")
        mine = button is None or button.stops in {"", str(query.from_user.id)}
        incoming = press_of(query, button, self._clock.now()) if button is not None and mine else None
        press = (_message_of(query), str(query.from_user.id), incoming.text if incoming else "")
        if incoming is None or press in self._presses:
            notice = "" if mine else NOT_YOURS[choose("", query.from_user.language_code or "")]
            self._session.keep(self._api.acknowledge(query.id, notice))
            return
        self._presses.add(press)
        answered = await self._receive(incoming)
        answered.add_done_callback(lambda _: self._presses.discard(press))
        self._session.keep(self._acknowledge(query.id, answered))

    async def _acknowledge(self, query_id: str, answered: asyncio.Future[bool]) -> None:
        """Acknowledge a press once it is answered, which its answer may do itself, or after a moment."""
        await until_done(answered, _SPINS_S, self._clock)
        await self._api.acknowledge(query_id)

    def _search(self, query: InlineQuery) -> None:
        """Offer memories for what a person writes; what they wrote before is not searched for any more."""
        if (earlier := self._searches.pop(query.from_user.id, None)) is not None:
            earlier.cancel()
        if not self._config.inline:
            return
        search = self._searches[query.from_user.id] = self._session.keep(self._offer(query))
        search.add_done_callback(lambda ended: self._searched(query.from_user.id, ended))

    def _searched(self, person: int, ended: asyncio.Future[None]) -> None:
        if self._searches.get(person) is ended:
            del self._searches[person]

    async def _offer(self, query: InlineQuery) -> None:
        found = await self._session.find(search_of(query, self._clock.now()), MAX_RESULTS)
        await self._api.offer(query.id, results_of(found))

    async def _receive(self, incoming: Incoming) -> asyncio.Future[bool]:
        incoming = self._session.aged(self._rehoused(incoming))
        answered = await self._session.receive(incoming, self._channel(incoming))
        if incoming.text.startswith("/start "):
            self._claimed()
        return answered

    def _rehoused(self, incoming: Incoming) -> Incoming:
        """Return a message of a supergroup that was a group as one of that group."""
        chat_id = int(incoming.chat.chat)
        return incoming if (home := self._state.home(chat_id)) == chat_id else rehoused(incoming, home)

    def _heard(self, message: Message, incoming: Incoming) -> Incoming:
        """Note what is said in a group; return a message for the bot with the chain of replies that it points at."""
        if incoming.private:
            return incoming
        hearing, replied = self._api.hearing, answers(message)
        topic = incoming.chat.thread
        place = Place(self._state.home(message.chat.id), int(topic) if topic else None)
        if replied is not None and not hearing.knows(place, replied.message_id):
            hearing.note(place, replied.message_id, heard_of(replied, self._me))
        hearing.note(place, message.message_id, heard_of(message, self._me))
        if replied is None or not incoming.addressed:
            return incoming
        chain = hearing.chain(place, replied.message_id, incoming.user.user)
        return replace(incoming, quotes=(*incoming.quotes, *chain))

    def _is_news(self, message: Message, incoming: Incoming) -> bool:
        """Whether the text changed since the message was last seen; Telegram reports other edits, too."""
        key, said = (message.chat.id, message.message_id), hash(incoming.text)
        news = self._texts.get(key) != said
        _remember(self._texts, key, said)
        return news

    def _goes_on(self, incoming: Incoming) -> bool:
        """Whether it goes on with what its sender just said to the bot: an album, or a text that their client cut.

        In a group only the first of such messages has the bot's name in it.
        """
        here = incoming.conversation, incoming.group
        began = self._begun.get(here) if incoming.group else self._begun.pop(here, None)
        goes_on = began is not None and (bool(incoming.group) or incoming.at - began <= _CUT_WITHIN)
        if (goes_on or incoming.addressed) and (incoming.group or incoming.is_cut):
            _remember(self._begun, here, incoming.at)
        return goes_on


def _place(chat: ChatKey) -> Place:
    """Return where that chat is; for what is no id of Telegram's, a chat that nobody reads."""
    is_id = chat.chat.removeprefix("-").isdecimal()
    return Place(int(chat.chat) if is_id else 0, int(chat.thread) if chat.thread.isdecimal() else None)


def _message_of(query: CallbackQuery) -> str:
    """Return what names the message below which somebody pressed."""
    return f"{query.message.chat.id}:{query.message.message_id}" if query.message is not None else ""


def _says_something(incoming: Incoming) -> bool:
    """Whether there are words in it, its sender's or passed on."""
    return bool(incoming.text) or any(quote.kind is QuoteKind.FORWARD and quote.text for quote in incoming.quotes)


def _brings_something(incoming: Incoming) -> bool:
    """Whether there is something in it that is no words, or a message passed on of which nothing is told."""
    return bool(incoming.attachments) or any(quote.kind is QuoteKind.FORWARD for quote in incoming.quotes)


def _remember(seen: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    """Put the newest last, and drop the oldest."""
    seen[key] = value
    seen.move_to_end(key)
    if len(seen) > _REMEMBERED:
        seen.popitem(last=False)


STOP = text("telegram.stop")
