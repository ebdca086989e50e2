"""The longest message that is answered, made of what is hard to read: what it costs, how long it holds others up.

In limited mode, where the bot itself reads it. The event loop's share is CPU of its own thread, so that a busy machine
does not show.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from bench.table import show
from bench.turn import NoChannel, incoming
from bot.settings.settings import load
from bot.wiring import build, open_chatbot
from tests.fakes.hostile import hostile
from tests.fakes.steps import watched

CHARS = 32_000
SHOWN = 8


async def measure(folder: Path, lengths: tuple[int, ...]) -> dict[str, list[tuple[float, float, float]]]:
    """Return, by what the message is made of, for each length: CPU in all, the loop's, and its longest step; in ms."""
    rows: dict[str, list[tuple[float, float, float]]] = {}
    number = 0
    async with build(load(None, data_dir=folder)) as app, open_chatbot(app) as handler:
        for at, text in enumerate(("Lembre que o gato se chama Bola", "como se chama o gato?")):  # starts all there is
            await (await handler.receive(incoming(text, -1 - at), NoChannel()))
        for length in lengths:
            for name, text in hostile(length).items():
                number += 1
                began_s = time.process_time()
                with watched() as loop:
                    await (await handler.receive(incoming(f"{text[:-10]} {number}", number), NoChannel()))
                all_s = time.process_time() - began_s
                rows.setdefault(name, []).append((1000 * all_s, 1000 * loop.all_s, 1000 * loop.longest_s))
                await (await handler.receive(incoming("/reset", 10**6 + number), NoChannel()))
    return rows


def main() -> None:
    """Print the table of the dearest."""
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(measure(Path(folder), (CHARS,)))
    dearest = sorted(rows.items(), key=lambda row: -row[1][0][2])[:SHOWN]
    heads = ("made of", "CPU", "of the event loop's thread", "its longest step (aim: 50)")
    cells = [(name, *(f"{cost:.0f}" for cost in costs)) for name, [costs] in dearest]
    show(f"A message of {CHARS:,} characters, ms: the {SHOWN} dearest of {len(rows)}", heads, cells)
