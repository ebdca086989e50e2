"""Rows of the inbox stay for as long as a platform may deliver a message again, and no longer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta

from core.answering.questions import EVERY_S, FIRST_S, KEPT_FOR, purge_answered
from core.errors import StorageError
from core.storage.inbox import SqlInbox
from core.types import ChatKey, Incoming, UserKey
from tests.fakes.clock import START, FakeClock
from tests.fakes.ram import RamDatabase

MESSAGE = Incoming(ChatKey("telegram", "c"), UserKey("telegram", "ana"), "Ana", "1", "oi", START)
A_MOMENT = timedelta(seconds=1)


@asynccontextmanager
async def tidied(inbox: SqlInbox, clock: FakeClock) -> AsyncIterator[None]:
    task = asyncio.create_task(purge_answered(inbox, clock))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def answered(inbox: SqlInbox, *messages: Incoming) -> None:
    for message in messages:
        await inbox.accept(message)
        await inbox.close(message)


async def test_an_answered_message_is_known_for_a_week_and_then_forgotten(clock: FakeClock) -> None:
    inbox = SqlInbox(RamDatabase())
    await answered(inbox, MESSAGE)
    async with tidied(inbox, clock):
        await clock.advance(KEPT_FOR.total_seconds())
        assert not await inbox.accept(MESSAGE)
        await clock.advance(EVERY_S)
        assert await inbox.accept(MESSAGE)


async def test_what_was_missed_for_weeks_is_read_back_before_any_row_goes(clock: FakeClock) -> None:
    inbox = SqlInbox(RamDatabase())
    old = replace(MESSAGE, at=START - KEPT_FOR - A_MOMENT)
    await answered(inbox, old)
    async with tidied(inbox, clock):
        await clock.advance(FIRST_S - 1)
        assert not await inbox.accept(old)
        await clock.advance(2)
        assert await inbox.accept(old)


async def test_many_rows_go_in_small_batches_and_what_is_owed_never_goes(clock: FakeClock) -> None:
    sizes: list[int] = []

    class Watched(SqlInbox):
        async def purge(self, before: object, limit: int) -> int:
            sizes.append(await super().purge(before, limit))  # type: ignore[arg-type]
            return sizes[-1]

    inbox = Watched(RamDatabase())
    old = [replace(MESSAGE, message_id=str(number), at=START - 2 * KEPT_FOR) for number in range(1201)]
    await answered(inbox, *old[:-1])
    await inbox.accept(old[-1])
    async with tidied(inbox, clock):
        await clock.advance(FIRST_S + 10)
    assert sizes == [500, 500, 200]
    assert list(await inbox.owed("telegram")) == [old[-1]]


async def test_a_disk_that_refuses_is_tried_again_the_next_day(clock: FakeClock) -> None:
    class Broken(SqlInbox):
        broken = True

        async def purge(self, before: object, limit: int) -> int:
            if self.broken:
                raise StorageError("locked")
            return await super().purge(before, limit)  # type: ignore[arg-type]

    inbox = Broken(RamDatabase())
    await answered(inbox, replace(MESSAGE, at=START - 2 * KEPT_FOR))
    async with tidied(inbox, clock):
        await clock.advance(FIRST_S + 1)
        inbox.broken = False
        await clock.advance(EVERY_S)
    assert await inbox.accept(MESSAGE)
