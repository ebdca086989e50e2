"""An answer that is whole before anybody could read its beginning is written once, and at once."""

from __future__ import annotations

import pytest

from core.answering.log import Log
from core.answering.parts import TurnLimits
from core.delivery.plan import Pace
from core.delivery.view import View
from core.dialogue import Task
from core.models import Cycle
from core.types import Message
from tests.e2e.stage import limited_mind
from tests.fakes.channel import RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.house import House

SAID = "Twenty letters are what it begins with. "
QUIET = TurnLimits(Cycle.STEPWISE, status_after_s=1.5)


def writes(channel: RecordingChannel) -> list[tuple[float, str, bool]]:
    return [(round(seen.at_s, 2), seen.verb, seen.shown.stays) for seen in channel.log]


async def test_an_answer_that_ends_within_the_wait_for_its_end_is_written_once(clock: FakeClock) -> None:
    channel = RecordingChannel(clock)
    view = View(channel, clock)
    view.write(SAID)
    await clock.advance(0.1)
    view.write("It ends here.")
    await view.complete()
    await view.close()
    assert writes(channel) == [(0.1, "post", True)]


async def test_one_that_goes_on_is_seen_to_grow_after_that_wait(clock: FakeClock) -> None:
    channel = RecordingChannel(clock)
    view = View(channel, clock)
    view.write(SAID)
    await clock.advance(0.15)
    assert writes(channel) == [(Pace().gather_s, "post", False)]
    await view.complete()
    await view.close()
    assert [seen.verb for seen in channel.log] == ["post", "edit"]


async def test_what_was_said_to_the_end_waits_for_its_buttons_and_not_for_longer_than_a_second(
    clock: FakeClock,
) -> None:
    channel = RecordingChannel(clock)
    view = View(channel, clock)
    view.write(SAID)
    view.rest()
    await clock.advance(0.9)
    assert not channel.log
    await clock.advance(0.1)
    assert writes(channel) == [(1.0, "post", False)]
    await view.complete()
    await view.close()


async def test_an_answer_is_not_begun_while_it_is_stored(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> None:
    """A model has ended, and a slow disk keeps what it said."""
    store = Log.store

    async def slowly(log: Log, message: Message) -> None:
        await clock.sleep(0.4)
        await store(log, message)

    house = House({Task.DECIDE: ["Finish"], Task.FINISH: [SAID]}, clock=clock, limits=QUIET)
    channel = house.channel()
    monkeypatch.setattr(Log, "store", slowly)
    async with house.chatbot() as bot:
        answered = await bot.receive(house.incoming("hello"), channel)
        await clock.advance(0.4)
        await answered
    assert writes(channel) == [(0.4, "post", True)]


@pytest.mark.parametrize("said", ["remember that the key is 1111", "what is the key?", "hello", "/help", "/memories"])
async def test_without_a_model_nothing_waits_and_everything_is_written_once(said: str) -> None:
    house = House(limits=QUIET)
    house.answered_by(limited_mind())
    channel = await house.say(said)
    assert writes(channel) == [(0.0, "post", True)]
