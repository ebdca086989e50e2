"""Choose which of the memories that a search found answer a question, and quote them; nothing is composed.

A search tells how likely each memory answers (`MemoryHit.chance`), by words and vectors that are much alike for "the
bank's password" and "the wifi's". So the words that tell whose or which thing is asked for are looked up in the memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, auto
from operator import mul
from typing import Final

from core.limited import sentences as say
from core.limited.answers import has_form, is_told, kinds_asked, kinds_replaced, rivals
from core.limited.scene import Scene, day, when
from core.text.markdown import quoted
from core.text.senses import MemoryWords, is_kind, relatives, sense, senses, told_in
from core.text.subject import AskedWord, asked_words, held_words, is_of_another, is_parallel, other_subject
from core.types import AskedTime, Locale, MemoryHit, MemoryItem, Passage

MAX_QUOTES: Final = 5
MAX_NEAR: Final = 3
MAX_LISTED: Final = 25

SURE: Final = 0.7
"""The chance of being the answer from which on a memory is told as such."""

NEAR: Final = 0.28
"""The chance from which on it is told as what comes near."""

_DEBT: Final = sense("dívida")
"""Who owes how much is told by nothing else that is known of them."""

_ALIKE: Final = 0.5
"""The share of the best chance that others told beside it have."""

_SAID: Final = 0.6
"""The score of a past message that answers a question to which no memory does."""

_MOST_WORDS: Final = frozenset("mais más mas most menos least more less".split())
"""What stands before a word by which one of several is asked for: "the most annoying client"."""

_LEFT_OUT: Final = sense("number")
"""A kind of thing that memories seldom call so: "the locker is 57"."""

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
    EITHER = auto()
    """Each of several surely answered it once, and one may have taken the place of another."""

    NEAR = auto()
    OTHER = auto()
    """The best memory is of the kind that was asked for, and about somebody or something else."""

    NOTHING = auto()


@dataclass(frozen=True, slots=True)
class RecallVerdict:
    """What a question is answered with, and the memories told of."""

    sureness: Sureness
    items: tuple[MemoryItem, ...] = ()


_DAY: Final = AskedWord("", "", names=True)
"""Stands for the days that a question names."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A memory, its chance to answer a question, and the naming words of that which it has, and which it lacks."""

    hit: MemoryHit
    chance: float
    held: list[AskedWord]
    missing: list[AskedWord]

    @property
    def item(self) -> MemoryItem:
        """The memory."""
        return self.hit.item


def judged(question: str, hits: Sequence[MemoryHit], time: AskedTime | None = None) -> RecallVerdict:
    """Return what a question is answered with, which names that time, if any."""
    verdict = _with_rest(_judged(question, [_opened(hit) for hit in hits], time), hits)
    return replace(verdict, items=_in_time(verdict.items, hits)) if verdict.sureness is not Sureness.OTHER else verdict


def _opened(hit: MemoryHit) -> MemoryHit:
    """Return a hit whose memory tells the passages of its document, too, that the search found."""
    texts = tuple(passage.text for passage in hit.passages)
    return replace(hit, item=replace(hit.item, bindings=(*hit.item.bindings, *texts))) if texts else hit


def _with_rest(verdict: RecallVerdict, hits: Sequence[MemoryHit]) -> RecallVerdict:
    """Return a verdict with what two memories tell together (`MemoryHit.via`), which is near where none is sure."""
    ends = [hit.item for hit in hits if hit.via]
    start = next((hit.item for hit in hits for end in hits if end.via == hit.item.id), None)
    if start is None:
        return verdict
    is_sure = verdict.sureness is Sureness.SURE
    if is_sure and verdict.items[0].id not in {start.id, *(end.id for end in ends)}:
        return verdict
    return RecallVerdict(Sureness.SURE if is_sure else Sureness.NEAR, (start, *ends))


def _in_time(items: Sequence[MemoryItem], hits: Sequence[MemoryHit]) -> tuple[MemoryItem, ...]:
    """Return memories, each with the others that may be true in its place, or were before: the newest first."""
    known = {hit.item.id: hit.item for hit in hits}
    found: dict[str, MemoryItem] = {}
    for item in items:
        newest = known.get(item.over, item)
        older = [each for each in known.values() if each.over == newest.id]
        found |= {each.id: each for each in (newest, *older, item) if each.id not in found}
    return tuple(found.values())


