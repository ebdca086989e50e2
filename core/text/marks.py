"""The marks that divide a prompt, and the neutralising of marks in people's text.

Text is searched for `<` or `[` before the name of a mark, in any case, accents, width and look-alike letters, with any
white space, punctuation or invisible characters in between.
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
    "<": (
        *("task", "memory", "persona", "quote", "attached", "said", "withheld", "speaker", "message"),
        *("known", "profile", "room", "failed", "file"),
    ),
    "[": ("historicoresumido", "janelaatual", "mensagens"),
}
"""Names by opening sign, in letters and digits only."""

_LONGEST: Final = max(len(name) for names in _NAMES.values() for name in names)
_OPENER: Final = re.compile("([<\u226e\ufe64\uff1c\\[\ufe47\uff3b])")  # all that NFKD turns into `<` or `[`
_BRACKETS: Final = "[\ufe47\uff3b"
_SIGN: Final = re.compile(r"[^\W_]")
_NEUTRAL: Final = "‹"
_LOOK_ALIKES: Final = str.maketrans(
    "аеорсткмухѕіјոαετκροιυνμηԁԛѡıɑɡǀ", "aeopctkmyxsijnaetkpoiuvmndqwiagl", "\u115f\u1160\u3164\uffa0"
)
"""Letters of other scripts that look like those of the names, and invisible letters."""


def quoted(text: str) -> str:
    """Return the text with `‹` for the opening sign of all that looks like a mark, in linear time."""
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
    """Return a text as one entry of a list, the label before its first line and `|` before the others."""
    return f"{label}: " + "\n| ".join(text.splitlines())


def _beginning(text: str) -> str:
    """Return the first letters and digits of a text, folded."""
    if text.isascii():
        folded = text.lower()
    else:
        folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold()).translate(_LOOK_ALIKES)
    return "".join([found[0] for found in islice(_SIGN.finditer(folded), _LONGEST)])
