"""Change a memory as the person says: choose which one is meant, and what it says then.

"The dentist moved me to 11:40" changes the hour of "dentist next tuesday 9:15 w/ Dr. Okafor", and nothing else. Only
values of one kind take each other's place: days, hours, amounts of money, phones, numbers, codes, names. Where the kind
stands more than once, the words beside the value tell which is meant ("room 118"). Where no value has a clear place,
the new words may take the place of the whole memory. The engine decides what is done at once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from core.limited.frames import has, listed, stands_for, told_of, without_change
from core.text.senses import is_kind, relatives, sense, senses, silent, told_by, words
from core.text.unicode import flat
from core.text.words import folded_words, stands_in
from core.times.tokens import TIMELY, Tokens, tokens
from core.types import MemoryItem

MAX_CHARS: Final = 500
"""Of a message that changes something: longer ones tell something of their own."""

_KEPT_TEXTS: Final = 512
"""What one message finds is looked into by several rules, and found again by the next."""

_MAX_KNOWN_CHARS: Final = 1_000
"""Of a memory: what stands further on keeps its values."""
_LANGUAGES: Final = ("pt", "en", "es")
_DAY: Final = re.compile(r"W(?:[ou,]{0,3}[nr](?![AP:]|,n|an)(?:o?M(?:o?n)?)?|,?T)?|T|[nr]o?M(?:o?n(?!\w))?|M[nr]|d|J")
_CLOCK: Final = re.compile(
    r"(?:C|:)(?:o?[cp]|[AP])?|n(?:&[hqn])?(?:c?[AP]|c|o+p)|(?<=a)n(?:&[hqn])?(?:o+p)?(?![uM])|[NG](?:&[hq])?"
)
_PLACE: Final = re.compile(
    r"\d{1,5}(?:,? [A-ZÀ-Þ][\w'’.-]*)+|(?:[A-ZÀ-Þ][\w'’.-]* (?:d[aeo]s? |del? |la )*)+\d{1,5}(?![\w:.,/])"
)
_PHONE: Final = re.compile(r"(?<![\w.])\+?\(?\d(?:[ ().-]{0,2}\d){7,14}(?!\w)")
_MONEY: Final = re.compile(
    r"(?:r\$|us\$|[$€£]) ?\d[\d.,]*\d?(?:/\w+)?|\d[\d.,]* ?(?:reais|real|euros?|eur|dollars?|bucks|pesos|lucas|libras|"
    r"pounds|quid|mangos|soles|dolares|€|£)(?!\w)|\d[\d.,]*/(?:h|hr|hour|mes|month|dia|day)\b"
)
_CODE: Final = re.compile(
    r"(?<![\w@#])(?=[^\s,;]*\d)(?=[^\s,;]*[^\W\d])[^\s,;()]*[\w#*](?!\w)|(?<![\w.+-])[\w.+-]+@[\w-]+\.\w+|"
    r"(?<![\w.-])\d{1,6}(?:-\d{1,6})+(?![\w-])"
)
_DAY_OF_MONTH: Final = re.compile(
    r"(?<=\bdia )\d{1,2}(?!\w)|(?<=\bthe )\d{1,2}(?:st|nd|rd|th)\b|"
    r"(?<=\bel )\d{1,2}(?=\W*$|[,.;](?!\d)| (?:a|de|por|en|y|al|del) )"
)
_SIZE: Final = re.compile(r"(?:(?<=\btalla )|(?<=\bsize )|(?<=\btamanho )|(?<=\btam )|(?<=\btamano ))[a-z]{1,3}(?!\w)")
_NUMBER: Final = re.compile(r"(?<![\w.,/:-])\d+(?:[.,]\d+)*(?:kg|g|mg|ml|l|km|m|cm|%)?(?![\w/:-])")
_NAME: Final = re.compile(r"(?<=[\w,;:.] )[A-ZÀ-Þ][\w'’-]*[a-zß-ÿ][\w'’-]*(?: [A-ZÀ-Þ][\w'’-]+)*")
_KINDS: Final = (
    ("phone", _PHONE),
    ("money", _MONEY),
    ("day", _DAY_OF_MONTH),
    ("size", _SIZE),
    ("place", _PLACE),
    ("code", _CODE),
    ("number", _NUMBER),
    ("name", _NAME),
)
_ALIKE: Final = (
    {"money", "number", "dotted"}, {"clock", "dotted"}, {"place"}, {"size"}, {"phone"}, {"day"}, {"code"}, {"name"},
)  # fmt: skip
_PASSED: Final = frozenset({"0", "-1", "-2"})
"""Days by which people say when they heard it: today, yesterday."""

_OVER: Final = re.compile(r"ontem|anteontem|yesterday|ayer|anteayer|anoche|last night")
"""Those that are over: nothing is moved to them."""

_HOURS: Final = 24
_DENIED: Final = re.compile(
    r"\b(?:nao|n|not|isn'?t|wasn'?t|no|ya no|ja nao|no longer|instead of|em vez d[aeo]s?|en vez de|en lugar de|from|"
    r"de|das|do|desde)(?: (?:e|é|eh|era|es|a|as|o|the|at|las?|los|el|on)){0,3} ?$"
)
"""What stands before a value that is the old one: "not 9:30", "from 9 to 10"."""

_SEAM: Final = re.compile(r"[,;\n]")
"""What stands between the entries of a list, of which each has its own value."""

_FEWEST: Final = 2
"""Fewer entries are no list."""

_BETWEEN: Final = re.compile(r"(\s*[,;](?!\d)\s*(?:(?:e|and|y|&)\s+)?|\s+(?:e|and|y|&)\s+)")
"""What stands between the entries of a list that is written in a line."""

_NEAR_CHARS: Final = 60
_NEAR: Final = 3
"""How many words on each side of a value tell which one it is."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value at a place in a text, and the words beside it."""

    kind: str
    start: int
    end: int
    text: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    is_passed: bool = False

    def likeness(self, other: Value) -> int:
        """Return how much the words beside two values are the same, those next to them most."""
        next_to = _is_alike_word(self.before[-1:], other.before[-1:]) + (self.after[:1] == other.after[:1] != ())
        return 3 * next_to + len({*self.before, *self.after} & {*other.before, *other.after})


