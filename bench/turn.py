"""A whole turn in limited mode: CPU of the bot, its embedder included, from a message to its answer; and its memory.

Beside it, what of that is the storage of what was said, unsealed and sealed.
"""

from __future__ import annotations

import asyncio
import resource
import tempfile
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median, quantiles

from bench.limited import TUNE
from bench.table import show
from bot.settings.settings import load
from bot.wiring import build, open_chatbot
from core.outgoing import ChannelLimits, OutgoingMessage
from core.ports import Channel, MessageHandler
from core.sealing.port import PLAIN, Sealing
from core.sealing.sealed import KEY_BYTES, KeyFile, Sealed
from core.storage.database import Database
from core.storage.history import SqlHistory
from core.storage.inbox import SqlInbox
from core.storage.sqlite import open_database
from core.threads import Transition, TurnState
from core.types import Basis, ChatKey, Incoming, Message, MessageRole, UserKey
from tests.fakes.secretary import conversations

TURNS = 40
STORED = 400
READ = 12
"""So many of the last messages a turn reads."""

SAID = "Qual é mesmo a senha do wifi da casa {number} na praia, aquela que eu te contei no verão passado?"
ANSWER = "A senha do wifi da casa na praia é banana42, como você me contou em janeiro. Quer que eu mude alguma coisa?"


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


def incoming(text: str, number: int, who: str = "bench") -> Incoming:
    """Return a message of a person in their own chat."""
    return Incoming(ChatKey("console", who), UserKey("console", who), who, str(number), text, datetime.now(UTC))


async def measure(folder: Path) -> list[tuple[str, str, str]]:
    """Return rows of kind, CPU, wall; milliseconds, medians of TURNS, and mean and 95th percentile of people's."""
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
                costs.append(await cost_of(handler, incoming(text, number)))
            cpu, wall = (median(column) for column in zip(*costs, strict=True))
            rows.append((kind, f"{cpu:.1f}", f"{wall:.1f}"))
        costs = []
        for at, conversation in enumerate(conversations(TUNE)):
            for said in conversation.steps:
                number += 1
                costs.append(await cost_of(handler, incoming(said.text, number, f"person {at}")))
        for name, taken in (("mean", fmean), ("95th percentile", lambda column: quantiles(column, n=20)[-1])):
            cpu, wall = (taken(column) for column in zip(*costs, strict=True))
            rows.append((f"people's messages ({len(costs)}), {name}", f"{cpu:.1f}", f"{wall:.1f}"))
    return rows


async def stored(folder: Path) -> list[tuple[str, str, str]]:
    """Return rows of a database, unsealed and sealed: what a turn stores and reads costs, CPU in ms, and its KiB."""
    file = KeyFile(folder / "keys" / "keys.db", bytes(KEY_BYTES))
    sealings: dict[str, Sealing] = {"unsealed": PLAIN, "sealed": Sealed(file)}
    databases = {
        name: await open_database(folder / name / "elefante.db", sealing=each) for name, each in sealings.items()
    }
    costs: dict[str, list[float]] = {name: [] for name in sealings}
    for number in range(STORED):
        for name, database in databases.items():
            before = time.process_time()
            await store_turn(database, incoming(SAID.format(number=number), number))
            costs[name].append(1000 * (time.process_time() - before))
    rows = []
    for name, database in databases.items():
        await database.close()
        size = (folder / name / "elefante.db").stat().st_size
        rows.append((name, f"{median(costs[name][STORED // 2 :]):.2f}", f"{size / 1024:.0f}"))
    file.close()
    return rows


async def store_turn(database: Database, asked: Incoming) -> None:
    """Do to the inbox and the history what a turn does to them."""
    inbox, history, turn = SqlInbox(database), SqlHistory(database), asked.message_id
    await inbox.accept(asked)
    thread = await history.open_thread(asked.conversation, asked.at)
    said = Message(MessageRole.USER, asked.text, at=asked.at, turn=turn, source_id=turn)
    await history.append(thread.id, said, [Transition(turn, TurnState.PENDING, asked.at)])
    await history.tail(thread.id, READ)
    await history.summary(thread.id)
    await history.search([asked.user], [asked.text], limit=3)
    await inbox.put_posted(asked, ["m"])
    answer = replace(said, role=MessageRole.ASSISTANT, content=ANSWER, source_id="", basis=Basis({"m1": 0.9}))
    await history.append(thread.id, answer, [Transition(turn, TurnState.COMPLETED, asked.at)])
    await inbox.close(asked)


async def cost_of(handler: MessageHandler, message: Incoming) -> tuple[float, float]:
    """Return the CPU and the time that a message takes, in milliseconds."""
    before = time.process_time(), time.perf_counter()
    await (await handler.receive(message, NoChannel()))
    return 1000 * (time.process_time() - before[0]), 1000 * (time.perf_counter() - before[1])


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(measure(Path(folder)))
    show("A whole turn in limited mode, ms, medians", ("turn", "CPU", "wall"), rows)
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(stored(Path(folder)))
    show("Of it, storage of what was said, ms, medians", ("database", "CPU", "KiB"), rows)
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB resident")
