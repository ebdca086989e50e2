"""Fallbacks for writes that a platform refuses for good: a new message of plain text, then the person's private chat.

Any exception of a platform besides ChannelError counts as a refusal, too, and ends only that write. What stands in the
chat in the end is recorded (`PostedMessages`), so that a restart goes on with it in place.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias, TypeVar

from core.errors import (
    ChannelBusy,
    ChannelDown,
    ChannelError,
    ChannelForbidden,
    ChannelGone,
    ChannelUnclear,
    ClaimLost,
    Undelivered,
)
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel, Clock
from core.types import Modal
from core.workers.port import check_claim, unclaimed

_DOWN_S = 1800.0
"""A server that fails at one write for this long refuses it."""

_POST_TRIES, _EDIT_TRIES = 2, 5
"""How often an unclear write is tried: a repeated post may appear twice, a repeated edit cannot.

A text that may still change is not repeated: what follows it is.
"""

_SIGN_TRIES = 20
"""How often a sign is tried while the platform's pace does not allow it."""

ELSEWHERE = "~"
"""First character of the handles of messages that are not in the chat: in the private chat, or not seen."""

_MARKED = "↻"
"""Stands in a record before the handle of a message that says that it may be there twice."""

Record: TypeAlias = Callable[[Sequence[str]], Awaitable[None]]
"""Store the handles of what is on the screen, in the form of `Inbox.put_posted`."""

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Aside:
    """The person's private chat, and the sentence that says there why the answer comes to it."""

    channel: Channel
    reason: str


FindAside: TypeAlias = Callable[[ChannelError], Awaitable[Aside | None]]
"""Return another place for an answer, given the refusal of the chat, or None."""


@dataclass(frozen=True, slots=True)
class _Position:
    """Where a message is; without a channel, it is `assumed` to be seen, or was not written.

    A `frozen` one can no longer be changed. Nobody knows whether what was `lost` is there; what was `repeated` says
    that it may be there twice.
    """

    channel: Channel | None = None
    handle: str = ""
    plain: bool = False
    assumed: bool = False
    frozen: bool = False
    lost: OutgoingMessage | None = None
    repeated: bool = False


