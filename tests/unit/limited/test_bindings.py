"""What memories and questions are found by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.senses import MAX_BINDING_CHARS, MAX_BINDINGS, bindings, queries
from core.text.words import folded_words


@pytest.mark.spec("T10")
@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("a senha do aliexpress é 123456", "senha do aliexpress"),
        ("a senha do aliexpress é 123456", "senha password contraseña"),
        ("meu aniversário é 3 de maio", "aniversário birthday cumpleaños"),
        ("me chamo Edmar", "nome name nombre"),
        ("vou viajar dia 12", "viagem trip viaje"),
        ("I live in Leeds", "endereço address dirección"),
        ("a Júlia tem 9 anos, mora com a Bete", "Bete"),
        ("o voo é dia 9, com a Marta Rios", "Marta Rios"),
        ("placa QRT4F21", "placa"),
        ("lista da farmácia\nfralda G\nband-aid", "lista da farmácia"),
    ],
)
def test_a_memory_is_bound_to_what_a_person_would_look_for(said: str, wanted: str) -> None:
    assert wanted in bindings(said)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("tomo losartana 50 de manhã", "medicine"),
        ("emprestei a furadeira pro Ivo", "debt"),
        ("dormimos no Hotel Sol, localizador KX7PQ2", "code"),
    ],
)
def test_a_memory_is_bound_to_what_its_words_are_about(said: str, wanted: str) -> None:
    assert wanted in " ".join(bindings(said)).split()


def test_the_first_binding_does_not_hold_the_value() -> None:
    assert "123456" not in bindings("a senha do aliexpress é 123456")[0]


@pytest.mark.spec("T9")
@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("quando eu viajo?", ["quando eu viajo?", "viagem"]),
        ("what's my locker combination?", ["what's my locker combination?", "armário código"]),
        ("¿cuál es la clave del portón?", ["¿cuál es la clave del portón?", "senha porta"]),
        ("???", ["???"]),
        ("", ["?"]),
    ],
)
def test_a_question_is_looked_for_as_it_is_and_by_its_concepts(question: str, found: list[str]) -> None:
    assert queries(question) == found


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("vou viajar dia 12", "quando é minha viagem?"),
        ("my name's Rob", "what am I called?"),
        ("tomo losartana 50 de manhã", "quais remédios eu tomo"),
        ("moro na rua das Acácias", "what's my address?"),
        ("gate code 4471", "¿cuál es el código de la puerta?"),
        ("trabalho na padaria", "where's my job?"),
    ],
)
def test_other_wordings_meet_in_a_word(said: str, question: str) -> None:
    asked = {word for query in queries(question)[1:] for word in folded_words(query)}
    assert asked & set(folded_words(" ".join(bindings(said))))


@given(st.text(max_size=200))
def test_whatever_is_said_is_bound_to_few_short_phrases(text: str) -> None:
    found = bindings(text)
    assert 0 < len(found) <= MAX_BINDINGS
    assert all(phrase.strip() and len(phrase) <= MAX_BINDING_CHARS for phrase in found)
    assert all(query.strip() for query in queries(text))
