"""Duties are shared out among workers: one does each at a time; limits are shared by what each uses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from datetime import timedelta

import psycopg
import pytest

from core.clock import SystemClock
from core.errors import ClaimLost, StorageDown
from core.workers.port import Worker, check_claim, present_claim
from tests.fakes.workers import LEASE_S, Member, Team, a_team

LIKE = timedelta(seconds=90)
"""Two clocks that differ by less are set alike; a busy machine takes its time."""


@pytest.fixture
async def team() -> AsyncIterator[Team]:
    async with a_team() as workers:
        yield workers


async def test_one_process_has_it_all() -> None:
    worker = Worker()
    async with worker.hold("poll") as duty:
        assert not duty.lost.is_set()
    assert worker.share("telegram") == 1.0


async def test_a_duty_is_one_workers_until_it_is_given_up(team: Team) -> None:
    first, second = await team.join(), await team.join()
    has_it = asyncio.Event()

    async def wait() -> None:
        async with second.worker.hold("poll"):
            has_it.set()

    async with first.worker.hold("poll") as duty:
        waiting = asyncio.create_task(wait())
        for _ in range(5):
            await second.clock.advance(1.0)
            await asyncio.sleep(0.01)
        assert not has_it.is_set()
        assert not duty.lost.is_set()
    await team.until(has_it.is_set)  # it is told of
    await waiting


async def test_the_duty_of_a_dead_worker_goes_on_elsewhere_and_it_is_told_as_it_lives_again(team: Team) -> None:
    dead, other = await team.join(), await team.join()
    async with dead.worker.hold("poll") as lost:
        dead.kill()
        await team.age(dead)
        taken = asyncio.create_task(other.worker.hold("poll").__aenter__())
        await team.until(taken.done, ticking=[other])
        dead.thaw()
        with lost.under():
            claim = present_claim()
            assert claim is not None
            with pytest.raises(ClaimLost):  # the database knows first
                await dead.house.inbox.purge(dead.clock.now(), 1)
            await dead.clock.advance(LEASE_S)
            with pytest.raises(ClaimLost):
                check_claim()
        await team.until(lost.lost.is_set)
        assert not taken.result().lost.is_set()


async def test_a_duty_is_taken_over_however_long_it_takes_to_take_in_what_the_dead_one_owed(team: Team) -> None:
    dead, other = await team.join(), await team.join()

    async def never(_: Collection[str] = ()) -> None:
        await asyncio.Event().wait()

    async with dead.worker.hold("poll"):
        dead.kill()
        other.chatbot.intake.look = never  # type: ignore[method-assign, assignment]
        await other.clock.advance(1.0)  # it looks, and has not ended
        taken = asyncio.create_task(other.worker.hold("poll").__aenter__())
        await team.age(dead)
        try:
            await team.until(taken.done, ticking=[other])
        finally:
            dead.thaw()


async def test_a_duty_is_anothers_although_nobody_heard_that_it_was_claimed_or_given_up(team: Team) -> None:
    first, second = await team.join(), await team.join()
    store, failures = first.worker._store, [StorageDown("the connection broke")]
    take, end = store.take, store.end

    async def take_unheard(worker: int, name: str) -> int:
        await take(worker, name)
        store.take = take  # type: ignore[method-assign]
        raise StorageDown("the connection broke")

    async def fail_to_end(epochs: Collection[int]) -> None:
        if failures:
            raise failures.pop()
        await end(epochs)

    store.take = take_unheard  # type: ignore[method-assign]
    store.end = fail_to_end  # type: ignore[method-assign]
    duty = first.worker.hold("poll")
    taken = asyncio.create_task(duty.__aenter__())
    await team.until(taken.done, ticking=[first])
    waiting = asyncio.create_task(second.worker.hold("poll").__aenter__())
    await duty.__aexit__(None, None, None)
    await team.until(waiting.done, ticking=[first, second])


async def test_a_worker_that_stands_still_while_it_shares_out_limits_keeps_no_other_from_living(team: Team) -> None:
    worker = (await team.join()).worker
    async with await psycopg.AsyncConnection.connect(team.url) as still:
        await still.execute("SELECT pg_advisory_xact_lock(hashtextextended('shares', 0))")
        beat = asyncio.create_task(worker._store.beat(worker.id, 0, {"telegram": 1.0}, lambda _: {"telegram": 1.0}))
        await team.until(beat.done)
        peers = beat.result()
    assert peers is not None
    assert [peer.shares for peer in peers] == [{}]


async def test_limits_are_shared_by_use_with_something_for_everybody_and_never_more_than_all(team: Team) -> None:
    members = [await team.join()]

    async def has_beaten(member: Member) -> None:
        worker, clock = member.worker, member.clock
        await team.until(lambda: bool(worker.peers) and worker.lease.beaten_s == clock.monotonic())

    async def beat(*used: int) -> list[float]:
        for member, count in zip(members, used, strict=True):
            await has_beaten(member)
            member.worker.used("telegram", count)
            member.worker.share("telegram")
            await member.clock.advance(LEASE_S / 3)
            await has_beaten(member)
            assert sum(each.worker.share("telegram") for each in members) <= 1
        return [member.worker.share("telegram") for member in members]

    await beat(10)
    assert await beat(10) > [0.9]
    members += [await team.join(), await team.join()]
    assert all(each.worker.share("telegram") > 0 for each in members)
    shares = [await beat(30, 30, 0) for _ in range(12)][-1]
    assert shares[2] >= 0.05
    assert abs(shares[0] - shares[1]) < 0.1
    assert shares[0] > 0.3
    assert sum(shares) > 0.9


async def test_workers_whose_clocks_differ_go_by_that_of_the_database(team: Team) -> None:
    """And again a minute later, when somebody has set the machine's clock."""
    members = [await team.join(off=timedelta(minutes=minutes)) for minutes in (-2, 2)]

    def are_alike() -> bool:
        return all(abs(member.clock.now() - SystemClock().now()) < LIKE for member in members)

    await team.until(are_alike)
    for member in members:
        member.clock.jump(timedelta(minutes=-5))
        await member.clock.advance(60.0)
    await team.until(are_alike)


def test_the_systems_clock_can_be_set() -> None:
    clock, machine = SystemClock(), SystemClock()
    ahead = clock.set(machine.now() + timedelta(minutes=2))
    assert abs(ahead - timedelta(minutes=2)) < LIKE
    assert abs(clock.now() - machine.now() - timedelta(minutes=2)) < LIKE
