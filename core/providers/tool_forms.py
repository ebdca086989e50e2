"""The forms in which a model is offered tools: as its protocol has them, or in words, with one JSON object as answer.

The object is `{"reply": [...]}`, an entry `{"tool": NAME, ...}` with the arguments, or `{"tool": "Answer", "answer":
TEXT}`. Servers that enforce a schema want an object at its root; llama.cpp and OpenAI both accept `anyOf` inside. The
list is ordered, so that text can be shown, and a call run, as soon as it is there. All entries begin alike: where
answers began with another key, a model of 1.5 billion parameters never called a tool.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from core.dialogue import Prompt, PromptTurn, ToldInWords, Tool, ToolCall
from core.providers.ladder import TOOLS, Ladder, Params, Rung
from core.providers.written_calls import ANSWER
from core.types import JSONValue, MessageRole

_TOOL_WORDS: Final = ("tool", "function", "jinja")
_NOTE: Final = 'Answer with the one JSON object {"reply": [...]} as described, and with nothing else.'
_FORM: Final = """\
How you answer: with one JSON object {{"reply": [...]}} and nothing else. Each entry of the list is one of these:
  {{"tool": "Answer", "answer": "TEXT"}}: to write to the person. TEXT is what they read.
{tools}
You are told the result of a call in <tool-result> before you go on."""


def tool_ladder(native: Params, typed: Ladder, is_native: bool) -> Ladder:
    """Return the forms of offering tools: `native` if the model is not known to lack it, then the `typed` answers.

    `typed` are the forms of asking for an answer of `reply_schema`.
    """
    written = [
        replace(rung, label=f"{rung.label} of calls", note=_NOTE if rung.note else "", written=True) for rung in typed
    ]
    return [Rung(TOOLS, native, _TOOL_WORDS), *written] if is_native else written


def reply_schema(tools: Sequence[Tool]) -> dict[str, JSONValue]:
    """Return the JSON schema of an answer in words."""
    entries: list[JSONValue] = [_closed({"tool": _only(tool.name), **_properties(tool)}) for tool in tools]
    entries.append(_closed({"tool": _only(ANSWER), "answer": {"type": "string"}}))
    return _closed({"reply": {"type": "array", "items": {"anyOf": entries}, "minItems": 1}})


def _properties(tool: Tool) -> dict[str, JSONValue]:
    properties = (tool.brief or tool.schema).get("properties")
    return dict(properties) if isinstance(properties, Mapping) else {}


def _sample(schema: JSONValue) -> JSONValue:
    """Return a value that fits a schema, to show its form."""
    match schema:
        case {"properties": Mapping() as properties}:
            return {name: _sample(each) for name, each in properties.items()}
        case {"type": "array", "items": items}:
            return [_sample(items)]
        case {"enum": [first, *_]}:
            return first
        case {"anyOf": [first, *_]}:
            return _sample(first)
        case {"type": "boolean"}:
            return True
    return 0 if schema in ({"type": "integer"}, {"type": "number"}) else "..."


def has_calls(prompt: Prompt) -> bool:
    """Return whether the prompt offers tools, or belongs to a turn in which some were called."""
    return bool(prompt.tools) or any(turn.calls for turn in prompt.turns)


def in_words(prompt: Prompt, *, is_form: bool) -> Prompt:
    """Return the prompt with calls and results in the text of its turns, and with its tools told in the system text.

    With `is_form`, an answer in the form of `reply_schema` is asked for.
    """
    words = prompt.in_words or ToldInWords(prompt.system, prompt.tools)
    system, turns = prompt.system, prompt.turns
    if is_form:
        told = [_told(tool) for tool in words.tools]
        system = "\n\n".join(part for part in (words.system, _FORM.format(tools="\n".join(told))) if part)
        turns = (*map(_example, words.examples), *turns)
    return replace(prompt, system=system, turns=tuple(turn_in_words(turn) for turn in turns), tools=())


def _example(turn: PromptTurn) -> PromptTurn:
    is_answer = turn.role is MessageRole.ASSISTANT
    return PromptTurn(turn.role, _reply(turn, calls_first=True)) if is_answer else turn


def _reply(turn: PromptTurn, *, calls_first: bool = False) -> str:
    """Return the text and the calls of an entry in the form of an answer."""
    said: list[JSONValue] = [{"tool": ANSWER, "answer": turn.text}] if turn.text else []
    calls: list[JSONValue] = [{"tool": call.name, **arguments_of(call)} for call in turn.calls]
    return _json({"reply": [*calls, *said] if calls_first else [*said, *calls]})


def _told(tool: Tool) -> str:
    """Return the form of a call, and when to make it: the first line of the description."""
    form = {"tool": tool.name} | {name: _sample(each) for name, each in _properties(tool).items()}
    when, _, _ = tool.description.partition("\n")
    return f"  {_json(form)}: {when}"


def turn_in_words(turn: PromptTurn) -> PromptTurn:
    """Return the entry with its calls and results in its text."""
    if turn.calls:
        return PromptTurn(turn.role, _reply(turn))
    if turn.results:
        results = [f'<tool-result tool="{result.call.name}">\n{result.text}\n</tool-result>' for result in turn.results]
        return replace(turn, text="\n\n".join((*results, turn.text) if turn.text else results), results=())
    return turn


def arguments_of(call: ToolCall) -> dict[str, JSONValue]:
    """Return the arguments as protocols send them back: an object without lone surrogates.

    Source: what was no JSON object goes back as `INVALID_JSON`, as Anthropic's notes on streamed tool calls ask for.
    """
    try:
        value = json.loads(call.arguments)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        value = {"INVALID_JSON": call.arguments}
    cleaned: dict[str, JSONValue] = json.loads(_json(value).encode("utf-8", "replace"))
    return cleaned


def is_object(text: str) -> bool:
    """Return whether the text is a whole JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _only(name: str) -> JSONValue:
    return {"type": "string", "enum": [name]}


def _closed(properties: dict[str, JSONValue]) -> dict[str, JSONValue]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
