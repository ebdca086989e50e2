"""What every platform does while it runs: connect, keep to limits, pass messages on, stop, drain."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Generic, Protocol, TypeAlias, TypeVar

from core.enclosures import AttachmentKind
from core.errors import ChannelError, ClaimLost, ConfigError, FileTooLarge
from core.outgoing import File, OutgoingMessage, Suggestion
from core.ports import Channel, Channels, Clock, MessageHandler
from core.text.catalogue import text
from core.text.markdown import verbatim
from core.text.unicode import one_line
from core.types import ChatKey, Incoming, Invitation, Localized, MemoryItem
from core.workers.port import Worker, check_claim

if TYPE_CHECKING:
    from aiohttp import web

_ROUNDING = 1e-9  # of a refill

_Key = TypeVar("_Key")


@dataclass(slots=True)
class Bucket:
    """Tokens that writes take: `burst` at most, `refill_per_s` more each second. Below 0 they are a debt."""

    burst: float
    refill_per_s: float
    at_s: float
    tokens: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin full."""
        self.tokens = self.burst

    def refill(self, now_s: float) -> None:
        """Add what was earned since the last refill."""
        self.tokens = min(self.tokens + (now_s - self.at_s) * self.refill_per_s, self.burst)
        self.at_s = now_s

    def wait_s(self, reserve: float = 0.0) -> float:
        """Return the seconds from the last refill until a token can be taken that leaves `reserve` behind.

        Of a bucket that holds less than both, all but the one token is left behind.
        """
        missing = 1.0 + min(reserve, self.burst - 1.0) - self.tokens
        return missing / self.refill_per_s if missing > _ROUNDING else 0.0

    def take(self) -> None:
        """Take a token, be it there or not."""
        self.tokens -= 1.0


SHARE_S = 1.0
"""After so long a share may be another one: nobody waits for longer by the present one."""


class SharedBucket(Bucket):
    """This worker's share of a limit that holds for all workers of the bot together (`Worker.share`).

    In any second all of them together write `burst` and `refill_per_s` at most, as one alone would. A bucket holds one
    token at least, so of a share that is smaller the rate pays for it: from some 15 workers on, which write in the same
    instant by chance, it is true of the mean.
    """

    def __init__(self, limit: str, worker: Worker, burst: float, refill_per_s: float, at_s: float) -> None:
        super().__init__(burst, refill_per_s, at_s)
        self._taken = 0
        self._limit = limit
        self._worker = worker
        self._whole_burst, self._whole_per_s = burst, refill_per_s

    def refill(self, now_s: float) -> None:
        """Add what was earned since the last refill, at the present share."""
        share = self._worker.share(self._limit)
        self.burst = max(share * self._whole_burst, 1.0)
        of_a_second = share * (self._whole_burst + self._whole_per_s)
        self.refill_per_s = max(of_a_second - self.burst, share * self._whole_per_s / 2)
        super().refill(now_s)

    def take(self) -> None:
        """Take a token, and tell of it: shares follow what is used."""
        super().take()
        self._taken += 1
        self._worker.used(self._limit)

    async def take_in_turn(self, clock: Clock) -> None:
        """Take a token, and return when it is there, after those that were taken before.

        How long that is changes with the share: a worker that has just joined has next to nothing for some seconds.

        Raises:
            ClaimLost: another worker may write there by now.
        """
        self.take()
        number = self._taken
        while (debt := -self.tokens - (self._taken - number)) > _ROUNDING:
            await clock.sleep(min(debt / self.refill_per_s, SHARE_S))
            self.refill(clock.monotonic())
            check_claim()


_MOST_LATELY = 1024


class Lately(Generic[_Key]):
    """Keys of which something was so lately, each for `for_s` seconds; once there are too many, all are forgotten."""

    def __init__(self, now_s: Callable[[], float], for_s: float) -> None:
        self._now_s = now_s
        self._for_s = for_s
        self._until_s: dict[_Key, float] = {}

    def __contains__(self, key: _Key) -> bool:
        """Whether it was so of that key lately."""
        return self._until_s.get(key, -math.inf) > self._now_s()

    def note(self, key: _Key, for_s: float | None = None) -> None:
        """Note that it is so of that key, for so many seconds if it is not for as many as usual."""
        if len(self._until_s) >= _MOST_LATELY:
            self._until_s.clear()
        self._until_s[key] = self._now_s() + (self._for_s if for_s is None else for_s)

    def forget(self, key: _Key) -> None:
        """Forget that it was so of that key."""
        self._until_s.pop(key, None)


REFUSED_S = 600.0
"""For so long a chat that has refused something is not asked for it again."""


class Backoff:
    """Pauses between attempts: `first_s`, then each twice the one before, `longest_s` at most."""

    def __init__(self, first_s: float = 1.0, longest_s: float = 30.0) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._next_s = first_s

    def next_s(self) -> float:
        """Return the pause before the next attempt, in seconds."""
        pause_s, self._next_s = self._next_s, min(self._next_s * 2, self._longest_s)
        return pause_s

    def reset(self) -> None:
        """Begin anew, after an attempt that succeeded."""
        self._next_s = self._first_s


