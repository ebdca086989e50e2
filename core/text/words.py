"""Words of a text, folded for comparison, and the Portuguese, English and Spanish words that carry no meaning alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from core.text.unicode import fold

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
