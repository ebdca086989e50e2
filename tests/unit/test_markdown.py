"""Words of people come through Markdown as they were said: a password with asterisks keeps them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from telegramify_markdown import convert
from wcwidth import wcswidth

from adapters.discord import markup as discord_markup
from adapters.telegram.markup import render
from core.delivery.split import split
from core.outgoing import OutgoingMessage
from core.text.markdown import PHONE_COLUMNS, TIME_LINK, outside_code, plain_times, verbatim, without_tables


@pytest.mark.parametrize("text", ["abc 1", "a*b*c", "__init__", "x`y`z", "a``b`", "[1](2)", "<b>", "||s||", r"C:\new"])
def test_every_sign_is_shown(text: str) -> None:
    assert convert(verbatim(text))[0].strip() == text


@given(st.text(st.sampled_from("ab*_`~[]<>| "), min_size=1, max_size=12).map(str.strip).filter(bool))
def test_whatever_signs_there_are(text: str) -> None:
    assert convert(f"x {verbatim(text)} y")[0].strip() == f"x {text} y"


LINK = "[sexta, 27 de nov. de 2026, 8:00](time:1764316800)"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"até {LINK}.", "até sexta, 27 de nov. de 2026, 8:00."),
        (f"`{LINK}` ``a ` {LINK}``", f"`{LINK}` ``a ` {LINK}``"),
        (f"```\n{LINK}\n``` [x](time:1)", f"```\n{LINK}\n``` x"),
        (f"[x](time:1) ```\n{LINK}", f"x ```\n{LINK}"),
        ("[x](time:1) ` [y](time:2) `` [z](time:3)", "x ` y `` z"),
        ("[x](time:abc) [y](times:1) [a\nb](time:1)", "[x](time:abc) [y](times:1) [a\nb](time:1)"),
    ],
)
def test_a_time_reads_as_its_words_except_in_code(text: str, shown: str) -> None:
    assert plain_times(text) == shown


@given(st.text(st.sampled_from("ab` \n"), max_size=40))
def test_nothing_is_lost_between_code_and_prose(text: str) -> None:
    assert outside_code(text, lambda prose: prose) == text
    assert "`" in text or outside_code(text, str.upper) == text.upper()


@given(st.lists(st.sampled_from([LINK, "[x](time:1)", "palavra.", "\n", "uma frase. Outra."]), max_size=40))
def test_no_time_is_cut_in_two(pieces: list[str]) -> None:
    parts = split(" ".join(pieces), 80)
    assert "".join(part.source for part in parts) == " ".join(pieces)
    assert sum(len(TIME_LINK.findall(part.text)) for part in parts) == sum("](time:" in piece for piece in pieces)
    assert all(len(part.text) <= 80 for part in parts)


# Tables.

PRICES = """\
| Produto | Preço | Nota |
|:--|--:|:-:|
| **Caneta** | 1,50 | `a_b` |
| 咖啡 ☕ | 12,00 | |"""

ALIGNED = """\
```
Produto  Preço  Nota
-------  -----  ----
Caneta    1,50  a_b
咖啡 ☕  12,00
```"""

BLOCKS = """\
Produto: **Caneta**
Preço: 1,50
Nota: `a_b`

