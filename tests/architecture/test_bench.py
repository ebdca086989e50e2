"""`make bench` knows every bench there is."""

from __future__ import annotations

import ast
from importlib import import_module

import pytest

from bench.__main__ import BENCHES, main
from tests.architecture.tree import ROOT


def test_every_module_with_a_main_is_in_the_table_and_no_other() -> None:
    runnable = {
        path.stem
        for path in (ROOT / "bench").glob("*.py")
        if any(isinstance(n, ast.FunctionDef) and n.name == "main" for n in ast.parse(path.read_text("utf-8")).body)
    }
    assert runnable - {"__main__"} == set(BENCHES)


@pytest.mark.parametrize("name", BENCHES)
def test_every_bench_can_be_imported_without_measuring_anything(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert callable(import_module(f"bench.{name}").main)
    assert capsys.readouterr().out == ""


def test_an_unknown_name_is_told_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "nonsense"]) == 2
    told = capsys.readouterr().err
    assert "nonsense" in told
    assert all(name in told for name in BENCHES)
