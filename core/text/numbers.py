"""Read number words: "two hundred" is 200, "four four one seven" 4417. The words are data: numbers.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Final

from core.text.unicode import flat

_FILE: Final = tomllib.loads(resources.files(__package__).joinpath("numbers.toml").read_text("utf-8"))


def _table(name: str) -> Mapping[str, int]:
    return {word: int(number) for number, words in _FILE[name].items() for word in words.split()}


_UNITS, _TENS, _HUNDREDS, _TIMES = map(_table, ("units", "tens", "hundreds", "times"))
_SIZES: Final = {**dict.fromkeys(_UNITS, 1), **dict.fromkeys(_TENS, 10), **dict.fromkeys(_HUNDREDS, 100)}
_VALUES: Final = {**_UNITS, **_TENS, **_HUNDREDS}
_NUMBER: Final = "|".join(sorted((*_VALUES, *_TIMES), key=len, reverse=True))
_JOINT: Final = f" |-|, | (?:{'|'.join(_FILE['joints']['words'].split())}) "
_RUN: Final = re.compile(rf"\b(?:{_NUMBER})(?:(?:{_JOINT})(?:{_NUMBER}))*\b")
_WORD: Final = re.compile(rf"\b(?:{_NUMBER})\b")
_MAX_DIGIT: Final = 9
_HUNDRED: Final = 100


def in_digits(text: str) -> str:
    """Return the text in lower case, without accents, and with its number words as digits."""
    return _RUN.sub(lambda run: _digits(_WORD.findall(run[0])), flat(text))


def _digits(words: Sequence[str]) -> str:
    """Return the numbers that the words say one after the other; those of single digits are one."""
    if len(words) > 1 and all(_UNITS.get(word, _MAX_DIGIT + 1) <= _MAX_DIGIT for word in words):
        return "".join(str(_UNITS[word]) for word in words)
    numbers: list[int] = []
    total, part, room = 0, 0, 0
    for word in words:
        if word in _TIMES:
            room = _TIMES[word]
            part = max(part, 1) * room
            if room > _HUNDRED:
                total, part = total + part, 0
            continue
        if room and _VALUES[word] >= room:  # it goes on with another number
            numbers.append(total + part)
            total = part = 0
        part += _VALUES[word]
        room = _SIZES[word]
    return " ".join(map(str, (*numbers, total + part)))
