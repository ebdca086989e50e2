"""The day as a page: two phones that move at reading pace, fed with each moment as it happens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from aiohttp import web

from tests.demo.day import BEGINS, Beat
from tests.transcripts.phone import CSS, phone
from tests.transcripts.transcript import Line

PLAYER: Final = (Path(__file__).parent / "player.html").read_text("utf-8").replace("PHONES_CSS", CSS)
_GLANCE_MS, _CHARACTER_MS, _LONGEST_MS = 900, 30, 4000


@dataclass(frozen=True)
class Frame:
    """What the page shows at once, the phones as HTML, and for how long at least."""

    time: str
    caption: str
    telegram: str
    discord: str
    pause_ms: int


def frame(beat: Beat, characters: int) -> Frame:
    """Return what the page shows of a beat, of whose words so many characters are new."""
    return Frame(
        beat.at.strftime("%H:%M"),
        beat.caption,
        _phone("Ana", "Ana's phone · Telegram", beat.telegram),
        _phone("Ben", "Ben's phone · Discord", beat.discord),
        min(_GLANCE_MS + _CHARACTER_MS * characters, _LONGEST_MS),
    )


def _phone(owner: str, about: str, lines: Sequence[Line]) -> str:
    """Return that person's phone, with the chat on it in which something happened last."""
    chat = lines[-1].chat if lines else owner
    return phone("phone", chat, about, [line for line in lines if line.chat == chat], me=owner, since=BEGINS)


class Player:
    """Serves the page, and every one of its `frames` that there is so far to whoever looks at it."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self._characters = 0
        self._complete = False
        self._changed = asyncio.Event()

    def add(self, beat: Beat) -> None:
        """Show that next."""
        characters = sum(len(line.text) for line in (*beat.telegram, *beat.discord))
        self.frames.append(frame(beat, characters - self._characters))
        self._characters = characters
        self._tell()

    def end(self) -> None:
        """Tell that there is no more."""
        self._complete = True
        self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def served(self, port: int = 0) -> AsyncIterator[str]:
        """Serve on 127.0.0.1, and give the page's address."""
        app = web.Application()
        app.router.add_get("/", self._page)
        app.router.add_get("/day", self._day)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", port).start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
        finally:
            await runner.cleanup()

    async def _page(self, _: web.Request) -> web.Response:
        return web.Response(text=PLAYER, content_type="text/html")

    async def _day(self, request: web.Request) -> web.StreamResponse:
        """Send the frames as server-sent events."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        sent = 0
        while True:
            changed = self._changed
            for frame in self.frames[sent:]:
                await response.write(f"data: {json.dumps(asdict(frame))}\n\n".encode())
                sent += 1
            if self._complete and sent == len(self.frames):
                await response.write(b"event: end\ndata:\n\n")
                return response
            await changed.wait()
