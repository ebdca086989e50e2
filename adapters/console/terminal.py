"""The conversation at a terminal: prompt, answer, prompt; and what Ctrl-C, Ctrl-D and signals do."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app, run_in_terminal
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.layout.utils import explode_text_fragments
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.renderer import Renderer
from prompt_toolkit.shortcuts import CompleteStyle

from adapters.console.channel import Above, ConsoleChannel, Notices
from adapters.console.output import Output, clusters
from adapters.console.person import ATTACH, EXPORTS, PLATFORM, QUIT, STOP, OneScreen, TerminalUser, leaves
from core.commands.menu import MenuEntry
from core.ports import MessageHandler
from core.text.catalogue import text
from core.text.language import from_tag
from core.text.unicode import clean
from core.types import Locale

if TYPE_CHECKING:
    from prompt_toolkit.application import Application

_STAND_INS: Final = {1: range(0xF0000, 0xFFFFE), 2: range(0x38000, 0x3FFFE)}
"""Code points that no text has, by their columns: of a private plane, and of a plane reserved for ideographs."""


async def talk(
    handler: MessageHandler,
    person: TerminalUser,
    data_dir: Path,
    *,
    keeps_lines: bool = True,
    menu: Sequence[MenuEntry] = (),
) -> None:
    """Greet, then ask and answer until the person leaves."""
    colour = not os.environ.get("NO_COLOR")
    output = Output(sys.stdout)
    channel = ConsoleChannel(output, colour=colour, exports=data_dir / EXPORTS)
    kept = OwnHistory(data_dir / "console-history") if keeps_lines else None
    locale = from_tag(person.language) or Locale.EN
    examples = EXAMPLES[locale].splitlines()
    prompt = InputPrompt(
        kept or InMemoryHistory(), output, CommandCompleter(menu, QUIT, ATTACH), examples, colour=colour
    )
    channel.say(GREETING[locale].format(examples="\n".join(f"  {example}" for example in examples)))
    channel.end()
    with _ending_in_order(), quiet_keys():
        await handler.resume(PLATFORM, OneScreen(channel, Notices(channel)))
        while not output.gone:
            try:
                with channel.printing_above(prompt.above):
                    text = await prompt.ask()
            except KeyboardInterrupt:
                channel.say(HOW_TO_LEAVE[locale])
                continue
            except EOFError:
                break
            if leaves(text):
                break
            if text.strip():
                channel.keeps_words = True
                await _answer(handler, person, channel, prompt, channel.buttons.pressed(text))
            if kept is not None:
                kept.settle(keeps=channel.keeps_words)


async def _answer(
    handler: MessageHandler, person: TerminalUser, channel: ConsoleChannel, prompt: InputPrompt, text: str
) -> None:
    """Pass a message on and wait for its answer; /stop and Ctrl-C stop the answer, a second Ctrl-C leaves."""
    interrupted = asyncio.Event()
    stopping = asyncio.create_task(_stop_when(interrupted, handler, person, channel))
    try:
        with _on_interrupt(interrupted.set), prompt.stopped_by(interrupted.set):
            answered = await handler.receive(person.says(text), channel)
            await answered
            if interrupted.is_set():
                await stopping
    finally:
        stopping.cancel()
    channel.end()


async def _stop_when(
    interrupted: asyncio.Event, handler: MessageHandler, person: TerminalUser, channel: ConsoleChannel
) -> None:
    await interrupted.wait()
    stopped = await handler.receive(person.says(STOP), channel)
    await stopped


@contextmanager
def _on_interrupt(call: Callable[[], None]) -> Iterator[None]:
    """Call that at the first Ctrl-C; a second one raises KeyboardInterrupt as usual."""
    if sys.platform == "win32":  # there is no such handler: Ctrl-C leaves
        yield
        return
    loop = asyncio.get_running_loop()

    def first() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        call()

    loop.add_signal_handler(signal.SIGINT, first)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Let SIGTERM and SIGHUP cancel this task, so that the terminal is left as it was found."""
    task = asyncio.current_task()
    if sys.platform == "win32" or task is None:
        yield
        return
    loop = asyncio.get_running_loop()
    received: list[int] = []

    def end(number: int) -> None:
        received.append(number)
        task.cancel()

    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end, number)
    try:
        yield
    except asyncio.CancelledError:
        if received:
            raise SystemExit(128 + received[0]) from None  # what a shell says of a process that a signal ended
        raise
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)


