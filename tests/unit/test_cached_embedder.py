"""What the cache saves, and what it must not change."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ProviderDown
from core.providers.cached_embedder import MAX_CHARS, CachedEmbedder
from core.types import Vectors
from tests.fakes.model import HashEmbedder


class GatedEmbedder(HashEmbedder):
    """Answers when `gate` is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        await self.gate.wait()
        return np.stack([self._vector(text) for text in texts])

    async def close(self) -> None:
        self.gate.set()


async def test_equal_texts_are_embedded_once_within_a_call_and_never_again() -> None:
    inner = HashEmbedder()
    cached = CachedEmbedder(inner)
    vectors = await cached.embed(["a", "b", "a", " b\r\n", "cafe\u0301"])
    await cached.embed(["b", "café"])
    assert inner.calls == [["a", "b", "café"]]
    assert np.array_equal(vectors[0], vectors[2])
    assert np.array_equal(vectors[1], vectors[3])


async def test_callers_of_one_text_at_a_time_share_one_request() -> None:
    inner = GatedEmbedder()
    cached = CachedEmbedder(inner)
    one = asyncio.create_task(cached.embed(["a", "b"]))
    await asyncio.sleep(0)
    two = asyncio.create_task(cached.embed(["b", "c", "a"]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    inner.gate.set()
    assert np.array_equal((await one)[::-1], (await two)[[0, 2]])
    assert inner.calls == [["a", "b"], ["c"]]


async def test_the_text_unused_longest_is_dropped_first() -> None:
    inner = HashEmbedder()
    cached = CachedEmbedder(inner, max_texts=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        await cached.embed([text])
    assert [texts for (texts,) in inner.calls] == ["a", "b", "c", "b"]
    assert (await cached.embed(["1", "2", "3", "4"])).shape == (4, 64), "a call may be larger than the cache"


async def test_a_failure_reaches_everybody_and_is_not_kept() -> None:
    inner = HashEmbedder()
    inner.down = True
    cached = CachedEmbedder(inner)
    results = await asyncio.gather(cached.embed(["a"]), cached.embed(["a"]), return_exceptions=True)
    assert [type(result) for result in results] == [ProviderDown, ProviderDown]
    assert len(inner.calls) == 1
    inner.down = False
    assert (await cached.embed(["a"])).shape == (1, 64)


async def test_another_space_is_another_text() -> None:
    inner = HashEmbedder()
    cached = CachedEmbedder(inner)
    await cached.embed(["a"])
    inner._space = "other"
    await cached.embed(["a"])
    assert inner.calls == [["a"], ["a"]]
    assert cached.space == "other@64"


async def test_what_a_caller_does_to_its_vectors_stays_with_it() -> None:
    cached = CachedEmbedder(HashEmbedder())
    mine = await cached.embed(["a"])
    expected = mine.copy()
    mine[:] = 0
    assert np.array_equal(await cached.embed(["a"]), expected)


async def test_a_kept_vector_does_not_keep_the_whole_call_in_memory() -> None:
    cached = CachedEmbedder(HashEmbedder(), max_texts=1)
    await cached.embed([str(i) for i in range(1000)])
    assert [vector.base for vector in cached._vectors.values()] == [None]


async def test_keeps_no_word_of_anybodys() -> None:
    cached = CachedEmbedder(HashEmbedder())
    await cached.embed(["segredo"])
    assert "segredo" not in repr(vars(cached))


async def test_close_sees_the_end_of_what_was_asked() -> None:
    inner = GatedEmbedder()
    cached = CachedEmbedder(inner)
    asked = asyncio.create_task(cached.embed(["a"]))
    await asyncio.sleep(0)
    asked.cancel()
    await asyncio.sleep(0)
    await cached.close()
    await cached.close()
    assert not cached._under_way


async def test_the_inner_embedder_never_sees_a_megabyte() -> None:
    inner = HashEmbedder()
    await CachedEmbedder(inner).embed(["x" * 1_000_000])
    assert [len(text) for text in inner.calls[0]] == [MAX_CHARS]


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=5), max_size=8), st.integers(0, 4))
async def test_answers_as_the_inner_embedder_would(calls: list[list[str]], max_texts: int) -> None:
    plain = HashEmbedder()
    cached = CachedEmbedder(HashEmbedder(), max_texts)
    for texts in calls:
        assert np.array_equal(await cached.embed(texts), await plain.embed(texts))
        assert len(cached._vectors) <= max_texts
