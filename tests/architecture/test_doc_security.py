"""docs/security.md names tests that exist, every threat of both lists, and all that a model may ask for."""

from __future__ import annotations

import ast
import re

from tests.architecture.tree import ROOT
from tests.pages import actions, with_actions

PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
REPORTING = (ROOT / "SECURITY.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py::\w+)`", PAGE)))
ROWS = re.findall(r"^\| (?!threat|---)(.+?) \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)


def test_each_test_that_the_page_names_is_written() -> None:
    files = {name.partition("::")[0] for name in NAMED}
    written = {
        f"{file}::{node.name}"
        for file in files
        for node in ast.parse((ROOT / file).read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }
    assert set(NAMED) - written == set()


def test_every_threat_of_both_lists_and_of_ours_has_what_holds_it_and_a_test() -> None:
    threats = " ".join(threat for threat, _, _ in ROWS)
    listed = set(re.findall(r"\b(?:LLM|ASI)\d\d\b", threats))
    assert listed == {f"{kind}{number:02}" for kind in ("LLM", "ASI") for number in range(1, 11)}
    for ours in (
        "hostile member",
        "poisoned file",
        "malicious provider",
        "stolen disk",
        "careless owner",
        "model itself",
    ):
        assert ours in threats
    for threat, holds, tests in ROWS:
        assert holds.strip(), threat
        assert re.fullmatch(r"(?:`tests/[\w/]+\.py::\w+` ?)+", tests), threat


async def test_the_page_lists_all_that_a_model_may_ask_for() -> None:
    names = await actions()
    assert "MemoryDelete" in names
    assert all(f"`{name}`" in PAGE for name in names)
    assert with_actions(PAGE, names) == PAGE, "make fix renews it"


def test_whoever_found_a_hole_is_told_how_to_report_it_without_an_address_that_nobody_reads() -> None:
    assert "Report a vulnerability" in REPORTING
    assert not re.findall(r"\w@\w+\.\w+|https?://", REPORTING)
    assert "(docs/security.md)" in REPORTING
    assert "(../SECURITY.md)" in PAGE
    assert "docs/security.md" in (ROOT / "README.md").read_text("utf-8")
