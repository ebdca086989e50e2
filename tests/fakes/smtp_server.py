"""A mail server on loopback that takes every message, and keeps it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default


@dataclass
class SmtpServer:
    """Speaks as much of RFC 5321 as a relay needs. `mails` are what it took; with `refuses` it takes nothing."""

    mails: list[EmailMessage] = field(default_factory=list)
    refuses: bool = False
    port: int = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen on a free port of 127.0.0.1."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 here\r\n")
        while line := await reader.readline():
            verb = line.split()[0].upper() if line.split() else b""
            if verb == b"DATA":
                writer.write(b"354 go on\r\n")
                raw = await reader.readuntil(b"\r\n.\r\n")
                self.mails.append(BytesParser(EmailMessage, policy=default).parsebytes(raw[:-3]))
            is_refused = self.refuses and verb == b"RCPT"
            writer.write(b"550 no\r\n" if is_refused else b"221 bye\r\n" if verb == b"QUIT" else b"250 ok\r\n")
            await writer.drain()
            if verb == b"QUIT":
                break
        writer.close()
