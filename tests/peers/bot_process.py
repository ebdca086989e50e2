"""`elefante run` in limited mode as a process of its own, open to everybody, on whatever answers at those addresses."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

PATIENCE_S = 60.0


@asynccontextmanager
async def bot_on(folder: Path, **settings: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the bot; leaving kills it. What it says stands in `folder`/said.txt."""
    (folder / ".env").touch()
    own = {name: value for name, value in os.environ.items() if not name.endswith(("_TOKEN", "_KEY", "_URL"))}
    own |= {"ELEFANTE_ENV": str(folder / ".env"), "DATA_DIR": str(folder / "data")}
    own |= {"ACCESS": "open", "QUOTA_GUEST": "messages_minute=1000", "LANGUAGE": "en"}
    with (folder / "said.txt").open("w") as said:
        bot = await asyncio.create_subprocess_exec(sys.executable, "-m", "bot", "run", env=own | settings, stderr=said)
        try:
            yield bot
        finally:
            if bot.returncode is None:
                bot.kill()
            await bot.wait()


async def until(holds: Callable[[], object]) -> None:
    """Return when that holds: the bot and its peer are other people's programs, which call nobody back."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 (nothing tells)
            await asyncio.sleep(0.05)
