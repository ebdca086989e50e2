"""Buttons are laid out the same way every time, hold what they send, and a press of anything else is told from them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.telegram.markup import Pressed, keyboard, pressed, stop_keyboard
from core.outgoing import MAX_COMMAND_BYTES, Button, OutgoingMessage

_LABELS = st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=40), max_size=30)


def rows(shown: OutgoingMessage) -> list[list[str]]:
    markup = keyboard(shown)
    return [[button.text for button in row] for row in markup.inline_keyboard] if markup else []


def choices(*labels: str) -> tuple[Button, ...]:
    return tuple(Button(label, f"/c {number}") for number, label in enumerate(labels))


def test_without_choices_there_are_no_buttons() -> None:
    assert keyboard(OutgoingMessage("oi")) is None


@pytest.mark.parametrize(
    ("count", "lengths"), [(1, [1]), (5, [5]), (6, [3, 3]), (7, [4, 3]), (10, [5, 5]), (11, [4, 4, 3])]
)
def test_a_menu_is_numbers_in_even_rows(count: int, lengths: list[int]) -> None:
    menu = tuple(Button(f"{n}. senha. do wi-fi {n}", f"/recall {n}") for n in range(1, count + 1))
    laid = rows(OutgoingMessage("qual?", menu=menu))
    assert [len(row) for row in laid] == lengths
    assert [label for row in laid for label in row] == [str(n) for n in range(1, count + 1)]


@pytest.mark.parametrize(
    ("labels", "laid"),
    [
        (("Sim", "Não"), [["Sim", "Não"]]),
        (("↩ Desfazer", "📌 Fixar", "🗑 Apagar"), [["↩ Desfazer", "📌 Fixar", "🗑 Apagar"]]),
        (("Deixar entrar como convidado", "Negar"), [["Deixar entrar como convidado"], ["Negar"]]),
        (("Deixar entrar", "Recusar", "Bloquear"), [["Deixar entrar", "Recusar"], ["Bloquear"]]),
        (("a", "b", "c", "d", "e"), [["a", "b", "c"], ["d", "e"]]),
    ],
)
def test_choices_stand_side_by_side_as_long_as_they_can_be_read(labels: tuple[str, ...], laid: list[list[str]]) -> None:
    assert rows(OutgoingMessage("qual?", choices=choices(*labels))) == laid


def test_a_word_that_changes_moves_no_button() -> None:
    before = rows(
        OutgoingMessage("?", choices=choices("Origem", "Editar", "Apagar", "Fixar", "Compartilhar", "Voltar"))
    )
    after = rows(
        OutgoingMessage("?", choices=choices("Origem", "Editar", "Apagar", "Desafixar", "Compartilhar", "Voltar"))
    )
    assert [len(row) for row in before] == [len(row) for row in after] == [3, 3]


def test_the_menu_stands_above_the_choices() -> None:
    shown = OutgoingMessage("qual?", menu=(Button("1. um", "/a"), Button("2. dois", "/b")), choices=choices("Mais"))
    assert rows(shown) == [["1", "2"], ["Mais"]]


@given(_LABELS)
def test_every_choice_has_its_button_in_order_and_no_row_is_wider_than_a_telephone(labels: list[str]) -> None:
    laid = rows(OutgoingMessage("qual?", choices=choices(*labels)))
    assert [label for row in laid for label in row] == labels
    assert all(len(row) == 1 or max(map(len, row)) * len(row) <= 36 for row in laid)


@given(st.text(max_size=59).map(lambda rest: f"/{rest}"), st.booleans())
def test_a_press_sends_what_its_button_holds(command: str, in_place: bool) -> None:
    markup = keyboard(OutgoingMessage("?", choices=(Button("x", command, in_place=in_place),)))
    assert markup is not None
    assert pressed(str(markup.inline_keyboard[0][0].callback_data)) == Pressed(command, in_place)


def test_the_longest_command_fits_into_a_button() -> None:
    markup = keyboard(OutgoingMessage("?", choices=(Button("x", "/" + "é" * 29 + "x", in_place=True),)))
    assert markup is not None
    data = str(markup.inline_keyboard[0][0].callback_data).encode()
    assert MAX_COMMAND_BYTES < len(data) <= 64


def test_a_stop_button_names_whose_answer_it_stops() -> None:
    [[button]] = stop_keyboard("⏹", "12345678901234567890").inline_keyboard
    assert pressed(str(button.callback_data)) == Pressed("/stop", stops="12345678901234567890")


@pytest.mark.parametrize("data", ["!forget", "+", "x", "oi", "/forget all", "!"])
def test_what_no_button_of_ours_holds_is_passed_on_as_it_is(data: str) -> None:
    assert pressed(data) == Pressed(data)


def test_a_press_without_data_means_nothing() -> None:
    assert pressed("") is None
