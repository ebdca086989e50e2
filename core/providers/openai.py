"""OpenAI's API and compatible servers: an account there, embeddings, and speech to text.

Chat models are those of `core.providers.chat_completions`; OpenAI's own are asked by `core.providers.responses`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np
import openai
from openai import AsyncStream

from core.errors import BadReply, ContextTooLong, ProviderDown
from core.files.port import Content, Heard, Transcriber
from core.ports import ChatModel, Embedder
from core.providers.failure import Ladder, Rung, by_status, hooks, merged
from core.providers.streamed import Endpoint, ModelOptions, RawStream
from core.text.unicode import clean
from core.types import JSONValue, Vectors

BASE_URL = "https://api.openai.com/v1"

_LIST_S: Final = 10.0


class OpenAIEndpoint(Endpoint):
    """An account at OpenAI or a compatible server.

    `api_key` may be any text for a server that needs none. Waits that the provider names are taken up to `patience_s`;
    longer ones are raised as ProviderBusy. `responses`: whether models are asked by the Responses API, which few
    servers but OpenAI's have whole.
    """

    def __init__(
        self,
        api_key: str,
        base_url: str = BASE_URL,
        *,
        provider: str = "openai",
        max_retries: int = 2,
        patience_s: float = 5.0,
        responses: bool | None = None,
    ) -> None:
        is_openai = base_url.rstrip("/") == BASE_URL
        self._uses_responses = is_openai if responses is None else responses
        super().__init__(provider, "Responses API" if self._uses_responses else "Chat Completions")
        self.client = openai.AsyncOpenAI(
            api_key=api_key,
            base_url=base_url,
            max_retries=max_retries,
            timeout=openai.Timeout(600.0, connect=5.0),  # a mode's own timeout is shorter
            http_client=openai.DefaultAsyncHttpxClient(event_hooks=hooks(patience_s)),
        )

    def model(self, options: ModelOptions) -> ChatModel:
        """Return a model of this account."""
        if self._uses_responses:
            from core.providers.responses import ResponsesModel

            return ResponsesModel(self, options)
        from core.providers.chat_completions import OpenAIModel

        return OpenAIModel(self, options)

    async def models(self) -> object:
        """Return the server's list of models, asked for once.

        Raises:
            ProviderError: it did not answer.
        """
        with self.failures(self.provider):
            return await self.client.get("/models", cast_to=object, options={"max_retries": 0, "timeout": _LIST_S})

    async def post(self, path: str, body: dict[str, JSONValue]) -> RawStream:
        """Send a request."""
        return await self.client.post(path, body=body, cast_to=object, stream=True, stream_cls=AsyncStream[object])

    @contextmanager
    def failures(self, name: str) -> Iterator[None]:
        """Translate the SDK's errors to ours."""
        try:
            yield
        except openai.APIStatusError as error:
            kind = error.code or error.type
            raise by_status(name, error.status_code, kind, str(error.body), error.response.headers) from None
        except openai.APIError as error:
            if error.code is not None and error.code.isdecimal():  # an error inside a stream
                raise by_status(name, int(error.code), error.type, error.message, {}) from None
            raise ProviderDown(f"{name} could not be reached ({type(error).__name__})") from None
        except ValueError:
            raise BadReply(f"{name} sent what is not its protocol") from None

    async def aclose(self) -> None:
        """Close the connections."""
        await self.client.close()


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
            with self._endpoint.failures(self._name):
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


_WITHIN_S: Final = 120.0
"""How long a recording may take: the largest that is fetched holds about half an hour of speech."""

_ENDINGS: Final = {
    "audio/ogg": "ogg",
    "audio/mpeg": "mp3",
    "audio/mp4": "m4a",
    "audio/x-m4a": "m4a",
    "audio/wav": "wav",
    "audio/webm": "webm",
    "audio/flac": "flac",
    "video/mp4": "mp4",
    "video/quicktime": "mp4",
    "video/webm": "webm",
}
"""Servers go by the ending of the file's name."""


class OpenAITranscriber(Transcriber):
    """A model of an endpoint that writes down what is said."""

    def __init__(self, endpoint: OpenAIEndpoint, model: str, *, timeout_s: float = _WITHIN_S) -> None:
        self._endpoint = endpoint
        self._model = model
        self._timeout_s = timeout_s
        self.name = f"{endpoint.provider}:{model}"

    async def transcribe(self, content: Content, media_type: str, language: str, heard: Heard | None = None) -> str:
        """Return what is said; `language` is a tag ("pt-BR") of what is likely spoken, or "".

        A server tells nothing before it is done.

        Raises:
            ProviderError: the server did not answer with a text.
        """
        del heard
        if not isinstance(content, bytes):
            content.seek(0)
            content = content.read()
        name = f"recording.{_ENDINGS.get(media_type.partition(';')[0], 'ogg')}"
        body: dict[str, object] = {"model": self._model, "response_format": "json"}
        if language:
            body["language"] = language.partition("-")[0].lower()
        try:
            async with asyncio.timeout(self._timeout_s):
                with self._endpoint.failures(self.name):
                    answer = await self._endpoint.client.post(
                        "/audio/transcriptions",
                        body=body,
                        files={"file": (name, content, media_type or "audio/ogg")},
                        cast_to=object,
                        options={"headers": {"Content-Type": "multipart/form-data"}},
                    )
        except TimeoutError:
            raise ProviderDown(f"{self.name} was silent for {self._timeout_s:g} s") from None
        match answer:
            case {"text": str(text)}:
                return clean(text)
        raise BadReply(f"{self.name} answered with no text")

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()
