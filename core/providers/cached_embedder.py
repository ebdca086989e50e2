"""Cache vectors by a digest of the text, not the text, and never embed a text twice at the same time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TypeAlias

import numpy as np

from core.errors import ContextTooLong, ProviderError
from core.ports import Embedder
from core.providers.fallback import Circuit
from core.text.unicode import clean
from core.types import Vector, Vectors

MAX_CHARS = 32_768
"""No embedder reads more: their longest window is 8,191 tokens."""

_Key: TypeAlias = tuple[str, bytes]
"""The space, and a digest of the cleaned text."""


class CachedEmbedder(Embedder):
    """Put a least-recently-used cache of `max_texts` vectors (1.5 KiB each at 384 dims) before another embedder.

    `circuit` counts the failures and answers of that embedder, which never rests: nothing could take its place.
    """

    def __init__(self, inner: Embedder, max_texts: int = 4096, *, circuit: Circuit | None = None) -> None:
        self._inner = inner
        self._max_texts = max_texts
        self._circuit = circuit
        self._vectors: OrderedDict[_Key, Vector] = OrderedDict()
        self._under_way: dict[_Key, asyncio.Task[Mapping[_Key, Vector]]] = {}

    @property
    def space(self) -> str:
        """The inner embedder's."""
        return self._inner.space

    @property
    def dims(self) -> int:
        """The inner embedder's."""
        return self._inner.dims

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return shape (len(texts), dims). The inner embedder gets the missing texts, cleaned, each once, in one call.

        Cancelling one caller does not affect others who wait for the same text.
        """
        if not texts:
            return np.empty((0, self.dims), np.float32)
        cleaned = [clean(text, MAX_CHARS) for text in texts]
        space = self.space
        keys = [(space, blake2b(text.encode(), digest_size=16).digest()) for text in cleaned]
        wanted = dict(zip(keys, cleaned, strict=True))
        found = {key: self._vectors[key] for key in wanted if key in self._vectors}
        new = {key: text for key, text in wanted.items() if key not in found and key not in self._under_way}
        if new:
            task = asyncio.create_task(self._fetch(new))
            self._under_way |= dict.fromkeys(new, task)
            task.add_done_callback(self._settle)
        for key in found:
            self._vectors.move_to_end(key)
        for task in {self._under_way[key] for key in wanted if key not in found}:
            found |= await asyncio.shield(task)
        return np.stack([found[key] for key in keys])

    async def close(self) -> None:
        """Close the inner embedder, and wait for its running calls to end."""
        await self._inner.close()
        if self._under_way:
            await asyncio.wait(set(self._under_way.values()))

    async def _fetch(self, texts: Mapping[_Key, str]) -> Mapping[_Key, Vector]:
        try:
            vectors = await self._inner.embed(list(texts.values()))
        except ProviderError as error:
            if self._circuit is not None and not isinstance(error, ContextTooLong):
                self._circuit.failed(error)
            raise
        if self._circuit is not None:
            self._circuit.succeeded()
        return {key: vector.copy() for key, vector in zip(texts, vectors, strict=True)}  # a view would hold all of them

    def _settle(self, task: asyncio.Task[Mapping[_Key, Vector]]) -> None:
        """Store the vectors, within the limit. A failure is raised to those who wait; the next call asks again."""
        self._under_way = {key: other for key, other in self._under_way.items() if other is not task}
        if not task.cancelled() and task.exception() is None:
            self._vectors |= task.result()
            while len(self._vectors) > self._max_texts:
                self._vectors.popitem(last=False)
