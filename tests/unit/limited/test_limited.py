from __future__ import annotations

import json
from dataclasses import replace

import pytest

from core.dialogue import Delta, Finish, Outcome, Prompt, PromptContext, PromptTurn, Step, Stop, Task
from core.limited import LimitedMind
from core.limited import sentences as say
from core.types import ChangeKind, Locale, MemoryItem, MemoryKind, Message, MessageRole
from tests.fakes.model import HashEmbedder
from tests.unit.limited.tiny_cycle import ALL, INFOS, NOW

CONTEXT = PromptContext(
    Task.DECIDE,
    Locale.PT,
    "qual é a senha?",
    NOW,
    (Message(MessageRole.USER, "qual é a senha?"),),
    choices=ALL,
    actions=INFOS,
)
ITEM = MemoryItem("m1", MemoryKind.TEXT, "a senha é 1", ("senha",), NOW, NOW)


@pytest.mark.spec("T14")
@pytest.mark.parametrize("task", Task)
async def test_every_task_is_answered_in_small_pieces_and_one_finish(mind: LimitedMind, task: Task) -> None:
    prompt = Prompt(
        "",
        (PromptTurn(MessageRole.USER, "?"),),
        replace(CONTEXT, task=task, steps=(Step("MemorySearch", Outcome.DONE),)),
    )
    async with mind.stream(prompt) as stream:
        events = [event async for event in stream]
    assert isinstance(events[-1], Finish)
    assert events[-1].stop is Stop.END
    pieces = [event.text for event in events if isinstance(event, Delta)]
    assert len(pieces) == len(events) - 1
    assert "".join(pieces) == await mind.answer(prompt.context)
    assert all(len(piece.split()) <= 4 for piece in pieces)


def test_its_name_says_what_it_is(mind: LimitedMind) -> None:
    assert mind.name == "limited:mind"


@pytest.mark.spec("T4")
async def test_a_decision_is_one_of_the_choices(mind: LimitedMind) -> None:
    assert json.loads(await mind.answer(CONTEXT)) == {"action": "MemorySearch"}
    assert json.loads(await mind.answer(replace(CONTEXT, choices=("Finish",)))) == {"action": "Finish"}


async def test_one_text_is_embedded_for_a_decision_at_most_and_none_where_cues_tell() -> None:
    embedder = HashEmbedder()
    mind = LimitedMind(embedder)
    await mind.answer(CONTEXT)
    assert embedder.calls == []
    vague = "um peixe azul nadou por ali. outro peixe também."
    await mind.answer(replace(CONTEXT, message=vague, history=(Message(MessageRole.USER, vague),)))
    assert embedder.calls[-1] == [vague]


async def test_the_same_brief_always_has_the_same_answer(mind: LimitedMind) -> None:
    assert await mind.answer(CONTEXT) == await mind.answer(CONTEXT)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (Step("MemorySearch", Outcome.DONE, ("senha",), (ITEM,)), "Procurei “senha” e achei 1 memória."),
        (Step("MemorySearch", Outcome.DONE, ("senha",), (ITEM, ITEM)), "Procurei “senha” e achei 2 memórias."),
        (Step("MemorySearch", Outcome.NOTHING, ("senha",)), "Procurei “senha” e não achei nada."),
        (Step("MemorySearch", Outcome.NOTHING), "Procurei … e não achei nada."),
        (Step("MemorySave", Outcome.DONE, items=(ITEM,), writes=ChangeKind.SAVED), "-"),
        (Step("MemoryUpdate", Outcome.NOTHING, writes=ChangeKind.UPDATED), "-"),
        (Step("RollADie", Outcome.DONE), say.ACK[Locale.PT]),
        (Step("MemorySave", Outcome.FAILED, items=(ITEM,)), say.FAILED[Locale.PT]),
        (Step("MemorySave", Outcome.REPEATED, items=(ITEM,)), say.FAILED[Locale.PT]),
    ],
)
async def test_a_report_claims_only_what_the_step_shows(mind: LimitedMind, step: Step, said: str) -> None:
    assert await mind.answer(replace(CONTEXT, task=Task.REPORT, steps=(step,))) == said


async def test_a_report_on_nothing_claims_nothing(mind: LimitedMind) -> None:
    assert await mind.answer(replace(CONTEXT, task=Task.REPORT, steps=())) == say.FAILED[Locale.PT]
