from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.limited.bindings import MAX_BINDING_CHARS, MAX_BINDINGS, bindings, queries


@pytest.mark.spec("T10")
@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("a senha do aliexpress é 123456", "senha do aliexpress"),
        ("a senha do aliexpress é 123456", "password"),
        ("meu aniversário é 3 de maio", "birthday"),
        ("me chamo Edmar", "name"),
        ("I live in Leeds", "endereço"),
        ("minha filha Júlia tem alergia a amendoim", "allergy"),
        ("o voo sai com a Marta", "Marta"),
    ],
)
def test_a_fact_is_bound_to_what_a_person_would_look_for(said: str, wanted: str) -> None:
    assert wanted in " ".join(bindings(said))


def test_the_first_binding_does_not_hold_the_value() -> None:
    assert "123456" not in bindings("a senha do aliexpress é 123456")[0]


@pytest.mark.spec("T9")
@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("qual é a senha do aliexpress?", "senha aliexpress"),
        ("¿dónde vivo?", "endereço"),
        ("when is my birthday?", "aniversário"),
        ("???", "???"),
        ("", "?"),
    ],
)
def test_a_question_is_searched_for_by_its_words_and_what_they_name(question: str, wanted: str) -> None:
    assert wanted in queries(question)
    assert len(queries(question)) <= 2


@given(st.text(max_size=700))
def test_whatever_is_said_has_bindings_and_queries(text: str) -> None:
    assert 0 < len(bindings(text)) <= MAX_BINDINGS
    assert all(phrase.strip() and len(phrase) <= MAX_BINDING_CHARS for phrase in bindings(text))
    assert all(query.strip() for query in queries(text))
