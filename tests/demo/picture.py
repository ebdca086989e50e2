"""The day as a moving picture and as a transcript, for the README."""

from __future__ import annotations

import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Final

from PIL import Image

from tests import browser
from tests.demo.day import Beat, play
from tests.demo.page import Player
from tests.transcripts.transcript import FOLDER, as_page

ABOUT: Final = """\
What `make demo` shows: Ana's chat with the bot and the group `flat` are on Telegram, Ben's chat and the room `team` on
Discord. One bot, without a language model; Ana has told it her time zone. It is killed before it answers her last
question, and started again."""
PICTURE: Final = FOLDER / "demo.webp"
TRANSCRIPT: Final = FOLDER / "demo.md"
WIDTH_PX, HEIGHT_PX = 820, 620
_COVER_MS, _LAST_MS = 1500, 6000
_COLOURS: Final = 64  # as many as are seen
_SETTLED: Final = "Promise.all(document.getAnimations().map((one) => one.finish()))"


async def write() -> int:
    """Draw the day, and return the exit code."""
    player, beats = Player(), list[Beat]()
    with tempfile.TemporaryDirectory() as folder:
        await play(Path(folder), beats.append)
    for beat in beats:
        player.add(beat)
    player.end()
    TRANSCRIPT.write_text(transcript(beats[-1]), encoding="utf-8")
    if browser.program() is None:
        sys.stderr.write(f"no picture: {browser.MISSING}\n")
        return 1
    drawn = await drawings(player)
    pauses = [_COVER_MS, *(frame.pause_ms for frame in player.frames[:-1]), _LAST_MS]
    cover = drawn[-1]  # where pictures do not move, the first is all that is seen
    cover.save(PICTURE, save_all=True, append_images=drawn, duration=pauses, loop=0, lossless=True, method=6)
    sys.stderr.write(f"{PICTURE}: {len(drawn)} frames, {PICTURE.stat().st_size:,} bytes\n")
    return 0


async def drawings(player: Player) -> list[Image.Image]:
    """Return each frame as a browser draws it."""
    made = []
    async with player.served() as address, browser.browsing() as page:
        await page.open(f"{address}?pace=0", WIDTH_PX, HEIGHT_PX)
        await page.evaluate("finished.then(() => again.remove())")
        for number in range(len(player.frames)):
            await page.evaluate(f"show(frames[{number}]), {_SETTLED}")
            made.append(
                Image.open(BytesIO(await page.picture("body"))).convert("RGB").quantize(_COLOURS).convert("RGB")
            )
    return made


def transcript(last: Beat) -> str:
    """Return the day as a page of text."""
    lines = sorted((*last.telegram, *last.discord), key=lambda line: line.at_s)
    return as_page("A day of two people", ABOUT, lines)
