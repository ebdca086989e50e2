"""Tell whether a memory is about what a question asks for: whose ("my", "my mother's"), and which (wifi, bank).

Words and vectors are much alike for "the bank's password" and "the wifi's". So the words of a question that tell whose
or which thing is meant are looked up in the memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from core.text.senses import (
    MemoryWords,
    is_kind,
    is_one_of_several,
    named_by,
    relatives,
    sense,
    senses,
    siblings,
    tells,
    told_by,
    told_in,
    words,
)
from core.text.unicode import flat
from core.text.words import folded_words, same

MAX_CHARS: Final = 600
_KEPT_QUESTIONS: Final = 512
"""The start of a question, which names its subject."""

_OF: Final = frozenset(
    "de do da dos das del of for para pra pro at in on no na nos nas en em from with com con".split()
)
_OF_WHICH: Final = {"of": frozenset("de do da dos das del of".split()), "with": frozenset("con com with".split())}
"""Words behind a noun and before what tells which one it is."""

_DOES: Final = frozenset({"does", "did"})
_MINE: Final = frozenset("my our meu minha meus minhas mi mis nosso nossa nuestro nuestra".split())
ARTICLES: Final = _MINE | frozenset("o a os as the el la los las".split())
_WHOSE: Final = re.compile("['’]s$")
_SHARED: Final = 2
"""How many words a question and a memory have in common at least that are parallel but for one."""

_STEM_CHARS: Final = 4
"""Words that begin so are one, perhaps shortened: "seño", "señora"."""

_SHORT: Final = 8
"""How many words a memory has at most that is told in parallel to a question."""

_INFINITIVE: Final = ("ar", "er", "ir")


@dataclass(frozen=True, slots=True)
class AskedWord:
    """A word of a question. `names`: it may tell what is asked for, and is none of grammar or of asking.

    `whose`: it names somebody or something, or one of a group of such things, rather than what of it is asked for.
    """

    text: str
    sense: str
    names: bool
    whose: bool = False

    @property
    def is_known(self) -> bool:
        """Whether it is a name of a concept."""
        return bool(named_by(self.text))


@lru_cache(_KEPT_QUESTIONS)
def asked_words(question: str) -> tuple[AskedWord, ...]:
    """Return the words of a question, in order."""
    said = words(question[:MAX_CHARS])
    return tuple(_word(said, at) for at in range(len(said)))


def _word(said: Sequence[str], at: int) -> AskedWord:
    text, plain = said[at], _WHOSE.sub("", said[at])
    meant = sense(plain)
    if not tells(plain):
        return AskedWord(text, meant, names=False)
    is_name = at > 0 and text[0].isupper() and not text.isupper()
    is_owner = text != plain or (at > 0 and flat(said[at - 1]) in _DOES)  # "Bex's", "does Bex wear"
    return AskedWord(plain, meant, names=True, whose=is_name or is_owner or is_one_of_several(meant))


def held_words(asked: Iterable[AskedWord], told: MemoryWords) -> list[AskedWord]:
    """Return the naming words that a memory has, in another language or with another ending, too."""
    return [word for word in asked if word.text and word.names and _is_in(word, told)]


def _is_in(word: AskedWord, told: MemoryWords) -> bool:
    if not word.whose:
        return told.holds(word.text)
    if siblings([word.sense]):  # a daughter is no son
        return word.sense in told.senses
    return told.folded.issuperset(folded_words(word.text))  # "Marcos" is not "março"


def other_subject(asked: Sequence[AskedWord], content: str, bindings: Iterable[str]) -> AskedWord | None:
    """Return the word of a question that tells a subject which the memory is not about; None if there is none."""
    told = told_in(content, tuple(bindings))
    held = held_words(asked, told)
    missing = [at for at, word in enumerate(asked) if word.names and word not in held]
    group = siblings(told.senses) - siblings(word.sense for word in held)
    for at in missing:
        if asked[at].sense in group or (asked[at].whose and not siblings([asked[at].sense])):
            return asked[at]
    if held and all(_is_of_kind(word) for word in held):
        complements = (asked[at] for at in missing if not asked[at].whose and _is_complement(asked, at, held))
        if (complement := next(complements, None)) is not None:
            return complement
    rivals = (asked[at] for at in missing if _has_rival(asked, at, held, content))
    return next(rivals, None) or _whose_else(asked, content, held)


def _is_of_kind(word: AskedWord) -> bool:
    """Return whether a word only says what kind of thing is meant: "code", or as "pin" one of a kind."""
    return is_kind(word.sense) or (not word.is_known and any(is_kind(concept.key) for concept in told_by(word.text)))


def _whose_else(asked: Sequence[AskedWord], content: str, held: Sequence[AskedWord]) -> AskedWord | None:
    """Return the word of a question that tells whose a thing is: "my CPF", of a mother's, and back."""
    of = relatives(senses(content))
    named = [word for word in asked if word.names and relatives([word.sense])]
    if named:
        told = pairwise(words(content[:MAX_CHARS]))
        own = any(flat(my) in _MINE and sense(word) in {each.sense for each in held} for my, word in told)
        return named[0] if own and not of else None
    owned = (pair for pair in pairwise(asked) if flat(pair[0].text) in _MINE and pair[1].sense in senses(content))
    mine = next((f"{my.text} {word.text}" for my, word in owned), "") if of else ""
    return AskedWord(mine, mine, names=True) if mine else None


