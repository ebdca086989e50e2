"""Files at a terminal: those for the person are written into a folder, those they send are read from their paths."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Final

from core.errors import ChannelError, FileTooLarge
from core.outgoing import File, OutgoingMessage

EXPORTS: Final = "exports"
"""The folder, in the data folder, of files for the person."""

SENT_BY: Final = "/import"
"""The command whose argument is a file."""


def sent(text: str) -> str:
    """Return the path of the file that a typed line sends, or ""."""
    command, _, name = text.strip().partition(" ")
    if command.casefold() != SENT_BY or not name.strip():
        return ""
    path = Path(name.strip().strip("\"'")).expanduser()
    return str(path.absolute()) if path.name != str(path) or path.exists() or path.suffix else ""


def read(name: str, max_bytes: int) -> bytes:
    """Return what is in the file.

    Raises:
        FileTooLarge: it holds more than `max_bytes`.
        ChannelError: it cannot be read.
    """
    try:
        with Path(name).open("rb") as file:
            raw = file.read(max_bytes + 1)
    except OSError as error:
        raise ChannelError(f"the file cannot be read: {error.strerror}") from error
    if len(raw) > max_bytes:
        raise FileTooLarge(f"more than {max_bytes} bytes")
    return raw


def lay_down(file: File, folder: Path) -> Path:
    """Copy the file into the folder, readable by its owner only and overwriting nothing; return its path.

    Raises:
        ChannelError: it cannot be written there.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path, descriptor = _new_file(folder, Path(file.name))
        with os.fdopen(descriptor, "wb") as copy, file.path.open("rb") as original:
            shutil.copyfileobj(original, copy)
    except OSError as error:
        raise ChannelError(f"the file cannot be written into {folder}: {error.strerror}") from error
    return path.absolute()


def _new_file(folder: Path, name: Path) -> tuple[Path, int]:
    """Make a file of that name, numbered where there is one already; return it, open for writing."""
    path, number = folder / name.name, 1
    while True:
        try:
            return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            path = folder / f"{name.stem}-{number}{name.suffix}"


async def handed_over(shown: OutgoingMessage, folder: Path) -> str:
    """Write the file of a message; return the message's text with the path."""
    if shown.file is None:
        return shown.text
    path = await asyncio.to_thread(lay_down, shown.file, folder)
    return f"{shown.text}\n📄 {_short(path)}".lstrip()


def _short(path: Path) -> str:
    """Return the path as a shell reads it, with `~` for the person's own folder."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
