"""What a reply to our own question means: yes, no, a number, one of the options, or something else altogether.

Knows the questions of `sentences` and how people answer them. Does not know what is done about it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from core.mind import sentences as say
from core.mind.words import flat, stems, words
from core.types import Locale, Localized

_YES = re.compile(
    r"(?:s|sim+|pode|claro|isso|ok(?:ay)?|confirm\w*|certeza|com certeza|positivo|manda|vai|"
    r"beleza|blz|aham|uhum|por favor|"
    r"y|yes+|yeah|yep|yup|sure|do it|go ahead|please|please do|correct|right|of course|absolutely|"
    r"si|dale|vale|claro que si|correcto|adelante|bueno)"
    r"(?:[\s,.!]+(?:sim|pode|pode sim|claro|isso|isso mesmo|apag\w*|delet\w*|mud\w*|"
    r"troca\w*|"
    r"yes|please|delete it|go ahead|do it|sure|si|borr\w*|cambi\w*|por favor|confirmo|mesmo|com certeza))*[\s.!]*"
)
_NO = re.compile(
    r"(?:n|nao+|no+|nope|nah|nunca|never|negativo|nada|nenhum[ao]?|ningun[ao]?|none|neither|cancel\w*|deixa\w*|deja\w*|para|"
    r"stop|"
    r"keep it|don'?t|never ?mind|espera|wait)"
    r"(?:[,.!][\w' ]{0,40}|\s+(?:quero|precis\w+|obrigad[oa]|sei|apag\w+|delet\w+|thanks|thank you|gracias|agora|isso|"
    r"disso|d?el[ae]s|d?essas|destas|pra la|para la|it|that|mind|importa|por enquanto|hay|ningun[ao]))*[\s.!]*"
)
_ALL = re.compile(
    r"(?:(?:apag\w+|delet\w+|borr\w+|sim|yes|si|as|os|los|las|the)[\s,]+)*"
    r"(?:tod[oa]s(?: (?:elas|eles|ellas|ellos))?|tudo|"
    r"all(?: of (?:them|it))?|everything|both|amb[oa]s|"
    r"(?:as|os|los|las) (?:duas|dois|dos)|todo)[\s.!]*"
)
_ORDINALS = (
    "1 um uma primeir[oa] one first primer[oa]? un una",
    "2 dois duas segund[oa] two second dos",
    "3 tres terceir[oa] three third tercer[oa]?",
    "4 quatro quart[oa] four fourth cuatro cuart[oa]",
    "5 cinco quint[oa] five fifth",
)
_NUMBER_WORDS = r"(?:o|a|os|as|the|el|la|numero|number|num|n|opcao|option|opcion|e|and|y|one|só|so|only)"
_MAX_CHOICE_WORDS = 6
_MAX_VALUE_WORDS = 12
_MAX_CHARS = 60
"""A yes, a no or a choice is short."""

_MAX_PLAIN_VALUE_WORDS = 5


class Kind(StrEnum):
    """Which of our questions."""

    SAVE_OR_SEARCH = "save-or-search"
    SAVE_WHAT = "save-what"
    DELETE_WHAT = "delete-what"
    DELETE_ONE = "delete-one"
    DELETE_MANY = "delete-many"
    DELETE_ALL = "delete-all"
    UPDATE_WHICH = "update-which"
    NEW_VALUE = "new-value"
    NOT_FOUND = "not-found"


@dataclass(frozen=True, slots=True)
class Asked:
    """One of our questions: which, its numbered options, and the subject it names ("" if none)."""

    kind: Kind
    options: tuple[str, ...]
    subject: str


LEADS: dict[Kind, Localized] = {
    Kind.SAVE_OR_SEARCH: say.SAVE_OR_SEARCH,
    Kind.SAVE_WHAT: say.SAVE_WHAT,
    Kind.DELETE_WHAT: say.DELETE_WHAT,
    Kind.DELETE_ONE: say.DELETE_ONE,
    Kind.DELETE_MANY: say.DELETE_MANY,
    Kind.DELETE_ALL: say.DELETE_ALL,
    Kind.UPDATE_WHICH: say.UPDATE_WHICH,
    Kind.NEW_VALUE: say.NEW_VALUE,
    Kind.NOT_FOUND: say.NOT_FOUND,
}


def recognised(text: str) -> Asked | None:
    """Return which of our questions the text asks; None if it asks none."""
    for kind, lead in LEADS.items():
        for locale in Locale:
            match = re.search(re.escape(lead[locale]).replace(re.escape("{subject}"), "(?P<subject>.+?)"), text)
            if match:
                options = re.findall(r"^\d+\. (.+)$", text[match.end() :], re.MULTILINE)
                return Asked(kind, tuple(options), match.groupdict().get("subject") or "")
    return None


def means_yes(message: str) -> bool:
    """Return whether the reply agrees."""
    return len(message) <= _MAX_CHARS and _YES.fullmatch(flat(message).strip()) is not None


def means_no(message: str) -> bool:
    """Return whether the reply declines."""
    return len(message) <= _MAX_CHARS and _NO.fullmatch(flat(message).strip()) is not None


def picked(message: str, options: tuple[str, ...], *, by_words: bool) -> tuple[int, ...]:
    """Return the indices of the options that the reply names: by number, all of them, or (`by_words`) by their words.

    Anything that asks is no reply: "what is the gate code?" must never pick the gate code from a list to delete.
    """
    told = flat(message).strip(" .!)(")
    if len(told) > _MAX_CHARS:
        return ()
    if _ALL.fullmatch(told):
        return tuple(range(len(options)))
    said = re.findall(r"[\w']+", told)
    if not said or len(said) > _MAX_CHOICE_WORDS:
        return ()
    numbers = [_number(word) for word in said if not re.fullmatch(_NUMBER_WORDS, word) or word == told]
    if numbers and all(numbers):
        return tuple(sorted({number - 1 for number in numbers if number <= len(options)}))
    return _by_words(message, options) if by_words and "?" not in message else ()


def _number(word: str) -> int:
    if word.isdigit():
        return int(word)
    spelled = (at for at, names in enumerate(_ORDINALS, 1) if any(re.fullmatch(name, word) for name in names.split()))
    return next(spelled, 0)


def _by_words(message: str, options: tuple[str, ...]) -> tuple[int, ...]:
    """Return the one option that holds more of the reply's words than any other."""
    named = stems(message)
    scores = [len(named & stems(option)) for option in options]
    best = max(scores, default=0)
    return (scores.index(best),) if best and scores.count(best) == 1 else ()


def is_value(message: str) -> bool:
    """Return whether the reply may be the value we asked for: no question, and short, or with a number in it."""
    most = _MAX_VALUE_WORDS if any(letter.isdigit() for letter in message) else _MAX_PLAIN_VALUE_WORDS
    return 0 < len(words(message)) <= most and "?" not in message
