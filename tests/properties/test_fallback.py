"""Whatever a platform answers to whichever write: the person can read the whole text, or the owners are to be told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from core.delivery.fallback import Aside
from core.delivery.view import View
from core.errors import (
    ChannelBusy,
    ChannelDown,
    ChannelError,
    ChannelForbidden,
    ChannelGone,
    ChannelUnclear,
    MessageLost,
    Undelivered,
)
from core.outgoing import Button, ChannelLimits, OutgoingMessage
from tests.fakes.channel import RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.handler import tell

REASON = "I may not write there."
REFUSALS = (
    ChannelError("odd"), ChannelForbidden("no right"), ChannelGone("kicked"), KeyError("chat"), MessageLost("x"),
)  # fmt: skip
WAITS = (ChannelBusy(3.0), ChannelDown(1.0))
DONE_BUT_UNCLEAR = ChannelUnclear("not what was expected")
faults = st.lists(
    st.sampled_from([None, None, None, *REFUSALS, *REFUSALS, *WAITS, ChannelUnclear("lost"), DONE_BUT_UNCLEAR]),
    max_size=14,
)


@dataclass(slots=True)
class UnclearChannel(RecordingChannel):
    """Does what is asked and then raises, where the fault says so."""

    async def post(self, shown: OutgoingMessage) -> str:
        unclear = self._next_is_unclear()
        handle = await RecordingChannel.post(self, shown)
        if unclear:
            raise unclear
        return handle

    async def edit(self, handle: str, shown: OutgoingMessage) -> None:
        unclear = self._next_is_unclear()
        if self.faults and isinstance(self.faults[0], MessageLost):  # a moderator was quicker
            self.removed.add(handle)
        await RecordingChannel.edit(self, handle, shown)
        if unclear:
            raise unclear

    async def remove(self, handle: str) -> None:
        self.removed.add(handle)

    def _next_is_unclear(self) -> ChannelUnclear | None:
        if self.faults and self.faults[0] is DONE_BUT_UNCLEAR:
            self.faults[0] = None
            return DONE_BUT_UNCLEAR
        return None


async def spoken(clock: FakeClock, chunks: list[str]) -> AsyncIterator[str]:
    for chunk in chunks:
        yield chunk
        await clock.sleep(1.0)


@given(faults, faults, st.lists(st.sampled_from(["one ", "two ", "three "]), min_size=1, max_size=8), st.booleans())
def test_the_whole_text_is_read_or_the_owners_are_told(
    in_room: list[Exception | None], in_private: list[Exception | None], chunks: list[str], has_aside: bool
) -> None:
    """Once, in order, twice at most where a confirmation was lost; and no status with its Stop button is left."""

    async def play() -> None:
        clock = FakeClock(auto=True)
        room = UnclearChannel(clock, ChannelLimits(20, 0.5), faults=list(in_room))
        private = UnclearChannel(clock, ChannelLimits(20, 0.5), faults=list(in_private))

        async def find_aside(_: ChannelError) -> Aside:
            return Aside(private, REASON)

        view = View(room, clock, find_aside=find_aside if has_aside else None)
        told = False
        try:
            await view.status("thinking")
            await tell(view, spoken(clock, chunks), (Button("Undo", "/undo"),))
            await view.close()
        except Undelivered:
            told = True
        told = told or view.channel.doubt is not None
        whole = "".join("".join(chunks).split())
        read = "".join("".join(room.texts + [text for text in private.texts if text != REASON]).split())
        assert told or read == whole or (_was_unclear(in_room, in_private) and read.endswith(whole))
        if not _was_unclear(in_room):  # else the room may hold what nobody knows to be there
            assert all(shown.stays for shown in room.screen), "a Stop button is left"

    asyncio.run(play())


def _was_unclear(*sequences: list[Exception | None]) -> bool:
    return any(isinstance(fault, ChannelUnclear | ChannelDown) for faults in sequences for fault in faults)
