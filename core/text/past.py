"""Tell whether a question asks for what was true before."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Final

from core.text.unicode import flat

FILE: Final = "past.txt"


@cache
def _past() -> re.Pattern[str]:
    """Return a pattern of the expressions that ship with this package."""
    lines = resources.files(__package__).joinpath(FILE).read_text("utf-8").splitlines()
    return re.compile("|".join([rf"\b(?:{line})" for line in lines if line and not line.startswith("[")]))


def asks_past(text: str) -> bool:
    """Return whether a text asks for what was true before: "my old address", "onde eu morava?"."""
    return _past().search(flat(text)) is not None
