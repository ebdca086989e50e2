"""The recipe "A locale" of docs/extending.md, done in a copy of the tree as the page says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
TREE = ("core", "adapters", "bot", "tests", "docs", "pyproject.toml", ".env.example", "README.md")
MENUS = """
from core.text.catalogue import counted
from core.text.catalogue import DAYS
from tests.fakes.commands import COMMANDS
from core.text.replies import means_no, means_yes, numbered
from core.types import Locale
import adapters.telegram.menu as telegram
print(COMMANDS["language"].usage)
print(sorted(telegram._LANGUAGES))
print(counted(DAYS, Locale("fr"), 0), counted(DAYS, Locale("fr"), 2))
print(means_yes("Bien sûr !"), means_no("Non."), numbered("la deuxième", 3))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with the page's `fr.toml` in it."""
    copy = tmp_path_factory.mktemp("tree")
    for name in TREE:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name)
        else:
            shutil.copy(source, copy / name)
    (text,) = re.findall(r"```toml fr.toml\n(.*?)```", PAGE, re.DOTALL)
    (copy / "core" / "locales" / "fr.toml").write_text(text, encoding="utf-8")
    return copy


def run(tree: Path, *arguments: str, said: str = "", language: str = "") -> str:
    """Run Python in the copy and return what it writes."""
    keep = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    variables = {**keep, "DATA_DIR": str(tree / "data"), "LANG": language, "PYTHONUTF8": "1", "PYTHONPATH": str(tree)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=tree, env=variables, input=said, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_the_new_language_lacks_is_listed_and_nothing_else_is_wrong(tree: Path) -> None:
    command, options = "python -m pytest -q ", "tests/architecture/test_catalogues.py"
    assert f"{command}{options}" in PAGE
    told = run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", options)
    assert re.search(r"fr.toml lacks \d+ sentences: .*access.card.card, ", told)


@pytest.mark.long
def test_who_writes_the_new_language_is_answered_in_it_and_what_it_lacks_is_english(tree: Path) -> None:
    said = "Quel est le mot de passe du wifi ?\n/language\n/language fr\n/threads\n"
    told = run(tree, "-m", "bot", "chat", said=said)
    assert "Je n'ai pas trouvé cela" in told
    assert "I answer in the language you write in." in told
    assert "D'accord : je réponds toujours en français." in told
    assert "Your conversations" in told


def test_menus_replies_and_numbers_know_the_new_language(tree: Path) -> None:
    usage, tags, days, replies = run(tree, "-c", MENUS).splitlines()
    assert usage == " pt | en | es | fr | … | auto"
    assert tags == "['', 'en', 'es', 'fr', 'pt']"
    assert days == "0 jour 2 jours"
    assert replies == "True True (1,)"
