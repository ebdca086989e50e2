"""Models of servers that speak OpenAI's Chat Completions; OpenAI's own are asked by `core.providers.responses`.

Source: the SDK's types. `client.post` with untyped events, because building a typed object from each event takes longer
than all else (docs/performance.md), and servers differ from the types anyway.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from core.dialogue import Delta, Picture, Prompt, PromptTurn, Stop, Tool, ToolCall, Usage
from core.providers.failure import SCHEMA_WORDS, Ladder, Params, Rung, as_note, merged
from core.providers.streamed import Part, Reading, StreamedModel, base64_of, sendable
from core.providers.written_calls import arguments_of, is_object
from core.types import JSONValue

_STOPS = {"length": Stop.LENGTH, "content_filter": Stop.REFUSED}
_LESS_EFFORT = {"none": "minimal", "minimal": "low", "max": "xhigh", "xhigh": "high"}
_THOUGHT_MARKS: Final = {"<think>": "</think>", "<thinking>": "</thinking>"}
_TOKEN_CAPS = ("max_tokens", "max_completion_tokens")  # the name that most servers know; OpenAI's later one
_EFFORT_WORDS = ("reasoning_effort", "reasoning effort", "reasoning.effort", "thinking")


class _Reading(Reading):
    """Read `content` and, if tools were offered, `tool_calls` and the thoughts that the server wants back."""

    def __init__(self, name: str, *, has_tools: bool) -> None:
        super().__init__(name, has_tools=has_tools)
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
        input_tokens=count(usage, "prompt_tokens"),
        output_tokens=count(usage, "completion_tokens"),
        cached_tokens=count(usage.get("prompt_tokens_details"), "cached_tokens"),
        reasoning_tokens=count(usage.get("completion_tokens_details"), "reasoning_tokens"),
        cache_write_tokens=count(usage.get("prompt_tokens_details"), "cache_write_tokens"),
    )


def count(counts: object, name: str) -> int:
    """Return a count of that name; 0 if there is none."""
    found = counts.get(name) if isinstance(counts, Mapping) else None
    return found if isinstance(found, int) else 0


class OpenAIModel(StreamedModel):
    """A model behind Chat Completions."""

    path = "/chat/completions"
    reading = _Reading

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
                yield {"role": turn.role.value, "content": self._content(turn)}
            return
        message: dict[str, JSONValue] = {"role": turn.role.value, "content": sendable(text) if text.strip() else None}
        if turn.thoughts is not None:
            message = merged(message, *(block for block in turn.thoughts.blocks if isinstance(block, Mapping)))
        yield message | {"tool_calls": [self._call(call) for call in turn.calls]}

    @staticmethod
    def _content(turn: PromptTurn) -> JSONValue:
        """Return the text of an entry, or a list of it and its pictures."""
        if not turn.pictures:
            return sendable(turn.whole_text)
        shown: list[JSONValue] = [{"type": "text", "text": sendable(turn.whole_text)}]
        pictures: list[JSONValue] = [
            {"type": "image_url", "image_url": {"url": data_url(each)}} for each in turn.pictures
        ]
        return [*shown, *pictures]

    def _call(self, call: ToolCall) -> JSONValue:
        arguments = json.dumps(arguments_of(call), ensure_ascii=False)  # some servers parse what they are sent
        function: JSONValue = {"name": call.name, "arguments": arguments}
        extra = call.extra.get(self.name)
        own = extra if isinstance(extra, Mapping) else {}
        return {"id": call.id, "type": "function", "function": function, **own}

    def _ladders(self, prompt: Prompt) -> list[Ladder]:
        ladders: list[Ladder] = [
            *super()._ladders(prompt),
            [Rung(name, {name: prompt.max_tokens}, (name,)) for name in _TOKEN_CAPS],
            [Rung("usage", {"stream_options": {"include_usage": True}}, ("stream_options", "include_usage"))],
        ]
        if (verbosity := self._options.verbosity) is not None:
            ladders.append([Rung("verbosity", {"verbosity": verbosity}, ("verbosity",))])
        return ladders

    def _tool(self, tool: Tool) -> JSONValue:
        function: JSONValue = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
        return {"type": "function", "function": function}

    def _structured(self, schema: Params) -> Ladder:
        """Return the forms of a typed answer: enforced by the server, any JSON, or requested in the prompt."""
        shape: Params = {"name": "answer", "schema": schema, "strict": True}
        note = as_note(schema)
        return [
            Rung("json_schema", {"response_format": {"type": "json_schema", "json_schema": shape}}, SCHEMA_WORDS),
            Rung("json_object", {"response_format": {"type": "json_object"}}, ("response_format", "json_object"), note),
            Rung("prompted", note=note),
        ]

    def _effort(self, effort: str | None, *, has_tools: bool) -> Ladder:
        """Return the forms of an effort; without one, at last that of models which take no tools while they think."""
        label = "reasoning_effort"
        rungs = [
            Rung(f"{label}={each}", {label: each}, _EFFORT_WORDS) for each in (lesser_efforts(effort) if effort else ())
        ]
        if has_tools and effort != "none":
            unset = [] if effort else [Rung(label, words=_EFFORT_WORDS)]
            rungs += [*unset, Rung("tools without thinking", {label: "none"}, _EFFORT_WORDS)]
        return rungs


def data_url(picture: Picture) -> str:
    """Return a picture as an address that holds it."""
    return f"data:{picture.media_type};base64,{base64_of(picture)}"


def lesser_efforts(effort: str) -> Iterator[str]:
    """Yield the effort, then its neighbours that more models accept: the ends of the scale differ."""
    following: str | None = effort
    while following is not None:
        yield following
        following = _LESS_EFFORT.get(following)
