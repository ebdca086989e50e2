"""The promise of `core.ports.Embedder`, kept by every embedder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.ports import Embedder
from core.providers.cached_embedder import CachedEmbedder
from core.providers.usem3 import Usem3Embedder
from core.types import Vector, Vectors
from tests.fakes.http_server import LoopbackServer
from tests.fakes.model import HashEmbedder
from tests.fakes.openai_server import embedding
from tests.fakes.wires import openai_embedder

EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "usem3": Usem3Embedder,
    "cached": lambda: CachedEmbedder(Usem3Embedder(), max_texts=100),
    "hash": HashEmbedder,
}


def equal(one: Vector | Vectors, other: Vector | Vectors) -> bool:
    """Tell whether both are the same but for rounding: another text differs a thousand times as much."""
    return one.shape == other.shape and np.allclose(one, other, rtol=0, atol=1e-6)


HOSTILE = {
    "nothing": "",
    "blanks": " \t\n\u00a0\u2003",
    "a ligature of eighteen letters": "\ufdfa" * 1000,
    "NUL": "a\x00b",
    "only NUL": "\x00",
    "lone surrogates": "\ud800a\udfff",
    "controls": "".join(map(chr, range(32))) + "\x7f\x9f",
    "a megabyte": "palavra " * 131_072,
    "a megabyte without a space": "x" * 1_048_576,
    "marks on nothing": "\u0301" * 5000,
    "one letter, many marks": "e" + "\u0301\u0323" * 3000,
    "right to left, joined": "\u202e\u200d\u200dabc\ufeff",
    "emoji families": "👨‍👩‍👧‍👦" * 500,
    "not characters": "\uffff\ufffe\U0010ffff",
    "half-width and circled": "ｶﾞ①㍿﷽" * 200,
    "markup of a model": "<s></s><pad><unk>▁▁▁query: passage: ",
}


@pytest.fixture(params=[*EMBEDDERS, "openai"])
async def embedder(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    if request.param == "openai":
        async with openai_embedder(LoopbackServer([embedding(8)])) as remote:
            yield remote
        return
    made = EMBEDDERS[request.param]()
    yield made
    await made.close()


async def test_returns_one_unit_vector_a_text_in_the_order_asked(embedder: Embedder) -> None:
    texts = ["a senha do wifi", "o aniversário da Ana", "the dentist's phone"]
    vectors = await embedder.embed(texts)
    assert vectors.shape == (3, embedder.dims)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-3)
    reversed_vectors = await embedder.embed(texts[::-1])
    assert equal(reversed_vectors, vectors[::-1])
    assert not np.allclose(vectors[0], vectors[1])


async def test_gives_equal_texts_equal_vectors_within_a_call_and_across_calls(embedder: Embedder) -> None:
    first, other, again = await embedder.embed(["o gato", "o cão", "o gato"])
    assert equal(first, again)
    assert equal((await embedder.embed(["o gato"]))[0], first)
    assert equal((await embedder.embed(["o cão"]))[0], other)


async def test_names_its_space_by_name_and_dims(embedder: Embedder) -> None:
    name, _, dims = embedder.space.rpartition("@")
    assert name
    assert int(dims) == embedder.dims


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
async def test_bears_any_text_and_still_answers_the_next(embedder: Embedder, text: str) -> None:
    before = await embedder.embed(["uma frase comum"])
    vector = (await embedder.embed([text]))[0]
    assert np.isfinite(vector).all()
    assert abs(float(np.linalg.norm(vector)) - 1.0) < 1e-3
    assert equal(await embedder.embed(["uma frase comum"]), before)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(st.characters(codec=None), max_size=40), max_size=3))
@example(texts=[])
async def test_bears_any_list_of_texts(embedder: Embedder, texts: list[str]) -> None:
    vectors = await embedder.embed(texts)
    assert vectors.shape == (len(texts), embedder.dims)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-3)


async def test_gives_each_of_many_callers_at_once_its_own_vectors(embedder: Embedder) -> None:
    lists = [[f"pessoa {i} tem {n} gatos" for n in range(3)] for i in range(6)]
    together = await asyncio.gather(*(embedder.embed(texts) for texts in lists))
    for texts, vectors in zip(lists, together, strict=True):
        assert equal(vectors, await embedder.embed(texts))


async def test_a_caller_that_goes_away_takes_nothing_from_the_others(embedder: Embedder) -> None:
    expected = (await embedder.embed(["fica"]))[0]
    leaving = [asyncio.create_task(embedder.embed([f"vai embora {i}" * 20, "fica"])) for i in range(3)]
    staying = asyncio.create_task(embedder.embed(["fica", "vai embora 0" * 20]))
    for task in leaving:
        await asyncio.sleep(0)
        task.cancel()
    assert equal((await staying)[0], expected)
    assert equal((await embedder.embed(["fica"]))[0], expected)


async def test_may_be_closed_twice_and_before_it_was_used(embedder: Embedder) -> None:
    await embedder.close()
    await embedder.close()