AGAIN = "↻"
"""Marks what may be there twice: a post that was not confirmed, an answer that a restart interrupted."""


def handle_for(platform: str, name: str) -> str:
    """Return the handle of a file (`Attachment.handle`) that goes by that name on a platform; "" for no name."""
    return f"{platform}:{name}" if name else ""


def named_on(platform: str, handle: str) -> str:
    """Return the name by which a handle's file goes on that platform; "" if it is another platform's."""
    return handle.removeprefix(f"{platform}:") if handle.startswith(f"{platform}:") else ""


def content_of(file: File, max_bytes: int) -> bytes:
    """Return what is in a file to send.

    Raises:
        ChannelError: it is larger than what the platform takes, or cannot be read.
    """
    try:
        size = len(file.content or b"") if file.path is None else file.path.stat().st_size
        if size > max_bytes:
            limit_mb, size_mb = max_bytes / _MEGABYTE, size / _MEGABYTE
            raise ChannelError(f"a file of {size_mb:.1f} MB; the platform takes {limit_mb:.3g} MB from a bot")
        return file.content or b"" if file.path is None else file.path.read_bytes()
    except OSError as error:
        raise ChannelError(f"the file to send cannot be read ({error.strerror})") from None


def spelled_out(shown: OutgoingMessage) -> OutgoingMessage:
    """Return a message for a platform without map pins and cards of contacts: as words, and as a file."""
    places = [file for file in shown.files if file.kind is AttachmentKind.LOCATION]
    said = filter(None, (shown.text, *map(_pin, places)))
    files = tuple(_card(file) for file in shown.files if file not in places)
    return replace(shown, text="\n".join(said), files=files) if shown.files else shown


def _pin(place: File) -> str:
    """Return a place in words, with where a map of it is."""
    latitude, _, longitude = place.detail.partition(",")
    url = f"https://www.openstreetmap.org/?mlat={latitude}&mlon={longitude}#map=17/{latitude}/{longitude}"
    return f"📍 {' '.join(filter(None, (verbatim(place.name), url)))}"


_MEGABYTE = 1_000_000


def _card(file: File) -> File:
    """Return a contact as a file that address books read; any other file as it is."""
    if file.kind is not AttachmentKind.CONTACT:
        return file
    return File(None, f"{file.name or 'contact'}.vcf", "text/vcard", content=file.detail.encode())


_MAX_NAME_CHARS = 64
_AROUND_MENTION = " \t\n,;:-–—"


def display_name(name: str) -> str:
    """Return a person's or room's name on one line, at most 64 characters."""
    return one_line(name, _MAX_NAME_CHARS)


def without_mention(said: str, mention: str) -> str:
    """Return the text without a mention of the bot that only calls it: at the start or at the end."""
    stripped = said.strip(_AROUND_MENTION)
    if stripped.startswith(mention):
        return stripped.removeprefix(mention).lstrip(_AROUND_MENTION)
    if stripped.endswith(mention):
        return stripped.removesuffix(mention).rstrip(_AROUND_MENTION)
    return said


NOT_YOURS = text("adapters.not_yours")


class Connected(Protocol):
    """Called with True when a platform can be reached, with False when it cannot; repeats are allowed.

    `why` says what is in the way, if that is known, in a sentence for the owner.
    """

    def __call__(self, is_connected: bool, why: str = "", /) -> None:
        """Take the report."""
        ...


Hindered: TypeAlias = Callable[[Localized | None], None]
"""Called with what has kept people's messages away for a minute, if only the owner can end it: what happened, and what
to do; with None once that is over. Repeats are allowed."""


Wrote: TypeAlias = Callable[[int], None]
"""Called for each request that writes, with the HTTP status of its answer; 0 if there was none."""


def ignored(*_: object) -> None:
    """Take a report, and do nothing."""


_LOG = logging.getLogger(__name__)

_Done = TypeVar("_Done")


