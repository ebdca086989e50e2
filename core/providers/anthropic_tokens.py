"""Count tokens by asking Anthropic.

Source: POST /v1/messages/count_tokens, which is free and has rate limits of its own.
"""

from __future__ import annotations

import logging
import math

import anthropic
import httpx2

from core.ports import Tokenizer
from core.providers.streamed import sendable

_TIMEOUT_S = 5.0
_CHARS_A_TOKEN = (
    3  # Source: Anthropic's migration notes, about 30 % more tokens than four characters a token would give
)
_log = logging.getLogger(__name__)


class AnthropicTokenizer(Tokenizer):
    """Asks the provider, from a thread; where it does not answer, counts characters, once and for all."""

    def __init__(self, api_key: str, base_url: str, model: str) -> None:
        self._client = anthropic.Anthropic(
            api_key=api_key, base_url=base_url, max_retries=1, timeout=_TIMEOUT_S, open_telemetry=False
        )
        self._model = model

    @property
    def name(self) -> str:
        """What it counts by."""
        return f"anthropic:{self._model}"

    @property
    def is_slow(self) -> bool:
        """Whether it belongs outside the event loop."""
        return True

    def count(self, text: str) -> int:
        """Return the tokens of one message of that text."""
        try:
            counted = self._client.messages.count_tokens(
                model=self._model, messages=[{"role": "user", "content": sendable(text) or " "}]
            )
        except (anthropic.APIError, httpx2.HTTPError, ValueError) as error:
            _log.warning("tokens not counted by the provider", extra={"error": type(error).__name__})
            return math.ceil((len(text) + 10) / _CHARS_A_TOKEN)
        return counted.input_tokens

    def close(self) -> None:
        """Close the connection."""
        self._client.close()
