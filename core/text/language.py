"""Detect the language of a text: one of the bot's, surely another one, or unknown."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from core.locales import head
from core.text.unicode import fold
from core.types import Locale

_HEAD_CHARS: Final = 2000
"""The beginning of a text is enough."""

_WORDS = re.compile(r"[a-z']+")

_OTHER_LANGUAGES: Final = Path(__file__).parent / "other_languages.toml"
_NEAR: Final = frozenset({"de", "fr", "it", "nl"})
_SPOKEN: Final = frozenset(locale.value for locale in Locale)
_OTHER_LETTERS: Final = "èëìîïòùûœäöüßåøæœăđğışțţąęłśźżčďěňřšťůžőűơư"
"""Letters of neither Portuguese nor English nor Spanish."""

_LATIN_ENDS: Final = "\u024f"


@cache
def _markers() -> Mapping[str, frozenset[str]]:
    """Map each language to its own words; those of the bot's languages are in the heads of their files."""
    known = tomllib.loads(_OTHER_LANGUAGES.read_text(encoding="utf-8"))
    ours = {locale.value: head(locale).get("words", known.get(locale.code, "")) for locale in Locale}
    others = {code: words for code, words in known.items() if code not in {locale.code for locale in Locale}}
    lists = {name: frozenset(fold(words).split()) for name, words in (ours | others).items()}
    near = {*ours, *_NEAR}
    counts = Counter(word for words in lists.values() for word in words)
    near_counts = Counter(word for name, words in lists.items() if name in near for word in words)
    # A word shared with a distant language counts: the words around it tell them apart.
    return {
        name: frozenset(word for word in words if (near_counts if name in near else counts)[word] == 1)
        for name, words in lists.items()
    }


@cache
def _letters() -> Mapping[str, re.Pattern[str]]:
    """Map each language to its own letters, if any, and "another" to letters of none of the bot's languages."""
    own = {locale.value: re.compile(f"[{letters}]") for locale in Locale if (letters := head(locale).get("letters"))}
    others = "".join(char for char in _OTHER_LETTERS if not any(pattern.match(char) for pattern in own.values()))
    return own | {"another": re.compile(f"[{others}]")}


def detect(text: str) -> Locale | None:
    """Return the text's language if it surely is one of the bot's."""
    found = _language(text)
    return Locale(found) if found in _SPOKEN else None


def spoken(text: str) -> Locale | None:
    """Return the language of our own sentences for a text: English for other languages, None if unknown."""
    found = _language(text)
    return Locale(found) if found in _SPOKEN else Locale.EN if found else None


def from_tag(tag: str) -> Locale | None:
    """Return the locale of a platform's tag or a LANG value (`pt-br`, `es_MX.UTF-8`); None for other languages."""
    whole = re.split(r"[.@]", tag.strip().lower().replace("_", "-"), maxsplit=1)[0]
    exact = (locale for locale in Locale if locale.value.lower() == whole)
    return next(exact, {locale.code: locale for locale in reversed(Locale)}.get(_primary(tag)))


def spoken_tag(tag: str) -> Locale | None:
    """Return the language of our own sentences for a tag: English for other languages, None for an empty one."""
    return from_tag(tag) or (Locale.EN if _primary(tag) not in {"", "c", "posix"} else None)


def choose(text: str, tag: str, earlier: Iterable[str] = ()) -> Locale:
    """Return the language of our own sentences.

    It is that of the message, else of earlier messages (newest first), else of the tag, else Portuguese (decision 3).
    """
    for said in (text, *earlier):
        if (locale := spoken(said)) is not None:
            return locale
    return spoken_tag(tag) or Locale.PT


def _primary(tag: str) -> str:
    return re.split(r"[-_.@]", tag.strip().lower(), maxsplit=1)[0]


def _language(text: str) -> str:
    """Return the language's key in `_markers`, "another" if it surely is none of the bot's, "" if unknown."""
    text = text[:_HEAD_CHARS].lower()
    letters = [char for char in text if char.isalpha()]
    foreign = sum(char > _LATIN_ENDS and not "\u1e00" <= char <= "\u1eff" for char in letters)
    written = {name: len(own.findall(text)) for name, own in _letters().items()}
    if foreign * 2 > len(letters):
        most = _best(written, written)
        return most if written[most] * 2 > foreign else "another"
    told = Counter(_WORDS.findall(fold(text)))
    markers = _markers()
    scores = {name: sum(told[word] for word in told if word in own) for name, own in markers.items()}
    for name, count in written.items():
        scores[name] = scores.get(name, 0) + 2 * count
    scores["another"] += sum("\u1ea0" <= char <= "\u1ef9" for char in letters)  # Vietnamese
    ours, others = _best(scores, _SPOKEN), _best(scores, markers.keys() - _SPOKEN)
    if scores[others] + scores["another"] > scores[ours]:
        return others if scores[others] else "another"
    second = max(score for name, score in scores.items() if name != ours)
    return ours if scores[ours] > second else ""


def _best(scores: Mapping[str, int], among: Iterable[str]) -> str:
    return max(among, key=lambda name: scores[name])
