"""Understand a short reply to the bot's question: yes, no, numbers of a list, or something else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from itertools import zip_longest

from core.locales import head
from core.text.unicode import flat
from core.types import Locale

_YES_ELSEWHERE = r"ja|jawohl|oui|da|да|hai|はい|是|好|👍\W?"
_NO_ELSEWHERE = r"nein|non|нет|いいえ|不|👎\W?"
_BEFORE_ALL = r"(?:(?:apag\w+|delet\w+|borr\w+|sim|yes|si|as|os|los|las|the)[\s,]+)*"
_NUMBER_WORDS = r"(?:o|a|os|as|the|el|la|numero|number|num|n|opcao|option|opcion|e|and|y|one|só|so|only)"
_REASON = r"[^\d?]{1,80}[,.;!…\n]\s*"
_SPACE, _PAUSE, _END = r"\s+", r"[\s,.;!…]+", r"[\s,.!…👍🙏😊❤\ufe0f]*"
MAX_CHOICE_WORDS = 6
_NOTED = re.compile(
    r"(?:ok(?:ay)?|blz|beleza|certo|isso(?: ai)?|exato|right|correct|sure|vale|bueno|ya|listo|perfeito|perfecto|"
    r"please|por favor|👍\W?|positivo|uhum|aham)\W*"
)
_MAX_CHARS = 60
"""A yes, a no or a choice is short."""

_MAX_UNDO_CHARS = 120
"""So is what takes back a change, but its reason may stand before it."""

_MAX_RESTORING_CHARS = 200
_CLAUSES = re.compile(r"[,.:;!?…\n]+|\s(?:and|but|so|e|mas|y|pero)\s")


class Doing(StrEnum):
    """What the person was asked to agree to, where that has words of its own: "keep it" is a yes, and a no."""

    ANYTHING = "anything"
    DELETE = "delete"
    KEEP = "keep"
    REPLACE = "replace"


def means_yes(message: str, to: Doing = Doing.ANYTHING) -> bool:
    """Return whether the reply agrees to do that, in words for yes or for doing it."""
    return _is_said(f"yes to {to}", message)


def acknowledges(message: str) -> bool:
    """Return whether a yes may only say that something was read: "ok"."""
    return _NOTED.fullmatch(flat(message).strip()) is not None


def means_no(message: str) -> bool:
    """Return whether the reply declines."""
    return _is_said("no", message)


def means_both(message: str) -> bool:
    """Return whether the reply asks to keep the new beside the old."""
    return _is_said("both", message)


def means_none(message: str) -> bool:
    """Return whether the reply says that it is none of the options."""
    return _is_said("none", message)


def means_undo(message: str) -> bool:
    """Return whether the message asks to undo the last change, and nothing else.

    Before that may stand why, in the words of somebody who noticed a slip: "oops, that was mine, undo".
    """
    return _is_said("undo", message, _MAX_UNDO_CHARS)


def means_why(message: str) -> bool:
    """Return whether the message asks how the bot knows what it said, and nothing else."""
    return _is_said("why", message)


def incognito_word(message: str) -> str:
    """Return what /memory is told by a message that asks for incognito or its end, and nothing else; "" for none."""
    if _is_said("incognito", message):
        return "incognito"
    return "incognito off" if _is_said("no incognito", message) else ""


def names_incognito(message: str) -> bool:
    """Return whether a short message names incognito, be it to ask for it in words that `incognito_word` lacks."""
    return len(message) <= _MAX_CHARS and _patterns()["names incognito"].search(flat(message)) is not None


def restores(message: str) -> bool:
    """Return whether a message that comes soon after a deletion or a change asks, in one of its clauses, for what was.

    Its reason may stand beside it: "the girl says I still need it. Can I have that back?"
    """
    if len(message) > _MAX_RESTORING_CHARS:
        return False
    return any(_is_said("restore", clause) for clause in _CLAUSES.split(message))


def numbered(message: str, count: int, to: Doing = Doing.ANYTHING) -> tuple[int, ...] | None:
    """Return the indices of the options (of `count`) that the reply names, by number or all; None if it names none.

    Beside the numbers it may agree to do that: "ok, delete 2".
    """
    told = flat(message).strip(" .!)(") if len(message) <= _MAX_CHARS else ""
    if _patterns()["all"].fullmatch(told):
        return tuple(range(count))
    said = re.findall(r"[\w']+", told)
    if len(said) > MAX_CHOICE_WORDS:
        return None
    beside = rf"{_NUMBER_WORDS}|{_any('yes', to)}" if to is not Doing.ANYTHING else _NUMBER_WORDS
    numbers = [_number(word) for word in said if not re.fullmatch(beside, word) or word == told]
    if not numbers or not all(numbers):
        return None
    return tuple(sorted({number - 1 for number in numbers if number <= count}))


def _is_said(meaning: str, message: str, max_chars: int = _MAX_CHARS) -> bool:
    if len(message) > max_chars:
        return False
    return _patterns()[meaning].fullmatch(flat(message).strip().replace("’", "'")) is not None


def _number(word: str) -> int:
    if word.isdecimal():
        return int(word)
    spelled = (at for at, names in enumerate(_ordinals(), 1) if names.fullmatch(word))
    return next(spelled, 0)


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    """Map each meaning to the pattern of its words in all languages."""
    verbs = {to: [to] if to is not Doing.ANYTHING else list(Doing)[1:] for to in Doing}
    yes = {
        f"yes to {to}": rf"(?:{_any('yes', *doing)}|{_YES_ELSEWHERE})"
        rf"{_after(_PAUSE, 'yes', 'after_yes', 'that', *doing)}"
        for to, doing in verbs.items()
    }
    no = f"(?:{_any('no')}|{_NO_ELSEWHERE})"
    more = rf"(?:{_PAUSE}(?:{_any('no', 'after_yes', 'slips')})(?!\w)|{_SPACE}(?:{_any('after_no', 'that')})(?!\w))*+"
    kept = rf"{_before('yes', 'no', 'keep')}(?:{_any('both')}){_after(_PAUSE, 'after_yes')}"
    undo = rf"{_before('polite', 'slips')}(?:{_any('take_back')})(?!\w)"
    undo += _after(_PAUSE, "taken_back", "that", "polite", "slips")
    restore = rf"{_before('polite', 'slips')}(?:(?!take )(?:{_any('take_back', 'restore')}))(?!\w)"
    restore += _after(_PAUSE, "taken_back", "that", "polite", "slips")
    said = yes | {
        "restore": rf"\W*{restore}",
        "no": f"{no}{more}",
        "both": kept,
        "none": rf"(?:{_any('none')}){_after(_PAUSE, 'after_yes')}",
        "undo": rf"(?:{undo}|(?:{_any('slips')}){_PAUSE}{_REASON}{undo})\??",
        "all": rf"{_BEFORE_ALL}(?:{_any('all')})",
        "incognito": rf"¿?\s*{_before('polite')}(?:(?:{_any('begin_incognito')})\s+)?(?:{_any('incognito')})"
        rf"{_after(_PAUSE, 'polite', 'incognito_on')}\s*\?*",
        "no incognito": rf"¿?\s*{_before('polite')}(?:(?:{_any('end_incognito')})\s+(?:{_any('incognito')})"
        rf"|(?:turn )?(?:{_any('incognito')})\s+(?:{_any('incognito_off')})){_after(_PAUSE, 'polite')}\s*\?*",
        "why": rf"¿?\s*(?:{_any('asks_why')})(?:{_PAUSE}(?:{_any('polite')}))?\s*\?*",
    }
    searched = {"names incognito": re.compile(rf"\b(?:{_any('incognito')})(?!\w)")}
    return {meaning: re.compile(f"{pattern}{_END}") for meaning, pattern in said.items()} | searched


def _before(*names: str) -> str:
    """Return the pattern of any number of these words at the beginning; it never goes back, so it takes linear time."""
    return rf"(?:(?:{_any(*names)}){_PAUSE})*+"


def _after(pause: str, *names: str) -> str:
    return rf"(?:{pause}(?:{_any(*names)})(?!\w))*+"


@cache
def _any(*names: str) -> str:
    """Return the pattern of these words in all languages, the longer ones first."""
    words = {word for name in names for word in _words(name)}
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


@cache
def _ordinals() -> tuple[re.Pattern[str], ...]:
    """Return the patterns of one, two, three… in all languages."""
    counted = zip_longest(*(head(locale).get("numbers", ()) for locale in Locale), fillvalue="")
    return tuple(re.compile("|".join(" ".join(names).split())) for names in counted)


def _words(name: str) -> Iterator[str]:
    for locale in Locale:
        yield from map(flat, head(locale).get(name, ()))
