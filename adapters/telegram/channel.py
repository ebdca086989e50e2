"""One Telegram chat to write into, for one answer: by messages and edits, drafts that become messages, or whispers.

What may be there twice, after a confirmation that got lost, says so. When to write and where to cut a long text is
decided in `core/delivery`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import BinaryIO, TypeVar

from telegram import InlineKeyboardMarkup

from adapters.telegram.api import TYPING_S, TelegramApi
from adapters.telegram.markup import MAX_CAPTION_UNITS, ROOM, Rendered, draw, keyboard, naming, naming_nobody, render
from adapters.telegram.pacer import Priority
from adapters.telegram.state import Place
from core.enclosures import Quote
from core.errors import ChannelBusy, ChannelDown, ChannelError, ChannelGone, ChannelUnclear, MessageLost
from core.outgoing import ChannelLimits, Mention, OutgoingMessage, takes_caption
from core.ports import Channel, Clock
from core.tasks import aside
from core.text.catalogue import text
from core.text.markdown import without_tables
from core.types import Localized, Modal

_Sent = TypeVar("_Sent")

PRIVACY_MODE = text("pointing.privacy_mode")
_REFRESH_S = 20.0  # a draft fades after 30 s
_UNSEEN = "e"
"""Begins the handle of an ephemeral message, whose ids are none of the chat's."""

_MAX_UNSEEN_EDIT_UNITS = 1024
"""What an edit of one holds: it is measured like a caption. Source: github.com/tdlib/telegram-bot-api/issues/881."""


@dataclass(slots=True)
class _PostedMessage:
    """A message as it stands in the chat.

    One that is `marked` may be there twice, and says so; a `passing` one only while it is a status. One that `names` a
    person goes on doing so when it is replaced.
    """

    id: int
    written: Rendered
    marked: bool = False
    passing: bool = False
    names: Mention | None = None

    def bears(self, shown: OutgoingMessage) -> bool:
        """Whether a text that replaces it carries the mark."""
        return self.marked and not (self.passing and shown.modal is not Modal.TEXT_FOR_REPLACE)


@dataclass(frozen=True, slots=True)
class Destination:
    """Where an answer goes, and what it is tied to there."""

    place: Place

    reply_to: int | None = None
    """The message that the first post hangs on."""

    asked: int | None = None
    """The message that is answered, if it can be marked as seen."""

    asker: str = ""
    """The id of who asks."""

    whole: Priority = Priority.FINAL
    """The rank of text that will not change: that of an answer, or of a command's."""

    replaces: int | None = None
    """The message whose place the first post takes."""

    names: Mention | None = None
    """The person with whose name that message begins, and goes on beginning."""

    stop: Callable[[], InlineKeyboardMarkup | None] | None = None
    """Returns the button below what is not whole yet."""

    press: str = ""
    """The id of the press that is answered."""

    stopped: int | None = None
    """The message whose Stop button that was."""

    moved: bool = False
    """Whether the group became a supergroup meanwhile, so that ids of before name other messages now."""


