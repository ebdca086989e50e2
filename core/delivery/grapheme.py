"""Where a text may be cut without tearing a character that a person sees. Knows Unicode, not what the text is for.

An approximation of the extended grapheme clusters of UAX #29 with what the standard library knows: combining marks,
joined and modified emoji, flags, Hangul syllables, CR LF and surrogate pairs are kept whole.
"""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"
_MAX_CLUSTER = 64
"""Code points. Longer piles of marks are nobody's character; cutting them keeps the search bounded."""


def whole_before(text: str, end: int, start: int) -> int:
    """Return the last index in `start + 1 .. end` at which no character is torn, or `end` where there is none near.

    `end` is before the end of the text.
    """
    for index in range(end, max(start, end - _MAX_CLUSTER), -1):
        if not _joined(text, index, start):
            return index
    return end


def _joined(text: str, index: int, start: int) -> bool:
    """Whether the code points on both sides of `index` are parts of one visible character."""
    before, after = text[index - 1], text[index]
    if _extends(after) or (before == _JOINER and index - 1 > start):
        return True
    if _is_flag_half(before) and _is_flag_half(after):
        return _flag_halves(text, index, start) % 2 == 1
    return (before == "\r" and after == "\n") or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")


def _extends(char: str) -> bool:
    return (
        char == _JOINER
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= char <= "\U000e007f"  # tags of subdivision flags
        or "\u1160" <= char <= "\u11ff"  # Hangul vowels and finals
        or unicodedata.category(char) in {"Mn", "Mc", "Me"}
    )


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_halves(text: str, index: int, start: int) -> int:
    """Return how many regional indicators stand in a row right before `index`."""
    count = 0
    while index - count > start and count <= _MAX_CLUSTER and _is_flag_half(text[index - count - 1]):
        count += 1
    return count
