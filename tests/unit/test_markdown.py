"""Words of people come through Markdown as they were said: a password with asterisks keeps them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telegramify_markdown import convert

from core.delivery.split import split
from core.text.markdown import TIME_LINK, outside_code, plain_times, verbatim


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
