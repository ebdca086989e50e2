"""Tool calls in words: how a model is offered tools that it cannot call by itself, and how its written calls are read.

The object asked for is `{"reply": [...]}`, an entry `{"tool": NAME, ...}` with the arguments, or `{"tool": "Answer",
"answer": TEXT}`. Servers that enforce a schema want an object at its root; llama.cpp and OpenAI both accept `anyOf`
inside. The list is ordered, so that text can be shown, and a call run, as soon as it is there. All entries begin alike:
where answers began with another key, a model of 1.5 billion parameters never called a tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from core.dialogue import Delta, Prompt, PromptTurn, ToldInWords, Tool, ToolCall
from core.providers.failure import TOOLS, Ladder, Params, Rung
from core.types import JSONValue, MessageRole

_FENCE: Final = "```"
_MARKS: Final = (
    "```json",
    "```tool_call",
    _FENCE,
    "<tool_call>",
    "<function_call>",
    "<|tool_call|>",
    "<|python_tag|>",
    "[TOOL_CALLS]",
    "{{",
)
"""What models put before a call that they write as text."""

_CLOSINGS: Final = (*_MARKS, "</tool_call>", "</function_call>", "<|/tool_call|>", "}", ";")
_NAMES: Final = ("tool", "name", "function")
_ARGUMENTS: Final = ("arguments", "parameters", "input")
_LISTS: Final = ("reply", "calls", "tool_calls")
_OTHERS: Final = ("type", "id")
_ANSWER: Final = "answer"
ANSWER: Final = "Answer"
"""The tool that stands for a text in that object."""

_DEEPEST: Final = 8

_BLANK: Final = re.compile(r"\s*")
_QUOTED: Final = re.compile(r'(?:[^"\\]+|\\.)*', re.DOTALL)
_FLAT: Final = re.compile(r'[^"{}\[\]]*')
_BARE: Final = re.compile(r'[^\s,}\]"{\[]*')
_UNITS: Final = re.compile(  # all of a quoted text but an escape whose end, or other half, is still to come
    r"""(?:
        [^"\\]+
      | \\u[dD][89abAB][\da-fA-F]{2} (?: \\u[\da-fA-F]{4} | (?=[^\\]) | (?=\\[^u]) )
      | \\u(?![dD][89abAB])[\da-fA-F]{4}
      | \\u(?=[\da-fA-F]{0,3}[^\da-fA-F])
      | \\[^u]
    )*""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(?:u([\da-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}

_Steps: TypeAlias = Generator[None, None, bool]
_Text: TypeAlias = Generator[None, None, str]


class WrittenCalls:
    """Turn the pieces of an answer's text into Deltas, and ToolCalls (with "" as id) of the tools of those `names`.

    A call is only what the text begins with, and other calls right
    after it: behind prose it may be a quote. One in a code block is a call only if it is alone and nothing follows the
    block. What may become a call is held back, and comes out as text if it does not.

    With `is_form` the model was asked for the object of `reply_schema`, which may begin anywhere: an answer in it comes
    out as text while it is written, and so does prose before it, after it, or instead of it. How the text is cut
    changes nothing, and nothing but the form itself is lost.

    A generator reads `_raw` from `_at` on, and is resumed by each piece. What is before `_at` may still come out as
    text until `_drop` forgets it.
    """

    def __init__(self, names: Collection[str], *, is_form: bool = False) -> None:
        self.found = False
        self._names = frozenset(names)
        self._is_form = is_form
        self._raw = ""
        self._at = 0
        self._ended = self._is_cut = self._has_answered = False
        self._parts: list[Delta | ToolCall] = []
        self._quoted_calls: list[ToolCall] | None = None  # those of a code block, until all of the text is known
        self._reading = self._read()

    def feed(self, piece: str) -> Sequence[Delta | ToolCall]:
        """Return what the piece adds."""
        self._raw += piece
        return self._advance()

    def finish(self, *, is_cut: bool = False) -> Sequence[Delta | ToolCall]:
        """Return what was held back. A call without its end is dropped if the answer `is_cut`, else malformed."""
        self._ended, self._is_cut = True, is_cut
        return self._advance()

    def _advance(self) -> list[Delta | ToolCall]:
        next(self._reading, None)
        parts, self._parts = self._parts, []
        return parts

    def _read(self) -> Generator[None, None, None]:
        """Read the whole text: calls at its beginning; the form also from a bracket or a line on."""
        after_call = False
        while True:
            is_opening = yield from self._opening(_CLOSINGS if after_call else _MARKS)
            if after_call:
                self._drop()
            if not self._is_form and _FENCE in self._raw[: self._at]:
                self._quoted_calls = []
            after_call = is_opening and (yield from self._value()) and (yield from self._is_alone())
            if after_call:
                self._drop()
                continue
            self._at = 0
            start = 1  # a bracket at 0 is none that begins a call
            while (cut := self._line(start)) < 0:
                self._say(len(self._raw))
                if self._ended:
                    return
                yield
                start = 0
            self._say(cut)

    def _line(self, start: int) -> int:
        """Return the length of the text up to where the form may begin; -1 if that is still to come."""
        if not self._is_form:
            return -1
        line, bracket = self._raw.find("\n"), self._raw.find("{", start)
        ends = ([line + 1] if line >= 0 else []) + ([bracket] if bracket >= 0 else [])
        return min(ends, default=-1)

    def _opening(self, marks: Sequence[str]) -> _Steps:
        """Skip blanks and marks; return whether a bracket follows."""
        while True:
            yield from self._peek()
            rest = self._raw[self._at : self._at + 16]
            if not self._ended and any(mark != rest and mark.startswith(rest) for mark in marks):
                yield
                continue
            mark = max((mark for mark in marks if rest.startswith(mark)), key=len, default="")
            if not mark:
                return rest[:1] in {"{", "["}
            self._at += 1 if mark == "{{" else len(mark)  # braces that a template doubled

    def _value(self) -> _Steps:
        """Read an entry or a list of entries; False: it is something else, from `_at` = 0 on."""
        if self._raw[self._at] == "{":
            return (yield from self._entry())
        return (yield from self._list()) > 0

    def _is_alone(self) -> _Steps:
        """Read to the end of the text after a code block; return whether it held one call and nothing follows it."""
        if (calls := self._quoted_calls) is None:
            return True
        is_more = yield from self._opening(_CLOSINGS)
        if is_more or self._at < len(self._raw) or len(calls) > 1:
            return False
        self.found = self.found or bool(calls)
        self._parts += calls
        return True

    def _list(self, depth: int = 0) -> Generator[None, None, int]:
        """Return how many entries a list has; -1 if they are something else."""
        self._at += 1
        count = 0
        while True:
            sign = yield from self._peek()
            if sign == "{":
                if not (yield from self._entry(depth + 1)):
                    return -1
                count += 1
            elif sign == "]":
                self._at += 1
                return count
            elif sign == ",":
                self._at += 1
            else:
                return count if count and not sign else -1

    def _entry(self, depth: int = 0) -> _Steps:  # noqa: C901, PLR0911, PLR0912 -- one short branch a key of the forms
        """Read a call, an answer, or an object around a list of them; False: it is something else."""
        if depth > _DEEPEST:
            return False
        self._at += 1
        name, arguments, others, is_done = "", "", dict[str, str](), False
        while (sign := (yield from self._peek())) != "}":
            if sign == ",":
                self._at += 1
                continue
            key = _plain((yield from self._quoted())[1:-1]) if sign == '"' else ""
            if not key or (yield from self._peek()) != ":":
                return (yield from self._broken(name, arguments, is_done=is_done))
            self._at += 1
            sign = yield from self._peek()
            if self._is_form and key == _ANSWER and sign == '"':
                yield from self._answer()
                is_done = True
            elif key in _LISTS and sign == "[":
                count = yield from self._list(depth)
                if count < 0:
                    return False
                is_done = is_done or count > 0 or self._is_form
            elif key in _NAMES + _LISTS and sign == "{":
                if not (yield from self._entry(depth + 1)):
                    return False
                is_done = True
            elif not (name or is_done or key in _ARGUMENTS or (key in _NAMES + _OTHERS and sign in {'"', ""})):
                return False
            else:
                start = self._at
                value = yield from self._json(sign)
                if not value:
                    return (yield from self._broken(name, arguments or self._raw[start:], is_done=is_done))
                if key in _NAMES and not name:
                    name = _plain(value[1:-1])
                    if name not in self._names and not (self._is_form and key == "tool"):
                        return False
                elif key in _ARGUMENTS:
                    arguments = value
                elif key not in _OTHERS or self._is_form:
                    others[key] = value
        self._at += 1
        if name and not is_done and (arguments or others or self._is_form):
            flat = ", ".join(f'"{key}": {value}' for key, value in others.items())
            self._call(name, arguments or f"{{{flat}}}")
            is_done = True
        return is_done

    def _broken(self, name: str, arguments: str, *, is_done: bool) -> _Steps:
        """End an entry that is malformed, or whose end is missing: a call if its name is known, else text."""
        while name and not self._ended:
            yield
        if self._ended and self._is_cut:
            self._at = len(self._raw)
        elif name:
            self._call(name, arguments or self._raw[self._at :])
        elif not is_done or self._at < len(self._raw):
            return False
        self._at = len(self._raw)
        return True

    def _answer(self) -> Generator[None, None, None]:
        """Give a quoted text as it comes."""
        if self._has_answered:
            self._parts.append(Delta("\n\n"))
        self._has_answered = True
        self._at += 1
        while True:
            self._drop()
            self._at = _end(_UNITS, self._raw)
            if text := _plain(self._raw[: self._at]):
                self._parts.append(Delta(text))
            self._drop()
            if self._raw.startswith('"'):
                self._at = 1
                if not (yield from self._peek()) or self._raw[self._at] in ",}]":
                    return
                self._parts.append(Delta('"'))  # a quote that the model forgot to escape
                self._at = 1
            elif self._ended:
                self._parts += [Delta(_plain(self._raw))] if self._raw and not self._is_cut else []
                self._at = len(self._raw)
                return
            else:
                yield

    def _json(self, sign: str) -> _Text:
        """Return the JSON of a value as it is written; "" if its end is missing."""
        if sign == '"':
            return (yield from self._quoted())
        start, depth = self._at, 0
        pattern = _FLAT if sign in {"{", "["} else _BARE
        while True:
            self._at = _end(pattern, self._raw, self._at)
            if self._at == len(self._raw):
                if self._ended:
                    return ""
                yield
            elif pattern is _BARE:
                return self._raw[start : self._at]
            elif self._raw[self._at] == '"':
                if not (yield from self._quoted()):
                    return ""
            else:
                depth += 1 if self._raw[self._at] in "{[" else -1
                self._at += 1
                if not depth:
                    return self._raw[start : self._at]

    def _quoted(self) -> _Text:
        """Return a quoted text with its quotes; "" if its end is missing."""
        start = self._at
        self._at += 1
        while True:
            self._at = _end(_QUOTED, self._raw, self._at)
            if self._raw[self._at : self._at + 1] == '"':
                self._at += 1
                return self._raw[start : self._at]
            if self._ended:
                return ""
            yield

    def _peek(self) -> _Text:
        """Skip blanks; return the next character, "" at the end of the text."""
        while True:
            self._at = _end(_BLANK, self._raw, self._at)
            if self._at < len(self._raw) or self._ended:
                return self._raw[self._at : self._at + 1]
            yield

    def _call(self, name: str, arguments: str) -> None:
        if self._is_form and name == ANSWER:  # its text among the arguments, where only the prompt asks for the form
            said = re.search(r':\s*"((?:[^"\\]|\\.)*)"', arguments, re.DOTALL)
            self._parts += [Delta(_plain(said[1]))] if said else []
            self._drop()
            return
        is_quoted = len(arguments) > 1 and arguments[0] == '"' == arguments[-1]
        call = ToolCall("", name, _plain(arguments[1:-1]) if is_quoted else arguments)
        if self._quoted_calls is not None:
            self._quoted_calls.append(call)
            return
        self.found = True
        self._parts.append(call)
        self._drop()

    def _say(self, length: int) -> None:
        if length:
            self._parts.append(Delta(self._raw[:length]))
        self._at = length
        self._drop()

    def _drop(self) -> None:
        self._raw, self._at = self._raw[self._at :], 0


def _end(pattern: re.Pattern[str], text: str, start: int = 0) -> int:
    """Return where the pattern, which matches the empty text as well, ends."""
    found = pattern.match(text, start)
    return found.end() if found else start


def _plain(quoted: str) -> str:
    """Return what a JSON string of that inside stands for; halves of surrogate pairs become U+FFFD."""
    if "\\" not in quoted:
        return quoted
    text = _ESCAPE.sub(_unescaped, quoted)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _ESCAPED.get(found[2], found[2])


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
