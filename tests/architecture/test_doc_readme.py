"""What README and the pages say exists: commands, targets, links, settings."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from bench.proof.runs import RUNS
from bot.settings.settings import Settings
from tests.demo.picture import PICTURE
from tests.pages import EXAMPLE, PROOF, with_example, with_proof, with_tables, with_verbs

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_the_first_screen_has_a_sentence_a_picture_three_reasons_and_what_to_type() -> None:
    first_screen = README.splitlines()[:25]
    assert first_screen[0] == "# 🐘 Elefante"
    assert first_screen[2].startswith("A chat bot that never forgets")
    [picture] = re.findall(r'<img src="([^"]+)"', "\n".join(first_screen))
    assert ROOT / picture == PICTURE
    assert sum(line.startswith("- **") for line in first_screen) == 3
    commands = [line for line in first_screen if line.startswith(("git clone ", "make "))]
    assert [" ".join(line.split()[:2]) for line in commands] == ["git clone", "make chat", "make demo", "make test"]


def test_every_figure_of_readme_is_one_of_the_proof() -> None:
    proof = PROOF.read_text(encoding="utf-8")
    assert with_proof(README, proof) == README, "run: make fix"
    assert with_proof(README, proof.replace(" lost,", "1 lost,")) != README
    rows = re.findall(r'^\| \*\*(\w+)\*\*.*`make proof ARGS="?(\w+)[^`]*` \|$', README, re.MULTILINE)
    names = dict.fromkeys(name for name, _ in rows)
    assert [*names] == ["kept", "found", "killed", "isolated", "private", "honest", "broken", "sealed", "idle"]
    assert {part for _, part in rows} <= set(RUNS)


def test_the_proof_says_when_and_on_what_it_was_run_and_names_no_host_and_no_path() -> None:
    for page in (PROOF, PROOF.with_suffix(".html")):
        text = unescape(page.read_text(encoding="utf-8"))
        assert all(each in text for each in ("date", "commit", "cores", "Python", "load"))
        assert all(run.title in text for run in RUNS.values())
        assert "quick run" not in text
        assert not re.search(r"/(?:home|root|tmp|work|Users)/", text)
        assert not re.search(r"<script|<link|<img|src=|@import|url\(", text)


def test_the_example_is_what_the_chat_answers() -> None:
    shown = with_example(README)
    assert EXAMPLE.findall(README) == EXAMPLE.findall(shown), "run: make fix"
    assert shown == README


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_make_target_that_a_page_names_exists(page: Path) -> None:
    named = set(re.findall(r"`make ([a-z-]+)|^make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert {first or second for first, second in named} <= targets()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_setting_that_a_page_sets_exists(page: Path) -> None:
    for name in re.findall(r"^(?:export )?([A-Z][A-Z_]{4,})=", page.read_text(encoding="utf-8"), re.MULTILINE):
        assert name.lower() in Settings.model_fields, name


def test_the_table_of_verbs_is_what_the_program_says() -> None:
    assert with_verbs(README) == README, "run: make fix"


def test_every_verb_of_the_command_line_that_readme_names_exists() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "bot", "--help"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    for verb in re.findall(r"elefante ([a-z]+)", README):
        assert re.search(rf"^\W*{verb}\b", shown, re.MULTILINE), verb


def test_the_page_of_commands_lists_each_as_it_is() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert with_tables(page) == page, "run: make fix"
