"""`elefante setup`: each answer is proved before it is written, and nothing else in the file changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot import platforms
from bot.cli.setup import setup
from bot.settings.settings import Settings
from core.errors import ConfigError


async def answered(env: Path, *answers: str) -> list[str]:
    """Run the questions with these answers and return what was said."""
    said: list[str] = []
    given = iter(answers)
    await setup(env, lambda _: next(given), said.append)
    assert next(given, None) is None
    return said


@pytest.fixture(autouse=True)
def _known_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Platforms that know one token each."""

    async def about(settings: Settings) -> list[str]:
        if settings.telegram_token.get_secret_value() != "1:right":
            raise ConfigError("TELEGRAM_TOKEN", "Telegram does not know it")
        return ["Telegram: connected as @elefante"]

    known = platforms.Platform("TELEGRAM_TOKEN", platforms.PLATFORMS["telegram"].run, about)
    monkeypatch.setitem(platforms.PLATFORMS, "telegram", known)


async def test_answers_are_written_for_the_owner_only_and_the_rest_stays(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    env.write_text("# mine\nLANGUAGE=es\n", encoding="utf-8")
    said = await answered(env, "1:right", "", "anthropic:claude-haiku-5-5", "sk-secret")
    assert "Telegram: connected as @elefante" in said
    assert env.read_text(encoding="utf-8").splitlines() == [
        "# mine",
        "LANGUAGE=es",
        "TELEGRAM_TOKEN=1:right",
        "ANTHROPIC_API_KEY=sk-secret",
        "MODEL=anthropic:claude-haiku-5-5",
    ]
    assert env.stat().st_mode & 0o077 == 0


async def test_a_wrong_answer_is_told_and_asked_again(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    said = await answered(env, "1:wrong", "nonsense", "1:right", "", "clippy", "ollama:qwen3:8b")
    assert "TELEGRAM_TOKEN: Telegram does not know it" in said
    assert any(line.startswith("TELEGRAM_TOKEN: write it as @BotFather") for line in said)
    assert any(line.startswith("MODEL: write provider:model") for line in said)
    assert env.read_text(encoding="utf-8").splitlines() == ["TELEGRAM_TOKEN=1:right", "MODEL=ollama:qwen3:8b"]


async def test_nothing_answered_writes_nothing(tmp_path: Path) -> None:
    await answered(tmp_path / ".env", "", "", "")
    assert not (tmp_path / ".env").exists()
