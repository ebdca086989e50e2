"""Settings of Telegram: what is wrong is named before anybody is asked; what is right reaches the adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.settings.settings import load
from core.errors import ConfigError


def test_without_a_token_there_is_no_telegram() -> None:
    assert load(None).telegram() is None
    assert load(None, telegram_token="  ").telegram() is None


def test_what_is_set_reaches_the_adapter_and_the_token_is_not_shown() -> None:
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


@pytest.mark.parametrize(
    ("wrong", "setting"),
    [
        ({"telegram_token": "hunter2"}, "TELEGRAM_TOKEN"),
        ({"telegram_api_base_url": "localhost:8081"}, "TELEGRAM_API_BASE_URL"),
        ({"telegram_webhook_url": "http://bot.example.org"}, "TELEGRAM_WEBHOOK_URL"),
        ({"telegram_webhook_cert": "cert.pem"}, "TELEGRAM_WEBHOOK_KEY"),
        ({"telegram_group_edit_interval_s": 0.1}, "TELEGRAM_GROUP_EDIT_INTERVAL_S"),
        ({"telegram_webhook_port": 0}, "TELEGRAM_WEBHOOK_PORT"),
    ],
)
def test_what_is_wrong_is_named_and_never_shown(wrong: dict[str, Any], setting: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, **wrong)
    assert caught.value.setting == setting
    assert "hunter2" not in str(caught.value)


def test_a_reaction_that_telegram_does_not_take_is_named_at_the_start_and_none_is_none() -> None:
    with pytest.raises(ConfigError, match="cannot react with 🦖; write none or one of 👍"):
        load(None, telegram_token="123:abc", waiting_reaction="🦖").telegram()
    quiet = load(None, telegram_token="123:abc", waiting_reaction="None").telegram()
    assert quiet is not None
    assert not quiet.waiting_reaction
