"""The model leaves beside the bare SDKs: tokens a second of one core, time to the first token, and what imports cost.

Server and client are two processes on loopback, so that the server's work counts for neither side.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from statistics import median
from typing import Any

from bench.process import run
from bench.table import show
from core.dialogue import Delta, Prompt, PromptContext, PromptTurn, Task
from core.ports import ChatModel
from core.providers.anthropic import AnthropicEndpoint
from core.providers.openai import OpenAIEndpoint
from core.providers.streamed import ModelOptions
from core.types import Locale, MessageRole
from tests.fakes import anthropic_server, openai_server
from tests.fakes.http_server import Answer, Asked, LoopbackServer

TOKENS = 4000
TOKENS_A_WRITE = 20
ROUNDS = 7
FIRST_TOKENS = 300
STARTS = 5
TEXT = "Say it."
PROMPT = Prompt(
    "You are Elefante.",
    (PromptTurn(MessageRole.USER, TEXT),),
    PromptContext(Task.FINISH, Locale.EN, TEXT, datetime(2026, 1, 1, tzinfo=UTC)),
)
Stream = Callable[[], Awaitable[tuple[float, int]]]
"""Asks once: seconds to the first token, and how many came."""


def serve(pipe: Connection) -> None:
    """Answer every question with as many tokens as its model is called, until killed."""

    def answer(asked: Asked) -> Answer:
        api: Any = anthropic_server if asked.path == anthropic_server.PATH else openai_server
        count = int(asked.body["model"])
        tokens = api.texts([" token"] * count)
        joined = [b"".join(tokens[at : at + TOKENS_A_WRITE]) for at in range(0, count, TOKENS_A_WRITE)]
        reason = "end_turn" if api is anthropic_server else "stop"
        # What opens the answer is plain: thought is not what is measured here.
        opening = api.opening()[:1] if api is openai_server else api.opening()[:1] + api.opening()[-1:]
        return Answer(frames=[b"".join(opening), *joined, b"".join(api.closing(reason))])

    async def forever() -> None:
        server = LoopbackServer([answer])
        async with server.running():
            pipe.send(server.url)
            await asyncio.Event().wait()

    asyncio.run(forever())


@contextmanager
def serving() -> Iterator[str]:
    """Run the server in a process of its own."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        process.terminate()
        process.join()


async def through_leaf(model: ChatModel) -> tuple[float, int]:
    started = time.perf_counter()
    first, count = 0.0, 0
    async with model.stream(PROMPT) as events:
        async for event in events:
            if isinstance(event, Delta):
                first = first or time.perf_counter() - started
                count += 1
    return first, count


async def through_anthropic(client: Any, model: str) -> tuple[float, int]:
    started = time.perf_counter()
    first, count = 0.0, 0
    stream = await client.messages.create(
        model=model, max_tokens=1024, messages=[{"role": "user", "content": TEXT}], system=PROMPT.system, stream=True
    )
    async for event in stream:
        if event.type == "content_block_delta" and event.delta.type == "text_delta" and event.delta.text:
            first = first or time.perf_counter() - started
            count += 1
    return first, count


async def through_openai(client: Any, model: str) -> tuple[float, int]:
    started = time.perf_counter()
    first, count = 0.0, 0
    messages = [{"role": "system", "content": PROMPT.system}, {"role": "user", "content": TEXT}]
    stream = await client.chat.completions.create(
        model=model, max_tokens=1024, messages=messages, stream=True, stream_options={"include_usage": True}
    )
    async for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            first = first or time.perf_counter() - started
            count += 1
    return first, count


@asynccontextmanager
async def sides(url: str) -> AsyncIterator[dict[str, Callable[[int], tuple[Stream, Stream]]]]:
    """Map each vendor to a function from a number of tokens to (bare SDK, leaf)."""
    import anthropic
    import openai

    async with (
        anthropic.AsyncAnthropic(api_key="k", base_url=url) as bare_anthropic,
        openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1") as bare_openai,
    ):
        ours_anthropic, ours_openai = AnthropicEndpoint("k", url), OpenAIEndpoint("k", f"{url}/v1")

        def of_anthropic(count: int) -> tuple[Stream, Stream]:
            model = ours_anthropic.model(ModelOptions(str(count)))
            return lambda: through_anthropic(bare_anthropic, str(count)), lambda: through_leaf(model)

        def of_openai(count: int) -> tuple[Stream, Stream]:
            model = ours_openai.model(ModelOptions(str(count)))
            return lambda: through_openai(bare_openai, str(count)), lambda: through_leaf(model)

        yield {"anthropic": of_anthropic, "openai": of_openai}
        await ours_anthropic.aclose()
        await ours_openai.aclose()


async def cpu_us(stream: Stream) -> float:
    """Return CPU microseconds a token."""
    before = time.process_time()
    _, count = await stream()
    assert count == TOKENS, f"{count} tokens came, not {TOKENS}"
    return (time.process_time() - before) / count * 1e6


async def measure(url: str) -> None:
    async with sides(url) as vendors:
        rates, firsts = [], []
        for vendor, of in vendors.items():
            bare, leaf = of(TOKENS)
            await bare()
            await leaf()
            pairs = [(await cpu_us(bare), await cpu_us(leaf)) for _ in range(ROUNDS)]
            theirs, ours = (median(column) for column in zip(*pairs, strict=True))
            rates.append([vendor, f"{1e6 / theirs:,.0f}", f"{1e6 / ours:,.0f}", f"{theirs / ours:.2f}", ">= 0.90"])
            bare, leaf = of(1)
            waits = [((await bare())[0], (await leaf())[0]) for _ in range(FIRST_TOKENS)]
            theirs, ours = (median(column) * 1e3 for column in zip(*waits, strict=True))
            firsts.append([vendor, f"{theirs:.2f} ms", f"{ours:.2f} ms", f"{ours - theirs:+.2f} ms", "< 2 ms"])
    show("Tokens a CPU second from a stream", ["vendor", "bare SDK", "leaf", "ratio", "aim"], rates)
    show("Time to the first token (wall, median)", ["vendor", "bare SDK", "leaf", "added", "aim"], firsts)


_START = """
import asyncio
from contextlib import AsyncExitStack
from bot.settings.models import ModelSettings
from bot.models.chains import build_chains
from core.clock import SystemClock
async def main():
    settings = ModelSettings(model={model!r}, anthropic_api_key="k", openai_api_key="k")
    async with AsyncExitStack() as stack:
        await build_chains(settings, SystemClock(), stack)
asyncio.run(main())
"""


def starts() -> None:
    """Measure processes that build the models of one provider, of both, and of none."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    rows = []
    for what, model in (
        ("no model (limited mode)", ""),
        ("openai", "openai:m"),
        ("anthropic", "anthropic:m"),
        ("both", "anthropic:m,openai:m"),
    ):
        costs = [run(["-c", _START.format(model=model)], environment) for _ in range(STARTS)]
        rows.append([what, f"{median(cost.cpu_s for cost in costs):.2f} s"])
    show("A start that builds the models (only what is configured is imported)", ["provider", "CPU"], rows)


def main() -> None:
    """Print every figure."""
    with serving() as url:
        asyncio.run(measure(url))
    starts()
