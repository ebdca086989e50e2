"""Split a text into the words of times in one language, each a letter that stands for its kind.

The letters of a text make a string (`Tokens.kinds`), over which one grammar in regular expressions serves every
language (`core.times.grammar`). The words are data: `core/times/TAG.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Final

from core.text.unicode import flat

KINDS: Final = {
    "number": "n", "clock": "C", "dotted": ":", "date": "T",
    "ordinal": "r", "weekday": "W", "month": "M", "day": "d", "part": "p",
    "unit": "u", "tonight": "I", "noon": "N", "midnight": "G", "half": "h", "quarter": "q", "and": "&", "minus": "-",
    "past": "+", "oclock": "c", "am": "A", "pm": "P", "at": "a", "of": "o", "to": "t", "in": "i", "later": "L",
    "next": "x", "this": "s", "every": "e", "other_day": "O", "other_week": "f", "daily": "D", "hourly": "H",
    "weekly": "K", "monthly": "Q", "yearly": "Y", "workdays": "B", "weekend": "E", "other": "z", "feast": "V",
    "gone": "k", "ago": "g", "often": "j", "between": "l", "next_week": "J", "month_end": "Z", "month_start": "X",
    "except": "y", "holiday": "R", "unread": "@", "decimal": "m",
    "until": "U", "for": "F", "from": "S", "before": "b", "after": "v", "about": "~", "comma": ",", "word": "w",
}  # fmt: skip
"""The letter of each kind of word."""

TIMELY: Final = frozenset("CTWMdpINGeOfDHKQYBEZXVJzjl@")
"""Kinds that name times wherever they stand: left over in a text, they mean that it was not understood."""

_SHAPES: Final = {
    "date": r"\d{4}-\d\d-\d\d(?=$|[\st,.;])|\d{4}/\d\d?/\d\d?(?![\d/])|\d{1,2}/\d{1,2}(?:/\d{4}|/\d\d)?(?![\d/])"
    r"|\d{1,2}[.-]\d{1,2}[.-]\d{4}",
    "clock": r"(?:[01]?\d|2[0-4])(?::[0-5]\d(?::\d\d)?|h ?[0-5]\d|\.[0-5]\d(?=\s?[ap]\.?m|\s?h))"
    r"(?: ?(?:hs|hrs|h|min|m)(?!\w))?"
    r"|(?:[01]?\d|2[0-4]) ?(?:hs|hrs|h)(?![\w])"
    r"|(?<=\b(?:at|as) )(?:[01]\d|2[0-3])[0-5]\d(?: ?(?:hours|hs|hrs|h))?(?![\w.,:/-])",
    "decimal": r"\d{1,2}[.,]\d(?= ?(?:h|d|m|s))",
    "dotted": r"(?:[01]?\d|2[0-4])\.[0-5]\d(?![\d.,]*\d)",
    "ordinal": r"\d{1,2}(?:st|nd|rd|th|[ºª°]|[oa](?!\w))(?![- ]?feira)",
    "number": r"\d{1,4}(?![\d.,]*\d)",
    "comma": r"[,;:–—-]",
}


@dataclass(frozen=True, slots=True)
class Token:
    """A word: its kind's letter, which word of the kind it is, and where it stands in the text."""

    kind: str
    value: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class WordTable:
    """The words of one language.

    `hours` are the usual hours of the parts of a day; `cues` are patterns, by what they tell of a sentence.
    """

    pattern: re.Pattern[str]
    values: Mapping[str, tuple[str, str]]
    hours: Mapping[str, int]
    cues: Mapping[str, re.Pattern[str]]


@cache
def table(tag: str) -> WordTable:
    """Return the words of the language with that tag (`pt`)."""
    data: dict[str, Any] = tomllib.loads(resources.files(__package__).joinpath(f"{tag}.toml").read_text("utf-8"))
    hours = data.pop("hours")
    cues = {name: re.compile(rf"(?<!\w)(?:{pattern})(?!\w)") for name, pattern in data.pop("cues").items()}
    phrases = [
        (phrase, kind, value)
        for kind, found in data.items()
        for value, pattern in (found.items() if isinstance(found, dict) else [("", found)])
        for phrase in _alternatives(pattern)
    ]
    phrases.sort(key=lambda each: _size(each[0]), reverse=True)
    values = {f"s{kind}": (kind, "") for kind in _SHAPES} | {"word": ("word", "")}
    # "2h" and "6pm" are a number and a word; "a. m." is no "a".
    halves, units, others = _Alternatives("h", values), _Alternatives("u", values), _Alternatives("o", values)
    for phrase, kind, value in phrases:
        {"am": halves, "pm": halves, "unit": units}.get(kind, others).add(phrase, kind, value)
    shapes = {kind: f"(?P<s{kind}>{pattern})" for kind, pattern in _SHAPES.items()}
    number, comma = rf"(?<![\w.]){shapes.pop('number')}", shapes.pop("comma")
    whole = rf"(?<![\w.])(?:{'|'.join(shapes.values())})"
    part = r"(?<![^\W\d])"
    words = rf"{part}{halves.joined()}|(?<!\w){others.joined()}|{part}{units.joined()}"
    return WordTable(re.compile(rf"{whole}|{words}|{number}|{comma}|(?P<word>\w+)"), values, hours, cues)


