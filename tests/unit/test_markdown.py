"""Words of people come through Markdown as they were said: a password with asterisks keeps them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telegramify_markdown import convert

from core.text.markdown import verbatim


@pytest.mark.parametrize("text", ["abc 1", "a*b*c", "__init__", "x`y`z", "a``b`", "[1](2)", "<b>", "||s||", r"C:\new"])
def test_every_sign_is_shown(text: str) -> None:
    assert convert(verbatim(text))[0].strip() == text


@given(st.text(st.sampled_from("ab*_`~[]<>| "), min_size=1, max_size=12).map(str.strip).filter(bool))
def test_whatever_signs_there_are(text: str) -> None:
    assert convert(f"x {verbatim(text)} y")[0].strip() == f"x {text} y"
