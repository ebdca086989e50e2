"""The laws of cutting a text into messages, for texts and measures of every sort."""

from __future__ import annotations

import html
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.delivery.split import Part, Splitter, split
from core.text.markdown import open_fence

Measure = Callable[[str], int]


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def escaped(text: str) -> int:
    """Formatting that makes text longer, as HTML does."""
    return len(html.escape(text))


def unmarked(text: str) -> int:
    """Formatting that makes text shorter, as taking Markdown's marks away does."""
    return len(text.replace("**", ""))


MEASURES = {"code points": len, "UTF-16 units": utf16, "escaped": escaped, "unmarked": unmarked}

FLAG, FAMILY, ACCENTED, HANGUL = "🇧🇷", "👨‍👩‍👧‍👦", "e\u0301", "\u1112\u1161\u11ab"
PIECES = (
    "palavra",
    "Uma frase inteira. ",
    " ",
    "\n",
    "\n\n",
    "\t",
    "```python\n",
    "```\n",
    "~~~~ js title\n",
    "~~~~\n",
    "# Um título\n",
    "**Outro**\n",
    "`",
    "**",
    "<&>",
    "\r\n",
    "\u2028",
    "x" * 61,
    "— sim! ",
    "文字。",
    "\ud800",
    FLAG,
    FAMILY,
    ACCENTED,
    HANGUL,
    "👍🏽",
    "\u0301",
)
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=60).map("".join)
limits = st.integers(40, 200)
measures = st.sampled_from(sorted(MEASURES)).map(MEASURES.__getitem__)


def fed(text: str, sizes: list[int], max_chars: int, measure: Measure) -> list[Part]:
    splitter = Splitter(max_chars, measure)
    parts, start = [], 0
    for size in sizes:
        parts += splitter.feed(text[start : start + size])
        start += size
    parts += splitter.feed(text[start:])
    return [*parts, splitter.open]


@given(texts, limits, measures, st.lists(st.integers(0, 90)))
def test_a_growing_text_loses_nothing_and_never_passes_the_limit(
    text: str, max_chars: int, measure: Measure, sizes: list[int]
) -> None:
    parts = fed(text, sizes, max_chars, measure)
    assert "".join(part.source for part in parts) == text
    assert all(measure(part.text) <= max_chars for part in parts)


@given(texts, limits, measures)
def test_every_visible_character_is_shown_in_order(text: str, max_chars: int, measure: Measure) -> None:
    for part in split(text, max_chars, measure):
        assert part.source.strip() in part.text
        assert part.text == part.text.rstrip()
        assert bool(part.text) == bool(part.source.strip())


@given(texts, limits, measures)
def test_a_part_that_is_not_the_last_leaves_no_code_block_open(text: str, max_chars: int, measure: Measure) -> None:
    for part in split(text, max_chars, measure)[:-1]:
        assert not _cut_in_a_line(part) or open_fence(part.text, 0, len(part.text), None) is None


def _cut_in_a_line(part: Part) -> bool:
    """Whether the part ends with a whole line, so that what looks like a fence in it is one."""
    return part.source.endswith("\n")


@given(texts, limits, measures)
def test_a_heading_stays_with_its_section(text: str, max_chars: int, measure: Measure) -> None:
    fence = None
    for part in split(text, max_chars, measure)[:-1]:
        *lines, last = part.source.rstrip().split("\n")
        body = "\n".join(lines).rstrip()
        before, fence = open_fence(body, 0, len(body), fence), open_fence(part.source, 0, len(part.source), fence)
        if before is None and body.strip() and last in {"# Um título", "**Outro**"}:
            assert len(body) < len(part.source) * 3 / 4, "only where the part has little else"


@given(texts, limits, st.lists(st.integers(0, 90)))
def test_a_text_without_code_is_cut_while_it_grows_where_it_is_cut_when_whole(
    text: str, max_chars: int, sizes: list[int]
) -> None:
    text = text.replace("`", "").replace("~", "")
    grown = [part.text for part in fed(text, sizes, max_chars, len)]
    assert [shown for shown in grown if shown] == [part.text for part in split(text, max_chars) if part.text]


@given(st.lists(st.sampled_from([FLAG, FAMILY, ACCENTED, HANGUL, "👍🏽", "a"]), max_size=80), st.integers(8, 40))
def test_no_character_that_a_person_sees_is_torn(clusters: list[str], max_chars: int) -> None:
    bounds, at = {0}, 0
    for cluster in clusters:
        at += len(cluster)
        bounds.add(at)
    at = 0
    for part in split("".join(clusters), max_chars):
        at += len(part.source)
        assert at in bounds


@given(st.text(), st.integers(1, 12), measures)
def test_even_an_absurd_limit_ends(text: str, max_chars: int, measure: Measure) -> None:
    parts = split(text, max_chars, measure)
    assert "".join(part.source for part in parts) == text
    assert all(part.source for part in parts)


CODE = "```py\n" + "x = 1\n" * 200_000 + "```\n"
LARGE = {
    "one word": "a" * 1_000_000,
    "words": "abc " * 250_000,
    "lines": "uma linha de texto\n" * 52_000,
    "sentences": "Uma frase. " * 90_000,
    "blank": " " * 1_000_000,
    "line ends": "\n" * 1_000_000,
    "code": CODE,
    "fences": "```\na\n```\n" * 100_000,
    "long fence lines": ("```" + "y" * 4000 + "\nz\n```\n") * 250,
    "marks": "\u0301" * 1_000_000,
    "dots": "." * 1_000_000,
    "table": "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 100_000,
    "emoji": "👨‍👩‍👧‍👦" * 140_000,
}


@pytest.mark.long
@pytest.mark.parametrize("name", LARGE)
def test_a_megabyte_takes_time_linear_in_its_length(name: str) -> None:
    measured = 0

    def measure(text: str) -> int:
        nonlocal measured
        measured += len(text) + 1
        return len(text)

    text = LARGE[name]
    parts = split(text, 4096, measure)
    assert "".join(part.source for part in parts) == text
    assert all(len(part.text) <= 4096 for part in parts)
    assert measured < 16 * len(text)
