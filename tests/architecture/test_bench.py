"""`make bench` knows every bench there is."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

from bench import structure
from bench.__main__ import APART, BENCHES, main
from tests.architecture.tree import ROOT


def test_every_module_that_prints_a_table_is_in_the_table_of_benches() -> None:
    paths = [path for path in (ROOT / "bench").glob("*.py") if "\ndef main(" in path.read_text("utf-8")]
    measuring = {path.stem for path in paths if "bench.table" in imported(path)}
    assert measuring <= {*BENCHES, *APART}


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


def test_the_structure_of_a_small_tree_is_counted_as_by_hand(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    texts = {
        "a": "from core.b import B\n\nclass A:\n    one: int\n\n    def run(self) -> None:\n        self.two = B\n",
        "b": "from core.c import C\n\nclass B(Protocol):\n    def ask(self) -> C: ...\n    def tell(self) -> C: ...\n",
        "c": "from core.a import A\n",
        "d": "def later():\n    from core.a import A\n",
    }
    for name, text in texts.items():
        (tmp_path / "core" / f"{name}.py").write_text(text, "utf-8")
    found = {name: (tree, lines) for name, tree, lines in structure.modules(tmp_path, ("core",))}
    known = set(found)
    assert [lines for _, lines in found.values()] == [7, 5, 1, 2]
    assert structure.imported(found["core.d"][0], known) == {"core.a"}
    at_start = {name: structure.imported(tree, known, at_start=True) for name, (tree, _) in found.items()}
    assert structure.circles(at_start) == [["core.a", "core.b", "core.c"]]
    assert list(structure.classes(found["core.a"][0])) == [("A", 2, 1)]
    assert list(structure.classes(found["core.b"][0])) == []
    assert structure.promised(found["core.b"][0]) == 2
