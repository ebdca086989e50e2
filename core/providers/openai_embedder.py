"""Embeddings by OpenAI's API and compatible servers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import numpy as np

from core.errors import BadReply, ContextTooLong, ProviderDown
from core.ports import Embedder
from core.providers.ladder import Ladder, Rung, merged
from core.providers.openai import OpenAIEndpoint, failures
from core.text.unicode import clean
from core.types import JSONValue, Vectors

MAX_TEXTS = 256
"""Texts of one request. Source: OpenAI accepts 2,048; smaller servers embed them one after the other."""

MAX_CHARS = 100_000
"""Characters of one request. Source: OpenAI accepts 300,000 tokens, and a character has at most three."""

_SHORTEST_CUT = 256


class OpenAIEmbedder(Embedder):
    """An embedding model of an endpoint, with vectors of length `dims`.

    `asked_dims` is sent as the wanted length, for models that can shorten their vectors.
    """

    def __init__(
        self,
        endpoint: OpenAIEndpoint,
        model: str,
        dims: int,
        *,
        asked_dims: int | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        self._endpoint = endpoint
        self._model = model
        self._dims = dims
        self._timeout_s = timeout_s
        self._name = f"{endpoint.provider}:{model}"
        # The SDK's default is base64, which other servers ignore or reject.
        self._ladders: list[Ladder] = [[Rung("encoding_format", {"encoding_format": "float"}, ("encoding_format",))]]
        if asked_dims is not None:
            self._ladders.append([Rung("dimensions", {"dimensions": asked_dims}, ("dimensions",))])

    @property
    def name(self) -> str:
        """`provider:model`, for the ledger."""
        return self._name

    @property
    def space(self) -> str:
        """`model@dims`: a model gives the same vectors on any server."""
        return f"{self._model}@{self._dims}"

    @property
    def dims(self) -> int:
        """The length of every vector."""
        return self._dims

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return shape (len(texts), dims), rows of norm 1.

        Raises:
            ProviderError: the endpoint did not answer with one vector of `dims` for each text.
        """
        return (await self.embed_counted(texts))[0]

    async def embed_counted(self, texts: Sequence[str]) -> tuple[Vectors, int]:
        """Return the result of `embed`, and the tokens used; 0 if the server does not count."""
        cleaned = [clean(text, MAX_CHARS) or "." for text in texts]  # an empty text is refused
        parts = [await self._batch(batch) for batch in _batches(cleaned)]
        return _joined(parts) if parts else (np.empty((0, self._dims), np.float32), 0)

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    async def _batch(self, texts: Sequence[str]) -> tuple[Vectors, int]:
        """Embed texts; halve what is too long, first the batch, then the text, so that equal texts stay equal."""
        try:
            answer = await self._ask(texts)
            return self._vectors(answer, len(texts)), _tokens(answer)
        except ContextTooLong:
            if len(texts) > 1:
                middle = len(texts) // 2
                return _joined([await self._batch(texts[:middle]), await self._batch(texts[middle:])])
            if len(texts[0]) <= _SHORTEST_CUT:
                raise
            return await self._batch([texts[0][: len(texts[0]) // 2]])

    async def _ask(self, texts: Sequence[str]) -> object:
        async def send(rungs: Sequence[Rung]) -> object:
            body: dict[str, JSONValue] = {"model": self._model, "input": list(texts)}
            with failures(self._name):
                return await self._endpoint.client.post(
                    "/embeddings", body=merged(body, *(rung.params for rung in rungs)), cast_to=object
                )

        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._endpoint.concessions.settle(self._model, self._ladders, send)
        except TimeoutError:
            raise ProviderDown(f"{self._name} was silent for {self._timeout_s:g} s") from None

    def _vectors(self, answer: object, count: int) -> Vectors:
        match answer:
            case {"data": [*rows]} if len(rows) == count:
                pass
            case _:
                raise BadReply(f"{self._name} did not answer with one vector a text")
        try:
            rows.sort(key=lambda row: row.get("index", 0))
            vectors: Vectors = np.array([row["embedding"] for row in rows], np.float32)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise BadReply(f"{self._name} answered with something else than vectors") from None
        if vectors.shape != (count, self._dims):
            raise BadReply(f"{self._name} answered with vectors of shape {vectors.shape[1:]}, not of {self._dims}")
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(norms) & (norms > 0)).all():
            raise BadReply(f"{self._name} answered with a vector that has no direction")
        unit: Vectors = vectors / norms
        return unit


def _joined(parts: Sequence[tuple[Vectors, int]]) -> tuple[Vectors, int]:
    return np.concatenate([vectors for vectors, _ in parts]), sum(tokens for _, tokens in parts)


def _tokens(answer: object) -> int:
    match answer:
        case {"usage": {"prompt_tokens": int(tokens)}}:
            return tokens
    return 0


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the texts in batches within both limits."""
    start = chars = 0
    for at, text in enumerate(texts):
        if at - start == MAX_TEXTS or (chars + len(text) > MAX_CHARS and at > start):
            yield texts[start:at]
            start, chars = at, 0
        chars += len(text)
    if start < len(texts):
        yield texts[start:]
