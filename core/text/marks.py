"""Marks between the bot and a model: those that divide a prompt, those that cite a memory, and written tool calls.

People's text loses what looks like a mark before a model reads it; a model's text loses its marks, while it comes,
before people read it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
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
    """Return people's text with `‹` for the opening sign of all that looks like a mark, in linear time.

    That is `<` or `[` before the name of a mark, in any case, accents, width and look-alike letters, with any white
    space, punctuation or invisible characters in between.
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
    """Return a text as one entry of a list, the label before its first line and `|` before the others."""
    return f"{label}: " + "\n| ".join(text.splitlines())


def _beginning(text: str) -> str:
    """Return the first letters and digits of a text, folded."""
    if text.isascii():
        folded = text.lower()
    else:
        folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold()).translate(_LOOK_ALIKES)
    return "".join([found[0] for found in islice(_SIGN.finditer(folded), _LONGEST)])


# Citations.

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
    """Return a memory's text with an invisible sign in all that `Citations` would take for a mark of any label.

    When the model repeats it, only that sign is taken out.
    """
    return _AT_END.sub(lambda mark: _LABELS.sub(rf"{_JOINER}\g<0>", mark[0]), text)


class Citations:
    """Takes the marks by which a model cites memories out of one text that comes in pieces.

    The model is asked to write `[m2]` after what rests on the memory labelled m2. Models also write `[M2]`, `[m1, m3]`,
    `[m1][m2]`, `[^m2]`, `([m2])`, `【m2】` and `(m2)`. All are taken out, with up to four spaces before them, whether
    such a memory was offered or not. Two judgement calls:

    - `(m2)` may be square metres: it is taken out only if every label in it is of the `offered`, such as m1.
    - In code, between backticks, nothing is a mark: `x[m2]` stays. Backticks that are not closed make code of the rest
      of their line, a fence of three of the rest of the text.

    Only the last spaces and backticks are held back, and what may become a mark.
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


# What no person should read: written tool calls, and marks of the prompt.

_BLOCKS: Final = tuple("task tool_calls tool_call function_call function tool_response tool-result message".split())
"""Tags that go with all that stands in them, where they begin a line; elsewhere they may be spoken of."""

_LINES: Final = ("said-at", "speaker")
"""Tags that go with the rest of their line, if they do not say it themselves (`<said-at Sun 2026-11-22 09:14>`)."""

_ALONE: Final = tuple("memory known profile quote said room persona attached withheld failed file".split())
"""Tags that go alone: what stands in them may be the answer."""

_MARKS: Final = (SUMMARY_MARK, WINDOW_MARK, MESSAGES_MARK, "[TOOL_CALLS]")
_TAGS: Final = (*_BLOCKS, *_LINES, *_ALONE)
_TAG: Final = re.compile(rf"</?({'|'.join(_TAGS)})(?:[\s=][^<>\n]{{0,80}})?>|<\|[\w ]{{1,20}}\|>")
_TAG_BEGUN: Final = re.compile(
    rf"<(?:\|[\w ]{{0,20}}\|?)?\Z|</?(?:{'|'.join(_TAGS)})(?:[\s=][^<>\n]{{0,80}})?\Z|</?([a-z_-]{{0,14}})\Z"
)
_START: Final = re.compile(r"```|[`<\[{]")
_OPENING: Final = re.compile(r"(?:```[\w-]*)?[\s\[{]*")
_KEY: Final = re.compile(r'"(\w{0,16})(")?')
_KEYS: Final = frozenset(
    ("name", "tool", "function", "type", "id", "arguments", "parameters", "input", "reply", "calls", "tool_calls")
)
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_FLAT: Final = re.compile(r'[^"\[\]{}]*')
_MAX_CHARS: Final = 2_000
"""How much of what looks like JSON is held without a tool's name in it."""


