"""Choose what a person asks to delete: the memories that are named, or the clauses of one, and no others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from core.limited import frames
from core.limited.change import PossibleChange
from core.limited.clauses import cut, holds, telling
from core.limited.reading import THIS, MessagePart
from core.limited.scene import Scene
from core.limited.values import values
from core.text.senses import is_kind, sense, senses, subject
from core.text.subject import ARTICLES
from core.text.unicode import flat
from core.text.words import folded_words
from core.types import MemoryItem

MAX_PROPOSED: Final = 25
_MATCHING: Final = 0.5
"""The share of the weight of what is named that a memory must hold."""

_MATCHING_NAME: Final = 0.66
"""That share where it lacks the kind of thing that is named: of "Ben's appointment", another of Ben has the name."""

_NEAR: Final = 0.33
"""The cosine from which a memory may be meant though it has none of the words: "the gym thing"."""

_LIKELY: Final = 0.1
"""The chance from which it may be."""

_MUCH_LESS: Final = 2
"""How many times less likely any other must be than one that is surely meant."""

_MOST: Final = 0.6
"""The share of a message that a wish is at least, if the message says nothing else."""

MAX_OPTIONS: Final = 3
"""Of memories of which one may be meant."""

_NAME_WEIGHT: Final = 2
_MEANT: Final = 0.5
"""What a word counts that a memory has in other words only: a recipe, by its flour."""

_ANY_MEMORY: Final = senses(
    "note thing one bit part stuff memory matter list old nota anotação memória coisa negócio parte lista lembrete "
    "aquilo lance troço vaina tema rollo recuerdo cosa asunto pendiente recordatorio viejo porfa please favor"
)
"""Words for what is kept, whatever it is: "that tablets note"."""

_MAX_NAMES: Final = 8
_MAX_UNCLEAR: Final = 3
"""So many memories may be meant by what does not tell which: the person is asked."""

_FEW_WORDS: Final = 3
"""With so many words, what stands before a wish to delete may be worth keeping itself."""

_FROM: Final = re.compile(r"(?:d[aeo]s?|del|from|off|out)\b", re.IGNORECASE)
"""What stands before the name of a list from which something is to go."""

_TELLS: Final = re.compile(r"\b(?:que|q|that)\b", re.IGNORECASE)
"""In what stands behind an "and": it tells something, and names nothing to be deleted."""

_AND: Final = re.compile(r"\s*,?\s+(?:e|y|and)\s+|\s*&\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a message says of what is to be deleted.

    `phrases` name things, each by itself; `beside` is what else is said, which may tell who or why; `stays` names what
    is not to be deleted. `points`: a pronoun stands for what `beside` names. `is_part`: what is named is a part of
    something, by the person's words. `off_list`: it is to be taken off a list. `is_bought`: nothing but an entry of one
    is meant: "I've got the milk".
    """

    phrases: tuple[str, ...]
    beside: str = ""
    stays: str = ""
    points: bool = False
    is_part: bool = False
    off_list: bool = False
    is_bought: bool = False

    def is_only_of(self, item: MemoryItem) -> bool:
        """Return whether nothing but a part of a memory can be meant."""
        return self.is_bought or (self.off_list and cut(item.content).is_list)

    @property
    def around(self) -> tuple[str, ...]:
        """The words that tell which of several things of one name is meant."""
        return telling(f"{self.beside} {self.stays}")


def is_everything(part: MessagePart) -> bool:
    """Return whether all memories are to be deleted."""
    return _whole("all").match(flat(part.about)) is not None


def is_last(part: MessagePart) -> bool:
    """Return whether what was said last is to be deleted: "what I just told you"."""
    return frames.has("last", part.about)


def wants_all(part: MessagePart) -> bool:
    """Return whether it takes a look at all memories, to delete them or the newest."""
    return is_everything(part) or is_last(part)


def named(part: MessagePart) -> str:
    """Return what the person calls the thing to be deleted; "" for "delete that", which points at it."""
    return next(iter(names(part)), "")