class TelegramChannel(Channel):
    """Posts and edits in one chat."""

    def __init__(self, api: TelegramApi, to: Destination) -> None:
        self._api = api
        self._to = to
        self._place = to.place
        self._reply_to = to.reply_to  # until that was done
        self._replaces = to.replaces  # until that was done
        self._again = False  # what an earlier process wrote may be there already, and nobody knows where
        self._doubtful = False  # what is written next may be there already
        self._lost = False  # what was sent last may be there, and the chat's server may be away
        self._measured: tuple[str, Rendered] = ("", Rendered(""))
        self._messages: dict[str, _PostedMessage] = {}
        self._introduced: str | None = None  # the text whose files are still to be handed over

    @property
    def limits(self) -> ChannelLimits:
        """What one post holds in UTF-16 units, and how often it may be edited."""
        interval_s = self._api.pacer.pace(self._place.chat_id).edit_interval_s
        stops, is_new = self._to.stop is not None, self._to.replaces is None
        return ChannelLimits(ROOM, interval_s, typing_s=TYPING_S, stops=stops, notifies=is_new)

    def measure(self, text: str) -> int:
        """Return the UTF-16 units of the text after formatting; more than `max_chars` if it has too many entities."""
        return self._render(text).size

    async def post(self, shown: OutgoingMessage) -> str:
        """Write a new message; the first one replies to what it answers, or takes a message's place."""
        if await self._noticed(shown):
            return ""
        if shown.files:
            message = await self._hand_over(shown)
        elif self._replaces is not None and not shown.plain:
            message = await self._replace(shown, self._replaces)
        else:
            message = await self._send(shown, await self._drawn(shown))
        return self._keep(message)

    async def edit(self, handle: str, shown: OutgoingMessage) -> str | None:
        """Replace a message in place, or a draft by what follows it."""
        message = self._messages.get(handle)
        if message is None:
            return await self.post(shown)
        rendered = await self._drawn(_named(shown, message.names))
        if message.bears(shown) or shown.again:
            rendered = rendered.again
        if rendered == message.written:
            return None
        stands = replace(rendered, keyboard=message.written.keyboard) == message.written
        await self._api.edit(self._place, message.id, rendered, self._rank(shown), stands=stands)
        message.written = rendered
        return None

    def adopt(self, handles: Sequence[str]) -> Sequence[str]:
        """Go on with what an earlier process posted; what it may have posted besides is marked when it is repeated."""
        known = [] if self._to.moved else [handle for handle in handles if handle]
        self._again = self._doubtful = len(known) < len(handles)
        self._messages = {handle: _PostedMessage(int(handle), Rendered("")) for handle in known}
        if (replaced := self._messages.get(str(self._replaces))) is not None:
            replaced.names = self._to.names
        if known:
            self._replaces = self._reply_to = None
        return known

    async def remove(self, handle: str) -> None:
        """Delete a message."""
        await self._api.remove(self._place, self._messages[handle].id)

    async def show_waiting(self, *, waits: bool = True) -> None:
        """React to the message that is answered, or take the reaction back."""
        if self._to.asked is not None:
            await self._api.mark_seen(self._place, self._to.asked, waits=waits)

    async def fetch(self, handle: str, max_bytes: int, into: BinaryIO) -> None:
        """Write what came with a message into a file."""
        await self._api.fetch(handle, max_bytes, into)

    async def said_before(self, most: int) -> Sequence[Quote]:
        """Return what was said in the group before, as far as the bot was handed it since its start."""
        return self._api.hearing.before(self._place, self._to.asked, self._to.asker, most)

    async def may_manage(self) -> bool:
        """Return whether who asks is an administrator of the group."""
        return bool(self._to.asker) and await self._api.may_manage(self._place, self._to.asker)

    async def why_unread(self) -> Localized | None:
        """Return that privacy mode hides what people say in the group, if it does."""
        return None if await self._api.reads_group(self._place) else PRIVACY_MODE

    async def show_typing(self) -> None:
        """Show that the bot is typing."""
        await self._api.typing(self._place)

    async def _noticed(self, shown: OutgoingMessage) -> bool:
        """Say by the press itself that it did nothing, if that is all there is to say; return whether that could be.

        A Stop button that stops nothing is taken away.
        """
        if not shown.notice or self._replaces is not None or not self._to.press:
            return False
        if not await self._api.acknowledge(self._to.press, (await self._drawn(shown)).text):
            return False
        if self._to.stopped is not None:
            with suppress(MessageLost):
                await self._api.edit(self._place, self._to.stopped, Rendered(""), Priority.ANSWER, stands=True)
        return True

    def _keep(self, message: _PostedMessage) -> str:
        handle = str(message.id)
        self._messages[handle] = message
        return handle

    async def _send(self, shown: OutgoingMessage, rendered: Rendered) -> _PostedMessage:
        """Write a new message, with the mark if it may be there already."""
        rank = self._rank(shown) if shown.stays else Priority.STATUS
        reply_to = None if shown.plain else self._to.reply_to if shown.notify else self._reply_to
        send = partial(self._api.send, self._place, priority=rank, reply_to=reply_to, silent=shown.silent)
        return await self._sent(shown, rendered, send)

    async def _sent(
        self, shown: OutgoingMessage, rendered: Rendered, send: Callable[[Rendered], Coroutine[None, None, int]]
    ) -> _PostedMessage:
        passing = shown.modal is Modal.TEXT_FOR_REPLACE
        marked = self._doubtful or shown.again
        what = rendered.again if marked else rendered
        message_id = await self._once(partial(send, what), passing=passing)
        self._doubtful, self._reply_to, self._replaces = False, None, None
        return _PostedMessage(message_id, what, marked, passing=passing and not self._again)

    async def _once(self, send: Callable[[], Coroutine[None, None, _Sent]], *, passing: bool) -> _Sent:
        """Send what would be there twice if it was sent twice.

        Raises:
            ChannelUnclear: it may be there. Nothing is sent after it before the chat can be written to again.
        """
        if self._lost:
            await self._api.knock(self._place)
        try:
            sent = await send()
        except (ChannelDown, ChannelUnclear) as error:
            self._lost = True
            self._doubtful |= not passing
            raise ChannelUnclear(type(error).__name__, error.retry_after_s) from None
        self._lost = False
        return sent

    async def _replace(self, shown: OutgoingMessage, message_id: int) -> _PostedMessage:
        """Replace a message, which is safe to repeat; write a new one if it cannot be replaced."""
        rendered = await self._drawn(_named(shown, self._to.names))
        try:
            await self._api.edit(self._place, message_id, rendered, self._rank(shown))
            message = _PostedMessage(message_id, rendered, names=self._to.names)
        except (ChannelBusy, ChannelGone, ChannelUnclear):
            raise
        except ChannelError:
            self._replaces = None
            return await self._send(shown, rendered)
        self._replaces, self._doubtful = None, False
        return message

    async def _hand_over(self, shown: OutgoingMessage) -> _PostedMessage:
        """Write the files with their text as caption, or before them if the text is too long for one."""
        caption = await self._drawn(shown) if shown.text else Rendered("", keyboard=keyboard(shown))
        if caption.size > MAX_CAPTION_UNITS or (shown.text and not takes_caption(shown.files)):
            if self._introduced != shown.text:  # else only the files are tried again
                await self._send(shown, replace(caption, keyboard=None))
                self._introduced = shown.text
            caption = Rendered("", keyboard=caption.keyboard)
        return await self._sent(
            shown,
            caption,
            lambda what: self._api.send_files(self._place, shown.files, what, self._to.whole, self._reply_to),
        )

    def _rank(self, shown: OutgoingMessage) -> Priority:
        if shown.stays:
            return Priority.STOP if shown.urgent else self._to.whole
        return Priority.STATUS if shown.modal is Modal.TEXT_FOR_REPLACE else Priority.EDIT

    def _render(self, text: str) -> Rendered:
        if self._measured[0] != text:  # a text is measured right before it is written
            self._measured = (text, render(text))
        return self._measured[1]

    async def _drawn(self, shown: OutgoingMessage) -> Rendered:
        return await aside(len(shown.text), partial(self._draw, shown))

    def _draw(self, shown: OutgoingMessage) -> Rendered:
        text = shown.text if shown.mention is None else naming_nobody(shown.text)
        text = text if shown.final else without_tables(text, grows=True)
        drawn = draw(shown, self._render(text))
        if shown.plain:
            return naming(shown, Rendered(drawn.text))
        drawn = naming(shown, drawn)
        if not shown.stays:
            return replace(drawn, keyboard=self._to.stop()) if shown.stoppable and self._to.stop is not None else drawn
        return replace(drawn, keyboard=keyboard(shown)) if shown.choices or shown.menu else drawn


