"""Take out of a model's text, while it comes, what no person should read: written tool calls and marks of the prompt.

Small models repeat the blocks of their prompt (`<task>`, `[JANELA_ATUAL]`, `<said-at>`), and write calls behind prose,
fenced or with doubled braces, where `core.providers.written_calls` does not take them for calls. In code nothing is a
mark, and JSON is a call only if it names a tool that there is.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from core.text.marks import MESSAGES_MARK, SUMMARY_MARK, WINDOW_MARK

_WHOLE: Final = tuple("task tool_calls tool_call function_call function tool_response tool-result message".split())
"""Tags that go with all that stands in them, where they begin a line; elsewhere they may be spoken of."""

_LINES: Final = ("said-at", "speaker")
"""Tags that go with the rest of their line, if they do not say it themselves (`<said-at Sun 2026-11-22 09:14>`)."""

_ALONE: Final = (
    "memory",
    "known",
    "profile",
    "quote",
    "said",
    "room",
    "persona",
    "attached",
    "withheld",
    "failed",
    "file",
)
"""Tags that go alone: what stands in them may be the answer."""

_MARKS: Final = (SUMMARY_MARK, WINDOW_MARK, MESSAGES_MARK, "[TOOL_CALLS]")
_TAGS: Final = (*_WHOLE, *_LINES, *_ALONE)
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
_FENCE: Final = "```"
_MAX_CHARS: Final = 2_000
"""How much of what looks like JSON is held without a tool's name in it."""


class MachineText:
    """A filter for one text that comes in pieces; `names` are the tools that there are.

    What may become machine text is held back. How the text is cut into pieces changes nothing.
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
        is_block = name in _WHOLE and (self._begins_line or "call" in found[0])
        if name is None or not is_opening or not (is_block or (name in _LINES and " " not in found[0])):
            return found.end()
        closing = f"</{name}>"
        if (end := self._held.find(closing, found.end())) >= 0 and (name in _WHOLE or "\n" not in self._held[:end]):
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
