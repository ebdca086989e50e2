"""A terminal for tests: a real process on a pseudo-terminal, and the screen that a person would look at."""

from __future__ import annotations

import os
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pexpect
import pyte

TIMEOUT_S = 120.0
ENTER, CTRL_C, CTRL_D, UP, ALT_ENTER = "\r", "\x03", "\x04", "\x1b[A", "\x1b\r"
PASTE = "\x1b[200~{}\x1b[201~"


class Terminal:
    """Types into a process and looks at its screen. Waiting is looking again and again, never a fixed pause."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], *, columns: int = 80, lines: int = 24
    ) -> None:
        self.history = pyte.HistoryScreen(columns, lines, history=10_000)
        self._stream = pyte.ByteStream(self.history)
        self.raw = b""
        self._process: Any = pexpect.spawn(
            command[0], list(command[1:]), env=dict(environment), dimensions=(lines, columns), timeout=TIMEOUT_S
        )

    @property
    def rows(self) -> list[str]:
        """The rows of the screen, top to bottom, without the empty ones at the end."""
        rows = [row.rstrip() for row in self.history.display]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    @property
    def text(self) -> str:
        """Everything from the first row on, also what scrolled away."""
        gone = ["".join(row[at].data for at in sorted(row)).rstrip() for row in self.history.history.top]
        return "\n".join([*gone, *self.rows])

    @property
    def echoes(self) -> bool:
        """Whether the terminal itself shows what is typed, as it does when no program has asked otherwise."""
        return bool(termios.tcgetattr(self._process.child_fd)[3] & termios.ECHO)

    def type(self, keys: str) -> None:
        self._process.send(keys)

    def interrupt(self, signal_number: int) -> None:
        self._process.kill(signal_number)

    def resize(self, columns: int, lines: int) -> None:
        self._process.setwinsize(lines, columns)
        self.history.resize(lines, columns)

    def wait(self, seen: Callable[[], bool] | str) -> None:
        """Return when that text, or what the function looks for, is on the screen."""
        until_s = time.monotonic() + TIMEOUT_S
        while not (seen in self.text if isinstance(seen, str) else seen()):
            assert time.monotonic() < until_s, f"not seen: {seen!r}\n" + "\n".join(self.rows)
            self._read(0.05)

    def wait_rows(self, rows: Sequence[str]) -> None:
        """Return when the screen holds exactly these rows."""
        self.wait(lambda: self.rows == list(rows))

    def wait_end(self) -> int:
        """Return the exit code."""
        until_s = time.monotonic() + TIMEOUT_S
        while self._read(0.05) or self._process.isalive():
            assert time.monotonic() < until_s, "still running\n" + "\n".join(self.rows)
        status = self._process.exitstatus
        return int(status) if status is not None else -int(self._process.signalstatus)

    def close(self) -> None:
        self._process.close(force=True)

    def _read(self, patience_s: float) -> bool:
        try:
            data = self._process.read_nonblocking(65536, patience_s)
        except pexpect.TIMEOUT:
            return False
        except pexpect.EOF:
            return False
        self.raw += data
        self._stream.feed(data)
        return True


def environment(**extra: str) -> dict[str, str]:
    """The environment of a person with a terminal and no settings."""
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME"} or name.startswith("COV")}
    return kept | {"TERM": "xterm-256color", "LANG": "pt_BR.UTF-8", "PYTHONUTF8": "1"} | extra
