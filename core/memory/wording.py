"""Which words of a question matter, and which words are the same. Pure; knows no memory and no index."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Final

from core.memory.background import LANGUAGES
from core.unicode import fold

_WORD: Final = re.compile(r"[^\W_]+")
_MIN_PREFIX_CHARS: Final = 4
_COMMON_WEIGHT: Final = 0.5

# Folded. What is left of a question without them is what it asks about.
_FUNCTION_WORDS: Final = frozenset(
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


def words(text: str) -> Sequence[str]:
    """Return the different words of a text that are no function words, folded, in order."""
    found = dict.fromkeys(_WORD.findall(text.lower() if text.isascii() else fold(text)))
    return [word for word in found if word not in _FUNCTION_WORDS and (len(word) > 1 or word.isdigit())]


def same(one: str, other: str) -> bool:
    """Tell whether two folded words are one with different endings: `senha` and `senhas`, not `casa` and `caso`."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    needed = max(_MIN_PREFIX_CHARS, -(-len(long) * 7 // 10))
    return len(short) >= needed and short[:needed] == long[:needed]


class Wording:
    """Compares wordings. Words that anybody's question may hold (`background`) count half of the others."""

    @cached_property
    def _common(self) -> frozenset[str]:
        return frozenset(word for sentences in LANGUAGES for sentence in sentences for word in words(sentence))

    def coverage(self, asked: Sequence[str], held: Collection[str]) -> float:
        """Return how much of what is asked the held words cover, in 0..1, each asked word by its rarity."""
        total = covered = 0.0
        for word in asked:
            weight = _COMMON_WEIGHT if word in self._common else 1.0
            total += weight
            if word in held or any(same(word, other) for other in held):
                covered += weight
        return covered / total if total else 0.0
