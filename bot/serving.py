"""One process at a time answers a platform from a data folder."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from bot.settings.settings import Settings
from bot.wiring import prepare_folder
from core.clock import SystemClock
from core.errors import BotError, StorageError

_TITLES: Final = {"telegram": "Telegram", "discord": "Discord", "console": "the terminal"}


@contextmanager
def serving(settings: Settings, command: str, platforms: Collection[str]) -> Iterator[None]:
    """Be the one who answers those platforms from this data folder, until the end of this process at the latest.

    The lock is the kernel's, so that no death of a process, however sudden, leaves one behind. Source: flock(2).

    Raises:
        BotError: another process answers one of them; the sentence names it.
        ConfigError, StorageError: the data folder cannot be used.
    """
    if settings.state_dir is None:  # what is kept in RAM alone is shared with nobody
        yield
        return
    prepare_folder(settings.state_dir)
    with ExitStack() as held:
        for platform in platforms:
            held.enter_context(_locked(settings, command, platform))
        yield


@contextmanager
def _locked(settings: Settings, command: str, platform: str) -> Iterator[None]:
    path = settings.data_dir / f"serving-{platform}.lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BotError(
                f"{_holder(path)} already answers {_TITLES.get(platform, platform)} from this folder "
                f"({settings.data_dir}). Stop it first, or use another DATA_DIR."
            ) from None
        since = SystemClock().now().astimezone(settings.zone()).strftime("%d %b %H:%M")
        with suppress(OSError):  # the lock holds on a full disk, too; a second process just cannot name the first
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps({"command": command, "pid": os.getpid(), "since": since}).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _holder(path: Path) -> str:
    """Return who wrote the file last, as a sentence names them."""
    try:
        holder = json.loads(path.read_text())
        return f"`{holder['command']}` (process {holder['pid']}, since {holder['since']})"
    except (OSError, ValueError, KeyError, TypeError):  # it has just taken the lock, and not written yet
        return "Another process"
