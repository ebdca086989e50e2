"""When to write where: the budgets that Discord announces in the headers of each response, and the waits it asks for.

The library would sleep through such waits with a text that grows stale; here they become `ChannelBusy`, so that the
caller comes back with the newest text. Texts that still change leave two requests of each budget to others. The last
one, after which the library makes its caller wait for the next window, is spent only on new messages that are whole,
and on what a person waits to see stopped.

Source: discord.com/developers/docs/topics/rate-limits; discord.py 2.7 http.py, `Ratelimit.__aexit__`.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from types import SimpleNamespace
from weakref import WeakValueDictionary

import aiohttp

from adapters.running import Backoff, SharedBucket, Wrote, ignored
from core.errors import ChannelBusy, ChannelDown, ChannelError
from core.ports import Clock
from core.workers.port import Worker, check_claim

OVERALL_PER_S = 40
"""The most requests of all workers together in any second; the platform's limit is 50. Source: the page named above."""

_BURST = 5
"""How many of them may be made in the same instant."""

_LIMIT = "discord:requests"

LAST, WHOLE, GROWING = 0, 1, 2
"""How many requests of a budget's window a request leaves behind."""

_PATIENCE_S = 0.5  # a shorter wait is waited for here
_BLINK_S = 0.1  # and by a text that may grow stale meanwhile
_UNNAMED_WAIT_S = 60.0
_SWEEP_ABOVE = 1024
_MESSAGE = re.compile(r"(?<=/messages/)[^/]+")
_TOO_MANY = 429
_MARGIN_S = 0.05  # the headers are rounded
_YIELD_S = 1.0  # of a new window, in which only texts that are whole are written if one was held back
_JITTER_S = 0.5  # by which two answers of one window may differ on when it ends


def budget(method: str, path: str) -> str:
    """Return the name of the budget that a request draws on: its route, without the message that it is about."""
    start = max(path.find("/channels/"), path.find("/webhooks/"), 0)
    return f"{method} {_MESSAGE.sub('*', path[start:])}"


@dataclass(slots=True)
class _WriteBudget:
    limit: int
    remaining: int
    resets_s: float
    yields_until_s: float = 0.0

    def wait_s(self, now_s: float, leaves: int) -> float:
        yields_s = max(self.yields_until_s - now_s, 0.0) if leaves >= GROWING else 0.0
        if now_s >= self.resets_s or self.remaining > min(self.limit - 1, leaves):
            return yields_s
        return max(self.resets_s - now_s, yields_s)


