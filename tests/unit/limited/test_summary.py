from __future__ import annotations

import pytest

from core.dialogue import PromptContext, Task
from core.limited.summary import MAX_LINES, summary
from core.types import Locale, Message, MessageRole, Modal
from tests.fakes.clock import START


def _summary(previous: str, *messages: Message) -> str:
    return summary(PromptContext(Task.SUMMARY, Locale.PT, previous, START, messages))


@pytest.mark.spec("J3")
def test_names_amounts_dates_and_decisions_are_kept_word_for_word() -> None:
    told = _summary(
        "- me chamo Edmar",
        Message(MessageRole.USER, "Oi! Paguei 350 reais pro Zeca em 12/03. Decidimos viajar com a Ana."),
        Message(MessageRole.ASSISTANT, "Guardei 999."),
        Message(MessageRole.USER, "tá chovendo aqui"),
        Message(MessageRole.USER, "quanto eu paguei em 12/03?"),
        Message(MessageRole.SYSTEM, {"id": "m1", "content": "x 42"}, Modal.MEMORY),
    )
    assert told.splitlines() == [
        "- me chamo Edmar",
        "- Paguei 350 reais pro Zeca em 12/03.",
        "- Decidimos viajar com a Ana.",
    ]


def test_what_an_earlier_summary_holds_stays_however_little_it_weighs() -> None:
    assert _summary("- azul", Message(MessageRole.USER, "devo 50 reais pro Zeca")).startswith("- azul\n")


def test_nothing_is_kept_twice() -> None:
    once = _summary("", Message(MessageRole.USER, "devo 50 reais pro Zeca"))
    assert once == "- devo 50 reais pro Zeca"
    assert _summary(once, Message(MessageRole.USER, "Devo 50 reais pro Zeca")) == "- Devo 50 reais pro Zeca"


def test_a_summary_does_not_grow_without_end_and_the_weightiest_stay() -> None:
    told = "- minha senha é 1234 5678 9012 em nome de Ana Souza"
    for number in range(100):
        told = _summary(told, Message(MessageRole.USER, f"hoje vi {number} gatos na rua"))
    assert len(told.splitlines()) == MAX_LINES
    assert "1234 5678 9012" in told
    assert "99 gatos" in told
