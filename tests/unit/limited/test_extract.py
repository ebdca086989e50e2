from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.limited.cues import Cues
from core.limited.extract import MAX_BINDING_CHARS, MAX_BINDINGS, bindings, clause, content, drafts, queries, sentences
from core.text.unicode import fold
from core.types import MemoryKind


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Oi! Tudo bem? Sim.", ["Oi!", "Tudo bem?", "Sim."]),
        ("consulta com a dra. Lúcia às 14h. Anota.", ["consulta com a dra. Lúcia às 14h.", "Anota."]),
        ("pão; leite\novos", ["pão", "leite", "ovos"]),
        ("custa 3.50 na loja", ["custa 3.50 na loja"]),
        ("  muito   espaço  ", ["muito espaço"]),
        ("", []),
    ],
)
def test_a_message_is_cut_into_sentences(text: str, pieces: list[str]) -> None:
    assert sentences(text) == pieces


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Lembre que a senha do aliexpress é 123456", "a senha do aliexpress é 123456"),
        ("por favor, não se esqueça de que o exame é às 7h.", "o exame é às 7h"),
        ("anota aí: o código é 4433", "o código é 4433"),
        ("o pin do cartão é 9087, não esqueça", "o pin do cartão é 9087"),
        ("can you remember that the alarm code is 4471?", "the alarm code is 4471"),
        ("don't let me forget the recital is on Dec 14", "the recital is on Dec 14"),
        ("we parked on level 3, remember that please", "we parked on level 3"),
        ("recuerda que mi clave es 5566", "mi clave es 5566"),
        ("guarda essa senha do roteador ai: girafa99", "senha do roteador: girafa99"),
        ("lembra disso", ""),
        ("save that", ""),
        ("meu aniversário é 3 de maio", "meu aniversário é 3 de maio"),
    ],
)
def test_what_is_kept_is_what_was_said_without_the_words_of_saving(cues: Cues, sentence: str, said: str) -> None:
    assert content(cues, sentence) == said


@pytest.mark.spec("T10")
@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("me chamo Roberto e moro em Olinda", ["me chamo Roberto", "moro em Olinda"]),
        ("my shoe size is 43 and my shirt size is L", ["my shoe size is 43", "my shirt size is L"]),
        ("Anota: pagar IPVA até 20/01. Anota também: renovar a CNH.", ["pagar IPVA até 20/01", "renovar a CNH"]),
        ("minha mãe e meu pai moram em Natal", ["minha mãe e meu pai moram em Natal"]),
        ("eu gosto de pão e queijo", ["eu gosto de pão e queijo"]),
        ("anota:\nwifi: gato1\nportão: 4433", ["wifi: gato1", "portão: 4433"]),
        ("lembre que o gato é preto. lembre que o gato é preto", ["o gato é preto"]),
    ],
)
def test_facts_are_parted_only_where_each_stands_alone(cues: Cues, message: str, facts: list[str]) -> None:
    assert [draft.content for draft in drafts(cues, sentences(message))] == facts


@pytest.mark.spec("T10")
@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("a senha do aliexpress é 123456", "senha do aliexpress"),
        ("a senha do aliexpress é 123456", "password aliexpress"),
        ("meu aniversário é 3 de maio", "birthday"),
        ("me chamo Edmar", "nome"),
        ("call me Max", "nome name nombre"),
        ("I live in Leeds", "address"),
        ("minha filha Júlia tem alergia a amendoim", "alergia allergy"),
        ("o voo sai com a Marta", "Marta"),
        ("placa QRT4F21", "placa"),
    ],
)
def test_a_fact_is_bound_to_what_a_person_would_look_for(said: str, wanted: str) -> None:
    assert wanted in bindings(said)


def test_the_first_binding_does_not_hold_the_value() -> None:
    assert "123456" not in bindings("a senha do aliexpress é 123456")[0]


def test_json_is_kept_as_json(cues: Cues) -> None:
    (draft,) = drafts(cues, sentences('guarda meus documentos: {"cpf": "111", "rg": 9}'))
    assert draft.kind is MemoryKind.JSON
    assert json.loads(draft.content) == {"cpf": "111", "rg": 9}
    assert "documentos" in draft.bindings
    assert "documentos cpf" in draft.bindings


@pytest.mark.parametrize("text", ["guarda {isso}", "lembre que [1, 2", "anota: {}", "salva o emoji [:"])
def test_what_only_looks_like_json_is_text(cues: Cues, text: str) -> None:
    assert all(draft.kind is MemoryKind.TEXT for draft in drafts(cues, [text]))


def test_a_json_list_alone_has_a_binding(cues: Cues) -> None:
    (draft,) = drafts(cues, ["[1, 2, 3]"])
    assert draft.bindings == ("json",)


@pytest.mark.spec("T9")
@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("qual é a senha do aliexpress?", "senha do aliexpress"),
        ("what's my locker combination?", "locker combination"),
        ("¿cuál es la clave del portón?", "clave del portón"),
        ("onde eu moro?", "endereço address dirección"),
        ("qual a idade da Júlia?", "aniversário birthday nascimento"),
        ("???", "???"),
    ],
)
def test_a_question_is_looked_for_as_a_short_phrase(question: str, query: str) -> None:
    assert query in queries(question)
    assert len(queries(question)) <= 3


def test_a_statement_is_cut_at_its_verb() -> None:
    parts = clause("a senha do wifi é banana")
    assert (parts.subject, parts.head, parts.value) == ("a senha do wifi", "a senha do wifi é ", "banana")
    assert clause("moro em Natal").subject == ""
    assert clause("é").value == "é"


@given(st.text(max_size=200))
def test_whatever_is_said_drafts_have_content_and_bindings(text: str) -> None:
    cues = _cues()
    for draft in drafts(cues, sentences(text)):
        assert draft.content.strip()
        assert 0 < len(draft.bindings) <= MAX_BINDINGS
        assert all(phrase.strip() and len(phrase) <= MAX_BINDING_CHARS for phrase in draft.bindings)
    assert all(queries(text)) or not text.strip()


@given(st.text(alphabet="abç é.0", min_size=1, max_size=40))
def test_nothing_is_added_to_what_was_said(text: str) -> None:
    for draft in drafts(_cues(), sentences(f"lembre que {text}")):
        assert fold(draft.content) in fold(" ".join(text.split()))


_LOADED: list[Cues] = []


def _cues() -> Cues:
    if not _LOADED:
        _LOADED.append(Cues.load())
    return _LOADED[0]
