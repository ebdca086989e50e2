from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.limited.likeness import DIMS, worded


def test_case_and_accents_make_no_difference() -> None:
    assert np.array_equal(worded(["Não ESQUEÇA o pão"]), worded(["nao esqueca o pao"]))


def test_the_order_of_words_does() -> None:
    assert not np.array_equal(worded(["save the cat"]), worded(["the cat save"]))


def test_a_text_is_nearer_to_one_that_begins_alike() -> None:
    asked, alike, other = worded(["where is my hat", "where is my red car", "please keep a red hat for Bo"])
    assert asked @ alike / np.linalg.norm(alike) > asked @ other / np.linalg.norm(other)


@given(st.text(max_size=300))
def test_whatever_is_said_has_finite_features(text: str) -> None:
    rows = worded([text])
    assert rows.shape == (1, DIMS)
    assert np.isfinite(rows).all()
