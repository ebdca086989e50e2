"""Write to a stream that may be a terminal, a pipe, or closed, and make text safe to show there.

Nothing that a model, a memory or a person wrote can steer the terminal: control characters (of C0 and C1, escape
sequences thus included) and bidirectional overrides are removed first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import cycle
from string import ascii_lowercase
from typing import Final, TextIO

from wcwidth import iter_graphemes, wcstwidth

from core.errors import ChannelGone
from core.outgoing import Button, OutgoingMessage
from core.text.unicode import one_line
from core.types import MemoryNote

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


def memory_line(item: MemoryNote, columns: int = _UNLIMITED) -> str:
    """Return a memory on one line of that width: what it is found by, its content, which is cut first, its date."""
    binding = one_line(printable(item.phrase), _MAX_BINDING_CHARS)
    content = one_line(printable(item.content), _MAX_CONTENT_CHARS)
    day = f" · {item.changed}"
    return cut(f"🧠 {binding}: {content}", columns - len(day)) + day


_MAX_LABEL_CHARS = 40


class Buttons:
    """The buttons that are on the screen."""

    def __init__(self) -> None:
        self._letters: dict[str, Button] = {}
        self._numbers: dict[str, Button] = {}
        self._next = cycle(ascii_lowercase)

    def line(self, shown: OutgoingMessage) -> str:
        """Return the line below a message that says what may be typed; "" without buttons."""
        parts = [f"/{self._letter(choice)} {_label(choice)}{' …' if choice.asks else ''}" for choice in shown.choices]
        if shown.menu:
            self._numbers = dict(zip(map(_number, shown.menu), shown.menu, strict=True))
            numbers = list(self._numbers)
            parts.insert(0, f"/{numbers[0]}" + (f" … /{numbers[-1]}" if len(numbers) > 1 else ""))
        return f"→ {' · '.join(parts)}" if parts else ""

    def pressed(self, text: str) -> str:
        """Return the command of the button that was typed, or the text as it is.

        Words after the letter or number are the text that the button asks for.
        """
        key, _, words = text.strip().removeprefix("/").partition(" ")
        choice = (self._letters | self._numbers).get(key.casefold()) if text.lstrip().startswith("/") else None
        if choice is None:
            return text
        return f"{choice.command} {words}".rstrip() if choice.asks else choice.command

    def _letter(self, choice: Button) -> str:
        """Return the letter of a button: the one that it has already, or the next."""
        for letter, known in self._letters.items():
            if known == choice:
                return letter
        letter = next(self._next)
        self._letters[letter] = choice
        return letter


def _number(choice: Button) -> str:
    """Return the number that the button has in its list."""
    return choice.label.partition(".")[0].strip()


def _label(choice: Button) -> str:
    return one_line(printable(choice.label), _MAX_LABEL_CHARS)
