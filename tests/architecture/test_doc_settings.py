"""`.env.example` is what the settings say, and reading it gives the defaults."""

from __future__ import annotations

from pathlib import Path

from bot.settings.settings import Settings, load
from tests.env_example import render

EXAMPLE = Path(__file__).parents[2] / ".env.example"


def test_the_example_lists_every_setting_as_it_is() -> None:
    assert EXAMPLE.read_text(encoding="utf-8") == render(), "run: make fix"
    for name in Settings.model_fields:
        assert f"\n{name.upper()}=" in render()


def test_the_example_as_env_gives_the_defaults() -> None:
    assert load(EXAMPLE) == load(None)
