"""The pacer of Discord: never more than what the headers allow, whatever they say."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict
from yarl import URL

from adapters.discord.pacer import GROWING, LAST, WHOLE, Pacer, budget
from core.errors import ChannelBusy
from core.workers.port import Worker
from tests.fakes.clock import FakeClock
from tests.fakes.discord_limits import Limits

NAME = "PATCH /channels/1/messages/*"


def test_a_budget_is_a_route_without_the_message_that_it_is_about() -> None:
    assert budget("PATCH", "/api/v10/channels/1/messages/2") == NAME
    assert budget("POST", "/api/v10/channels/1/messages/2/threads") == "POST /channels/1/messages/*/threads"
    assert budget("PATCH", "/proxy/webhooks/4/token/messages/@original") == "PATCH /webhooks/4/token/messages/*"
    assert budget("GET", "/api/v10/users/@me") == "GET /api/v10/users/@me"


async def tell(
    pacer: Pacer,
    status: int,
    headers: dict[str, str],
    request_headers: dict[str, str] | None = None,
    name: str = "PATCH /channels/1/messages/2",
) -> None:
    """Let the pacer see the response to a request of that budget."""
    response = SimpleNamespace(status=status, headers=CIMultiDict(headers))
    method, path = name.split()
    url = URL(f"http://x/api/v10{path}")
    params = aiohttp.TraceRequestEndParams(method, url, CIMultiDict(request_headers or {}), cast("Any", response))
    [ended] = pacer.trace().on_request_end
    await ended(cast("Any", None), SimpleNamespace(), params)


@given(per_window=st.integers(1, 6), window_s=st.floats(1.0, 20.0), pauses=st.lists(st.floats(0.0, 3.0), max_size=60))
async def test_a_bucket_is_never_overdrawn_and_its_last_request_never_spent(
    per_window: int, window_s: float, pauses: list[float]
) -> None:
    clock, limits = FakeClock(auto=True), Limits(per_window, window_s)
    pacer = Pacer(clock, Worker())
    for pause_s in pauses:
        await clock.sleep(pause_s)
        try:
            await pacer.admit(NAME)
        except ChannelBusy as error:
            asked_s = error.retry_after_s
        else:
            asked_s = 0.0
        assert 0 <= asked_s <= window_s + 0.1
        if asked_s:
            continue
        wait_s, _, headers = limits.spend("PATCH 1/2", clock.monotonic())
        assert not wait_s
        assert int(headers["X-RateLimit-Remaining"]) >= min(per_window - 1, 1)
        await tell(pacer, 200, dict(headers))


async def test_all_requests_together_are_forty_in_any_second() -> None:
    clock = FakeClock(auto=True)
    pacer = Pacer(clock, Worker())
    made_s = list[float]()
    while clock.monotonic() < 5.0:
        await pacer.admit("POST /interactions")
        made_s.append(clock.monotonic())
    in_a_second = [sum(at_s <= other < at_s + 1.0 for other in made_s) for at_s in made_s]
    assert max(in_a_second) == 40
    assert len(made_s) >= 5 * 35


async def test_what_it_asks_to_wait_is_enough() -> None:
    clock = FakeClock()
    pacer = Pacer(clock, Worker())
    await pacer.admit(NAME)
    await tell(pacer, 200, {"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "1", "X-RateLimit-Reset-After": "4.2"})
    with pytest.raises(ChannelBusy) as busy:
        await pacer.admit(NAME)
    await pacer.admit("PATCH /channels/2/messages/*")  # another channel does not wait
    await clock.advance(busy.value.retry_after_s)
    await pacer.admit(NAME)


async def test_answers_that_overtake_each_other_do_not_bring_a_spent_request_back() -> None:
    clock = FakeClock()
    pacer = Pacer(clock, Worker())
    window = {"X-RateLimit-Limit": "5", "X-RateLimit-Reset-After": "5"}
    await tell(pacer, 200, window | {"X-RateLimit-Remaining": "2"})
    await tell(pacer, 200, window | {"X-RateLimit-Remaining": "3"})
    await pacer.admit(NAME)
    with pytest.raises(ChannelBusy):
        await pacer.admit(NAME)


async def test_a_new_window_is_known_by_its_end_even_where_the_old_one_seemed_to_last() -> None:
    clock = FakeClock()
    pacer = Pacer(clock, Worker())
    window = {"X-RateLimit-Limit": "5", "X-RateLimit-Reset-After": "5"}
    await tell(pacer, 200, window | {"X-RateLimit-Remaining": "2"})
    await clock.advance(5.0)
    await tell(pacer, 200, window | {"X-RateLimit-Remaining": "4"})
    for _ in range(3):
        await pacer.admit(NAME)
    with pytest.raises(ChannelBusy):
        await pacer.admit(NAME)


async def test_a_refusal_is_raised_with_the_wait_it_names_and_one_without_a_name_waits_a_minute() -> None:
    pacer = Pacer(FakeClock(), Worker())
    for headers, wait_s in ({"Via": "1.1", "Retry-After": "3"}, 3.0), ({}, 60.0):
        with pytest.raises(ChannelBusy) as busy:
            await tell(pacer, 429, headers)
        assert busy.value.retry_after_s == wait_s


async def test_the_gateways_own_connection_is_none_of_its_business() -> None:
    pacer = Pacer(FakeClock(), Worker())
    await tell(pacer, 503, {}, {"Upgrade": "websocket"})
    await pacer.admit(NAME)


async def test_a_thousand_channels_that_fell_silent_are_not_kept_in_mind() -> None:
    clock = FakeClock()
    pacer = Pacer(clock, Worker())
    headers = {"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "4", "X-RateLimit-Reset-After": "5"}
    [ended] = pacer.trace().on_request_end
    for channel in range(3000):
        response = SimpleNamespace(status=200, headers=CIMultiDict(headers))
        url = URL(f"http://x/channels/{channel}/messages")
        params = aiohttp.TraceRequestEndParams("POST", url, CIMultiDict(), cast("Any", response))
        await ended(cast("Any", None), SimpleNamespace(), params)
        await clock.advance(0.1)
    assert len(pacer) <= 1024


async def test_once_a_whole_text_was_held_back_those_that_still_change_are_until_it_is_written() -> None:
    clock = FakeClock()
    pacer = Pacer(clock, Worker())
    window = {"X-RateLimit-Limit": "5", "X-RateLimit-Reset-After": "5"}
    await tell(pacer, 200, window | {"X-RateLimit-Remaining": "1"})
    with pytest.raises(ChannelBusy):
        await pacer.admit(NAME, GROWING)
    with pytest.raises(ChannelBusy) as busy:
        await pacer.admit(NAME, WHOLE)
    await clock.advance(busy.value.retry_after_s)
    with pytest.raises(ChannelBusy) as yields:
        await pacer.admit(NAME, GROWING)
    await pacer.admit(NAME, WHOLE)
    await tell(pacer, 200, window | {"X-RateLimit-Remaining": "4"})
    await clock.advance(yields.value.retry_after_s)
    await pacer.admit(NAME, GROWING)


async def test_what_may_still_change_leaves_two_requests_and_what_was_stopped_takes_the_last() -> None:
    window = {"X-RateLimit-Limit": "5", "X-RateLimit-Reset-After": "5"}
    for remaining, refused in ((3, ()), (2, (GROWING,)), (1, (GROWING, WHOLE)), (0, (GROWING, WHOLE, LAST))):
        for leaves in (GROWING, WHOLE, LAST):
            pacer = Pacer(FakeClock(), Worker())
            await tell(pacer, 200, window | {"X-RateLimit-Remaining": str(remaining)})
            if leaves not in refused:
                await pacer.admit(NAME, leaves)
                continue
            with pytest.raises(ChannelBusy) as busy:
                await pacer.admit(NAME, leaves)
            assert busy.value.retry_after_s >= 5.0
            assert (busy.value.whole_after_s > 0) == (WHOLE in refused), "a whole text need not wait with it"


async def test_what_may_still_change_leaves_half_of_the_bots_burst_and_lets_others_go_first() -> None:
    clock, gone = FakeClock(), list[str]()
    pacer = Pacer(clock, Worker())

    async def ask(name: str, leaves: int) -> None:
        await pacer.admit(f"POST /channels/{name}/messages", leaves)
        gone.append(name)

    growing = [asyncio.create_task(ask(f"growing {number}", GROWING)) for number in range(4)]
    await asyncio.sleep(0)
    whole = [asyncio.create_task(ask(f"whole {number}", WHOLE)) for number in range(3)]
    await asyncio.sleep(0)
    assert gone == ["growing 0", "growing 1", "whole 0", "whole 1", "whole 2"]
    await clock.advance(1.0)
    await asyncio.gather(*growing, *whole)
    waiting = [asyncio.create_task(ask(f"later {number}", WHOLE)) for number in range(20)]
    await asyncio.sleep(0)
    with pytest.raises(ChannelBusy) as busy:
        await pacer.admit("POST /channels/30/messages", GROWING)
    assert busy.value.whole_after_s < busy.value.retry_after_s
    for task in waiting:
        task.cancel()


async def test_requests_of_one_channel_go_one_after_another_and_acknowledgements_do_not() -> None:
    pacer = Pacer(FakeClock(), Worker())
    async with pacer.turn(NAME):
        async with pacer.turn("POST /interactions"), pacer.turn("POST /interactions"):
            pass
        second = asyncio.create_task(pacer.turn(NAME).__aenter__())
        await asyncio.sleep(0)
        assert not second.done()
    await second
