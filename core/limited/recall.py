"""Choose which of the memories that a search found answer a question, and quote them; nothing is composed.

A search tells how likely each memory answers (`MemoryHit.chance`), by words and vectors that are much alike for "the
bank's password" and "the wifi's". So the words that tell whose or which thing is asked for are looked up in the memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from core.limited import sentences as say
from core.limited.scene import Scene, day, line
from core.limited.words import asks, is_kind, relatives, sense, senses, siblings, silent, subject, words
from core.text.markdown import quoted
from core.text.unicode import flat
from core.text.words import FUNCTION_WORDS, folded_words, same
from core.types import NEAR, SURE, Locale, MemoryHit, MemoryItem

MAX_QUOTES: Final = 5
MAX_LISTED: Final = 25

_MATCHING: Final = 0.5
"""The share of a phrase's weight that a memory must hold to be offered for deletion."""

_NAME_WEIGHT: Final = 2
_SAID: Final = 0.6
"""The score of a past message that answers a question to which no memory does."""

_OF: Final = frozenset(
    "de do da dos das del of for para pra pro at in on no na nos nas en em from with com con".split()
)
_DOES: Final = frozenset({"does", "did"})
_WHOSE: Final = re.compile("['’]s$")
_ARTICLES: Final = frozenset("o a os as meu minha meus minhas the my our el la los las mi mis nuestro nuestra".split())
_VAGUE: Final = frozenset(
    """
    size tamanho talla talle tipo type kind day date
    antes before old former previous antigo antiga antiguo antigua anterior
    """.split()
)
"""Words of a question that name nothing, beside those of grammar and of asking."""

_LEFT_OUT: Final = sense("number")
"""A kind of thing that memories seldom call so: "the locker is 57"."""

_INFINITIVE: Final = ("ar", "er", "ir")


class Sureness(Enum):
    """What is told of what a search found."""

    SURE = auto()
    NEAR = auto()
    OTHER = auto()
    """The best memory is of the kind that was asked for, and about somebody or something else."""

    NOTHING = auto()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a question is answered with: the memories, and for OTHER the words that they say nothing about."""

    sureness: Sureness
    items: tuple[MemoryItem, ...] = ()
    about: str = ""


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a question. `names`: it may tell what is asked for, and is none of grammar or of asking.

    `whose`: it names somebody or something, or one of a group of such things, rather than what of it is asked for.
    """

    text: str
    sense: str
    names: bool
    whose: bool = False


def judged(questions: Sequence[str], hits: Sequence[MemoryHit]) -> Sequence[Verdict]:
    """Return what each question is answered with; a memory answers the question of which it has most words."""
    asked = [_read(question) for question in questions]
    found: list[list[MemoryHit]] = [[] for _ in questions]
    for hit in hits:
        shares = [len(_held(question, hit.item)) / max(len(question), 1) for question in asked]
        found[shares.index(max(shares))].append(hit)
    return [_verdict(question, mine) for question, mine in zip(asked, found, strict=True)]


def _verdict(asked: Sequence[_Word], hits: Sequence[MemoryHit]) -> Verdict:
    likely = [hit for hit in hits if hit.chance >= NEAR]
    likely = _earlier(hits, likely) or likely
    if not likely:
        return Verdict(Sureness.NOTHING)
    best = likely[0]
    other = _other_subject(asked, best.item)
    if other is not None:
        about = next((hit for hit in likely if other in _held(asked, hit.item)), None)
        if about is None:
            return Verdict(Sureness.OTHER, (best.item,), other.text)
        best = about
    held = _held(asked, best.item)
    missing = [word for word in asked if word.names and word not in held and word.sense != _LEFT_OUT]
    alike = [hit for hit in likely if _held(asked, hit.item) == held and not _is_of_another(asked, hit.item)] or [best]
    is_partly = any(is_kind(word.sense) or word.whose for word in missing)
    if alike[0].chance < SURE or (missing and is_partly) or _is_of_another(asked, alike[0].item):
        return Verdict(Sureness.NEAR, (alike[0].item,))
    sure = [hit.item for hit in alike if hit.chance >= SURE]
    return Verdict(Sureness.SURE, tuple(sure[: 1 if missing else MAX_QUOTES]))


def _earlier(hits: Sequence[MemoryHit], likely: Sequence[MemoryHit]) -> list[MemoryHit]:
    """Return the earlier versions among the hits, which are found only where what was before is asked for.

    Where a memory is likely, its earlier versions are as likely.
    """
    chances = {hit.item.id: hit.chance for hit in likely}
    past = [
        replace(hit, chance=max(hit.chance, chances.get(hit.item.current, 0.0))) for hit in hits if hit.item.current
    ]
    return [hit for hit in past if hit.chance >= NEAR]


def _read(question: str) -> tuple[_Word, ...]:
    said = words(question)
    return tuple(_word(said, at) for at in range(len(said)))


