"""What a call costs, and what is not known of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.metering import Price, Prices, load_prices, prices_of
from bot.models.presets import PROVIDERS, example
from bot.settings.models import ModelSettings
from core.dialogue import Usage
from core.errors import ConfigError

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
