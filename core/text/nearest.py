"""Find the word that somebody meant who mistyped it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the one of the `known` words that is most like `word`, in any case of letters; "" if none is."""
    folded = {each.casefold(): each for each in known}
    return next((folded[found] for found in get_close_matches(word.casefold(), folded, n=1)), "")
