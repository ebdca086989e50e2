"""Text as rows of a terminal: nothing steers it, nothing is lost, no row is too wide."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcstwidth

from adapters.console.channel import Layout, ScreenRow, Style
from adapters.console.output import cut, memory_line, printable
from core.types import MemoryNote

WORDS = ("palavra ", "世界", "👨‍👩‍👧‍👦", "e\u0301", "x" * 30, "  ", "**", "`")
PIECES = (*WORDS, "\n", "\t", "```\n", "\x1b[31m", "\u202e", "\ud800")
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=40).map("".join)
SGR = re.compile("\x1b\\[(?:0|1|2|36)m")


def layout(text: str, columns: int, *, style: Style = Style.PLAIN, colour: bool = True) -> list[ScreenRow]:
    return Layout(columns, style=style, colour=colour).rows(text)


def columns_of(text: str) -> int:
    return wcstwidth(SGR.sub("", text))


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    shown = printable(text)
    assert not [char for char in shown if unicodedata.category(char) in {"Cc", "Cs"} and char != "\n"]
    assert printable(shown) == shown
    shown.encode()


@given(texts, st.integers(2, 90), st.booleans(), st.sampled_from(Style))
def test_no_row_is_wider_than_the_terminal(text: str, columns: int, colour: bool, style: Style) -> None:
    for row in layout(text, columns, style=style, colour=colour):
        assert columns_of(row.text) <= row.columns <= columns  # less where a row ends within a cluster
        assert "\n" not in row.text


@given(texts, st.integers(2, 90))
def test_without_colour_every_visible_character_is_there_in_order(text: str, columns: int) -> None:
    rows = layout(text, columns, colour=False)
    assert "".join("".join(row.text for row in rows).split()) == "".join(printable(text).split())
    assert not any("\x1b" in row.text for row in rows)


@given(texts, st.integers(2, 90))
def test_styling_takes_nothing_but_marks_away(text: str, columns: int) -> None:
    shown = "".join(SGR.sub("", row.text) for row in layout(text, columns))
    assert "".join(re.sub("[*`]", "", shown).split()) == "".join(re.sub("[*`]", "", printable(text)).split())


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("um dois três", ["um dois", "três"]),
        ("abcdefghijkl", ["abcdefgh", "ijkl"]),
        ("ab abcdefghijkl", ["ab", "abcdefgh", "ijkl"]),
        ("世界世界世界", ["世界世界", "世界"]),
        ("    indentada", ["    inde", "ntada"]),
        ("a\n\nb", ["a", "", "b"]),
        ("um doisd três", ["um doisd", "três"]),
        ("um doisd ", ["um doisd"]),
        ("", [""]),
    ],
)
def test_rows_break_between_words_where_they_can(text: str, rows: list[str]) -> None:
    assert [row.text for row in layout(text, 8)] == rows


@given(texts, st.integers(2, 40))
def test_a_text_that_grew_has_the_rows_of_the_whole(text: str, columns: int) -> None:
    page = Layout(columns)
    for end in range(len(text)):
        assert page.rows(text[:end])
    assert page.rows(text) == layout(text, columns)


def test_bold_and_code_are_drawn_and_what_only_looks_like_it_is_left_alone() -> None:
    bold, code, end = "\x1b[1m", "\x1b[36m", "\x1b[0m"
    rows = layout("**um** `dois` 2 ** 3 **\n```py\n**x**\n```", 80)
    assert [row.text for row in rows] == [
        f"{bold}um{end} {code}dois{end} 2 ** 3 **",
        f"\x1b[2m```py{end}",
        f"{code}**x**{end}",
        f"\x1b[2m```{end}",
    ]


def test_a_line_cut_to_a_width_says_so() -> None:
    assert cut("curta", 5) == "curta"
    assert cut("comprida demais", 9) == "comprida…"
    assert cut("世界世界", 6) == "世界…"


def test_a_memory_is_one_line_with_its_date_and_nothing_that_steers() -> None:
    item = MemoryNote("endereço\nda mãe", "rua A,\nnúmero 1\x1b[2J", "14 mar. 2026")
    assert memory_line(item) == "🧠 endereço da mãe: rua A, número 1[2J · 14 mar. 2026"
    assert memory_line(item, 38) == "🧠 endereço da mãe: ru… · 14 mar. 2026"
