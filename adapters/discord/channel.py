"""One Discord channel to write into, for one answer: by messages, or as the response to an interaction.

An interaction is a slash command or a press; its answer is hidden from others where it is private. Discord allows one
deferred response, follow-ups, and 15 minutes; all it needs stands in a `Ticket`. When to write and where to cut is
decided in `core/delivery`.
Source: discord.com/developers/docs/interactions/receiving-and-responding.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any, BinaryIO

import discord

from adapters.discord.api import TYPING_S, DiscordApi, InteractionOver, edit_options, sent, time_for, uploads
from adapters.discord.button import Forms
from adapters.discord.listener import said_in_room
from adapters.discord.markup import MAX_CHARS, Drawn, draw, measure
from adapters.discord.pacer import GROWING, LAST, WHOLE
from adapters.discord.room import handle_of, ids_in
from adapters.running import AGAIN
from core.enclosures import Quote
from core.errors import ChannelBusy, ChannelError, ChannelUnclear, MessageLost
from core.outgoing import ChannelLimits, Mention, OutgoingMessage
from core.ports import Channel, Clock
from core.text.catalogue import text
from core.types import Localized

_LOG = logging.getLogger(__name__)

NO_INTENT = text("pointing.no_intent")


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
        renderer: Renderer | None = None,
    ) -> None:
        self._api = api
        self._place = self._began = place
        self._asked = asked
        self._renderer = renderer or Renderer()
        self._doubtful = False
        self._drawn: dict[str, Drawn] = {}
        self._posts = 0
        self._adopted: frozenset[str] = frozenset()
        self._unsure: OutgoingMessage | None = None  # what was to be posted last, until it is known to be there

    @property
    def limits(self) -> ChannelLimits:
        """What one message holds in UTF-16 units, and how often it may be edited."""
        stops = bool(self._renderer.stop)
        return ChannelLimits(MAX_CHARS, self._api.edit_interval_s, typing_s=TYPING_S, stops=stops, notifies=True)

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

    async def edit(self, handle: str, shown: OutgoingMessage) -> str | None:
        """Replace a message in place."""
        drawn = self._renderer.draw(shown)
        before = self._drawn.get(handle)
        if drawn == before:
            return None
        leaves = LAST if shown.urgent else WHOLE if shown.stays else GROWING
        await self._api.edit(*ids_in(handle), drawn, before, leaves=leaves)
        self._drawn[handle] = drawn
        return None

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


# --- answers to interactions ---

_LIFE = timedelta(minutes=14, seconds=30)
"""An interaction's token is good for 15 minutes; the last half minute is left to the request itself."""

_ORIGINAL = "@original"

_ACKNOWLEDGED_WITHIN_S = 4.0  # Discord waits 3 s for it
_ACKNOWLEDGED_SOON_S = 0.3


@dataclass(frozen=True, slots=True)
class Ticket:
    """All that is needed to answer an interaction; it is stored with the message (`Incoming.reply_token`).

    `ends_s` is when its token does, in seconds since 1970; `channel` is where everybody reads the answer, 0 for one
    that is hidden or that the bot could not edit by itself. The response to a press that is answered `in_place` is the
    message whose button was pressed; if that `names` the person whom it is for, it goes on doing so. `along` says that
    the bot is no member there, `beside` that the message whose button was pressed stays, whatever is said.
    """

    application: int
    token: str
    ends_s: float
    channel: int = 0
    hidden: bool = False
    in_place: bool = False
    along: bool = False
    names: bool = False
    beside: bool = False

    @classmethod
    def of(
        cls,
        interaction: discord.Interaction[Any],
        *,
        hidden: bool,
        in_place: bool = False,
        names: bool = False,
        beside: bool = False,
    ) -> Ticket:
        """Return the ticket of an interaction that just came."""
        visits = interaction.guild_id is not None and not interaction.is_guild_integration()
        along = interaction.context.private_channel or visits
        return cls(
            application=interaction.application_id,
            token=interaction.token,
            ends_s=(interaction.created_at + _LIFE).timestamp(),
            channel=0 if hidden or along else interaction.channel_id or 0,
            hidden=hidden,
            in_place=in_place or beside,
            along=along,
            names=names,
            beside=beside,
        )

    @classmethod
    def read(cls, reply_token: str) -> Ticket:
        """Return the ticket that was stored with a message."""
        return cls(**json.loads(reply_token))

    def written(self) -> str:
        """Return the text that is stored with the message."""
        return json.dumps(asdict(self))


