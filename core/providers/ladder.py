"""Remember which forms of a request parameter a model refused, and use the next form.

The module of each protocol defines the forms and the words of its errors.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar

from core.providers.failure import Rejected
from core.types import JSONValue

SCHEMA_WORDS: Final = (
    "response_format",
    "output_config.format",
    "json_schema",
    "structured output",
    "schema",
    "grammar",
)
"""Names of structured output in the refusals of providers."""

TOOLS: Final = "tools"
"""The label of the form that the protocol has for tools."""

Params: TypeAlias = Mapping[str, JSONValue]


@dataclass(frozen=True, slots=True)
class Rung:
    """One form of a parameter. `label` is remembered after a refusal: NAME, or NAME=VALUE.

    `words` appear in errors about it (lower case); `note` is added to the prompt. `written`: tools are told, called and
    answered in the text.
    """

    label: str = ""
    params: Params = field(default_factory=dict)
    words: tuple[str, ...] = ()
    note: str = ""
    written: bool = False


Ladder: TypeAlias = Sequence[Rung]
"""Forms from the best to the last resort. After the last, the parameter is left out."""

Answer = TypeVar("Answer")


class Concessions:
    """What the models of one endpoint refused, and their context windows in tokens (`windows`), for this process.

    `callers` are the models that called a tool as the protocol has it, `forms` the labels of the form in which each
    model's last accepted request offered tools. Learning costs one refused request for each form
    and model; a catalogue of models would become outdated.
    """

    def __init__(self) -> None:
        self._refused: dict[str, set[str]] = {}
        self.windows: dict[str, int] = {}
        self.callers: set[str] = set()
        self.forms: dict[str, str] = {}

    async def settle(
        self, model: str, ladders: Sequence[Ladder], send: Callable[[Sequence[Rung]], Awaitable[Answer]]
    ) -> Answer:
        """Send a request, again with the next form after each refusal of one.

        Raises:
            Rejected: the request was refused for another reason.
            ModelUnknown: there is no such model.
        """
        while True:
            rungs = self.choose(model, ladders)
            try:
                return await send(rungs)
            except Rejected as error:
                if not self.learn(model, rungs, error.complaint):
                    raise (error.instead or error) from None

    def choose(self, model: str, ladders: Sequence[Ladder]) -> list[Rung]:
        """Return the best form of each ladder that the model has not refused."""
        refused = self._refused.get(model, set())
        return [next((rung for rung in ladder if not _is_refused(rung, refused)), Rung()) for ladder in ladders]

    def learn(self, model: str, sent: Sequence[Rung], complaint: str) -> bool:
        """Remember the form that the complaint mentions first; return False if it mentions none.

        "Unsupported value" refuses this value only, any other complaint all values. Tools are given up last: some are
        refused only together with another parameter.
        """
        complaint = complaint.lower()
        named = [(at, rung) for rung in sent for word in rung.words if (at := complaint.find(word)) >= 0]
        if not named:
            return False
        label = min(named, key=lambda entry: (entry[1].label == TOOLS, entry[0]))[1].label
        if "value" not in complaint:
            label = label.partition("=")[0]
        self.refuse(model, label)
        return True

    def refuse(self, model: str, label: str) -> None:
        """Use the form of that label no more."""
        self._refused.setdefault(model, set()).add(label)


def _is_refused(rung: Rung, refused: set[str]) -> bool:
    return rung.label in refused or rung.label.partition("=")[0] in refused


def merged(*params: Params) -> dict[str, JSONValue]:
    """Return all parameters as one request body; objects of one name are merged."""
    body: dict[str, JSONValue] = {}
    for name, value in (entry for part in params for entry in part.items()):
        known = body.get(name)
        body[name] = {**known, **value} if isinstance(known, Mapping) and isinstance(value, Mapping) else value
    return body


def as_note(schema: Mapping[str, JSONValue]) -> str:
    """Return the sentence that asks for JSON of the schema, for models without structured output."""
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return f"Answer with one JSON object that fits this JSON schema, and with nothing else:\n{text}"