def _judged(question: str, hits: Sequence[MemoryHit], time: AskedTime | None) -> RecallVerdict:
    if time is not None and time.alone:
        return _of_time([hit.item for hit in hits], time)
    asked = asked_words(time.rest or question if time is not None else question)
    days = None if time is None or time.said else time
    candidates = [_fits(asked, few, days) for few in (_earlier(hits), _own(asked, hits))]
    fits = next((fits for fits in candidates if fits and fits[0].chance >= NEAR), [])
    likely = [fit for fit in fits if fit.chance >= NEAR]
    if not likely:
        return _of_subject(candidates[-1], asked)
    best = likely[0]
    other = _other_subject(asked, best.item)
    if other is not None:
        about = next((fit for fit in likely if other in fit.held), None)
        if about is None:
            is_like = best.hit.other != "" or best.hit.chance >= SURE
            return RecallVerdict(Sureness.OTHER, (best.item,)) if is_like else RecallVerdict(Sureness.NOTHING)
        best = about
    is_lacking = any(
        word.whose or is_kind(word.sense) or word.sense == _DEBT or word.text.isupper()  # "my NIF"
        for word in best.missing
    )
    is_lacking |= any(
        asked[at - 1].text.casefold() in _MOST_WORDS for at in range(1, len(asked)) if asked[at] in best.missing
    )
    is_lacking |= is_of_another(asked, best.item.content)
    is_lacking |= is_parallel(asked, best.item.content, best.item.bindings)
    kinds = kinds_asked(question, asked)
    is_answer = is_told(kinds, best.item.content)
    if not is_answer and has_form(asked) and best.held:
        return RecallVerdict(Sureness.OTHER, (best.item,))
    if best.chance >= SURE and not is_lacking and is_answer:
        return _sure(best, fits, kinds_replaced(question, kinds))
    near = [fit.item for fit in likely if fit.chance >= _ALIKE * best.chance]
    return RecallVerdict(Sureness.NEAR, tuple(near[:MAX_NEAR]))


def _sure(best: _Candidate, fits: Sequence[_Candidate], kinds: frozenset[str]) -> RecallVerdict:
    """Return what answers a question, newest first; all of it as unsure where another value may hold by now."""
    least = _ALIKE * best.hit.chance
    alike = [fit.item for fit in fits if fit.hit.chance >= least and not (fit.missing or best.missing)]
    told = alike[:MAX_QUOTES] or [best.item]
    doubtful = rivals(told, [fit.item for fit in fits if not (fit.item.current or fit.item.over)], kinds)
    if not doubtful:
        return RecallVerdict(Sureness.SURE, _newest_first(told))
    either = {item.id: item for item in (*told[: MAX_NEAR - 1], *doubtful, *told)}
    return RecallVerdict(Sureness.EITHER, _newest_first([*either.values()][:MAX_NEAR]))


def _newest_first(items: Iterable[MemoryItem]) -> tuple[MemoryItem, ...]:
    return tuple(sorted(items, key=lambda item: item.updated_at, reverse=True))


def _of_subject(fits: Sequence[_Candidate], asked: Sequence[AskedWord]) -> RecallVerdict:
    """Return what is known of who or what a question is about, where nothing tells what it asks of that."""
    subject = [word for word in asked if word.names and not is_kind(word.sense)]
    is_asked_of = len(subject) < sum(word.names for word in asked)
    known = [fit.item for fit in fits if subject and is_asked_of and all(word in fit.held for word in subject)]
    return RecallVerdict(Sureness.OTHER, tuple(known[:1])) if known else RecallVerdict(Sureness.NOTHING)


def _earlier(hits: Sequence[MemoryHit]) -> list[MemoryHit]:
    """Return the earlier versions among the hits, which are found only where what was before is asked for.

    Each is as likely as its memory.
    """
    chances = {hit.item.id: hit.chance for hit in hits}
    past = (hit for hit in hits if hit.item.current)
    return [replace(hit, chance=max(hit.chance, chances.get(hit.item.current, 0.0))) for hit in past]


def _own(asked: Sequence[AskedWord], hits: Sequence[MemoryHit]) -> Sequence[MemoryHit]:
    """Return the hits that are not of a relative who is not asked for; all, if there are no others."""
    return [hit for hit in hits if not is_of_another(asked, hit.item.content)] or hits


