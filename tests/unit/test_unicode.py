"""Cleaning text: what comes out is safe to store, to show and to embed."""

from __future__ import annotations

import sys
import unicodedata
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.unicode import clean, fold, one_line

ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=200)


@given(ANY_TEXT)
def test_clean_text_can_be_encoded_and_has_no_controls(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert not any(ord(c) < 32 and c not in "\t\n" for c in cleaned)
    assert clean(cleaned) == cleaned


@given(ANY_TEXT, st.integers(1, 50))
def test_the_cap_holds(text: str, max_chars: int) -> None:
    assert len(clean(text, max_chars)) <= max_chars
    assert len(one_line(text, max_chars)) <= max_chars
    assert "\n" not in one_line(text, max_chars)


def test_folding_makes_accents_and_case_equal() -> None:
    assert fold("  Não  ESQUEÇA ") == "nao esqueca"


@given(ANY_TEXT)
def test_folding_is_case_folding_without_combining_marks(text: str) -> None:
    decomposed = unicodedata.normalize("NFKD", clean(text).casefold())
    assert fold(text) == " ".join("".join(char for char in decomposed if not unicodedata.combining(char)).split())


@pytest.mark.parametrize("word", ["password ", "não esqueça "])
def test_folding_a_long_text_makes_no_more_calls_than_a_short_one(word: str) -> None:
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    fold(word)  # what its characters become is looked up once
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        fold(word)
        short = calls
        fold(word * 1000)
    finally:
        sys.setprofile(before)
    assert 0 < short == calls - short