Produto: 咖啡 ☕
Preço: 12,00
Nota: –"""


def test_a_table_that_fits_is_aligned_by_what_each_character_takes_and_its_marks_are_not_seen() -> None:
    assert without_tables(PRICES) == ALIGNED


def test_a_table_that_is_wider_is_a_block_a_row_which_names_what_each_value_is() -> None:
    assert without_tables(PRICES, 19) == BLOCKS
    assert without_tables(PRICES, 20) == ALIGNED


def test_links_stay_touchable() -> None:
    assert without_tables("| a | b |\n|---|---|\n| [x](http://y.z) | 1 |") == "a: [x](http://y.z)\nb: 1"
    assert without_tables("| a |\n|---|\n| http://y.z |") == "a: http://y.z"


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("a | b\n--- | ---\n1 | 2", ["a  b", "-  -", "1  2"]),
        ("> | a | b |\n> |---|---|\n> | 1 | 2 |", ["a  b", "-  -", "1  2"]),
        ("  | a | b |\n  |---|---|\n  | 1 | 2 |", ["a  b", "-  -", "1  2"]),
        ("| a | b | c |\n|---|---|\n| 1 | 2 | 3 |", ["a  b  c", "-  -  -", "1  2  3"]),
        ("| a | b |\n|---|---|\n| 1 |", ["a  b", "-  -", "1"]),
        ("| a | b |\n|---|---|\n| 1 | `x|y` |", ["a  b", "-  ---", "1  x|y"]),
        ("| a | b |\n|---|---|\n| 1 | x\\|y |", ["a  b", "-  ---", "1  x|y"]),
        ("| | |\n|---|---|\n| 1 | 2 |", ["1  2"]),
        ("| a | b |\n|---|---|\n| x<br>y | **`*z*`** |", ["a    b", "---  ---", "x y  *z*"]),
        ("| a | b |\n|---|---|\n| ``` | 2*3*4 |", ["a    b", "---  -----", "´´´  2*3*4"]),
        ("| a | b |\n|---|---|", ["a  b", "-  -"]),
    ],
)
def test_every_form_of_a_table_that_models_write_is_read(table: str, rows: list[str]) -> None:
    assert without_tables(table).split("\n") == ["```", *rows, "```"]


@pytest.mark.parametrize(
    "text",
    ["a | b", "| a |", "x || y\n---\nz", "```\n| a | b |\n|---|---|\n```", "~~~\na | b\n--|--\n", "a\n---\n1 | 2"],
)
def test_what_is_no_table_stays_as_it_is(text: str) -> None:
    assert without_tables(text) == text


def test_text_around_a_table_stands_apart_from_it() -> None:
    drawn = without_tables(f"Preços:\n{PRICES}\nÉ isso.\n\n{PRICES}\n\nFim")
    assert drawn == f"Preços:\n\n{ALIGNED}\n\nÉ isso.\n\n{ALIGNED}\n\nFim"


def test_a_table_that_grows_never_shows_a_bar() -> None:
    text = f"Preços:\n{PRICES}\n\nÉ isso."
    for length in range(len(text)):
        for columns in (19, PHONE_COLUMNS):
            assert "|" not in without_tables(text[:length], columns, grows=True)


words = st.text(alphabet="abcé咖☕*_`|\\ ", max_size=12)


@example([["```", "\\\\\\\\\\\\", "\\"]], 5)
@given(st.lists(st.lists(words, min_size=1, max_size=4), min_size=1, max_size=4), st.integers(5, 60))
def test_no_letter_of_a_table_is_lost_and_no_aligned_line_is_wider_than_there_is_room(
    rows: list[list[str]], columns: int
) -> None:
    count = len(rows[0])
    table = "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], ["---"] * count, *rows[1:]])
    drawn = without_tables(table, columns)
    for letter in "abcé咖☕":
        assert drawn.count(letter) >= table.count(letter)
    if drawn.startswith("```"):
        assert all(wcswidth(line) <= columns for line in drawn.split("\n")[1:-1])


def test_telegram_shows_it_as_code_or_as_lines() -> None:
    drawn = render(PRICES)
    assert (drawn.text, [entity.type for entity in drawn.entities]) == (ALIGNED.removeprefix("```\n")[:-4], ["pre"])
    wide = render(PRICES.replace("1,50", "um real e cinquenta centavos"))
    assert wide.text.startswith("Produto: Caneta\nPreço: um real e cinquenta centavos\nNota: a_b\n\nProduto:")


def test_discord_shows_it_as_code_or_as_lines_and_measures_what_it_shows() -> None:
    assert discord_markup.draw(OutgoingMessage(PRICES)).content == ALIGNED
    wide = PRICES.replace("1,50", "x" * 40)
    assert "|" not in discord_markup.draw(OutgoingMessage(wide)).content
    assert discord_markup.measure(wide) == len(discord_markup.draw(OutgoingMessage(wide)).content)
    assert discord_markup.draw(OutgoingMessage("Veja:\n| a", final=False)).content == "Veja:"
