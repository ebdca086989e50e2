"""Ask a model for a whole answer, for one of several names, or for a typed one; ask again if the reply is unusable."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Any, Final, TypeVar, cast

from pydantic import Field, TypeAdapter, ValidationError

from core.dialogue import Delta, Finish, Prompt, PromptTurn, Reply, Stop, StreamEvent, Task
from core.errors import BadReply, ProviderRefused, StreamCut
from core.ports import ChatModel, Embedder
from core.types import JSONValue, MessageRole

Shape = TypeVar("Shape")

MODES: Final = ("heavy", "reasoning", "chat", "summary")
"""The modes of thought: the fields of `Models`."""

_MODE_OF: Final = {
    Task.DECIDE: "heavy",
    Task.QUESTION: "chat",
    Task.FINISH: "chat",
    Task.SINGLE: "chat",
    Task.SUMMARY: "summary",
}
"""The mode for each task; all other tasks are extractions, for the reasoning model."""

_NAME = re.compile(r"[A-Za-z]+")


class HotModel(ChatModel):
    """A model that can be exchanged, by setting `model`. A running call ends with the model that it began with."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model

    @property
    def name(self) -> str:
        """The name of the present model."""
        return self.model.name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the present chain."""
        return self.model.names

    def stream(self, prompt: Prompt) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Ask the present model."""
        return self.model.stream(prompt)


@dataclass(frozen=True, slots=True)
class Models:
    """The model of each mode (T14), and the embedder; `summary` is document 2's cheaper model."""

    heavy: ChatModel
    reasoning: ChatModel
    chat: ChatModel
    summary: ChatModel
    embedder: Embedder

    @property
    def is_limited(self) -> bool:
        """Whether there is no language model to talk with."""
        return self.chat.name.startswith(_LIMITED)

    def reads_prose(self, mode: str) -> bool:
        """Return whether any model of the mode reads prompts as prose: limited mode reads their data."""
        return not all(map(_is_limited, getattr(self, mode).names))

    def now(self) -> Models:
        """Return the present models, so that an answer ends with those that it began with."""
        models: dict[str, Any] = {}
        for mode in MODES:
            model = getattr(self, mode)
            models[mode] = model.model if isinstance(model, HotModel) else model
        return replace(self, **models)


class Cycle(StrEnum):
    """How a message is thought through: step by step, in a single call with tools, or as the models allow."""

    AUTO = "auto"
    STEPWISE = "stepwise"
    SINGLE = "single"

    def is_single(self, models: Models) -> bool:
        """Return whether these models answer in a single call: automatically if one model (or chain) does it all."""
        is_one = models.heavy.names == models.reasoning.names == models.chat.names
        if models.is_limited:
            return False
        return self is Cycle.SINGLE or (self is Cycle.AUTO and is_one)


_LIMITED: Final = "limited:"


def _is_limited(name: str) -> bool:
    return name.startswith(_LIMITED)


def mode_of(task: Task) -> str:
    """Return the mode for a task."""
    return _MODE_OF.get(task, "reasoning")


async def complete(model: ChatModel, prompt: Prompt) -> Reply:
    """Return the whole answer.

    Raises:
        ProviderError: the model failed, declined, or broke off.
    """
    parts: list[str] = []
    async with model.stream(replace(prompt, whole=True)) as events:
        async for event in events:
            match event:
                case Delta(text):
                    parts.append(text)
                case Finish(Stop.REFUSED):
                    raise ProviderRefused(f"{model.name} declined")
                case Finish(stop, usage):
                    return Reply("".join(parts), stop, usage)
    raise StreamCut(f"{model.name} ended without a stop reason")


async def choose(model: ChatModel, prompt: Prompt, names: Sequence[str]) -> str:
    """Return the one of `names` that the model answers (T4); ask once more after a bad answer.

    The model may answer the bare name or `{"action": name}`, in any case.

    Raises:
        BadReply: it named none of them, twice.
        ProviderError: the model failed.
    """
    schema: dict[str, JSONValue] = {
        "type": "object",
        "properties": {"action": {"type": "string", "enum": list(names)}},
        "required": ["action"],
        "additionalProperties": False,
    }
    known = {name.casefold(): name for name in names}

    def read(reply: Reply) -> str:
        said = {known[word.casefold()] for word in _NAME.findall(reply.text) if word.casefold() in known}
        if len(said) != 1 or reply.is_cut:
            raise ValueError(f"Answer with exactly one of these names: {', '.join(names)}.")
        return said.pop()

    return await _read_twice(model, replace(prompt, schema=schema), read)


