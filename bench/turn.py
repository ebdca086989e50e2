"""A whole turn in limited mode: CPU of the bot, its embedder included, from a message to its answer."""

from __future__ import annotations

import asyncio
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from bench.table import show
from bot.settings.settings import load
from bot.wiring import build, open_chatbot
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel
from core.types import ChatKey, Incoming, UserKey

TURNS = 40


@dataclass(slots=True)
class NoChannel(Channel):
    """A chat that costs nothing to write into."""

    limits: ChannelLimits = field(default_factory=lambda: ChannelLimits(max_chars=4096, edit_interval_s=0.0))

    def measure(self, text: str) -> int:
        """Return the number of code points."""
        return len(text)

    async def post(self, _: OutgoingMessage) -> str:
        """Write nowhere."""
        return "m"

    async def edit(self, _: str, __: OutgoingMessage) -> None:
        """Write nowhere."""


def incoming(text: str, number: int) -> Incoming:
    """Return a message of the one person here."""
    return Incoming(
        ChatKey("console", "bench"), UserKey("console", "bench"), "bench", str(number), text, datetime.now(UTC)
    )


async def measure(folder: Path) -> list[tuple[str, str, str]]:
    """Return rows of kind, CPU, wall; milliseconds, medians of TURNS."""
    kinds = {
        "save": [f"Lembre que a senha do serviço {n} é k{n * 7919}" for n in range(TURNS)],
        "recall": [f"Qual é a senha do serviço {n}?" for n in range(TURNS)],
        "thanks": ["obrigado!"] * TURNS,
    }
    rows = []
    async with build(load(None, data_dir=folder)) as app, open_chatbot(app) as handler:
        await (await handler.receive(incoming("Lembre que o gato se chama Bola", -1), NoChannel()))  # loads the model
        number = 0
        for kind, texts in kinds.items():
            costs = []
            for text in texts:
                number += 1
                before = time.process_time(), time.perf_counter()
                await (await handler.receive(incoming(text, number), NoChannel()))
                after = time.process_time(), time.perf_counter()
                costs.append([1000 * (b - a) for a, b in zip(before, after, strict=True)])
            cpu, wall = (median(column) for column in zip(*costs, strict=True))
            rows.append((kind, f"{cpu:.1f}", f"{wall:.1f}"))
    return rows


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(measure(Path(folder)))
    show("A whole turn in limited mode, ms, medians", ("turn", "CPU", "wall"), rows)
