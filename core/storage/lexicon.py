"""What counts as a word when memories are looked up by their words.

Knows function words and endings of Portuguese, English and Spanish. Does not know where the words are kept. Text is
folded first, so that case and accents never stand between a person and a memory.
"""

from __future__ import annotations

import re
from functools import lru_cache

import snowballstemmer

from core.unicode import fold

_WORD = re.compile(r"[^\W_]+")
_LANGUAGES = ("portuguese", "english", "spanish")
_MIN_STEM_CHARS = 3
_MAX_KEYWORDS = 24
_KEPT_WORDS = 8192

# Folded, like everything they are compared with. Question words and memory verbs are in: nobody stores a fact by them.
_FUNCTION_WORDS = frozenset(
    """
    a o as os um uma uns umas de do da dos das em no na nos nas por pelo pela para pra com sem que qual quais quem
    quando onde como quanto quanta e ou mas se eu tu voce ele ela nos eles elas me te lhe meu minha meus minhas seu sua
    seus suas isso isto aquilo este esta esse essa ao aos foi ser sou era estou esta sao tem tenho ter ja nao sim mais
    lembra lembre lembrar sabe
    the an of to in on at by for with from and or but is are was were be been am i you he she it we they my your his her
    its our their this that these those what which who whom when where how do does did have has had not yes about know
    remember please s t m
    el la los las una unos unas del al en con sin cual cuales quien cuando donde cuanto cuanta y pero yo mi mis tu tus
    su sus lo le les es son fue estoy tiene tengo esto eso recuerda recuerdas sabes
    """.split()
)


def words(text: str) -> list[str]:
    """Return the folded words of a text, in order."""
    return _WORD.findall(fold(text))


def keywords(text: str) -> list[str]:
    """Return the different words of a question; function words only where it has no others."""
    found = list(dict.fromkeys(words(text)))
    return [word for word in found if word not in _FUNCTION_WORDS] or found


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
