"""Fetch files over HTTP a piece at a time, so that none is in memory as a whole."""

from __future__ import annotations

from typing import BinaryIO, Final

from core.errors import ChannelError, FileTooLarge

_TIMEOUT_S: Final = 60.0
_CHUNK_BYTES: Final = 1 << 16
_OK: Final = 200


class NotHandedOut(ChannelError):
    """The server answered with another status than that the file follows."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the file cannot be fetched: status {status}")
        self.status = status


async def download(address: str, max_bytes: int, into: BinaryIO) -> None:
    """Write into a file what lies at an address. No error tells the address, which may hold a token.

    Raises:
        FileTooLarge: it is larger than that; a part of it may be written.
        NotHandedOut: the server refuses it.
        ChannelError: it cannot be fetched.
    """
    import aiohttp

    try:
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
            session.get(address, allow_redirects=False) as response,
        ):
            if response.status != _OK:
                raise NotHandedOut(response.status)
            left = max_bytes
            async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
                left -= len(chunk)
                if left < 0 or (response.content_length or 0) > max_bytes:
                    raise FileTooLarge(f"more than {max_bytes} bytes", max_bytes)
                into.write(chunk)
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        raise ChannelError(f"the file cannot be fetched: {type(error).__name__}") from None
