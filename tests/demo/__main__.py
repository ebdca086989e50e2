"""Play a day of two people in the browser: `python -m tests.demo [--no-browser] [--write]`.

The page is told as the day goes by, so that it moves at once. With `--write` the day is not shown: the moving picture
and the transcript of it in docs/transcripts are made anew.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import webbrowser
from pathlib import Path

from tests.demo import picture
from tests.demo.day import play
from tests.demo.page import Player


def main(arguments: list[str]) -> int:
    """Run what was asked for, and return the exit code."""
    if not set(arguments) <= {"--no-browser", "--write"}:
        sys.stderr.write("usage: make demo [ARGS=--no-browser]\n")
        return 2
    if "--write" in arguments:
        return asyncio.run(picture.write())
    try:
        asyncio.run(show(opens=has_screen() and "--no-browser" not in arguments))
    except KeyboardInterrupt:
        sys.stdout.write("\n")
    return 0


async def show(*, opens: bool) -> None:
    """Serve the page until this is cancelled; `opens`: in the browser, too."""
    player = Player()
    async with player.served() as address:
        sys.stdout.write(f"A day with Elefante: {address} (Ctrl-C ends it)\n")
        sys.stdout.flush()
        if opens:
            await asyncio.to_thread(webbrowser.open, address)
        with tempfile.TemporaryDirectory() as folder:
            await play(Path(folder), player.add)
        player.end()
        await asyncio.Event().wait()


def has_screen() -> bool:
    """Return whether a browser would have a window: without a screen Python opens one in the terminal."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
