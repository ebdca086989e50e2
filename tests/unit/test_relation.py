"""What a new statement is to a known one: traps one by one, then pairs in three languages with their real cosines."""

from __future__ import annotations

import json
from collections import Counter
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.memory.relation import Relation, dropped, is_of_another, related, relation
from core.memory.statement import read, states_fact, tells_change
from core.providers.usem3 import Usem3Embedder
from core.types import MemoryDraft, MemoryItem, MemoryKind
from tests.fakes.clock import START

DATA = Path("tests/data")
SAME, REPLACES, NEW = Relation.SAME, Relation.REPLACES, Relation.NEW


@pytest.mark.parametrize(
    ("known", "said", "expected"),
    [
        ("Moro em Lisboa", "moro em lisboa.", SAME),
        ("The gate code is 4410", "gate code: 4410", SAME),
        ("tenho dois gatos", "I have 2 cats", SAME),
        ("Meu tel é 11 98765-4321", "meu telefone: (11) 987654321", SAME),
        ("dentist Thursday at 3pm", "Thursday 15:00 dentist", SAME),
        ("Minha mãe faz aniversário em 3 de maio", "niver da mamãe: 03/05", SAME),
        ("não gosto de coentro", "detesto coentro", SAME),
        ("o nome da minha mãe é Dalva", "minha mãe se chama Dalva", SAME),
        ("I have 2 cats", "I have 3 cats", REPLACES),
        ("I like meat", "I do not like meat", REPLACES),
        ("a senha do wifi é gato123", "troquei a senha do wifi, agora é cachorro456", REPLACES),
        ("A reunião é na segunda às 9h", "a reunião passou pra terça às 10h", REPLACES),
        ("mi jefe es Ramiro", "mi jefa nueva es Sonia", REPLACES),
        ("o Caio é solteiro", "o Caio casou", REPLACES),
        ("I smoke", "I quit smoking", REPLACES),
        ("acordo às 6h", "acordo às 18h", REPLACES),
        ("dentista às 8 da noite", "dentista 20h", SAME),
        ("nasci em 12/05/1990", "nasci em 12/05/1991", REPLACES),
        ("dentista às 8 da manhã", "dentista às 8 da noite", NEW),
        ("my shirt size is M", "my shirt size is S", NEW),
        ("sangue O-", "sangue O+", NEW),
        ("o carro dele é azul", "meu carro é azul", NEW),
        ("prova dia 5 às 9", "prova dia 9 às 5", NEW),
        ("bolo: 3 ovos, 4 bananas, 3 copos", "bolo: 3 ovos, 4 bananas, 4 copos", REPLACES),
        ("I have a cat named Tom", "I have a cat named Nino", NEW),
        ("comprar leite", "comprar pão", NEW),
        ("mi perra come dos veces por día", "mi perra sale dos veces por día", NEW),
        ("gastei o dinheiro da viagem na loja", "guardei o dinheiro da viagem na loja", NEW),
        ("my left knee hurts when it rains", "my right knee hurts when it rains", NEW),
        ("lista: leite, pão, café", "lista: leite, pão", NEW),
        ("Ana owes Bob 50", "Bob owes Ana 50", NEW),
        ("ana deve 50 pro beto", "beto deve 50 pra ana", NEW),
        ("viajo de lisboa para o porto", "viajo do porto para lisboa", NEW),
        ("Tom is Ann's father", "Ann is Tom's father", NEW),
        ("não gosto de chá mas gosto de café", "gosto de chá mas não gosto de café", NEW),
        ("minha senha do banco é 4433", "minha senha do wifi é 9988", NEW),
        ("my wifi password at home is a1", "my wifi password at work is b2", NEW),
        ("trabalho na padaria Aurora", "minha irmã trabalha na padaria Aurora", NEW),
        ("comprar leite", "comprei leite", NEW),
        ("sou vegetariano", "sou vegano", REPLACES),
        ("gastei 200 no mercado", "gastei 340 no mercado", NEW),
        ("minha irmã Júlia mora em Natal", "minha irmã Paula se mudou pra Belém", NEW),
        ("I have a cat", "I also have a dog now", NEW),
    ],
)
def test_what_is_told_apart_whatever_the_cosine(known: str, said: str, expected: Relation) -> None:
    found, needed = relation(read(known), read(said))
    assert found is expected
    assert needed < 0.3


