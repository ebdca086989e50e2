"""The languages that people read: one TOML file each, named by its tag.

A file begins with what the bot has to know of the language (`head`); the tables after it hold the sentences (`body`).
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

_FOLDER: Final = Path(__file__).parent
TAGS: Final = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


@cache
def head(tag: str) -> dict[str, Any]:
    """Return what stands before the first table of a language's file; the tables are not parsed, which takes 1 ms."""
    return tomllib.loads(_read(tag).partition("\n[")[0])


def body(tag: str) -> dict[str, Any]:
    """Return the whole file of a language, which takes 10 ms."""
    return tomllib.loads(_read(tag))


def _read(tag: str) -> str:
    return (_FOLDER / f"{tag}.toml").read_text(encoding="utf-8")
