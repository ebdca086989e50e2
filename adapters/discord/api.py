"""Discord's REST as we use it: each call within its budget, each failure one of `core.errors`.

Nothing is tried again here: the caller holds the newest text and decides about that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO, Final, Literal, TypeVar

import aiohttp
import discord
import yarl  # aiohttp's own

from adapters.discord.button import ids_of, view_of
from adapters.discord.markup import Drawn
from adapters.discord.pacer import GROWING, WHOLE, Pacer
from adapters.discord.room import PLATFORM, Room, ids_in, room_of
from adapters.running import REFUSED_S, Lately, NotHandedOut, content_of, download, named_on
from core.errors import (
    BotError,
    ChannelBusy,
    ChannelDown,
    ChannelError,
    ChannelForbidden,
    ChannelGone,
    ChannelUnclear,
    MessageLost,
)
from core.outgoing import File
from core.ports import Clock

_LOG = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")

_TIMEOUT_S = 20.0
_READ_TIMEOUT_S = 3.0  # of what an answer waits for
_FILE_TIMEOUT_S = 300.0  # 10 MiB over a slow line
_ARCHIVE_AFTER_MIN: Literal[1440] = 1440
TYPING_S = 8.0
"""After this time it is shown again that the bot is typing; it fades after 10 s.

Source: discord.com/developers/docs/resources/channel#trigger-typing-indicator.
"""
_FIRST_CLIENT_S = 1.0
_BUSY_RESOURCE = 40062
_BUSY_RESOURCE_S = 5.0
_GONE = frozenset({10003, 50001, 50007, 50278})  # unknown channel, no access, nobody who takes direct messages from us
_UNKNOWN_MESSAGE = 10008
_OVER = frozenset({10015, 10062, 40094, 50027})  # not acknowledged in time (twice), five follow-ups, 15 minutes
_NO_HISTORY_TO_REPLY_IN = 160002
_HAS_A_THREAD = 160004
_ACKNOWLEDGED = 40060
_UNAUTHORIZED, _FORBIDDEN = 401, 403
_OF_INTERACTIONS = tuple(f"{method} /webhooks" for method in ("POST", "PATCH", "DELETE"))


class InteractionOver(ChannelError):
    """The interaction takes no more answers: its time or its follow-ups are used up, or its token is invalid."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A message as it stands in Discord, which is not what was sent if the nonce was known there already."""

    id: int
    content: str
    embed: str
    buttons: tuple[str, ...] = ()

    def shows(self, drawn: Drawn) -> bool:
        """Whether it has that text and those buttons."""
        view = view_of(drawn)
        buttons = ids_of([view]) if view else ()
        return (self.content, self.embed, self.buttons) == (drawn.content, drawn.embed, buttons)


