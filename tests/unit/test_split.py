"""Where a text is cut, by example."""

from __future__ import annotations

import pytest

from core.delivery.split import Splitter, split
from core.text.markdown import Fence, Table, open_block


def shown(text: str, max_chars: int) -> list[str]:
    return [part.text for part in split(text, max_chars)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("um dois\n\ntrês quatro. cinco\nseis sete", ["um dois", "três quatro. cinco", "seis sete"]),
        ("um dois três\nquatro cinco. seis", ["um dois três", "quatro cinco. seis"]),
        ("um dois três. quatro cinco seis", ["um dois três.", "quatro cinco seis"]),
        ("um dois três quatro cinco", ["um dois três quatro", "cinco"]),
        ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaa", ["a" * 20, "a" * 9]),
        ("ele disse “não quero.” e saiu", ["ele disse “não", "quero.” e saiu"]),
        ("一二三四五六七八九十一。二三四五六七八九十", ["一二三四五六七八九十一。", "二三四五六七八九十"]),
    ],
)
def test_a_cut_comes_after_a_paragraph_else_a_line_a_sentence_a_word_a_character(text: str, parts: list[str]) -> None:
    assert shown(text, 20) == parts


def test_a_code_block_is_closed_and_opened_again_with_its_language() -> None:
    code = "```python\n" + "\n".join(f"x{n} = {n}" for n in range(8)) + "\n```\nfim"
    assert shown(code, 40) == [
        "```python\nx0 = 0\nx1 = 1\nx2 = 2\n```",
        "```python\nx3 = 3\nx4 = 4\nx5 = 5\n```",
        "```python\nx6 = 6\nx7 = 7\n```\nfim",
    ]


def test_a_block_that_begins_late_begins_in_the_next_part_whole() -> None:
    text = "Uma explicação do código.\n```py\na = 1\n\nb = 2\n```"
    assert shown(text, 40) == ["Uma explicação do código.", "```py\na = 1\n\nb = 2\n```"]


def test_the_indentation_of_code_is_kept_at_a_cut() -> None:
    text = "```\nif x:\n    yyyyyyyyyy\n    zzzzzzzzzz\n```"
    assert shown(text, 28) == ["```\nif x:\n    yyyyyyyyyy\n```", "```\n    zzzzzzzzzz\n```"]


def test_a_longer_or_other_marker_does_not_close_a_block() -> None:
    text = "````\n```\n~~~\n" + "linha\n" * 12 + "````\nfim"
    assert all(part.startswith("````\n") and part.count("````") == 2 for part in shown(text, 40)[:-1])


def test_inline_backticks_at_the_start_of_a_line_are_no_block() -> None:
    four = "palavra palavra palavra palavra"
    assert shown(f"```a``` b\n{four} {four}", 32) == ["```a``` b", four, four]


def test_a_language_that_is_none_is_not_repeated() -> None:
    text = "```" + "y" * 100 + "\n" + "linha\n" * 40 + "```"
    assert shown(text, 120)[1].startswith("```\nlinha")


def test_a_block_is_not_reopened_where_that_would_eat_the_part() -> None:
    assert shown("```python\naaaaaaaaaa\nbbbbbbbbbb\n```", 16)[1] == "aaaaaaaaaa"


def test_a_line_that_begins_after_a_cut_in_mid_line_is_no_fence() -> None:
    splitter = Splitter(20, len)
    splitter.feed("a" * 20 + "```\n")
    assert splitter.open.text == "```"
    assert [part.text for part in splitter.feed("um dois três quatro cinco")] == ["```", "um dois três quatro"]
    assert splitter.open.text == "cinco"


def test_a_measure_that_jumps_costs_no_more_than_one_that_grows_evenly() -> None:
    measured = 0

    def jumping(text: str) -> int:
        nonlocal measured
        measured += 1
        return len(text) if len(text) < 3000 else 10**9

    split("a" * 5000, 4096, jumping)
    assert measured < 60


