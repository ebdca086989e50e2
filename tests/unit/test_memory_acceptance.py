"""How likely a memory answers: the weights that ship, and what they make of scores."""

from __future__ import annotations

import io
from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.acceptance import digest, direction, examples
from core.memory.embedding import Embedding
from core.memory.search import MAX_PARTS, WEIGHTS, Acceptance, leads, parts
from core.providers.usem3 import Usem3Embedder
from core.text.pointing import asks_past
from core.types import NEAR, SURE

SHIPPED = Acceptance.shipped()
shares = st.floats(0, 1, width=32)


def _numbers(*values: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.array(values, np.float32)


async def test_the_shipped_weights_are_those_of_the_data_and_of_the_embedded_embedder() -> None:
    """After a change of the data, the embedder or the ranking: `python -m bench.acceptance`."""
    embedder = Usem3Embedder()
    with np.load(io.BytesIO(resources.files("core.memory").joinpath(WEIGHTS).read_bytes())) as stored:
        assert str(stored["digest"]) == digest(embedder.space)
    assert SHIPPED.space == embedder.space
    embedding = Embedding(embedder)
    texts, labels = examples()
    vectors, normalizer = await embedding.vectors(texts), await embedding.normalizer()
    assert normalizer is not None
    rows = normalizer.project(np.stack([vectors[text] for text in texts]))
    assert direction(rows, labels) == pytest.approx(SHIPPED.own, abs=1e-3)
    told = np.array([SHIPPED.owned(row) for row in rows])
    assert np.mean((told > 0) == (labels > 0)) > 0.97


@pytest.mark.parametrize(
    ("text", "is_own"),
    [
        ("que número calça a minha filha?", True),
        ("where did I leave my bicycle?", True),
        ("¿cuándo tengo cita con la dentista?", True),
        ("qual é a capital da Bulgária?", False),
        ("write a haiku about winter", False),
        ("¡muchísimas gracias!", False),
    ],
)
async def test_a_question_of_ones_own_life_is_told_from_others(text: str, is_own: bool) -> None:
    embedding = Embedding(Usem3Embedder())
    vectors, normalizer = await embedding.vectors([text]), await embedding.normalizer()
    assert normalizer is not None
    assert (SHIPPED.owned(normalizer.project(vectors[text][np.newaxis])[0]) > 0) is is_own


_ROUNDING = 1e-6  # two shares whose chances differ by less are equally likely


@given(st.lists(shares, min_size=1, max_size=9))
def test_who_fits_better_is_likelier(scores: list[float]) -> None:
    for likeness in (None, np.zeros(len(scores), np.float32)):
        blank, vector = np.zeros(len(scores), np.float32), np.zeros(len(SHIPPED.own) - 1, np.float32)
        chances = SHIPPED.chances(np.array(scores, np.float32), blank, likeness, vector=vector, space=SHIPPED.space)
        ranked = chances[np.argsort(-np.array(scores, np.float32), kind="stable")]
        assert (np.diff(ranked) <= _ROUNDING).all()
        assert ((chances > 0) & (chances < 1)).all()


def test_what_stands_alone_is_surer_than_one_of_many_alike() -> None:
    assert leads(_numbers(1.5, 0.3, 0.2))[0] > leads(_numbers(1.5, 1.4, 1.3))[0]
    assert leads(_numbers(2.2, 2.2, 2.2, 2.2)).min() >= 1 - 1e-6, "many that fit wholly answer alike"
    assert leads(_numbers(0.5))[0] == pytest.approx(0.3)


def test_what_is_near_need_not_be_sure() -> None:
    assert 0 < NEAR < SURE < 1


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Qual é a senha do Wi-Fi de casa?", ["senha wi", "wi fi", "fi casa"]),
        ("¿dónde vivo?", ["vivo"]),
        ("My daughter's shoe size", ["daughter shoe", "shoe size"]),
        ("quem sou eu?", []),
        ("", []),
    ],
)
def test_the_parts_of_a_query_are_neighbours_that_carry_meaning(query: str, expected: list[str]) -> None:
    assert parts(query) == expected


def test_a_long_query_has_few_parts() -> None:
    assert len(parts(" ".join(f"palavra{n}" for n in range(99)))) == MAX_PARTS


@pytest.mark.parametrize(
    ("text", "is_past"),
    [
        ("onde eu morava antes?", True),
        ("qual era meu telefone antigo?", True),
        ("o que eu costumava tomar de manhã?", True),
        ("where did I live before?", True),
        ("what was my old address?", True),
        ("what did I use to drink? I used to like tea", True),
        ("¿dónde vivía?", True),
        ("¿cuál era mi número anterior?", True),
        ("onde eu moro?", False),
        ("preciso sair antes das 9, qual é o endereço?", False),
        ("quantos anos tem meu filho mais velho?", False),
        ("how old am I?", False),
        ("what do I have to pack before 9?", False),
        ("¿qué tomo antes de las comidas?", False),
    ],
)
def test_a_question_for_what_was_true_before(text: str, is_past: bool) -> None:
    assert asks_past(text) is is_past
