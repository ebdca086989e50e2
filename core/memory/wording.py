"""Which words of a question matter, and which words are the same."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Final

from core.text.words import FUNCTION_WORDS, folded_words

_MIN_PREFIX_CHARS: Final = 4
_COMMON_WEIGHT: Final = 0.5


def words(text: str) -> Sequence[str]:
    """Return the different words of a text that are no function words, folded, in order."""
    found = dict.fromkeys(folded_words(text))
    return [word for word in found if word not in FUNCTION_WORDS and (len(word) > 1 or word.isdigit())]


def same(one: str, other: str) -> bool:
    """Tell whether two folded words are one with different endings: `senha` and `senhas`, not `casa` and `caso`."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    needed = max(_MIN_PREFIX_CHARS, -(-len(long) * 7 // 10))
    return len(short) >= needed and short[:needed] == long[:needed]


class Held:
    """The words of some text, ready to be asked for."""

    def __init__(self, text: str) -> None:
        """Lay the words out in one string: a search in it is much cheaper than comparing words one by one."""
        self._line = f" {' '.join(folded_words(text))} "

    def __contains__(self, word: str) -> bool:
        """Tell whether a folded word is among them, whatever its ending."""
        if f" {word} " in self._line:
            return True
        if len(word) < _MIN_PREFIX_CHARS or f" {word[:_MIN_PREFIX_CHARS]}" not in self._line:
            return False
        return any(same(word, other) for other in self._line.split())


class Asked:
    """The words of a question, each with its rarity."""

    def __init__(self, question: str, common: Container[str]) -> None:
        """Words that anybody's question may hold (`common`) count half of the others."""
        self._weights = {word: _COMMON_WEIGHT if word in common else 1.0 for word in words(question)}
        self._total = sum(self._weights.values())

    def coverage(self, held: Held) -> float:
        """Return how much of what is asked the held words cover, in 0..1."""
        if not self._weights:
            return 0.0
        return sum(weight for word, weight in self._weights.items() if word in held) / self._total


def common_words(sentences: Iterable[str]) -> frozenset[str]:
    """Return the words of sentences that are nobody's in particular."""
    return frozenset(word for sentence in sentences for word in words(sentence))
