"""A real HTTP/1.1 server on loopback that does what a test scripts, faults included.

It speaks to real SDKs over real sockets, in the test's own event loop.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Break(StrEnum):
    """How a streamed answer ends."""

    NOT = "whole"
    CUT = "the connection is reset"
    SILENCE = "nothing more comes, the connection stays"


HEAD = -1


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: path, headers (lower case) and the JSON body."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server does with one request.

    `body` is sent as it is; `frames` as chunks of an event stream, each after its gate (if any) was waited for; gate
    HEAD holds back everything.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    frames: Sequence[bytes] | None = None
    ending: Break = Break.NOT
    gates: dict[int, asyncio.Event] = field(default_factory=dict)
    pings: bytes = b""


def failure(status: int, body: object, headers: dict[str, str] | None = None) -> Answer:
    """An HTTP error with a JSON body; told to be retried at once, so that no test sleeps."""
    return Answer(status, {"retry-after-ms": "1", **(headers or {})}, json.dumps(body).encode())


@dataclass(slots=True)
class LoopbackServer:
    """Answers each request with the next of `answers`; the last one again when they ran out.

    An entry may be a function of the request, for answers that depend on what was asked.
    """

    answers: list[Answer | Callable[[Asked], Answer]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    url: str = ""
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    listed: Answer = field(default_factory=lambda: failure(404, {"error": {"message": "no list"}}))
    """The answer to `GET .../models`, which is no request to a model, and not among those that were asked."""

    _connections: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The JSON of every request so far."""
        return [asked.body for asked in self.asked]

    @asynccontextmanager
    async def running(self, port: int = 0) -> AsyncIterator[None]:
        """Listen on a port of 127.0.0.1, by default on a free one."""
        server = await asyncio.start_server(self._connection, "127.0.0.1", port)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield
        finally:
            server.close()
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while (asked := await _read(reader)) is not None:
                if asked.path.endswith("/models") and not asked.raw:
                    if not await self._answer(self.listed, reader, writer):
                        return
                    continue
                self.asked.append(asked)
                index = min(len(self.asked), len(self.answers)) - 1
                script = self.answers[index]
                if not await self._answer(script(asked) if callable(script) else script, reader, writer):
                    return
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.hung_up.set()
            writer.close()
            self._connections.discard(task)

    async def _answer(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Write it; False when the connection is over."""
        if HEAD in answer.gates:
            await answer.gates[HEAD].wait()
        streamed = answer.frames is not None
        kind = "text/event-stream" if streamed else "application/json"
        headers = {"content-type": kind, **answer.headers}
        headers |= {"transfer-encoding": "chunked"} if streamed else {"content-length": str(len(answer.body))}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {answer.status} -\r\n{head}\r\n".encode() + answer.body)
        await writer.drain()
        for number, frame in enumerate(answer.frames or ()):
            if number in answer.gates:
                await answer.gates[number].wait()
            writer.write(b"%x\r\n%b\r\n" % (len(frame), frame))
            await writer.drain()
        if answer.ending is Break.CUT:
            writer.transport.abort()
            return False
        if answer.ending is Break.SILENCE:
            await _ping(answer.pings, reader, writer)
            return False
        if streamed:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        return True


async def _ping(ping: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Keep the connection open until the client hangs up, with signs of life if there are any to give."""
    gone = asyncio.ensure_future(reader.read())
    gone.add_done_callback(lambda read: read.cancelled() or read.exception())  # a reset is nobody's fault
    while not gone.done():
        if ping:
            writer.write(b"%x\r\n%b\r\n" % (len(ping), ping))
            await writer.drain()
        await asyncio.wait({gone}, timeout=0.01)


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(first.split(" ")[1], headers, json.loads(raw) if raw.startswith(b"{") else {}, raw)
