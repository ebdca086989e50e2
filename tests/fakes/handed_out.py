"""What a channel hands out of what came with a message."""

from __future__ import annotations

from io import BytesIO

from core.ports import Channel


async def handed_out(channel: Channel, handle: str, max_bytes: int) -> bytes:
    """Return the bytes of a handle."""
    into = BytesIO()
    await channel.fetch(handle, max_bytes, into)
    return into.getvalue()
