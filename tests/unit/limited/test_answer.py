from __future__ import annotations

import pytest
from core.limited.understanding import picked

from core.text.replies import means_no, means_yes


@pytest.mark.parametrize(
    "reply", ["sim", "Sim!", "s", "pode", "claro, pode apagar", "yes please", "yep", "sí", "ok", "go ahead"]
)
def test_yes(reply: str) -> None:
    assert means_yes(reply)
    assert not means_no(reply)


@pytest.mark.parametrize(
    "reply", ["não", "Não!", "n", "no thanks", "nope", "deixa", "cancela", "nenhuma", "never mind", "não, espera"]
)
def test_no(reply: str) -> None:
    assert means_no(reply)
    assert not means_yes(reply)


@pytest.mark.parametrize("reply", ["qual a senha do wifi?", "notebook novo", "simone", "novembro", "pode chover"])
def test_neither(reply: str) -> None:
    assert not means_yes(reply)
    assert not means_no(reply)


OPTIONS = ("“o wifi de casa é a”", "“o wifi da praia é b”", "“o gato é preto”")


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ("1", (0,)),
        ("o 2", (1,)),
        ("a terceira", (2,)),
        ("the second one", (1,)),
        ("1 e 3", (0, 2)),
        ("1, 2", (0, 1)),
        ("todas", (0, 1, 2)),
        ("all of them", (0, 1, 2)),
        ("la primera", (0,)),
        ("a da praia", (1,)),
        ("o do gato", (2,)),
        ("o wifi", ()),
        ("7", ()),
        ("nada disso", ()),
        ("qual é o gato?", ()),
        ("uma longa frase que fala do gato preto e de mais nada", ()),
    ],
)
def test_an_option_is_picked_by_number_or_by_its_own_words(reply: str, chosen: tuple[int, ...]) -> None:
    assert picked(reply, OPTIONS, by_words=True) == chosen


def test_words_pick_nothing_where_only_a_number_may() -> None:
    assert picked("o do gato", OPTIONS, by_words=False) == ()