class MachineText:
    """Takes out of one text that comes in pieces what no person should read; `names` are the tools that there are.

    Small models repeat the blocks of their prompt (`<task>`, `[JANELA_ATUAL]`, `<said-at>`), and write calls behind
    prose, fenced or with doubled braces, where `core.providers.written_calls` does not take them for calls. In code
    nothing is a mark, and JSON is a call only if it names a tool that there is. What may become machine text is held
    back. How the text is cut into pieces changes nothing.
    """

    def __init__(self, names: Collection[str]) -> None:
        named = "|".join(map(re.escape, names)) or "(?!)"
        self._call = re.compile(rf'"(?:name|tool|function)"\s*:\s*"(?:{named})"|"tool"\s*:\s*"Answer"')
        self._held = ""
        self._code = ""
        """The backticks that opened the code in which the text is, or ""."""
        self._skips_blanks = False
        self._begins_line = True
        self.has_taken = False

    def feed(self, piece: str) -> str:
        """Return what can be shown now that this piece came; it may be empty."""
        self._held += piece
        return self._advance(is_over=False)

    def finish(self) -> str:
        """Return what was held back and turned out to be text."""
        return self._advance(is_over=True)

    def _advance(self, *, is_over: bool) -> str:
        shown: list[str] = []
        while self._held:
            if self._code:
                length = self._code_length(is_over=is_over)
            elif (start := _START.search(self._held)) is None:
                length = len(self._held)
            elif start.start():
                length = start.start()
            else:
                taken = self._taken(is_over=is_over)
                if taken is None:
                    break
                if taken:
                    self._held, self._skips_blanks, self.has_taken = self._held[taken:], True, True
                    continue
                length = self._passed_sign(is_over=is_over)
            if not length:
                break
            shown.append(self._passed(length))
        return "".join(shown)

    def _passed(self, length: int) -> str:
        text, self._held = self._held[:length], self._held[length:]
        if self._skips_blanks:
            text = text.lstrip()
        self._skips_blanks = self._skips_blanks and not text
        self._begins_line = text.endswith("\n") if text else self._begins_line
        return text

    def _passed_sign(self, *, is_over: bool) -> int:
        """Return the length of a sign that begins no machine text; 0: it may go on. Backticks begin code."""
        if not self._held.startswith("`"):
            return 1
        if self._held in {"`", "``"} and not is_over:
            return 0
        self._code = _FENCE if self._held.startswith(_FENCE) else "`"
        return len(self._code)

    def _code_length(self, *, is_over: bool) -> int:
        """Return how much of the text is still code; the rest is text again."""
        end = self._held.find(self._code)
        if self._code == "`" and (line := self._held.find("\n")) >= 0 and (end < 0 or line < end):
            self._code = ""
            return line + 1
        if end < 0:
            ticks = 0 if is_over else len(self._held) - len(self._held.rstrip("`"))
            return len(self._held) - ticks
        length, self._code = end + len(self._code), ""
        return length

    def _taken(self, *, is_over: bool) -> int | None:
        """Return how much of what is held is machine text, from its beginning on; None if that is still to come."""
        held = self._held
        if held[0] == "<":
            return self._tag(is_over=is_over)
        if (mark := next((mark for mark in _MARKS if held.startswith(mark)), "")) != "":
            return len(mark)
        if any(mark.startswith(held) for mark in _MARKS) and not is_over:
            return None
        return self._json(is_over=is_over)

    def _tag(self, *, is_over: bool) -> int | None:
        found = _TAG.match(self._held)
        if found is None:
            begun = None if is_over else _TAG_BEGUN.match(self._held)
            is_begun = begun is not None and (begun[1] is None or any(tag.startswith(begun[1]) for tag in _TAGS))
            return None if is_begun else 0
        name, is_opening = found[1], not found[0].startswith("</")
        is_block = name in _BLOCKS and (self._begins_line or "call" in found[0])
        if name is None or not is_opening or not (is_block or (name in _LINES and " " not in found[0])):
            return found.end()
        closing = f"</{name}>"
        if (end := self._held.find(closing, found.end())) >= 0 and (name in _BLOCKS or "\n" not in self._held[:end]):
            return end + len(closing)
        line = self._held.find("\n", found.end())
        if name in _LINES and line >= 0:
            return line + 1
        return len(self._held) if is_over else None

    def _json(self, *, is_over: bool) -> int | None:
        """Return the length of a call that is written here, in a fence or not."""
        opening = _OPENING.match(self._held)
        start = opening.end() if opening else 0
        is_json = "{" in self._held[:start]
        key = _KEY.match(self._held, start)
        if start == len(self._held) or (is_json and key is not None and key.end() == len(self._held) and not key[2]):
            return None if not is_over else 0
        if not is_json or key is None or key[1] not in _KEYS:
            return 0
        end = _end_of_json(self._held, _MAX_CHARS)
        is_call = self._call.search(self._held, 0, _MAX_CHARS if end < 0 else end) is not None
        if end < 0 and is_call:
            end = _end_of_json(self._held)
        if end < 0 and not is_over:
            return None if is_call or len(self._held) < _MAX_CHARS else 0
        return (end if end >= 0 else len(self._held)) if is_call else 0


def _end_of_json(text: str, most: int | None = None) -> int:
    """Return where the fence, or the brackets, are closed that the text begins with; -1: not among the `most` first."""
    text = text[:most]
    if text.startswith(_FENCE):
        end = text.find(_FENCE, len(_FENCE))
        return end + len(_FENCE) if end >= 0 else -1
    depth, at = 0, 0
    while at < len(text):
        at = _FLAT.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty text, too
        if at == len(text):
            return -1
        if text[at] == '"':
            quoted = _QUOTED.match(text, at)
            if quoted is None:
                return -1
            at = quoted.end()
            continue
        depth += (text[at] in "{[") - (text[at] in "}]")
        at += 1
        if not depth:
            return at
    return -1