class FallbackChannel(Channel):
    """Write each whole text into the first place that accepts it; text that may still change only into the chat.

    A message that cannot be changed is written again once its text is whole, and removed. Raises ChannelBusy;
    Undelivered if every place refused; for a file, whatever its channel raises, as the caller can describe it in words.
    `ended` replaces the text of a message that can be changed but not removed. After the fact, `doubt` says why a text
    is only assumed to be there, `refusal` why the chat accepted a whole text in no form, and `said_aside` whether one
    was said in the private chat instead.
    """

    def __init__(self, channel: Channel, clock: Clock, *, find_aside: FindAside | None, ended: str) -> None:
        self._chat = channel
        self._clock = clock
        self._find_aside = find_aside
        self._ended = ended
        self.doubt: ChannelUnclear | None = None
        self.refusal: ChannelError | None = None
        self.said_aside = False
        self._aside: Aside | None = None
        self._plain_only: OutgoingMessage | None = None
        self._places: dict[str, _Position] = {}
        self._trying: tuple[str, bool] = ("", False)
        self._unclear = 0
        self._down_since_s: float | None = None

    @property
    def limits(self) -> ChannelLimits:
        """The chat's limits."""
        return self._chat.limits

    def measure(self, text: str) -> int:
        """Return the length of the text in the chat."""
        return self._chat.measure(text)

    async def show_typing(self) -> None:
        """Show in the chat that the bot works on the answer."""
        check_claim()
        await self._chat.show_typing()

    async def show_waiting(self, *, waits: bool = True) -> None:
        """Show in the chat that the message waits, or no longer, once the platform's pace allows it."""
        for _ in range(_SIGN_TRIES):
            check_claim()
            try:
                await self._chat.show_waiting(waits=waits)
            except ChannelBusy as busy:
                await self._clock.sleep(busy.retry_after_s)
            else:
                return

    def adopt(self, handles: Sequence[str]) -> Sequence[str]:
        """Take over the posts of an earlier process in the chat."""
        known = self._chat.adopt(handles)
        self._places.update((handle, _Position(self._chat, handle)) for handle in known)
        return known

    async def post(self, shown: OutgoingMessage) -> str:
        """Write a new message into the first place that accepts it."""
        return self._keep(await self._write(shown))

    async def edit(self, handle: str, shown: OutgoingMessage) -> str | None:
        """Replace a message in place or, once the text is whole, by a new message, whose handle is returned."""
        if not handle:  # a preview: the next post takes its place
            return await self.post(shown)
        place = self._places[handle]
        if place.channel is not None and not place.frozen:
            edited = await self._edited(handle, place, shown)
            if edited is not None:
                return edited
        if place.assumed or not (shown.stays or self._is_shut_out or _follows(shown, place.lost)):
            return None
        if place.lost is not None and place.lost.modal is not Modal.TEXT_FOR_REPLACE:
            self._trying, self._unclear = ("post", shown.stays), 1  # that was the first of its tries
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

    def is_lost(self, handle: str) -> bool:
        """Return whether nobody knows if that message is there, and it was not repeated."""
        return self._places[handle].lost is not None

    def is_repeated(self, handle: str) -> bool:
        """Return whether that message was written a second time, as nobody knows if it is there."""
        return self._places[handle].repeated

    async def remove(self, handle: str) -> None:
        """Remove a message, or at least its text."""
        await self._take_away(self._places[handle])

    async def withdraw(self, handle: str) -> None:
        """Remove a message of which no other worker knows, also when others may write there by now."""
        place = self._places[handle]
        if place.channel is self._chat:
            with unclaimed(), suppress(ChannelError):
                await self._chat.remove(place.handle)

    @property
    def _is_shut_out(self) -> bool:
        """Whether the chat accepts nothing, and there is no other place."""
        return self.refusal is not None and self._aside is None and self._find_aside is None

    def _keep(self, place: _Position) -> str:
        """Store the place of a message, and return its handle from now on."""
        handle = place.handle if place.channel is self._chat else f"{ELSEWHERE}{len(self._places)}"
        self._places[handle] = place
        return handle

    async def _edited(self, handle: str, place: _Position, shown: OutgoingMessage) -> str | None:
        """Edit a message and return its handle, which may be new; None if it can no longer be changed."""
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
                self.refusal = error
            return None
        return self._keep(replace(place, handle=moved)) if moved and moved != place.handle else handle

    async def _write(self, shown: OutgoingMessage) -> _Position:
        """Write a new message: into the chat, or into the private chat if it is refused."""
        refusal = self.refusal
        if refusal is None:
            try:
                return await self._post_into(self._chat, shown)
            except ChannelBusy:
                raise
            except ChannelError as error:
                if shown.files:
                    raise
                refusal = error
        if shown.stays or isinstance(refusal, ChannelGone):
            self.refusal = refusal
        if self._is_shut_out:
            raise Undelivered(refusal)
        return await self._write_aside(shown, refusal) if shown.stays else _Position()

    async def _write_aside(self, shown: OutgoingMessage, refusal: ChannelError) -> _Position:
        if self._aside is None and self._find_aside is not None:
            self._aside = await self._find_aside(refusal)
            self._find_aside = None
        if self._aside is None:
            raise Undelivered(refusal)
        try:
            if not self.said_aside:
                await self._post_into(self._aside.channel, OutgoingMessage(self._aside.reason))
                self.said_aside = True
            # Without the buttons, which belong to the other conversation.
            place = await self._post_into(self._aside.channel, replace(shown, choices=(), menu=()))
        except ChannelBusy:
            raise
        except ChannelError:
            raise Undelivered(refusal) from None
        _log.warning("an answer was said in private instead", extra={"error": type(refusal).__name__})
        return place

    async def _post_into(self, channel: Channel, shown: OutgoingMessage) -> _Position:
        """Write a new message into that channel, as plain text if it is refused otherwise."""
        try:
            if self._plain_only != shown:
                try:
                    handle = await self._try("post", shown, lambda: channel.post(shown))
                    return _Position(channel, handle, repeated=self._unclear > 0)
                except (ChannelBusy, ChannelGone, ChannelUnclear):
                    raise
                except ChannelError as error:
                    if shown.files or (isinstance(error, ChannelForbidden) and not shown.stays):
                        raise
                    _log.warning("a message was refused; sent as plain text", extra={"error": type(error).__name__})
                    self._plain_only = shown  # remembered if the plain one has to wait
            handle = await self._try("plain", shown, lambda: channel.post(_plain(shown)))
            return _Position(channel, handle, plain=True, repeated=self._unclear > 0)
        except ChannelUnclear as error:
            _log.warning("a message was not confirmed", extra={"error": type(error).__name__})
            if _is_repeated(shown):
                self.doubt = error
                return _Position(assumed=True)
            return _Position(lost=shown)

    async def _take_away(self, place: _Position) -> None:
        """Remove a message, or at least its text; if neither is possible, it stays."""
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
            ChannelBusy: it is to be tried again.
            ChannelError: it is not.
            ClaimLost: another worker writes there by now; nothing was written.
        """
        check_claim()
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
            tries = _EDIT_TRIES if verb == "edit" else _POST_TRIES if shown is None or _is_repeated(shown) else 1
            if again := self._unclear < tries:
                raise ChannelBusy(error.retry_after_s) from error
            raise
        except (ChannelError, ClaimLost):
            raise
        except Exception as error:  # any error of a platform's library
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


class PostedMessages:
    """The messages of one turn that stand in the chat, by their places in the turn, and their record.

    `record` is called before and after each post; `posted` is what it was last given by an earlier process that began
    the turn, None if none did. A "" in it stands for one that may be there, in the place of those after it.
    """

    def __init__(self, channel: FallbackChannel, posted: Sequence[str] | None, record: Record | None) -> None:
        self.channel = channel
        known = [handle for handle in posted or () if handle != _MARKED]
        adopted = list(channel.adopt(known)) if posted is not None else []
        self.adopted = len(adopted)
        """How many messages of the earlier process stand there."""
        self.spare = _spare(known, adopted)
        """How many of them, at the end, another one was to take the place of."""
        self.is_unseen = True
        """Whether nothing of the answer is on the screen."""
        self._handles: dict[int, str] = dict(enumerate(adopted))
        self._unsure: int | None = None
        """The place of the message that may be there."""
        if "" in known and (any(known) or not adopted):
            self._unsure = self.adopted - self.spare
        self._doubted = self._unsure
        """The place of the one that may be there since an earlier process."""
        self._marked = {adopted.index(handle) for handle in _marked(posted or ()) if handle in adopted}
        """The places of messages that say that they may be there twice: they go on doing so."""
        self._leaving: dict[int, str] = {}
        """What stands beside a message that took its place, until it is removed."""
        self._record_to = record
        self._recorded = list(posted or ())

    @property
    def unrecorded(self) -> set[str]:
        """The handles of messages of which no other worker knows."""
        return set(self._handles.values()) - {"", *self._recorded}

    async def put(self, index: int, shown: OutgoingMessage) -> None:
        """Write the message, and record its handle; before a post, record that it is about to happen."""
        handle = self._handles.get(index)
        if not handle and index == self._doubted:
            self._marked.add(index)
        shown = replace(shown, again=True) if index in self._marked else shown
        if shown.notify and handle and not handle.startswith(ELSEWHERE):
            await self._put_anew(index, handle, shown)
            return
        if not handle and (shown.stays or not self.channel.limits.previews):
            await self._doubt(index)
        if handle is None:
            handle = await self._post(shown)
        else:
            handle = await self.channel.edit(handle, shown) or handle
        await self._stands(index, handle)
        self._saw(shown, handle)

    async def remove(self, index: int) -> None:
        """Remove the last message."""
        await self.channel.remove(self._handles[index])
        del self._handles[index]
        await self._record()

    async def _post(self, shown: OutgoingMessage) -> str:
        unseen = self.is_unseen
        self.is_unseen = unseen and not shown.stays  # what is seen may be confirmed late
        try:
            return await self.channel.post(shown)
        except ChannelBusy:
            self.is_unseen = unseen
            raise

    async def _put_anew(self, index: int, old: str, shown: OutgoingMessage) -> None:
        """Write the message anew below its place, and remove the `old` one; or edit it, if the new one may be lost.

        What is recorded meanwhile has the new one first: a restart removes what stands after it.
        """
        await self._doubt(index)
        handle = await self.channel.post(shown)
        if handle.startswith(ELSEWHERE) and self.channel.is_lost(handle):  # what is known to be there takes its place
            await self.channel.edit(old, replace(shown, notify=False, again=True))
            self._saw(shown, old)
            return
        self._leaving[index] = old
        await self._stands(index, handle)
        self._saw(shown, handle)
        await self.channel.remove(old)
        del self._leaving[index]
        await self._record()

    async def _doubt(self, index: int) -> None:
        """Record that the message is about to be there."""
        self._unsure = index if self._unsure is None else min(index, self._unsure)
        await self._record()

    async def _stands(self, index: int, handle: str) -> None:
        """Record that the message is there; of one that is not in the chat it stays unsure."""
        self._handles[index] = handle
        if handle and not handle.startswith(ELSEWHERE):
            self._unsure = None if self._unsure == index else self._unsure
            if self.channel.is_repeated(handle):
                self._marked.add(index)
            await self._record()

    def _saw(self, shown: OutgoingMessage, handle: str) -> None:
        self.is_unseen = not handle or shown.modal is Modal.TEXT_FOR_REPLACE

    def _all(self) -> list[str]:
        """Return what is to be recorded: the messages in the chat, in their order, and the one that may be there."""
        listed: list[str] = []
        for index in sorted({*self._handles, *(() if self._unsure is None else (self._unsure,))}):
            there = (self._handles.get(index, ""), self._leaving.get(index, ""))
            listed += [""] if index == self._unsure else []
            listed += [_MARKED] if index in self._marked and self._handles.get(index) else []
            listed += [handle for handle in there if handle and not handle.startswith(ELSEWHERE)]
        return listed

    async def _record(self) -> None:
        handles = self._all()
        if self._record_to is not None and handles != self._recorded:
            await self._record_to(handles)
        self._recorded = handles


def _is_repeated(shown: OutgoingMessage) -> bool:
    """Whether it is written again if it is not clear that it was written; else something else takes its place."""
    return shown.stays and not shown.notify


def _follows(shown: OutgoingMessage, lost: OutgoingMessage | None) -> bool:
    """Whether a text that may still change is news beside what may be there: a status and an answer are."""
    return lost is not None and lost.modal is Modal.TEXT_FOR_REPLACE and shown.modal is not lost.modal


def _plain(shown: OutgoingMessage) -> OutgoingMessage:
    """Return its text alone, as a message like any other."""
    return OutgoingMessage(
        shown.text, shown.modal, shown.memories, final=shown.final, plain=True, mention=shown.mention,
        goes_on=shown.goes_on, again=shown.again,
    )  # fmt: skip


def _marked(posted: Sequence[str]) -> list[str]:
    """Return the handles of those that say that they may be there twice."""
    return [handle for mark, handle in pairwise(posted) if mark == _MARKED]


def _spare(posted: Sequence[str], adopted: Sequence[str]) -> int:
    """Return how many of the adopted messages stand after one that was to take the place of the first of them."""
    return min(sum(map(bool, posted[posted.index("") :])), len(adopted)) if "" in posted else 0
