"""`elefante setup`: ask for tokens and a model, test each answer, and write it into `.env`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import dotenv
import typer

from bot.cli.shell import run
from bot.platforms import PLATFORMS, Platform, about
from bot.settings.settings import load
from core.errors import ConfigError


def setup_() -> None:
    """Ask for tokens and a model, prove each, and write them into .env.

    Example: elefante setup
    """
    run(setup(Path(".env"), lambda text: typer.prompt(text, default="", show_default=False), typer.echo))


Ask = Callable[[str], str]
Say = Callable[[str], None]

_WHERE = {
    "telegram": "Telegram: talk to @BotFather, /newbot, and copy the token it gives you.",
    "discord": "Discord: https://discord.com/developers/applications, New Application, Bot, Reset Token.",
}
_MODEL = (
    "Language model, such as anthropic:claude-haiku-5-5, openai:gpt-6-luna, gemini:gemini-2.5-flash or "
    "ollama:qwen3:8b. Without one the bot keeps and finds what it is told."
)


async def setup(env: Path, ask: Ask, say: Say) -> None:
    """Ask for each setting, test and write it. An empty answer keeps the old value; a wrong one is asked again."""
    for name, where in _WHERE.items():
        say(where)
        platform = PLATFORMS[name]
        await _until_right(partial(_platform, env, platform, say), platform.setting, ask, say)
    say(_MODEL)
    await _until_right(partial(_model, env, ask), "MODEL", ask, say)
    say(f"Written to {env}. `elefante doctor` proves the model with one tiny question; `make run` starts the bot.")


async def _until_right(write: Callable[[str], Awaitable[None]], setting: str, ask: Ask, say: Say) -> None:
    while answer := ask(f"{setting} (Enter to leave it)").strip():
        try:
            await write(answer)
        except ConfigError as error:
            say(str(error))
        else:
            return


async def _platform(env: Path, platform: Platform, say: Say, token: str) -> None:
    for line in await about(platform, load(env, **{platform.setting.lower(): token})):
        say(line)
    _write(env, platform.setting, token)


async def _model(env: Path, ask: Ask, model: str) -> None:
    try:
        load(env, model=model)
    except ConfigError as error:
        if not error.setting.endswith("_KEY"):
            raise
        key = ask(f"{error.setting}: {error.advice}").strip()
        load(env, model=model, **{error.setting.lower(): key})
        _write(env, error.setting, key)
    _write(env, "MODEL", model)


def _write(env: Path, name: str, value: str) -> None:
    """Set one line of the file, readable by its owner only; the other lines stay."""
    env.touch(mode=0o600, exist_ok=True)
    env.chmod(0o600)
    dotenv.set_key(env, name, value, quote_mode="never")
