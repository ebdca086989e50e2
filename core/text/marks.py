"""The marks that divide a prompt, and people's text made unable to contain one.

A mark is known by its name, so text is searched for `<` or `[` before such a name, whatever the case, accents, width,
look-alike letters, and whatever white space, punctuation or invisible signs stand in between.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import islice
from typing import Final

SUMMARY_MARK: Final = "[HISTÓRICO_RESUMIDO]"
WINDOW_MARK: Final = "[JANELA_ATUAL]"
MESSAGES_MARK: Final = "[MENSAGENS]"

_NAMES: Final = {
    "<": ("task", "memory", "persona", "quote", "attached", "saidat", "withheld"),
    "[": ("historicoresumido", "janelaatual", "mensagens"),
}
"""After the opening sign, without what is no letter or digit."""

_LONGEST: Final = max(len(name) for names in _NAMES.values() for name in names)
_OPENER: Final = re.compile("([<\u226e\ufe64\uff1c\\[\ufe47\uff3b])")  # all that NFKD makes a `<` or `[` of
_BRACKETS: Final = "[\ufe47\uff3b"
_SIGN: Final = re.compile(r"[^\W_]")
_NEUTRAL: Final = "‹"
_LOOK_ALIKES: Final = str.maketrans(
    "аеорсткмухѕіјոαετκροιυνμηԁԛѡıɑɡǀ", "aeopctkmyxsijnaetkpoiuvmndqwiagl", "\u115f\u1160\u3164\uffa0"
)
"""Letters of other scripts that look like those of the names, and letters that nobody sees."""


def quoted(text: str) -> str:
    """Return the text without marks of ours: the opening sign of what looks like one is replaced by `‹`.

    It takes linear time, and changes nothing in a text that holds no mark.
    """
    pieces = _OPENER.split(text)
    if len(pieces) == 1:
        return text
    ahead = ""
    for at in range(len(pieces) - 1, 0, -2):  # text, opening sign, text, opening sign, text
        if pieces[at]:
            ahead = (_beginning(pieces[at]) + ahead)[:_LONGEST]
        if ahead.startswith(_NAMES["[" if pieces[at - 1] in _BRACKETS else "<"]):
            pieces[at - 1] = _NEUTRAL
    return "".join(pieces)


def labelled(label: str, text: str) -> str:
    """Return a text as one entry of a list: the label before its first line, `|` before the others: none is forged."""
    return f"{label}: " + "\n| ".join(text.splitlines())


def _beginning(text: str) -> str:
    """Return the first letters and digits of a text, folded."""
    if text.isascii():
        folded = text.lower()
    else:
        folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold()).translate(_LOOK_ALIKES)
    return "".join(found[0] for found in islice(_SIGN.finditer(folded), _LONGEST))
