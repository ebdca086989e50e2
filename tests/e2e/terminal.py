"""A terminal for tests: a real process on a pseudo-terminal, and the screen that a person would look at."""

from __future__ import annotations

import os
import select
import signal
import termios
import time
from collections.abc import Callable, Mapping, Sequence

import pyte
from wcwidth import iter_graphemes, wcstwidth

from tests.e2e.command import start_at

TIMEOUT_S = 120.0
ENTER, CTRL_C, CTRL_D, UP, ALT_ENTER = "\r", "\x03", "\x04", "\x1b[A", "\x1b\r"
LEFT, END, TAB = "\x1b[D", "\x05", "\t"
PASTE = "\x1b[200~{}\x1b[201~"


class Screen(pyte.HistoryScreen):
    """A screen that draws grapheme clusters as one, and wraps its rows again when it is made narrower."""

    def draw(self, data: str) -> None:
        for char in data:
            row, end = self.buffer[self.cursor.y], self.cursor.x
            at = max(end - 1, 0)
            while at and not row[at].data:
                at -= 1
            joined = row[at].data + char
            if not end or len(list(iter_graphemes(joined))) > 1:
                super().draw(char)
                continue
            row[at] = row[at]._replace(data=joined)
            self.cursor.x = max(end, at + wcstwidth(joined, term_program=False))
            for stub in range(end, self.cursor.x):
                row[stub] = row[at]._replace(data="")

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        lines, columns = lines or self.lines, columns or self.columns
        rows: list[list[pyte.screens.Char]] = []
        cursor, place = self.cursor, (0, 0)
        for y in range(self.lines):
            used = max((x + 1 for x, cell in self.buffer[y].items() if cell.data != " "), default=0)
            if y == cursor.y:
                wrapped = max(cursor.x - 1, 0) // columns
                place = len(rows) + wrapped, cursor.x - wrapped * columns
                used = max(used, cursor.x)
            cells = [self.buffer[y][x] for x in range(used)]
            rows += [cells[start : start + columns] for start in range(0, used, columns)] or [[]]
        while rows and not rows[-1] and len(rows) - 1 > place[0]:
            rows.pop()
        gone = max(0, len(rows) - lines)
        super().resize(lines, columns)
        self.buffer.clear()
        for y, cells in enumerate(rows):
            row = self.buffer[y - gone]
            row.update(enumerate(cells))
            if y < gone:
                self.history.top.append(row)
                del self.buffer[y - gone]
        self.cursor.y, self.cursor.x = place[0] - gone, place[1]


class Terminal:
    """Types into a process and looks at its screen. Waiting is looking again and again, never a fixed pause."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        *,
        module: str = "bot",
        columns: int = 80,
        lines: int = 24,
    ) -> None:
        self.history = Screen(columns, lines, history=10_000)
        self._stream = pyte.ByteStream(self.history)
        self.raw = b""
        self._file, terminal = os.openpty()
        termios.tcsetwinsize(self._file, (lines, columns))
        self._pid, self._exit_code = start_at(terminal, tuple(arguments), environment, module=module)
        os.close(terminal)

    @property
    def rows(self) -> list[str]:
        """The rows of the screen, top to bottom, without the empty ones at the end."""
        screen = self.history
        rows = ["".join(screen.buffer[y][x].data for x in range(screen.columns)).rstrip() for y in range(screen.lines)]
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
        return bool(termios.tcgetattr(self._file)[3] & termios.ECHO)

    def type(self, keys: str) -> None:
        typed = keys.encode()
        while typed:
            typed = typed[os.write(self._file, typed) :]

    def interrupt(self, signal_number: int) -> None:
        os.kill(self._pid, signal_number)

    def resize(self, columns: int, lines: int) -> None:
        termios.tcsetwinsize(self._file, (lines, columns))
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
        while self._read(0.05) or self._exit_code() is None:
            assert time.monotonic() < until_s, "still running\n" + "\n".join(self.rows)
        code = self._exit_code()
        assert code is not None
        return code

    def close(self) -> None:
        if self._exit_code() is None:
            os.kill(self._pid, signal.SIGKILL)
            while self._exit_code() is None:
                time.sleep(0.001)
        os.close(self._file)

    def _read(self, patience_s: float) -> bool:
        if not select.select([self._file], [], [], patience_s)[0]:
            return False
        try:
            data = os.read(self._file, 65536)
        except OSError:  # nobody has the terminal open any more
            time.sleep(0.001)
            return False
        self.raw += data
        self._stream.feed(data)
        return True


def environment(**extra: str) -> dict[str, str]:
    """The environment of a person with a terminal and no settings."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in {"PATH", "HOME", "ELEFANTE_ENV"} or name.startswith("COV")
    }
    return kept | {"TERM": "xterm-256color", "LANG": "pt_BR.UTF-8", "PYTHONUTF8": "1"} | extra