def _named(shown: OutgoingMessage, names: Mention | None) -> OutgoingMessage:
    """Return the message as one that mentions that person, unless it mentions somebody already."""
    return shown if names is None or shown.mention is not None else replace(shown, mention=names)


class DraftChannel(TelegramChannel):
    """A private chat that shows what may still change as a draft, the preview that Telegram animates.

    A draft fades after 30 s and has no id; what stays is always a message. A draft that is refused becomes a message
    with edits, for that message only; where the server has no drafts, for all.
    Source: core.telegram.org/bots/api#sendmessagedraft.
    """

    def __init__(self, api: TelegramApi, to: Destination, clock: Clock, *, draft_id: int) -> None:
        super().__init__(api, to)
        self._clock = clock
        self._draft_id = draft_id
        self._shown: Rendered | None = None
        self._shown_s = 0.0
        self._refused = False  # the draft of the message that is written now

    @property
    def limits(self) -> ChannelLimits:
        """What one post holds, and how often it may be edited; a draft fades by itself."""
        previews = self._api.takes_drafts
        return replace(super().limits, previews=previews, stops=not previews)

    async def post(self, shown: OutgoingMessage) -> str:
        """Show a draft, or write the message if the text is whole."""
        if not shown.stays and not self._refused and self._api.takes_drafts:
            if await self._draft(shown):
                return ""
            self._refused = True
        self._shown = None
        handle = await super().post(shown)
        self._refused = False
        return handle

    async def show_typing(self) -> None:
        """Show that the bot is typing, or the draft again before it fades."""
        if self._shown is None:
            await super().show_typing()
        elif self._clock.monotonic() - self._shown_s >= _REFRESH_S:
            await self._show(self._shown, Priority.EDIT)

    async def _draft(self, shown: OutgoingMessage) -> bool:
        """Show it as a draft; False if this chat or server does not take drafts."""
        rendered = await self._drawn(shown)
        if rendered == self._shown:
            return True
        try:
            await self._show(rendered, self._rank(shown))
        except ChannelBusy:
            raise
        except ChannelError:  # if the chat itself is gone, the message will tell
            return False
        return True

    async def _show(self, rendered: Rendered, rank: Priority) -> None:
        await self._api.draft(self._place, self._draft_id, rendered, rank)
        self._shown, self._shown_s = rendered, self._clock.monotonic()


