"""Thinking aloud never reaches the person, however it is cut into pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.providers.chat_completions import ThoughtFilter


def filtered(pieces: list[str]) -> str:
    thoughts = ThoughtFilter()
    return "".join([*map(thoughts.feed, pieces), thoughts.finish()])


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("", ""),
        ("oi", "oi"),
        ("\n\n oi <think>", "oi <think>"),
        ("<think>hm</think>oi", "oi"),
        ("\n<think>\nhm <b> </thin\n</think>\n\noi\n", "oi\n"),
        ("<thinking>hm</thinking> <think>more</think>oi", "oi"),
        ("<think>never ends", ""),
        ("<think></think>", ""),
        ("<thin", "<thin"),
        ("<table>", "<table>"),
        ("oi <think>x</think>", "oi <think>x</think>"),
    ],
)
def test_a_block_at_the_start_is_thought_and_anything_else_is_said(written: str, said: str) -> None:
    assert filtered([written]) == said


@given(
    thought=st.text("abc<>/think \n", max_size=20).filter(lambda text: "</think>" not in text),
    said=st.text("abc<>/think \n", max_size=20),
    data=st.data(),
)
def test_how_a_text_is_cut_changes_nothing(thought: str, said: str, data: st.DataObject) -> None:
    for text in (f"<think>{thought}</think>{said}", said):
        cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
        pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        assert filtered(pieces) == filtered([text])
        assert filtered(pieces) in text


@given(st.text())
def test_a_text_without_thought_loses_only_blanks_at_its_start(text: str) -> None:
    if not text.lstrip().startswith("<think"):
        assert filtered([text]) == text.lstrip()