def is_of_another(asked: Sequence[AskedWord], content: str) -> bool:
    """Return whether a memory is of a relative, where no relative's address (birthday, number) was asked for."""
    named = [word for word in asked if word.names]
    return all(is_kind(word.sense) for word in named) and bool(relatives(senses(content)))


def _has_rival(asked: Sequence[AskedWord], at: int, held: Sequence[AskedWord], content: str) -> bool:
    """Return whether the memory has another word where a word of the question says which: "car key", "office key".

    Both are names of concepts: any other word may be one of many for the same.
    """
    head = _head(asked, at)
    if head is None or head not in held or not asked[at].is_known:
        return False
    told = asked_words(content)
    senses_asked = {word.sense for word in asked}
    rivals = (word for place, word in enumerate(told) if word.is_known and _head(told, place, head.sense) is not None)
    return any(word.sense not in senses_asked for word in rivals)


def is_parallel(asked: Sequence[AskedWord], content: str, bindings: Iterable[str]) -> bool:
    """Return whether a memory may be about another thing: it tells what a question asks, but for one word.

    That is less sure than `other_subject`, as the word may only be another one for the same.
    """
    held = held_words(asked, told_in(content, tuple(bindings)))
    missing = [at for at, word in enumerate(asked) if word.names and word not in held]
    if len(missing) != 1:
        return False
    return _is_parallel(asked, missing[0], held, content) or _says_another(asked, missing[0], held, content)


def _says_another(asked: Sequence[AskedWord], at: int, held: Sequence[AskedWord], content: str) -> bool:
    """Return whether a memory says another word where the question says which: "stats exam", "llave del candado rojo".

    Each stands in one way by one thing: before it, behind it, or behind it and "of". Of a number any other is one.
    """
    word, told = asked[at], asked_words(content[:MAX_CHARS])
    if word.text.isdigit():
        return any(other.text.isdigit() for other in told)
    if flat(word.text).endswith(_INFINITIVE) or is_kind(word.sense) or relatives([word.sense]):
        return False
    known, start = {each.sense for each in asked}, flat(word.text)[:_STEM_CHARS]
    ways = [(way, head) for way, head in _places(asked, at) if head in held and not relatives([head.sense])]
    return len([each for each in told if each.names]) <= _SHORT and any(
        other.names
        and not other.text[0].isdigit()
        and other.sense not in known
        and not flat(other.text).startswith(start)
        and any(way == there and _is_same(head, beside) for there, beside in _places(told, place) for way, head in ways)
        for place, other in enumerate(told)
    )


