"""A module can be read in one sitting, a function at one glance."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.tree import modules, relative

MAX_MODULE_LINES = 300
MAX_FUNCTION_LINES = 40


@pytest.mark.parametrize("path", modules(), ids=relative)
def test_a_module_is_short(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= MAX_MODULE_LINES


@pytest.mark.parametrize("path", modules(), ids=relative)
def test_a_function_is_short_not_counting_its_docstring(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first, last = node.body[0], node.body[-1]
            documented = ast.get_docstring(node) is not None
            start = node.lineno + ((first.end_lineno or 0) - first.lineno + 1 if documented else 0)
            lines = (last.end_lineno or 0) - start + 1
            assert lines <= MAX_FUNCTION_LINES, f"{node.name}: {lines} lines"
