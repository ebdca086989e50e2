"""The embedder as memory uses it: while it is down there are no vectors, and no exception."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np

from core.errors import ProviderError
from core.memory.background import LANGUAGES
from core.memory.normalizer import EmbeddingNormalizer
from core.ports import Embedder
from core.types import Vector, Vectors

_log = logging.getLogger(__name__)

MAX_CHARS = 1000
"""How much of a text is embedded: a vector of more says less, and costs more than a second of CPU."""

_BACKGROUND = tuple(sentence for language in LANGUAGES for sentence in language)


class Embedding:
    """Vectors for texts, and the normalizer of the embedder's space, which is made once from the first answer."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._normalizer: EmbeddingNormalizer | None = None

    @property
    def space(self) -> str:
        """The space of the vectors to come."""
        return self._embedder.space

    async def vectors(self, texts: Sequence[str]) -> Mapping[str, Vector]:
        """Map the texts to their vectors by one call of the embedder; an empty mapping while it is down."""
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return {}
        try:
            return dict(zip(distinct, await self._embed(distinct), strict=True))
        except ProviderError as error:
            _log.warning("embedder failed, words answer alone", extra={"error": str(error)})
            return {}

    async def normalizer(self) -> EmbeddingNormalizer | None:
        """Return the normalizer of the space as it is now; None while the embedder is down and it was never up."""
        if self._normalizer is None or self._normalizer.space != self._embedder.space:
            try:
                await self._embed([])
            except ProviderError as error:
                _log.warning("embedder failed, words answer alone", extra={"error": str(error)})
                return None
        return self._normalizer

    async def _embed(self, texts: Sequence[str]) -> Vectors:
        """Embed the texts, and in the same call the background sentences of a space that was not seen before."""
        space = self._embedder.space
        if self._normalizer is None or self._normalizer.space != space:
            self._normalizer = EmbeddingNormalizer.shipped(space)
        known = self._normalizer is not None
        asked = [text[:MAX_CHARS] for text in texts]
        if known and not asked:
            return np.empty((0, self._embedder.dims), np.float32)
        vectors = await self._embedder.embed(asked if known else [*asked, *_BACKGROUND])
        if not known:
            samples, start = [], len(asked)
            for language in LANGUAGES:
                samples.append(vectors[start : start + len(language)])
                start += len(language)
            self._normalizer = EmbeddingNormalizer.of(space, samples)
        return vectors[: len(asked)]
