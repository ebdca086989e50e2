"""Speech to text by OpenAI's `/audio/transcriptions`, and servers that have it."""

from __future__ import annotations

import asyncio
from typing import Final

from core.errors import BadReply, ProviderDown
from core.files.port import Content, Heard, Transcriber
from core.providers.openai import OpenAIEndpoint, failures
from core.text.unicode import clean

WITHIN_S: Final = 120.0
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

    def __init__(self, endpoint: OpenAIEndpoint, model: str, *, timeout_s: float = WITHIN_S) -> None:
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
                with failures(self.name):
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
