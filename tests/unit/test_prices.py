"""What a call costs and what is not known of it; what a provider's list of models tells of both."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.chains import Chains, Listed, build_chains, find
from bot.models.metering import Price, Prices, load_prices, prices_of
from bot.models.presets import PROVIDERS, example
from bot.settings.models import ModelSettings, model_name
from core.dialogue import Usage
from core.errors import ConfigError
from core.history.tokens import Calibration
from tests.fakes.clock import FakeClock
from tests.fakes.http_server import Answer, LoopbackServer

HAIKU = "anthropic:claude-haiku-5-5"


def test_the_shipped_table_says_its_date() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", load_prices().date)


M = 1e6


@pytest.mark.parametrize(
    ("model", "usage", "cost"),
    [
        (HAIKU, Usage(10_000, 1_000, 4_000, 900), (6_000 * 0.10 + 4_000 * 0.01 + 1_000 * 0.50) / M),
        (HAIKU, Usage(100_000, 0), 0.01),
        (HAIKU, Usage(100_001, 0), 0.0500005),  # a long call has another rate, as a whole
        (HAIKU, Usage(80_000, 0, cache_write_tokens=80_000), 0.01),
        ("openai:gpt-6.1-sol", Usage(200_000, 0, cache_write_tokens=100_000), 0.45),
        (
            "anthropic:claude-opus-5-5",
            Usage(1_000_000, 10_000, cached_tokens=950_000, cache_write_tokens=50_000),
            (950_000 * 0.20 + 50_000 * 5.00 + 10_000 * 20.00) / M,
        ),
        (HAIKU, None, None),  # what was not counted is not zero
        ("ollama:qwen3:8b", None, 0.0),
        ("ollama:qwen3:8b", Usage(10, 10), 0.0),
    ],
)
def test_input_output_and_what_a_cache_gives_and_takes_have_their_own_prices(
    model: str, usage: Usage | None, cost: float | None
) -> None:
    assert load_prices().cost_usd(model, usage) == (None if cost is None else pytest.approx(cost))


def test_input_from_a_cache_without_a_price_of_its_own_is_priced_as_any_input() -> None:
    prices = Prices("2026-11-27", {"openrouter:x": Price(4.0, 20.0)})
    assert prices.cost_usd("openrouter:x", Usage(1_000_000, 0, cached_tokens=500_000)) == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("model", "dearest"),
    [
        ("anthropic:claude-99", "anthropic:claude-opus-5-5"),
        ("openrouter:x/y", "openai:gpt-6-astra"),
    ],
)
def test_a_model_without_a_price_counts_as_the_dearest_of_its_provider_or_of_all(model: str, dearest: str) -> None:
    prices, usage = load_prices(), Usage(10, 10)
    assert prices.of(model) is None
    assert prices.cost_usd(model, usage) == prices.cost_usd(dearest, usage)


def test_a_model_without_a_price_at_a_server_of_the_owners_has_an_unknown_cost() -> None:
    prices = prices_of(ModelSettings(openai_base_url="http://10.0.0.7:8000"))
    assert prices.cost_usd("openai:mine", Usage(10, 10)) is None
    assert prices.cost_usd("gemini:mine", Usage(10, 10)) is not None


def test_every_model_that_pages_name_has_a_price_of_the_table() -> None:
    prices = load_prices()
    assert prices.source
    sold = [example(name) for name, preset in PROVIDERS.items() if preset.key_setting]
    assert [name for name in sold if prices.of(name) is None] == ["openrouter:VENDOR/NAME"]


PRICES = load_prices()


@given(st.integers(0, 10**7), st.integers(0, 10**6), st.data())
def test_a_cost_is_never_negative_and_caching_never_dearer(asked: int, said: int, data: st.DataObject) -> None:
    cached = data.draw(st.integers(0, asked))
    for model in PRICES.models:
        warm = PRICES.cost_usd(model, Usage(asked, said, cached))
        cold = PRICES.cost_usd(model, Usage(asked, said))
        assert warm is not None
        assert cold is not None
        assert 0 <= warm <= cold + 1e-12


def own(folder: Path, table: Any) -> Path:
    path = folder / "prices.json"
    path.write_text(table if isinstance(table, str) else json.dumps(table), encoding="utf-8")
    return path


def test_the_owners_entries_go_over_the_shipped_ones(tmp_path: Path) -> None:
    table = {
        "date": "2027-01-01",
        "models": {HAIKU: {"input": 1, "output": 2}, "openrouter:*": {"input": 3, "output": 4}},
    }
    prices = load_prices(own(tmp_path, table))
    assert prices.date == "2027-01-01"
    assert prices.cost_usd(HAIKU, Usage(1_000_000, 1_000_000)) == pytest.approx(3.0)
    assert prices.cost_usd("openrouter:x/y", Usage(1_000_000, 0)) == pytest.approx(3.0)
    assert prices.cost_usd("openai:gpt-6-luna", Usage(1_000_000, 0)) is not None


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("{", "the file"),
        ({"models": {}}, "date"),
        ({"date": "x", "models": {HAIKU: {"input": -1, "output": 2}}}, "input"),
        ({"date": "x", "models": {HAIKU: {"input": 1}}}, "output"),
    ],
)
def test_a_table_that_is_none_is_named_with_what_is_wrong(tmp_path: Path, table: Any, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_prices(own(tmp_path, table))
    assert caught.value.setting == "MODEL_PRICES"
    assert said in caught.value.advice


def test_a_table_that_is_not_there_is_a_wrong_setting(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="MODEL_PRICES"):
        load_prices(tmp_path / "none.json")


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