def names(part: MessagePart) -> list[str]:
    """Return what the person calls each thing to be deleted: three in "forget the pin, the gym code and bus 12".

    What is said beside may tell which is meant, or all: "Lucy paid, take her off".
    """
    wish = _wish(part)
    named = [*wish.phrases, *(" ".join(_telling(phrase)) for phrase in wish.phrases)]
    found = [*(subject(phrase, asking=True) for phrase in named), subject(wish.beside), subject(wish.stays)]
    return list(dict.fromkeys(filter(None, found)))


def may_tell(part: MessagePart) -> bool:
    """Return whether what asks to delete something may tell something: "rule: wash hands and bin the gloves"."""
    before = _before(part)
    is_stated = len(before[frames.opened(before) :].split()) >= _FEW_WORDS
    return not part.is_sure or (is_stated and any(_wish(part).phrases)) or bool(frames.told_of(part.text))


# --- what is said ----------------------------------------------------------------------------------------------------


def _wish(part: MessagePart) -> Wish:
    """Return what a part says of what is to be deleted."""
    verb = (frames.removed(part.text) if part.is_sure else None) or frames.rids(part.text)
    before = part.text[: verb[0]] if verb else ""
    behind = part.about if part.is_sure or verb is None else part.text[verb[1] :]
    said = part.text[slice(*verb)] if verb else ""
    behind = behind.strip(" ,:;")
    behind = "" if is_last(part) or is_everything(part) else behind[frames.begun("said_of", behind) :]
    contrast = frames.pattern("stays").search(flat(behind))
    stays = behind[contrast.start() :] if contrast else ""
    behind = behind[: contrast.start()] if contrast else behind
    phrases, reason = _phrases(behind)
    if telling(f"{before} {reason}") and not _has_value(f"{before} {reason}"):
        phrases = tuple(phrase for phrase in phrases if _names_something(phrase))
    return Wish(
        phrases,
        f"{before} {reason}",
        stays,
        points=not phrases or _FROM.match(phrases[0]) is not None or frames.has("stood", f"{said} {' '.join(phrases)}"),
        is_part=bool(stays) or frames.has("part", " ".join(phrases)),
        off_list=_takes_off(part.text),
        is_bought=bool(said) and frames.has("bought", said),
    )


def _has_value(text: str) -> bool:
    return any(value.kind != "name" for value in values(text))


def _takes_off(text: str) -> bool:
    """Return whether a text asks to take a thing off a list."""
    wish = frames.listed(text)
    return wish is not None and not wish[2] and bool(wish[0])


def _phrases(behind: str) -> tuple[tuple[str, ...], str]:
    """Return the phrases behind a verb of deleting that name things, and what is said behind these: mostly why."""
    end = frames.pattern("reason").search(flat(behind), 1)
    reason = behind[end.start() :] if end else ""
    about = behind[: end.start()] if end else behind
    if _whole("pointed").match(flat(about)):
        return (), reason
    first, *others = [phrase for phrase in re.split(r"\s*[,;]\s*", about) if phrase][:_MAX_NAMES] or [""]
    if _whole("pointed").match(flat(first)):
        return (), f"{', '.join(others)} {reason}"
    if not all(map(_is_thing, others)):
        return tuple(filter(None, [first])), f"{', '.join(others)} {reason}"
    return tuple(filter(None, [first, *others])), reason


def _is_thing(phrase: str) -> bool:
    """Return whether what follows in a list is a thing, too, and no reason."""
    first, *others = folded_words(phrase) or [""]
    return first in ARTICLES or len(others) < _FEW_WORDS or _AND.search(phrase) is not None


def _before(part: MessagePart) -> str:
    """Return what stands before the verb: "Harlow paid, you can delete that"."""
    verb = frames.removed(part.text)
    return part.text[: verb[0]] if verb else ""


# --- what is meant ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proposal:
    """The memories whose deletion is to be proposed; with `which`, one of them is meant, and it is asked which."""

    items: Sequence[MemoryItem] = ()
    which: bool = False


