"""Marks by which a model cites memories never reach the screen, however its text is split."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.text.marks import Citations, not_cited

OFFERED = ("m1", "m2", "m3")
PIECES = [
    *("[m1]", " [m2]", "[m1, m3]", "[M2;m1]", "【m2】", "［m3］", "([m1] [m2])", "(m2)", "(m9)", "[m9]", "[^m1]"),
    *("m", "[", "]", "(", ")", "1", "12", ",", " ", "  ", "\n", "`", "```", "\t", ".", "x", "ção", "[music]", "\u00a0"),
]
texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=40)
plain = st.text(st.characters(exclude_characters="[【［("), max_size=60)


def filtered(text: str, cuts: list[int] | None = None) -> tuple[str, tuple[str, ...]]:
    citations = Citations(OFFERED)
    ends = [*sorted({min(cut, len(text)) for cut in cuts or ()}), len(text)]
    shown = "".join(citations.feed(text[start:end]) for start, end in zip([0, *ends], ends, strict=False))
    return shown + citations.finish(), citations.labels


@given(texts, st.lists(st.integers(0, 80), max_size=12))
@example("X ([m1] [m2]).", [3, 7, 8, 9])
@example("```\nx[m1]\n``` [m2]", [1, 2, 11, 12])
def test_any_split_shows_the_same_text_and_cites_the_same(text: str, cuts: list[int]) -> None:
    whole = filtered(text)
    assert filtered(text, cuts) == whole
    assert filtered(text, list(range(len(text)))) == whole


@given(plain)
def test_text_without_a_bracket_is_unchanged_and_only_its_last_signs_wait(text: str) -> None:
    citations = Citations(OFFERED)
    shown = ""
    for at, sign in enumerate(text, 1):
        shown += citations.feed(sign)
        assert text[:at].startswith(shown)
        assert len(shown) >= at - 4
    assert shown + citations.finish() == text
    assert citations.labels == ()


@given(st.lists(st.sampled_from(["m1", "M2", "m3", "m77"]), min_size=1, max_size=5), st.sampled_from([", ", "][", ";"]))
def test_every_label_is_cited_in_lower_case_in_order_once(labels: list[str], between: str) -> None:
    text, cited = filtered(f"The password is X [{between.join(labels)}].")
    assert text == "The password is X."
    assert cited == tuple(dict.fromkeys(label.lower() for label in labels))


@pytest.mark.parametrize(
    ("said", "shown", "cited"),
    [
        ("The password is X [m1].", "The password is X.", "m1"),
        ("X[m1], and Y [m2] [m3]!", "X, and Y!", "m1 m2 m3"),
        ("[m1] Hello\n[m2] there", "Hello\nthere", "m1 m2"),
        ("one [m1]\n\ntwo ([m2])", "one\n\ntwo", "m1 m2"),
        ("- a [m1]\n- b (M2)", "- a\n- b", "m1 m2"),
        ("nothing like it [m8]", "nothing like it", "m8"),
        ("according to [m1][m1]", "according to", "m1"),
        ("60 (m2) and 80 (m7)", "60 and 80 (m7)", "m2"),
        ("[music] [m] [m1234] m1 [1] [x](m)", "[music] [m] [m1234] m1 [1] [x](m)", ""),
        ("`row[m1]` [m2]", "`row[m1]`", "m2"),
        ("```py\nrow[m1]\n```\nso [m2]", "```py\nrow[m1]\n```\nso", "m2"),
        ("cut off [m1", "cut off [m1", ""),
    ],
)
def test_what_is_shown_of_what_models_write(said: str, shown: str, cited: str) -> None:
    assert filtered(said) == (shown, tuple(cited.split()))


def test_text_goes_on_at_once_where_no_mark_can_follow() -> None:
    citations = Citations(OFFERED)
    assert citations.feed("The [m") == "The"
    assert citations.feed("usic] plays") == " [music] plays"
    assert citations.feed(" [m1") == ""
    assert citations.feed("] on") == " on"
    assert citations.labels == ("m1",)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("um elefante [m", "um elefante"),
        ("um elefante [m1", "um elefante"),
        ("um elefante ([m1]", "um elefante"),
        ("um elefante [", "um elefante"),
        ("um `elefante`", "um `elefante`"),
        ("um elefante [m1].", "um elefante."),
    ],
)
def test_of_a_text_that_was_cut_no_begun_mark_is_shown(said: str, shown: str) -> None:
    citations = Citations(OFFERED)
    assert "".join(map(citations.feed, said)) + citations.finish(is_cut=True) == shown


@given(texts)
@example("chapter [m3], 60 (m2)")
def test_what_a_memory_holds_is_no_citation_and_is_shown_as_it_was_when_a_model_repeats_it(text: str) -> None:
    repeated, cited = filtered(not_cited(text))
    assert repeated == text.replace("\u2060", "")
    assert cited == ()
    assert filtered(not_cited(text), list(range(len(text) * 2))) == (repeated, cited)
