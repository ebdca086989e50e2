"""What the OpenAI embedder does with a real socket: batches, order, lengths, and answers that are none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import numpy as np
import pytest

from core.errors import BadReply, ContextTooLong, KeyRejected, ProviderBusy, ProviderDown, ProviderError
from core.providers import openai as leaf
from tests.fakes.http_server import Answer, Asked, LoopbackServer
from tests.fakes.openai_server import CONTEXT_TOO_LONG, embedding, fails
from tests.fakes.wires import openai_embedder


async def test_many_texts_go_in_batches_and_come_back_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaf, "MAX_TEXTS", 3)
    monkeypatch.setattr(leaf, "MAX_CHARS", 40)
    texts = [f"t{n}" for n in range(7)] + ["x" * 30, "y" * 30, "z"]
    server = LoopbackServer([embedding(8, shuffled=True)])
    async with openai_embedder(server) as embedder:
        together = await embedder.embed(texts)
        asked = [body["input"] for body in server.bodies]
        assert asked == [texts[0:3], texts[3:6], texts[6:8], texts[8:]]
        alone = np.concatenate([await embedder.embed([text]) for text in texts])
    assert np.array_equal(together, alone)


async def test_floats_are_asked_for_until_a_server_refuses_the_word() -> None:
    def picky(asked: Asked) -> Answer:
        if "encoding_format" in asked.body:
            return fails(400, "unknown field encoding_format")
        return embedding(8)(asked)

    server = LoopbackServer([picky])
    async with openai_embedder(server) as embedder:
        await embedder.embed(["a"])
        await embedder.embed(["b"])
    assert [body.get("encoding_format") for body in server.bodies] == ["float", None, None]


async def test_a_shorter_vector_is_asked_for_by_its_length() -> None:
    server = LoopbackServer([embedding(8)])
    async with openai_embedder(server, asked_dims=8) as embedder:
        assert embedder.space == "text-embedding-3-small@8"
        await embedder.embed(["a"])
    assert server.bodies[0]["dimensions"] == 8


async def test_a_text_that_does_not_fit_is_shortened_and_its_neighbours_are_not() -> None:
    def small(asked: Asked) -> Answer:
        if sum(map(len, asked.body["input"])) > 300:
            return fails(400, CONTEXT_TOO_LONG)
        return embedding(8)(asked)

    server = LoopbackServer([small])
    async with openai_embedder(server) as embedder:
        together = await embedder.embed(["curto", "longo " * 200, "outro"])
        assert np.array_equal(together[0], (await embedder.embed(["curto"]))[0])
        assert np.array_equal(together[1], (await embedder.embed(["longo " * 200]))[0])
        assert np.array_equal(together[2], (await embedder.embed(["outro"]))[0])


async def test_a_model_that_finds_everything_too_long_is_given_up() -> None:
    async with openai_embedder(LoopbackServer([fails(400, CONTEXT_TOO_LONG)])) as embedder:
        with pytest.raises(ContextTooLong):
            await embedder.embed(["longo " * 200])


def rows(*vectors: object) -> Answer:
    data = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return Answer(body=json.dumps({"data": data}).encode())


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (rows([1.0] * 7), BadReply),
        (rows([1.0] * 8, [1.0] * 8), BadReply),
        (rows([0.0] * 8), BadReply),
        (rows([float("nan")] * 8), BadReply),
        (rows("AACAPwAAgD8="), BadReply),
        (rows(None), BadReply),
        (Answer(body=b'{"data": ["x"]}'), BadReply),
        (Answer(body=b"[]"), BadReply),
        (Answer(body=b"{not json"), BadReply),
        (fails(401), KeyRejected),
        (fails(429), ProviderBusy),
        (fails(500), ProviderDown),
        (fails(400, "no"), ProviderDown),
    ],
)
async def test_what_is_no_answer_is_a_failure(answer: Answer, failure: type[ProviderError]) -> None:
    async with openai_embedder(LoopbackServer([answer])) as embedder:
        with pytest.raises(failure) as caught:
            await embedder.embed(["SECRET WORDS"])
    assert "SECRET" not in str(caught.value)


async def test_a_silent_server_is_down() -> None:
    silent: Callable[[Asked], Answer] | Answer = Answer(frames=[b""], gates={0: asyncio.Event()})
    async with openai_embedder(LoopbackServer([silent]), timeout_s=0.1) as embedder:
        with pytest.raises(ProviderDown):
            await embedder.embed(["a"])