def proposed(scene: Scene, part: MessagePart) -> Proposal:
    """Return what is to be proposed to be deleted, as far as this turn knows it, or to lose a part."""
    if scene.can_search:
        return Proposal()
    if wants_all(part):
        newest = sorted(scene.found, key=lambda item: item.updated_at)[-1:]
        return Proposal(scene.found[:MAX_PROPOSED] if is_everything(part) else newest)
    wish = _wish(part)
    if not telling(" ".join((*wish.phrases, wish.beside))):
        return Proposal(scene.quoted[-1:])
    if _has_value(wish.beside) and wish.phrases and not _names_something(_AND.split(wish.phrases[0])[0]):
        return Proposal()  # "new code E133, delete the old one" tells what takes its place
    found = _meant(wish, scene.found, is_sure=part.is_sure)
    found = [item for item in found if without(wish, item) or not wish.is_only_of(item)]
    is_alone = _MOST * len(scene.message) < len(part.text)  # else the search looked for something else, too
    return _settled(scene, wish, found, may_ask=part.is_sure and is_alone)


def narrowed(scene: Scene, part: MessagePart) -> list[PossibleChange]:
    """Return the one memory of which only a part is to be deleted, and what it says then; else none."""
    found = proposed(scene, part).items
    text = without(_wish(part), found[0]) if len(found) == 1 and not wants_all(part) else ""
    return [PossibleChange(found[0], text)] if text else []


def settled(scene: Scene, parts: Sequence[MessagePart]) -> tuple[MessagePart, ...]:
    """Return the parts, those as what else they are for that may ask to delete something where no memory is near it.

    What one before is to keep is then told with it, once.
    """
    found: list[MessagePart] = []
    for part in parts:
        other = part.otherwise
        if other is None or scene.can_search or proposed(scene, part).items:
            found.append(part)
            continue
        if found and found[-1].text and other.text.startswith(found[-1].text):
            found.pop()
        found.append(other)
    return tuple(found)


def _meant(wish: Wish, items: Sequence[MemoryItem], *, is_sure: bool) -> list[MemoryItem]:
    """Return the memories that a wish means: those that its phrases name, else the one that all its words do."""
    first, *others = wish.phrases or ("",)
    found = _of_phrase(first, items, wish) if first else []
    more = [_of_phrase(phrase, items, wish) for phrase in others]
    if found and all(more):  # what follows may be a reason: "the pin, they gave us a new card"
        found = [item for each in (found, *more) for item in each]
    found = list({item.id: item for item in found}.values())
    if (not found and telling(wish.beside)) or not is_sure:
        said = telling(" ".join((*wish.phrases, wish.beside)))
        is_named = any(not is_kind(sense(word)) for word in _telling(" ".join(wish.phrases)))
        found = nearest(said, found or items, by_kind=not is_named)
    if len(found) > 1 and (wish.is_part or wish.off_list or wish.is_bought):
        found = [item for item in found if without(wish, item)] or found
    return found if is_sure or len(found) == 1 else []


def _of_phrase(phrase: str, items: Sequence[MemoryItem], wish: Wish) -> list[MemoryItem]:
    """Return the memories that each part of a phrase names, if the first names any; else those that the whole does."""
    each = [_matching(name, items, wish) for name in _AND.split(phrase)]
    return [item for found in each for item in found] if each[0] and len(each) > 1 else _matching(phrase, items, wish)


