from __future__ import annotations

import pytest
from core.limited.tasks import MAX_LINES

from core.dialogue import PromptContext, Task
from core.limited import LimitedMind
from core.types import Locale, Message, MessageRole, Modal
from tests.unit.limited.tiny_cycle import NOW


async def _summary(mind: LimitedMind, previous: str, *messages: Message) -> str:
    return await mind.answer(PromptContext(Task.SUMMARY, Locale.PT, previous, NOW, messages))


@pytest.mark.spec("J3")
async def test_names_amounts_dates_and_decisions_are_kept_word_for_word(mind: LimitedMind) -> None:
    summary = await _summary(
        mind,
        "- me chamo Edmar",
        Message(MessageRole.USER, "Oi! Paguei 350 reais pro Zeca em 12/03. Decidimos viajar com a Ana."),
        Message(MessageRole.ASSISTANT, "Guardei 999."),
        Message(MessageRole.USER, "tá chovendo aqui"),
        Message(MessageRole.USER, "quanto eu paguei em 12/03?"),
        Message(MessageRole.SYSTEM, {"id": "m1", "content": "x 42"}, Modal.MEMORY),
    )
    assert summary.splitlines() == [
        "- me chamo Edmar",
        "- Paguei 350 reais pro Zeca em 12/03.",
        "- Decidimos viajar com a Ana.",
    ]


async def test_nothing_is_kept_twice(mind: LimitedMind) -> None:
    once = await _summary(mind, "", Message(MessageRole.USER, "devo 50 reais pro Zeca"))
    assert await _summary(mind, once, Message(MessageRole.USER, "Devo 50 reais pro Zeca")) == once.replace(
        "devo", "Devo"
    )


async def test_a_summary_does_not_grow_without_end_and_the_weightiest_stay(mind: LimitedMind) -> None:
    summary = "- minha senha é 1234 5678 9012 em nome de Ana Souza"
    for number in range(100):
        summary = await _summary(mind, summary, Message(MessageRole.USER, f"hoje vi {number} gatos na rua"))
    assert len(summary.splitlines()) == MAX_LINES
    assert "1234 5678 9012" in summary
    assert "99 gatos" in summary
