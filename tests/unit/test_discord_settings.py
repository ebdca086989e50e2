"""What an owner may write about Discord, and what is said of what is wrong."""

from __future__ import annotations

import pytest

from bot.settings.settings import load
from core.errors import ConfigError

TOKEN = "MTIz.abc-_1.x"


def test_without_a_token_there_is_no_discord() -> None:
    assert load(None).discord() is None


@pytest.mark.spec("D3")
def test_what_is_written_reaches_the_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCORD_TOKEN", f" {TOKEN} ")
    monkeypatch.setenv("DISCORD_ROOMS", "123, 456,")
    monkeypatch.setenv("DISCORD_AUTO_THREAD", "true")
    monkeypatch.setenv("DISCORD_EDIT_INTERVAL_S", "2.5")
    config = load(None).discord()
    assert config is not None
    assert (config.token, config.rooms, config.auto_thread) == (TOKEN, frozenset({123, 456}), True)
    assert (config.edit_interval_s, config.shards) == (2.5, 0)
    assert TOKEN not in repr(config)


@pytest.mark.spec("D3")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DISCORD_TOKEN", "not a token"),
        ("DISCORD_ROOMS", "#geral"),
        ("DISCORD_API_BASE_URL", "discord.com"),
        ("DISCORD_GATEWAY_URL", "https://gateway.discord.gg"),
        ("DISCORD_EDIT_INTERVAL_S", "0.1"),
    ],
)
def test_what_is_wrong_is_named_before_anybody_is_asked(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as raised:
        load(None)
    assert raised.value.setting == name
    assert value not in str(raised.value) or name != "DISCORD_TOKEN"