def _of_time(items: Sequence[MemoryItem], time: AskedTime) -> RecallVerdict:
    """Return what was said then, or else what means one of the days, by time."""
    if not time.said:
        items = sorted((item for item in items if _is_of(item, time)), key=lambda item: item.meant)
    return RecallVerdict(Sureness.SURE if items else Sureness.NOTHING, tuple(items))


def _is_of(item: MemoryItem, time: AskedTime | None) -> bool:
    """Return whether a memory means one of the days that are asked for."""
    if time is None or not item.meant:
        return False
    return time.first <= datetime.fromisoformat(item.meant).date() <= time.last


def _fits(asked: Sequence[AskedWord], hits: Sequence[MemoryHit], time: AskedTime | None) -> list[_Candidate]:
    """Return how memories fit a question, the best first; that one means a day that is asked for counts as a word."""
    naming = [word for word in asked if word.names] + [_DAY] * (time is not None)
    held = [held_words(naming, _told(hit.item)) + [_DAY] * _is_of(hit.item, time) for hit in hits]
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
        fits.append(_Candidate(hit, chance if hit.chance >= _LEAST else min(chance, NEAR), held[at], missing))
    return sorted(fits, key=lambda fit: -fit.chance)


def _told(item: MemoryItem) -> MemoryWords:
    return told_in(item.content, item.bindings)


def _other_subject(asked: Sequence[AskedWord], item: MemoryItem) -> AskedWord | None:
    return other_subject(asked, item.content, item.bindings)


def _is_of_relative(naming: Sequence[AskedWord], item: MemoryItem) -> bool:
    """Return whether a memory is of a relative who is not asked for."""
    return bool(relatives(senses(item.content)).difference(word.sense for word in naming))


def _odds(chance: float) -> float:
    """Return the logarithm of the odds."""
    within = min(max(chance, _MARGIN), 1 - _MARGIN)
    return math.log(within / (1 - within))


def told(verdict: RecallVerdict, locale: Locale, passages: Mapping[str, Sequence[Passage]] | None = None) -> str:
    """Return the text of a verdict, the memories quoted, with their passages by their ids; "" for NOTHING."""
    text = _told_of(verdict, locale)
    lines = [quoted_passage(each, locale) for item in verdict.items for each in (passages or {}).get(item.id, ())]
    return "\n".join((text, *dict.fromkeys(lines))) if text else ""


def quoted_passage(passage: Passage, locale: Locale) -> str:
    """Return a passage in quotation marks, behind its page."""
    sentence = say.PAGE if passage.page else say.SAYS
    return sentence[locale].format(page=passage.page, quote=quoted(" ".join(passage.text.split()), None))


def _told_of(verdict: RecallVerdict, locale: Locale) -> str:
    match verdict.sureness:
        case Sureness.SURE:
            return _quoting(say.HERE_IT_IS[locale], verdict.items, locale)
        case Sureness.EITHER | Sureness.NEAR:
            return _quoting(say.NEAREST[locale], verdict.items, locale)
        case Sureness.OTHER:
            return say.OTHER_SUBJECT[locale].format(quote=quoted(verdict.items[0].content))
        case _:
            return ""


def before(scene: Scene, question: str) -> str:
    """Return what was so before what was told last: its earlier versions, or what it may have taken the place of.

    Where there are none, another memory may tell what the question names.
    """
    shown = scene.told_last
    if shown is None:
        return say.NOT_FOUND[scene.locale]
    now = shown.current or shown.id
    found = [hit.item for hit in scene.hits if now in {hit.item.current, hit.item.over}]
    if found:
        newest_first = sorted(found, key=lambda item: item.updated_at, reverse=True)
        return _quoting(say.HERE_IT_IS[scene.locale], newest_first, scene.locale)
    verdict = judged(question, [hit for hit in scene.hits if hit.item.id != now])
    is_found = verdict.sureness in {Sureness.SURE, Sureness.EITHER, Sureness.NEAR}
    nothing = say.NOTHING_BEFORE[scene.locale].format(quote=quoted(shown.content))
    return told(verdict, scene.locale) if is_found else nothing


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
        before = f"- {say.BEFORE[locale]}"
        return "\n".join((lead, *(_quoting(before if item.over else "-", [item], locale) for item in items)))
    quote, days = quoted(items[0].content, None), when(items[0], locale)
    return f"{lead}{days}{quote}" if quote.startswith("\n") else f"{lead} {quote}{days}"