def _matching(phrase: str, items: Sequence[MemoryItem], wish: Wish) -> list[MemoryItem]:
    """Return the memories that hold most of a phrase, if that is enough of it; of several, those that are told beside.

    A word for a kind of thing (password, birthday) weighs less than a name: "the netflix password" is not another one.
    """
    said = _telling(phrase)
    weights = {word: 1 if is_kind(sense(word)) else _NAME_WEIGHT for word in said}
    held = [{word for word in said if _holds(item, word)} for item in items]
    shares = [
        sum(weights[word] * (1 if sense(word) in senses(item.content) else _MEANT) for word in each)
        / max(sum(weights.values()), 1)
        for item, each in zip(items, held, strict=True)
    ]
    top = max(shares, default=0)
    best = [each for each, share in zip(held, shares, strict=True) if share == top]
    is_other = any(is_kind(sense(word)) for word in weights.keys() - set[str]().union(*best))  # no such appointment
    if top < (_MATCHING_NAME if is_other else _MATCHING):
        return []
    found = [item for item, share in zip(items, shares, strict=True) if share == top]
    if len(found) > 1 and wish.stays:  # of one memory a part stays, or else another memory does
        parts = [item for item in nearest((*said, *wish.around), found) if without(wish, item)]
        found = parts or _without_what_stays(wish, found)
    return nearest((*said, *telling(wish.beside)), found) or found[:MAX_PROPOSED] if len(found) > 1 else found


def _names_something(phrase: str) -> bool:
    """Return whether a phrase has a word that names something: "that note" has none."""
    return any(sense(word) not in _ANY_MEMORY for word in telling(phrase))


def _telling(phrase: str) -> tuple[str, ...]:
    """Return the words of a phrase that name something."""
    said = telling(phrase)
    return tuple(word for word in said if sense(word) not in _ANY_MEMORY) or said


def _holds(item: MemoryItem, word: str) -> bool:
    """Return whether a memory has a word; of a kind of thing, if it calls it so: what finds it may guess at these."""
    return holds(item.content, word) or (not is_kind(sense(word)) and sense(word) in senses(" ".join(item.bindings)))


def nearest(said: Iterable[str], items: Sequence[MemoryItem], *, by_kind: bool = True) -> list[MemoryItem]:
    """Return the memories that share most of what was said, rare words counting more; none, or too many: none.

    Names tell before kinds of things, and those before words that a memory has in that very form. A kind of thing tells
    alone where the memory calls it so, too, with `by_kind`: "the meeting".
    """
    held = {word: frozenset(item.id for item in items if _holds(item, word)) for word in said}
    folded = {item.id: frozenset(folded_words(item.content)) for item in items}

    def weight(item: MemoryItem) -> tuple[float, float, int]:
        mine = [word for word in held if item.id in held[word]]
        names = sum(1 / len(held[word]) for word in mine if not is_kind(sense(word)))
        kinds = sum(1 / len(held[word]) for word in mine if is_kind(sense(word)))
        return round(names, 6), round(kinds, 6), len(folded[item.id].intersection(*[map(flat, mine)]))

    weights = [weight(item) for item in items]
    top = max(weights, default=(0.0, 0.0, 0))
    best = [
        item
        for item, each in zip(items, weights, strict=True)
        if each == top and (top[0] or (by_kind and top[1] and top[2]))
    ]
    return best if len(best) <= _MAX_UNCLEAR else []


def _settled(scene: Scene, wish: Wish, found: Sequence[MemoryItem], *, may_ask: bool) -> Proposal:
    """Return what was found by words, if that is clear; else what may be meant, of which the person is to choose.

    Where a kind of thing is named that nothing is, no other memory is offered in its place.
    """
    if may_ask and (newer := _told_since(scene, wish, found)):
        return Proposal([*found, *newer][:MAX_OPTIONS], which=True)
    if not may_ask or _is_clear(scene, wish, found) or (not found and _names_kind(wish)):
        return Proposal(found)
    return _options(scene, found)


def _is_clear(scene: Scene, wish: Wish, found: Sequence[MemoryItem]) -> bool:
    """Return whether what was found is what is meant, beyond doubt.

    Either the phrases themselves have a word of each memory, and not only what is said beside; or it is one, and a part
    of it is named, or it alone has two of the words said, or the search holds no other half as likely.
    """
    named = [word for phrase in wish.phrases for word in _telling(phrase)]
    if named and all(any(_holds(item, word) for word in named) for item in found):
        return bool(found)
    chances = {hit.item.id: hit.chance for hit in scene.hits}
    mine = [chances.pop(item.id, 0.0) for item in found]
    is_likeliest = len(mine) == 1 and mine[0] >= _MUCH_LESS * max(chances.values(), default=0.0)
    return is_likeliest or _has_most(scene, wish, found) or any(without(wish, item) for item in found)


