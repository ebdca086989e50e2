"""How far Discord was read: what a process that dies leaves to the next one."""

from __future__ import annotations

import asyncio
from typing import Final

from adapters.discord.bookmark import Bookmarks
from adapters.discord.room import Room
from core.storage.kept import SqlKept
from tests.fakes.clock import FakeClock
from tests.fakes.ram import RamDatabase

FIRST: Final = 10**18
DIRECT: Final = Room(5, private=True)
CHANNEL: Final = Room(7, guild=1 << 22)  # of the second shard of two


class Hesitant(SqlKept):
    """Begins to write the first text when others had time to be written."""

    hesitates = True

    async def put(self, name: str, text: str) -> None:
        """Keep a text."""
        hesitates, self.hesitates = self.hesitates, False
        for _ in range(500 if hesitates else 0):
            await asyncio.sleep(0)
        await super().put(name, text)


async def test_what_is_known_of_rooms_is_written_in_the_order_in_which_it_was_learned() -> None:
    kept = Hesitant(RamDatabase())
    bookmarks = Bookmarks(kept, FakeClock())
    await bookmarks.open(2)
    await asyncio.gather(
        bookmarks.saw(DIRECT, FIRST, addressed=True), bookmarks.saw(CHANNEL, FIRST + 1, addressed=True)
    )
    following = Bookmarks(kept, FakeClock())
    await following.open(2)
    assert {room.id for room, _ in following.positions()} == {DIRECT.id, CHANNEL.id}


async def test_a_shard_is_read_back_from_the_first_message_it_ever_told_of() -> None:
    kept = SqlKept(RamDatabase())
    bookmarks = Bookmarks(kept, FakeClock())
    await bookmarks.open(2)
    with bookmarks.taking(CHANNEL, FIRST):
        await bookmarks.saw(CHANNEL, FIRST, addressed=True)
        following = Bookmarks(kept, FakeClock())  # as the process dies here
        await following.open(2)
    known = following.known(1)
    assert known is not None
    assert 0 < following.position(CHANNEL.id) < FIRST
    assert following.known(0) is None
