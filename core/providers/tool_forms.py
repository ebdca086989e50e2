"""The forms in which a model is offered tools: as its protocol has them, or in words, with one JSON object as answer.

The object is `{"reply": [...]}`, each entry `{"answer": TEXT}` or `{"tool": NAME, ...}` with the arguments. Servers
that enforce a schema want an object at its root; llama.cpp and OpenAI both accept `anyOf` inside. The list is ordered,
so that text can be shown, and a call run, as soon as it is there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from core.dialogue import Prompt, PromptTurn, ToldInWords, Tool, ToolCall
from core.providers.ladder import Ladder, Params, Rung
from core.types import JSONValue

TOOLS: Final = "tools"
"""The label of the form that the protocol has for tools."""

_TOOL_WORDS: Final = ("tool", "function", "jinja")
_NOTE: Final = 'Answer with the one JSON object {"reply": [...]} as described, and with nothing else.'
_FORM: Final = """\
How you answer: with one JSON object {{"reply": [...]}} and nothing else. Each entry of the list is one of two:
- {{"answer": "TEXT"}}: TEXT is what the person reads.
- one of these calls; you are told its result in <tool-result> before you go on:
{tools}"""


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
    entries: list[JSONValue] = [_closed({"answer": {"type": "string"}})]
    entries += [_closed({"tool": {"type": "string", "enum": [tool.name]}, **_properties(tool)}) for tool in tools]
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


def in_words(prompt: Prompt) -> Prompt:
    """Return the prompt with its tools told in the system text, and calls and results in the text of the turns."""
    words = prompt.in_words or ToldInWords(prompt.system, prompt.tools)
    system, turns = prompt.system, prompt.turns
    if prompt.tools:
        told = [_told(tool) for tool in words.tools]
        system = "\n\n".join(part for part in (words.system, _FORM.format(tools="\n".join(told))) if part)
        turns = (*words.examples, *turns)
    return replace(prompt, system=system, turns=tuple(turn_in_words(turn) for turn in turns), tools=())


def _told(tool: Tool) -> str:
    """Return the form of a call, and when to make it: the first line of the description."""
    form = {"tool": tool.name} | {name: _sample(each) for name, each in _properties(tool).items()}
    when, _, _ = tool.description.partition("\n")
    return f"  {_json(form)}: {when}"


def turn_in_words(turn: PromptTurn) -> PromptTurn:
    """Return the entry with its calls and results in its text."""
    if turn.calls:
        entries: list[JSONValue] = [{"answer": turn.text}] if turn.text else []
        entries += [{"tool": call.name, **arguments_of(call)} for call in turn.calls]
        return PromptTurn(turn.role, _json({"reply": entries}))
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


def _closed(properties: dict[str, JSONValue]) -> dict[str, JSONValue]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
