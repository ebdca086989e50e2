from __future__ import annotations

import pytest

from core.memory.search import Asked, Held, common_words, same, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Qual é a senha do AliExpress?", ["senha", "aliexpress"]),
        ("What's my dog's name?", ["dog", "name"]),
        ("¿Cuál es la contraseña del WiFi?", ["contrasena", "wifi"]),
        ("vaga 7, vaga 7", ["vaga", "7"]),
        ("quem sou eu?", []),
        ("HP-305", ["hp", "305"]),
        ("", []),
        ("🎂", []),
    ],
)
def test_what_is_left_of_a_question_is_what_it_asks_about(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(("one", "other"), [("senha", "senhas"), ("allergic", "allergy"), ("trabalho", "trabalhar")])
def test_endings_do_not_make_another_word(one: str, other: str) -> None:
    assert same(one, one)
    assert same(one, other)
    assert same(other, one)
    assert one in Held(other)
    assert other in Held(one)


@pytest.mark.parametrize(("one", "other"), [("casa", "caso"), ("1234", "1235"), ("pai", "pais"), ("mar", "marcus")])
def test_a_beginning_in_common_is_not_enough(one: str, other: str) -> None:
    assert not same(one, other)
    assert one not in Held(other)


def test_coverage_is_the_share_of_the_asked_words_that_are_held() -> None:
    asked = Asked("Qual é a senha do aliexpress?", common_words([]))
    assert asked.coverage(Held("senha do aliexpress")) == 1
    assert asked.coverage(Held("senha da netflix")) == 0.5
    assert asked.coverage(Held("Aliexpress:\n123456")) == 0.5
    assert asked.coverage(Held("")) == 0


def test_a_word_that_anybody_may_say_counts_half() -> None:
    asked = Asked("nome do periquito", common_words(["Qual é o nome do professor?"]))
    assert asked.coverage(Held("nome do gato")) == pytest.approx(1 / 3)
    assert asked.coverage(Held("periquito")) == pytest.approx(2 / 3)


def test_a_question_without_words_covers_nothing() -> None:
    assert Asked("quem sou eu?", frozenset()).coverage(Held("quem sou eu?")) == 0
