"""Understand a short reply to the bot's question: yes, no, numbers of a list, or something else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import zip_longest

from core.locales import head
from core.text.unicode import flat
from core.types import Locale

_YES_ELSEWHERE = r"ja|jawohl|oui|da|да|hai|はい|是|好|👍\W?"
_AFTER_YES = (
    r"(?:[\s,.!]+(?:sim|pode|pode sim|claro|isso|isso mesmo|apag\w*|delet\w*|mud\w*|troca\w*|"
    r"yes|please|pls|plz|delete (?:it|them|all)|go ahead|do it|"
    r"sure|si|borr\w*|cambi\w*|por favor|confirmo|mesmo|com certeza))*[\s.!]*"
)
_NO_ELSEWHERE = r"nein|non|нет|いいえ|不|👎\W?"
_AFTER_NO = (
    r"(?:[,.!][\w' ]{0,40}|\s+(?:quero|precis\w+|obrigad[oa]|sei|apag\w+|delet\w+|thanks|thank you|gracias|"
    r"agora|isso|quieto|disso|d?el[ae]s|d?essas|destas|pra la|para la|it|that|mind|importa|por enquanto|hay|"
    r"ningun[ao]))*[\s.!]*"
)
_AFTER_DELETE = r"(?:[\s,]+(?:it|them|that|all|isso|el[ae]s?|eso|sim|yes|si|por favor|please|now|agora|ahora))*[\s.!]*"
_BEFORE_UNDO = r"(?:please |por favor,? |pode )?"
_AFTER_UNDO = r"(?:,? (?:it|that|this|isso|isto|eso|esto|a ultima|la ultima|por favor|please))*[\s.!?]*"
_BEFORE_ALL = r"(?:(?:apag\w+|delet\w+|borr\w+|sim|yes|si|as|os|los|las|the)[\s,]+)*"
_NUMBER_WORDS = r"(?:o|a|os|as|the|el|la|numero|number|num|n|opcao|option|opcion|e|and|y|one|só|so|only)"
MAX_CHOICE_WORDS = 6
_MAX_CHARS = 60
"""A yes, a no or a choice is short."""


def means_yes(message: str) -> bool:
    """Return whether the reply agrees."""
    return len(message) <= _MAX_CHARS and _patterns()["yes"].fullmatch(flat(message).strip()) is not None


def means_deletion(message: str) -> bool:
    """Return whether the reply asks once more to delete what was just shown."""
    return len(message) <= _MAX_CHARS and _patterns()["delete"].fullmatch(flat(message).strip()) is not None


def means_undo(message: str) -> bool:
    """Return whether the message asks to undo the last change, and nothing else."""
    return len(message) <= _MAX_CHARS and _patterns()["take_back"].fullmatch(flat(message).strip()) is not None


def means_no(message: str) -> bool:
    """Return whether the reply declines."""
    return len(message) <= _MAX_CHARS and _patterns()["no"].fullmatch(flat(message).strip()) is not None


def numbered(message: str, count: int) -> tuple[int, ...] | None:
    """Return the indices of the options (of `count`) that the reply names, by number or all; None if it names none."""
    told = flat(message).strip(" .!)(") if len(message) <= _MAX_CHARS else ""
    if _patterns()["all"].fullmatch(told):
        return tuple(range(count))
    said = re.findall(r"[\w']+", told)
    if len(said) > MAX_CHOICE_WORDS:
        return None
    numbers = [_number(word) for word in said if not re.fullmatch(_NUMBER_WORDS, word) or word == told]
    if not numbers or not all(numbers):
        return None
    return tuple(sorted({number - 1 for number in numbers if number <= count}))


def _number(word: str) -> int:
    if word.isdecimal():
        return int(word)
    spelled = (at for at, names in enumerate(_ordinals(), 1) if names.fullmatch(word))
    return next(spelled, 0)


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    """Map each meaning to the pattern of its words in all languages."""
    said = {name: "|".join(_words(name)) for name in ("yes", "no", "delete", "take_back", "all")}
    return {
        "yes": re.compile(rf"(?:{said['yes']}|{_YES_ELSEWHERE}){_AFTER_YES}"),
        "no": re.compile(rf"(?:{said['no']}|{_NO_ELSEWHERE}){_AFTER_NO}"),
        "delete": re.compile(rf"(?:{said['delete']}){_AFTER_DELETE}"),
        "take_back": re.compile(rf"{_BEFORE_UNDO}(?:{said['take_back']}){_AFTER_UNDO}"),
        "all": re.compile(rf"{_BEFORE_ALL}(?:{said['all']})[\s.!]*"),
    }


@cache
def _ordinals() -> tuple[re.Pattern[str], ...]:
    """Return the patterns of one, two, three… in all languages."""
    counted = zip_longest(*(head(locale).get("numbers", ()) for locale in Locale), fillvalue="")
    return tuple(re.compile("|".join(" ".join(names).split())) for names in counted)


def _words(name: str) -> Iterator[str]:
    for locale in Locale:
        yield from map(flat, head(locale).get(name, ()))
