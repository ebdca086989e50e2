"""Text that is safe to show, and a memory on one line. Knows no width and no colour.

Nothing that a model, a memory or a person wrote can steer the terminal: control characters (of C0 and C1, escape
sequences thus included) and bidirectional overrides are taken out before anything else.
"""

from __future__ import annotations

import re

from core.text.unicode import one_line
from core.types import MemoryItem

_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_MAX_BINDING_CHARS = 80
_MAX_CONTENT_CHARS = 500


def printable(text: str) -> str:
    """Return the text without anything that a terminal obeys; line ends become newlines, tabs four spaces."""
    text = _LINE_ENDS.sub("\n", text).expandtabs(4)
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))


def memory_line(item: MemoryItem) -> str:
    """Return a memory on one line: since when, what it is found by, what it holds."""
    binding = one_line(printable(item.bindings[0]), _MAX_BINDING_CHARS)
    content = one_line(printable(item.content), _MAX_CONTENT_CHARS)
    return f"🧠 {item.updated_at:%Y-%m-%d} · {binding}: {content}"
