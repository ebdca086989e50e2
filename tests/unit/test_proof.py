"""The proof: its page says what was seen and nothing else, and what is not as it should be shows."""

from __future__ import annotations

import asyncio
import platform
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bench.chat import OnTelegram
from bench.proof import main as proof_main
from bench.proof.faults import (
    CUT,
    DOWN,
    FALLBACK,
    MARKED,
    MODEL,
    NOWHERE,
    ONCE,
    PLATFORMS,
    PROVIDERS,
    SAFE,
    Room,
    is_expected,
)
from bench.proof.main import main
from bench.proof.page import Bars, Part, Proof, Proven, Table, html, markdown
from bench.proof.runs import RUNS, How, Run
from core.answering.outcomes import FAILURES
from core.errors import ProviderDown, StreamCut
from core.types import Locale
from tests.fakes.clock import FakeClock
from tests.fakes.telegram_people import BOT_ID, Person, Post
from tests.fakes.telegram_server import TelegramServer

GOOD = Proven(
    "2 of 2 <b>.",
    [Table(("what", "seen"), [("a | b", "✓ once"), ("<script>", "✗ nowhere")], "Cells")],
    [Bars("Time, ms", "ms", {"Elefante": 2.0, "another": 4.0})],
    wrong=["<script>: nowhere"],
    figures={"idle_days": "7", "idle_calls": "0"},
    not_run=["no PostgreSQL here: get it"],
)


def proof(*, is_quick: bool = False) -> Proof:
    return Proof([("date", "2026-11-28"), ("commit", "abc")], [Part("idle", "Idle", "Count.", GOOD, 61.0)], is_quick)


def test_both_pages_say_all_that_came_of_a_part() -> None:
    for page in (markdown(proof(), "proof.html"), html(proof())):
        for said in ("2026-11-28", "abc", "Idle", "Count.", "1:01", "Cells", "✓ once", "✗ nowhere", "get it"):
            assert said in page
        assert "Not as it should be" in page
        assert "quick run" not in page
    assert "quick run" in markdown(proof(is_quick=True), "proof.html")
    assert "quick run" in html(proof(is_quick=True))


