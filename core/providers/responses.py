"""Models of OpenAI's Responses API, at OpenAI's own address.

Its present models refuse tools on Chat Completions unless they do not think. Nothing is stored there: what a model
thought goes back encrypted with the results of its calls. Source: the SDK's types (`openai/types/responses`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from core.dialogue import Delta, Prompt, PromptTurn, Stop, Tool, ToolCall, Usage
from core.providers.chat_completions import count, data_url, lesser_efforts
from core.providers.failure import SCHEMA_WORDS, Ladder, Params, Rung, as_note, by_status
from core.providers.streamed import Part, Reading, StreamedModel, sendable
from core.providers.written_calls import arguments_of, is_object
from core.types import JSONValue

_ENCRYPTED: Final = "reasoning.encrypted_content"
_THOUGHT_KEYS: Final = ("type", "id", "summary", "encrypted_content")  # others, such as status, are refused as input
_STOPS: Final = {"max_output_tokens": Stop.LENGTH, "content_filter": Stop.REFUSED}
_STATUSES: Final = {  # an error inside a stream has a code and no status
    "context_length_exceeded": 400,
    "insufficient_quota": 429,
    "invalid_prompt": 400,
    "rate_limit_exceeded": 429,
    "server_is_overloaded": 529,
    "slow_down": 529,
}


class _Reading(Reading):
    """Read pieces of text, and, if tools were offered, whole calls and thoughts."""

    def __init__(self, name: str, *, has_tools: bool) -> None:
        super().__init__(name, has_tools=has_tools)
        self._has_declined = False

    def take(self, event: object) -> Sequence[Part]:
        match event:
            case {"type": "response.output_text.delta", "delta": str(text)}:
                return (Delta(text),) if text else ()
            case {"type": "response.refusal.delta"}:
                self._has_declined = True
            case {"type": "response.output_item.done", "item": Mapping() as item} if self._has_tools:
                return self._item(item)
            case {"type": "response.completed" | "response.incomplete", "response": Mapping() as response}:
                return self._end(response)
            case {"type": "response.failed", "response": {"error": Mapping() as failure}}:
                self._fail(failure)
            case {"type": "error"} if isinstance(event, Mapping):
                self._fail(event)
        return ()

    def _item(self, item: Mapping[str, JSONValue]) -> Sequence[Part]:
        match item:
            case {"type": "reasoning"}:
                self.thoughts.append({key: item[key] for key in _THOUGHT_KEYS if item.get(key) is not None})
            case {"type": "function_call", "call_id": str(call_id), "name": str(name), "arguments": str(arguments)}:
                call = ToolCall(call_id, name, arguments or "{}")
                return self._called(call, is_whole=is_object(call.arguments))
        return ()

    def _end(self, response: Mapping[str, object]) -> Sequence[Part]:
        match response:
            case {"usage": Mapping() as usage}:
                into, out = usage.get("input_tokens_details"), usage.get("output_tokens_details")
                self.usage = Usage(
                    input_tokens=count(usage, "input_tokens"),
                    output_tokens=count(usage, "output_tokens"),
                    cached_tokens=count(into, "cached_tokens"),
                    reasoning_tokens=count(out, "reasoning_tokens"),
                    cache_write_tokens=count(into, "cache_write_tokens"),
                )
        match response:
            case {"incomplete_details": {"reason": str(reason)}}:
                return self._stopped(_STOPS.get(reason, Stop.LENGTH))
        return self._stopped(Stop.REFUSED if self._has_declined else Stop.END)

    def _fail(self, error: Mapping[str, object]) -> None:
        code, message = (str(error.get(key) or "") for key in ("code", "message"))
        raise by_status(self._name, _STATUSES.get(code, 500), code, message, {})


class ResponsesModel(StreamedModel):
    """A model behind the Responses API."""

    path = "/responses"
    reading = _Reading

    def _body(self, prompt: Prompt) -> Params:
        body: dict[str, JSONValue] = {
            "model": self._options.model,
            "input": [item for turn in prompt.turns for item in self._items(turn)],
            "max_output_tokens": prompt.max_tokens,
            "store": False,
            "stream": True,
        }
        return body | ({"instructions": sendable(prompt.system)} if prompt.system else {})

    def _items(self, turn: PromptTurn) -> Iterator[JSONValue]:
        """Yield the items of an entry: the results of calls, its text, and what led to its calls before them."""
        for result in turn.results:
            yield {"type": "function_call_output", "call_id": result.call.id, "output": sendable(result.text)}
        text = turn.whole_text
        if text.strip() or not (turn.results or turn.calls):
            yield {"role": turn.role.value, "content": self._content(turn)}
        if turn.calls and turn.thoughts is not None:
            yield from turn.thoughts.blocks
        for call in turn.calls:
            arguments = json.dumps(arguments_of(call), ensure_ascii=False)
            yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}

    @staticmethod
    def _content(turn: PromptTurn) -> JSONValue:
        """Return the text of an entry, or a list of it and its pictures."""
        if not turn.pictures:
            return sendable(turn.whole_text)
        shown: list[JSONValue] = [{"type": "input_text", "text": sendable(turn.whole_text)}]
        return [*shown, *({"type": "input_image", "image_url": data_url(each)} for each in turn.pictures)]

    def _ladders(self, prompt: Prompt) -> list[Ladder]:
        ladders: list[Ladder] = [*super()._ladders(prompt)]
        if prompt.tools:
            ladders.append([Rung("include", {"include": [_ENCRYPTED]}, ("include", "encrypted"))])
        if prompt.cache_key:
            ladders.append([Rung("cache key", {"prompt_cache_key": prompt.cache_key}, ("prompt_cache_key",))])
        if (verbosity := self._options.verbosity) is not None:
            ladders.append([Rung("verbosity", {"text": {"verbosity": verbosity}}, ("verbosity",))])
        return ladders

    def _tool(self, tool: Tool) -> JSONValue:
        named: dict[str, JSONValue] = {"type": "function", "name": tool.name, "description": tool.description}
        return named | {"parameters": tool.schema, "strict": False}

    def _structured(self, schema: Params) -> Ladder:
        """Return the forms of a typed answer: enforced by the server, or requested in the prompt."""
        shape: Params = {"type": "json_schema", "name": "answer", "schema": schema, "strict": True}
        words = (*SCHEMA_WORDS, "text.format")
        return [Rung("json_schema", {"text": {"format": shape}}, words), Rung("prompted", note=as_note(schema))]

    def _effort(self, effort: str | None, *, has_tools: bool) -> Ladder:  # noqa: ARG002 -- it thinks with tools
        words = ("reasoning.effort", "reasoning_effort", "reasoning effort")
        efforts = lesser_efforts(effort) if effort else ()
        return [Rung(f"reasoning.effort={each}", {"reasoning": {"effort": each}}, words) for each in efforts]
