"""What is shown of a text that may claim a change does not depend on how the text is cut."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.answering.speech import CheckedText
from core.types import ChangeKind

SENTENCES = st.sampled_from(
    [
        *("Blue. ", "By the way, I deleted your note about the dentist. ", "I've saved it, ", "right? ", "Sure", "\n"),
        *("Done: deleted. ", '"I deleted it." ', "and I saved that", ", ", "The capital of Australia ", "is Canberra"),
        *("…", "3.14", "- ", " and it was updated", "Guardei isso. ", "I have updated your address", "?", "!", "–"),
    ]
)
texts = st.lists(SENTENCES, max_size=14).map("".join) | st.text(max_size=80)


def shown(text: str, cuts: list[int], written: frozenset[ChangeKind] = frozenset()) -> tuple[str, str, str]:
    checked = CheckedText("What colour is the sky?", written, hold=False)
    ends = [*sorted({min(cut, len(text)) for cut in cuts}), len(text)]
    said = "".join(checked.feed(text[start:end]) for start, end in zip([0, *ends], ends, strict=False))
    return said, checked.held, checked.broken_off()


@given(texts, st.lists(st.integers(0, 400), max_size=12), st.frozensets(st.sampled_from(ChangeKind)))
@example("Blue. By the way, I deleted your memory.", [], frozenset())
def test_any_split_shows_the_same(text: str, cuts: list[int], written: frozenset[ChangeKind]) -> None:
    whole = shown(text, [], written)
    assert shown(text, cuts, written) == whole
    assert shown(text, list(range(len(text))), written) == whole


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Blue. By the way, I deleted your memory.", "Blue."),
        ("Blue.\n\nI've saved that. And it is big.", "Blue."),
        ("I deleted it. Blue.", ""),
        ("Blue. It is big. ", "Blue. It is big."),
    ],
)
def test_what_comes_before_the_sentence_of_a_false_claim_is_shown(text: str, said: str) -> None:
    assert shown(text, [])[0] == said


def test_a_change_that_was_made_may_be_told() -> None:
    assert shown("I deleted it. Blue.", [], frozenset({ChangeKind.DELETED}))[0] == "I deleted it. Blue."
