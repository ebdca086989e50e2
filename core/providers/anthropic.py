"""Models of Anthropic's Messages API, and its token counter.

Source: the SDK's types. `client.post` with untyped events, because building a typed object from each event takes longer
than all else (docs/performance.md).
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

import anthropic
import httpx2
from anthropic import AsyncStream

from core.dialogue import Delta, Picture, Prompt, PromptTurn, Stop, Tool, ToolCall, Usage
from core.errors import BadReply, ContextTooLong, ProviderDown
from core.ports import Tokenizer
from core.providers.failure import SCHEMA_WORDS, Ladder, Params, Rung, as_note, by_status, hooks
from core.providers.streamed import Endpoint, ModelOptions, Part, RawStream, Reading, StreamedModel, base64_of, sendable
from core.providers.written_calls import arguments_of, is_object
from core.types import JSONValue, MessageRole

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


class AnthropicEndpoint(Endpoint):
    """An account at Anthropic, or whatever answers at a compatible address.

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
        super().__init__(provider, "Messages API")
        self.client = anthropic.AsyncAnthropic(
            api_key=api_key,
            base_url=base_url,
            max_retries=max_retries,
            timeout=anthropic.Timeout(600.0, connect=5.0),  # a mode's own timeout is shorter
            open_telemetry=False,
            http_client=anthropic.DefaultAsyncHttpxClient(event_hooks=hooks(patience_s)),
        )

    def model(self, options: ModelOptions) -> AnthropicModel:
        """Return a model of this account."""
        return AnthropicModel(self, options)

    async def post(self, path: str, body: dict[str, JSONValue]) -> RawStream:
        """Send a request."""
        return await self.client.post(path, body=body, cast_to=object, stream=True, stream_cls=AsyncStream[object])

    @contextmanager
    def failures(self, name: str) -> Iterator[None]:
        """Translate the SDK's errors to ours."""
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

    async def aclose(self) -> None:
        """Close the connections."""
        await self.client.close()


class _Reading(Reading):
    """Read text blocks, and, if tools were offered, calls and thoughts: deltas of other types are ignored."""

    def __init__(self, name: str, *, has_tools: bool) -> None:
        super().__init__(name, has_tools=has_tools)
        self._counts: dict[str, object] = {}
        self._has_begun = False
        self._block: dict[str, JSONValue] = {}
        self._arguments = ""

    def take(self, event: object) -> Sequence[Part]:
        match event:
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
                self._has_begun = self._has_begun or bool(text)
                return (Delta(text),) if text else ()
            case {"type": "content_block_start" | "content_block_delta" | "content_block_stop"} if self._has_tools:
                return self._take_block(event)
            case {"type": "message_start", "message": {"usage": Mapping() as usage}}:
                self._count(usage)
            case {"type": "message_delta", "delta": {"stop_reason": str(reason)}, **rest}:
                calls = self._stopped(_STOPS.get(reason, Stop.END))
                self._count(rest.get("usage"))
                if reason == "model_context_window_exceeded" and not self._has_begun:
                    raise ContextTooLong(f"{self._name} had no room left for an answer")
                return calls
        return ()

    def _take_block(self, event: object) -> Sequence[Part]:
        """Collect a block of thinking or a call, which is given when it is whole.

        The block of a call that reached the length limit is closed like any other, before the reason is told.
        """
        match event:
            case {"type": "content_block_start", "content_block": Mapping() as block}:
                self._block, self._arguments = dict(block), ""
            case {"delta": {"type": "input_json_delta", "partial_json": str(piece)}}:
                self._arguments += piece
            case {"delta": {"type": "thinking_delta", "thinking": str(piece)}}:
                self._block["thinking"] = f"{self._block.get('thinking') or ''}{piece}"
            case {"delta": {"type": "signature_delta", "signature": str(piece)}}:
                self._block["signature"] = piece
            case {"type": "content_block_stop"}:
                return self._end_block()
        return ()

    def _end_block(self) -> Sequence[Part]:
        block, self._block = self._block, {}
        match block:
            case {"type": "thinking" | "redacted_thinking"}:
                self.thoughts.append(block)
            case {"type": "tool_use", "id": str(call_id), "name": str(name), **rest}:
                self._has_begun = True
                given = rest.get("input")  # compatible servers give it whole
                call = ToolCall(call_id, name, self._arguments or json.dumps(given or {}))
                return self._called(call, is_whole=bool(given) or is_object(self._arguments))
        return ()

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


