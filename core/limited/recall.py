"""Choose which of the memories that a search found answer a question, and quote them; nothing is composed.

A search tells how likely each memory answers (`MemoryHit.chance`), by words and vectors that are much alike for "the
bank's password" and "the wifi's". So the words that tell whose or which thing is asked for are looked up in the memory.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, auto
from operator import mul
from typing import Final

from core.limited import sentences as say
from core.limited.bindings import MAX_TOLD_CHARS
from core.limited.scene import Scene, day, when
from core.limited.words import Told, is_kind, named_by, relatives, sense, senses, siblings, subject, tells, words
from core.text.markdown import quoted
from core.text.unicode import flat
from core.text.words import folded_words
from core.types import AskedTime, Locale, MemoryHit, MemoryItem

MAX_QUOTES: Final = 5
MAX_NEAR: Final = 3
MAX_LISTED: Final = 25

SURE: Final = 0.7
"""The chance of being the answer from which on a memory is told as such."""

NEAR: Final = 0.28
"""The chance from which on it is told as what comes near."""

_ALIKE: Final = 0.5
"""The share of the best chance that others told beside it have."""

_SAID: Final = 0.6
"""The score of a past message that answers a question to which no memory does."""

_OF: Final = frozenset(
    "de do da dos das del of for para pra pro at in on no na nos nas en em from with com con".split()
)
_DOES: Final = frozenset({"does", "did"})
_ARTICLES: Final = frozenset("o a os as meu minha meus minhas the my our el la los las mi mis nuestro nuestra".split())
_LEFT_OUT: Final = sense("number")
"""A kind of thing that memories seldom call so: "the locker is 57"."""

_WHOSE: Final = re.compile("['’]s$")
_INFINITIVE: Final = ("ar", "er", "ir")

_WEIGHTS: Final = (0.25, 0.32, 0.72, 1.75, -0.19, -0.73, 1.81, -2.15)
"""Weights of a logistic model: how much each of these tells for a memory, or against it.

They are the odds that the search gives it, and their lead over the next best; the question's words that it has, names
of a concept and others; the names of a concept, and of somebody or something, that it lacks; how many more words it has
than any other memory, as a share of all. They were fitted on the lives of tests/data/recall_tune.json and on the
conversations of tests/data/secretary_tune.json.
"""

_MOST: Final = 2
_NO_ODDS: Final = -4.0
_OF_ANOTHER: Final = 3.0
"""By how much the odds are less if a memory is of a relative who is not asked for."""

_MARGIN: Final = 0.01
_LEAST: Final = 0.05
"""The chance by the search under which words alone make nothing sure."""


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

    @property
    def is_known(self) -> bool:
        """Whether it is a name of a concept."""
        return bool(named_by(self.text))


_DAY: Final = _Word("", "", names=True)
"""Stands for the days that a question names."""


@dataclass(frozen=True, slots=True)
class _Fit:
    """A memory, its chance to answer a question, and the naming words of that which it has, and which it lacks."""

    hit: MemoryHit
    chance: float
    held: list[_Word]
    missing: list[_Word]

    @property
    def item(self) -> MemoryItem:
        """The memory."""
        return self.hit.item


def judged(question: str, hits: Sequence[MemoryHit], time: AskedTime | None = None) -> Verdict:
    """Return what a question is answered with, which names that time, if any."""
    if time is not None and time.alone:
        return _of_time([hit.item for hit in hits], time)
    asked = _read(time.rest or question if time is not None else question)
    days = None if time is None or time.said else time
    candidates = (_fits(asked, few, days) for few in (_earlier(hits), _own(asked, hits)))
    fits = next((fits for fits in candidates if fits and fits[0].chance >= NEAR), [])
    likely = [fit for fit in fits if fit.chance >= NEAR]
    if not likely:
        return Verdict(Sureness.NOTHING)
    best = likely[0]
    other = _other_subject(asked, best)
    if other is not None:
        about = next((fit for fit in likely if other in fit.held), None)
        if about is None:
            is_like = best.hit.chance >= SURE
            return Verdict(Sureness.OTHER, (best.item,), other.text) if is_like else Verdict(Sureness.NOTHING)
        best = about
    is_lacking = any(word.whose or is_kind(word.sense) for word in best.missing) or _is_of_another(asked, best.item)
    if best.chance >= SURE and not is_lacking:
        least = _ALIKE * best.hit.chance
        alike = [fit.item for fit in fits if fit.hit.chance >= least and not (fit.missing or best.missing)]
        return Verdict(Sureness.SURE, tuple(alike[:MAX_QUOTES]) or (best.item,))
    near = [fit.item for fit in likely if fit.chance >= _ALIKE * best.chance]
    return Verdict(Sureness.NEAR, tuple(near[:MAX_NEAR]))


def _earlier(hits: Sequence[MemoryHit]) -> list[MemoryHit]:
    """Return the earlier versions among the hits, which are found only where what was before is asked for.

    Each is as likely as its memory.
    """
    chances = {hit.item.id: hit.chance for hit in hits}
    past = (hit for hit in hits if hit.item.current)
    return [replace(hit, chance=max(hit.chance, chances.get(hit.item.current, 0.0))) for hit in past]


def _own(asked: Sequence[_Word], hits: Sequence[MemoryHit]) -> Sequence[MemoryHit]:
    """Return the hits that are not of a relative who is not asked for; all, if there are no others."""
    return [hit for hit in hits if not _is_of_another(asked, hit.item)] or hits


def _is_of_another(asked: Sequence[_Word], item: MemoryItem) -> bool:
    """Return whether a memory is of a relative, where no relative's address (birthday, number) was asked for."""
    named = [word for word in asked if word.names]
    return all(is_kind(word.sense) for word in named) and bool(relatives(senses(item.content)))


