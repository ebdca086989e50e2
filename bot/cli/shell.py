"""What every verb of the command line shares: options, settings, the event loop, questions and output."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import typer

from bot import logs
from bot.settings.settings import Settings, load
from bot.wiring import prepare_folder
from core.errors import BotError, ConfigError
from core.types import UserKey

Answer = TypeVar("Answer")

Document: TypeAlias = dict[str, Any]
"""What a verb did or found, as JSON prints it."""

NewFile = Annotated[Path | None, typer.Argument(help="A file that is not there yet. Default: one named by the time.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]
UserOption = Annotated[str, typer.Option("--user", help="Whose memory, as PLATFORM:ID. Default: you, in the terminal.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def load_settings(read: Callable[[], Settings] = load, *, stored: bool = True, writes: bool = True) -> Settings:
    """Read the settings, make the folders of the data and of the log, and open the log.

    `stored` says that the verb reads or changes what is on the disk; without `writes` there is no folder and no log.

    Raises:
        ConfigError: a setting is wrong, or nothing is stored.
    """
    loaded = read()
    if loaded.in_memory and stored:
        advice = "nothing is stored with memory:, so there is nothing here for this command; write sqlite:"
        raise ConfigError("STORAGE_URL", advice)
    if not writes:
        logs.configure(None, loaded.log_level, loaded.secrets())
        return loaded
    if loaded.state_dir is not None:
        prepare_folder(loaded.state_dir)
    if loaded.log_dir is not None:
        prepare_folder(loaded.log_dir, "LOG_DIR")
    try:
        logs.configure(loaded.log_folder if loaded.log_to == "file" else None, loaded.log_level, loaded.secrets())
    except OSError as error:
        advice = f"the log in {loaded.log_folder} cannot be written: {error.strerror}"
        raise ConfigError("LOG_DIR" if loaded.log_dir else "DATA_DIR", advice) from error
    return loaded


def person(text: str, defaults: Settings) -> UserKey:
    """Return the person that PLATFORM:ID names; "" means the owner of this terminal.

    Raises:
        ConfigError: the text has another form.
    """
    if not text:
        return defaults.console_owner
    platform, _, user = text.partition(":")
    if not platform.strip() or not user.strip():
        raise ConfigError("--user", f"{text!r} is not a person; write PLATFORM:ID, such as telegram:123456")
    return UserKey(platform.strip(), user.strip())


def run(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a coroutine in an event loop of its own and return its result."""
    return asyncio.run(work)


def show(document: Document, *, as_json: bool, plain: Callable[[Any], str]) -> None:
    """Print a document: as JSON for a program, or as `plain` renders it for a person."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) if as_json else plain(document))
    sys.stdout.write("\n")


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Show a spinner with that text on standard error while the block runs."""
    from rich.console import Console

    with Console(stderr=True).status(f"{what} …"):
        yield


def confirm(question: str, *, yes: bool) -> None:
    """Ask a yes-or-no question and return if the answer is yes.

    Raises:
        ConfigError: there is no terminal to ask in.
        BotError: the answer is no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError("--yes", f"{question} Nobody is there to be asked; say --yes")
    if not typer.confirm(question, err=True):
        raise BotError("nothing was changed")
