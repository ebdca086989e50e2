"""A real browser without a window, for pictures of pages and tests of them: Chromium, by its DevTools protocol.

Source: chromedevtools.github.io/devtools-protocol.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType

PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome")
MISSING: Final = "no Chromium here (on Debian: apt install chromium fonts-noto-color-emoji fonts-noto-core)"
_OPTIONS: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--remote-debugging-port=0", "about:blank",
)  # fmt: skip
_PATIENCE_S: Final = 60.0


def program() -> str | None:
    """Return the path of the browser; None if there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Page:
    """One page. `events` are what the browser told of it: (method, parameters)."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self.events: list[tuple[str, Any]] = []

    async def listen(self) -> None:
        """Take what the browser says, until it closes the connection."""
        async for message in self._socket:
            if message.type is not WSMsgType.TEXT:
                continue
            told = json.loads(message.data)
            if "id" not in told:
                self.events.append((told["method"], told["params"]))
            elif "error" in told:
                self._answers.pop(told["id"]).set_exception(RuntimeError(told["error"]["message"]))
            else:
                self._answers.pop(told["id"]).set_result(told["result"])

    async def call(self, method: str, **parameters: Any) -> Any:
        """Return what the browser answers.

        Raises:
            RuntimeError: it refuses.
        """
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        async with asyncio.timeout(_PATIENCE_S):
            return await answer

    async def open(self, url: str, width: int, height: int, scale: float = 1.0) -> None:
        """Go to an address, and wait until its scripts have run."""
        for domain in ("Page", "Runtime", "Network"):
            await self.call(f"{domain}.enable")
        shape = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
        await self.call("Emulation.setDeviceMetricsOverride", **shape)
        await self.call("Page.navigate", url=url)
        await self.evaluate("new Promise((done) => document.readyState === 'complete' ? done() : onload = done)")

    async def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, awaited if it is a promise.

        Raises:
            RuntimeError: it throws.
        """
        told = await self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in told:
            raise RuntimeError(told["exceptionDetails"]["exception"].get("description", expression))
        return told["result"].get("value")

    async def picture(self, selector: str) -> bytes:
        """Return the element as a PNG, all of it."""
        box = await self.evaluate(
            f"(({{x, y, width, height}}) => ({{x: x + scrollX, y: y + scrollY, width, height}}))"
            f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
        )
        shot = await self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=box | {"scale": 1})
        return base64.b64decode(shot["data"])


@asynccontextmanager
async def browsing() -> AsyncIterator[Page]:
    """Start a browser with an empty profile, and give its page.

    Raises:
        FileNotFoundError: there is none.
    """
    if (path := program()) is None:
        raise FileNotFoundError(MISSING)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            path, f"--user-data-dir={profile}", *_OPTIONS, stderr=asyncio.subprocess.PIPE
        )
        assert process.stderr is not None
        tasks: list[asyncio.Task[object]] = []
        try:
            address = await _address(process.stderr)
            tasks.append(asyncio.create_task(process.stderr.read()))  # a full pipe would stop it
            async with ClientSession() as session:
                async with session.put(f"http://{address}/json/new?about:blank") as told:
                    target = await told.json()
                async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    page = Page(socket)
                    tasks.append(asyncio.create_task(page.listen()))
                    yield page
        finally:
            for task in tasks:
                task.cancel()
            if process.returncode is None:
                process.terminate()
            await process.wait()


async def _address(told: asyncio.StreamReader) -> str:
    """Return the host and port that the browser says it listens on.

    Raises:
        RuntimeError: it ended instead.
    """
    said = b""
    async with asyncio.timeout(_PATIENCE_S):
        async for line in told:
            said += line
            if b"DevTools listening on " in line:
                return urlsplit(line.decode().split()[-1]).netloc
    raise RuntimeError(f"the browser ended: {said.decode(errors='replace')}")
