"""Write to a stream that may be a terminal, a pipe, or closed, and make text safe to show there.

Nothing that a model, a memory or a person wrote can steer the terminal: control characters (of C0 and C1, escape
sequences thus included) and bidirectional overrides are removed first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final, TextIO

from wcwidth import iter_graphemes, wcstwidth

from core.errors import ChannelGone
from core.text.unicode import one_line
from core.types import MemoryItem

_DEFAULT_SIZE = os.terminal_size((80, 24))
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_MAX_BINDING_CHARS = 80
_MAX_CONTENT_CHARS = 500
_UNLIMITED = 10_000
_MAX_CLUSTER_COLUMNS: Final = 2


class Output:
    """A text stream that is never handed a character it cannot encode."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.gone = False  # nobody reads any more

    def write(self, text: str) -> None:
        """Write the text, all of it, now.

        Raises:
            ChannelGone: nobody reads any more (the pipe or the terminal was closed).
        """
        encoding = self._stream.encoding or "utf-8"
        try:
            self._stream.write(text.encode(encoding, "replace").decode(encoding))
            self._stream.flush()
        except (OSError, ValueError) as error:  # ValueError: the stream itself was closed
            self.gone = True
            self._silence()
            raise ChannelGone("nobody reads the output any more") from error

    @property
    def size(self) -> os.terminal_size:
        """Columns and lines of the terminal behind the stream, each at least 2."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            size = _DEFAULT_SIZE
        columns, lines = (given or default for given, default in zip(size, _DEFAULT_SIZE, strict=True))
        return os.terminal_size((max(columns, 3), max(lines, 2)))

    def _silence(self) -> None:
        """Send what is still in the buffer, and the interpreter's last flush, to nowhere."""
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
        except (OSError, ValueError):
            return


def printable(text: str) -> str:
    """Return the text without control characters; line ends become newlines, tabs four spaces."""
    text = _LINE_ENDS.sub("\n", text).expandtabs(4)
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))


def columns_of(text: str) -> int:
    """Return how many columns this terminal takes for a text without control characters."""
    return max(wcstwidth(text), 0)


def clusters(text: str) -> Iterator[tuple[str, int]]:
    """Yield the pieces of a text that are drawn as one, and their columns.

    A piece is a grapheme cluster (a flag, a letter with its accents) or a code point of one that this terminal does not
    draw as one.
    """
    for cluster in iter_graphemes(text):
        columns = columns_of(cluster)
        if columns <= _MAX_CLUSTER_COLUMNS:
            yield cluster, columns
        else:
            yield from ((char, columns_of(char)) for char in cluster)


def cut(text: str, columns: int) -> str:
    """Return the text on at most that many columns, an ellipsis at its end where it was cut."""
    if columns_of(text) <= columns:
        return text
    kept, used = [], 1  # the ellipsis
    for cluster, wide in clusters(text):
        used += wide
        if used > columns:
            break
        kept.append(cluster)
    return "".join(kept).rstrip() + "…"


def memory_line(item: MemoryItem, columns: int = _UNLIMITED) -> str:
    """Return a memory on one line of that width: what it is found by, its content, which is cut first, its date."""
    binding = one_line(printable(item.bindings[0]), _MAX_BINDING_CHARS)
    content = one_line(printable(item.content), _MAX_CONTENT_CHARS)
    day = f" · {item.updated_at:%Y-%m-%d}"
    return cut(f"🧠 {binding}: {content}", columns - len(day)) + day
