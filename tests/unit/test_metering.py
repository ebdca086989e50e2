"""Every call is written down, whoever asked and however it ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager

import numpy as np
import pytest

from bot.models.metering import Meter, MeteredEmbedder, load_prices
from core.dialogue import Delta, Finish, Prompt, Stop, StreamEvent, Task, Usage
from core.errors import ProviderBusy, StorageError, StreamCut
from core.features.ledger.calls import ModelCall
from core.models import complete
from core.ports import ChatModel
from core.providers.cached_embedder import CachedEmbedder
from core.tasks import Trace, traced
from core.types import ChatKey, Incoming, UserKey, Vectors
from tests.fakes import anthropic_server
from tests.fakes.clock import START, FakeClock
from tests.fakes.http_server import Answer, LoopbackServer
from tests.fakes.model import ScriptedModel
from tests.fakes.openai_server import embedding, fails
from tests.fakes.wires import openai_embedder, prompt, wire

HAIKU = "anthropic:claude-haiku-5-5"
USAGE = Usage(1000, 100, 500, 40)


class Timed(ChatModel):
    """Takes 2 s to its first word and 3 s more to its end; or fails then."""

    def __init__(self, clock: FakeClock, end: Finish | StreamCut) -> None:
        self._clock = clock
        self._end = end

    @property
    def name(self) -> str:
        return HAIKU

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:  # noqa: ARG002
        yield self._events()

    async def _events(self) -> AsyncIterator[StreamEvent]:
        await self._clock.sleep(2)
        yield Delta("o")
        yield Delta("i")
        await self._clock.sleep(3)
        if isinstance(self._end, StreamCut):
            raise self._end
        yield self._end


class Book:
    """A ledger in a list."""

    def __init__(self) -> None:
        self.calls: list[ModelCall] = []

    async def record(self, call: ModelCall) -> None:
        self.calls.append(call)

    def metered(self, model: ChatModel) -> ChatModel:
        return Meter(self.record, load_prices(), FakeClock(auto=True)).of(model, "chat")


async def timed(end: Finish | StreamCut) -> tuple[Book, ChatModel]:
    clock = FakeClock(auto=True)
    book = Book()
    return book, Meter(book.record, load_prices(), clock).of(Timed(clock, end), "chat")


async def test_a_call_is_written_with_all_that_is_known_of_it() -> None:
    book, model = await timed(Finish(Stop.LENGTH, USAGE))
    assert model.name == HAIKU
    await complete(model, prompt())
    (call,) = book.calls
    assert (call.at, call.user, call.mode, call.task, call.model) == (START, None, "chat", "finish", HAIKU)
    assert (call.first_s, call.duration_s, call.outcome) == (2.0, 5.0, "length")
    assert call.usage == USAGE
    assert call.cost_usd == pytest.approx((500 * 0.10 + 500 * 0.01 + 100 * 0.50) / 1e6)


async def test_a_call_that_breaks_off_is_counted_by_what_went_out_and_came_in() -> None:
    book, model = await timed(StreamCut("cut"))
    with pytest.raises(StreamCut):
        await complete(model, prompt())
    (call,) = book.calls
    assert (call.outcome, call.first_s) == ("StreamCut", 2.0)
    assert call.usage is not None
    assert call.usage.input_tokens > 0
    assert call.usage.output_tokens > 0
    assert call.cost_usd


async def test_a_claude_call_that_breaks_off_is_counted_by_what_its_beginning_told() -> None:
    book = Book()
    async with wire("anthropic") as lab, lab.model() as model:
        lab.server.answers = [anthropic_server.breaks("Olá, ", "Ana")]
        with pytest.raises(StreamCut):
            await complete(book.metered(model), prompt())
    (call,) = book.calls
    assert call.usage is not None
    assert (call.usage.input_tokens, call.usage.cached_tokens, call.usage.cache_write_tokens) == (100, 50, 30)
    assert call.usage.output_tokens > 0


async def test_a_reader_that_leaves_is_told_from_a_failure() -> None:
    book, model = await timed(Finish(Stop.END, USAGE))
    async with model.stream(prompt()) as events:
        await anext(events)
    assert [call.outcome for call in book.calls] == ["left"]
    assert book.calls[0].usage is not None
    assert book.calls[0].usage.output_tokens > 0


async def test_a_cancelled_call_is_written() -> None:
    clock = FakeClock()
    book = Book()
    model = Meter(book.record, load_prices(), clock).of(Timed(clock, Finish(Stop.END)), "chat")
    task = asyncio.create_task(complete(model, prompt()))
    await clock.advance(2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [call.outcome for call in book.calls] == ["left"]


async def test_a_call_that_was_turned_down_is_written() -> None:
    book = Book()
    with pytest.raises(ProviderBusy):
        await complete(book.metered(ScriptedModel({Task.FINISH: [ProviderBusy("busy")]})), prompt())
    assert [(call.outcome, call.usage) for call in book.calls] == [("ProviderBusy", None)]


async def test_a_ledger_that_fails_fails_nobodys_answer(caplog: pytest.LogCaptureFixture) -> None:
    async def full(_: ModelCall) -> None:
        raise StorageError("disk full")

    model = Meter(full, load_prices(), FakeClock()).of(ScriptedModel({Task.FINISH: ["oi"]}), "chat")
    with caplog.at_level(logging.WARNING):
        assert (await complete(model, prompt())).text == "oi"
    assert "not written down" in caplog.text


def said_by(user: str, *, private: bool = True) -> Incoming:
    who = UserKey("telegram", user)
    return Incoming(ChatKey("telegram", "room"), who, user, user, f"eu sou {user}", START, private=private)


def turn_of(user: str, *, private: bool = True) -> AbstractContextManager[None]:
    return traced(Trace(f"turn of {user}", 0.0, said_by(user, private=private)))


async def test_a_call_is_the_persons_whose_message_is_answered_and_of_the_room_where_others_read_along() -> None:
    book = Book()
    model, tasks = book.metered(ScriptedModel({})), []
    for user, private in (("ana", True), ("bia", False)):
        with turn_of(user, private=private):
            tasks.append(asyncio.create_task(complete(model, prompt())))
    await asyncio.gather(*tasks)
    await complete(model, prompt())
    users = [(call.user.user if call.user else None, call.room) for call in book.calls]
    assert users == [("ana", ""), ("bia", "telegram:room"), (None, "")]


class Counted:
    """An embedder that counts a token a text."""

    name, space, dims = "counted:1", "counted@2", 2

    async def embed_counted(self, texts: Sequence[str]) -> tuple[Vectors, int]:
        await asyncio.sleep(0)
        return np.eye(2, dtype=np.float32)[[0] * len(texts)], len(texts)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return (await self.embed_counted(texts))[0]

    async def close(self) -> None:
        """Nothing to let go of."""


async def test_what_is_embedded_is_paid_by_the_one_whose_words_they_are_also_behind_the_cache() -> None:
    book = Book()
    embedder = CachedEmbedder(MeteredEmbedder(Counted(), Meter(book.record, load_prices(), FakeClock())))
    under_way = []
    for user in ("ana", "bia", "ana"):
        with turn_of(user):
            under_way.append(asyncio.create_task(embedder.embed([said_by(user).text])))
    await asyncio.gather(*under_way)
    assert [(call.user, call.usage) for call in book.calls] == [
        (UserKey("telegram", "ana"), Usage(1)),
        (UserKey("telegram", "bia"), Usage(1)),
    ]


async def test_an_embedders_calls_are_written_with_what_they_read() -> None:
    book = Book()
    server = LoopbackServer([embedding(8), fails(429), Answer(body=b'{"data": [{"embedding": [1,0,0,0,0,0,0,0]}]}')])
    meter = Meter(book.record, load_prices(), FakeClock(auto=True))
    async with openai_embedder(server) as leaf:
        embedder = MeteredEmbedder(leaf, meter)
        assert (embedder.space, embedder.dims) == (leaf.space, 8)
        assert (await embedder.embed(["a", "b"])).shape == (2, 8)
        with pytest.raises(ProviderBusy):
            await embedder.embed(["a"])
        await embedder.embed(["a"])
        await embedder.close()
    assert [(call.mode, call.model, call.outcome, call.usage) for call in book.calls] == [
        ("embedding", "openai:text-embedding-3-small", "end", Usage(2)),
        ("embedding", "openai:text-embedding-3-small", "ProviderBusy", None),
        ("embedding", "openai:text-embedding-3-small", "end", None),
    ]