def test_what_is_long_is_the_same_only_to_the_letter() -> None:
    text = "; ".join(f"step {number}: stir" for number in range(40))
    assert relation(read(text), read(text.upper()))[0] is SAME
    assert relation(read(text), read(text.replace("stir", "bake")))[0] is NEW


@pytest.fixture(scope="module")
def embedder() -> Usem3Embedder:
    return Usem3Embedder()


async def test_pairs_in_three_languages(embedder: Usem3Embedder) -> None:
    pairs = json.loads((DATA / "changes_tune.json").read_text("utf-8"))
    first, then = [await embedder.embed([pair[key] for pair in pairs]) for key in ("first", "then")]
    found: Counter[tuple[str, Relation]] = Counter()
    for pair, cosine in zip(pairs, np.sum(first * then, axis=1), strict=True):
        told, needed = relation(read(pair["first"]), read(pair["then"]))
        found[pair["relation"], told if cosine >= needed else NEW] += 1
    counts = Counter(pair["relation"] for pair in pairs)
    assert found["both", SAME] == found["replaces", SAME] == 0, "words would be lost"
    assert found["both", REPLACES] <= 0.01 * counts["both"]
    assert found["same", NEW] <= 0.19 * counts["same"], "kept twice"
    assert found["replaces", NEW] <= 0.12 * counts["replaces"]


@pytest.mark.long
def test_no_two_memories_of_one_life_are_taken_for_one() -> None:
    lives = json.loads((DATA / "recall_tune.json").read_text("utf-8"))["lives"]
    for life in lives[:2]:
        statements = [read(memory["text"]) for memory in life["memories"]]
        near = [relation(*pair) for pair in permutations(statements, 2)]
        assert not [needed for found, needed in near if found is SAME]
        assert sum(found is REPLACES for found, _ in near) <= 0.002 * len(near)


# Plain statements of a fact.

PAIRS = json.loads(Path("tests/data/changes_tune.json").read_text("utf-8"))
CHANGES = [pair[key] for pair in PAIRS if pair["relation"] == "replaces" for key in ("first", "then")]
FACTS = [
    "The gate code is 9031",
    "a senha do wifi agora é gato123",
    "mi hermana vive en Mendoza",
    "my sister moved to York last week",
    "meu dentista é o dr. Caio",
    "gate code: 9031",
    "ya no como carne",
    "we're getting married on June 5",
    "hoje moro em Belém",
    "dentista quinta às 15h",
]
TALK = [
    "Wow! How did the game go?",
    "How did the game go",
    "Hey John, long time no see",
    "Thanks, Nate!",
    "Thanks for the tip about the gate code",
    "That's an awesome gate code",
    "Congrats on the new job",
    "You moved to York",
    "I'll keep going for my dreams",
    "Keep it up!",
    "I spent 340 at the market yesterday",
    "My phone is old. My car is blue.",
    "oi, tudo bem?",
    "obrigado pela senha do wifi",
    "qual é a senha do wifi",
    "você mora em Belém",
    "que legal a sua casa",
    "prometo que mudo a senha",
    "paguei 30 no almoço ontem",
    "gracias por la clave",
    "¿dónde vive mi hermana?",
    "hola, buenos días",
    "gasté 200 en la feria",
    "usted vive en Rosario",
    "John: Been a while huh? I made a huge call and left my job",
    "",
    "...",
]


def is_fact(text: str) -> bool:
    return states_fact(text, read(text))


@pytest.mark.parametrize(("text", "is_so"), [*((text, True) for text in FACTS), *((text, False) for text in TALK)])
def test_a_plain_statement_is_a_fact_and_what_is_said_in_passing_is_none(text: str, is_so: bool) -> None:
    assert is_fact(text) is is_so


def test_who_says_it_does_not_count() -> None:
    assert is_fact("John: I live in Boston with my wife")
    assert not is_fact("John: thanks for the nice evening")


def test_changes_as_people_tell_them_are_facts() -> None:
    missed = [text for text in CHANGES if not is_fact(text)]
    assert len(missed) <= 0.01 * len(CHANGES), missed


@given(
    st.sampled_from(CHANGES), st.sampled_from(["?", "? Thanks", ". And my car is blue.", "\nminha tia mora em Natal"])
)
def test_a_question_and_a_second_sentence_end_it(fact: str, more: str) -> None:
    assert not is_fact(fact + more)


@given(
    st.sampled_from(["Thanks, ", "Hey, ", "Oi, ", "Obrigado, ", "Hola, ", "Gracias, ", "Wow, "]),
    st.sampled_from(CHANGES),
)
def test_courtesy_before_it_ends_it(courtesy: str, fact: str) -> None:
    assert not is_fact(courtesy + fact)


