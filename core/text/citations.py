"""Take the marks by which a model cites memories out of its text, while the text comes.

The model is asked to write `[m2]` after what rests on the memory labelled m2. Models also write `[M2]`, `[m1, m3]`,
`[m1][m2]`, `[^m2]`, `([m2])`, `【m2】` and `(m2)`. All are taken out, with up to four spaces before them, whether
such a memory was offered or not. Two judgement calls:

- `(m2)` may be square metres: it is taken out only if every label in it was offered.
- In code, between backticks, nothing is a mark: `x[m2]` stays. Backticks that are not closed make code of the rest of
  their line, a fence of three of the rest of the text.

What looks like a mark in the memories themselves is given to the model with an invisible sign in it (`not_cited`). When
the model repeats it, only that sign is taken out.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

_SPACES: Final = "[ \t\u00a0\u202f]"
_LABEL: Final = "[mM][0-9]{1,3}"
_BETWEEN: Final = " ?[,;/&+–-]? ?"
_LIST: Final = rf" ?\^?{_LABEL}(?:{_BETWEEN}{_LABEL}){{0,7}} ?"
_MARK: Final = rf"[\[【［]{_LIST}[\]】］]"
_WHOLE: Final = rf"{_SPACES}{{0,4}}(?:{_MARK}|\({_MARK}(?: ?{_MARK}){{0,3}}\)|(?P<round>\({_LIST}\)))"

_LIST_BEGUN: Final = rf" ?\^?(?:{_LABEL}{_BETWEEN}){{0,8}}(?:[mM][0-9]{{0,3}})? ?"
_MARK_BEGUN: Final = rf"[\[【［]{_LIST_BEGUN}"
_ROUND_BEGUN: Final = rf"\((?:(?:{_MARK} ?){{0,4}}(?:{_MARK_BEGUN})?|{_LIST_BEGUN})"
_BEGUN: Final = rf"(?:{_SPACES}{{0,4}}(?:{_MARK_BEGUN}|{_ROUND_BEGUN})|{_SPACES}{{1,4}})\Z"
"""What may become a mark, at the end of what came so far."""

_TICKS: Final = "(?P<ticks>`{1,3})"
_TICKS_BEGUN: Final = r"`{1,2}\Z"

_IN_TEXT: Final = re.compile(f"(?P<mark>{_WHOLE})|(?P<begun>{_BEGUN}|{_TICKS_BEGUN})|{_TICKS}")
_IN_CODE: Final = re.compile(f"(?P<mark>(?!))|(?P<begun>{_TICKS_BEGUN})|{_TICKS}|\n")
_AT_END: Final = re.compile(_WHOLE)
_LABELS: Final = re.compile(_LABEL)
_FENCE: Final = "```"
_JOINER: Final = "\u2060"  # WORD JOINER has no width


def not_cited(text: str) -> str:
    """Return the text with an invisible sign in all that `Citations` would take for a mark of any label."""
    return _AT_END.sub(lambda mark: _LABELS.sub(rf"{_JOINER}\g<0>", mark[0]), text)


class Citations:
    """A filter for one text that comes in pieces.

    It holds back only the last spaces and backticks, and what may become a mark. `offered` are the labels that the
    model was given, such as m1.
    """

    def __init__(self, offered: Collection[str] = ()) -> None:
        self._offered = offered
        self._held = ""
        self._code = ""
        """The backticks that opened the code in which the text is, or ""."""
        self._begins_line = True
        self._skips_spaces = False
        self._cited: dict[str, None] = {}

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels cited so far, in order, each once, in lower case; they need not have been offered."""
        return tuple(self._cited)

    def feed(self, piece: str) -> str:
        """Return what can be shown now that this piece came; it may be empty."""
        text, self._held = self._held + piece, ""
        shown, start = "", 0
        while sign := (_IN_CODE if self._code else _IN_TEXT).search(text, start):
            shown += self._passed(text[start : sign.start()])
            start = sign.end()
            if sign["begun"]:
                self._held = sign[0]
            elif sign["mark"]:
                shown += self._without(sign)
            else:
                shown += self._passed(sign[0])
                self._turn_code(sign[0])
        return (shown + self._passed(text[start:])).replace(_JOINER, "")

    def finish(self, *, is_cut: bool = False) -> str:
        """Return what was held back, as nothing more comes; without a mark that only began if the text `is_cut`."""
        text, self._held = self._held, ""
        shown, start = "", 0
        for sign in () if self._code else _AT_END.finditer(text):
            shown += self._passed(text[start : sign.start()]) + self._without(sign)
            start = sign.end()
        if is_cut and not text.startswith("`"):
            return ""
        return (shown + self._passed(text[start:])).replace(_JOINER, "")

    def _without(self, mark: re.Match[str]) -> str:
        """Take note of a mark and return what is to be shown of it: nothing, if it is one."""
        labels = [label.lower() for label in _LABELS.findall(mark[0])]
        if mark["round"] and not all(label in self._offered for label in labels):
            return self._passed(mark[0])
        self._cited.update(dict.fromkeys(labels))
        self._skips_spaces = self._begins_line  # otherwise the spaces before the mark went
        return ""

    def _passed(self, text: str) -> str:
        """Return text that is shown, without the spaces after a mark that begins a line."""
        if self._skips_spaces:
            text = text.lstrip(" \t\u00a0\u202f")
        if text:
            self._begins_line, self._skips_spaces = text.endswith("\n"), False
        return text

    def _turn_code(self, sign: str) -> None:
        """Begin or end code at backticks, or end it with its line."""
        if sign == "\n":
            self._code = self._code if self._code == _FENCE else ""
        elif not self._code:
            self._code = sign
        elif self._code == sign:
            self._code = ""