class DiscordApi:
    """Writes through the client that is connected. Raises ChannelError only."""

    def __init__(self, pacer: Pacer, clock: Clock, *, waiting_reaction: str = "", edit_interval_s: float = 0.0) -> None:
        self._client: discord.Client | None = None
        now_s = clock.monotonic
        self.threadless = Lately[int](now_s, REFUSED_S)  # channels where no thread can be opened
        self._markless = Lately[int](now_s, REFUSED_S)  # and where no message can be marked
        self._typeless = Lately[int](now_s, REFUSED_S)  # and where it cannot be shown that the bot is typing
        self._typed = Lately[int](now_s, TYPING_S)  # and where it was shown
        self._waiting_reaction = waiting_reaction
        self.edit_interval_s = edit_interval_s
        """The least time between two edits of an answer that grows."""
        self._pacer = pacer
        self._clock = clock

    @property
    def client(self) -> discord.Client:
        """The client that is connected now, or was last.

        Raises:
            ChannelBusy: none was connected yet.
        """
        if self._client is None:
            raise ChannelBusy(_FIRST_CLIENT_S)
        return self._client

    def use(self, client: discord.Client) -> None:
        """Write through that client from now on."""
        self._client = client

    @property
    def user(self) -> discord.ClientUser | None:
        """The bot's own account; None before it is connected."""
        return None if self._client is None else self._client.user

    @property
    def reads_all(self) -> bool:
        """Whether Discord hands out what people say to each other; True before it is connected."""
        return self._client is None or self._client.intents.message_content

    def known_room(self, channel_id: int, me: int) -> Room | None:
        """Return the room as the library knows it; None if it does not, or before the client is connected."""
        channel = self._client.get_channel(channel_id) if self._client is not None else None
        return None if channel is None else room_of(channel, me)

    async def send(
        self,
        channel_id: int,
        drawn: Drawn,
        *,
        nonce: str,
        reply_to: int | None = None,
        notify: bool = False,
        silent: bool = False,
        leaves: int = WHOLE,
    ) -> Sent:
        """Write a new message, or find the one that this nonce wrote in the last minutes.

        With `notify`, whoever wrote the message that it replies to is notified; of a `silent` one nobody is.

        Source: discord.com/developers/docs/resources/message#create-message, `enforce_nonce`.
        """
        channel = self.client.get_partial_messageable(channel_id)

        async def request(reply_to: int | None) -> Sent:
            options = _options(drawn)
            if reply_to is not None:  # a message to reply to that is gone is no hindrance
                options["reference"] = discord.MessageReference(
                    message_id=reply_to, channel_id=channel_id, fail_if_not_exists=False
                )
                if notify:
                    options["mention_author"] = True
            self._typed.forget(channel_id)  # a new message ends that sign
            return sent(await channel.send(nonce=nonce, suppress_embeds=not drawn.embed, silent=silent, **options))

        name, timeout_s = f"POST /channels/{channel_id}/messages", time_for(drawn)
        try:
            return await self.perform(name, lambda: request(reply_to), timeout_s, leaves=leaves)
        except _CannotReply:
            return await self.perform(name, lambda: request(None), timeout_s, leaves=leaves)

    async def edit(
        self, channel_id: int, message_id: int, drawn: Drawn, before: Drawn | None = None, *, leaves: int = WHOLE
    ) -> None:
        """Replace a message, or of one that was as `before` only what is below its text, if that stands.

        Raises:
            MessageLost: it was deleted.
        """
        client = self.client

        async def request() -> None:
            # The library's own verb cannot give an embed back to a message that was sent without previews.
            options = edit_options(drawn, before)
            if "content" in options:
                options["flags"] = discord.MessageFlags(suppress_embeds=not drawn.embed)
            with discord.http.handle_message_parameters(
                **options,
                previous_allowed_mentions=client.allowed_mentions,
            ) as params:
                await client.http.edit_message(channel_id, message_id, params=params)

        await self.perform(f"PATCH /channels/{channel_id}/messages/*", request, leaves=leaves)

    async def typing(self, channel_id: int) -> None:
        """Show that the bot is at work, for 10 s; for several answers in one channel only once.

        Raises:
            ChannelError: it was not done.
        """
        if channel_id in self._typeless or channel_id in self._typed:
            return
        self._typed.note(channel_id)

        async def show() -> None:
            await self.client.get_partial_messageable(channel_id).typing()

        name = f"POST /channels/{channel_id}/typing"
        try:
            await self.perform(name, show, leaves=GROWING)
        except ChannelBusy:
            self._typed.forget(channel_id)
            raise
        except ChannelError:  # the bot lacks the right, and refusals count towards a ban
            self._typeless.note(channel_id)
            raise

    async def mark_seen(self, channel_id: int, message_id: int, *, waits: bool = True) -> None:
        """React to a message that `waits`, or take that back, unless it was refused in this channel before.

        Raises:
            ChannelError: it was not done.
        """
        if not self._waiting_reaction:
            return

        async def request() -> None:
            if channel_id not in self._markless:  # still: others may have been before this one
                message = self._partial(channel_id, message_id)
                if waits:
                    await message.add_reaction(self._waiting_reaction)
                elif (me := self.client.user) is not None:  # None before the login
                    await message.remove_reaction(self._waiting_reaction, me)

        verb = "PUT" if waits else "DELETE"
        name = f"{verb} /channels/{channel_id}/messages/*/reactions/{self._waiting_reaction}/@me"
        try:
            await self.perform(name, request)
        except (ChannelBusy, MessageLost):
            raise
        except ChannelError:  # the bot lacks the right, and refusals count towards a ban
            if waits:
                self._markless.note(channel_id)
            raise

    async def remove(self, channel_id: int, message_id: int) -> None:
        """Delete a message; do nothing if it is gone."""
        delete = self._partial(channel_id, message_id).delete
        with suppress(MessageLost):
            await self.perform(f"DELETE /channels/{channel_id}/messages/*", delete)

    def webhook(self, application_id: int, token: str) -> discord.Webhook:
        """Return the webhook that answers an interaction, also one of an earlier process."""
        data: Any = {"id": application_id, "type": discord.WebhookType.application.value, "token": token}
        return discord.Webhook.from_state(data, self.client._connection)  # noqa: SLF001 - as the library does itself

    async def open_thread(self, channel_id: int, message_id: int, name: str) -> None:
        """Start a thread on a message, unless it has one. The thread's id is the message's.

        Raises:
            ChannelError: not in that channel, now or later.
        """
        start = self.client.http.start_thread_with_message
        try:
            await self.perform(
                f"POST /channels/{channel_id}/messages/*/threads",
                lambda: start(channel_id, message_id, name=name, auto_archive_duration=_ARCHIVE_AFTER_MIN),
            )
        except _HasAThread:
            return
        except ChannelBusy:
            raise
        except ChannelError:
            self.threadless.note(channel_id)
            raise

    async def open_direct(self, user_id: int) -> int:
        """Return the channel of a person's direct messages."""
        person = discord.Object(user_id)
        return (await self.perform("POST /users/@me/channels", lambda: self.client.create_dm(person))).id

    async def acknowledge(self, interaction: discord.Interaction[Any], *, hidden: bool, in_place: bool = False) -> None:
        """Tell Discord that an answer will come; the person sees that the bot is thinking.

        An answer `in_place` takes the place of the message whose button was pressed, without that sign.
        """
        defer = interaction.response.defer
        try:
            await self.perform("POST /interactions", lambda: defer(ephemeral=hidden, thinking=not in_place))
        except _Acknowledged:  # by ourselves, and the confirmation got lost
            return

    async def show_form(self, interaction: discord.Interaction[Any], modal: discord.ui.Modal) -> None:
        """Answer a press with a form."""
        send = interaction.response.send_modal
        await self.perform("POST /interactions", lambda: send(modal))

    async def fetch(self, handle: str, max_bytes: int, into: BinaryIO) -> None:
        """Write what came with a message into a file: from Discord's hosts, or from the API's.

        Where its address has expired, the message is asked for a new one.

        Raises:
            FileTooLarge: it is larger than that.
            ChannelError: it cannot be fetched (any more).
        """
        address = named_on(PLATFORM, handle)
        hosts = (str(yarl.URL(discord.http.Route.BASE).origin()),)
        try:
            await fetched(address, max_bytes, into, also_from=hosts)
        except Expired:
            if not (found := message_in(address)):
                raise
            address = renewed(address, await self.message(*ids_in(found)))
            await fetched(address, max_bytes, into, also_from=hosts)

    async def history(self, room: Room, before: int | None, limit: int) -> list[discord.Message]:
        """Return the last messages of a room, the newest first; those before that id, if there is one."""

        async def request() -> list[discord.Message]:
            channel = self.client.get_partial_messageable(room.id, guild_id=room.guild or None)
            pages = channel.history(limit=limit, before=discord.Object(before) if before else None)
            return [message async for message in pages]

        return await self.insist(f"GET /channels/{room.id}/messages", request)

    async def before(self, channel_id: int, message_id: int, limit: int) -> list[discord.Message]:
        """Return the messages before that one (0: the newest), the oldest first; a page holds 100.

        Raises:
            ChannelError: they cannot be read now.
        """

        async def request() -> list[discord.Message]:
            channel = self.client.get_partial_messageable(channel_id)
            before = discord.Object(message_id) if message_id else None
            return [message async for message in channel.history(limit=limit, before=before)]

        found = await self.perform(f"GET /channels/{channel_id}/messages", request, _READ_TIMEOUT_S)
        return found[::-1]

    async def message(self, channel_id: int, message_id: int) -> discord.Message:
        """Return a message.

        Raises:
            ChannelError: it is gone, or cannot be read now.
        """
        channel = self.client.get_partial_messageable(channel_id)
        name = f"GET /channels/{channel_id}/messages/*"
        return await self.perform(name, lambda: channel.fetch_message(message_id), _READ_TIMEOUT_S)

    async def may_manage(self, server_id: int, user_id: int) -> bool:
        """Return whether a person may manage a server now.

        Raises:
            ChannelError: it cannot be read now, or they are not there.
        """

        async def request() -> bool:
            known = self.client.get_guild(server_id)  # with its roles; none where another worker is connected
            server = known or await self.client.fetch_guild(server_id, with_counts=False)
            return (await server.fetch_member(user_id)).guild_permissions.manage_guild

        return await self.perform(f"GET /guilds/{server_id}/members/*", request, _READ_TIMEOUT_S)

    async def perform(
        self,
        name: str,
        request: Callable[[], Awaitable[_Answer]],
        timeout_s: float = _TIMEOUT_S,
        *,
        leaves: int = WHOLE,
        doubles: bool = False,
    ) -> _Answer:
        """Make a request of that budget, which `leaves` so many to others; repeated, what `doubles` is there twice.

        Raises:
            ChannelUnclear: one that doubles may have been done.
            ChannelError: it failed.
        """
        async with self._pacer.turn(name):
            await self._pacer.admit(name, leaves)
            try:
                return await self._made(name, request, timeout_s)
            except (ChannelDown, _Cut) as error:
                if not doubles:
                    raise
                raise ChannelUnclear("no answer", error.retry_after_s) from None

    def _partial(self, channel_id: int, message_id: int) -> discord.PartialMessage:
        return self.client.get_partial_messageable(channel_id).get_partial_message(message_id)

    async def _made(self, name: str, request: Callable[[], Awaitable[_Answer]], timeout_s: float) -> _Answer:
        try:
            async with asyncio.timeout(timeout_s):
                return await request()
        except BotError:
            raise
        except discord.RateLimited as error:
            raise ChannelBusy(error.retry_after) from None
        except discord.HTTPException as error:
            if error.status == _UNAUTHORIZED and not name.startswith(("POST /interactions", *_OF_INTERACTIONS)):
                await self.client.close()  # the next login tells whether the token was revoked
                raise ChannelBusy(_TIMEOUT_S) from None
            raise _ours(error) from None
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            _LOG.warning("discord cannot be reached", extra={"error": type(error).__name__})
            wait = self._pacer.failed()
            raise (wait if isinstance(error, aiohttp.ClientConnectorError) else _Cut(wait.retry_after_s)) from None
        except Exception as error:  # noqa: BLE001  (whatever the library makes of an answer)
            if self.client.is_closed():  # the library's session was closed under us: another one is being opened
                raise self._pacer.failed() from None
            _LOG.exception("discord gave no clear answer", extra={"error": type(error).__name__})
            raise ChannelUnclear(type(error).__name__) from None

    async def insist(self, name: str, request: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Repeat a request until Discord takes it; for content that does not grow stale.

        Raises:
            ChannelError: it is refused for good.
        """
        while True:
            try:
                return await self.perform(name, request)
            except ChannelBusy as busy:
                await self._clock.sleep(busy.retry_after_s)


def sent(message: discord.Message) -> Sent:
    """Return the parts of a message of the library's that are compared."""
    embed = (message.embeds[0].description or "") if message.embeds else ""
    return Sent(message.id, message.content, embed, ids_of(message.components))


def time_for(drawn: Drawn) -> float:
    """Return how long a request that sends it may take, in seconds."""
    return _FILE_TIMEOUT_S if drawn.files else _TIMEOUT_S


def _options(drawn: Drawn) -> dict[str, Any]:
    """Return the arguments of a new message; the library's type cannot say that each may be missing."""
    options: dict[str, Any] = {
        "content": drawn.content or None, "embeds": drawn.embeds, "allowed_mentions": drawn.allowed_mentions
    }  # fmt: skip
    view = view_of(drawn)
    return options | ({"view": view} if view else {}) | ({"files": uploads(drawn.files)} if drawn.files else {})


def edit_options(drawn: Drawn, before: Drawn | None = None) -> dict[str, Any]:
    """Return the arguments of an edit, all of them, so that nothing of the old message stays.

    Where a message that was as `before` has the same text, it is not sent again.
    """
    if before is not None and drawn.says(before):
        return {"view": view_of(drawn)}
    return {
        "content": drawn.content or None, "embeds": drawn.embeds, "view": view_of(drawn),
        "allowed_mentions": drawn.allowed_mentions,
    }  # fmt: skip


class _Cut(ChannelBusy):
    """The connection broke off: the request may have been taken."""


class _CannotReply(ChannelError):
    """The bot may write but not reply there."""


class _Acknowledged(ChannelError):
    """The interaction was acknowledged already."""


class _HasAThread(ChannelError):
    """Somebody opened the thread already."""


def _ours(error: discord.HTTPException) -> ChannelError:
    """Return the failure as one of `core.errors`. The library's own message would quote what was sent."""
    special = {
        _UNKNOWN_MESSAGE: MessageLost,
        _NO_HISTORY_TO_REPLY_IN: _CannotReply,
        _HAS_A_THREAD: _HasAThread,
        _ACKNOWLEDGED: _Acknowledged,
        **dict.fromkeys(_OVER, InteractionOver),
    }.get(error.code)
    said = f"status {error.status}, code {error.code}"
    if special is not None:
        return special(said)
    _LOG.warning("discord refused a call", extra={"status": error.status, "code": error.code})
    if error.code == _BUSY_RESOURCE:
        return ChannelDown(_BUSY_RESOURCE_S)
    if error.status == _UNAUTHORIZED:
        return InteractionOver(said)
    if error.code in _GONE:
        return ChannelGone(said)
    return (ChannelForbidden if error.status == _FORBIDDEN else ChannelError)(said)


# --- files ---

MAX_FILE_BYTES: Final = 10 * 1024 * 1024
"""The limit, unless a server pays for more. Source: discord.com/developers/docs/reference#uploading-files."""

_HOSTS: Final = ("https://cdn.discordapp.com", "https://media.discordapp.net")
_EXPIRED: Final = (403, 404)


def uploads(files: Sequence[File]) -> list[discord.File]:
    """Open files to be attached; they are closed when they were sent.

    Raises:
        ChannelError: one is too large for Discord, or not there.
    """
    return [discord.File(BytesIO(content_of(file, MAX_FILE_BYTES)), filename=file.file_name) for file in files]


class Expired(ChannelError):
    """The address is not good any more."""


def with_message(address: str, message: str) -> str:
    """Return the address of a file together with the handle of the message that it came with, "" for none."""
    return f"{address}#{message}" if message else address


def message_in(address: str) -> str:
    """Return the handle of the message that `with_message` put into an address; "" for none."""
    return address.partition("#")[2]


def renewed(address: str, message: discord.Message) -> str:
    """Return the address of that file in a message that was just read, which has a new signature; "" if it is gone."""
    files = [*message.attachments, *(file for one in message.message_snapshots for file in one.attachments)]
    path = yarl.URL(address).path
    return next((file.url for file in files if yarl.URL(file.url).path == path), "")


async def fetched(address: str, max_bytes: int, into: BinaryIO, *, also_from: Collection[str] = ()) -> None:
    """Write an attachment into a file, from Discord's own hosts and the origins `also_from` only.

    Raises:
        FileTooLarge: it is larger than that.
        Expired: the address is not good any more.
        ChannelError: it cannot be fetched.
    """
    try:
        origin = str(yarl.URL(address).origin())
    except ValueError as error:
        raise ChannelError(f"the file cannot be fetched: {type(error).__name__}") from None
    if origin not in (*_HOSTS, *also_from):
        raise ChannelError("the file lies on a host that is not Discord's")
    try:
        await download(address, max_bytes, into)
    except NotHandedOut as error:
        if error.status in _EXPIRED:
            raise Expired(
                "the file's address has expired, as Discord's do after a day; it has to be sent again"
            ) from None
        raise
