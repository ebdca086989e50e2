"""One Discord channel to write into, for one answer. When to write and where to cut is decided in `core/delivery`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from adapters.discord.api import TYPING_S, DiscordApi
from adapters.discord.form import Forms
from adapters.discord.listener import said_in_room
from adapters.discord.markup import MAX_CHARS, Drawn, draw, measure
from adapters.discord.pacer import GROWING, LAST, WHOLE
from adapters.discord.room import handle_of, ids_in
from adapters.discord.texts import NO_INTENT
from core.enclosures import Quote
from core.errors import ChannelBusy, ChannelError
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel
from core.types import Localized

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Renderer:
    """Draws for the `person` of that id ("": whom a message mentions); `stop` is the id of their Stop button, if any.

    `aside` says that this is a conversation unseen by the room; `forms` is told what forms behind buttons begin with.
    """

    person: str = ""
    stop: str = ""
    aside: bool = False
    forms: Forms | None = None

    def draw(self, shown: OutgoingMessage) -> Drawn:
        """Return how a message is shown to the person."""
        drawn = draw(shown, stop=self.stop, aside=self.aside)
        if self.forms is not None and (drawn.choices or drawn.menu):
            self.forms.note(self.person or str(drawn.mentioned), drawn)
        return drawn


@dataclass(frozen=True, slots=True)
class Destination:
    """Where an answer goes: a channel, or the direct messages of `person` (if not 0).

    `reply_to` is the message that the first post replies to, or 0; with a `thread` name, a thread is opened on it
    first, in which everything stands. `asked` is the message that is answered, or 0; `server` is that of it.
    """

    channel: int = 0
    person: int = 0
    reply_to: int = 0
    thread: str = ""
    asked: int = 0
    server: int = 0


class DiscordChannel(Channel):
    """Posts and edits in one place.

    `asked` names what is answered or said; with it every post has a nonce of its own, so that what is sent twice (after
    a lost response, after a crash) is there once. A handle is CHANNEL/MESSAGE, which an answer that goes on elsewhere
    needs.
    """

    def __init__(
        self,
        api: DiscordApi,
        place: Destination,
        *,
        asked: str,
        edit_interval_s: float,
        renderer: Renderer | None = None,
    ) -> None:
        self._api = api
        self._place = self._began = place
        self._asked = asked
        self._renderer = renderer or Renderer()
        self._doubtful = False
        self._edit_interval_s = edit_interval_s
        self._drawn: dict[str, Drawn] = {}
        self._posts = 0
        self._adopted: frozenset[str] = frozenset()
        self._unsure: OutgoingMessage | None = None  # what was to be posted last, until it is known to be there

    @property
    def limits(self) -> ChannelLimits:
        """What one message holds in UTF-16 units, and how often it may be edited."""
        stops = bool(self._renderer.stop)
        return ChannelLimits(MAX_CHARS, self._edit_interval_s, typing_s=TYPING_S, stops=stops, notifies=True)

    def measure(self, text: str) -> int:
        """Return the UTF-16 units of the text."""
        return measure(text)

    async def post(self, shown: OutgoingMessage) -> str:
        """Write a new message; the first one replies to what it answers."""
        drawn = self._renderer.draw(shown)
        if self._unsure is not None and self._unsure.stays and self._unsure.text != shown.text:
            self._posts += 1  # that one may be there, and is not to be found as this one
        self._unsure = shown
        handle = await self._send(drawn, shown)
        self._unsure = None
        return handle

    async def edit(self, handle: str, shown: OutgoingMessage) -> None:
        """Replace a message in place."""
        drawn = self._renderer.draw(shown)
        before = self._drawn.get(handle)
        if drawn == before:
            return
        leaves = LAST if shown.urgent else WHOLE if shown.stays else GROWING
        await self._api.edit(*ids_in(handle), drawn, before, leaves=leaves)
        self._drawn[handle] = drawn

    async def remove(self, handle: str) -> None:
        """Delete a message; do nothing if it is gone."""
        await self._api.remove(*ids_in(handle))

    def adopt(self, handles: Sequence[str]) -> Sequence[str]:
        """Go on with what an earlier process posted; what it may have posted besides is found by its nonce."""
        known = [handle for handle in handles if handle]
        self._doubtful, self._posts, self._adopted = True, len(known), frozenset(known)
        if known:
            self._place = Destination(ids_in(known[-1])[0])
        return known

    async def show_typing(self) -> None:
        """Show that the bot is typing."""
        if self._place.channel:
            await self._api.typing(self._place.channel)

    async def show_waiting(self, *, waits: bool = True) -> None:
        """React to the message that is answered, or take the reaction back."""
        if self._began.asked:
            await self._api.mark_seen(self._began.channel, self._began.asked, waits=waits)

    async def fetch(self, handle: str, max_bytes: int, into: BinaryIO) -> None:
        """Write what came with a message into a file."""
        await self._api.fetch(handle, max_bytes, into)

    async def said_before(self, most: int) -> Sequence[Quote]:
        """Read the last messages of the channel; nothing is kept."""
        user, person = self._api.user, self._renderer.person
        if not self._place.channel or user is None:
            return ()
        try:
            messages = await self._api.before(self._place.channel, self._place.asked, most)
        except ChannelError as error:
            _LOG.info("channel not read", extra={"error": type(error).__name__})
            return ()
        return said_in_room(messages, int(person) if person.isdecimal() else 0, user.id)

    async def may_manage(self) -> bool:
        """Return whether whoever wrote may manage the server, by the rights that they have there now."""
        person = self._renderer.person
        return bool(self._began.server) and await self._api.may_manage(self._began.server, int(person))

    async def why_unread(self) -> Localized | None:
        """Return that the message-content intent is missing, if it is."""
        return None if self._api.reads_all else NO_INTENT

    async def _send(self, drawn: Drawn, shown: OutgoingMessage) -> str:
        place = await self._arrive()
        doubtful, self._doubtful = self._doubtful, True  # until it is known to have arrived, it may have
        reply_to = place.reply_to
        if shown.notify and place.channel == self._began.channel:
            reply_to = self._began.reply_to
        found = await self._api.send(
            place.channel,
            drawn,
            nonce=f"{self._asked}.{self._posts}",
            reply_to=None if shown.plain else reply_to or None,
            notify=shown.notify,
            silent=shown.silent,
            leaves=LAST if shown.stays else GROWING,
        )
        handle = handle_of(place.channel, found.id)
        if handle in self._adopted:  # that number was used by the earlier process, for another of its messages
            self._posts += 1
            return await self._send(drawn, shown)
        if doubtful and not found.shows(drawn):
            await self._api.edit(place.channel, found.id, drawn)
        self._doubtful = False
        self._posts += 1
        self._place = Destination(place.channel)
        self._drawn[handle] = drawn
        return handle

    async def _arrive(self) -> Destination:
        """Open the direct messages or the thread, if that is where the answer goes; return where to write."""
        place = self._place
        if place.person:
            self._place = Destination(await self._api.open_direct(place.person))
        elif place.thread:
            try:
                await self._api.open_thread(place.channel, place.reply_to, place.thread)
                self._place = Destination(place.reply_to)  # a thread has the id of the message it was opened on
            except ChannelBusy:
                raise
            except ChannelError:
                self._place = Destination(place.channel, reply_to=place.reply_to)
        return self._place