@given(st.text())
@example("Ａ𐎠 𝓗")
def test_any_text_is_read(text: str) -> None:
    assert not is_fact(f"{text}?")
    assert not is_fact(text) or any(letter.isalnum() for letter in text)


_DEBTS = [
    ("I owe {name} {sum} dollars", "{name} owes me {sum} dollars"),
    ("devo {sum} reais pra {name}", "{name} me deve {sum} reais"),
    ("le debo {sum} pesos a {name}", "{name} me debe {sum} pesos"),
    ("I lent {name} {sum} dollars", "{name} lent me {sum} dollars"),
    ("emprestei {sum} pra {name}", "{name} me emprestou {sum}"),
    ("le presté {sum} a {name}", "{name} me prestó {sum}"),
    ("I borrowed {sum} dollars from {name}", "{name} borrowed {sum} dollars from me"),
    ("I paid {name} {sum}", "{name} paid me {sum}"),
]


@given(
    st.sampled_from(_DEBTS),
    st.sampled_from(["Anna", "Caio", "Lucía"]),
    st.integers(2, 9000),
    st.integers(2, 9000),
    st.booleans(),
)
def test_a_debt_never_takes_the_place_of_its_contrary(
    debt: tuple[str, str], name: str, owed: int, due: int, turned: bool
) -> None:
    mine, theirs = debt[0].format(name=name, sum=owed), debt[1].format(name=name, sum=due)
    old, new = (theirs, mine) if turned else (mine, theirs)
    assert relation(read(old), read(new))[0] is Relation.NEW


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("I take metformin 500 twice a day and lisinopril", "I no longer take lisinopril"),
        ("I take metformin, lisinopril and aspirin", "I no longer take aspirin"),
        ("tomo losartana e metformina", "não tomo mais losartana"),
        ("tomo losartán y metformina", "ya no tomo losartán"),
        ("I live in Leeds and work at Tesco", "I live in York now"),
    ],
)
async def test_what_tells_of_other_things_too_is_not_replaced(known: str, said: str) -> None:
    async def cosine(_: str) -> float:
        return 1.0

    item = MemoryItem("1", MemoryKind.TEXT, known, (known,), START, START)
    found = await related(MemoryDraft(MemoryKind.TEXT, said, (said,)), [item], cosine)
    assert found.relation in {Relation.NEW, Relation.DOUBTS}


@pytest.mark.parametrize(
    ("known", "text", "said", "other"),
    [
        ("minha senha do banco é 99", "minha senha do banco é 1212", "minha senha do wifi agora é 1212", True),
        ("o chefe da Ana é Rui", "o chefe da Ana é Leo", "o chefe da Bia agora é Leo", True),
        ("locker 57, code 1", "locker 57, code 5520", "they changed the locker code, it's 5520 now", False),
        (
            "a reunião com a Paula é quinta",
            "a reunião com a Paula é sexta",
            "a reunião com a Paula passou pra sexta",
            False,
        ),
        ("my sister Nora works at Shell", "my sister Nora works at Esso", "she left Shell for Esso", False),
    ],
)
def test_another_things_value_does_not_take_the_place_of_this_ones(
    known: str, text: str, said: str, other: bool
) -> None:
    assert is_of_another(text, said, known) is other


def test_what_names_nobody_does_not_take_the_place_of_what_somebody_is_named_in() -> None:
    known = "o Pedro tem alergia a amendoim"
    assert dropped(known, "na verdade é alergia a camarão") == (known,)
    assert dropped(known, "o Pedro tem alergia a camarão") == ()
    known = "my mother takes metformin 500 and lisinopril"
    assert dropped(known, "my mother no longer takes lisinopril") == ("my mother takes metformin 500",)
    assert dropped("Rui takes metformin 500 and lisinopril", "Rui no longer takes lisinopril") != ()


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("o médico tirou o AAS da minha mãe", True),
        ("ya le pagué a memo", True),
        ("she paid me back", True),
        ("new alarm code: 7720", True),
        ("o carro tá aqui já", True),
        ("ojalá me cambien el turno a las 12", False),
        ("wish they moved the exam", False),
        ("is it moved now?", False),
        ("thanks, got it now", False),
        ("my bike is blue", False),
    ],
)
def test_words_tell_that_something_is_otherwise_now_and_wishes_questions_and_states_do_not(
    text: str, tells: bool
) -> None:
    assert tells_change(text) is tells
