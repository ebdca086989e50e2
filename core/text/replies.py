"""What a short reply to a question of ours means: yes, no, numbers of a list, or something else altogether."""

from __future__ import annotations

import re

from core.text.unicode import flat

_YES = re.compile(
    r"(?:s|sim+|pode|claro|isso|ok(?:ay)?|confirm\w*|certeza|com certeza|positivo|manda|vai|"
    r"beleza|blz|aham|uhum|por favor|"
    r"y|yes+|yeah|yep|yup|sure|do it|go ahead|please|please do|correct|right|of course|absolutely|"
    r"si|dale|vale|claro que si|correcto|adelante|bueno|ja|jawohl|oui|da|да|hai|はい|是|好|👍\W?)"
    r"(?:[\s,.!]+(?:sim|pode|pode sim|claro|isso|isso mesmo|apag\w*|delet\w*|mud\w*|"
    r"troca\w*|"
    r"yes|please|pls|plz|delete (?:it|them|all)|go ahead|do it|"
    r"sure|si|borr\w*|cambi\w*|por favor|confirmo|mesmo|com certeza))*[\s.!]*"
)
_NO = re.compile(
    r"(?:n|nao+|no+|nope|nah|nunca|never|negativo|nada|nenhum[ao]?|ningun[ao]?|none|neither|cancel\w*|deixa\w*|deja\w*|para|"
    r"stop|"
    r"keep it|keep them|don'?t|do not|forget it|"
    r"esquec[ea]|olvidalo|melhor nao|mejor no|👎\W?|never ?mind|espera|wait|nein|non|нет|いいえ|不)"
    r"(?:[,.!][\w' ]{0,40}|\s+(?:quero|precis\w+|obrigad[oa]|sei|apag\w+|delet\w+|thanks|thank you|gracias|"
    r"agora|isso|quieto|"
    r"disso|d?el[ae]s|d?essas|destas|pra la|para la|it|that|mind|importa|por enquanto|hay|ningun[ao]))*[\s.!]*"
)
_DELETE = re.compile(
    r"(?:apag\w+|delet\w+|borr\w+|remov\w+|elimin\w+|exclu\w+|erase)"
    r"(?:[\s,]+(?:it|them|that|all|isso|el[ae]s?|eso|sim|yes|si|por favor|please|now|agora|ahora))*[\s.!]*"
)
_UNDO = re.compile(
    r"(?:please |por favor,? |pode )?(?:undo|take (?:that|it) back|desfaz(?:er)?|desfaca|deshacer|deshaz(?:lo)?)"
    r"(?:,? (?:it|that|this|isso|isto|eso|esto|a ultima|la ultima|por favor|please))*[\s.!?]*"
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
MAX_CHOICE_WORDS = 6
_MAX_CHARS = 60
"""A yes, a no or a choice is short."""


def means_yes(message: str) -> bool:
    """Return whether the reply agrees."""
    return len(message) <= _MAX_CHARS and _YES.fullmatch(flat(message).strip()) is not None


def means_deletion(message: str) -> bool:
    """Return whether the reply says once more to delete what was just shown."""
    return len(message) <= _MAX_CHARS and _DELETE.fullmatch(flat(message).strip()) is not None


def means_undo(message: str) -> bool:
    """Return whether the whole message says to take back what was done last."""
    return len(message) <= _MAX_CHARS and _UNDO.fullmatch(flat(message).strip()) is not None


def means_no(message: str) -> bool:
    """Return whether the reply declines."""
    return len(message) <= _MAX_CHARS and _NO.fullmatch(flat(message).strip()) is not None


def numbered(message: str, count: int) -> tuple[int, ...] | None:
    """Return the indices that the reply names of `count` options, by number or all; None if it names no number."""
    told = flat(message).strip(" .!)(") if len(message) <= _MAX_CHARS else ""
    if _ALL.fullmatch(told):
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
    spelled = (at for at, names in enumerate(_ORDINALS, 1) if any(re.fullmatch(name, word) for name in names.split()))
    return next(spelled, 0)