def _places(said: Sequence[AskedWord], at: int) -> Iterator[tuple[str, AskedWord]]:
    """Yield the ways in which a word may say of another one which it is, and that one."""
    if at + 1 < len(said) and said[at + 1].names:
        yield "before", said[at + 1]
    if at > 1 and said[at - 1].names and not said[at - 1].whose and flat(said[at - 2].text) in _OF | ARTICLES:
        yield "behind", said[at - 1]
    start = at
    while start and flat(said[start - 1].text) in ARTICLES:
        start -= 1
    way = next((name for name, words in _OF_WHICH.items() if start > 1 and flat(said[start - 1].text) in words), "")
    if way and said[start - 2].names:
        yield way, said[start - 2]


def _is_parallel(asked: Sequence[AskedWord], at: int, held: Sequence[AskedWord], content: str) -> bool:
    """Return whether a short memory tells all that a question asks but for one word, and another in the place of that.

    "When was my right knee operated?", of the left knee. The word may tell which thing is meant: it is a number, stands
    before a word that the memory has, or after an article or a preposition. Its place is beside such a word.
    """
    before = flat(asked[at - 1].text) if at else ""
    after = asked[at + 1 : at + 2]
    is_noun = any(word in held or flat(word.text) in _DOES for word in after) or asked[at].text.isdigit()
    is_noun |= before in _OF | ARTICLES and not flat(asked[at].text).endswith(_INFINITIVE)
    naming, told = ([word for word in each if word.names] for each in (asked, asked_words(content[:MAX_CHARS])))
    shared = [word for word in naming if any(_is_same(word, other) for other in told)]
    if not is_noun or len(told) > _SHORT:
        return False
    if asked[at] in shared or not len(shared) == len(naming) - 1 >= _SHARED:
        return False
    place = naming.index(asked[at])
    beside = [(side, naming[place + side]) for side in (-1, 1) if 0 <= place + side < len(naming)]
    there = [
        told[each - side]
        for side, word in beside
        for each, other in enumerate(told)
        if _is_same(word, other) and 0 <= each - side < len(told)
    ]
    start = flat(asked[at].text)[:_STEM_CHARS]
    is_number = asked[at].text.isdigit()
    rivals = (other for other in there if other.text.isdigit() == is_number and not flat(other.text).startswith(start))
    return any(not any(_is_same(word, other) for word in naming) for other in rivals)


def _is_same(word: AskedWord, other: AskedWord) -> bool:
    """Return whether two words are one, perhaps with another ending; not where one is a translation."""
    return any(same(one, another) for one in folded_words(word.text) for another in folded_words(other.text))


def _head(said: Sequence[AskedWord], at: int, wanted: str = "") -> AskedWord | None:
    """Return the word of which a word says which one: what follows it, or stands before "of"."""
    if at + 1 < len(said) and said[at + 1].names and wanted in {"", said[at + 1].sense}:
        return said[at + 1]
    start = at
    while start and flat(said[start - 1].text) in ARTICLES:
        start -= 1
    if not start or flat(said[start - 1].text) not in _OF:
        return None
    head = next(iter(said[start - 2 : start - 1]), None)
    return head if head is not None and head.names and wanted in {"", head.sense} else None


def _is_complement(asked: Sequence[AskedWord], at: int, held: Sequence[AskedWord]) -> bool:
    """Return whether the word tells which of a kind is meant: "password of the bank", "bank password"."""
    if at + 1 < len(asked) and asked[at + 1] in held:
        return True
    start = at
    while start and flat(asked[start - 1].text) in ARTICLES:
        start -= 1
    if not start or asked[start - 1] in held:
        return bool(start)
    is_verb = start == at and flat(asked[at].text).endswith(_INFINITIVE)
    return flat(asked[start - 1].text) in _OF and not is_verb
