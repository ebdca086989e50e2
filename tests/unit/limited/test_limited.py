from __future__ import annotations

import json
from dataclasses import replace

import pytest

from core.dialogue import ActionInfo, Delta, Finish, Outcome, Prompt, PromptContext, PromptTurn, Step, Stop, Task
from core.enclosures import Attachment, AttachmentKind
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
@pytest.mark.parametrize("task", [task for task in Task if task is not Task.SINGLE])
async def test_every_task_of_a_step_is_answered_in_small_pieces_and_one_finish(mind: LimitedMind, task: Task) -> None:
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
    ("message", "step", "said"),
    [
        ("lembre que a senha é 1", Step("MemorySave", Outcome.DONE, items=(ITEM,), writes=ChangeKind.SAVED), "-"),
        ("lembre que a senha é 1", Step("MemorySave", Outcome.FAILED, writes=ChangeKind.SAVED), say.FAILED[Locale.PT]),
        ("lembre que a senha é 1", Step("MemorySave", Outcome.NOTHING), say.SAVED_NOTHING[Locale.PT]),
        ("qual é a senha?", Step("MemorySearch", Outcome.FAILED), say.FAILED[Locale.PT]),
    ],
)
async def test_the_end_claims_only_what_the_step_shows_and_not_again_what_was_told(
    mind: LimitedMind, message: str, step: Step, said: str
) -> None:
    asked = Message(MessageRole.USER, message)
    earlier = Message(MessageRole.ASSISTANT, "oi")
    context = replace(CONTEXT, task=Task.FINISH, message=message, history=(earlier, asked), steps=(step,))
    assert await mind.answer(context) == said


async def test_after_a_save_only_what_was_not_told_is_said(mind: LimitedMind) -> None:
    message = "lembre que a senha é 1"
    saved = Step("MemorySave", Outcome.DONE, items=(ITEM,), writes=ChangeKind.SAVED)
    context = replace(CONTEXT, task=Task.FINISH, message=message, steps=(saved,))
    first = replace(context, history=(Message(MessageRole.USER, message),))
    later = replace(context, history=(Message(MessageRole.ASSISTANT, "oi"), *first.history))
    photo = (Attachment(AttachmentKind.PHOTO),)
    assert await mind.answer(first) == say.INTRO[Locale.PT]
    assert await mind.answer(replace(later, attachments=photo)) == say.UNSEEN[Locale.PT]
    assert await mind.answer(replace(first, attachments=photo)) == f"{say.UNSEEN[Locale.PT]}\n\n{say.INTRO[Locale.PT]}"


async def test_an_action_of_its_own_that_told_its_result_is_told_no_more_of(mind: LimitedMind) -> None:
    message = "roll a die"
    asked, told = Message(MessageRole.USER, message), Message(MessageRole.ASSISTANT, "A four.")
    action = ActionInfo("RollADie", None, {Locale.EN: (message,)})
    rolled = (Step("RollADie", Outcome.DONE),)
    choices, actions = (*ALL, "RollADie"), (*INFOS, action)
    context = replace(CONTEXT, locale=Locale.EN, message=message, choices=choices, actions=actions)
    assert json.loads(await mind.answer(replace(context, history=(told, asked)))) == {"action": "RollADie"}
    context = replace(context, task=Task.FINISH, steps=rolled)
    assert await mind.answer(replace(context, history=(told, asked, told))) == "-"
    assert await mind.answer(replace(context, history=(told, asked))) == say.ACK[Locale.EN]