class OwnHistory(FileHistory):
    """The history of what was typed, in a file that only its owner may read: of what was answered, and may be kept."""

    def __init__(self, path: Path) -> None:
        self._typed: list[str] = []
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        path.chmod(0o600)
        FileHistory.__init__(self, path)

    def store_string(self, string: str) -> None:
        """Hold an entry until it is settled; what was typed may hold bytes that are no text."""
        self._typed.append(clean(string))

    def settle(self, *, keeps: bool) -> None:
        """Store what was typed since the last call, if it may be kept."""
        for typed in self._typed if keeps else ():
            FileHistory.store_string(self, typed)
        self._typed.clear()


class InputPrompt:
    """Asks for messages. Enter sends, Alt-Enter and pasting make lines, arrows recall what was typed, Tab completes.

    Until something was sent, Tab on an empty line writes the first of the `examples`, and then the next.
    """

    def __init__(
        self, history: History, output: Output, completer: Completer, examples: Sequence[str] = (), *, colour: bool
    ) -> None:
        mark: StyleAndTextTuples = [("bold ansicyan" if colour else "", "› ")]
        self._mark = mark
        self._following = dict(zip(("", *examples), (*examples, *examples[:1]), strict=True)) if examples else {}
        clusters = ClusterProcessor()
        self._session: PromptSession[str] = PromptSession(
            history=history,
            key_bindings=_bindings(self._following),
            completer=completer,
            complete_style=CompleteStyle.READLINE_LIKE,
            input_processors=[clusters],
            output=ClusterOutput(output, clusters),
            reserve_space_for_menu=0,
            enable_suspend=True,
        )
        app = self._session.app
        app.renderer = ReflowRenderer(app.renderer.style, app.output)
        if sys.platform != "win32":  # a signal tells of a new size
            app.terminal_size_polling_interval = None

    async def ask(self) -> str:
        """Return what the person typed.

        Raises:
            KeyboardInterrupt: Ctrl-C on the empty line. EOFError: Ctrl-D on the empty line.
        """
        typed = await self._session.prompt_async(self._mark)
        self._following.clear()
        return typed

    @contextmanager
    def stopped_by(self, stop: Callable[[], None]) -> Iterator[None]:
        """Call `stop` if /stop is typed meanwhile, which is not shown; all other keys go to the next prompt."""
        if sys.platform == "win32":
            yield
            return
        keyboard = self._session.app.input
        ahead = KeysAhead(stop)
        ahead.add(get_typeahead(keyboard))
        try:
            with keyboard.attach(lambda: ahead.add(keyboard.read_keys())):
                yield
        finally:
            store_typeahead(keyboard, [*ahead.keys, *keyboard.flush_keys()])

    @property
    def above(self) -> Above:
        """How to print while the person is typing."""

        async def print_above(write: Callable[[], None]) -> None:
            await run_in_terminal(write)

        return print_above


class KeysAhead:
    """The `keys` that were typed while there is no prompt, without the lines that are /stop, which call `stop`."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self.keys: list[KeyPress] = []
        self._stop = stop
        self._line = 0
        """Where the last line begins among the keys."""

    def add(self, keys: Sequence[KeyPress]) -> None:
        """Take what was typed."""
        for press in keys:
            self.keys.append(press)
            if press.key in {Keys.ControlM, Keys.ControlJ}:
                if self._typed().strip() == STOP:
                    del self.keys[self._line :]
                    self._stop()
                self._line = len(self.keys)

    def _typed(self) -> str:
        """Return the last line, as far as keys write and delete in it."""
        line = ""
        for press in self.keys[self._line :]:
            line = line[:-1] if press.key == Keys.Backspace else line + press.data
        return line


def _bindings(following: Mapping[str, str]) -> KeyBindings:
    """Return the keys; Tab writes the line that is `following` the present one."""
    bindings = KeyBindings()

    @bindings.add("tab", filter=Condition(lambda: get_app().current_buffer.text in following))
    def _next_example(event: KeyPressEvent) -> None:
        example = following[event.current_buffer.text]
        event.current_buffer.document = Document(example)

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
    """Keep what is typed while there is no prompt off the screen; the next prompt shows it."""
    if sys.platform == "win32":
        yield
        return
    import termios

    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    quiet = termios.tcgetattr(keyboard)
    quiet[0] &= ~termios.ICRNL
    quiet[3] &= ~(termios.ECHO | termios.ICANON)  # Ctrl-D would end a line that nobody reads
    termios.tcsetattr(keyboard, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSANOW, before)


# --- what prompt_toolkit leaves to us: completion of commands, grapheme clusters, narrower windows


class CommandCompleter(Completer):
    """Completes commands, their verbs, and the words that their first argument may be."""

    def __init__(self, menu: Sequence[MenuEntry], *others: str) -> None:
        self._phrases = [*others, *(phrase for entry in menu for phrase in _phrases(entry, "/"))]

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield each word that may take the place of the last one."""
        del complete_event
        typed = document.text_before_cursor.casefold()
        last = typed.rpartition(" ")[2]
        for phrase in self._phrases:
            if typed.startswith("/") and phrase.startswith(typed) and phrase.count(" ") == typed.count(" "):
                yield Completion(phrase.rpartition(" ")[2], -len(last))


