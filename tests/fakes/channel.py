"""A channel that keeps a log of all that a person would have seen, files included; a platform of such channels."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from adapters.running import content_of
from core.errors import ChannelError, FileTooLarge
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel, Channels, Clock
from core.types import Incoming, Modal, UserKey


@dataclass(frozen=True, slots=True)
class Seen:
    """One call: at what time, `post`, `edit` or `remove`, which message, what."""

    at_s: float
    verb: str
    handle: str
    shown: OutgoingMessage


@dataclass(slots=True)
class RecordingChannel(Channel):
    """Records every call; raises what `faults` holds, one for each call, first."""

    clock: Clock
    limits: ChannelLimits = field(default_factory=lambda: ChannelLimits(max_chars=4096, edit_interval_s=1.5))
    log: list[Seen] = field(default_factory=list)
    faults: list[Exception | None] = field(default_factory=list)
    removed: set[str] = field(default_factory=set)
    manages: bool | ChannelError = False

    def measure(self, text: str) -> int:
        return len(text)

    async def post(self, shown: OutgoingMessage) -> str:
        self._maybe_fail()
        handle = f"m{sum(seen.verb == 'post' for seen in self.log) + 1}"
        self.log.append(Seen(self.clock.monotonic(), "post", handle, shown))
        return handle

    async def edit(self, handle: str, shown: OutgoingMessage) -> str | None:
        self._maybe_fail()
        self.log.append(Seen(self.clock.monotonic(), "edit", handle, shown))
        return None

    async def remove(self, handle: str) -> None:
        self._maybe_fail()
        self.log.append(Seen(self.clock.monotonic(), "remove", handle, OutgoingMessage("")))
        self.removed.add(handle)

    async def may_manage(self) -> bool:
        if isinstance(self.manages, ChannelError):
            raise self.manages
        return self.manages

    def adopt(self, handles: Sequence[str]) -> Sequence[str]:
        posted = {seen.handle for seen in self.log}
        return [handle for handle in handles if handle in posted]

    def _maybe_fail(self) -> None:
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            raise fault

    @property
    def screen(self) -> list[OutgoingMessage]:
        """What is on the screen now, top to bottom."""
        latest: dict[str, OutgoingMessage] = {}
        for seen in self.log:
            if seen.handle not in self.removed:
                latest[seen.handle] = seen.shown
        return list(latest.values())

    @property
    def texts(self) -> list[str]:
        """The texts of the messages that stayed."""
        return [shown.text for shown in self.screen if shown.modal is not Modal.TEXT_FOR_REPLACE]

    @property
    def statuses(self) -> list[str]:
        """Every status text that was ever shown, in order."""
        return [seen.shown.text for seen in self.log if seen.shown.modal is Modal.TEXT_FOR_REPLACE]


async def handed_out(channel: Channel, handle: str, max_bytes: int) -> bytes:
    """Return the bytes of a handle."""
    into = BytesIO()
    await channel.fetch(handle, max_bytes, into)
    return into.getvalue()


class OneChannel(Channels):
    """Writes everything into one channel; `opened` are the messages that were asked for again."""

    def __init__(self, channel: Channel, private: Callable[[UserKey], Channel] | None = None) -> None:
        self._channel = channel
        self._private = private
        self.opened: list[Incoming] = []

    def again(self, incoming: Incoming) -> Channel:
        self.opened.append(incoming)
        return self._channel

    def private(self, user: UserKey, once: str = "") -> Channel:  # noqa: ARG002
        return self._channel if self._private is None else self._private(user)


@dataclass(slots=True)
class FileChannel(RecordingChannel):
    """`sent` are files by their handle; `handed` what was handed over: name, content, and where it lay."""

    sent: dict[str, bytes] = field(default_factory=dict)
    handed: list[tuple[str, bytes, Path]] = field(default_factory=list)
    refuses_files: bool = False

    async def post(self, shown: OutgoingMessage) -> str:
        if shown.files and self.refuses_files:
            raise ChannelError("too large")
        for file in shown.files:
            raw = await asyncio.to_thread(content_of, file, 1 << 30)
            self.handed.append((file.name, raw, file.path or Path()))
        return await RecordingChannel.post(self, shown)

    async def fetch(self, handle: str, max_bytes: int, into: BinaryIO) -> None:
        raw = self.sent.get(handle)
        if raw is None:
            raise ChannelError("gone")
        if len(raw) > max_bytes:
            raise FileTooLarge("too large")
        into.write(raw)