class AnthropicModel(StreamedModel):
    """A Claude model, or whatever answers at a compatible address."""

    path = "/v1/messages"
    reading = _Reading

    def _body(self, prompt: Prompt) -> Params:
        """Return the body, with the ends of what stays the same marked for the cache: at most four may be.

        They are the system text, after the tools; the entry before the one to answer; and the stable part of that one.
        Every entry is a list of blocks, so that it is the same in the next turn.
        """
        asked = max(at for at, turn in enumerate(prompt.turns) if turn.role is MessageRole.USER and not turn.results)
        messages: list[JSONValue] = []
        for at, turn in enumerate(prompt.turns):
            blocks = self._blocks(turn)
            if at == asked - 1:
                blocks[-1] |= _CACHED
            elif at == asked and turn.volatile and len(blocks) > 1:
                blocks[0] |= _CACHED
            messages.append({"role": turn.role.value, "content": [*blocks]})
        body: dict[str, JSONValue] = {
            "model": self._options.model,
            "max_tokens": prompt.max_tokens,
            "messages": messages,
            "stream": True,
        }
        if prompt.system:
            body["system"] = [{"type": "text", "text": sendable(prompt.system), **_CACHED}]
        return body

    def _blocks(self, turn: PromptTurn) -> list[dict[str, JSONValue]]:
        """Return the blocks of an entry. Thoughts stand before the calls that they led to, as the API wants them."""
        blocks: list[dict[str, JSONValue]] = []
        if turn.calls and turn.thoughts is not None:
            blocks += [dict(block) for block in turn.thoughts.blocks if isinstance(block, Mapping)]
        for result in turn.results:
            block: dict[str, JSONValue] = {"type": "tool_result", "tool_use_id": result.call.id}
            blocks.append(block | {"content": sendable(result.text)} | ({"is_error": True} if result.failed else {}))
        blocks += [{"type": "text", "text": sendable(turn.text)}] if turn.text.strip() else []
        blocks += [_image(each) for each in turn.pictures]
        blocks += [{"type": "text", "text": sendable(turn.volatile)}] if turn.volatile.strip() else []
        for call in turn.calls:
            named: dict[str, JSONValue] = {"type": "tool_use", "id": call.id, "name": call.name}
            blocks.append(named | {"input": arguments_of(call)})
        return blocks or [{"type": "text", "text": sendable("")}]

    def _tool(self, tool: Tool) -> JSONValue:
        return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}

    def _structured(self, schema: Params) -> Ladder:
        """Return the forms of a typed answer: enforced by the server, or requested in the prompt."""
        form: Params = {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
        return [Rung("json_schema", form, SCHEMA_WORDS), Rung("prompted", note=as_note(schema))]

    def _effort(self, effort: str | None, *, has_tools: bool) -> Ladder:  # noqa: ARG002 -- Claude thinks with tools
        """Return the forms of an effort. Models differ in how thinking is turned off, and if it can be."""
        if effort is None:
            return []
        if effort not in {"none", "minimal"}:
            return [Rung(f"effort={effort}", {"output_config": {"effort": effort}}, ("effort", "output_config"))]
        return [
            Rung("thinking disabled", {"thinking": {"type": "disabled"}}, ("thinking",)),
            Rung("thinking between tools", {"thinking": {"type": "between_tools"}}, ("thinking",)),
            Rung("effort=low", {"output_config": {"effort": "low"}}, ("effort", "output_config")),
        ]


def _image(picture: Picture) -> dict[str, JSONValue]:
    source: JSONValue = {"type": "base64", "media_type": picture.media_type, "data": base64_of(picture)}
    return {"type": "image", "source": source}


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