def _of_time(items: Sequence[MemoryItem], time: AskedTime) -> Verdict:
    """Return what was said then, or else what means one of the days, by time."""
    if not time.said:
        items = sorted((item for item in items if _is_of(item, time)), key=lambda item: item.meant)
    return Verdict(Sureness.SURE if items else Sureness.NOTHING, tuple(items))


def _is_of(item: MemoryItem, time: AskedTime | None) -> bool:
    """Return whether a memory means one of the days that are asked for."""
    if time is None or not item.meant:
        return False
    return time.first <= datetime.fromisoformat(item.meant).date() <= time.last


def _fits(asked: Sequence[_Word], hits: Sequence[MemoryHit], time: AskedTime | None) -> list[_Fit]:
    """Return how memories fit a question, the best first; that one means a day that is asked for counts as a word."""
    naming = [word for word in asked if word.names] + [_DAY] * (time is not None)
    held = [_held(naming, hit.item) + [_DAY] * _is_of(hit.item, time) for hit in hits]
    odds = [_odds(hit.chance) - _OF_ANOTHER * _is_of_relative(naming, hit.item) for hit in hits]
    fits = []
    for at, hit in enumerate(hits):
        known = sum(word.is_known for word in held[at])
        missing = [word for word in naming if word not in held[at] and word.sense != _LEFT_OUT]
        rivals = [each for each in range(len(hits)) if each != at and (missing or held[each] != held[at])]
        features = (
            odds[at],
            odds[at] - max((odds[each] for each in rivals), default=_NO_ODDS),
            min(known, _MOST),
            min(len(held[at]) - known, _MOST),
            sum(word.is_known for word in missing),
            sum(word.whose for word in missing),
            (len(held[at]) - max((len(held[each]) for each in rivals), default=0)) / max(len(naming), 1),
            1,
        )
        chance = 1 / (1 + math.exp(-sum(map(mul, _WEIGHTS, features))))
        fits.append(_Fit(hit, chance if hit.chance >= _LEAST else min(chance, NEAR), held[at], missing))
    return sorted(fits, key=lambda fit: -fit.chance)


def _is_of_relative(naming: Sequence[_Word], item: MemoryItem) -> bool:
    """Return whether a memory is of a relative who is not asked for."""
    return bool(relatives(senses(item.content)).difference(word.sense for word in naming))


def _odds(chance: float) -> float:
    """Return the logarithm of the odds."""
    within = min(max(chance, _MARGIN), 1 - _MARGIN)
    return math.log(within / (1 - within))


def _read(question: str) -> tuple[_Word, ...]:
    said = words(question[:MAX_TOLD_CHARS])
    return tuple(_word(said, at) for at in range(len(said)))


def _word(said: Sequence[str], at: int) -> _Word:
    text, plain = said[at], _WHOSE.sub("", said[at])
    meant = sense(plain)
    if not tells(plain):
        return _Word(text, meant, names=False)
    is_name = at > 0 and text[0].isupper() and not text.isupper()
    is_owner = text != plain or (at > 0 and flat(said[at - 1]) in _DOES)  # "Bex's", "does Bex wear"
    return _Word(plain, meant, names=True, whose=is_name or is_owner or bool(siblings([meant])))


def _held(asked: Sequence[_Word], item: MemoryItem) -> list[_Word]:
    """Return the naming words that a memory has, in another language or with another ending, too."""
    told = Told(item.content, item.bindings)
    return [word for word in asked if word is not _DAY and _is_in(word, told)]


def _is_in(word: _Word, told: Told) -> bool:
    if not word.whose:
        return told.holds(word.text)
    if siblings([word.sense]):  # a daughter is no son
        return word.sense in told.senses
    return told.folded.issuperset(folded_words(word.text))  # "Marcos" is not "março"


def _other_subject(asked: Sequence[_Word], fit: _Fit) -> _Word | None:
    """Return the word of a question that tells a subject which the memory is not about."""
    held = fit.held
    missing = [at for at, word in enumerate(asked) if word.names and word not in held]
    group = siblings(senses(fit.item.content)) - siblings(word.sense for word in held)
    for at in missing:
        if asked[at].whose and (asked[at].sense in group or not siblings([asked[at].sense])):
            return asked[at]
    if held and all(is_kind(word.sense) for word in held):
        complements = (asked[at] for at in missing if not asked[at].whose and _is_complement(asked, at, held))
        return next(complements, None)
    return None


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
            return _quoting(say.NEAREST[locale], verdict.items, locale)
        case Sureness.OTHER:
            quote = quoted(verdict.items[0].content)
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
    """Return memories behind a lead: one in its line, or as a block below it; several as a list."""
    if len(items) > 1:
        return "\n".join((lead, *(_quoting("-", [item], locale) for item in items)))
    quote, days = quoted(items[0].content, None), when(items[0], locale)
    return f"{lead}{days}{quote}" if quote.startswith("\n") else f"{lead} {quote}{days}"