@pytest.mark.parametrize(
    ("text", "end", "fence"),
    [
        ("```py\nx", 7, Fence("```", "py", 0)),
        ("```py\nx", 3, None),
        ("```py\nx\n```\n", 12, None),
        ("```\n```py\nx", 10, Fence("```", "", 0)),
        ("a\n~~~~ js title\n~~~\n", 20, Fence("~~~~", "js", 2)),
        ("    ```\nx", 9, None),
    ],
)
def test_which_block_is_open_at_a_place(text: str, end: int, fence: Fence | None) -> None:
    assert open_block(text, 0, end, None) == fence


HEAD = "| Nome | Valor |\n|------|-------|\n"


def rows(first: int, last: int) -> str:
    return "".join(f"| n{n:03} | v{n:03} |\n" for n in range(first, last))


def test_a_table_that_is_cut_goes_on_under_its_head() -> None:
    parts = shown(f"{HEAD}{rows(0, 12)}\nFim.", 120)
    assert parts == [
        (HEAD + rows(0, 5)).rstrip(),
        (HEAD + rows(5, 10)).rstrip(),
        f"{HEAD}{rows(10, 12)}\nFim.",
    ]


def test_a_table_that_begins_late_begins_in_the_next_part_whole() -> None:
    text = f"{'palavra ' * 9}\nTabela:\n{HEAD}{rows(0, 3)}"
    assert shown(text, 130) == [f"{'palavra ' * 9}\nTabela:", (HEAD + rows(0, 3)).rstrip()]


@pytest.mark.parametrize("step", [1, 2, 7, 40])
def test_a_table_that_comes_letter_by_letter_is_cut_as_one_that_is_whole(step: int) -> None:
    text = f"{'palavra ' * 9}\n{HEAD}{rows(0, 30)}\nFim.\n{HEAD}{rows(0, 9)}"
    splitter = Splitter(130, len)
    parts = [part for at in range(0, len(text), step) for part in splitter.feed(text[at : at + step])]
    texts = [part.text for part in (*parts, splitter.open)]
    assert "".join(part.source for part in (*parts, splitter.open)) == text
    assert [each for each in texts if "| n" in each and HEAD not in each] == []
    assert max(map(len, texts)) <= 130


@pytest.mark.parametrize(
    ("text", "end", "table"),
    [
        (HEAD + rows(0, 2), len(HEAD), Table(HEAD, 0)),
        (HEAD + rows(0, 2), len(HEAD) - 1, Table(HEAD, 0)),
        (HEAD + rows(0, 2), len(HEAD) + 4, Table(HEAD, 0)),
        (HEAD + rows(0, 2), HEAD.index("\n"), Table("", 0)),
        (HEAD[:19], HEAD.index("\n"), Table("", 0)),
        (HEAD + rows(0, 2), len(HEAD + rows(0, 2)), None),
        (HEAD + rows(0, 2) + "\nx | y", len(HEAD + rows(0, 2)), None),
        ("x | y\nz | w", 5, None),
        ("```\n" + HEAD + rows(0, 2), 4 + len(HEAD), Fence("```", "", 0)),
    ],
)
def test_which_table_goes_on_behind_a_place(text: str, end: int, table: Table | Fence | None) -> None:
    assert open_block(text, 0, end, None) == table


def test_headings_go_where_their_section_is_and_a_remark_in_code_is_none() -> None:
    text = f"{'palavra ' * 20}\n\n## Preço\n\n**Em reais**\n\n{'número ' * 20}"
    assert [part.text[:9] for part in split(text, 190)] == ["palavra p", "## Preço\n"]
    code = "```py\n" + "x = 1\n" * 12 + "# soma\n" + "x = 2\n" * 12 + "```"
    assert split(code, 90)[0].text.endswith("# soma\n```")
    listed = "\n".join(f"# {number}" for number in range(50))
    assert len(split(listed, 60)) < 6
