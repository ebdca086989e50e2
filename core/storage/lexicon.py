"""What counts as a word when memories are looked up by their words.

Knows endings of Portuguese, English and Spanish. Does not know where the words are kept.
"""

from __future__ import annotations

from functools import lru_cache

import snowballstemmer

from core.unicode import fold
from core.words import FUNCTION_WORDS, folded_words

_LANGUAGES = ("portuguese", "english", "spanish")
_MIN_STEM_CHARS = 3
_MAX_KEYWORDS = 24
_KEPT_WORDS = 8192

# Nobody stores a fact by the verbs of remembering.
_VERBS = "lembra lembre lembrar sabe know remember please recuerda recuerdas sabes"
_PASSED_OVER = FUNCTION_WORDS.union(_VERBS.split())


def keywords(text: str) -> list[str]:
    """Return the different words of a question; function words only where it has no others."""
    found = list(dict.fromkeys(folded_words(text)))
    return [word for word in found if word not in _PASSED_OVER] or found


class Lexicon:
    """Words and stems, and the search for them as SQLite's FTS5 reads it. Keeps the stemmers, which hold state."""

    def __init__(self) -> None:
        self._stemmers = tuple(snowballstemmer.stemmer(language) for language in _LANGUAGES)
        self._stems_of = lru_cache(_KEPT_WORDS)(self._stem)  # people use few words, and stemming one costs 0.1 ms

    def stems(self, found: list[str]) -> list[str]:
        """Return the different stems of those words in every language; words with a digit in them have none."""
        stems: dict[str, None] = {}
        for word in dict.fromkeys(found):
            stems.update(dict.fromkeys(self._stems_of(word)))
        return list(stems)

    def terms(self, query: str) -> list[str]:
        """Return what matches rows with a keyword of the query, or with its stem, for each of its first keywords.

        Every word is quoted, so that no operator of FTS5's has a meaning.
        """
        return [self._term(word) for word in keywords(query)[:_MAX_KEYWORDS]]

    def _stem(self, word: str) -> tuple[str, ...]:
        if not word.isalpha():
            return ()
        endings = (fold(stemmer.stemWord(word)) for stemmer in self._stemmers)
        return tuple(stem for stem in endings if len(stem) >= _MIN_STEM_CHARS)

    def _term(self, word: str) -> str:
        stems = self.stems([word])
        return f"words : {_any_of([word])}" + (f" OR stems : {_any_of(stems)}" if stems else "")


def _any_of(terms: list[str]) -> str:
    return "(" + " OR ".join(f'"{term}"' for term in terms) + ")"
