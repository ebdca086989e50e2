"""Cleaning text: what comes out is safe to store, to show and to embed."""

from __future__ import annotations

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