def _is_alike_word(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether the words before two values are the same, or verbs of one concept: "lives in", "moved to"."""
    return one != () != other and (one == other or not {*told_by(one[0])}.isdisjoint(told_by(other[0])))


@lru_cache(_KEPT_TEXTS)
def values(text: str, *, apart: bool = False) -> tuple[Value, ...]:
    """Return the values of a text, in their order; each character belongs to one at most.

    `apart`: the words beside a value are those of its own entry of a list.
    """
    text = text[:_MAX_KNOWN_CHARS]
    taken: list[Value] = []
    for start, end, kind in (*_shaped(text, _KINDS[:2]), *_timed(text), *_shaped(text, _KINDS[2:])):
        if all(end <= each.start or start >= each.end for each in taken):
            ahead, behind = text[max(start - _NEAR_CHARS, 0) : start], text[end : end + _NEAR_CHARS]
            if apart:
                ahead, behind = _SEAM.split(ahead)[-1], _SEAM.split(behind, 1)[0]
            before, after = _words(ahead)[-_NEAR:], _words(behind)[:_NEAR]
            taken.append(Value(kind.strip("-"), start, end, text[start:end], before, after, is_passed=kind[0] == "-"))
    return tuple(sorted(taken, key=lambda value: value.start))


def _shaped(text: str, kinds: Sequence[tuple[str, re.Pattern[str]]]) -> Iterator[tuple[int, int, str]]:
    for kind, pattern in kinds:
        said = text if kind in {"place", "name"} else flat(text)
        yield from ((match.start(), match.end(), kind) for match in pattern.finditer(said))


def _timed(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield days and hours, by the words of the language that knows most of them."""
    read = max((tokens(text, tag) for tag in _LANGUAGES), key=_weight)
    for kind, pattern in (("day", _DAY), ("clock", _CLOCK)):
        for match in pattern.finditer(read.kinds):
            first, last = read.items[match.start()], read.items[match.end() - 1]
            is_bare = match[0] == "n"
            if is_bare and (int(first.value) > _HOURS or re.match(r" [A-ZÀ-Þ]", text[last.end :])):
                continue
            if match[0] == ":" and read.kinds[match.start() - 1 : match.start()] != "a":
                yield first.start, last.end, "dotted"
            else:
                yield first.start, last.end, f"-{kind}" if match[0] == "d" and first.value in _PASSED else kind


def _weight(read: Tokens) -> int:
    return sum(token.kind in TIMELY or token.kind in "aop" for token in read.items)


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a text that tell something."""
    return tuple(word for word in folded_words(text) if not silent(word) and not word.isdigit())


def swapped(old: str, new: str) -> str:
    """Return the old text with the values of the new one in place of its own; "" unless each has one clear place."""
    known, said = list(values(old, apart=True)), values(new)
    olds = {flat(value.text) for value in known}
    news = [value for value in said if flat(value.text) not in olds and not _stands_in(value.text, old)]
    news = [value for value in news if not _OVER.fullmatch(flat(value.text))]
    denied = {flat(value.text) for value in said if _DENIED.search(flat(new[: value.start]))}
    restated = {flat(value.text) for value in said} - denied
    known = [value for value in known if flat(value.text) not in restated]
    named = [value for value in known if flat(value.text) in denied]
    places: dict[Value, str] = {}
    for value in news:
        free = [each for each in known if each not in places and _is_alike(each, value)]
        place = _place(value, free, [each for each in named if each in free])
        if place is not None:
            places[place] = value.text
        elif value.kind != "name" and not value.is_passed:
            return ""
    text = old
    for place, value_text in sorted(places.items(), key=lambda pair: -pair[0].start):
        text = text[: place.start] + value_text + text[place.end :]
    return text if places else ""


def _stands_in(value: str, text: str) -> bool:
    """Return whether a value stands in a text for itself: "6" does not in "16h"."""
    return stands_in(flat(value), flat(text))


def _is_alike(old: Value, new: Value) -> bool:
    """Return whether two values are of one kind; a bare number may be an hour: "moved to 10"."""
    is_hour = new.kind == "number" and not new.after and new.text.isdigit() and int(new.text) <= _HOURS
    return any({old.kind, new.kind} <= kinds for kinds in _ALIKE) or (is_hour and old.kind == "clock")


def _place(value: Value, free: Sequence[Value], named: Sequence[Value]) -> Value | None:
    """Return which of the old values a new one takes the place of; None if that is not clear."""
    if len(named) == 1:
        return named[0]
    amounts = [each for each in free if each.kind == "money"]
    if len(amounts) == 1 and value.kind in {"money", "number"}:
        return amounts[0]
    same = [each for each in free if each.kind == value.kind]
    if len(same) == 1 and value.likeness(same[0]):
        return same[0]
    if len(free) == 1 and (value.kind not in {"name", "number"} or value.likeness(free[0]) or _may_be(value, free[0])):
        return free[0]
    alike = sorted(((value.likeness(each), -at) for at, each in enumerate(free)), reverse=True)
    is_ahead = bool(alike) and alike[0][0] > 0 and (len(alike) == 1 or alike[0][0] > alike[1][0])
    return free[-alike[0][1]] if is_ahead else None


def _may_be(new: Value, old: Value) -> bool:
    """Return whether a number may be another's new value: no two units tell otherwise, as in "3 cats" and "2 dogs"."""
    return new.kind != "name" and not (new.after and old.after)


# --- which memory ----------------------------------------------------------------------------------------------------

MAX_CANDIDATES: Final = 3
_NOW: Final = senses("agora now ahora hoje today hoy")
"""They say that something changed, and not what."""

_KIND_WEIGHT: Final = 0.5
_OF_WOMEN, _OF_MEN = (
    frozenset(map(sense, names.split()))
    for names in (
        "mãe esposa filha irmã avó namorada sogra cunhada tia prima neta amiga vizinha",
        "pai marido filho irmão avô namorado sogro cunhado tio primo neto amigo vizinho",
    )
)
"""Relatives by whom "she" and "he" can stand."""

_MOST: Final = 0.5
"""The share of its words that a statement must have in common with a memory that it may replace as a whole."""


@dataclass(frozen=True, slots=True)
class PossibleChange:
    """A memory that a message may change, and the text that it has then."""

    item: MemoryItem
    text: str


def changes(
    message: str,
    items: Sequence[MemoryItem],
    quoted: Sequence[MemoryItem],
    recent: Sequence[MemoryItem] = (),
    *,
    least: float = 1.0,
) -> list[PossibleChange]:
    """Return the memories that a message may change, the likeliest first; none if it says nothing of any.

    A memory of which it names the subject, by words of at `least` that weight, goes before one that was quoted last,
    and that before one of which it only says much the same. "She moved to York" is about the one memory told of in the
    `recent` talk that can be meant.
    """
    if len(message) > MAX_CHARS:
        return []
    if stands_for(message)[0] or has("repaid", message):
        told = [*recent, *items] if has("repaid", message) else recent
        return pointed(message, quoted, told)
    about = senses(without_values(message)) - _NOW
    weights = {item.id: _weight_of(_shares(about, item)) for item in items}
    edited = {item.id: _edited(item.content, message) for item in (*items, *quoted)}
    named = [item for item in items if edited[item.id] and weights[item.id] >= least]
    is_bare = not senses(without_change(without_values(message)))
    shown = [item for item in quoted[-1:] if edited[item.id] and (is_bare or _shares(about, item))]
    if not (found := named or shown) and listed(message) is None:
        alike = (item for item in items if weights[item.id] >= max(2.0, _MOST * _weight_of(about)))
        found = [item for item in alike if not _loses(item.content, message)] or _of_same_name(message, items)
    best = max((weights.get(item.id, 0) for item in found), default=0)
    likeliest = [item for item in found if weights.get(item.id, 0) == best]
    return [PossibleChange(item, edited[item.id] or message) for item in likeliest][:MAX_CANDIDATES]


def _of_same_name(message: str, items: Sequence[MemoryItem]) -> list[MemoryItem]:
    """Return the one memory that has the name and the kind of value of what a message says is so now; else nothing.

    "Sandra takes 7.0 now" may be said of her colour 6.1, among other things.
    """
    said = senses(message)
    if not said & _NOW:
        return []
    names, kinds = _names(message), {value.kind for value in values(message)} - {"name"}
    about = [item for item in items if not names.isdisjoint(_names(item.content))]
    found = [item for item in about if any(value.kind in kinds for value in values(item.content))]
    return found if len(found) == 1 else []


def _names(text: str) -> frozenset[str]:
    return frozenset(sense(word) for found in _PROPER.findall(text) for word in found.split())


def pointed(message: str, quoted: Sequence[MemoryItem], recent: Sequence[MemoryItem]) -> list[PossibleChange]:
    """Return the change of the memory that "she", "he" or "it" is about: the one that can be meant, or else none.

    Of a debt that was paid, every one that can be meant is returned.
    """
    who, end = stands_for(message)
    is_paid = has("paid", message)
    who = who or ("it" if has("repaid", message) else "")
    wrong = {"she": _OF_MEN, "he": _OF_WOMEN}.get(who, frozenset())
    fitting = []
    for item in {item.id: item for item in (*quoted, *recent)}.values() if who else ():
        about = senses(item.content)
        is_one = (who == "it" and not is_paid) or relatives(about) or _begins_with_name(item.content)
        text = (_edited(item.content, message) or _instead(item.content, message, end)) if is_one else ""
        if text and wrong.isdisjoint(about):
            fitting.append(PossibleChange(item, text))
    return fitting[:MAX_CANDIDATES] if len(fitting) == 1 or is_paid else []


_SUBJECT: Final = re.compile(
    r"(?:(?i:the|my|our|os?|as?|meu|minha|noss[oa]|el|la|mi|nuestr[oa]) )?[^\W\d_][\w’'-]*(?: [A-ZÀ-Þ][\w’'-]*)*"
)
"""Who or what a memory begins with: "my sister Ana", "Megan"."""

_PROPER: Final = re.compile(r"[A-ZÀ-Þ][\w'’&-]*(?: [A-ZÀ-Þ][\w'’&-]*)*")
"""A name, one of capitals alone, too: "BP"."""


def _instead(old: str, message: str, end: int) -> str:
    """Return what an old text says then, which a message that stands for its subject until `end` says is over; or "".

    Whoever left one place for another is there now; whoever paid, owes nothing; whoever does now otherwise what they
    did ("he sits in front now"), does so.
    """
    subject = _SUBJECT.match(old)
    if subject is None:
        return ""
    now, about = senses(message), senses(message[end:]) - _NOW
    is_otherwise = bool(now & _NOW) and any(not is_kind(name) for name in about & senses(old[subject.end() :]))
    if (has("paid", message) and has("owes", old)) or is_otherwise:
        return f"{subject[0]} {message[end:].strip()}"
    return _left(old, message, subject.end(), end)


def _left(old: str, message: str, behind: int = 0, end: int = 0) -> str:
    """Return an old text with the one place that somebody left for another changed to that; "" if it is not clear.

    It is the one that the message names; or else, where that stands for the old text's subject until `end`, the only
    name `behind` the subject: "she left there".
    """
    if not has("leaves", message):
        return ""
    names = [value for value in values(old) if value.kind == "name" and value.start >= behind]
    named = [value for value in names if flat(value.text) in flat(message)]
    left = named or (names if end else [])
    new = [name for name in _PROPER.findall(message, end or 1) if flat(name) not in flat(old)]
    if len(left) != 1 or len(new) != 1:
        return ""
    return f"{old[: left[0].start]}{new[0]}{old[left[0].end :]}"


def _begins_with_name(text: str) -> bool:
    return any(word[0].isupper() and not silent(word) for word in words(text)[:2])


def _loses(old: str, new: str) -> bool:
    """Return whether more than one value of an old text would be gone: it tells several things."""
    return sum(flat(value.text) not in flat(new) for value in values(old)) > 1


def _shares(about: frozenset[str], item: MemoryItem) -> frozenset[str]:
    """Return the senses that a memory, or what it is found by, has of what a message is about."""
    return about & senses(" ".join((item.content, *item.bindings)))


def _edited(old: str, message: str) -> str:
    if listed(message):
        return relisted(old, message)
    return _left(old, message) or swapped(old, message) or _restated(old, message)


def _restated(old: str, message: str) -> str:
    """Return an old text that says what something is, with what a message says of the same thing; "" for others.

    "The wifi password: daisy" makes of "the wifi password is tulip" "the wifi password is daisy".
    """
    told, said = told_of(old), told_of(message)
    if not (told and said) or senses(told) != senses(said) or values(old) or values(message):
        return ""
    return f"{old[: len(old) - len(_told(old, told))]}{_told(message, said)}"


def _told(text: str, of: str) -> str:
    """Return what a text says of what it begins with."""
    behind = text[text.index(of) + len(of) :]
    return behind.split(None, 1)[-1] if behind.lstrip()[:1] != ":" else behind.lstrip(" :")


def _weight_of(shared: Collection[str]) -> float:
    return sum(_KIND_WEIGHT if is_kind(sense) else 1.0 for sense in shared)


def without_values(text: str) -> str:
    """Return a text without its values, but names: what it is about."""
    for value in reversed(values(text)):
        if value.kind != "name":
            text = f"{text[: value.start]} {text[value.end :]}"
    return text


# --- lists -----------------------------------------------------------------------------------------------------------


def relisted(old: str, message: str) -> str:
    """Return a list with a line or entry more or less, as the message asks; "" if it is no such wish or list."""
    wish = listed(message)
    if wish is None:
        return ""
    item, name, adds = wish
    if not adds:
        return without_entry(old, senses(item or message) - senses(name))
    lines = old.split("\n")
    mark = "- " if len(lines) > 1 and lines[-1].lstrip().startswith("- ") else ""
    return f"{old.rstrip(' ,;')}{chr(10) if len(lines) > 1 else ', '}{mark}{item.strip(' ,;:')}"


def without_entry(old: str, named: Collection[str]) -> str:
    """Return a list, or a sentence that enumerates, without the one entry that holds most of the senses that are named.

    It is "" if that is not clear, where what the others begin with is named, which means the whole, and where the
    others would lose a day, an hour, or an amount that stands with the last: "doctor and dentist on Friday".
    """
    head, entries, seams = _entries(old)
    is_bare = not head and len(entries[0].split()) == 1
    wanted = frozenset(named) - senses(head or ("" if is_bare else entries[0]))
    held = [len(wanted & senses(entry)) for entry in entries]
    best = max(held)
    is_said_twice = not head and len(seams) == 1 and seams[0].strip() in {",", ";"}  # "the butcher, Big Ray's"
    if len(entries) < _FEWEST or not best or held.count(best) > 1 or is_said_twice:
        return ""
    at = held.index(best)
    rest = [*entries[:at], *entries[at + 1 :]]
    if not head and "\n" not in seams and not _kinds(entries[at]) <= _kinds(" ; ".join(rest)):
        return ""
    seams = [*seams[: len(rest) - 2], seams[-1]][: len(rest) - 1]
    return head + "".join(f"{entry}{seam}" for entry, seam in zip(rest, [*seams, ""], strict=True))


def _kinds(text: str) -> set[str]:
    return {value.kind for value in values(text) if value.kind != "name"}


_LABELLED: Final = re.compile(r"[^:\n]{1,30}:\s")


def _entries(text: str) -> tuple[str, list[str], list[str]]:
    """Return what a list begins with ("" for a sentence), its entries, and what stands between each two of these.

    A card, whose lines are "name: value", has one entry, which is all of it.
    """
    if "\n" in text:
        head, *lines = text.split("\n")
        is_card = 2 * sum(_LABELLED.match(line) is not None for line in lines) > len(lines)
        return ("", [text], []) if is_card else (f"{head}\n", lines, ["\n"] * (len(lines) - 1))
    named = _LABELLED.match(text)
    head = named[0] if named else ""
    parts = _BETWEEN.split(text[len(head) :])
    return head, parts[::2], parts[1::2]