def _word(said: Sequence[str], at: int) -> _Word:
    text, bare = said[at], _WHOSE.sub("", said[at])
    meant = sense(bare)
    if silent(bare) or asks(bare) or flat(bare) in _VAGUE or FUNCTION_WORDS.issuperset(folded_words(bare)):
        return _Word(text, meant, names=False)
    is_name = at > 0 and text[0].isupper() and not text.isupper()
    is_owner = text != bare or (at > 0 and flat(said[at - 1]) in _DOES)  # "Bex's", "does Bex wear"
    return _Word(bare, meant, names=True, whose=is_name or is_owner or bool(siblings([meant])))


def _held(asked: Sequence[_Word], item: MemoryItem) -> list[_Word]:
    """Return the naming words that a memory has, in another language or with another ending, too."""
    text = " ".join((item.content, *item.bindings))
    meant, folded = senses(text), frozenset(folded_words(text))
    return [word for word in asked if word.names and _is_in(word, meant, folded)]


def _is_in(word: _Word, meant: frozenset[str], folded: frozenset[str]) -> bool:
    parts = folded_words(word.text)
    if not word.whose:
        return word.sense in meant or all(any(same(part, each) for each in folded) for part in parts)
    if siblings([word.sense]):  # a daughter is no son
        return word.sense in meant
    return folded.issuperset(parts)  # "Marcos" is not "março"


def _other_subject(asked: Sequence[_Word], item: MemoryItem) -> _Word | None:
    """Return the word of a question that tells a subject which the memory is not about."""
    held = _held(asked, item)
    missing = [at for at, word in enumerate(asked) if word.names and word not in held]
    group = siblings(senses(" ".join((item.content, *item.bindings)))) - siblings(word.sense for word in held)
    for at in missing:
        if asked[at].whose and (asked[at].sense in group or not siblings([asked[at].sense])):
            return asked[at]
    if held and all(is_kind(word.sense) for word in held):
        complements = (asked[at] for at in missing if not asked[at].whose and _is_complement(asked, at, held))
        return next(complements, None)
    return None


def _is_of_another(asked: Sequence[_Word], item: MemoryItem) -> bool:
    """Return whether a memory is of a relative, where no relative's address (birthday, number) was asked for."""
    named = [word for word in asked if word.names]
    return all(is_kind(word.sense) for word in named) and bool(relatives(senses(item.content)))


def _is_complement(asked: Sequence[_Word], at: int, held: Sequence[_Word]) -> bool:
    """Return whether the word tells which of a kind is meant: "password of the bank", "bank password"."""
    if at + 1 < len(asked) and asked[at + 1] in held:
        return True
    start = at
    while start and flat(asked[start - 1].text) in _ARTICLES:
        start -= 1
    if not start or asked[start - 1] in held:
        return bool(start)
    is_verb = start == at and flat(asked[at].text).endswith(_INFINITIVE)
    return flat(asked[start - 1].text) in _OF and not is_verb


def told(verdict: Verdict, locale: Locale) -> str:
    """Return the text of a verdict, the memories quoted; "" for NOTHING."""
    match verdict.sureness:
        case Sureness.SURE:
            return _quoting(say.HERE_IT_IS[locale], verdict.items, locale)
        case Sureness.NEAR:
            return say.NEAREST[locale].format(quote=line(verdict.items[0], locale, whole=True))
        case Sureness.OTHER:
            quote = quoted(verdict.items[0].content, None)
            return say.OTHER_SUBJECT[locale].format(quote=quote, subject=verdict.about)
        case _:
            return ""


def unknown(question: str, locale: Locale) -> str:
    """Return the text for a question to which nothing that is kept comes near."""
    about = subject(question, asking=True).replace("”", "")
    return say.NOT_FOUND[locale].format(subject=about) if about else say.NOT_IN_MEMORY[locale]


def said_before(scene: Scene) -> str:
    """Return what the person said earlier, with its day, if that holds most of the rare words searched for; else ""."""
    found = scene.said_before
    if found is None or found[1] < _SAID or found[0].at is None:
        return ""
    date = day(found[0].at.astimezone(scene.context.now.tzinfo), scene.locale)
    return say.YOU_SAID[scene.locale].format(date=date, quote=quoted(found[0].text, None))


def listed(found: Sequence[MemoryItem], locale: Locale) -> str:
    """Return all that was found, as a list."""
    if not found:
        return say.KNOW_NOTHING[locale]
    return f"{_quoting(say.ALL_I_KNOW[locale], found[:MAX_LISTED], locale)}\n\n{say.MORE_IN_LIST[locale]}"


def _quoting(lead: str, items: Sequence[MemoryItem], locale: Locale) -> str:
    quotes = [line(item, locale, whole=True) for item in items]
    if len(quotes) == 1:
        return f"{lead} {quotes[0]}"
    return "\n".join((lead, *(f"- {quote}" for quote in quotes)))
