"""A network between a client and a server on 127.0.0.1 that a test cuts: connections end, or their bytes go nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Self

_CHUNK = 1 << 16


class TcpProxy:
    """Passes bytes on to a port while `passes` is set; else it keeps them, and new connections hang, too."""

    def __init__(self, target: int) -> None:
        self.port = 0
        self.passes = asyncio.Event()
        self.passes.set()
        self._target = target
        self._writers: set[asyncio.StreamWriter] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Self]:
        """Listen on a free port while the context is entered."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.passes.set()
            self.break_off()

    def break_off(self) -> None:
        """End every connection."""
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            await self.passes.wait()
            there_reader, there = await asyncio.open_connection("127.0.0.1", self._target)
            self._writers.add(there)
            try:
                await asyncio.gather(self._pump(reader, there), self._pump(there_reader, writer))
            finally:
                self._writers.discard(there)
        except OSError:
            writer.close()
        finally:
            self._writers.discard(writer)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                await self.passes.wait()
                writer.write(data)
                await writer.drain()
        writer.close()
