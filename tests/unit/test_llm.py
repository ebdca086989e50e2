"""Asking a model: whole answers, one of several names, typed shapes; and asking once more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import pytest

from core.dialogue import Finish, Prompt, PromptContext, PromptTurn, Stop, Task
from core.errors import BadReply, ProviderDown, ProviderRefused
from core.models import choose, complete, complete_as, schema_of
from core.types import Locale, MessageRole
from tests.fakes.model import Answer, ScriptedModel

NAMES = ("MemorySearch", "Finish")


@dataclass(frozen=True)
class Inner:
    id: str
    kind: Literal["a", "b"] | None


@dataclass(frozen=True)
class Outer:
    items: list[Inner]


def model(*answers: Answer) -> ScriptedModel:
    return ScriptedModel({Task.DECIDE: list(answers)})


def prompt() -> Prompt:
    context = PromptContext(Task.DECIDE, Locale.EN, "hi", datetime(2026, 1, 1, tzinfo=UTC))
    return Prompt("system", (PromptTurn(MessageRole.USER, "hi"),), context)


@pytest.mark.spec("T4")
@pytest.mark.parametrize(
    "answer", ["MemorySearch", "memorysearch.", '{"action": "MemorySearch"}', "**MemorySearch**\n"]
)
async def test_a_decision_is_the_bare_name_or_its_json_in_any_case(answer: str) -> None:
    assert await choose(model(answer), prompt(), NAMES) == "MemorySearch"


@pytest.mark.spec("T4")
async def test_the_decision_is_held_to_the_names_by_an_enum() -> None:
    asked = model("Finish")
    await choose(asked, prompt(), NAMES)
    assert asked.prompts[0].schema == {
        "type": "object",
        "properties": {"action": {"type": "string", "enum": list(NAMES)}},
        "required": ["action"],
        "additionalProperties": False,
    }


async def test_an_unknown_decision_is_asked_again_once_with_the_names() -> None:
    asked = model("Dance", "Finish")
    assert await choose(asked, prompt(), NAMES) == "Finish"
    *_, answer, complaint = asked.prompts[1].turns
    assert (answer.role, answer.text) == (MessageRole.ASSISTANT, "Dance")
    assert complaint.role is MessageRole.USER
    assert "MemorySearch, Finish" in complaint.text


@pytest.mark.parametrize("answer", ["Dance", "", "MemorySearch or Finish"])
async def test_a_decision_that_is_bad_twice_is_a_bad_reply(answer: str) -> None:
    asked = model(answer)
    with pytest.raises(BadReply):
        await choose(asked, prompt(), NAMES)
    assert len(asked.prompts) == 2


@pytest.mark.parametrize(
    "answer",
    [
        '{"items": [{"id": "x", "kind": null}]}',
        '```json\n{"items": [{"id": "x", "kind": null}]}\n```',
        'Here it is: [{"id": "x", "kind": null}]',
    ],
)
async def test_a_shape_is_read_from_json_fenced_json_or_a_bare_list(answer: str) -> None:
    assert await complete_as(Outer, model(answer), prompt()) == Outer([Inner("x", None)])


async def test_a_bad_shape_is_asked_again_with_what_was_wrong() -> None:
    asked = model('{"items": [{"id": "x", "kind": "c"}]}', '{"items": []}')
    assert await complete_as(Outer, asked, prompt()) == Outer([])
    assert "items.0.kind" in asked.prompts[1].turns[-1].text


@pytest.mark.parametrize("answer", ["no json", '{"items": [', '{"items": 3}', "[1, 2"])
async def test_a_shape_that_is_bad_twice_is_a_bad_reply(answer: str) -> None:
    with pytest.raises(BadReply):
        await complete_as(Outer, model(answer), prompt())


def test_the_schema_is_strict_and_whole() -> None:
    schema = schema_of(Outer)
    assert schema == {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "kind": {"anyOf": [{"enum": ["a", "b"], "type": "string"}, {"type": "null"}]},
                    },
                    "required": ["id", "kind"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["items"],
        "additionalProperties": False,
    }


async def test_a_refusal_is_not_an_answer() -> None:
    with pytest.raises(ProviderRefused):
        await complete(model(Finish(Stop.REFUSED)), prompt())


async def test_a_failing_provider_comes_through_as_it_is() -> None:
    with pytest.raises(ProviderDown):
        await choose(model(ProviderDown("gone")), prompt(), NAMES)
