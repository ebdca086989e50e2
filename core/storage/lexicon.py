"""What memories are looked up by, word by word: stems in Portuguese, English and Spanish."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias

import snowballstemmer

from core.text.words import FUNCTION_WORDS, folded_words

Terms: TypeAlias = tuple[str, ...]
"""The terms of one word: a text with any of them has the word."""

_LANGUAGES = ("portuguese", "english", "spanish")
_MIN_STEM_CHARS = 3
_MAX_KEYWORDS = 24
_MAX_INDEXED = 256
_KEPT_WORDS = 8192

_MAX_CHARS = 256
"""So much of a word counts: an index of PostgreSQL takes no more than 2,704 bytes, and encoded files are one word."""

# Nobody stores a fact by the verbs of remembering.
_VERBS = "lembra lembre lembrar sabe know remember please recuerda recuerdas sabes"
_PASSED_OVER = FUNCTION_WORDS.union(_VERBS.split())


def keywords(text: str) -> list[str]:
    """Return the different words of a question; function words only where it has no others."""
    found = list(dict.fromkeys(folded_words(text)))
    return [word for word in found if word not in _PASSED_OVER] or found


def idf(frequency: int, count: int) -> float:
    """Return the weight of a word that so many of `count` texts have; always positive."""
    return math.log1p((max(count, frequency) - frequency + 0.5) / (frequency + 0.5))


def index_terms(texts: Iterable[str]) -> list[str]:
    """Return what some texts are found by: the terms of each of their words, once."""
    words = dict.fromkeys([word for text in texts for word in folded_words(text)])
    return list(dict.fromkeys([term for word in words for term in _terms_of(word)]))


def keyword_terms(text: str) -> list[str]:
    """Return what a text is found by among many that are talk: the terms of its keywords, once."""
    words = [word for word in dict.fromkeys(folded_words(text)) if word not in _PASSED_OVER][:_MAX_INDEXED]
    return list(dict.fromkeys([term for word in words for term in _terms_of(word)]))


def query_terms(query: str) -> list[Terms]:
    """Return, for each of the first keywords of a query, the terms of which a text that it matches has any."""
    return [_terms_of(word) for word in keywords(query)[:_MAX_KEYWORDS]]


def _terms_of(word: str) -> Terms:
    return _stems_of(word[:_MAX_CHARS])


class _Stemmers(threading.local):
    """The stemmers of a thread: they hold state."""

    def __init__(self) -> None:
        self.each = tuple(snowballstemmer.stemmer(language) for language in _LANGUAGES)


_stemmers = _Stemmers()


@lru_cache(_KEPT_WORDS)
def _stems_of(word: str) -> Terms:
    """Return the stems of a folded word in every language, each once; the word if it has none, as with a digit.

    People use few words, and stemming one costs 0.1 ms: what one store stemmed, no other does again.
    """
    if not word.isalpha():
        return (word,)
    endings = dict.fromkeys([stemmer.stemWord(word) for stemmer in _stemmers.each])
    return tuple([stem for stem in endings if len(stem) >= _MIN_STEM_CHARS]) or (word,)
