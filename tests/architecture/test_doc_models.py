"""docs/models.md says what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.models.metering import load_prices
from bot.models.presets import PROVIDERS, TRANSCRIBERS, example
from bot.settings.models import ModelSettings
from core.dialogue import Usage
from tests.pages import MODELS, README, ROOT, with_models

PAGE = MODELS.read_text(encoding="utf-8")


def test_every_provider_is_shown_by_a_setting_that_works() -> None:
    shown = set(re.findall(r"`MODEL=([a-z]+):", PAGE))
    assert shown == set(PROVIDERS)


def test_the_models_of_readme_and_page_are_those_of_the_presets() -> None:
    for page in (README, MODELS):
        text = page.read_text(encoding="utf-8")
        assert text == with_models(text), "run: make fix"
        assert "MODEL=" in text


@pytest.mark.parametrize(
    "page", [*(ROOT / "docs").glob("*.md"), README, ROOT / ".env.example"], ids=lambda page: page.name
)
def test_a_page_names_models_of_presets_and_price_table_alone(page: Path) -> None:
    known = {*map(example, PROVIDERS), *TRANSCRIBERS, *load_prices().models, "ollama:qwen3:8b"}
    named = re.findall(rf"\b(?:{'|'.join(PROVIDERS)}):[\w./:-]*\d[\w./:-]*", page.read_text(encoding="utf-8"))
    assert {name for name in named if "//" not in name} <= known


def test_every_setting_named_exists() -> None:
    named = {name.lower() for name in re.findall(r"\b(?:MODEL|[A-Z]+_API_KEY|[A-Z]+_BASE_URL)(?:_[A-Z]+)*\b", PAGE)}
    assert named
    assert named <= ModelSettings.model_fields.keys()


def test_the_price_table_of_the_page_is_one(tmp_path: Path) -> None:
    (table,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "prices.json"
    path.write_text(table, encoding="utf-8")
    prices = load_prices(path)
    assert prices.cost_usd("openrouter:any", Usage(1_000_000, 0)) == 1.0