class WhisperChannel(TelegramChannel):
    """A group in which some messages are for that person alone: what is marked as unseen or, with `always`, all.

    `command` is the ephemeral message that is answered, if there is one: then nothing is ever said aloud.
    """

    def __init__(
        self,
        api: TelegramApi,
        to: Destination,
        person: int,
        *,
        command: int | None = None,
        replaces_unseen: int | None = None,
        always: bool = False,
    ) -> None:
        super().__init__(api, to)
        self._person = person
        self._command = command
        self._replaces_unseen = replaces_unseen
        self._always = always or command is not None
        self._unseen: dict[str, Rendered] = {}

    @property
    def limits(self) -> ChannelLimits:
        """What one post holds; nobody else is shown that the bot works on what only the person sees."""
        limits = super().limits
        return replace(limits, typing_s=0.0, notifies=False) if self._always else limits

    async def post(self, shown: OutgoingMessage) -> str:
        """Write a new message, whispered if it is for the person alone and the chat allows it.

        Raises:
            ChannelError: also where nothing may be said aloud and the whisper was refused.
        """
        if await self._noticed(shown):
            return ""
        return await (self._whisper(shown) if self._always or shown.unseen else super().post(shown))

    async def _whisper(self, shown: OutgoingMessage) -> str:
        if self._command is None and (shown.files or not await self._api.can_whisper(self._place)):
            return await super().post(shown)
        if shown.files:
            raise ChannelError("a file is not handed over unseen")
        rendered = await self._drawn(shown)
        if self._replaces_unseen is not None and rendered.size <= _MAX_UNSEEN_EDIT_UNITS:
            handle = f"{_UNSEEN}{self._replaces_unseen}"
            await self._api.edit_whisper(self._place, self._person, self._replaces_unseen, rendered, self._rank(shown))
            return self._keep_unseen(handle, rendered)
        try:
            what = rendered.again if self._doubtful or shown.again else rendered
            whispering = partial(self._api.whisper, to=self._person, answers=self._command)
            written, unseen = await self._once(
                lambda: whispering(self._place, what, self._rank(shown)),
                passing=shown.modal is Modal.TEXT_FOR_REPLACE,
            )
            self._doubtful = False
        except (ChannelBusy, ChannelGone, ChannelUnclear):
            raise
        except ChannelError:
            if self._command is not None:
                raise
            self._api.whisper_no_more(self._place)
            return await super().post(shown)
        if not unseen:  # an older server knows of no whispers: the message is one like any other
            return self._keep(_PostedMessage(written, what))
        return self._keep_unseen(f"{_UNSEEN}{written}", what)

    async def edit(self, handle: str, shown: OutgoingMessage) -> str | None:
        """Replace a message in place; a whisper that grew too long by a new one, whose handle is returned."""
        if not handle.startswith(_UNSEEN):
            return await super().edit(handle, shown)
        rendered = await self._drawn(shown)
        if rendered == self._unseen.get(handle):
            return None
        if rendered.size > _MAX_UNSEEN_EDIT_UNITS:
            self._replaces_unseen = None
            new = await self.post(shown)
            await self.remove(handle)
            return new
        await self._api.edit_whisper(self._place, self._person, _id(handle), rendered, self._rank(shown))
        self._keep_unseen(handle, rendered)
        return None

    async def remove(self, handle: str) -> None:
        """Delete a message."""
        if not handle.startswith(_UNSEEN):
            await super().remove(handle)
            return
        self._unseen.pop(handle, None)
        await self._api.remove_whisper(self._place, self._person, _id(handle))

    def adopt(self, handles: Sequence[str]) -> Sequence[str]:
        """Go on with what an earlier process posted."""
        known = {*super().adopt([handle for handle in handles if not handle.startswith(_UNSEEN)])}
        return [handle for handle in handles if handle in known or handle.startswith(_UNSEEN)]

    def _keep_unseen(self, handle: str, rendered: Rendered) -> str:
        self._replaces_unseen = None
        self._unseen[handle] = rendered
        return handle


def _id(handle: str) -> int:
    return int(handle.removeprefix(_UNSEEN))
