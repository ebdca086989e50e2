"""A channel that keeps what is handed over, and has a file to be fetched."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from adapters.running import content_of
from core.errors import ChannelError, FileTooLarge
from core.outgoing import OutgoingMessage
from tests.fakes.channel import RecordingChannel


@dataclass(slots=True)
class FileChannel(RecordingChannel):
    """`sent` are files by their handle; `handed` what was handed over: name, content, and where it lay."""

    sent: dict[str, bytes] = field(default_factory=dict)
    handed: list[tuple[str, bytes, Path]] = field(default_factory=list)
    refuses_files: bool = False

    async def post(self, shown: OutgoingMessage) -> str:
        if shown.files and self.refuses_files:
            raise ChannelError("too large")
        for file in shown.files:
            raw = await asyncio.to_thread(content_of, file, 1 << 30)
            self.handed.append((file.name, raw, file.path or Path()))
        return await RecordingChannel.post(self, shown)

    async def fetch(self, handle: str, max_bytes: int, into: BinaryIO) -> None:
        raw = self.sent.get(handle)
        if raw is None:
            raise ChannelError("gone")
        if len(raw) > max_bytes:
            raise FileTooLarge("too large")
        into.write(raw)