async def _read_twice(model: ChatModel, prompt: Prompt, read: Callable[[Reply], Shape]) -> Shape:
    """Return what is read in the answer; ask once more, with the complaint, after one that raises ValueError."""
    reply = await complete(model, prompt)
    try:
        return read(reply)
    except ValueError as error:
        said = PromptTurn(MessageRole.ASSISTANT, reply.text or "(nothing)")
        prompt = replace(prompt, turns=(*prompt.turns, said, PromptTurn(MessageRole.USER, str(error))))
    reply = await complete(model, prompt)
    try:
        return read(reply)
    except ValueError as error:
        raise BadReply(f"{model.name} did not answer as asked: {error}") from None


def adapter_of(shape: type[Shape]) -> TypeAdapter[Shape]:
    """Return what reads and writes a dataclass as JSON."""
    return _adapter(shape)  # type: ignore[arg-type]  # a class is hashable


@cache  # one takes 5 ms to make
def _adapter(shape: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


async def complete_as(shape: type[Shape], model: ChatModel, prompt: Prompt) -> Shape:
    """Return the answer as a dataclass; after a bad answer ask once more, naming the problem.

    Raises:
        BadReply: it did not fit, twice.
        ProviderError: the model failed.
    """

    def read(reply: Reply) -> Shape:
        try:
            return adapter_of(shape).validate_python(_parse(reply.text, shape))
        except ValidationError as error:
            problem = problems_of(error)
        except ValueError:
            problem = "this is not JSON" if reply.stop is not Stop.LENGTH else "the JSON was cut off: answer shorter"
        raise ValueError(f"That did not fit the schema ({problem}). Answer again, only the JSON.")

    return await _read_twice(model, replace(prompt, schema=schema_of(shape)), read)


def problems_of(error: ValidationError) -> str:
    """Return where a value does not fit and why, without the value, as a model is told."""
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:3])


NOT_BRIEF: Final[Any] = Field(json_schema_extra={"brief": False})
"""In the annotation of a field: the brief schema leaves it out, as an answer without it is understood."""


def schema_of(shape: type[Any], *, brief: bool = False) -> dict[str, JSONValue]:
    """Return the JSON schema of a dataclass in the strict form of providers.

    No references, titles, docstrings or defaults; every property required, no others allowed. A `brief` one lacks the
    fields that are NOT_BRIEF, and null is no value of the others. Every caller is given the same: it is not changed.
    """
    return _strict_schema(shape, brief)  # type: ignore[arg-type]  # a class is hashable


@cache
def _strict_schema(shape: type[Any], brief: bool) -> dict[str, JSONValue]:
    raw = _json_schema(shape)  # type: ignore[arg-type]  # a class is hashable
    return cast("dict[str, JSONValue]", _strict(raw, raw.get("$defs", {}), brief=brief))


@cache
def _json_schema(shape: type[Any]) -> dict[str, Any]:
    return adapter_of(shape).json_schema()


def _strict(node: Any, definitions: Mapping[str, Any], *, brief: bool) -> Any:
    if isinstance(node, list):
        return [_strict(entry, definitions, brief=brief) for entry in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _strict(definitions[node["$ref"].rsplit("/", 1)[-1]], definitions, brief=brief)
    if brief and (some := [entry for entry in node.get("anyOf", ()) if entry != {"type": "null"}]):
        return _strict(some[0] if len(some) == 1 else {"anyOf": some}, definitions, brief=False)
    kept = {
        key: {
            name: _strict(entry, definitions, brief=brief)
            for name, entry in value.items()
            if not (brief and entry.get("brief") is False)
        }
        if key == "properties"
        else _strict(value, definitions, brief=brief)
        for key, value in node.items()
        if key not in {"$defs", "title", "default", "description", "brief"}
    }
    if kept.get("type") == "object":
        kept |= {"required": list(kept.get("properties", {})), "additionalProperties": False}
    return kept


def _parse(text: str, shape: type[Any]) -> object:
    """Return the JSON value in the text, fenced or not, in the form of the dataclass."""
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    if start < 0:
        raise ValueError("no JSON")
    end = max(text.rfind("}"), text.rfind("]")) + 1
    try:
        value = json.loads(text[start:end])
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    return parsed(value, shape)


def parsed(value: Any, shape: type[Any]) -> object:
    """Return a JSON value in the form of a dataclass.

    If one field alone has no default, and is a list, a bare list or a single entry is accepted, too: document 1's two
    forms.
    """
    needed = [each.name for each in fields(shape) if each.default is MISSING] if is_dataclass(shape) else []
    if len(needed) != 1 or (isinstance(value, dict) and needed[0] in value):
        return cast("object", value)
    return {needed[0]: value if isinstance(value, list) else [value]}
