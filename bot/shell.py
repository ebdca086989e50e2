"""What every verb of the command line shares: its settings, its event loop, its output. Knows no verb."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any, TypeVar

import typer

from bot import logs
from bot.settings.settings import Settings, load
from core.errors import ConfigError
from core.types import UserKey

Answer = TypeVar("Answer")

UserOption = Annotated[str, typer.Option("--user", help="Whose memory, as PLATFORM:ID. Default: you, in the terminal.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def settings(*, stored: bool = True) -> Settings:
    """Read the settings, make the folders of the data and of the log, and open the log.

    `stored` says that the verb is about what is stored, which another process wrote or will read.

    Raises:
        ConfigError: a setting is wrong, or nothing is stored.
    """
    from bot.wiring import prepare_folder

    loaded = load()
    if loaded.in_memory and stored:
        advice = "nothing is stored with memory:, so there is nothing here for this command; write sqlite:"
        raise ConfigError("STORAGE_URL", advice)
    if loaded.state_dir is not None:
        prepare_folder(loaded.state_dir)
    if loaded.log_dir is not None:
        prepare_folder(loaded.log_dir, "LOG_DIR")
    try:
        logs.configure(loaded.log_folder, loaded.log_level, loaded.secrets())
    except OSError as error:
        advice = f"the log in {loaded.log_folder} cannot be written: {error.strerror}"
        raise ConfigError("LOG_DIR" if loaded.log_dir else "DATA_DIR", advice) from error
    return loaded


def person(text: str, defaults: Settings) -> UserKey:
    """Return who PLATFORM:ID is; nothing means who runs this.

    Raises:
        ConfigError: it is not written so.
    """
    if not text:
        return defaults.console_owner
    platform, _, user = text.partition(":")
    if not platform.strip() or not user.strip():
        raise ConfigError("--user", f"{text!r} is not a person; write PLATFORM:ID, such as telegram:123456")
    return UserKey(platform.strip(), user.strip())


def run(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Do it, in an event loop of its own."""
    return asyncio.run(work)


def show(document: Mapping[str, Any], *, as_json: bool, plain: Callable[[Any], str]) -> None:
    """Print a document, for a program or for a person."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) if as_json else plain(document))
    sys.stdout.write("\n")
