"""Words: folded for comparison, without meaning of their own (in three languages), in tables, and of numbers."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any, Final, TypeVar

from core.text.unicode import flat, fold
from core.types import Locale

_WORD: Final = re.compile(r"[^\W_]+")
_MIN_PREFIX_CHARS: Final = 4

# Without them, a question is reduced to its subject.
FUNCTION_WORDS: Final = frozenset(
    """
    a o as os um uma uns umas de do da dos das em no na nos nas por pelo pela para pra pro com sem sobre entre ate e ou
    mas que se eu tu ele ela voce voces eles elas me mim te lhe meu minha meus minhas seu sua seus suas teu tua nosso
    nossa dele dela isso isto aquilo esse essa este esta aquele aquela qual quais quem quando onde como quanto quanta
    quantos quantas porque cade sou estou estao sao foi era ser estar tem tenho ter ha vai vou fica ficam ja nao sim
    muito mais la aqui ai
    the an and or but of to in on at for from with without by about into is are was were be been am does did have has
    had i you he she it we they my mine your yours his her its our their this that these those what which who whom when
    where why how much many can could would should will not yes there s t m re ll d ve
    el los las una unos unas y u pero del al en por con sin yo ella nosotros ustedes usted ellos ellas mi mis tus su sus
    le les lo es soy eres son estan estoy fue tiene tengo hay cual cuales quien quienes cuando donde cuanto cuantos
    cuantas si muy mas ahi mio mia
    """.split()
)


def folded_words(text: str) -> list[str]:
    """Return the words of a text in order, without case and accents."""
    return _WORD.findall(text.lower() if text.isascii() else fold(text))  # the same for ASCII, but faster


def same(one: str, other: str) -> bool:
    """Tell whether two folded words are one with different endings: `senha` and `senhas`, not `casa` and `caso`."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    needed = max(_MIN_PREFIX_CHARS, -(-len(long) * 7 // 10))
    return len(short) >= needed and short[:needed] == long[:needed]


def stands_in(words: str, text: str) -> bool:
    """Return whether words stand in a text as they are, and not as a part of others."""
    start = text.find(words)
    while start >= 0:
        end = start + len(words)
        if not _goes_on(text[start - 1 : start]) and not _goes_on(text[end : end + 1]):
            return True
        start = text.find(words, start + 1)
    return False


def _goes_on(char: str) -> bool:
    return char.isalnum() or char == "_"


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the one of the `known` words that is most like `word`, in any case of letters; "" if none is."""
    folded = {each.casefold(): each for each in known}
    return next((folded[found] for found in get_close_matches(word.casefold(), folded, n=1)), "")


_Record = TypeVar("_Record")


def expressions(package: str, name: str) -> Mapping[str, str]:
    """Map each section of a package's file of regular expressions to one that matches what any of its lines does.

    A line begins with "[" for the name of a section, with "#" for a comment.
    """
    found: dict[str, list[str]] = {}
    for line in resources.files(package).joinpath(name).read_text("utf-8").splitlines():
        if line.startswith("["):
            found[line.strip("[]")] = []
        elif line and not line.startswith("#"):
            next(reversed(found.values())).append(line)
    return {section: "|".join(lines) for section, lines in found.items()}


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


# Number words, which are data: numbers.toml.

_FILE: Final = tomllib.loads(resources.files(__package__).joinpath("numbers.toml").read_text("utf-8"))


def _table(name: str) -> Mapping[str, int]:
    return {word: int(number) for number, words in _FILE[name].items() for word in words.split()}


_UNITS, _TENS, _HUNDREDS, _TIMES = map(_table, ("units", "tens", "hundreds", "times"))
_SIZES: Final = {**dict.fromkeys(_UNITS, 1), **dict.fromkeys(_TENS, 10), **dict.fromkeys(_HUNDREDS, 100)}
_VALUES: Final = {**_UNITS, **_TENS, **_HUNDREDS}
_NUMBER: Final = "|".join(sorted((*_VALUES, *_TIMES), key=len, reverse=True))
_JOINT: Final = f" |-|, | (?:{'|'.join(_FILE['joints']['words'].split())}) "
_RUN: Final = re.compile(rf"\b(?:{_NUMBER})(?:(?:{_JOINT})(?:{_NUMBER}))*\b")
_NUMBER_WORD: Final = re.compile(rf"\b(?:{_NUMBER})\b")
_MAX_DIGIT: Final = 9
_HUNDRED: Final = 100


def in_digits(text: str) -> str:
    """Return the text in lower case, without accents, and with its number words as digits.

    "Two hundred" is 200, "four four one seven" 4417.
    """
    return _RUN.sub(lambda run: _digits(_NUMBER_WORD.findall(run[0])), flat(text))


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
