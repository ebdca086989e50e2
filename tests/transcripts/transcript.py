"""A scenario as a person would have seen it over time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "transcripts"
_WIDTH = 96


@dataclass(frozen=True)
class Line:
    """Something that happened: when, in which chat, who did it, to which message, what it said then.

    `html` is the text as a client shows it, `rows` are the buttons below it; both are for pictures.
    """

    at_s: float
    chat: str
    who: str
    mark: str
    text: str
    html: str = ""
    rows: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class Scenario:
    """`name` is the page's file; `title` and `about` say what happened; `play` returns what was seen."""

    name: str
    title: str
    about: str
    play: Callable[[], Awaitable[Sequence[Line]]]

    async def lines(self) -> Sequence[Line]:
        return sorted(await self.play(), key=lambda line: line.at_s)

    def page(self, lines: Sequence[Line]) -> str:
        return as_page(self.title, self.about, lines)


def as_page(title: str, about: str, lines: Sequence[Line]) -> str:
    """Return the lines as a page of text."""
    chats = len({line.chat for line in lines}) > 1
    rows = [_row(line, with_chat=chats) for line in lines]
    return "\n".join([f"# {title}", "", about, "", "```text", *rows, "```", ""])


def _row(line: Line, *, with_chat: bool) -> str:
    minutes, seconds = divmod(line.at_s, 60)
    text = line.text.replace("```", "` ` `").replace("\n", " ⏎ ")
    if len(text) > _WIDTH:
        text = f"{text[: _WIDTH // 2]} […] {text[-_WIDTH // 2 :]} ({len(line.text)} characters)"
    chat = f"{line.chat:<8} " if with_chat else ""
    return f"{int(minutes)}:{seconds:04.1f}  {chat}{line.who:<9} {line.mark:<6} {text}".rstrip()
