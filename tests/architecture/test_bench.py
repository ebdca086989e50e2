"""`make bench` knows every bench there is."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

from bench.__main__ import BENCHES, main
from tests.architecture.tree import ROOT


def test_every_module_that_prints_a_table_is_in_the_table_of_benches() -> None:
    paths = [path for path in (ROOT / "bench").glob("*.py") if "\ndef main(" in path.read_text("utf-8")]
    measuring = {path.stem for path in paths if "bench.table" in imported(path)}
    assert measuring <= set(BENCHES)


def imported(path: Path) -> set[str]:
    """The modules that a file imports names from."""
    tree = ast.parse(path.read_text("utf-8"))
    return {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("name", BENCHES)
def test_every_bench_can_be_imported_without_measuring_anything(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert callable(import_module(f"bench.{name}").main)
    assert capsys.readouterr().out == ""


def test_an_unknown_name_is_told_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "nonsense"]) == 2
    told = capsys.readouterr().err
    assert "nonsense" in told
    assert all(name in told for name in BENCHES)