def _phrases(entry: MenuEntry, before: str) -> Iterator[str]:
    """Yield the command, its verbs, and the words that it takes first: in " [N | text | all]" the small ones."""
    phrase = f"{before}{entry.name}"
    yield phrase
    for verb in entry.verbs:
        yield from _phrases(verb, f"{phrase} ")
    alternatives = re.split("[][]", entry.usage.strip(" ["))[0].split(" | ")
    words = [word for alternative in alternatives for word in alternative.partition(" ")[0].split("|")]
    yield from (f"{phrase} {word}" for word in words if re.fullmatch("[a-z]+", word))


class ClusterProcessor(Processor):
    """Shows each grapheme cluster as one code point of its width, as prompt_toolkit measures code points.

    `shown` maps such a code point to its cluster, for the output (`str.translate`).
    """

    def __init__(self) -> None:
        self.shown: dict[int, str] = {}
        self._stand_ins: dict[str, str] = {}
        self._free = {columns: iter(points) for columns, points in _STAND_INS.items()}

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """Return the line with its clusters exchanged."""
        cells = explode_text_fragments(transformation_input.fragments)
        text = "".join(cell[1] for cell in cells)
        shown: StyleAndTextTuples = []
        starts: list[int] = []
        at = 0
        for cluster, columns in clusters(text):
            starts.append(at)
            shown.append((cells[at][0], self._stand_in(cluster, columns) if len(cluster) > 1 else cluster))
            at += len(cluster)
        if len(starts) == len(text):
            return Transformation(transformation_input.fragments)

        def to_display(source: int) -> int:
            return bisect_right(starts, source) - 1 if source < at else source - at + len(starts)

        def to_source(display: int) -> int:
            return starts[display] if display < len(starts) else display - len(starts) + at

        return Transformation(shown, to_display, to_source)

    def _stand_in(self, cluster: str, columns: int) -> str:
        if cluster not in self._stand_ins:
            point = next(self._free[max(columns, 1)], ord("\ufffd"))
            self._stand_ins[cluster], self.shown[point] = chr(point), cluster
        return self._stand_ins[cluster]


class ClusterOutput(Vt100_Output):
    """Writes to the terminal what the processor's code points stand for."""

    def __init__(self, output: Output, processor: ClusterProcessor) -> None:
        def size() -> Size:
            return Size(rows=output.size.lines, columns=output.size.columns)

        # The library warns of terminals that do not answer where their cursor is; we need not ask.
        super().__init__(sys.stdout, size, term=os.environ.get("TERM"), enable_cpr=False)
        self._processor = processor

    def write(self, data: str) -> None:
        """Write text, in which no escape sequence has a meaning."""
        super().write(data.translate(self._processor.shown))


class ReflowRenderer(Renderer):
    """Takes back all rows of the prompt where the terminal has wrapped them again because it was made narrower."""

    def erase(self, leave_alternate_screen: bool = True) -> None:
        """Take the prompt off the screen."""
        screen = self.last_rendered_screen
        if screen is not None:
            columns = self.output.get_size().columns
            cursor = screen.get_cursor_position(get_app().layout.current_window)
            above = (
                max((at + 1 for at, cell in screen.data_buffer[y].items() if cell.char != " "), default=1)
                for y in range(cursor.y)
            )
            wrapped = sum((used - 1) // columns for used in above) + max(cursor.x - 1, 0) // columns
            if wrapped:
                self.output.cursor_up(wrapped)
        super().erase(leave_alternate_screen)


GREETING = text("console.greeting")
EXAMPLES = text("console.examples")
HOW_TO_LEAVE = text("console.how_to_leave")
