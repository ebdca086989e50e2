"""What is a plain statement of a fact, and may take the place of another: not talk, questions or events of a day."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.memory.relation import Relation, dropped, is_of_another, related, relation
from core.memory.statement import read, states_fact, tells_change
from core.types import MemoryDraft, MemoryItem, MemoryKind
from tests.fakes.clock import START

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


@pytest.mark.parametrize("text", FACTS)
def test_facts(text: str) -> None:
    assert is_fact(text)


@pytest.mark.parametrize("text", TALK)
def test_what_is_said_in_passing_states_no_fact(text: str) -> None:
    assert not is_fact(text)


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
    "text",
    [
        "o médico tirou o AAS da minha mãe",
        "ya le pagué a memo",
        "she paid me back",
        "new alarm code: 7720",
        "o carro tá aqui já",
    ],
)
def test_words_tell_that_something_is_otherwise_now(text: str) -> None:
    assert tells_change(text)


@pytest.mark.parametrize(
    "text",
    [
        "ojalá me cambien el turno a las 12",
        "wish they moved the exam",
        "is it moved now?",
        "thanks, got it now",
        "my bike is blue",
    ],
)
def test_wishes_questions_and_states_tell_no_change(text: str) -> None:
    assert not tells_change(text)
