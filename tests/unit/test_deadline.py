"""A stretch of work ends by time or by word, and never swallows somebody else's cancellation."""

from __future__ import annotations

import asyncio

import pytest

from core.errors import TurnStopped, TurnTimeout
from core.tasks import Deadline
from tests.fakes.clock import FakeClock


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


async def test_work_in_time_is_left_alone(clock: FakeClock) -> None:
    async with Deadline(clock, 10):
        await asyncio.sleep(0)


async def test_time_runs_out(clock: FakeClock) -> None:
    async def work() -> None:
        async with Deadline(clock, 10):
            await forever()

    task = asyncio.create_task(work())
    await clock.advance(9.9)
    assert not task.done()
    await clock.advance(0.2)
    with pytest.raises(TurnTimeout):
        await task


async def test_somebody_says_stop(clock: FakeClock) -> None:
    deadline = Deadline(clock, 10)

    async def work() -> None:
        async with deadline:
            await forever()

    task = asyncio.create_task(work())
    await clock.advance(1)
    deadline.stop()
    deadline.stop()
    with pytest.raises(TurnStopped):
        await task


async def test_a_cancellation_from_outside_stays_one(clock: FakeClock) -> None:
    async def work() -> None:
        async with Deadline(clock, 10):
            await forever()

    task = asyncio.create_task(work())
    await clock.advance(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_timeout_of_the_works_own_stays_one(clock: FakeClock) -> None:
    with pytest.raises(TimeoutError):
        async with Deadline(clock, 10):
            raise TimeoutError


async def test_stopping_what_is_over_does_nothing(clock: FakeClock) -> None:
    deadline = Deadline(clock, 10)
    async with deadline:
        pass
    deadline.stop()
    await clock.advance(20)
