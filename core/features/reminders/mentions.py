"""Read a message about reminders by the word tables of `mentions.toml`: to list them, delete one, or say when."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final

from core.text.unicode import flat
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import JSONValue, Locale

_WORDS: Final = Path(__file__).with_name("mentions.toml")
_MAX_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class _Words:
    """The patterns of one language."""

    polite: re.Pattern[str]
    lists: re.Pattern[str]
    cancels: tuple[re.Pattern[str], ...]
    joint: re.Pattern[str]
    reply: frozenset[str]


def read_list(message: str, _: datetime, __: Locale) -> Mapping[str, JSONValue] | None:
    """Return no arguments for a message that asks which reminders are set; None if it asks for something else."""
    text = flat(message[:_MAX_CHARS])
    return {} if any(words.lists.match(text, _begin(words, text)) for words in _tables()) else None


def read_cancel(message: str, _: datetime, __: Locale) -> Mapping[str, JSONValue] | None:
    """Return the arguments of a message that asks to delete a reminder; None if it asks for something else."""
    text = flat(message[:_MAX_CHARS])
    for words in _tables():
        begin = _begin(words, text)
        found = next((found for pattern in words.cancels if (found := pattern.match(text, begin))), None)
        if found is not None:
            joint = words.joint.match(text, found.end())
            rest = message[joint.end() if joint else found.end() :]
            before = [word for word in (found.groupdict().get("before") or "").split() if word not in FUNCTION_WORDS]
            return {"which": " ".join((*before, *rest.split())).strip(" .!,?")}
    return None


def only_replies(text: str) -> bool:
    """Return whether a text holds no more than what people say beside a time when they are asked for one."""
    said = set(folded_words(text)) - FUNCTION_WORDS
    return said <= {word for words in _tables() for word in words.reply}


def _begin(words: _Words, text: str) -> int:
    found = words.polite.match(text)
    return found.end() if found else 0


@cache
def _tables() -> tuple[_Words, ...]:
    tables = tomllib.loads(_WORDS.read_text(encoding="utf-8")).values()
    return tuple(
        _Words(
            re.compile(rf"(?:\W*{table['polite']})*\W*"),
            re.compile("|".join(f"(?:{pattern})" for pattern in table["list"])),
            tuple(map(re.compile, table["cancel"])),
            re.compile(rf"\s*{table['joint']}"),
            frozenset(table["reply"].split()),
        )
        for table in tables
    )
