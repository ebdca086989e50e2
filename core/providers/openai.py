"""Models of OpenAI's Chat Completions API and of compatible servers.

Source: the SDK's types. `client.post` with untyped events, because building a typed object from each event takes longer
than all else (bench/models.py), and servers differ from the types anyway.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Final

import httpx2
import openai
from openai import AsyncStream

from core.dialogue import Delta, Prompt, PromptTurn, Stop, ToolCall, Usage
from core.errors import BadReply, ProviderDown
from core.providers.failure import by_status, forbid_long_waits
from core.providers.ladder import SCHEMA_WORDS, Concessions, Ladder, Params, Rung, as_note, merged
from core.providers.streamed import ModelOptions, Part, RawStream, Reading, StreamedModel, sendable
from core.providers.tool_forms import arguments_of, has_calls, is_object, reply_schema, tool_ladder
from core.types import JSONValue

BASE_URL = "https://api.openai.com/v1"

_STOPS = {"length": Stop.LENGTH, "content_filter": Stop.REFUSED}
_LESS_EFFORT = {"none": "minimal", "minimal": "low", "max": "xhigh", "xhigh": "high"}
_THOUGHT_MARKS: Final = {"<think>": "</think>", "<thinking>": "</thinking>"}
_TOKEN_CAPS = ("max_completion_tokens", "max_tokens")  # OpenAI's name; the older one, for other servers


class OpenAIEndpoint:
    """One account at one address: the connections and concessions that its models share.

    `api_key` may be any text for a server that needs none. Waits that the provider names are taken up to `patience_s`;
    longer ones are raised as ProviderBusy.
    """

    def __init__(
        self,
        api_key: str,
        base_url: str = BASE_URL,
        *,
        provider: str = "openai",
        max_retries: int = 2,
        patience_s: float = 5.0,
    ) -> None:

        async def before_retry(response: httpx2.Response) -> None:
            forbid_long_waits(response.headers, patience_s)

        self.provider = provider
        self.concessions = Concessions()
        self.is_openai = base_url.rstrip("/") == BASE_URL
        self.client = openai.AsyncOpenAI(
            api_key=api_key,
            base_url=base_url,
            max_retries=max_retries,
            timeout=openai.Timeout(600.0, connect=5.0),  # a mode's own timeout is shorter
            http_client=openai.DefaultAsyncHttpxClient(event_hooks={"response": [before_retry]}),
        )

    def model(self, options: ModelOptions) -> OpenAIModel:
        """Return a model of this account."""
        return OpenAIModel(self, options)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.client.close()


class OpenAIModel(StreamedModel):
    """A model behind Chat Completions."""

    def __init__(self, endpoint: OpenAIEndpoint, options: ModelOptions) -> None:
        super().__init__(endpoint.provider, options, endpoint.concessions)
        self._client = endpoint.client
        self._is_openai = endpoint.is_openai
        self._caps = _TOKEN_CAPS if endpoint.is_openai else _TOKEN_CAPS[::-1]

    def _body(self, prompt: Prompt) -> Params:
        messages: list[JSONValue] = [message for turn in prompt.turns for message in self._messages(turn)]
        if prompt.system:
            messages.insert(0, {"role": "system", "content": sendable(prompt.system)})
        return {"model": self._options.model, "messages": messages, "stream": True}

    def _messages(self, turn: PromptTurn) -> Iterator[JSONValue]:
        """Yield the messages of an entry: one for each result, then its text with its calls."""
        for result in turn.results:
            yield {"role": "tool", "tool_call_id": result.call.id, "content": sendable(result.text)}
        text = turn.whole_text
        if not turn.calls:
            if text.strip() or not turn.results:
                yield {"role": turn.role.value, "content": sendable(text)}
            return
        message: dict[str, JSONValue] = {"role": turn.role.value, "content": sendable(text) if text.strip() else None}
        if turn.thoughts is not None:
            message = merged(message, *(block for block in turn.thoughts.blocks if isinstance(block, Mapping)))
        yield message | {"tool_calls": [self._call(call) for call in turn.calls]}

    def _call(self, call: ToolCall) -> JSONValue:
        arguments = json.dumps(arguments_of(call), ensure_ascii=False)  # some servers parse what they are sent
        function: JSONValue = {"name": call.name, "arguments": arguments}
        extra = call.extra.get(self.name)
        own = extra if isinstance(extra, Mapping) else {}
        return {"id": call.id, "type": "function", "function": function, **own}

    def _ladders(self, prompt: Prompt) -> Sequence[Ladder]:
        options = self._options
        cap = prompt.max_tokens
        ladders: list[Ladder] = [
            [Rung(name, {name: cap}, (name,)) for name in self._caps],
            [Rung("usage", {"stream_options": {"include_usage": True}}, ("stream_options", "include_usage"))],
        ]
        if has_calls(prompt):
            tools: list[JSONValue] = [
                {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.schema}}
                for t in prompt.tools
            ]
            native: Params = {"tools": tools} if tools else {}
            ladders.append(tool_ladder(native, _structured(reply_schema(prompt.tools)), options.tools))
        if prompt.cache_key and self._is_openai:
            ladders.append([Rung("cache key", {"prompt_cache_key": prompt.cache_key}, ("prompt_cache_key",))])
        if prompt.schema is not None and not prompt.tools:
            ladders.append(_structured(prompt.schema))
        if options.effort is not None:
            ladders.append(_effort(options.effort))
        if options.verbosity is not None:
            ladders.append([Rung("verbosity", {"verbosity": options.verbosity}, ("verbosity",))])
        if options.temperature is not None:
            ladders.append([Rung("temperature", {"temperature": options.temperature}, ("temperature",))])
        return ladders

    async def _post(self, body: dict[str, JSONValue]) -> RawStream:
        return await self._client.post(
            "/chat/completions", body=body, cast_to=object, stream=True, stream_cls=AsyncStream[object]
        )

    def _reading(self, *, has_tools: bool) -> Reading:
        return _Reading(has_tools=has_tools)

    def _failures(self) -> AbstractContextManager[None]:
        return failures(self.name)


@contextmanager
def failures(name: str) -> Iterator[None]:
    """Translate the SDK's errors to ours, `from None`: they may contain a person's words, and tracebacks are logged."""
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


def _structured(schema: Mapping[str, JSONValue]) -> Ladder:
    """Return the forms of a typed answer: enforced by the server, any JSON, or requested in the prompt."""
    shape: Params = {"name": "answer", "schema": schema, "strict": True}
    note = as_note(schema)
    return [
        Rung("json_schema", {"response_format": {"type": "json_schema", "json_schema": shape}}, SCHEMA_WORDS),
        Rung("json_object", {"response_format": {"type": "json_object"}}, ("response_format", "json_object"), note),
        Rung("prompted", note=note),
    ]


def _effort(effort: str | None) -> Ladder:
    """Return the effort, then its neighbours that more models accept: the ends of the scale differ."""
    rungs = []
    while effort is not None:
        words = ("reasoning_effort", "reasoning effort", "reasoning.effort", "thinking")
        rungs.append(Rung(f"reasoning_effort={effort}", {"reasoning_effort": effort}, words))
        effort = _LESS_EFFORT.get(effort)
    return rungs


class _Reading(Reading):
    """Read `content` and, if tools were offered, `tool_calls` and the thoughts that the server wants back."""

    def __init__(self, *, has_tools: bool) -> None:
        self.stop: Stop | None = None
        self.usage = Usage()
        self.thoughts: list[JSONValue] = []
        self._has_declined = False
        self._filter = ThoughtFilter()
        self._calls = _Calls() if has_tools else None
        self._reasoning = ""
        self._details: list[dict[str, JSONValue]] = []

    def take(self, event: object) -> Sequence[Part]:
        match event:
            case {"usage": Mapping() as usage}:  # in the last event; Gemini repeats it in each, growing
                self.usage = _usage(usage)
        match event:
            case {"choices": [choice, *_]}:
                return self._choice(choice)
        return ()

    def _choice(self, choice: object) -> Sequence[Part]:
        said = ""
        match choice:
            case {"delta": {"content": str(text)}}:
                said = self._filter.feed(text)
        match choice:
            case {"delta": {"refusal": str(refusal)}} if refusal:
                self._has_declined = True
        if self._calls is not None:
            self._collect(choice, self._calls)
        calls: Sequence[ToolCall] = ()
        match choice:
            case {"finish_reason": str(reason)}:
                said += self._filter.finish()
                self.stop = Stop.REFUSED if self._has_declined else _STOPS.get(reason, Stop.END)
                calls = self._end(self._calls) if self._calls is not None else ()
        return (*([Delta(said)] if said else ()), *calls)

    def _collect(self, choice: object, calls: _Calls) -> None:
        match choice:
            case {"delta": {"tool_calls": [*entries]}}:
                for entry in entries:
                    if isinstance(entry, Mapping):
                        calls.add(entry)
        match choice:
            case {"delta": {"reasoning_details": [*details]}}:
                _join_details(self._details, details)
            case {"delta": {"reasoning_content": str(piece)}}:
                self._reasoning += piece

    def _end(self, calls: _Calls) -> Sequence[ToolCall]:
        """Return the calls; they are known to be whole when the reason of the end is."""
        if self._details:
            self.thoughts.append({"reasoning_details": [*self._details]})
        elif self._reasoning:
            self.thoughts.append({"reasoning_content": self._reasoning})
        return calls.end(is_cut=self.stop is not Stop.END)


@dataclass
class _PartialCall:
    """A call while its pieces come."""

    index: object
    id: str = ""
    name: str = ""
    arguments: str = ""
    extra: dict[str, JSONValue] = field(default_factory=dict)


class _Calls:
    """Join the pieces of calls.

    Servers differ: a call comes whole or in pieces; pieces have the call's index, its id, or neither (Gemini), or every
    call has index 0 (Ollama); the name is sent once or with each piece; arguments are text, or an object.
    """

    def __init__(self) -> None:
        self._calls: list[_PartialCall] = []

    def add(self, entry: Mapping[str, object]) -> None:
        """Take a piece of a call."""
        function = entry.get("function")
        known = function if isinstance(function, Mapping) else {}
        index, own, name = entry.get("index"), _text(entry.get("id")), _text(known.get("name"))
        call = next((call for call in reversed(self._calls) if index is None or call.index == index), None)
        if call is None or (own and call.id and own != call.id) or (name and not own and is_object(call.arguments)):
            call = _PartialCall(index)
            self._calls.append(call)
        call.id = call.id or own
        call.name = call.name or name
        arguments = known.get("arguments")
        call.arguments += arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else ""
        match entry:
            case {"extra_content": Mapping() as content}:
                call.extra = {"extra_content": {**content}}

    def end(self, *, is_cut: bool) -> list[ToolCall]:
        """Return the calls, those without a name excepted, and if the answer `is_cut` those that are not whole."""
        return [
            ToolCall(call.id, call.name, call.arguments or "{}", call.extra)
            for call in self._calls
            if call.name and (is_object(call.arguments) or not is_cut)
        ]


def _join_details(known: list[dict[str, JSONValue]], pieces: Sequence[object]) -> None:
    """Join pieces of OpenRouter's blocks of reasoning, which it wants back as if they had come whole."""
    for piece in pieces:
        if not isinstance(piece, Mapping):
            continue
        last = known[-1] if known else {}
        if not known or any(piece.get(key) != last.get(key) for key in ("type", "index")):
            known.append(dict(piece))
            continue
        for key, value in piece.items():
            before = last.get(key)
            is_joined = key in {"text", "summary", "data"} and isinstance(before, str) and isinstance(value, str)
            last[key] = f"{before}{value}" if is_joined else before if value is None else value


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