def _has_most(scene: Scene, wish: Wish, found: Sequence[MemoryItem]) -> bool:
    """Return whether one memory was found, and has several of the words said, among them all that any other has."""
    said = telling(" ".join((*wish.phrases, wish.beside)))
    mine = {word for word in said for item in found if _holds(item, word)}
    others = [{word for word in said if _holds(item, word)} for item in scene.found if item not in found]
    return len(found) == 1 and len(mine) > 1 and all(other < mine for other in others)


def _without_what_stays(wish: Wish, found: list[MemoryItem]) -> list[MemoryItem]:
    """Return the memories but those that alone have what stays: "all about Ana, but keep her address"."""
    staying = [word for word in telling(wish.stays) if not all(_holds(item, word) for item in found)]
    return [item for item in found if not any(_holds(item, word) for word in staying)] or found


def _told_since(scene: Scene, wish: Wish, found: Sequence[MemoryItem]) -> Sequence[MemoryItem]:
    """Return what was told later of whom a wish that points speaks, with a value: it may be what is meant instead."""
    if not wish.points or len(found) != 1 or without(wish, found[0]):
        return []
    said = [word for word in wish.around if not is_kind(sense(word)) and _holds(found[0], word)]
    later = [item for item in scene.found if item.updated_at > found[0].updated_at and _has_value(item.content)]
    return [item for item in later if any(_holds(item, word) for word in said)]


def _names_kind(wish: Wish) -> bool:
    """Return whether a wish names a kind of thing and does not point at it: no other memory is offered in its place."""
    named = [word for phrase in wish.phrases if not THIS.match(flat(phrase)) for word in _telling(phrase)]
    return any(is_kind(sense(word)) for word in named or telling(wish.beside))


def _options(scene: Scene, found: Sequence[MemoryItem]) -> Proposal:
    """Return the memories of which one may be meant: those found by words, then the likeliest that the search found."""
    ranked = sorted(scene.hits, key=lambda hit: hit.chance, reverse=True)
    near = [hit.item for hit in ranked if not hit.other and hit.dense >= _NEAR and hit.chance >= _LIKELY]
    items = list({item.id: item for item in (*found, *near)}.values())[:MAX_OPTIONS]
    return Proposal(items, which=len(items) > 1)


# --- a part of it ----------------------------------------------------------------------------------------------------


def without(wish: Wish, item: MemoryItem) -> str:
    """Return what a memory says without the clauses that a wish names; "" where it names the whole, or it is not clear.

    What a sentence begins with is mostly what it is about: it stays only if the person says so, or if the others tell
    something of their own.
    """
    clauses = cut(item.content)
    if not clauses.are_several:
        return ""
    first, *others = [name for phrase in wish.phrases for name in _AND.split(phrase)] or [""]
    names = [_telling(name) for name in (first, *(each for each in others if not _TELLS.search(each)))]
    each = [clauses.about(said) for said in names]
    gone = {at for at in each if at is not None} if wish.is_bought or each[:1] != [None] else set()
    is_shared = any(sum(word in held for held in clauses.held(said)) > 1 for said in names for word in said)
    if not gone and (wish.is_part or is_shared or (wish.points and clauses.is_list)):
        # "he stopped the statin, delete that pill"
        gone = {at} if (at := clauses.about(telling(wish.beside))) is not None else set()
    gone -= {clauses.about(telling(wish.stays))}
    if not gone or (0 in gone and not (wish.is_part or clauses.is_list or clauses.are_alike)):
        return ""
    if not wish.is_part and clauses.would_lose(gone):
        return ""
    return clauses.without(gone)


@cache
def _whole(name: str) -> re.Pattern[str]:
    return re.compile(rf"\W*(?:{frames.pattern(name).pattern})(?!\w)")
