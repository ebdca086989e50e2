"""The line that the person types on. Knows keys, history and the state of the terminal. Does not know what is asked."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.data_structures import Size
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output.vt100 import Vt100_Output

from adapters.console.channel import Above
from adapters.console.output import Output
from core.text.unicode import clean

if TYPE_CHECKING:
    from prompt_toolkit.application import Application


class OwnHistory(FileHistory):
    """What was typed, in a file that only its owner may read."""

    def __init__(self, path: Path) -> None:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        path.chmod(0o600)
        FileHistory.__init__(self, path)

    def store_string(self, string: str) -> None:
        """Keep an entry; what was typed may hold bytes that are no text."""
        FileHistory.store_string(self, clean(string))


class Prompt:
    """Asks for one message after the other. Enter sends, Alt-Enter and pasting make lines, arrows recall what was."""

    def __init__(self, history_path: Path | None, output: Output, *, colour: bool) -> None:
        def size() -> Size:
            return Size(rows=output.size.lines, columns=output.size.columns)

        mark: StyleAndTextTuples = [("bold ansicyan" if colour else "", "› ")]
        self._mark = mark
        self._session: PromptSession[str] = PromptSession(
            history=OwnHistory(history_path) if history_path else InMemoryHistory(),
            key_bindings=_bindings(),
            # Terminals that do not answer where their cursor is would be complained about; we need not ask.
            output=Vt100_Output(sys.stdout, size, term=os.environ.get("TERM"), enable_cpr=False),
            reserve_space_for_menu=0,
            enable_suspend=True,
        )

    async def ask(self) -> str:
        """Return what the person typed.

        Raises:
            KeyboardInterrupt: Ctrl-C on the empty line. EOFError: Ctrl-D on the empty line.
        """
        return await self._session.prompt_async(self._mark)

    @property
    def above(self) -> Above:
        """How to print while the person is typing."""

        async def print_above(write: Callable[[], None]) -> None:
            await run_in_terminal(write)

        return print_above


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("c-c")
    def _clear(event: KeyPressEvent) -> None:
        app: Application[str] = event.app
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            app.exit(exception=KeyboardInterrupt)

    @bindings.add("escape", "enter")
    def _break_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return bindings


@contextmanager
def quiet_keys() -> Iterator[None]:
    """Keep what is typed meanwhile off the screen; it waits for the next prompt."""
    if sys.platform == "win32":
        yield
        return
    import termios

    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    quiet = termios.tcgetattr(keyboard)
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(keyboard, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSANOW, before)
