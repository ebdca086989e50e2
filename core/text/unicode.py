"""Clean text: control characters, unpaired surrogates, length, one line."""

from __future__ import annotations

import re
import unicodedata

_SURROGATES = re.compile("[\ud800-\udfff]")
_E_ACUTE = re.compile("[éÉ]")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u2060\ufeff]")


def clean(text: str, max_chars: int | None = None) -> str:
    """Return the text NFC-normalised and stripped, without lone surrogates and control characters but tab and newline.

    Carriage returns become newlines. `max_chars` limits the result.
    """
    if max_chars is not None:  # up to 4 characters compose into one; do not normalise a megabyte
        text = text[: max_chars * 4]
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    text = _CONTROLS.sub("", _SURROGATES.sub("\ufffd", text))
    text = unicodedata.normalize("NFC", text).strip()
    return text if max_chars is None else text[:max_chars].rstrip()


def one_line(text: str, max_chars: int) -> str:
    """Return the text on one line of at most `max_chars`, with an ellipsis if it was cut."""
    flat = " ".join(clean(text, max_chars + 1).split())
    return flat if len(flat) <= max_chars else flat[: max_chars - 1].rstrip() + "…"


def fold(text: str) -> str:
    """Return the text for comparison: case-folded, without accents, with single spaces."""
    if text.isascii():
        return " ".join(_CONTROLS.sub("", text.replace("\r", "\n")).lower().split())
    return " ".join(unicodedata.normalize("NFKD", clean(text).casefold()).translate(_UNMARKED).split())


_FIRST_PLANE = range(0x10000)


class _Unmarked(dict[int, int | None]):
    """Each character itself, combining marks nothing; those of the first plane are looked up once and kept."""

    def __missing__(self, code: int) -> int | None:
        kept = None if unicodedata.combining(chr(code)) else code
        if code in _FIRST_PLANE:  # the rest is rare, and nobody's text may fill the memory
            self[code] = kept
        return kept


_UNMARKED = _Unmarked()


class _Bases(dict[int, str]):
    """Each character in lower case and without accents, computed once."""

    def __missing__(self, code: int) -> str:
        base = unicodedata.normalize("NFD", chr(code))[0].lower()
        self[code] = base = base if len(base) == 1 else chr(code)
        return base


_BASES = _Bases({ord(char): "'" for char in "’‘`´"})


def flat(text: str) -> str:
    """Return the text in lower case and without accents, of the same length, so that offsets are valid in both.

    A lone `é` stays: it is the verb of a Portuguese sentence, and `e` is the conjunction.
    """
    bare = text.translate(_BASES)
    if text.isascii():
        return bare
    kept, start = [], 0
    for found in _E_ACUTE.finditer(text):
        at = found.start()
        if not text[at - 1 : at].isalnum() and not text[at + 1 : at + 2].isalnum():
            kept += [bare[start:at], "é"]
            start = at + 1
    return "".join((*kept, bare[start:])) if kept else bare
