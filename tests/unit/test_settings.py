"""Settings: from the environment and `.env`; a wrong one stops the start with its name and what to write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bot.settings import env_file
from bot.settings.env_file import env_path
from bot.settings.settings import Settings, load, unknown_settings
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


@pytest.mark.parametrize("name", ["DATA_DIR", "LOG_DIR", "MODEL_PRICES"])
def test_relative_paths_count_from_the_folder_of_the_file(name: str, tmp_path: Path) -> None:
    env = tmp_path / "here.env"
    env.write_text(f"{name}=below/it\n", encoding="utf-8")
    assert getattr(load(env), name.lower()) == tmp_path / "below" / "it"
    env.write_text(f"{name}=/elsewhere\n", encoding="utf-8")
    assert getattr(load(env), name.lower()) == Path("/elsewhere")
    env.write_text(f"{name}=~/mine\n", encoding="utf-8")
    assert getattr(load(env), name.lower()) == Path.home() / "mine"


def test_the_file_is_the_same_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ELEFANTE_ENV")
    monkeypatch.setattr(env_file, "PROJECT", tmp_path / "project")
    assert env_path() == tmp_path / ".env"  # the program was installed as a package
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "pyproject.toml").touch()
    (tmp_path / ".env").write_text("MAX_STEPS=7\n", encoding="utf-8")
    assert env_path() == tmp_path / "project" / ".env"
    assert load().max_steps == 8
    env_path().write_text("MAX_STEPS=3\n", encoding="utf-8")
    assert load().max_steps == 3
    monkeypatch.setenv("ELEFANTE_ENV", ".env")
    assert env_path() == tmp_path / ".env"
    assert load().max_steps == 7


def test_a_named_file_that_is_missing_or_unreadable_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELEFANTE_ENV", str(tmp_path / "none.env"))
    with pytest.raises(ConfigError, match=r"ELEFANTE_ENV: there is no file .*none\.env; `elefante setup`"):
        load()
    assert env_path() == tmp_path / "none.env"  # where set-up makes it
    env_path().write_bytes(b"MODEL=\xff\n")
    with pytest.raises(ConfigError, match=r"none\.env cannot be read: it is not UTF-8"):
        load()


@pytest.mark.spec("D3")
def test_a_setting_that_does_not_exist_is_named_with_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = tmp_path / ".env"
    env.write_text("TELEGRAM_TOKN=1:a\nmax_steps=3\nHELLO=1\nMODEL_CHAT_TEMPERATURE=0.5\n", encoding="utf-8")
    environment = {
        "TELEGRAM_BOT_TOKEN": "1:a",
        "OPENAI_API_BASE": "x",
        "TOKN": "x",
        "HOME": "/",
        "MODEL": "",
        "data_dir": "",
    }
    monkeypatch.setattr(os, "environ", environment | {"ELEFANTE_ENV": str(env)})
    assert unknown_settings() == [
        f"TELEGRAM_TOKN in {env} is not a setting; write TELEGRAM_TOKEN",
        f"HELLO in {env} is not a setting",
        f"MODEL_CHAT_TEMPERATURE in {env} is not a setting; write MODEL_TEMPERATURE",
        "TELEGRAM_BOT_TOKEN in the environment is not a setting; write TELEGRAM_TOKEN",
    ]
    monkeypatch.setattr(os, "environ", {"ELEFANTE_ENV": os.devnull})
    assert unknown_settings() == []


@pytest.mark.spec("D3")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_STEPS", "0"),
        ("LANGUAGE", "gobbledygook"),
        ("TURN_TIMEOUT_S", "soon"),
        ("LOG_LEVEL", "LOUD"),
        ("WAITING_REACTION", "eyes"),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as failure:
        load(None)
    assert failure.value.setting == name
    assert failure.value.advice


def test_every_setting_says_what_it_is_for() -> None:
    assert [name for name, entry in Settings.model_fields.items() if not entry.description] == []
