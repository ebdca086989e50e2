"""Fallbacks for writes that a platform refuses for good: the same text plain and new, then in the asker's private chat.

What a platform raises besides SurfaceError counts as a refusal, too: no answer of a platform ends more than one write.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from core.errors import (
    ChannelBusy,
    ChannelDown,
    ChannelError,
    ChannelForbidden,
    ChannelGone,
    ChannelUnclear,
    Undelivered,
)
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel, Clock

_DOWN_S = 1800.0
"""A server that fails at one write for so long refuses it."""

_POST_TRIES, _EDIT_TRIES = 2, 5
"""How often an unclear write is tried: each repeat of a post may be another copy, of an edit none is."""

ELSEWHERE = "~"
"""What the handles begin with of messages that do not stand in the chat: they are aside, or not seen."""

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Aside:
    """The private chat of who asked, and the sentence that says there why the answer comes to it."""

    channel: Channel
    reason: str


FindAside: TypeAlias = Callable[[ChannelError], Awaitable[Aside | None]]
"""Return where else an answer may be said, given the refusal of the chat; None for nowhere."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a message stands, or, without a channel, whether it is `assumed` to be seen or known not to be.

    A `frozen` one cannot be changed any more.
    """

    channel: Channel | None = None
    handle: str = ""
    plain: bool = False
    assumed: bool = False
    frozen: bool = False


class FallbackChannel(Channel):
    """Writes each text whole into the first place that takes it. Text that may still change is worth no other place.

    A message that cannot be changed is written anew once its text is whole, and taken away. Raises SurfaceBusy;
    Undelivered, when every place refused; of a file whatever its channel raises: the caller says in words what it was.
    """

    def __init__(self, channel: Channel, clock: Clock, *, find_aside: FindAside | None, ended: str) -> None:
        """`ended` is the text that stands for nothing, where a message can be changed but not taken away."""
        self._chat = channel
        self._clock = clock
        self._find_aside = find_aside
        self._ended = ended
        self._refusal: ChannelError | None = None  # of the chat, once it took a whole text in no form
        self._aside: Aside | None = None
        self._introduced = False
        self._plain_only: OutgoingMessage | None = None
        self._places: dict[str, _Place] = {}
        self._trying: tuple[str, bool] = ("", False)
        self._unclear = 0
        self._down_since_s: float | None = None
        self.doubt: ChannelUnclear | None = None
        """Why a text is only assumed to be there, if one is."""

    @property
    def said_aside(self) -> bool:
        """Whether the chat refused a text, which was said in the private chat."""
        return self._introduced

    @property
    def refusal(self) -> ChannelError | None:
        """Why the chat took a whole text in no form, if it did."""
        return self._refusal

    @property
    def limits(self) -> ChannelLimits:
        """What one message holds there, and how often it may be edited."""
        return self._chat.limits

    def measure(self, text: str) -> int:
        """Return the length of the text as the channel shows it."""
        return self._chat.measure(text)

    async def show_waiting(self) -> None:
        """Show in the chat that the message was seen."""
        await self._chat.show_waiting()

    async def fetch(self, file: str, max_bytes: int) -> bytes:
        """Return what is in a file that came with the message."""
        return await self._chat.fetch(file, max_bytes)

    def adopt(self, handles: Sequence[str]) -> Sequence[str]:
        """Go on with what an earlier process posted in the chat."""
        known = self._chat.adopt(handles)
        self._places.update((handle, _Place(self._chat, handle)) for handle in known)
        return known

    async def post(self, shown: OutgoingMessage) -> str:
        """Write a new message into the first place that takes it."""
        return self._keep(await self._write(shown))

    async def edit(self, handle: str, shown: OutgoingMessage) -> str | None:
        """Replace a message in place, or, once the text is whole, by a new message, whose handle is returned."""
        if not handle:  # a preview: what is posted next takes its place
            return await self.post(shown)
        place = self._places[handle]
        if place.channel is not None and not place.frozen:
            role = await self._edited(handle, place, shown)
            if role is not None:
                return role
        if place.assumed or (not shown.stays and not self._is_shut_out):
            return None
        anew: str | None = None
        try:
            if shown.text != self._ended:
                anew = await self.post(shown)
        except ChannelBusy:
            raise
        except ChannelError:
            await self._take_away(place)
            raise
        await self._take_away(place)
        return anew

    async def remove(self, handle: str) -> None:
        """Take a message away, or at least what it says."""
        await self._take_away(self._places[handle])

    @property
    def _is_shut_out(self) -> bool:
        """Whether the chat takes nothing, and there is no other place."""
        return self._refusal is not None and self._aside is None and self._find_aside is None

    def _keep(self, place: _Place) -> str:
        """Return the handle of a message from now on."""
        handle = place.handle if place.channel is self._chat else f"{ELSEWHERE}{len(self._places)}"
        self._places[handle] = place
        return handle

    async def _edited(self, handle: str, place: _Place, shown: OutgoingMessage) -> str | None:
        """Edit a message and return the handle that it has now; None if it cannot be changed any more."""
        channel = place.channel or self._chat
        try:
            moved = await self._try(
                "edit", shown, lambda: channel.edit(place.handle, _plain(shown) if place.plain else shown)
            )
        except ChannelBusy:
            raise
        except ChannelError as error:
            _log.warning("an edit was refused", extra={"error": type(error).__name__})
            self._places[handle] = replace(place, frozen=True)
            if isinstance(error, ChannelGone):
                self._refusal = error
            return None
        return self._keep(replace(place, handle=moved)) if moved and moved != place.handle else handle

    async def _write(self, shown: OutgoingMessage) -> _Place:
        """Write a new message: in the chat, or aside if the chat takes none."""
        refusal = self._refusal
        if refusal is None:
            try:
                return await self._post_into(self._chat, shown)
            except ChannelBusy:
                raise
            except ChannelError as error:
                if shown.file is not None:
                    raise
                refusal = error
        if shown.stays or isinstance(refusal, ChannelGone):
            self._refusal = refusal
        if self._is_shut_out:
            raise Undelivered(refusal)
        return await self._write_aside(shown, refusal) if shown.stays else _Place()

    async def _write_aside(self, shown: OutgoingMessage, refusal: ChannelError) -> _Place:
        if self._aside is None and self._find_aside is not None:
            self._aside = await self._find_aside(refusal)
            self._find_aside = None
        if self._aside is None:
            raise Undelivered(refusal)
        try:
            if not self._introduced:
                await self._post_into(self._aside.channel, OutgoingMessage(self._aside.reason))
                self._introduced = True
            # The buttons are about the conversation that was asked in.
            place = await self._post_into(self._aside.channel, replace(shown, choices=(), menu=()))
        except ChannelBusy:
            raise
        except ChannelError:
            raise Undelivered(refusal) from None
        _log.warning("an answer was said in private instead", extra={"error": type(refusal).__name__})
        return place

    async def _post_into(self, channel: Channel, shown: OutgoingMessage) -> _Place:
        """Write a new message into that channel, and plain if it is refused in any other form."""
        try:
            if self._plain_only != shown:
                try:
                    return _Place(channel, await self._try("post", shown, lambda: channel.post(shown)))
                except (ChannelBusy, ChannelGone, ChannelUnclear):
                    raise
                except ChannelError as error:
                    if shown.file is not None or (isinstance(error, ChannelForbidden) and not shown.stays):
                        raise
                    _log.warning("a message was refused; sent as plain text", extra={"error": type(error).__name__})
                    self._plain_only = shown  # also if the plain one has to wait
            return _Place(channel, await self._try("plain", shown, lambda: channel.post(_plain(shown))), plain=True)
        except ChannelUnclear as error:
            _log.warning("a message was not confirmed, twice", extra={"error": type(error).__name__})
            self.doubt = error
            return _Place(assumed=shown.stays)

    async def _take_away(self, place: _Place) -> None:
        """Remove a message that another stands for, or at least what it says; if neither is possible, it stays."""
        channel = place.channel
        if channel is None:
            return
        nothing = OutgoingMessage(self._ended, plain=True)
        for write in (lambda: channel.remove(place.handle), lambda: channel.edit(place.handle, nothing)):
            try:
                await self._insist(write)
            except ChannelError as error:
                _log.warning("a message could not be taken away", extra={"error": type(error).__name__})
            else:
                return

    async def _insist(self, write: Callable[[], Awaitable[object]]) -> None:
        while True:
            try:
                await self._try("remove", None, write)
            except ChannelBusy as busy:
                await self._clock.sleep(busy.retry_after_s)
            else:
                return

    async def _try(self, verb: str, shown: OutgoingMessage | None, write: Callable[[], Awaitable[_Result]]) -> _Result:
        """Write once.

        Raises:
            SurfaceBusy: it is to be tried again.
            SurfaceError: it is not.
        """
        trying = (verb, shown is None or shown.stays)
        if trying != self._trying:
            self._trying, self._unclear, self._down_since_s = trying, 0, None
        again = False
        try:
            return await write()
        except ChannelBusy as error:
            if again := not self._was_down_for_long(error):
                raise
            raise ChannelError(f"its server failed for {_DOWN_S:g} s") from error
        except ChannelUnclear as error:
            self._unclear += 1
            if again := self._unclear < (_EDIT_TRIES if verb == "edit" else _POST_TRIES):
                raise ChannelBusy(error.retry_after_s) from error
            raise
        except ChannelError:
            raise
        except Exception as error:  # whatever a library makes of an answer
            _log.exception("a write failed")
            raise ChannelError(type(error).__name__) from error
        finally:
            if not again:
                self._trying = ("", False)

    def _was_down_for_long(self, error: ChannelBusy) -> bool:
        if not isinstance(error, ChannelDown):
            return False
        now_s = self._clock.monotonic()
        self._down_since_s = now_s if self._down_since_s is None else self._down_since_s
        return now_s - self._down_since_s >= _DOWN_S


def _plain(shown: OutgoingMessage) -> OutgoingMessage:
    return OutgoingMessage(shown.text, shown.modal, shown.memories, shown.final, plain=True)
