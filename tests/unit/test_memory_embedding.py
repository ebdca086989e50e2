from __future__ import annotations

from core.memory.embedding import Embedding
from tests.fakes.model import HashEmbedder


async def test_a_space_is_measured_with_its_first_texts_and_only_then() -> None:
    embedder = HashEmbedder(dims=32, space="new")
    embedding = Embedding(embedder)
    assert list(await embedding.vectors(["oi", "oi"])) == ["oi"]
    normalizer = await embedding.normalizer()
    assert normalizer is not None
    assert (normalizer.space, normalizer.dims) == ("new@32", 32)
    assert list(await embedding.vectors(["tchau"])) == ["tchau"]
    embedder._space = "newer"
    assert list(await embedding.vectors(["oi"])) == ["oi"]
    assert [len(call) for call in embedder.calls] == [40, 1, 40]


async def test_without_an_embedder_there_are_no_vectors_and_no_normalizer_until_it_is_back() -> None:
    embedder = HashEmbedder(dims=32)
    embedder.down = True
    embedding = Embedding(embedder)
    assert await embedding.vectors(["oi"]) == {}
    assert await embedding.normalizer() is None
    embedder.down = False
    assert await embedding.normalizer() is not None
