"""Laws of the Telegram formatter: no word is lost and no entity is out of bounds, whatever is written."""

from __future__ import annotations

import re
from itertools import accumulate

from hypothesis import assume, given
from hypothesis import strategies as st

from adapters.telegram.markup import draw, render
from core.outgoing import OutgoingMessage
from core.text.markdown import without_tables
from tests.fakes.telegram_people import units

WORD = re.compile("w[a-j]{2}x")
FENCE_INFO = re.compile(r"(`{3,}|~{3,})[^\n]*\w")  # a fence's language is no text

words = st.integers(0, 99).map(lambda n: "w" + "".join("abcdefghij"[int(digit)] for digit in f"{n:02}") + "x")
MARKS = (
    r"* ** _ __ ` `` # > - + 1. 2) 2024. | || ~~ ~ $ $$ < > [ ] : ]: \ ! --- === 😀 & { } = ^ http:// @ / ://".split()
)
SPACES = ["\n", "\n\n", " ", "  \n", "    ", "\t", "```\n", "~~~\n", "---\n", "| --- | --- |\n", "\ufdd0"]
marks = st.sampled_from(MARKS + SPACES)
documents = st.lists(st.one_of(words, words, marks), max_size=25).map("".join)


@given(documents)
def test_every_word_of_the_source_is_seen_in_its_order(document: str) -> None:
    assume(not FENCE_INFO.search(document))
    # Of a table that is a block a row, the head's words are there again for each row (`tests/unit/test_markdown.py`).
    assert WORD.findall(render(document).text) == WORD.findall(without_tables(document))


@given(st.one_of(documents, st.text()))
def test_every_entity_begins_and_ends_between_characters_of_the_text(document: str) -> None:
    rendered = draw(OutgoingMessage(document), render(document))
    ends = {0, *accumulate(units(char) for char in rendered.text)}
    assert rendered.text
    for entity in rendered.entities:
        assert entity.length > 0
        assert {entity.offset, entity.offset + entity.length} <= ends


@given(documents, st.integers(0, 200))
def test_a_text_measures_the_same_however_it_came(document: str, cut: int) -> None:
    size = render(document).size
    render(document[:cut])  # a half-written text leaves no trace
    assert render(document).size == size