class ThoughtFilter:
    """Remove the `<think>` block that open models begin with where their server leaves it in.

    Only the start of a streamed text is searched; what follows its first real word is never touched.
    """

    def __init__(self) -> None:
        self._held = ""
        self._closing = ""
        self._saying = False

    def feed(self, piece: str) -> str:
        """Return what can be shown of the text so far; a beginning that may become a mark is held back."""
        if self._saying:
            return piece
        self._held += piece
        while not self._saying:
            if self._closing:
                _, closing, rest = self._held.partition(self._closing)
                if not closing:
                    self._held = self._held[-len(self._closing) :]  # the mark may come in pieces
                    return ""
                self._held, self._closing = rest, ""
            start = self._held.lstrip()
            opening = next((mark for mark in _THOUGHT_MARKS if start.startswith(mark)), None)
            if opening is not None:
                self._held, self._closing = start.removeprefix(opening), _THOUGHT_MARKS[opening]
            elif any(mark.startswith(start) for mark in _THOUGHT_MARKS):
                return ""
            else:
                self._saying = True
        return self._rest()

    def finish(self) -> str:
        """Return the text that was held back and turned out to be no mark."""
        return "" if self._closing or self._saying else self._rest()

    def _rest(self) -> str:
        rest, self._held = self._held.lstrip(), ""
        return rest


def _usage(usage: Mapping[str, object]) -> Usage:
    """Return the counts; other servers may leave out any of them."""
    return Usage(
        input_tokens=_count(usage, "prompt_tokens"),
        output_tokens=_count(usage, "completion_tokens"),
        cached_tokens=_count(usage.get("prompt_tokens_details"), "cached_tokens"),
        reasoning_tokens=_count(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _count(counts: object, name: str) -> int:
    count = counts.get(name) if isinstance(counts, Mapping) else None
    return count if isinstance(count, int) else 0
