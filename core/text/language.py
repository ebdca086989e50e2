"""Detect the language of a text: one of the bot's, surely another one, or unknown."""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
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

_FOREIGN: Final = re.compile("[\u0250-\u1dff\u1f00-\U0010ffff]")
"""A letter of no Latin alphabet."""

_VIETNAMESE: Final = re.compile("[\u1ea0-\u1ef9]")
_KEPT_TEXTS: Final = 64
_CLEAR_LEAD: Final = 2
"""By how many words or letters a language leads in a text that is clearly of it: one name or "yo" tells too little."""


@dataclass(frozen=True, slots=True)
class _Markers:
    """What tells languages apart: the languages that each word is of, and their names, those of the bot apart.

    `own` are the words of each of the bot's languages that the two others lack.
    """

    of_word: Mapping[str, Sequence[str]]
    own: Mapping[str, frozenset[str]]
    ours: tuple[str, ...]
    others: tuple[str, ...]


@cache
def _markers() -> _Markers:
    """Read the words of each language; those of the bot's languages are in the heads of their files."""
    known = tomllib.loads(_OTHER_LANGUAGES.read_text(encoding="utf-8"))
    codes = {locale.code for locale in Locale}
    ours = {locale.value: head(locale).get("words", known.get(locale.code, "")) for locale in Locale}
    others = {code: words for code, words in known.items() if code not in codes}
    lists = {name: frozenset(fold(words).split()) for name, words in (ours | others).items()}
    near = {*ours, *_NEAR}
    of_word: dict[str, list[str]] = defaultdict(list)
    for name, words in lists.items():
        # A word shared with a distant language counts: the words around it tell them apart.
        rivals = [lists[other] for other in (near if name in near else lists) if other != name]
        for word in words.difference(*rivals):
            of_word[word].append(name)
    own = {name: lists[name].difference(*(lists[other] for other in ours if other != name)) for name in ours}
    return _Markers(dict(of_word), own, tuple(ours), tuple(others))


@cache
def _letters() -> Mapping[str, re.Pattern[str]]:
    """Map each language to its own letters, if any, and "another" to letters of none of the bot's languages."""
    own = {locale.value: re.compile(f"[{letters}]") for locale in Locale if (letters := head(locale).get("letters"))}
    others = _OTHER_LETTERS
    for pattern in own.values():
        others = pattern.sub("", others)
    return own | {"another": re.compile(f"[{others}]")}


def detect(text: str) -> Locale | None:
    """Return the text's language if it surely is one of the bot's."""
    found, _ = _language(text[:_HEAD_CHARS])
    return Locale(found) if found in _SPOKEN else None


def is_foreign(text: str) -> bool:
    """Return whether the text surely is in none of the bot's languages."""
    return _language(text[:_HEAD_CHARS])[0] not in {"", *_SPOKEN}


def spoken(text: str, *, least: int = 1) -> Locale | None:
    """Return the language of our own sentences for a text: English for other languages, None if unknown.

    It is unknown, too, if it leads by fewer than `least` words.
    """
    found, lead = _language(text[:_HEAD_CHARS])
    return None if not found or lead < least else Locale(found) if found in _SPOKEN else Locale.EN


def clearly_spoken(text: str) -> Locale | None:
    """Return the language of our own sentences for a text that one ambiguous word does not decide, else None."""
    return spoken(text, least=_CLEAR_LEAD)


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
    A message that is clearly in one language comes before later ones that may be in it: one word switches nothing.
    Where none is, all together may be nearest to one: "nos subieron la renta", after "mi carnal trabaja en Bimbo".
    """
    said = (text, *earlier)
    heard_in = ((clearly_spoken, said), (_nearest, ("\n".join(said),)), (spoken, said))
    found = (heard for hear, texts in heard_in for each in texts if (heard := hear(each)) is not None)
    return next(found, None) or spoken_tag(tag) or Locale.PT


def _nearest(text: str) -> Locale | None:
    """Return which of the bot's languages a text is clearly nearest to, by words that others may have, too."""
    words = Counter(_WORDS.findall(fold(text[:_HEAD_CHARS].lower())))
    scores = {name: sum(words[word] for word in own) for name, own in _markers().own.items()}
    best, next_best = sorted(scores, key=scores.__getitem__, reverse=True)[:2]
    return Locale(best) if scores[best] >= scores[next_best] + _CLEAR_LEAD else None


def _primary(tag: str) -> str:
    return re.split(r"[-_.@]", tag.strip().lower(), maxsplit=1)[0]


@lru_cache(_KEPT_TEXTS)  # a message is asked about several times
def _language(text: str) -> tuple[str, int]:
    """Return the language's name in `_markers`, and by how many words or letters it leads.

    It is "another" if it surely is none of the bot's, "" if unknown.
    """
    text = text.lower()
    letters = "".join(filter(str.isalpha, text))
    foreign = len(_FOREIGN.findall(letters))
    written = {name: len(own.findall(text)) for name, own in _letters().items()}
    if foreign * 2 > len(letters):
        most = _best(written, written)
        return (most if written[most] * 2 > foreign else "another"), foreign
    markers = _markers()
    scores = dict.fromkeys((*markers.ours, *markers.others, *written), 0)
    for word, count in Counter(_WORDS.findall(fold(text))).items():
        for name in markers.of_word.get(word, ()):
            scores[name] += count
    for name, count in written.items():
        scores[name] += 2 * count
    scores["another"] += len(_VIETNAMESE.findall(letters))
    ours, others = _best(scores, markers.ours), _best(scores, markers.others)
    best = scores[ours]
    if (foreign := scores[others] + scores["another"]) > best:
        return (others if scores[others] else "another"), foreign - best
    del scores[ours]
    lead = best - max(scores.values())
    return (ours, lead) if lead > 0 else ("", 0)


def _best(scores: Mapping[str, int], among: Iterable[str]) -> str:
    return max(among, key=scores.__getitem__)
