"""One act is one turn: an album, forwarded messages, files and the sentence beside them, the pieces of a long text.

Such messages of one person come within a moment. Each is stored as it comes; they are answered as one message once
nothing more has come for `QUIET_S`. A text that nothing else belongs to never waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Final

from core.enclosures import MAX_ATTACHMENTS, MAX_QUOTES, QuoteKind
from core.ports import Clock
from core.types import Incoming

QUIET_S: Final = 0.5
LONGEST_S: Final = 3.0
_APART: Final = timedelta(seconds=2)
"""What was sent at moments that far apart is two acts, though both come at once, as after an outage. Telegram tells
whole seconds."""


def begins(incoming: Incoming) -> bool:
    """Return whether more may belong to a message: to one of an album, with an attachment, forwarded, or cut."""
    if incoming.pressed or incoming.written or incoming.withdrawn or incoming.parts:
        return False
    if incoming.text.startswith("/"):
        return bool(incoming.group)
    forwards = any(quote.kind is QuoteKind.FORWARD for quote in incoming.quotes)
    return bool(incoming.group or incoming.attachments or forwards or incoming.is_cut)


class Gathering:
    """The messages of one act, while they come."""

    def __init__(self, first: Incoming, clock: Clock) -> None:
        self._clock = clock
        self._parts = {first.original_id: first}
        self._began_s = self._last_s = clock.monotonic()
        self._over = asyncio.Event()

    def part(self, original_id: str) -> Incoming | None:
        """Return the newest version of the message of that id; None if it is none of these."""
        return self._parts.get(original_id)

    def takes(self, incoming: Incoming) -> bool:
        """Return whether a message that its sender sent next belongs to these."""
        last = next(reversed(self._parts.values()))
        if self._over.is_set() or incoming.pressed or incoming.written or not self._has_room(incoming):
            return False
        if incoming.group and incoming.group == last.group:
            return True
        now_s = self._clock.monotonic()
        in_time = now_s - self._last_s <= QUIET_S and now_s - self._began_s <= LONGEST_S
        return in_time and abs(incoming.at - last.at) <= _APART and not incoming.text.startswith("/")

    def add(self, incoming: Incoming) -> None:
        """Take a message, or another version of one, in whose place it is."""
        self._parts[incoming.original_id] = incoming
        self._last_s = self._clock.monotonic()

    def end(self) -> None:
        """Wait for nothing more."""
        self._over.set()

    async def complete(self) -> Incoming:
        """Return all that came as one message, once nothing more is to be waited for."""
        while not self._over.is_set() and (rest_s := self._rest_s) > 0:
            await self._wait(rest_s)
        self._over.set()
        first, *_ = parts = tuple(self._parts.values())
        return joined(first, parts)

    @property
    def _rest_s(self) -> float:
        until_s = min(self._last_s + QUIET_S, self._began_s + LONGEST_S)
        return until_s - self._clock.monotonic()

    async def _wait(self, delay_s: float) -> None:
        sleeping, ended = asyncio.ensure_future(self._clock.sleep(delay_s)), asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait({sleeping, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sleeping, ended):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    def _has_room(self, incoming: Incoming) -> bool:
        all_ = [*self._parts.values(), incoming]
        attached, quoted = sum(len(each.attachments) for each in all_), sum(len(each.quotes) for each in all_)
        return attached <= MAX_ATTACHMENTS and quoted <= MAX_QUOTES


def joined(whole: Incoming, parts: Sequence[Incoming]) -> Incoming:
    """Return a message with the words and attachments of those of its parts that were not taken back.

    If all were, so is the whole.
    """
    said = tuple(part for part in parts if not part.withdrawn)
    about = {part.quoted_user for part in said if part.quotes}
    return replace(
        whole,
        text="\n".join(part.text for part in said if part.text),
        attachments=tuple(one for part in said for one in part.attachments),
        quotes=tuple(dict.fromkeys(quote for part in said for quote in part.quotes)),
        quoted_user=about.pop() if len(about) == 1 else "",
        replies_to=next((part.replies_to for part in said if part.replies_to), ""),
        withdrawn=not said,
        parts=tuple(parts),
    )


def revised(whole: Incoming, part: Incoming) -> Incoming:
    """Return the version of a collected message in which that version of a part has the place of the one before."""
    parts = [part if each.original_id == part.original_id else each for each in whole.parts]
    version = replace(whole, message_id=part.message_id, edits=whole.original_id, at=part.at)
    return joined(version, parts) if whole.parts else part


def part_of(whole: Incoming, original_id: str) -> Incoming | None:
    """Return the message of that id which a message is, or was collected from; None if it is none of it."""
    return next((each for each in (*whole.parts, whole) if each.original_id == original_id), None)