class InteractionChannel(DiscordChannel):
    """Writes the deferred response first, then follow-ups; what Discord no longer takes is a message like any other.

    That is after 15 minutes, after 5 follow-ups where somebody took the bot along, or if the acknowledgement came too
    late. Nothing is written before `acknowledged` is called. What takes a message's place begins with whom it `names`.
    `alone`: only the person reads it anyway. A handle is that of the response, or CHANNEL/MESSAGE after that.
    """

    def __init__(
        self,
        api: DiscordApi,
        ticket: Ticket,
        place: Destination,
        clock: Clock,
        *,
        asked: str,
        renderer: Renderer,
        names: Mention | None = None,
        alone: bool = False,
    ) -> None:
        super().__init__(api, place, asked=asked, renderer=renderer)
        self._ticket = ticket
        self._clock = clock
        self._ends_s = ticket.ends_s
        self._names = names
        self._alone = alone
        self._naming = _ORIGINAL  # the handle of what begins with that name
        self._open = asyncio.Event()
        self._is_taken_over = False
        self._repeats = False  # what is written next may be there already
        self._has_begun = False  # the deferred response is a message of this answer

    @property
    def limits(self) -> ChannelLimits:
        """What one message holds, and how often it may be edited."""
        return replace(super().limits, max_chars=MAX_CHARS - len(AGAIN) - 1, typing_s=0.0, notifies=False)

    @property
    def silent(self) -> bool:
        """Whether nothing was written yet, so that the client still shows that the bot is thinking."""
        return not self._has_begun

    @property
    def hidden(self) -> bool:
        """Whether Discord has to show the answer to the person alone."""
        return self._ticket.hidden

    @property
    def in_place(self) -> bool:
        """Whether the answer takes the place of the message whose button was pressed."""
        return self._ticket.in_place

    def hide(self) -> bool:
        """Let only the person see the answer, which is neither acknowledged nor begun."""
        if not self._alone or self._ticket.in_place:  # what it would replace may be for others
            self._ticket = replace(self._ticket, hidden=True, in_place=False, channel=0)
        return True

    def acknowledged(self, *, in_time: bool) -> None:
        """Let the answer begin: as a response, or in the other place if the acknowledgement was not `in_time`."""
        if not in_time:
            self._ends_s = 0.0
        self._open.set()

    def adopt(self, handles: Sequence[str]) -> Sequence[str]:
        """Go on with what an earlier process posted, at least the sign that the bot is thinking."""
        self._open.set()
        self._is_taken_over = True
        if any("/" in handle for handle in handles):
            self._ends_s = 0.0
        if self._expired:
            return super().adopt([self._beyond(handle) if handle else "" for handle in handles])
        self._repeats = "" in handles and any(handles)  # the response itself is edited, which needs no mark
        known = [handle for handle in handles if handle] or ([] if self._ticket.in_place else [_ORIGINAL])
        self._has_begun = bool(known)
        self._naming = next(iter(known), _ORIGINAL)
        return known

    async def post(self, shown: OutgoingMessage) -> str:
        """Write a new message: as a response, or in the other place."""
        await self._open.wait()
        if not self._expired:
            try:
                return await self._respond(shown)
            except InteractionOver:
                self._end()
            except ChannelBusy:
                raise
            except ChannelError:
                if not shown.plain:
                    raise
        return await super().post(shown)

    async def edit(self, handle: str, shown: OutgoingMessage) -> str | None:
        """Replace a message; after the interaction's time like any other message of the bot's."""
        if "/" in handle:
            return await super().edit(handle, shown)
        drawn = self._draw(shown, handle)
        if drawn == self._drawn.get(handle):
            return None
        if not self._expired:
            try:
                written = await self._edit_response(handle, drawn)
            except InteractionOver:
                self._end()
            else:
                self._drawn[written] = drawn
                return written
        if not (there := self._beyond(handle)):
            raise MessageLost("its interaction is over")
        await super().edit(there, shown)
        return there

    async def remove(self, handle: str) -> None:
        """Delete a message, if it can still be reached."""
        if "/" not in handle and not self._expired:
            await self._delete(handle)
        elif there := self._beyond(handle):
            await super().remove(there)

    async def hush(self) -> None:
        """Remove the sign that the bot is thinking; a message answered in place never had one."""
        if not self._ticket.in_place:
            await self._delete(_ORIGINAL)

    async def take_buttons(self) -> None:
        """Take away what can be pressed below the message whose button was pressed, which stays."""
        webhook = self._webhook

        async def request() -> None:
            await webhook.edit_message(_message_id(_ORIGINAL), view=None)

        with suppress(MessageLost, InteractionOver):
            await self._api.perform(f"PATCH {self._path}/messages/*", request)

    def _end(self) -> None:
        """Go on in the other place.

        Raises:
            ChannelBusy: not yet; another worker, which took the interaction in, may be about to acknowledge it.
        """
        age_s = self._clock.now().timestamp() - (self._ticket.ends_s - _LIFE.total_seconds())
        if self._is_taken_over and age_s < _ACKNOWLEDGED_WITHIN_S:
            raise ChannelBusy(_ACKNOWLEDGED_SOON_S)
        self._ends_s = 0.0

    @property
    def _expired(self) -> bool:
        return self._clock.now().timestamp() >= self._ends_s

    @property
    def _path(self) -> str:
        return f"/webhooks/{self._ticket.application}/{self._ticket.token}"

    def _beyond(self, handle: str) -> str:
        """Return the handle by which a message can be changed without the interaction, or ""."""
        if "/" in handle:
            return handle
        return f"{self._ticket.channel}/{handle}" if self._ticket.channel and handle != _ORIGINAL else ""

    def _draw(self, shown: OutgoingMessage, handle: str) -> Drawn:
        named = shown.mention is None and handle == self._naming
        drawn = self._renderer.draw(replace(shown, mention=self._names) if named else shown)
        return drawn.again if shown.again else drawn

    @property
    def _webhook(self) -> discord.Webhook:
        return self._api.webhook(self._ticket.application, self._ticket.token)

    async def _respond(self, shown: OutgoingMessage) -> str:
        beside = self._ticket.beside or bool(shown.files)  # no file takes the place of a text
        fresh = self._has_begun or (self._ticket.in_place and beside)
        drawn = self._draw(shown, "" if fresh else _ORIGINAL)
        if fresh and self._repeats:
            drawn = drawn.again
        handle = await (self._follow_up(drawn, silent=shown.silent) if fresh else self._edit_response(_ORIGINAL, drawn))
        self._naming = self._naming if fresh else handle
        self._has_begun = True
        self._drawn[handle] = drawn
        return handle

    async def _edit_response(self, handle: str, drawn: Drawn) -> str:
        webhook, message_id = self._webhook, _message_id(handle)

        async def request() -> discord.WebhookMessage:
            options = edit_options(drawn, self._drawn.get(handle))
            if drawn.files and "content" in options:
                options["attachments"] = uploads(drawn.files)
            return await webhook.edit_message(message_id, **options)

        return str((await self._api.perform(f"PATCH {self._path}/messages/*", request, time_for(drawn))).id)

    async def _follow_up(self, drawn: Drawn, *, silent: bool) -> str:
        webhook = self._webhook

        async def request() -> discord.WebhookMessage:
            options = {name: value for name, value in edit_options(drawn).items() if value}
            if drawn.files:
                options["files"] = uploads(drawn.files)
            return await webhook.send(wait=True, ephemeral=self._ticket.hidden, silent=silent, **options)

        try:
            message = await self._api.perform(f"POST {self._path}", request, time_for(drawn), doubles=True)
        except ChannelUnclear:
            self._repeats = True
            raise
        self._repeats = False
        return str(sent(message).id)

    async def _delete(self, handle: str) -> None:
        webhook, message_id = self._webhook, _message_id(handle)
        with suppress(MessageLost, InteractionOver):
            await self._api.perform(f"DELETE {self._path}/messages/*", lambda: webhook.delete_message(message_id))


def _message_id(handle: str) -> Any:
    """Return the id as the library takes it; the name of the deferred response stays as it is."""
    return handle if handle == _ORIGINAL else int(handle)
