"""A channel that keeps a log of all that a person would have seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from core.errors import ChannelError
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel, Clock
from core.types import Modal


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
