"""Models of Anthropic's Messages API, and its token counter.

Source: the SDK's types. `client.post` with untyped events, because building a typed object from each event takes longer
than all else (bench/models.py).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import cast

import anthropic
import httpx2
from anthropic import AsyncStream

from core.dialogue import Prompt, PromptTurn, Stop, Usage
from core.errors import BadReply, ContextTooLong, ProviderDown
from core.ports import Tokenizer
from core.providers.failure import by_status, forbid_long_waits
from core.providers.ladder import SCHEMA_WORDS, Concessions, Ladder, Params, Rung, as_note
from core.providers.streamed import ModelOptions, RawStream, Reading, StreamedModel, sendable
from core.types import JSONValue

BASE_URL = "https://api.anthropic.com"

_CACHED: Params = {"cache_control": {"type": "ephemeral"}}
_STOPS = {"max_tokens": Stop.LENGTH, "model_context_window_exceeded": Stop.LENGTH, "refusal": Stop.REFUSED}
_FIRST_ERROR = 400
_COUNT_TIMEOUT_S = 5.0
_CHARS_A_TOKEN = 3  # Source: Anthropic's migration notes: about 30 % more tokens than one for four characters
_STATUSES = {  # an error inside a stream comes with the stream's status, and a type
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}

_log = logging.getLogger(__name__)


class AnthropicEndpoint:
    """One account at one address: the connections and concessions that its models share.

    Waits that the provider names are taken up to `patience_s`; longer ones are raised as ProviderBusy.
    """

    def __init__(
        self,
        api_key: str,
        base_url: str = BASE_URL,
        *,
        provider: str = "anthropic",
        max_retries: int = 2,
        patience_s: float = 5.0,
    ) -> None:

        async def before_retry(response: httpx2.Response) -> None:
            forbid_long_waits(response.headers, patience_s)

        self._provider = provider
        self._concessions = Concessions()
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key,
            base_url=base_url,
            max_retries=max_retries,
            timeout=anthropic.Timeout(600.0, connect=5.0),  # a mode's own timeout is shorter
            open_telemetry=False,
            http_client=anthropic.DefaultAsyncHttpxClient(event_hooks={"response": [before_retry]}),
        )

    def model(self, options: ModelOptions) -> AnthropicModel:
        """Return a model of this account."""
        return AnthropicModel(self._client, self._provider, options, self._concessions)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()


class AnthropicModel(StreamedModel):
    """A Claude model, or whatever answers at a compatible address."""

    def __init__(
        self,
        client: anthropic.AsyncAnthropic,
        provider: str,
        options: ModelOptions,
        concessions: Concessions,
    ) -> None:
        super().__init__(provider, options, concessions)
        self._client = client

    def _body(self, prompt: Prompt, turns: Sequence[PromptTurn]) -> Params:
        """Mark the system text and the turn before the last for the cache: only the last turn changes."""
        messages: list[JSONValue] = [{"role": turn.role.value, "content": turn.text} for turn in turns]
        if len(turns) > 1:
            block: JSONValue = {"type": "text", "text": turns[-2].text, **_CACHED}
            messages[-2] = {"role": turns[-2].role.value, "content": [block]}
        body: dict[str, JSONValue] = {
            "model": self._options.model,
            "max_tokens": prompt.max_tokens,
            "messages": messages,
            "stream": True,
        }
        if prompt.system:
            body["system"] = [{"type": "text", "text": sendable(prompt.system), **_CACHED}]
        return body

    def _ladders(self, prompt: Prompt) -> Sequence[Ladder]:
        """Return schema, effort and temperature. This API has no verbosity."""
        ladders: list[Ladder] = []
        if prompt.schema is not None:
            form: Params = {"output_config": {"format": {"type": "json_schema", "schema": prompt.schema}}}
            note = as_note(prompt.schema)
            ladders.append([Rung("json_schema", form, SCHEMA_WORDS), Rung("prompted", note=note)])
        if self._options.effort is not None:
            ladders.append(_effort(self._options.effort))
        if self._options.temperature is not None:
            ladders.append([Rung("temperature", {"temperature": self._options.temperature}, ("temperature",))])
        return ladders

    async def _post(self, body: dict[str, JSONValue]) -> RawStream:
        return await self._client.post(
            "/v1/messages", body=body, cast_to=object, stream=True, stream_cls=AsyncStream[object]
        )

    def _reading(self) -> Reading:
        return _Reading(self.name)

    def _failures(self) -> AbstractContextManager[None]:
        return _failures(self.name)


@contextmanager
def _failures(name: str) -> Iterator[None]:
    """Translate the SDK's errors to ours, `from None`: they may contain a person's words, and tracebacks are logged."""
    try:
        yield
    except anthropic.APIStatusError as error:
        status = error.status_code if error.status_code >= _FIRST_ERROR else _STATUSES.get(error.type or "", 500)
        complaint = error.api_message or error.message
        raise by_status(name, status, error.type, complaint, error.response.headers) from None
    except (anthropic.AnthropicError, httpx2.HTTPError) as error:
        raise ProviderDown(f"{name} could not be reached ({type(error).__name__})") from None
    except ValueError:
        raise BadReply(f"{name} sent what is not its protocol") from None


def _effort(effort: str) -> Ladder:
    """Return the forms of an effort. Models differ in how thinking is turned off, and if it can be."""
    if effort not in {"none", "minimal"}:
        return [Rung(f"effort={effort}", {"output_config": {"effort": effort}}, ("effort", "output_config"))]
    return [
        Rung("thinking disabled", {"thinking": {"type": "disabled"}}, ("thinking",)),
        Rung("thinking between tools", {"thinking": {"type": "between_tools"}}, ("thinking",)),
        Rung("effort=low", {"output_config": {"effort": "low"}}, ("effort", "output_config")),
    ]


class _Reading(Reading):
    """Read text blocks only: thinking and tool blocks have deltas of other types."""

    def __init__(self, name: str) -> None:
        self.stop: Stop | None = None
        self.usage = Usage()
        self._name = name
        self._counts: dict[str, object] = {}
        self._said = False

    def take(self, event: object) -> str:
        match event:
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
                self._said = self._said or bool(text)
                return text
            case {"type": "message_start", "message": {"usage": Mapping() as usage}}:
                self._count(usage)
            case {"type": "message_delta", "delta": {"stop_reason": str(reason)}, **rest}:
                self.stop = _STOPS.get(reason, Stop.END)
                self._count(rest.get("usage"))
                if reason == "model_context_window_exceeded" and not self._said:
                    raise ContextTooLong(f"{self._name} had no room left for an answer")
        return ""

    def _count(self, usage: object) -> None:
        """Keep the latest of each count: the last event repeats some counts of the first, and may lack others."""
        if not isinstance(usage, Mapping):
            return
        details = usage.get("output_tokens_details")
        flat = {**usage, **(details if isinstance(details, Mapping) else {})}
        self._counts |= {name: count for name, count in flat.items() if isinstance(count, int)}
        cached, written = self._of("cache_read_input_tokens"), self._of("cache_creation_input_tokens")
        self.usage = Usage(
            input_tokens=self._of("input_tokens") + written + cached,
            output_tokens=self._of("output_tokens"),
            cached_tokens=cached,
            reasoning_tokens=self._of("thinking_tokens"),
            cache_write_tokens=written,
        )

    def _of(self, name: str) -> int:
        return cast("int", self._counts.get(name, 0))


class AnthropicTokenizer(Tokenizer):
    """Count tokens by asking Anthropic, in a thread; if it does not answer, estimate by characters.

    Source: POST /v1/messages/count_tokens, which is free and has rate limits of its own.
    """

    def __init__(self, api_key: str, base_url: str, model: str) -> None:
        self._client = anthropic.Anthropic(
            api_key=api_key, base_url=base_url, max_retries=1, timeout=_COUNT_TIMEOUT_S, open_telemetry=False
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
