"""What a provider's list of models tells: windows and prices, in the forms of those who have them, asked for beside."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from bot.models.chains import Chains, Listed, build_chains, find
from bot.models.metering import Price
from bot.settings.models import ModelSettings, model_name
from core.dialogue import Usage
from core.history.tokens import Calibration
from tests.fakes.clock import FakeClock
from tests.fakes.http_server import Answer, LoopbackServer

OPENROUTER = {
    "data": [
        {
            "id": "acme/large",
            "context_length": 131072,
            "top_provider": {"context_length": 65536},
            "pricing": {"prompt": "0.0000004", "completion": "0.0000016", "input_cache_read": "0.00000004"},
        },
        {"id": "acme/auto", "context_length": 2000000, "pricing": {"prompt": "-1", "completion": "-1"}},
    ]
}


@pytest.mark.parametrize(
    ("listing", "model", "alone", "told"),
    [
        (OPENROUTER, "acme/large", False, Listed(131_072, Price(0.4, 1.6, 0.04))),
        (OPENROUTER, "acme/auto", False, Listed(2_000_000)),
        (OPENROUTER, "acme/other", False, Listed()),
        ({"data": [{"id": "m", "context_window": 131072, "active": True}]}, "m", False, Listed(131_072)),
        ({"data": [{"id": "m", "max_context_length": 32768}]}, "m", False, Listed(32_768)),
        ({"data": [{"id": "m", "max_model_len": 8192}]}, "m", False, Listed(8_192)),
        ({"data": [{"id": "models/m", "inputTokenLimit": 1048576}]}, "m", False, Listed(1_048_576)),
        ({"data": [{"id": "a.gguf", "meta": {"n_ctx_train": 131072, "n_ctx": 4096}}]}, "any", True, Listed(4_096)),
        ({"data": [{"id": "a.gguf", "meta": {"n_ctx_train": 131072}}]}, "any", True, Listed()),
        ({"data": [{"id": "a", "context_length": 9000}, {"id": "b"}]}, "any", True, Listed()),
        (
            {"data": [{"id": "m", "context_length": "many", "pricing": {"prompt": "?", "completion": 1}}]},
            "m",
            False,
            Listed(),
        ),
        ({"data": [None, 7, {"context_length": -1, "id": "m", "meta": 3}]}, "m", False, Listed()),
        ("<html>", "m", True, Listed()),
        (None, "m", True, Listed()),
    ],
)
def test_what_a_list_tells(listing: object, model: str, alone: bool, told: Listed) -> None:
    assert find(listing, model, alone=alone) == told


@asynccontextmanager
async def chains_of(
    listing: object, *, status: int = 200, **settings: Any
) -> AsyncIterator[tuple[Chains, Calibration]]:
    server, calibration = LoopbackServer([], listed=Answer(status, {}, json.dumps(listing).encode())), Calibration()

    async def record(_: object) -> None:
        raise AssertionError("a list costs nothing")

    async with server.running(), AsyncExitStack() as stack:
        address: dict[str, Any] = {f"{name}_base_url": server.url for name in ("openrouter", "llamacpp", "openai")}
        given = ModelSettings(**address, **settings | {"openrouter_api_key": "k"})
        yield await build_chains(given, FakeClock(), stack, record, calibration), calibration
        assert not server.asked, "no model is asked"


def names(*written: str) -> list[Any]:
    return [model_name(each, "MODEL") for each in written]


async def test_the_window_bounds_prompts_and_the_price_tells_costs() -> None:
    async with chains_of(OPENROUTER) as (chains, calibration):
        name = "openrouter:acme/large"
        assert calibration.window(name) is None
        dearest = chains.prices.cost_usd(name, Usage(1_000_000))
        await chains.read_lists(names(name, "limited"))
        assert calibration.window(name) == 131_072
        assert chains.prices.of(name) == Price(0.4, 1.6, 0.04)
        assert chains.prices.cost_usd(name, Usage(1_000_000)) == pytest.approx(0.4) != dearest


async def test_what_the_settings_tell_stands() -> None:
    async with chains_of(OPENROUTER, model="openrouter:acme/large", model_context_tokens=8_000) as (chains, known):
        chains.models()
        await chains.read_lists(names("openrouter:acme/large"))
        assert known.window("openrouter:acme/large") == 8_000


async def test_a_server_of_ones_own_tells_the_window_that_it_serves() -> None:
    async with chains_of({"data": [{"id": "a.gguf", "meta": {"n_ctx": 6144}}]}) as (chains, calibration):
        await chains.read_lists(names("llamacpp:any"))
        assert calibration.window("llamacpp:any") == 6_144


@pytest.mark.parametrize(("listing", "status"), [({}, 404), ({}, 500), ("nothing", 200), ([], 200)])
async def test_without_a_list_nothing_is_learnt_and_nothing_fails(listing: object, status: int) -> None:
    async with chains_of(listing, status=status) as (chains, calibration):
        await chains.read_lists(names("openrouter:acme/large", "openai:m"))
        assert calibration.window("openrouter:acme/large") is None
        assert not chains.prices.listed
