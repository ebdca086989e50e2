"""The embedded embedder: what a text costs, what the event loop feels of it, what a repeated text costs."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Sequence
from statistics import median, quantiles

from bench.process import rss_mib
from bench.table import show
from core.ports import Embedder
from core.providers.cached_embedder import CachedEmbedder
from core.providers.usem3 import SLICE, Usem3Embedder

_PLACES = ["na gaveta", "no cofre", "atrás do quadro", "com a Ana", "no carro", "in the blue box", "under the desk"]
_THINGS = ["a chave", "o passaporte", "o carregador", "o contrato", "the spare key", "the receipt", "my umbrella"]
SENTENCES = [f"{thing} está {place}" for thing in _THINGS for place in _PLACES]
LONG = "uma frase comum que se repete até passar do que o modelo lê de um texto. " * 40


async def lags_ms(work: Awaitable[object]) -> list[float]:
    """Return how late a task that wants to run every millisecond was, while that work is done."""
    late: list[float] = []
    task = asyncio.ensure_future(work)
    while not task.done():
        due = time.perf_counter() + 0.001
        await asyncio.sleep(0.001)
        late.append((time.perf_counter() - due) * 1000)
    await task
    return late


def p50_p99(values: list[float], unit: str) -> str:
    """Return both, readable."""
    return f"{median(values):.1f} / {quantiles(values, n=100)[98]:.1f} {unit}"


async def measure() -> list[tuple[str, str, str]]:
    rows: list[tuple[str, str, str]] = []
    embedder, before_mib = Usem3Embedder(), rss_mib(os.getpid())
    began, cpu_began = time.perf_counter(), time.process_time()
    loading = await lags_ms(embedder.embed(["elefante"]))
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu_began
    rows.append(("first vector, wall", f"{wall_s * 1000:.0f} ms", ""))
    rows.append(("  CPU", f"{cpu_s * 1000:.0f} ms", ""))
    rows.append(("  loop lag meanwhile, p50 / p99", p50_p99(loading, "ms"), "p99 under 20 ms"))
    rows.append(("memory of the model", f"{rss_mib(os.getpid()) - before_mib:.0f} MiB", ""))

    text_s, walls = await cost(embedder, [[sentence] for sentence in SENTENCES])
    rows.append(("short sentence, CPU", f"{text_s * 1000:.2f} ms", "under 2 ms"))
    rows.append(("  wall, p50 / p99", p50_p99(walls, "ms"), ""))
    for size in (4, SLICE, 4 * SLICE):
        together = [(SENTENCES * 3)[start : start + size] for start in range(0, 128, size)]
        rows.append((f"  CPU of each of {size}", f"{(await cost(embedder, together))[0] / size * 1000:.2f} ms", ""))
    rows.append(("longest text, CPU", f"{(await cost(embedder, [[LONG]] * 9))[0] * 1000:.0f} ms", ""))
    rows.append(
        ("a megabyte of one letter, CPU", f"{(await cost(embedder, [['x' * 2**20]] * 9))[0] * 1000:.0f} ms", "")
    )

    cached = CachedEmbedder(embedder)
    await cached.embed(SENTENCES)
    hit_s, _ = await cost(cached, [[sentence] for sentence in SENTENCES] * 100)
    rows.append(("repeated text, CPU", f"{hit_s * 1e6:.0f} us", ""))
    rows.append(("  of an embedding", f"{hit_s / text_s:.2%}", "at most 1 %"))

    rows.append(("loop lag idle, p50 / p99", p50_p99(await lags_ms(asyncio.sleep(3)), "ms"), ""))
    late = await lags_ms(asyncio.gather(*(embedder.embed([LONG] * 64) for _ in range(4))))
    rows.append(("loop lag, 256 long texts queued, p50 / p99", p50_p99(late, "ms"), "p99 under 20 ms"))
    return rows


async def cost(embedder: Embedder, calls: Sequence[Sequence[str]]) -> tuple[float, list[float]]:
    """Return the CPU seconds of a call, and the wall milliseconds of each."""
    walls, cpu_began = [], time.process_time()
    for texts in calls:
        began = time.perf_counter()
        await embedder.embed(texts)
        walls.append((time.perf_counter() - began) * 1000)
    return (time.process_time() - cpu_began) / len(calls), walls


def main() -> None:
    """Measure and print."""
    show("The embedded embedder", ("what", "measured", "aim"), asyncio.run(measure()))
