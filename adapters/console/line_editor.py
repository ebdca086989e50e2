"""What prompt_toolkit leaves to us of the prompt: completion of commands, grapheme clusters, narrower windows."""

from __future__ import annotations

import os
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.layout.utils import explode_text_fragments
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.renderer import Renderer

from adapters.console.output import Output, clusters
from core.commands.menu import MenuEntry

_STAND_INS: Final = {1: range(0xF0000, 0xFFFFE), 2: range(0x38000, 0x3FFFE)}
"""Code points that no text has, by their columns: of a private plane, and of a plane reserved for ideographs."""


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