class _Alternatives:
    """Phrases of which one is to match, by their first letters, so that few of them are tried."""

    def __init__(self, prefix: str, values: dict[str, tuple[str, str]]) -> None:
        """`values` maps the name of each phrase's group, which begins with `prefix`, to its kind and value."""
        self._prefix = prefix
        self._values = values
        self._rests: dict[str, list[str]] = {"": []}

    def add(self, phrase: str, kind: str, value: str) -> None:
        """Add a phrase behind those that are tried before it."""
        has_letter = phrase[0].isalpha() and phrase[1:2] not in {"?", "*", "+", "{"}
        name = f"{self._prefix}{len(self._values)}"
        self._values[name] = (kind, value)
        rest = self._rests.setdefault(phrase[0] if has_letter else "", [])
        rest.append(f"(?P<{name}>{phrase[1:] if has_letter else phrase})(?!\\w)")

    def joined(self) -> str:
        """Return the pattern of them all."""
        return (
            "(?:" + "|".join(f"{letter}(?:{'|'.join(rests)})" for letter, rests in self._rests.items() if rests) + ")"
        )


def _size(phrase: str) -> tuple[int, int]:
    """Return about how many words and letters a phrase has: the longest is tried first."""
    said = re.split(r"\(\?[=!]", phrase)[0]
    return said.count(" "), len(said)


def _alternatives(pattern: str) -> Sequence[str]:
    """Return the alternatives of a regular expression: "a|b(?:c|d)" is "a" and "b(?:c|d)"."""
    found, depth = [""], 0
    for char in pattern:
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "|" and not depth:
            found.append("")
        else:
            found[-1] += char
    return found


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text in a language, and their kinds as one string, over which patterns match."""

    text: str
    tag: str
    items: Sequence[Token]
    kinds: str

    def value(self, at: int) -> str:
        """Return which word of its kind the token at an index is."""
        return self.items[at].value

    def said(self, found: re.Match[str], kinds: str) -> Sequence[Token]:
        """Return the tokens of some kinds among those of a match over `kinds`."""
        return [token for token in self.items[found.start() : found.end()] if token.kind in kinds]

    def said_units(self, found: re.Match[str]) -> Sequence[str]:
        """Return the units of a match: "day", "month"."""
        return [token.value for token in self.said(found, KINDS["unit"])]

    def written(self, token: Token) -> str:
        """Return a token as it was written, in lower case without accents."""
        return flat(self.text[token.start : token.end])

    def following(self, stop: int) -> str:
        """Return the text after the tokens before an index, in lower case without accents."""
        return flat(self.text[self.items[stop - 1].end :])

    def between(self, start: int, stop: int) -> str:
        """Return the text from the token at an index to the one before another."""
        return self.text[self.items[start].start : self.items[stop - 1].end]


def number_of(token: Token) -> int:
    """Return the number that a token is: "5", "5th" and "five" are 5, "last" is -1."""
    return int(re.sub(r"[^\d-]", "", token.value) or 0)


def _tens(found: Sequence[Token], text: str) -> Token | None:
    """Return the word for 20, 30, 40 or 50 that the last tokens are, to which ones can be added ("treinta y")."""
    is_joined = found and (found[-1].kind == KINDS["and"] or text[found[-1].start : found[-1].end] == "-")
    last = found[-2:] if is_joined else found[-1:]
    if not last or last[0].kind != KINDS["number"] or text[last[0].start].isdigit():
        return None
    return last[0] if last[0].value in {"20", "30", "40", "50"} else None


@lru_cache(maxsize=256)  # a turn asks for those of its message and of the memories that it finds many times
def tokens(text: str, tag: str) -> Tokens:
    """Return the tokens of a text in that language; numbers in words are put together."""
    words = table(tag)
    found: list[Token] = []
    for match in words.pattern.finditer(flat(text)):
        kind, value = words.values[str(match.lastgroup)]
        letter = KINDS[kind]
        said = match[0]
        if kind == "number":
            value = value or said
            if 0 < int(value) < 10 and not said.isdecimal() and (tens := _tens(found, text)):  # noqa: PLR2004
                del found[found.index(tens) :]
                found.append(Token("n", str(int(tens.value) + int(value)), tens.start, match.end()))
                continue
        found.append(Token(letter, value or said, match.start(), match.end()))
    return Tokens(text, tag, found, "".join(token.kind for token in found))
