"""Every recipe of docs/extending.md, followed in a copy of the tree as the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.recipes import Copy


@pytest.mark.spec("T6")
@pytest.mark.parametrize("title", ["An action", "A command", "A model provider"])
def test_the_recipe_works_as_it_stands(title: str, tmp_path: Path) -> None:
    Copy(tmp_path).follow(title)