def test_the_plots_need_nothing_else_and_what_was_said_is_no_markup() -> None:
    page = html(proof())
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)  # type: ignore[method-assign]  # noqa: ARG005
    parser.feed(page)
    assert {"svg", "rect", "table"} <= set(tags)
    assert not {"script", "link", "img", "b"} & set(tags)
    assert "&lt;script&gt;" in page
    assert '<td class="bad">✗ nowhere' in page
    widths = [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', page)]
    assert widths[1] == 2 * widths[0]


def test_a_table_of_markdown_has_as_many_cells_in_each_row() -> None:
    rows = [line for line in markdown(proof(), "proof.html").splitlines() if line.startswith("| a ")]
    assert rows == ["| a / b | ✓ once |"]


def test_readme_has_a_row_for_each_part_that_was_run_and_no_other() -> None:
    assert proof().readme().rows == [
        ("**idle**: 7 days on which nobody writes", "0 calls of the model", "", "`make proof ARGS=idle`")
    ]
    assert Proof([], []).readme().rows == []


# --- cells of the table of faults ---


def room(*texts: str, fault: str = "none") -> Room:
    """A room in which these messages of the bot's stand."""
    server = TelegramServer(FakeClock())
    ana = Person(1000, "Ana", "en")
    for number, text in enumerate(texts, 1):
        server.chat(-5001).posts[number] = Post(number, BOT_ID, text, [])
    place = OnTelegram("Telegram, group", server, ana, -5001)
    return Room(1, fault, place, OnTelegram("Telegram, private", server, ana, ana.id), met=1)


AWAY = FAILURES[ProviderDown][Locale.EN]
CUT_OFF = FAILURES[StreamCut][Locale.EN]


@pytest.mark.parametrize(
    ("texts", "seen"),
    [
        ([], ("", NOWHERE)),
        (["It is purple."], (MODEL, ONCE)),
        (["It is orange."], (FALLBACK, ONCE)),
        ([AWAY], (DOWN, ONCE)),
        (["Nothing was saved."], (SAFE, ONCE)),
        (["It is purple, as you told me", CUT_OFF], (CUT, ONCE)),
        (["It is purple.", "↻ It is purple."], (MODEL, "again with a mark")),
        (["It is purple.", "It is purple."], (MODEL, "2 times, no mark")),
        (["It is purple.", "…"], (MODEL, "beside '…'")),
        (["Nothing was saved. <tool_call>"], (SAFE, "beside 'Nothing was saved. <tool_call>'")),
        (["Who are you?"], ("something else", "beside 'Who are you?'")),
    ],
)
def test_a_cell_says_what_stands_in_the_room(texts: list[str], seen: tuple[str, str]) -> None:
    assert room(*texts).seen() == seen


def test_a_cell_whose_fault_was_not_met_is_no_proof() -> None:
    unmet = room("It is purple.", fault="send: 429")
    unmet.met = 0
    assert not is_expected("send: 429", MODEL, unmet.seen())


def test_only_what_was_stated_before_is_as_expected() -> None:
    assert is_expected("none", MODEL, (MODEL, ONCE))
    assert not is_expected("none", MODEL, (FALLBACK, ONCE))
    assert not is_expected("none", MODEL, (MODEL, "again with a mark"))
    assert not is_expected("forbidden", MODEL, (MODEL, ONCE))
    [lost] = [fault for fault, where in PLATFORMS.items() if where == MARKED]
    assert is_expected(lost, MODEL, (MODEL, "again with a mark"))
    assert not is_expected(lost, MODEL, (MODEL, "2 times, no mark"))


# --- the run ---


def counting(monkeypatch: pytest.MonkeyPatch, proven: Proven) -> list[How]:
    """Let there be one part, which returns that; return how it is run."""
    seen: list[How] = []

    async def prove(how: How) -> Proven:
        """Count."""
        seen.append(how)
        return proven

    monkeypatch.setattr(proof_main, "RUNS", {"idle": Run("Idle", prove)})
    return seen


def test_a_run_that_was_broken_off_goes_on_and_writes_both_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = counting(monkeypatch, Proven("As it should be."))
    for _ in range(2):
        assert main(["--quick", "--to", str(tmp_path), "--keep", str(tmp_path / "kept")]) == 0
    assert len(seen) == 1
    assert seen[0].quick
    for name in ("proof.md", "proof.html"):
        text = (tmp_path / name).read_text("utf-8")
        assert "As it should be." in text
        assert str(tmp_path) not in text
        assert platform.node() not in text


def test_what_is_not_as_it_should_be_ends_with_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counting(monkeypatch, Proven("Not so.", wrong=["lost"]))
    assert main(["idle"]) == 1
    assert "- lost" in capsys.readouterr().out


def test_a_part_that_fails_is_told_and_the_others_are_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fails(_: How) -> Proven:
        """Fail."""
        raise AssertionError("nobody answered")

    async def proves(_: How) -> Proven:
        """Prove."""
        return Proven("As it should be.")

    monkeypatch.setattr(proof_main, "RUNS", {"kills": Run("Kills", fails), "idle": Run("Idle", proves)})
    assert main(["--quick"]) == 1
    page = capsys.readouterr().out
    assert "it ended with AssertionError" in page
    assert "As it should be." in page


@pytest.mark.long
@pytest.mark.parametrize("name", ["kept", "isolation", "hostile", "rooms", "idle", "faults", "sealing"])
def test_a_tenth_of_a_part_is_as_it_should_be(name: str) -> None:
    proven = asyncio.run(RUNS[name].prove(How(quick=True)))
    assert list(proven.wrong) == []
    assert proven.tables
    assert proven.figures


def test_each_fault_of_a_provider_has_a_stated_outcome_without_and_with_a_fallback() -> None:
    assert len({fault.name for fault in PROVIDERS}) == len(PROVIDERS) == 9
    assert all(fault.alone and fault.helped for fault in PROVIDERS)
