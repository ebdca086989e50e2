"""Files: attached to a message on the way out, fetched from an address of Discord's CDN on the way in."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from io import BytesIO
from typing import BinaryIO, Final

import discord
import yarl  # aiohttp's own

from adapters.downloading import NotHandedOut, download
from adapters.running import content_of
from core.errors import ChannelError
from core.outgoing import File

MAX_FILE_BYTES: Final = 10 * 1024 * 1024
"""The limit, unless a server pays for more. Source: discord.com/developers/docs/reference#uploading-files."""

_HOSTS: Final = ("https://cdn.discordapp.com", "https://media.discordapp.net")
_EXPIRED: Final = (403, 404)


def uploads(files: Sequence[File]) -> list[discord.File]:
    """Open files to be attached; they are closed when they were sent.

    Raises:
        ChannelError: one is too large for Discord, or not there.
    """
    return [discord.File(BytesIO(content_of(file, MAX_FILE_BYTES)), filename=file.file_name) for file in files]


class Expired(ChannelError):
    """The address is not good any more."""


def with_message(address: str, message: str) -> str:
    """Return the address of a file together with the handle of the message that it came with, "" for none."""
    return f"{address}#{message}" if message else address


def message_in(address: str) -> str:
    """Return the handle of the message that `with_message` put into an address; "" for none."""
    return address.partition("#")[2]


def renewed(address: str, message: discord.Message) -> str:
    """Return the address of that file in a message that was just read, which has a new signature; "" if it is gone."""
    files = [*message.attachments, *(file for one in message.message_snapshots for file in one.attachments)]
    path = yarl.URL(address).path
    return next((file.url for file in files if yarl.URL(file.url).path == path), "")


async def fetched(address: str, max_bytes: int, into: BinaryIO, *, also_from: Collection[str] = ()) -> None:
    """Write an attachment into a file, from Discord's own hosts and the origins `also_from` only.

    Raises:
        FileTooLarge: it is larger than that.
        Expired: the address is not good any more.
        ChannelError: it cannot be fetched.
    """
    try:
        origin = str(yarl.URL(address).origin())
    except ValueError as error:
        raise ChannelError(f"the file cannot be fetched: {type(error).__name__}") from None
    if origin not in (*_HOSTS, *also_from):
        raise ChannelError("the file lies on a host that is not Discord's")
    try:
        await download(address, max_bytes, into)
    except NotHandedOut as error:
        if error.status in _EXPIRED:
            raise Expired(
                "the file's address has expired, as Discord's do after a day; it has to be sent again"
            ) from None
        raise