async def until(stop: asyncio.Event, *work: Coroutine[Any, Any, _Done]) -> _Done | None:
    """Run the work until the first of it ends, and return its result; cancel it and return None when `stop` is set."""
    doing = [asyncio.create_task(one) for one in work]
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({*doing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        results = [await task for task in doing if task.done()]
        return results[0] if results else None
    finally:
        for task in (*doing, stopping):
            task.cancel()
        await asyncio.gather(*doing, stopping, return_exceptions=True)


async def keep_trying(
    attempt: Callable[[], Awaitable[_Done]],
    clock: Clock,
    failure: str,
    *retried: type[Exception],
    backoff: Backoff | None = None,
) -> _Done:
    """Repeat the attempt after the failures that are `retried`, each logged as `failure`; return its result.

    A bot that starts before its network is no failure.
    """
    backoff = backoff or Backoff()
    while True:
        try:
            return await attempt()
        except ConfigError:
            raise
        except retried as error:
            _LOG.warning(failure, extra={"error": type(error).__name__})
            await clock.sleep(backoff.next_s())


def understood(kept: str | None, read: Callable[[Any], _Done], nothing: _Done) -> _Done:
    """Return what `read` makes of a JSON text that was kept; `nothing` for none, or for one that is damaged."""
    if kept is None:
        return nothing
    try:
        return read(json.loads(kept))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        _LOG.warning("what was kept is damaged", extra={"error": type(error).__name__})
        return nothing


class Session:
    """One platform's messages between arrival and answer. Messages older than `max_age_s` count as stale."""

    def __init__(self, platform: str, handler: MessageHandler, clock: Clock, max_age_s: float) -> None:
        self._platform = platform
        self._handler = handler
        self._clock = clock
        self._max_age = timedelta(seconds=max_age_s)
        self._open: set[asyncio.Future[Any]] = set()

    async def resume(self, channels: Channels) -> None:
        """Connect the platform's channels, and queue what was accepted before the last stop and never answered."""
        await self._handler.resume(self._platform, channels)

    def aged(self, incoming: Incoming) -> Incoming:
        """Return the message, marked as stale if it is too old to be answered."""
        return replace(incoming, stale=True) if self.is_old(incoming.at) else incoming

    def is_old(self, at: datetime) -> bool:
        """Return whether a message of that time is too old to be answered, and an edit of it to be looked at."""
        return self._clock.now() - at > self._max_age

    async def withdraw(self, chat: ChatKey, message_ids: Collection[str]) -> None:
        """Pass on which messages of a chat were deleted, or are not meant for the bot any more."""
        await self._handler.withdraw(chat, message_ids)

    async def receive(self, incoming: Incoming, channel: Channel) -> asyncio.Future[bool]:
        """Pass a message on; it is on disk when this returns.

        The future ends when it was answered, or, with False, when it is known that another worker does that.

        Raises:
            StorageDown: it was not stored.
        """
        return self.keep(_here(await self._handler.receive(incoming, channel)))

    async def invited(self, invitation: Invitation, channel: Channel) -> None:
        """Pass on that the bot was brought into a room."""
        await self._handler.invited(invitation, channel)

    async def complete(self, incoming: Incoming, option: str) -> Sequence[Suggestion]:
        """Return what a field of a command offers while a person fills it in."""
        return await self._handler.complete(incoming, option)

    async def find(self, incoming: Incoming, limit: int) -> Sequence[MemoryItem]:
        """Return the sender's memories that the text finds."""
        return await self._handler.find(incoming, limit)

    def keep(self, work: Awaitable[_Done]) -> asyncio.Future[_Done]:
        """Run the work, so that `drain` waits for it."""
        task = asyncio.ensure_future(work)
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        return task

    async def drain(self, limit_s: float) -> None:
        """Wait until everything is answered, `limit_s` at most, then disconnect; the rest is answered after a restart.

        Nothing is written to the platform after this.
        """
        timer = asyncio.create_task(self._clock.sleep(limit_s))
        self.keep(self._handler.drain(self._platform))
        try:
            while self._open and not timer.done():
                await asyncio.wait({timer, *self._open}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (timer, *self._open):
                task.cancel()
        await self._handler.leave(self._platform)


async def _here(answered: Awaitable[None]) -> bool:
    """Wait for an answer; return whether this worker gave it."""
    try:
        await answered
    except ClaimLost:
        return False
    return True


# --- files and requests over HTTP ---

_TIMEOUT_S: Final = 60.0
_CHUNK_BYTES: Final = 1 << 16
_OK: Final = 200


class NotHandedOut(ChannelError):
    """The server answered with another status than that the file follows."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the file cannot be fetched: status {status}")
        self.status = status


async def download(address: str, max_bytes: int, into: BinaryIO) -> None:
    """Write into a file what lies at an address, a piece at a time. No error tells the address, which may hold a token.

    Raises:
        FileTooLarge: it is larger than that; a part of it may be written.
        NotHandedOut: the server refuses it.
        ChannelError: it cannot be fetched.
    """
    import aiohttp

    try:
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
            session.get(address, allow_redirects=False) as response,
        ):
            if response.status != _OK:
                raise NotHandedOut(response.status)
            left = max_bytes
            async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
                left -= len(chunk)
                if left < 0 or (response.content_length or 0) > max_bytes:
                    raise FileTooLarge(f"more than {max_bytes} bytes", max_bytes)
                into.write(chunk)
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        raise ChannelError(f"the file cannot be fetched: {type(error).__name__}") from None


_PATIENCE_S: Final = 5.0


@asynccontextmanager
async def listening(
    app: web.Application, host: str, port: int, *, setting: str, tls: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """Answer requests at that address while the context is entered; leaving it waits 5 s for those under way.

    Raises:
        ConfigError: it cannot be listened on; `setting` is what named the port.
    """
    from aiohttp import web  # only who listens loads a web server

    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_PATIENCE_S)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port, ssl_context=tls).start()
        except OSError as error:
            raise ConfigError(setting, f"cannot listen on {host}:{port} ({error.strerror}); choose another") from None
        yield
    finally:
        await runner.cleanup()