class Pacer:
    """All budgets of one bot. `wrote` is told how Discord answered each write."""

    def __init__(self, clock: Clock, worker: Worker, wrote: Wrote = ignored) -> None:
        self._clock = clock
        self._wrote = wrote
        self._budgets: dict[str, _WriteBudget] = {}
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._under_way: WeakValueDictionary[str, ExitStack] = WeakValueDictionary()
        self._quiet_until_s = 0.0
        self._overall = SharedBucket(_LIMIT, worker, float(_BURST), float(OVERALL_PER_S - _BURST), clock.monotonic())
        self._backoff = Backoff()

    def __len__(self) -> int:
        """Return how many budgets are known."""
        return len(self._budgets)

    def trace(self) -> aiohttp.TraceConfig:
        """Return the hook by which this pacer sees every response before the library does."""
        trace = aiohttp.TraceConfig()
        trace.on_request_end.append(self._ended)
        trace.on_request_exception.append(self._unanswered)
        return trace

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Wait for the earlier requests of that budget, where they go one after another, until each was answered.

        The caller of the last one of a window sleeps in the library until the next window: others are not to.
        """
        with ExitStack() as mine:
            if "/channels/" in name:
                lock = self._turns.setdefault(name, asyncio.Lock())
                await lock.acquire()
                mine.callback(lock.release)
                self._under_way[name] = mine
            yield

    async def admit(self, name: str, leaves: int = WHOLE) -> None:
        """Wait until a request of that budget may go that `leaves` so many behind, and count it.

        Texts that still change (GROWING) hardly wait here, and let others go first.

        Raises:
            ChannelBusy: not for a while.
            ClaimLost: it is another worker's to write by now.
        """
        while leaves >= GROWING and (wait_s := self._wait_s(name, GROWING)) > 0:
            if wait_s > _BLINK_S:
                raise ChannelBusy(wait_s, self._wait_s(name, WHOLE))
            await self._clock.sleep(wait_s)
        while (known := self._budgets.get(name)) and (wait_s := known.wait_s(self._clock.monotonic(), leaves)):
            known.yields_until_s = known.resets_s + _YIELD_S
            await self._wait(wait_s)
        wait_s = self._overall_wait_s()
        if wait_s <= _PATIENCE_S:  # spent before it is there: the next caller waits for the next one
            self._overall.take()
            if known is not None:
                known.remaining -= 1
        await self._wait(wait_s)

    def failed(self) -> ChannelBusy:
        """Return the wait after a network or a server that did not answer."""
        return ChannelBusy(self._backoff.next_s())

    def _wait_s(self, name: str, leaves: int) -> float:
        """Return the seconds until a request of that budget may go."""
        known = self._budgets.get(name)
        wait_s = known.wait_s(self._clock.monotonic(), leaves) if known else 0.0
        return max(wait_s, self._overall_wait_s(self._overall.burst / 2 if leaves >= GROWING else 0.0))

    async def _wait(self, wait_s: float) -> None:
        if wait_s > _PATIENCE_S:
            raise ChannelBusy(wait_s)
        if wait_s > 0:
            await self._clock.sleep(wait_s)
            check_claim()

    def _overall_wait_s(self, reserve: float = 0.0) -> float:
        now_s = self._clock.monotonic()
        self._overall.refill(now_s)
        return max(self._overall.wait_s(reserve), self._quiet_until_s - now_s)

    async def _ended(
        self, session: aiohttp.ClientSession, context: SimpleNamespace, params: aiohttp.TraceRequestEndParams
    ) -> None:
        """Learn from a response.

        Raises:
            ChannelBusy: it is a refusal that the library would sleep over; raised into the request itself.
        """
        del session, context
        if "Upgrade" in params.headers:  # the gateway: no request of a budget, and the library reconnects by itself
            return
        response = params.response
        if params.method != "GET":
            self._wrote(response.status)
        if response.status == _TOO_MANY:
            raise self._flooded(budget(params.method, params.url.path), response)
        if response.status >= 500:  # noqa: PLR2004
            raise ChannelDown(self.failed().retry_after_s)
        self._backoff.reset()
        name = budget(params.method, params.url.path)
        self._learn(name, response)
        is_refused = response.status >= HTTPStatus.BAD_REQUEST  # the next one waits until it is known what that means
        if not is_refused and (answered := self._under_way.pop(name, None)) is not None:
            answered.close()

    async def _unanswered(
        self, session: aiohttp.ClientSession, context: SimpleNamespace, params: aiohttp.TraceRequestExceptionParams
    ) -> None:
        del session, context
        if params.method != "GET" and not isinstance(params.exception, ChannelError):  # which `_ended` has raised
            self._wrote(0)

    def _learn(self, name: str, response: aiohttp.ClientResponse) -> None:
        headers = response.headers
        if "X-RateLimit-Remaining" not in headers or "X-RateLimit-Reset-After" not in headers:
            return
        resets_s = self._clock.monotonic() + _seconds(headers["X-RateLimit-Reset-After"], 1.0) + _MARGIN_S
        remaining, limit = (int(_seconds(headers.get(f"X-RateLimit-{one}", ""), 1.0)) for one in ("Remaining", "Limit"))
        known = self._budgets.get(name)
        if known is not None and resets_s < known.resets_s + _JITTER_S:  # the same window, or an answer that was late
            remaining, resets_s = min(remaining, known.remaining), max(resets_s, known.resets_s)
        self._keep(name, _WriteBudget(limit, remaining, resets_s, known.yields_until_s if known else 0.0))

    def _flooded(self, name: str, response: aiohttp.ClientResponse) -> ChannelBusy:
        wait_s = _seconds(response.headers.get("Retry-After", ""), _UNNAMED_WAIT_S)
        until_s = self._clock.monotonic() + wait_s
        # Without `Via` it is not Discord's own answer, but that of the wall in front of it: everybody has to wait.
        if response.headers.get("X-RateLimit-Global") or "Via" not in response.headers:
            self._quiet_until_s = max(self._quiet_until_s, until_s)
        else:
            self._keep(name, _WriteBudget(1, 0, until_s))
        return ChannelBusy(wait_s)

    def _keep(self, name: str, known: _WriteBudget) -> None:
        if len(self._budgets) >= _SWEEP_ABOVE and name not in self._budgets:
            now_s = self._clock.monotonic()
            self._budgets = {key: one for key, one in self._budgets.items() if one.resets_s > now_s}
        self._budgets[name] = known


def _seconds(header: str, otherwise: float) -> float:
    """Return the number in a header; a proxy in front of Discord may have written something else, such as a date."""
    try:
        number = float(header)
    except ValueError:
        return otherwise
    return number if 0.0 <= number < math.inf else otherwise
