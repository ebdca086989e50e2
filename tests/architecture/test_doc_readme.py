"""What README and the pages say exists: commands, targets, links, settings."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bot.settings.settings import Settings
from tests.pages import EXAMPLE, with_example, with_tables, with_verbs

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_the_first_screen_has_the_two_commands() -> None:
    first_screen = "\n".join(README.splitlines()[:25])
    assert "make chat" in first_screen
    assert "make test" in first_screen


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
