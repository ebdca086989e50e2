"""Where the console writes. Knows encodings, sizes and streams that were closed. Does not know what is written."""

from __future__ import annotations

import os
from typing import TextIO

from core.errors import ChannelGone

_DEFAULT_SIZE = os.terminal_size((80, 24))


class Output:
    """A text stream that is never handed a character it cannot encode."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.gone = False  # nobody reads any more

    def write(self, text: str) -> None:
        """Write the text, all of it, now.

        Raises:
            SurfaceGone: nobody reads any more (the pipe or the terminal was closed).
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
        """Let what is still in the buffer, and the interpreter's last flush, go nowhere without a complaint."""
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
        except (OSError, ValueError):
            return
