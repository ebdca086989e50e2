"""Settings: from the environment and `.env`; a wrong one stops the start with its name and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.settings.settings import Settings, load
from core.errors import ConfigError
from core.types import Locale


def test_without_any_setting_everything_has_a_default() -> None:
    settings = load(None)
    assert settings.data_dir.is_absolute()
    assert settings.locale is None


def test_the_environment_beats_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = tmp_path / ".env"
    env.write_text("MAX_STEPS=3\nLANGUAGE=es\nACTIONS_OFF=MemoryDelete, Question\n", encoding="utf-8")
    monkeypatch.setenv("MAX_STEPS", "5")
    settings = load(env)
    assert settings.max_steps == 5
    assert settings.locale is Locale.ES
    assert settings.actions_off == ("MemoryDelete", "Question")


@pytest.mark.spec("D3")
@pytest.mark.parametrize(
    ("name", "value"),
    [("MAX_STEPS", "0"), ("LANGUAGE", "gobbledygook"), ("TURN_TIMEOUT_S", "soon"), ("LOG_LEVEL", "LOUD")],
)
def test_a_wrong_setting_is_named(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as failure:
        load(None)
    assert failure.value.setting == name
    assert failure.value.advice


def test_every_setting_says_what_it_is_for() -> None:
    assert [name for name, entry in Settings.model_fields.items() if not entry.description] == []
