"""Settings: from the environment and `.env`; a wrong one stops the start with its name and what to write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bot.models.presets import PROVIDERS
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


@pytest.mark.spec("D3", "J7")
@pytest.mark.parametrize(
    ("environment", "setting", "advice"),
    [
        ({"MAX_STEPS": "0"}, "MAX_STEPS", ""),
        ({"LANGUAGE": "gobbledygook"}, "LANGUAGE", "de, pt-BR or German"),
        ({"TURN_TIMEOUT_S": "soon"}, "TURN_TIMEOUT_S", ""),
        ({"LOG_LEVEL": "LOUD"}, "LOG_LEVEL", ""),
        ({"WAITING_REACTION": "eyes"}, "WAITING_REACTION", "one emoji"),
        ({"TELEGRAM_TOKEN": "hunter2"}, "TELEGRAM_TOKEN", "@BotFather"),
        ({"MODEL": "claude-haiku-5-5"}, "MODEL", "write provider:model"),
        ({"MODEL_CHAT": "skynet:1"}, "MODEL_CHAT", ", ".join(PROVIDERS)),
        ({"MODEL_SUMMARY": "openai:"}, "MODEL_SUMMARY", "openai:NAME"),
        ({"MODEL": "anthropic:x"}, "ANTHROPIC_API_KEY", "https://platform.claude.com"),
        ({"MODEL_REASONING": "ollama:x,openai:y"}, "OPENAI_API_KEY", "MODEL_REASONING names openai:y"),
        ({"MODEL": "gemini:x", "GEMINI_API_KEY": " "}, "GEMINI_API_KEY", "https://aistudio.google.com"),
        ({"MODEL": "openai:x", "OPENAI_BASE_URL": "localhost:80"}, "OPENAI_BASE_URL", "http://"),
        ({"MODEL": "openai:x", "OPENAI_BASE_URL": "http://"}, "OPENAI_BASE_URL", "http://"),
        ({"MODEL_EMBEDDING": "anthropic:x"}, "MODEL_EMBEDDING", "no embeddings"),
        ({"MODEL_EMBEDDING": "limited"}, "MODEL_EMBEDDING", "no embeddings"),
        ({"MODEL_EMBEDDING": "openai:text-embedding-3-small"}, "OPENAI_API_KEY", "MODEL_EMBEDDING names"),
        ({"MODEL_EMBEDDING": "ollama:my-own"}, "MODEL_EMBEDDING_DIMS", "my-own"),
        ({"MODEL_CHAT_EFFORT": "lots"}, "MODEL_CHAT_EFFORT", ""),
        ({"MODEL_CHAT_VERBOSITY": "chatty"}, "MODEL_CHAT_VERBOSITY", ""),
        ({"MODEL_TEMPERATURE": "1.5"}, "MODEL_TEMPERATURE", ""),
        ({"MODEL_CHAT_MAX_TOKENS": "0"}, "MODEL_CHAT_MAX_TOKENS", ""),
        ({"MODEL_TIMEOUT_S": "4"}, "MODEL_TIMEOUT_S", ""),
        ({"MODEL_EMBEDDING_DIMS": "1"}, "MODEL_EMBEDDING_DIMS", ""),
        ({"MODEL": "sk-secret"}, "MODEL", "write provider:model"),
    ],
)
def test_what_is_wrong_is_named_with_what_to_write_and_a_key_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], setting: str, advice: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as refused:
        load(None)
    assert refused.value.setting == setting
    assert refused.value.advice
    assert advice in refused.value.advice
    assert "sk-secret" not in str(refused.value)


def test_every_setting_says_what_it_is_for() -> None:
    assert [name for name, entry in Settings.model_fields.items() if not entry.description] == []
