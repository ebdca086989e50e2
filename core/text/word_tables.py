"""Tables of words by language: TOML files of patterns, read into records."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, TypeVar

from core.types import Locale

_Record = TypeVar("_Record")

WORD: Final = r"(?<!\w)(?:{})(?!\w)"
"""The form of a pattern that stands for whole words."""

POLITE: Final = r"(?:\W*{})*\W*"
"""The form of a pattern for words at the start of a message that may come in any number."""


def word_tables(path: Path, record: type[_Record], forms: Mapping[str, str]) -> tuple[_Record, ...]:
    """Return a record for each table of a file: its `locale`, and a field for each key, read as its annotation says.

    Pattern: of a text, or of the alternatives of a list; a tuple of them: of each of a list; frozenset: of words.
    `forms` has the forms of patterns by field: `{}` stands for what the table says there, `{key}` for what it says
    elsewhere.
    """
    made: Callable[..., _Record] = record
    named = [(each.name, str(each.type)) for each in fields(record) if each.name != "locale"]  # type: ignore[arg-type]
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(
        made(locale=Locale(tag), **{name: _read(table, name, kind, forms.get(name, "{}")) for name, kind in named})
        for tag, table in tables.items()
    )


def _read(table: Mapping[str, Any], name: str, kind: str, form: str) -> object:
    said = table[name]
    if kind == "str":
        return said
    if kind == "frozenset[str]":
        return frozenset(said.split())
    if kind.startswith("tuple"):
        return tuple(map(re.compile, said))
    own = said if isinstance(said, str) else "|".join(f"(?:{each})" for each in said)
    return re.compile(re.sub(r"\{([a-z_]*)\}", lambda key: table[key[1]] if key[1] else own, form))
