"""What a new statement is to a known one: traps one by one, then pairs in three languages with their real cosines."""

from __future__ import annotations

import json
from collections import Counter
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from core.memory.relation import Relation, relation
from core.memory.statement import read
from core.providers.usem3 import Usem3Embedder

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
