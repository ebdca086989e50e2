"""Numbers for Prometheus, and whether the process lives and is ready: a small HTTP server at METRICS.

`/metrics`, `/healthz`, `/readyz`. No label holds an id of a person or a chat, or words; each has few values. Imported
only when METRICS is set, as it loads the client library.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from importlib import metadata
from typing import Final

from aiohttp import web
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from adapters.running import Wrote, listening
from core.errors import StorageError
from core.features.admin.machine import Link, PlatformState
from core.features.ledger.calls import ModelCall
from core.ports import Clock
from core.storage.database import PoolUse
from core.stores import Backlog
from core.tasks import Phase

COMPLETED: Final = "completed"
_PATIENCE_S: Final = 2.0  # with the storage: who asks waits for 10 s at most by default, Kubernetes for 1 to 3
_SECONDS: Final = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


@dataclass(frozen=True, slots=True)
class Readings:
    """What is read of a bot when somebody asks."""

    clock: Clock
    platforms: Mapping[str, PlatformState]
    backlog: Callable[[], Awaitable[Mapping[str, Backlog]]]
    pool: Callable[[], PoolUse | None]
    is_known: Callable[[], bool]
    """Whether the other workers hear of this one."""


class Metrics:
    """What is counted of one process. Everything that happens is counted at once; states are read when asked for."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each, of when it began
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        histogram = partial(Histogram, buckets=_SECONDS, registry=registry)

        of_call = ["mode", "model"]
        self._turns = counter("elefante_turns", "Turns, by how they ended.", ["platform", "outcome"])
        self._phases = histogram("elefante_turn_seconds", "Time of a turn, by what it was spent on.", ["phase"])
        self._calls = counter("elefante_model_calls", "Calls of models, by how they ended.", [*of_call, "outcome"])
        self._call_seconds = histogram("elefante_model_call_seconds", "Time of a call of a model.", of_call)
        self._tokens = counter("elefante_model_tokens", "Tokens that models read and wrote.", [*of_call, "kind"])
        self._writes = counter(
            "elefante_writes", "Requests that write, by their HTTP status; 0: no answer.", ["platform", "status"]
        )
        self._connected = gauge("elefante_platform_connected", "Whether the platform is connected.", ["platform"])
        self._owed = gauge("elefante_messages_owed", "Messages that are owed an answer.", ["platform"])
        self._oldest = gauge("elefante_oldest_owed_seconds", "Age of the oldest of them.", ["platform"])
        self._storage_up = gauge("elefante_storage_up", "Whether the storage answers.")
        self._pool = gauge("elefante_pool_connections", "Connections that the pool may have, by state.", ["state"])
        self._pool_waiting = gauge("elefante_pool_waiting", "Jobs that wait for a connection to the database.")
        gauge("elefante_info", "The version that runs.", ["version"]).labels(metadata.version("elefante")).set(1)

    def turn_ended(self, platform: str, failure: str, spent_s: Mapping[Phase, float]) -> None:
        """Count a turn (`core.answering.parts.TurnEnded`)."""
        self._turns.labels(platform, failure or COMPLETED).inc()
        for phase, seconds in spent_s.items():
            self._phases.labels(phase.value).observe(seconds)

    def model_called(self, call: ModelCall) -> None:
        """Count a call of a model."""
        self._calls.labels(call.mode, call.model, call.outcome).inc()
        self._call_seconds.labels(call.mode, call.model).observe(call.duration_s)
        if call.usage is not None:
            self._tokens.labels(call.mode, call.model, "input").inc(call.usage.input_tokens)
            self._tokens.labels(call.mode, call.model, "output").inc(call.usage.output_tokens)

    def wrote(self, platform: str) -> Wrote:
        """Return what counts the writes on that platform."""
        return lambda status: self._writes.labels(platform, str(status)).inc()

    async def text(self, bot: Readings | None) -> bytes:
        """Return everything in Prometheus' text format. What cannot be read now is left out."""
        self._owed.clear()
        self._oldest.clear()
        owed = None if bot is None else await _backlog(bot)
        self._storage_up.set(owed is not None)
        if bot is not None:
            self._read_states(bot, owed)
        return generate_latest(self.registry)

    def _read_states(self, bot: Readings, owed: Mapping[str, Backlog] | None) -> None:
        now = bot.clock.now()
        for name, state in bot.platforms.items():
            self._connected.labels(name).set(state.link is Link.CONNECTED)
        if owed is not None:
            for name, backlog in (dict.fromkeys(bot.platforms, Backlog(0, now)) | dict(owed)).items():
                self._owed.labels(name).set(backlog.messages)
                self._oldest.labels(name).set((now - backlog.oldest).total_seconds())
        if (pool := bot.pool()) is not None:
            self._pool.labels("idle").set(pool.idle)
            self._pool.labels("used").set(pool.size - pool.idle)
            self._pool.labels("closed").set(pool.limit - pool.size)
            self._pool_waiting.set(pool.waiting)


class MetricsServer:
    """Serves the metrics of a process, and its state. `bot` is None until it is put together."""

    def __init__(self, metrics: Metrics, stop: asyncio.Event) -> None:
        self.metrics = metrics
        self.bot: Readings | None = None
        self._stop = stop

    @asynccontextmanager
    async def at(self, host: str, port: int) -> AsyncIterator[None]:
        """Answer requests at that address while the context is entered.

        Raises:
            ConfigError: it cannot be listened on.
        """
        served = web.Application()
        served.router.add_get("/metrics", self._metrics)
        served.router.add_get("/healthz", self._healthz)
        served.router.add_get("/readyz", self._readyz)
        async with listening(served, host, port, setting="METRICS"):
            yield

    async def _metrics(self, _: web.Request) -> web.Response:
        text = await self.metrics.text(self.bot)
        return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    async def _healthz(self, _: web.Request) -> web.Response:
        """Say that the event loop runs; nothing else could say so."""
        return web.json_response({"ok": True})

    async def _readyz(self, _: web.Request) -> web.Response:
        reasons = await self._reasons()
        status = HTTPStatus.SERVICE_UNAVAILABLE if reasons else HTTPStatus.OK
        return web.json_response({"ready": not reasons, "reasons": reasons}, status=status)

    async def _reasons(self) -> list[str]:
        """Return why the bot is not ready; nothing if it is."""
        if self._stop.is_set():
            return ["the bot is stopping"]
        if self.bot is None:
            return ["the bot is starting"]
        reasons = [] if await _backlog(self.bot) is not None else ["the storage does not answer"]
        reasons += [] if self.bot.is_known() else ["the other workers do not hear of this one"]
        links = [state.link for state in self.bot.platforms.values()]
        return reasons if Link.CONNECTED in links else [*reasons, "no platform is connected"]


async def _backlog(bot: Readings) -> Mapping[str, Backlog] | None:
    """Return what is owed on each platform; None if the storage does not say it in time."""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            return await bot.backlog()
    except (StorageError, TimeoutError):
        return None
