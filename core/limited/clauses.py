"""Cut a text into its clauses, or a list into its entries, and put it together with some of them changed or left out.

People tell several things in one sentence: "Rui wears L and Ana wears M", "shopping: milk, eggs". What they say later
is mostly about one of these. Two values of one clause ("tuesday and thursday") are not cut apart, nor a card, nor an
abbreviation, and a list keeps its head; where a message is only read, `core.text.clauses` gives all the places to try.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import Final

from core.limited.values import values
from core.text.senses import is_kind, sense, silent, told_in, words
from core.text.subject import ARTICLES
from core.text.unicode import flat
from core.text.words import folded_words, stands_in

_KEPT_TEXTS: Final = 512
_FEWEST: Final = 2
"""Fewer clauses are none: the text is one."""

_FEW_WORDS: Final = 3

_BETWEEN: Final = re.compile(
    r"(\s*[,;](?!\d)\s*(?:(?:e|and|y|&)\s+)?|\.\s+|\s+(?:e|and|y|&|mas|pero|but)\s+)", re.IGNORECASE
)
"""What stands between the clauses of a text, or the entries of a list that is written in a line."""

_LABEL: Final = re.compile(r"[^:\n]{1,60}:\s")
_CARD_LABEL: Final = re.compile(r"[^:\n]{1,30}:\s")

_SUBJECT: Final = re.compile(
    r"(?:(?i:the|my|our|os?|as?|meu|minha|noss[oa]|el|la|mi|nuestr[oa]) )?"
    r"(?:[a-zà-ÿ]+ )?[A-ZÀ-Þ][\w’'-]*(?: [A-ZÀ-Þ][\w’'-]*)*(?= [^\W\d_]+ \S)"
)
"""Whom a sentence is about: "my sister Ana lives in …"."""

_DETERMINERS: Final = ARTICLES | frozenset("my our meu minha nosso nossa mi nuestro nuestra mis meus minhas".split())
_OF_KIND: Final[Mapping[str, frozenset[str]]] = {
    sense(name): frozenset(kinds.split())
    for name, kinds in {
        "endereço": "place",
        "morada": "place",
        "telefone": "phone",
        "número": "phone number code",
        "hora": "clock",
        "dia": "day",
        "data": "day",
        "preço": "money",
        "tamanho": "size",
        "senha": "code",
        "código": "code",
    }.items()
}
"""Words for the kinds of values: "her number" may be a phone."""


@dataclass(frozen=True, slots=True)
class Clauses:
    """A text as what it begins with ("" for a sentence), its clauses, and what stands between each two of these.

    A card, whose lines are "name: value", has one clause, which is all of it.
    """

    head: str
    each: tuple[str, ...]
    seams: tuple[str, ...]

    @property
    def are_several(self) -> bool:
        """Whether there are several."""
        return len(self.each) >= _FEWEST

    @property
    def is_list(self) -> bool:
        """Whether they are entries: below a head, in lines, or three of a few words each."""
        is_bare = len(self.each) > _FEWEST and all(len(each.split()) <= _FEW_WORDS for each in self.each)
        return bool(self.head) or "\n" in self.seams or is_bare

    @property
    def are_alike(self) -> bool:
        """Whether the second tells something of its own: it has a subject behind an "and", or a value as the first."""
        is_clause = bool(self.seams) and self.seams[0].strip(" ,;") != "" and has_subject(self.each[1])
        return self.are_several and (is_clause or not _kinds(self.each[0]).isdisjoint(_kinds(self.each[1])))

    def would_lose(self, gone: Collection[int]) -> bool:
        """Return whether the others need what would be gone, or are it in other words.

        "Doctor and dentist on Friday" has one day, "the butcher, Big Ray" is one person, "12 Elm St, York" one place.
        """
        rest = set[str]().union(*(_kinds(each) for at, each in enumerate(self.each) if at not in gone))
        if self.is_list:
            return bool(self.head) and not rest and any(_kinds(self.each[at]) for at in gone)
        if len(self.seams) == 1 and not self.seams[0].strip(" ,;") and not self.are_alike:
            return True
        return any(not has_subject(self.each[at]) and not _kinds(self.each[at]) <= rest for at in gone)

    def changed(self, at: int, text: str) -> str:
        """Return the text with another in place of one clause."""
        return self._together([text if at == other else each for other, each in enumerate(self.each)], self.seams)

    def without(self, gone: Collection[int]) -> str:
        """Return the text without some clauses; what follows the first of a sentence keeps its subject."""
        rest = [each for at, each in enumerate(self.each) if at not in gone]
        if not rest:
            return ""
        subject = _SUBJECT.match(self.each[0])
        if subject and 0 in gone and not self.is_list and not has_subject(rest[0]):
            rest[0] = f"{subject[0]} {rest[0]}"
        end = self.each[-1][len(self.each[-1].rstrip(" .!")) :] if rest[-1] != self.each[-1] else ""
        seams = [*self.seams[: len(rest) - 2], *self.seams[-1:]][: len(rest) - 1]
        return self._together(rest, seams).rstrip(" ,;") + end

    def _together(self, each: Sequence[str], seams: Sequence[str]) -> str:
        return self.head + "".join(f"{one}{seam}" for one, seam in zip(each, [*seams, ""], strict=True))

    def held(self, said: Sequence[str]) -> list[list[str]]:
        """Return which of some words each clause holds, but for those that the head does."""
        return [[word for word in said if not _holds(self.head, word) and holds(each, word)] for each in self.each]

    def about(self, said: Sequence[str]) -> int | None:
        """Return the one clause that holds most of some words, names of things before kinds, the first of two.

        A kind goes first in a clause that begins with it: in "locker 57, code 4417" the code is the locker's. It is
        None where no clause holds any. Words that several clauses hold, or the head, tell none of them.
        """
        held = self.held(said)
        telling = [[word for word in each if sum(word in other for other in held) == 1] for each in held]
        weights = [sum(map(self._weight, repeat(at), each)) for at, each in enumerate(telling)]
        best = max(weights, default=0)
        likeliest = [at for at, weight in enumerate(weights) if weight == best > 0]
        return min(likeliest, key=lambda at: said.index(telling[at][0]), default=None) if self.are_several else None

    def _weight(self, at: int, word: str) -> int:
        """Return how much a word of a clause tells that it is meant."""
        if not is_kind(sense(word)):
            return 2
        return 3 if at and sense(word) == sense(next(iter(folded_words(self.each[at])), "")) else 1


def holds(text: str, word: str) -> bool:
    """Return whether a text tells a word, in any form, or a value of the kind that the word names."""
    if _holds(text, word):
        return True
    kinds = _OF_KIND.get(sense(word), frozenset())
    return bool(kinds) and any(value.kind in kinds for value in values(text))


def _holds(text: str, word: str) -> bool:
    """Return whether a text has a word, in any form; a kind of thing, if it names that."""
    if any(map(str.isdigit, word)):
        return stands_in(flat(word), flat(text))
    told = told_in(text, ())
    return sense(word) in told.senses if is_kind(sense(word)) else told.tells(word)


def telling(text: str) -> tuple[str, ...]:
    """Return the words of a text that may tell what it is about."""
    return tuple(dict.fromkeys(word for word in words(text) if not silent(word)))


def has_subject(clause: str) -> bool:
    """Return whether a clause begins by what it is about: a name, or a thing with its article."""
    first = next(iter(folded_words(clause)), "")
    return clause[:1].isupper() or clause[:1].isdigit() or first in _DETERMINERS


@lru_cache(_KEPT_TEXTS)
def cut(text: str) -> Clauses:
    """Return a text as its clauses."""
    if "\n" in text:
        head, *lines = text.split("\n")
        is_card = 2 * sum(_CARD_LABEL.match(line) is not None for line in lines) > len(lines)
        return Clauses("", (text,), ()) if is_card else Clauses(f"{head}\n", tuple(lines), ("\n",) * (len(lines) - 1))
    named = _LABEL.match(text)
    head = named[0] if named else ""
    parts = _BETWEEN.split(text[len(head) :])
    each, seams = [parts[0]], list[str]()
    for seam, part in zip(parts[1::2], parts[2::2], strict=True):
        if not head and _goes_on(each[-1], seam, part):
            each[-1] += f"{seam}{part}"
        else:
            each.append(part)
            seams.append(seam)
    return Clauses(head, tuple(each), tuple(seams))


def _goes_on(clause: str, seam: str, part: str) -> bool:
    """Return whether what is behind an "and" is one more value of what is before it: "tuesday and thursday at 7"."""
    if "." in seam:
        return _ABBREVIATED.search(flat(clause)) is not None
    before, behind = values(clause), values(part)
    if not (before and behind) or not seam.strip(" ,;"):
        return False
    last, first = before[-1], behind[0]
    is_joined = not clause[last.end :].strip() and first.start <= _MAX_PREPOSITION_CHARS
    return is_joined and last.kind == first.kind != "name"


def _kinds(text: str) -> set[str]:
    return {value.kind for value in values(text) if value.kind != "name"}


_MAX_PREPOSITION_CHARS: Final = 4
_ABBREVIATED: Final = re.compile(r"\b(?:dr|dra|sr|sra|mr|mrs|ms|st|av|r|prof|profa|no|tel|apt|apto|[ap]\.m)$")
