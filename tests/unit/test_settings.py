"""Settings: from the environment and `.env`; a wrong one stops the start with its name and what to write."""

from __future__ import annotations

import os
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from bot.models.presets import PROVIDERS
from bot.settings import env_file
from bot.settings.env_file import env_path
from bot.settings.settings import Settings, load, unknown_settings
from core.dialogue import switched_off
from core.errors import ConfigError
from core.features.quotas.limits import Limit
from core.features.reminders.service import Limits
from core.types import Locale
from tests.fakes.house import House


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
    ("written", "setting", "advice"),
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
        ({"DISCORD_TOKEN": "not a token"}, "DISCORD_TOKEN", ""),
        ({"DISCORD_ROOMS": "#geral"}, "DISCORD_ROOMS", "Copy ID"),
        ({"DISCORD_API_BASE_URL": "discord.com"}, "DISCORD_API_BASE_URL", "https://"),
        ({"DISCORD_GATEWAY_URL": "https://gateway.discord.gg"}, "DISCORD_GATEWAY_URL", "wss://"),
        ({"DISCORD_EDIT_INTERVAL_S": "0.1"}, "DISCORD_EDIT_INTERVAL_S", ""),
        ({"TELEGRAM_API_BASE_URL": "localhost:8081"}, "TELEGRAM_API_BASE_URL", "http://"),
        ({"TELEGRAM_WEBHOOK_URL": "http://bot.example.org"}, "TELEGRAM_WEBHOOK_URL", "https"),
        ({"TELEGRAM_WEBHOOK_CERT": "cert.pem"}, "TELEGRAM_WEBHOOK_KEY", "come together"),
        ({"TELEGRAM_GROUP_EDIT_INTERVAL_S": "0.1"}, "TELEGRAM_GROUP_EDIT_INTERVAL_S", ""),
        ({"TELEGRAM_WEBHOOK_PORT": "0"}, "TELEGRAM_WEBHOOK_PORT", ""),
        *(
            ({name: "tokens_day=5 tokens_week=5"}, name, "'tokens_week=5' is no limit; write some of messages_min")
            for name in ("QUOTA_PERSON", "QUOTA_GUEST", "QUOTA_ROOM", "QUOTA_BOT")
        ),
        *(
            ({"TIMEZONE": zone}, "TIMEZONE", "there is no time zone")
            for zone in ("Lisbon", "America", "../../etc/passwd", "/usr/share/zoneinfo/UTC", "Europe/Lisbon\0")
        ),
        ({"MAX_REMINDERS": "-1"}, "MAX_REMINDERS", ""),
        ({"MAX_REMINDERS": "many"}, "MAX_REMINDERS", ""),
        ({"REMINDER_MIN_INTERVAL_S": "59"}, "REMINDER_MIN_INTERVAL_S", ""),
    ],
)
def test_what_is_wrong_is_named_with_what_to_write_and_no_secret_is_shown(
    written: dict[str, str], setting: str, advice: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        load(None, **{name.lower(): value for name, value in written.items()})
    assert refused.value.setting == setting
    assert refused.value.advice
    assert advice in refused.value.advice
    assert not any(secret in str(refused.value) for secret in ("sk-secret", "hunter2", "not a token"))


def test_every_setting_says_what_it_is_for() -> None:
    assert [name for name, entry in Settings.model_fields.items() if not entry.description] == []


# --- platforms


def test_without_a_token_there_is_no_platform() -> None:
    assert load(None).discord() is None
    assert load(None).telegram() is None
    assert load(None, telegram_token="  ").telegram() is None


@pytest.mark.spec("D3")
def test_what_is_written_reaches_discord(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCORD_TOKEN", " MTIz.abc-_1.x ")
    monkeypatch.setenv("DISCORD_ROOMS", "123, 456,")
    monkeypatch.setenv("DISCORD_AUTO_THREAD", "true")
    monkeypatch.setenv("DISCORD_EDIT_INTERVAL_S", "2.5")
    config = load(None).discord()
    assert config is not None
    assert (config.token, config.rooms, config.auto_thread) == ("MTIz.abc-_1.x", frozenset({123, 456}), True)
    assert (config.edit_interval_s, config.shards) == (2.5, 0)
    assert "abc-_1" not in repr(config)


def test_what_is_written_reaches_telegram_and_the_token_is_not_shown() -> None:
    settings = load(
        None,
        telegram_token=" 123:abc_DEF-9 ",
        telegram_api_base_url="http://127.0.0.1:8081",
        telegram_edit_interval_s=2.0,
        telegram_group_edit_interval_s=5.0,
        telegram_drafts=True,
        telegram_max_age_s=900,
        waiting_reaction="🤔",
    )
    config = settings.telegram()
    assert config is not None
    assert config.stop_button
    assert config.waiting_reaction == "🤔"
    assert config.token == "123:abc_DEF-9"
    assert config.base_url == "http://127.0.0.1:8081"
    assert (config.private.edit_interval_s, config.group.edit_interval_s) == (2.0, 5.0)
    assert (config.drafts, config.max_age_s, config.webhook) == (True, 900.0, None)
    assert "abc_DEF" not in repr(config)
    assert "abc_DEF" not in repr(settings)


def test_a_stop_button_can_be_left_out() -> None:
    config = load(None, telegram_token="123:abc_DEF-9", telegram_stop_button=False).telegram()
    assert config is not None
    assert not config.stop_button


def test_a_webhook_is_told_where_to_listen_and_with_what() -> None:
    config = load(
        None,
        telegram_token="1:a",
        telegram_webhook_url="https://bot.example.org/hook",
        telegram_webhook_port=9000,
        telegram_webhook_cert="cert.pem",
        telegram_webhook_key="key.pem",
    ).telegram()
    assert config is not None
    assert config.webhook is not None
    assert (config.webhook.url, config.webhook.host, config.webhook.port) == (
        "https://bot.example.org/hook", "127.0.0.1", 9000,
    )  # fmt: skip
    assert (config.webhook.cert, config.webhook.key) == (Path("cert.pem").absolute(), Path("key.pem").absolute())


def test_a_reaction_that_telegram_does_not_take_is_named_at_the_start_and_none_is_none() -> None:
    with pytest.raises(ConfigError, match="cannot react with 🦖; write none or one of 👍"):
        load(None, telegram_token="123:abc", waiting_reaction="🦖").telegram()
    quiet = load(None, telegram_token="123:abc", waiting_reaction="None").telegram()
    assert quiet is not None
    assert not quiet.waiting_reaction


# --- limits


def test_guests_are_limited_and_nobody_is_unlimited_in_messages_a_minute() -> None:
    limits = load(None).quotas()
    for own in (limits.person, limits.guest, limits.room, limits.bot):
        assert own[Limit.MESSAGES_MINUTE] > 0
    assert set(limits.guest) == {Limit.MESSAGES_MINUTE, Limit.TOKENS_DAY, Limit.TOKENS_MONTH}
    assert load(None).zone().key == "UTC"


def test_limits_that_are_set_hold() -> None:
    settings = load(None, quota_bot="cost_month=2.50 tokens_day=0", quota_person="none", timezone=" Europe/Lisbon ")
    assert settings.quotas().bot == {Limit.COST_MONTH: Decimal("2.50"), Limit.TOKENS_DAY: 0}
    assert settings.quotas().person == {}
    assert settings.zone().key == "Europe/Lisbon"


def test_limits_of_reminders_that_are_set_hold() -> None:
    assert load(None).reminder_limits() == Limits(100, timedelta(minutes=5))
    settings = load(None, max_reminders=0, reminder_min_interval_s=3600)
    assert settings.reminder_limits() == Limits(0, timedelta(hours=1))


async def test_where_nobody_may_have_any_there_is_no_action_and_no_command_to_set_one() -> None:
    def names(house: House) -> tuple[set[str], set[str]]:
        off = switched_off(house.registry.infos())
        return {action.name for action in house.registry.enabled}, {
            entry.name for entry in house.features().commands.menu(off)
        }

    actions, commands = names(House())
    fewer_actions, fewer_commands = names(House(reminder_limits=Limits(most=0)))
    assert actions - fewer_actions == {"ReminderSet", "ReminderCancel", "ReminderList"}
    assert commands - fewer_commands == {"remind"}
