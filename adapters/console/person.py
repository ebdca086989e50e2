"""The person at the terminal: what they write as `Incoming`, the one screen to answer on, and the files of both.

Files for the person are written into a folder, those they send are read from their paths.
"""

from __future__ import annotations

import asyncio
import mimetypes
import os
import shutil
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final

from adapters.running import handle_for, named_on, spelled_out
from core.enclosures import Attachment, AttachmentKind
from core.errors import ChannelError, FileTooLarge
from core.locales import TAGS, head
from core.outgoing import File, OutgoingMessage
from core.ports import Channel, Channels, Clock
from core.types import ChatKey, ConversationKey, Incoming, UserKey

EXPORTS: Final = "exports"
"""The folder, in the data folder, of files for the person."""

_IMPORT: Final = "/import"
"""The command whose argument is a file."""

ATTACH: Final = "/attach"
"""Begins a line that sends a file, and after its path some words."""

PLATFORM: Final = "console"

_KINDS: Final = {"image": AttachmentKind.PHOTO, "audio": AttachmentKind.AUDIO, "video": AttachmentKind.VIDEO}
_DRAWING: Final = "image/svg+xml"
_MOST_WORDS: Final = 32
"""So many words a path may have that is not quoted."""

QUIT, STOP = "/quit", "/stop"


def leaves(text: str) -> bool:
    """Return whether the text is /quit, or a word for it in any language, and nothing else."""
    words = {word for tag in TAGS for word in head(tag).get("leave", ())}
    return text.strip().casefold().removeprefix("/") in words


def conversation(user: UserKey) -> ConversationKey:
    """Return a person's conversation in the terminal."""
    return ConversationKey(ChatKey(PLATFORM, "terminal"), user)


@dataclass(frozen=True, slots=True)
class TerminalUser:
    """The person who writes. `language` is the system's tag ("pt_BR.UTF-8"), "" if it has none."""

    user: UserKey
    language: str
    clock: Clock

    def says(self, text: str) -> Incoming:
        """Return what they typed as a message of theirs, with an id that no other process uses."""
        text, attachments = sent(text)
        return Incoming(
            chat=conversation(self.user).chat,
            user=self.user,
            user_name=self.user.user,
            message_id=uuid.uuid4().hex,
            text=text,
            at=self.clock.now(),
            language=self.language,
            attachments=attachments,
        )


class OneScreen(Channels):
    """The one channel of a terminal, for every person and message; `notices` is for what answers nothing."""

    def __init__(self, channel: Channel, notices: Channel | None = None) -> None:
        self._channel = channel
        self._notices = notices or channel

    def again(self, incoming: Incoming) -> Channel:
        """Return the screen."""
        del incoming
        return self._channel

    def private(self, user: UserKey, once: str = "") -> Channel:
        """Return the screen."""
        del user, once
        return self._notices


def sent(text: str) -> tuple[str, tuple[Attachment, ...]]:
    """Return what a typed line says, and the file that it sends, if it does."""
    command, _, said = text.strip().partition(" ")
    command, said = command.casefold(), said.strip()
    if command == _IMPORT and said:
        path = _path(said)
        is_file = path.name != str(path) or path.exists() or path.suffix  # else it is the code of a confirmation
        return text, (_attachment(path, AttachmentKind.FILE),) if is_file else ()
    if command == ATTACH and said:
        path, words = _split(said)
        return words, (_attachment(path),)
    return text, ()


def _split(said: str) -> tuple[Path, str]:
    """Return the path with which the words begin, the longest that is a file, and the words after it."""
    words = said.split(" ")
    for end in range(min(len(words), _MOST_WORDS), 0, -1):
        path = _path(" ".join(words[:end]))
        if path.is_file():
            return path, " ".join(words[end:]).strip()
    return _path(words[0]), " ".join(words[1:]).strip()


def _path(said: str) -> Path:
    """Return the path that a person types, quotes, or drops onto the terminal, which escapes spaces."""
    return Path(said.strip().strip("\"'").replace("\\ ", " ")).expanduser()


def _attachment(path: Path, kind: AttachmentKind | None = None) -> Attachment:
    media_type = mimetypes.guess_type(path.name)[0] or ""
    by_type = AttachmentKind.FILE if media_type == _DRAWING else _KINDS.get(media_type.partition("/")[0])
    size = path.stat().st_size if path.is_file() else 0
    handle = handle_for(PLATFORM, str(path.absolute()))
    return Attachment(kind or by_type or AttachmentKind.FILE, path.name, media_type, size, handle)


def copy_file(handle: str, max_bytes: int, into: BinaryIO) -> None:
    """Copy the file that was sent.

    Raises:
        FileTooLarge: it holds more than `max_bytes`.
        ChannelError: it cannot be read.
    """
    try:
        path = Path(named_on(PLATFORM, handle))
        if not path.is_file():  # nor would a pipe end
            raise ChannelError("the file is not there")
        with path.open("rb") as file:
            if path.stat().st_size > max_bytes:
                raise FileTooLarge(f"more than {max_bytes} bytes", max_bytes)
            shutil.copyfileobj(file, into)
    except OSError as error:
        raise ChannelError(f"the file cannot be read: {error.strerror}") from error


def lay_down(file: File, folder: Path) -> Path:
    """Copy the file into the folder, readable by its owner only and overwriting nothing; return its path.

    Raises:
        ChannelError: it cannot be written there.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path, descriptor = _new_file(folder, Path(file.file_name))
        with os.fdopen(descriptor, "wb") as copy:
            if file.path is None:
                copy.write(file.content or b"")
            else:
                with file.path.open("rb") as original:
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


async def handed_over(shown: OutgoingMessage, folder: Path) -> OutgoingMessage:
    """Write the files of a message; return the message with their paths in its text."""
    shown = spelled_out(shown)
    paths = [await asyncio.to_thread(lay_down, file, folder) for file in shown.files]
    text = "\n".join(filter(None, (shown.text, *(f"📄 {_short(path)}" for path in paths))))
    return replace(shown, text=text)


def _short(path: Path) -> str:
    """Return the path as a shell reads it, with `~` for the person's own folder."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
